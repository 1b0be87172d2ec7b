//! Names of tasks in files and reports: kinder's `task-NN-NAME`, the same in each run of a workflow.

use super::tone::one_line;

/// Bytes of a task's name that a file's name keeps; file systems take 255 for the whole.
const KEPT: usize = 80;
/// Of a task of kinder's language, whose names are used as they are.
const KINDERS: usize = 200;

/// As reports name it.
pub(super) fn task(index: usize, name: &str) -> String {
    let number = format!("task-{index:02}");
    // one of kinder's language that has no name is called by its number
    if name == number { number } else { format!("{number}-{}", one_line(name)) }
}

/// The log of a task of kinder's language: its name as it is, as far as a file can have it.
pub(super) fn kinders_log(index: usize, name: &str) -> String {
    let mut safe = one_line(name).replace('/', "-");
    let end = (0..=KINDERS.min(safe.len())).rev().find(|end| safe.is_char_boundary(*end)).unwrap_or(0);
    safe.truncate(end);
    format!("{}-log.txt", task(index, &safe))
}

/// Its log. Two tasks never share one: the number ends at the first `-` behind it.
pub(super) fn log(index: usize, name: &str) -> String {
    format!("task-{index:02}-{}-log.txt", safe(name))
}

/// `name` with `-` for all that a shell, a path or an archive could take amiss.
fn safe(name: &str) -> String {
    let mut safe = String::new();
    for c in name.chars() {
        let c = if c.is_ascii_alphanumeric() || "._".contains(c) { c } else { '-' };
        if safe.len() < KEPT && !(c == '-' && safe.ends_with('-')) {
            safe.push(c);
        }
    }
    let safe = safe.trim_start_matches(['.', '-']).trim_end_matches(['.', '-']);
    if safe.is_empty() { "unnamed".into() } else { safe.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_safe_bounded_and_never_the_same() {
        let long = "x".repeat(500);
        let names = [
            (1, "init", "task-01-init-log.txt"),
            (2, "a/../b", "task-02-a-..-b-log.txt"),
            (3, "../../etc/passwd", "task-03-etc-passwd-log.txt"),
            (4, ".hidden", "task-04-hidden-log.txt"),
            (5, "two words\n\0\x1b[2J", "task-05-two-words-2J-log.txt"),
            (6, "日本", "task-06-unnamed-log.txt"),
            (7, "...", "task-07-unnamed-log.txt"),
            (10, "0-x", "task-10-0-x-log.txt"),
            (100, "x", "task-100-x-log.txt"),
            (11, "-rf $(rm)", "task-11-rf-rm-log.txt"),
        ];
        for (index, name, want) in names {
            assert_eq!(log(index, name), want);
        }
        assert!(log(8, &long).len() < 120);
        assert_ne!(log(8, &long), log(9, &long));
        assert_ne!(log(6, "日本"), log(7, "日本"));
    }
}
