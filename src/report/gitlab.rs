//! GitLab CI: a section for each case, and in it a folded one for each task.
//!
//! A section's line is `section_start:UNIXTIME:NAME\r\x1b[0KHEADER`. Text of another's cannot be one: its carriage returns are made
//! visible.

use super::model::Case;
use crate::sys::clock::Stamp;

/// Opens a case's section; its header follows on the same line.
pub(super) fn opened(case: &Case, at: Stamp) -> String {
    start(&case_name(case), at, "")
}

/// Opens a task's section, folded.
pub(super) fn task_opened(case: &Case, index: usize, at: Stamp) -> String {
    start(&task_name(case, index), at, "[collapsed=true]")
}

/// Closes a task's section.
pub(super) fn task_closed(case: &Case, index: usize, at: Stamp) -> String {
    end(&task_name(case, index), at)
}

/// Closes a case's section.
pub(super) fn closed(case: &Case, at: Stamp) -> String {
    end(&case_name(case), at)
}

fn case_name(case: &Case) -> String {
    format!("joinder_case_{}", case.index)
}

fn task_name(case: &Case, index: usize) -> String {
    format!("joinder_case_{}_task_{index}", case.index)
}

fn start(name: &str, at: Stamp, options: &str) -> String {
    format!("section_start:{}:{name}{options}\r\x1b[0K", at.wall.as_second())
}

fn end(name: &str, at: Stamp) -> String {
    format!("section_end:{}:{name}\r\x1b[0K\n", at.wall.as_second())
}
