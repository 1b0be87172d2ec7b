//! The command line: arguments to inputs, one file a verb, errors and exit codes.

mod advise;
mod args;
mod artifacts;
mod build;
mod case;
mod context;
mod cp;
mod create;
mod delete;
mod diag;
mod dispatch;
mod doctor;
mod dry_run;
mod exec;
mod exit;
mod export;
mod files;
mod gc;
mod get;
mod kinder;
mod kubeconfig;
mod lint;
mod list;
mod manual;
mod migrate;
mod report;
mod rounds;
mod run;
mod schema;
mod show;
mod test;
mod value;
mod version;
mod watch;

pub use dispatch::main;
pub use exit::Exit;
