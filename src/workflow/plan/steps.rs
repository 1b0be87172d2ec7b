//! Tasks as they are written to tasks that can be run: exactly one step each, its settings complete.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use super::super::file::Path;
use super::findings::{Findings, Named};
use super::types::{PlannedTask, Process, Step, Transfer};
use crate::spec::{Copy, Pick, Selector, Task};

/// A task without a limit of its own.
const TASK_LIMIT: Duration = Duration::from_mins(10);

/// Each task with its path in the file. A task that cannot be one is told of and left out.
pub(super) fn tasks(tasks: &[Task], named: &Named<'_>, findings: &mut Findings<'_>) -> Vec<(Path, PlannedTask)> {
    let mut planner = Planner { named, index: 0, names: BTreeSet::new() };
    planner.list(tasks, &Path::default().key("tasks"), findings)
}

struct Planner<'a> {
    named: &'a Named<'a>,
    /// Of the last task; those of a group count on behind it.
    index: usize,
    names: BTreeSet<String>,
}

impl Planner<'_> {
    fn list(&mut self, tasks: &[Task], path: &Path, findings: &mut Findings<'_>) -> Vec<(Path, PlannedTask)> {
        let mut planned = Vec::new();
        for (at, task) in tasks.iter().enumerate() {
            let path = path.index(at);
            if let Some(task) = self.task(task, &path, findings) {
                planned.push((path, task));
            }
        }
        planned
    }

    fn task(&mut self, task: &Task, path: &Path, findings: &mut Findings<'_>) -> Option<PlannedTask> {
        self.index += 1;
        let index = self.index;
        let name = self.name(task, &path.key("name"), findings);
        if task.timeout.is_some_and(|limit| limit.0.is_zero()) {
            findings.wrong(&path.key("timeout"), "a task with no time can do nothing");
        }
        let step = self.step(task, path, findings)?;
        Some(PlannedTask {
            index,
            name,
            step,
            limit: task.timeout.map_or(TASK_LIMIT, |limit| limit.0),
            force: task.force,
            ignore_error: task.ignore_error,
            description: task.description.clone().unwrap_or_default(),
            when: task.when.clone(),
            faults: task.faults.clone(),
            expect: task.expect.clone().unwrap_or_default(),
        })
    }

    /// Its name, which is its own: one that came with an import gets a number.
    fn name(&mut self, task: &Task, path: &Path, findings: &mut Findings<'_>) -> String {
        let name = task.name.trim().to_owned();
        if name.is_empty() {
            findings.wrong_with(path, "this task has no name", "add `name: …`: logs and reports call it so");
            return name;
        }
        if name.contains(char::is_control) {
            findings.wrong(path, format!("the name {name:?} has a character that would break the lines in which it stands"));
        }
        if self.names.insert(name.clone()) {
            return name;
        }
        if !findings.is_imported(path) {
            findings.wrong(path, format!("an earlier task is called {name:?} too"));
        }
        // one of them is free: there are not more names than tasks
        let numbered = (2..=self.index + 1).map(|n| format!("{name} ({n})")).find(|numbered| self.names.insert(numbered.clone()));
        numbered.unwrap_or(name)
    }

    fn step(&mut self, task: &Task, path: &Path, findings: &mut Findings<'_>) -> Option<Step> {
        let words: Vec<&str> = [
            ("cmd", task.cmd.is_some()),
            ("create", task.create.is_some()),
            ("init", task.init.is_some()),
            ("join", task.join.is_some()),
            ("exec", task.exec.is_some()),
            ("copy", task.copy.is_some()),
            ("wait", task.wait.is_some()),
            ("group", task.group.is_some()),
            ("export", task.export.is_some()),
            ("restart", task.restart.is_some()),
            ("reset", task.reset.is_some()),
            ("repair", task.repair.is_some()),
            ("scale", task.scale.is_some()),
            ("advise", task.advise.is_some()),
            ("member", task.member.is_some()),
            ("fault", task.fault.is_some()),
            ("heal", task.heal.is_some()),
            ("delete", task.delete.is_some()),
        ]
        .into_iter()
        .filter_map(|(word, there)| there.then_some(word))
        .collect();
        if task.import.is_some() {
            let what = "an import cannot stand in a group";
            findings.wrong_with(&path.key("import"), what, "import tasks in the file's own list, and group them there");
            return None;
        }
        for (key, there) in [("args", task.args.is_some()), ("dir", task.dir.is_some())] {
            if there && task.cmd.is_none() {
                findings.wrong(&path.key(key), format!("`{key}` belongs to `cmd`, which this task does not have"));
            }
        }
        match (&words[..], &task.expect) {
            ([_], _) => self.only_step(task, path, findings),
            ([], Some(_)) => Some(Step::Expect),
            ([], None) => {
                let steps = "cmd, create, init, join, exec, copy, wait, group, export, restart, reset, repair, scale, advise, member, fault, heal, \
                             delete, or expect alone";
                findings.wrong_with(path, "this task has no step", format!("give it one of: {steps}"));
                None
            }
            _ => {
                let what = format!("this task has {} steps: {}", words.len(), words.join(", "));
                findings.wrong_with(path, what, "a task has exactly one: make a task of each, or a `group` to run them side by side");
                None
            }
        }
    }

    fn only_step(&mut self, task: &Task, path: &Path, findings: &mut Findings<'_>) -> Option<Step> {
        if let Some(program) = &task.cmd {
            if program.trim().is_empty() {
                findings.wrong(&path.key("cmd"), "`cmd` names no program");
            } else if program.contains(char::is_whitespace) && !program.contains('/') {
                let what = format!("`cmd` is one program, and {program:?} has a blank in its name");
                findings.wrong_with(&path.key("cmd"), what, "put what comes behind the program into `args: [..]`");
            }
            return Some(Step::Cmd(Process {
                program: program.clone(),
                args: task.args.clone().unwrap_or_default(),
                dir: task.dir.as_ref().map(PathBuf::from),
                env: self.named.env.clone(),
            }));
        }
        if let Some(group) = &task.group {
            let path = path.key("group").key("tasks");
            if group.tasks.is_empty() {
                findings.wrong(&path, "a group without tasks does nothing");
            }
            let inner = self.list(&group.tasks, &path, findings);
            for (path, task) in &inner {
                if matches!(task.step, Step::Create | Step::Init | Step::Delete | Step::Scale(_) | Step::Group { .. }) {
                    let what = format!("`{}` cannot run beside other tasks", task.step.word());
                    findings.wrong_with(path, what, "make it a task of its own before or behind the group");
                }
                if task.force {
                    findings.wrong(&path.key("force"), "tasks of a group run or not as the group does: `force` belongs to the group");
                }
            }
            return Some(Step::Group { tasks: inner.into_iter().map(|(_, task)| task).collect(), keep_going: group.keep_going });
        }
        if let Some(copy) = &task.copy {
            return transfer(copy, &path.key("copy"), findings).map(Step::Copy);
        }
        let given = [
            task.create.as_ref().map(|_| Step::Create),
            task.init.as_ref().map(|_| Step::Init),
            task.join.clone().map(Step::Join),
            task.exec.clone().map(Step::Exec),
            task.wait.clone().map(Step::Wait),
            task.export.clone().map(Step::Export),
            task.restart.clone().map(Step::Restart),
            task.reset.clone().map(Step::Reset),
            task.repair.clone().map(Step::Repair),
            task.fault.clone().map(|fault| Step::Fault(Box::new(fault))),
            task.heal.clone().map(Step::Heal),
            task.scale.clone().map(Step::Scale),
            task.advise.clone().map(Step::Advise),
            task.member.clone().map(Box::new).map(Step::Member),
            task.delete.as_ref().map(|_| Step::Delete),
        ];
        given.into_iter().flatten().next()
    }
}

/// Which side of a copy is in nodes.
fn transfer(copy: &Copy, path: &Path, findings: &mut Findings<'_>) -> Option<Transfer> {
    let side = |key: &'static str, text: &str, findings: &mut Findings<'_>| match in_nodes(text) {
        Some((picks, _)) if picks.is_err() => {
            let why = picks.err().unwrap_or_default();
            let (what, help) = why.split_once("\nhelp: ").unwrap_or((&why, ""));
            findings.wrong_with(&path.key(key), what, help);
            None
        }
        other => Some(other.map(|(picks, file)| (Selector(picks.unwrap_or_default()), file))),
    };
    match (side("from", &copy.from, findings)?, side("to", &copy.to, findings)?) {
        (None, Some((nodes, to))) => Some(Transfer::In { from: PathBuf::from(&copy.from), nodes, to, allow_empty: copy.allow_empty }),
        (Some((node, from)), None) => Some(Transfer::Out { node, from, to: PathBuf::from(&copy.to) }),
        (None, None) if [&copy.from, &copy.to].iter().any(|side| is_relative_in_node(side)) => {
            findings.wrong_with(path, "a path in a node begins with `/`", "write it as NODE:/PATH, as in cp2:/tmp/h");
            None
        }
        (None, None) => {
            findings.wrong_with(path, "neither side is in a node", "write the one that is as NODE:/PATH, as in cp2:/etc/hosts");
            None
        }
        (Some(_), Some(_)) => {
            findings.wrong_with(path, "both sides are in nodes", "copy it here first, and from here in a second task");
            None
        }
    }
}

/// `cp1,cp2:/path` to its selector and its path; `None` when it is a path here.
fn in_nodes(text: &str) -> Option<(Result<Vec<Pick>, String>, String)> {
    let (picks, file) = text.split_once(":/")?;
    // ./a:/b is a path here
    if picks.contains('/') || picks.is_empty() {
        return None;
    }
    Some((picks.split(',').map(|pick| pick.trim().parse()).collect(), format!("/{file}")))
}

/// `cp1:tmp/h`: a node is meant, and the path is none there.
fn is_relative_in_node(text: &str) -> bool {
    text.split_once(':').is_some_and(|(pick, rest)| !rest.starts_with('/') && pick.parse::<Pick>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_selectors_before_a_path_are_nodes() {
        for (text, nodes) in [("cp2:/etc", true), ("@cp*:/x", true), ("all:/", true), ("./a:/b", false), ("a.txt", false), ("C:x", false)] {
            assert_eq!(in_nodes(text).is_some_and(|(picks, _)| picks.is_ok()), nodes, "{text}");
        }
        assert!(in_nodes("nobody:/etc").is_some_and(|(picks, _)| picks.is_err()));
    }
}
