//! `task-NN-NAME-log.txt`: what a task's commands wrote, under kinder's header, and how it ended.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::kinder;
use super::model::{Case, State, Task};
use super::names;
use super::tone::{one_line, plain, verdict};
use crate::event::{Event, Outcome, Told};
use crate::sys::clock::human;

/// The logs of the tasks that run. Each line is in its file as soon as it was told.
#[derive(Debug)]
pub(super) struct Logs {
    dir: PathBuf,
    open: BTreeMap<usize, Log>,
    /// Whose kubeadm runs on a node.
    on: BTreeMap<String, usize>,
}

#[derive(Debug)]
struct Log {
    file: File,
    /// As it came, as kinder has it: signs that steer a terminal too.
    raw: bool,
}

impl Logs {
    /// Below the run's folder.
    pub(super) fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), open: BTreeMap::new(), on: BTreeMap::new() }
    }

    /// Writes what an event brings; `case` knows of it already.
    ///
    /// # Errors
    /// Of the file system.
    pub(super) fn hear(&mut self, told: &Told, case: &Case) -> io::Result<()> {
        match &told.event {
            Event::CaseStarted { .. } => {
                self.open.clear();
                self.on.clear();
            }
            Event::TaskStarted { index, .. } => {
                if let Some(task) = find(case, *index) {
                    self.begin(task, case)?;
                }
            }
            Event::Output { index, node, line, .. } => self.line(*index, node, line)?,
            Event::KubeadmStarted { node, argv } => {
                if let Some(index) = runs(case, argv.get(1).map_or("", String::as_str)) {
                    self.on.insert(node.clone(), index);
                    self.line(index, node, &format!("$ {}", argv.join(" ")))?;
                }
            }
            Event::KubeadmLine { node, line, .. } => {
                if let Some(index) = self.on.get(node).copied() {
                    self.line(index, node, line)?;
                }
            }
            Event::TaskFinished { index, .. } => {
                // kinder's logs end with the output
                if let (Some(Log { mut file, raw: false }), Some(task)) = (self.open.remove(index), find(case, *index)) {
                    file.write_all(end(task).as_bytes())?;
                }
            }
            Event::RunStarted { .. }
            | Event::CaseFinished { .. }
            | Event::Worked { .. }
            | Event::NodeUp { .. }
            | Event::KubeadmPhase { .. }
            | Event::KubeadmFinished { .. }
            | Event::Etcd { .. }
            | Event::Used { .. }
            | Event::Metrics { .. }
            | Event::Span { .. }
            | Event::Called { .. }
            | Event::Fault { .. }
            | Event::Proxied { .. }
            | Event::Noticed { .. }
            | Event::Member { .. }
            | Event::Judged { .. }
            | Event::Cleaned { .. }
            | Event::Note { .. }
            | Event::Warning { .. }
            | Event::RunFinished { .. } => {}
        }
        Ok(())
    }

    fn begin(&mut self, task: &Task, case: &Case) -> io::Result<()> {
        let dir = self.dir.join(&case.folder);
        fs::create_dir_all(&dir)?;
        let (name, header) = if kinder::is_it(case) {
            (names::kinders_log(task.plan.index, &task.plan.name), kinder::header(task))
        } else {
            (names::log(task.plan.index, &task.plan.name), header(task))
        };
        let path = dir.join(name);
        let named = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
        let mut file = File::create(&path).map_err(named)?;
        file.write_all(header.as_bytes())?;
        self.open.insert(task.plan.index, Log { file, raw: kinder::is_it(case) });
        Ok(())
    }

    fn line(&mut self, index: usize, node: &str, line: &str) -> io::Result<()> {
        let Some(Log { file, raw }) = self.open.get_mut(&index) else { return Ok(()) };
        if *raw {
            return writeln!(file, "{line}");
        }
        let node = if node.is_empty() { String::new() } else { format!("{}: ", one_line(node)) };
        // Tabs indent the stacks that programs print; they harm nobody.
        let line: Vec<String> = line.split('\t').map(one_line).collect();
        file.write_all(format!("{node}{}\n", line.join("\t")).as_bytes())
    }
}

fn find(case: &Case, index: usize) -> Option<&Task> {
    case.tasks.iter().find(|task| task.plan.index == index)
}

/// The task that ran this kubeadm command: of those that run, the one that says so, else the one that began last. A group waits for
/// its tasks, and is none of them.
fn runs(case: &Case, command: &str) -> Option<usize> {
    let groups: Vec<usize> = case.tasks.iter().filter_map(|task| task.plan.group).collect();
    case.tasks
        .iter()
        .filter(|task| !groups.contains(&task.plan.index))
        .filter_map(|task| match task.state {
            State::Running { began } => Some((task.plan.what.contains(command), began, task.plan.index)),
            State::Waiting | State::Ended { .. } => None,
        })
        .max()
        .map(|(_, _, index)| index)
}

/// The line above and below a header.
pub(super) fn rule() -> String {
    "-".repeat(80)
}

fn header(task: &Task) -> String {
    let plan = &task.plan;
    let rule = rule();
    let description = if plan.description.is_empty() { String::new() } else { format!("{}\n", plain(&plan.description)) };
    format!(
        "{rule}\n{}\n{description}\ncommand : {}\ntimeout : {}\nforce   : {}\n{rule}\n",
        names::task(plan.index, &plan.name),
        plain(&plan.what),
        human(plan.limit),
        plan.force
    )
}

fn end(task: &Task) -> String {
    let mut text = format!("{}\n", rule());
    for seen in &task.verdicts {
        let j = &seen.judgement;
        text += &plain(&format!("{} {}: wanted {}; saw {}\n", verdict(j.verdict).1, j.name, j.wanted, j.saw));
        for sample in seen.lines() {
            text += &plain(&format!("     {sample}\n"));
        }
    }
    let State::Ended { outcome, counts, took } = &task.state else { return text };
    let ignored = if *counts { "" } else { ", which is ignored" };
    let outcome = match outcome {
        Outcome::Passed if *counts => "done, but an expectation failed".into(),
        Outcome::Passed => "passed".into(),
        Outcome::Failed { reason } => format!("failed{ignored}: {reason}"),
        Outcome::NotStarted { reason } => format!("could not be started{ignored}: {reason}"),
        Outcome::TimedOut { limit } => format!("not done at its limit of {}{ignored}", human(*limit)),
        Outcome::Stopped => "stopped".into(),
        Outcome::Skipped { reason } => format!("skipped: {reason}"),
    };
    text + &plain(&format!("outcome : {outcome}\ntime    : {}\n", human(*took)))
}

#[cfg(test)]
mod tests {
    use super::super::model::Run;
    use super::super::script::Script;
    use super::*;

    fn written(script: &Script) -> Vec<(String, String)> {
        let dir = tempfile::tempdir().expect("a folder");
        let (mut run, mut logs) = (Run::default(), Logs::new(dir.path()));
        for told in &script.told {
            run.hear(told);
            if let Some(case) = &run.case {
                logs.hear(told, case).expect("written");
            }
        }
        let mut files: Vec<(String, String)> = fs::read_dir(dir.path())
            .expect("listed")
            .map(|entry| {
                let path = entry.expect("an entry").path();
                (path.file_name().expect("a name").display().to_string(), fs::read_to_string(&path).expect("text"))
            })
            .collect();
        files.sort();
        files
    }

    #[test]
    fn a_log_has_kinders_header_the_output_and_the_outcome() {
        let files = written(&Script::failing());
        assert_eq!(
            files.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            ["task-01-init-log.txt", "task-02-join-log.txt", "task-03-delete-log.txt"]
        );
        insta::assert_snapshot!("log_join", files[1].1);
    }

    #[test]
    fn kubeadms_lines_go_to_the_task_of_a_group_that_runs_it() {
        let mut script = Script::grouped();
        script.output(3, "", "mine");
        script.kubeadm("n", "join");
        script.kubeadm_line("n", "[etcd] joining");
        script.ends(3, "exec in all", Outcome::Passed, false);
        script.kubeadm_line("n", "[etcd] joined");
        let files = written(&script);
        let lines = |at: usize| files[at].1.lines().filter(|line| line.starts_with("n: ") || *line == "mine").collect::<Vec<_>>().join("|");
        assert_eq!(lines(0), "");
        assert_eq!(lines(1), "n: $ kubeadm join --config /kind/kubeadm.conf|n: [etcd] joining|n: [etcd] joined");
        assert_eq!(lines(2), "mine");
    }

    #[test]
    fn output_cannot_command_the_terminal_that_reads_it() {
        let files = written(&Script::hostile());
        assert_eq!(files.len(), 1, "a task that never ran has no log: {files:?}");
        insta::assert_snapshot!("log_hostile", files[0].1);
        assert!(files[0].1.chars().all(|c| c == '\n' || !c.is_control()));
    }
}
