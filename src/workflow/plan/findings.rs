//! What a case is given from outside, and what is found wrong on the way to its plan.

use std::path::Path as File;

use super::super::file::{Node, Path, Problem};

/// What a case is called, and what it is given from outside.
pub(in crate::workflow) struct Named<'a> {
    /// The file.
    pub(in crate::workflow) file: &'a File,
    /// The choice of the matrix.
    pub(in crate::workflow) choice: &'a [(String, String)],
    /// In place of the cluster's name.
    pub(in crate::workflow) name: Option<&'a str>,
    /// The file's environment for processes.
    pub(in crate::workflow) env: Vec<(String, String)>,
}

/// What is wrong, found on the way.
pub(super) struct Findings<'a> {
    root: &'a Node,
    problems: &'a mut Vec<Problem>,
}

impl<'a> Findings<'a> {
    /// None yet.
    pub(super) fn new(root: &'a Node, problems: &'a mut Vec<Problem>) -> Self {
        Self { root, problems }
    }

    /// Something is wrong at a path.
    pub(super) fn wrong(&mut self, path: &Path, what: impl Into<String>) {
        self.problems.push(Problem::at(self.root.find(path), what));
    }

    /// Does what a path leads to stand in an imported file?
    pub(super) fn is_imported(&self, path: &Path) -> bool {
        self.root.find(path).file != self.root.place.file
    }

    /// Something is wrong at a path, with what would be right.
    pub(super) fn wrong_with(&mut self, path: &Path, what: impl Into<String>, help: impl Into<String>) {
        self.problems.push(Problem::at(self.root.find(path), what).help(help));
    }
}
