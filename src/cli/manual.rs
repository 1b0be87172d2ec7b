//! The command line as text: the help of all verbs in groups, completions, man pages, and `docs/cli.md`.

use std::fmt::Write;
use std::path::Path;

use anyhow::Context;
use clap::{Command, CommandFactory};
use clap_complete::Shell;

use super::args::Cli;
use super::diag;
use super::exit::Exit;
use super::show;

/// Verbs by what they are for. One that is not here comes last.
const GROUPS: &[(&str, &[&str])] = &[
    ("Runs", &["run", "test", "lint", "schema", "migrate", "report", "watch", "advise"]),
    ("Clusters", &["create", "get", "do", "exec", "cp", "export", "delete"]),
    ("Images", &["build"]),
    ("Machine", &["doctor", "gc"]),
    ("joinder itself", &["version", "completion", "man", "help"]),
];
/// Of the verbs that are in no group.
const OTHERS: &str = "More";

/// The command line, its help in groups.
pub(super) fn command() -> Command {
    let mut command = Cli::command();
    command.build();
    let list = groups(&command);
    Cli::command()
        .help_template(format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}Options:\n{{options}}{{after-help}}"))
}

fn groups(command: &Command) -> String {
    let verbs: Vec<&Command> = command.get_subcommands().filter(|c| !c.is_hide_set()).collect();
    let widest = verbs.iter().map(|c| c.get_name().len()).max().unwrap_or(0);
    let line = |verb: &Command| format!("  {:widest$}  {}\n", verb.get_name(), about(verb));
    let grouped = |name: &str| GROUPS.iter().any(|(_, all)| all.contains(&name));
    let mut text = String::new();
    for (group, names) in GROUPS {
        let lines: String = names.iter().filter_map(|name| verbs.iter().find(|v| v.get_name() == *name)).map(|v| line(v)).collect();
        if !lines.is_empty() {
            let _ = write!(text, "{group}:\n{lines}\n");
        }
    }
    let lines: String = verbs.iter().filter(|v| !grouped(v.get_name())).map(|v| line(v)).collect();
    if !lines.is_empty() {
        let _ = write!(text, "{OTHERS}:\n{lines}\n");
    }
    text
}

fn about(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

/// `joinder completion SHELL`.
pub(super) fn completion(shell: Shell) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "joinder", &mut script);
    show::write(&String::from_utf8_lossy(&script))
}

/// `joinder man DIR`: one page a verb.
pub(super) fn man(dir: &Path) -> Exit {
    let written = std::fs::create_dir_all(dir)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), dir))
        .with_context(|| format!("cannot write man pages to {}", dir.display()));
    match written {
        Ok(()) => {
            diag::say(&format!("man pages are in {}", dir.display()));
            Exit::Passed
        }
        Err(e) => diag::fail(Exit::BadEnvironment, &e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::env;

    /// Is it one of those that every command has?
    fn is_clap_s(arg: &clap::Arg) -> bool {
        use clap::ArgAction::{Help, HelpLong, HelpShort, Version};
        matches!(arg.get_action(), Help | HelpLong | HelpShort | Version)
    }

    /// All verbs as a page.
    fn markdown() -> String {
        let mut root = Cli::command();
        root.build();
        let mut text = String::from(
            "# Command line\n\nMade from the program (`JOINDER_UPDATE=1 cargo test --lib manual`); `joinder VERB --help` says the same. Exit codes are in\n[exit-codes.md](exit-codes.md).\n",
        );
        section(&root, &mut text);
        text
    }

    /// A verb that does something, with all below it.
    fn section(command: &Command, text: &mut String) {
        let below: Vec<&Command> = command.get_subcommands().filter(|c| c.get_name() != "help" && !c.is_hide_set()).collect();
        for command in &below {
            section(command, text);
        }
        if !below.is_empty() {
            return;
        }
        let name = command.get_bin_name().unwrap_or(command.get_name());
        let usage = command.clone().render_usage().to_string();
        let usage = usage.trim_start_matches("Usage: ");
        let _ = write!(text, "\n## `{name}`\n\n{}.\n\n```\n{usage}\n```\n", about(command));
        let args: Vec<String> = command.get_arguments().filter(|a| !a.is_hide_set() && !is_clap_s(a)).map(row).collect();
        if !args.is_empty() {
            let _ = write!(text, "\n| argument | means | default |\n|---|---|---|\n{}", args.concat());
        }
        if let Some(more) = command.get_after_help() {
            let more = more.to_string();
            let (words, examples) = more.split_once("Examples:\n").unwrap_or((&more, ""));
            if !words.trim().is_empty() {
                let _ = write!(text, "\n{}\n", words.trim());
            }
            if !examples.is_empty() {
                let lines: Vec<&str> = examples.lines().map(str::trim).collect();
                let _ = write!(text, "\n```sh\n{}\n```\n", lines.join("\n"));
            }
        }
    }

    fn row(arg: &clap::Arg) -> String {
        let cell = |text: &str| text.replace('|', "\\|").replace('*', "\\*");
        let values: Vec<String> = arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
        let values = if arg.get_action().takes_values() { values.join(" ") } else { String::new() };
        let long = arg.get_long().map(|long| format!("--{long}"));
        let short = arg.get_short().map(|short| format!("-{short}"));
        let flags: Vec<String> = short.into_iter().chain(long).collect();
        let name = if flags.is_empty() { values } else { format!("{} {values}", flags.join(", ")).trim_end().to_owned() };
        let mut means = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let mut default: Vec<String> = arg.get_default_values().iter().map(|v| v.to_string_lossy().into_owned()).collect();
        if let Some((words, own)) = means.clone().split_once(" [default: ") {
            words.clone_into(&mut means);
            default = vec![own.trim_end_matches(']').to_owned()];
        }
        let choices: Vec<String> =
            arg.get_possible_values().iter().filter(|v| !v.is_hide_set()).map(|v| format!("`{}`", v.get_name())).collect();
        if !choices.is_empty() && arg.get_action().takes_values() {
            let _ = write!(means, ": {}", choices.join(", "));
        }
        if !arg.get_action().takes_values() {
            default.clear();
        }
        format!("| `{}` | {} | {} |\n", cell(&name), cell(&means), cell(&default.join(" ")))
    }

    #[test]
    fn docs_cli_md_is_up_to_date() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cli.md");
        let wanted = markdown();
        if env::var("JOINDER_UPDATE").is_some() {
            std::fs::write(&path, &wanted).expect("written");
        }
        let there = std::fs::read_to_string(&path).unwrap_or_default();
        let differs = wanted.lines().zip(there.lines()).find(|(a, b)| a != b);
        assert!(wanted == there, "docs/cli.md is not what the program says: JOINDER_UPDATE=1 cargo test --lib manual; first: {differs:?}");
    }

    /// `run`, `get clusters`, …: what can be typed, with its command.
    fn leaves<'a>(command: &'a Command, found: &mut Vec<&'a Command>) {
        let mut below = command.get_subcommands().filter(|c| c.get_name() != "help" && !c.is_hide_set()).peekable();
        if below.peek().is_none() {
            found.push(command);
        }
        below.for_each(|c| leaves(c, found));
    }

    #[test]
    fn every_verb_says_what_it_does_and_shows_how_where_it_takes_arguments() {
        let mut root = Cli::command();
        root.build();
        root.clone().debug_assert();
        let mut all = Vec::new();
        leaves(&root, &mut all);
        assert!(all.len() > 10);
        for verb in all {
            let name = verb.get_bin_name().unwrap_or_default();
            assert!(!about(verb).is_empty() && !about(verb).ends_with('.'), "{name}: one line without a full stop");
            let takes = verb.get_arguments().any(|a| !a.is_hide_set() && !is_clap_s(a));
            let shows = verb.get_after_help().is_some_and(|h| h.to_string().contains("Examples:\n"));
            assert!(!takes || shows, "{name} takes arguments and has no examples");
        }
    }

    #[test]
    fn the_help_lists_every_verb_once() {
        let help = command().render_help().to_string();
        for verb in Cli::command().get_subcommands().filter(|c| !c.is_hide_set()) {
            let lines = help.lines().filter(|l| l.starts_with(&format!("  {} ", verb.get_name()))).count();
            assert_eq!(lines, 1, "{}:\n{help}", verb.get_name());
        }
    }
}
