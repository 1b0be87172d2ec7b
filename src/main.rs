//! The program; all of it is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    joinder::cli::main().into()
}
