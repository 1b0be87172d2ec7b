//! Programs on this machine: each in a process group of its own, followed line by line, with all that it leaves behind.

mod lines;
mod remains;
mod run;

pub use lines::Lines;
pub use run::{End, Pipe, Program, Ran, run, run_leaving};

#[cfg(test)]
mod tests;
