//! The command line: arguments to inputs, one file a verb, errors and exit codes.

mod args;
mod case;
mod context;
mod diag;
mod dispatch;
mod exit;
mod run;

pub use dispatch::main;
pub use exit::Exit;
