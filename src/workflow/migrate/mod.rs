//! A file of version 1 written in version 2: its own text with its comments where nothing differs, other words where something does, and
//! joinder's steps for the commands of kinder that they replace. What it imports is put in place, as version 2 has one cluster a file.
//! What was written is planned, and has to mean what the file means.

mod change;
mod emit;
mod pieces;
mod same;
mod steps;
mod write;

pub use write::{Migrated, migrate};
