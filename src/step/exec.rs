//! `exec`: a command in nodes.

use super::each::each;
use super::error::StepError;
use super::world::World;
use crate::agent::{AgentError, Output, Pipe};
use crate::cluster::select;
use crate::event::Event;
use crate::node::Node;
use crate::spec::{Exec, OutputWanted};
use crate::sys::redact::Redactor;
use crate::sys::stop::Stop;

/// Runs the command of task `index` in the nodes, one after the other up to the first failure, or in all at once.
///
/// # Errors
/// [`StepError::NotStarted`], or [`StepError::Command`] for another exit code or output than is wanted. What it wrote is told as events.
pub async fn exec(world: &World, index: usize, exec: &Exec, stop: &Stop) -> Result<(), StepError> {
    let cluster = world.cluster()?;
    let nodes = select(&cluster, &exec.nodes, exec.allow_empty).await?;
    let redact = world.redactor();
    each("exec", &nodes, exec.parallel, stop, async |node| one(world, index, node, exec, &redact, stop).await).await
}

async fn one(world: &World, index: usize, node: &Node, exec: &Exec, redact: &Redactor, stop: &Stop) -> Result<(), StepError> {
    let argv = argv(exec);
    let program = argv.first().cloned().unwrap_or_default();
    let what = match &exec.command {
        Some(command) => format!("{} on {}", redact.apply(&command.join(" ")), node.name),
        None => format!("the script on {}", node.name),
    };
    let env = exec.env.0.iter().map(|(name, value)| (name.clone(), value.0.clone())).collect();
    let mut process = node.command(argv, env);
    let (mut out, mut err) = (redact.lines(), redact.lines());
    let mut search = Search::new(exec.output.as_ref());
    let how = loop {
        let Some(output) = process.next_or_stop(stop).await else { return Err(StepError::Stopped) };
        match output {
            Ok(Output::Line { pipe, text, more, .. }) => {
                search.line(&text, more);
                let line = match pipe {
                    Pipe::Out => out.piece(&text, more),
                    Pipe::Err => err.piece(&text, more),
                };
                world.events.tell(Event::Output { index, node: node.name.clone(), error: pipe == Pipe::Err, line });
            }
            Ok(Output::Exited { .. }) if process.is_stopped() => return Err(StepError::Stopped),
            Ok(Output::Exited { code: Some(code), .. }) => break (code != exec.exit_code).then(|| format!("exit code {code}")),
            Ok(Output::Exited { code: None, signal }) => break Some(format!("killed by signal {}", signal.unwrap_or(0))),
            Err(AgentError::Refused { why, .. }) => {
                let why = why.strip_prefix(&format!("cannot start {program}: ")).unwrap_or(&why).to_owned();
                return Err(StepError::NotStarted { what, why });
            }
            Err(e @ (AgentError::Lost { .. } | AgentError::Late { .. })) => {
                return Err(StepError::Command { what, how: e.to_string() });
            }
        }
    };
    let wanted = |how: String| if exec.exit_code == 0 { how } else { format!("{how}, wanted {}", exec.exit_code) };
    let how = how.map(wanted).into_iter().chain(search.wrong()).collect::<Vec<_>>().join("; ");
    if how.is_empty() {
        return Ok(());
    }
    Err(StepError::Command { what, how })
}

fn argv(exec: &Exec) -> Vec<String> {
    match (&exec.command, &exec.script) {
        (Some(command), _) => command.clone(),
        (None, script) => {
            ["bash", "-euo", "pipefail", "-c", script.as_deref().unwrap_or_default()].into_iter().map(str::to_owned).collect()
        }
    }
}

/// Texts that are looked for as the lines come, so that no output has to be kept.
struct Search<'a> {
    wanted: Option<&'a OutputWanted>,
    contained: Vec<bool>,
    lacking: Vec<bool>,
    /// The end of what came before: a text may go over several lines.
    before: String,
    /// How much of it matters: the longest text.
    longest: usize,
}

impl<'a> Search<'a> {
    fn new(wanted: Option<&'a OutputWanted>) -> Self {
        let (contains, lacks) = wanted.map_or((&[][..], &[][..]), |w| (&w.contains[..], &w.lacks[..]));
        Self {
            wanted,
            contained: vec![false; contains.len()],
            lacking: vec![true; lacks.len()],
            before: String::new(),
            longest: contains.iter().chain(lacks).map(String::len).max().unwrap_or(0),
        }
    }

    fn line(&mut self, line: &str, more: bool) {
        let Some(wanted) = self.wanted else { return };
        self.before.push_str(line);
        if !more {
            self.before.push('\n');
        }
        for (found, text) in self.contained.iter_mut().zip(&wanted.contains) {
            *found |= self.before.contains(text.as_str());
        }
        for (lacks, text) in self.lacking.iter_mut().zip(&wanted.lacks) {
            *lacks &= !self.before.contains(text.as_str());
        }
        let mut cut = self.before.len().saturating_sub(self.longest);
        while !self.before.is_char_boundary(cut) {
            cut -= 1;
        }
        self.before.drain(..cut);
    }

    /// What is not as wanted.
    fn wrong(&self) -> Vec<String> {
        let Some(wanted) = self.wanted else { return Vec::new() };
        let missing = self.contained.iter().zip(&wanted.contains).filter(|(found, _)| !**found);
        let there = self.lacking.iter().zip(&wanted.lacks).filter(|(lacks, _)| !**lacks);
        let missing = missing.map(|(_, text)| format!("its output lacks {text:?}"));
        missing.chain(there.map(|(_, text)| format!("its output contains {text:?}"))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(contains: &[&str], lacks: &[&str], lines: &[&str]) -> Vec<String> {
        let owned = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
        let wanted = OutputWanted { contains: owned(contains), lacks: owned(lacks) };
        let mut search = Search::new(Some(&wanted));
        for line in lines {
            search.line(line, false);
        }
        search.wrong()
    }

    #[test]
    fn a_text_is_found_where_a_long_line_was_cut() {
        let wanted = OutputWanted { contains: vec!["across the cut".into()], lacks: vec!["the\ncut".into()] };
        let mut search = Search::new(Some(&wanted));
        search.line("it lies across the", true);
        search.line(" cut, all of it", false);
        assert_eq!(search.wrong(), [""; 0]);
    }

    #[test]
    fn texts_are_found_in_and_over_lines_wherever_they_stand() {
        let lines = ["first ä", "second", "third"];
        assert_eq!(wrong(&["irst", "ä\nsec", "third"], &["fourth"], &lines), [""; 0]);
        assert_eq!(wrong(&["fourth"], &["second\nthi"], &lines), ["its output lacks \"fourth\"", "its output contains \"second\\nthi\""]);
        assert_eq!(wrong(&["x"], &["x"], &[]), ["its output lacks \"x\""]);
    }

    #[test]
    fn an_early_text_is_not_forgotten_and_little_is_kept() {
        let wanted = OutputWanted { contains: vec!["early".into()], lacks: Vec::new() };
        let mut search = Search::new(Some(&wanted));
        search.line("early", false);
        for _ in 0..1000 {
            search.line("ä line of some length", false);
        }
        assert_eq!(search.wrong(), [""; 0]);
        assert!(search.before.len() < 10, "{:?}", search.before);
    }
}
