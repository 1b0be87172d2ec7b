//! The command line: arguments to inputs, one file a verb, errors and exit codes.

mod args;
mod build;
mod case;
mod context;
mod create;
mod delete;
mod diag;
mod dispatch;
mod dry_run;
mod exec;
mod exit;
mod export;
mod files;
mod gc;
mod get;
mod lint;
mod list;
mod run;
mod schema;

pub use dispatch::main;
pub use exit::Exit;
