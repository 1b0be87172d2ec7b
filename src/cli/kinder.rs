//! What is otherwise when the program is called by the name `kinder`: exit codes, the cluster's name, `version`, `create cluster`.

use std::path::{Path, PathBuf};

use clap::Command;

use super::create_args::CreateArgs;
use super::diag;
use super::exit::Exit;
use super::show;
use crate::sys::env;

/// kinder's number, which its users' scripts may look at.
const VERSION: &str = "1.0.0";
/// The cluster's name when nobody says, as with kind.
const NAME: &str = "kind";
/// What `create cluster` is under this name.
const MADE: &str = "Make the containers of a cluster; `kinder do kubeadm-init` and `do kubeadm-join` make a cluster of them";
/// And what it comes to.
const CODES: &str = "Exit codes: 0, and 1 for any failure";
/// Verbs of both names, as errors and help name them.
const VERBS: [&str; 19] = [
    "advise", "build", "cp", "create", "delete", "do ", "doctor", "exec", "export", "gc", "get", "lint", "list", "migrate", "report",
    "resolve", "run", "test", "watch",
];
/// logrus' names.
const LEVELS: [&str; 8] = ["panic", "fatal", "error", "warn", "warning", "info", "debug", "trace"];

/// By which name the program was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Called {
    Joinder,
    Kinder,
}

impl Called {
    /// By the name of the file or of the link to it.
    pub(super) fn look() -> Self {
        let name = std::env::args_os().next().map(PathBuf::from);
        match name.as_deref().and_then(Path::file_name) {
            Some(name) if name == "kinder" => Self::Kinder,
            Some(_) | None => Self::Joinder,
        }
    }

    pub(super) fn is_kinder(self) -> bool {
        self == Self::Kinder
    }

    /// The command line under this name.
    pub(super) fn command(self, command: Command) -> Command {
        match self {
            Self::Joinder => command,
            // clap puts the name before it
            // of several values the last one counts, as with pflag
            Self::Kinder => spoken(named_kind(command))
                .mut_subcommand("create", |create| create.mut_subcommand("cluster", |cluster| cluster.about(MADE)))
                .after_help(CODES)
                .mut_subcommand("get", released)
                .name("kinder")
                .bin_name("kinder")
                .version("version 1.0.0")
                .args_override_self(true),
        }
    }

    /// A text that names commands, with the name that the program was called by.
    pub(super) fn words(self, text: &str) -> String {
        match self {
            Self::Joinder => text.to_owned(),
            Self::Kinder => {
                VERBS.iter().fold(text.to_owned(), |text, verb| text.replace(&format!("joinder {verb}"), &format!("kinder {verb}")))
            }
        }
    }

    /// What a cluster, its user and its context are called in the user's own kubeconfig.
    pub(super) fn context(self, cluster: &str) -> String {
        match self {
            Self::Joinder => format!("joinder-{cluster}"),
            Self::Kinder => format!("kind-{cluster}"),
        }
    }

    /// Does a command run in the next node after this exit code?
    pub(super) fn goes_on(self, code: u8) -> bool {
        self == Self::Joinder || code == 0
    }

    /// kinder makes containers and nothing in them.
    pub(super) fn create(self, args: CreateArgs) -> CreateArgs {
        match self {
            Self::Joinder => args,
            Self::Kinder => {
                let mut args = args;
                args.nodes_only = true;
                args.compat = true;
                args.nodes.name.get_or_insert_with(|| NAME.to_owned());
                args.nodes.image = args.nodes.image.filter(|image| !image.is_empty());
                args
            }
        }
    }

    /// kinder knows 0 and 1. The code of a command that ran in a node is told all the same.
    pub(super) fn exit(self, exit: Exit) -> Exit {
        match (self, exit) {
            (Self::Joinder, exit) | (Self::Kinder, exit @ Exit::Remote(_)) => exit,
            (Self::Kinder, exit) => exit.as_kinder(),
        }
    }
}

/// Help that says what is typed by this name.
fn spoken(command: Command) -> Command {
    let said = |text: &clap::builder::StyledStr| Called::Kinder.words(&text.to_string()).replace(" joinder-", " kind-");
    let (about, after) = (command.get_about().map(said), command.get_after_help().map(said));
    let command = command.mut_args(|arg| match arg.get_help().map(ToString::to_string) {
        Some(help) if help.contains("[default: joinder]") => arg.help(help.replace("[default: joinder]", "[default: kind]")),
        Some(_) | None => arg,
    });
    let command = about.into_iter().fold(command, Command::about);
    after.into_iter().fold(command, Command::after_help).mut_subcommands(spoken)
}

/// With kinder's name for a cluster where none is given.
fn named_kind(command: Command) -> Command {
    let default = |arg: clap::Arg| {
        if arg.get_id() == "name" && !arg.get_default_values().is_empty() { arg.default_value(NAME) } else { arg }
    };
    command.mut_args(default).mut_subcommands(named_kind)
}

/// kinder's artifacts are what is released; of runs it knows nothing.
fn released(get: Command) -> Command {
    get.mut_subcommand("artifacts", |runs| runs.name("runs").hide(true))
        .mut_subcommand("build-artifacts", |files| files.visible_alias("artifacts"))
}

/// What kinder says of a level that is none; what it says at each is its own.
pub(super) fn check_level(level: Option<&str>) {
    if let Some(level) = level.filter(|level| !LEVELS.contains(&level.to_ascii_lowercase().as_str())) {
        diag::say(&format!("warning: there is no log level {level:?}; there are: {}", LEVELS.join(", ")));
    }
}

/// `kinder version`.
pub(super) fn version() -> Exit {
    show::write(&format!("v{VERSION}\n"))
}

/// Where kinder keeps a cluster's kubeconfig.
pub(super) fn kubeconfig_file(name: &str) -> Option<PathBuf> {
    env::var("HOME").map(|home| Path::new(&home).join(format!(".kube/kind-config-{name}")))
}

/// `get kubeconfig-path`.
pub(super) fn kubeconfig_path(name: &str) -> Exit {
    match kubeconfig_file(name) {
        Some(file) => show::write(&format!("{}\n", file.display())),
        None => diag::fail(Exit::BadEnvironment, &anyhow::anyhow!("HOME is not set, below which kinder keeps kubeconfigs")),
    }
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::super::args::{Cli, Command as Verb, Create};
    use super::super::manual;
    use super::*;

    fn created(called: Called) -> CreateArgs {
        let matches = called.command(manual::command()).try_get_matches_from(["x", "create", "cluster"]).expect("fine");
        let cli = Cli::from_arg_matches(&matches).expect("fine");
        let Verb::Create(Create::Cluster(args)) = cli.command else { panic!("{cli:?}") };
        called.create(args)
    }

    #[test]
    fn kinder_makes_containers_that_are_called_kind_and_nothing_in_them() {
        let (kinder, joinder) = (created(Called::Kinder), created(Called::Joinder));
        assert_eq!((kinder.nodes_only, kinder.compat, kinder.nodes.name.as_deref()), (true, true, Some("kind")));
        assert_eq!((joinder.nodes_only, joinder.compat, joinder.nodes.name), (false, false, None));
    }

    #[test]
    fn kinder_ends_at_the_first_node_that_fails_and_its_contexts_are_kinds() {
        assert!(Called::Joinder.goes_on(1) && Called::Kinder.goes_on(0) && !Called::Kinder.goes_on(1));
        assert_eq!([Called::Joinder.context("a"), Called::Kinder.context("a")], ["joinder-a", "kind-a"]);
    }

    #[test]
    fn only_the_code_of_a_command_in_a_node_is_neither_0_nor_1() {
        for (exit, kinder) in [(Exit::Passed, 0), (Exit::Failed, 1), (Exit::BadCommandLine, 1), (Exit::Left, 1), (Exit::Remote(7), 7)] {
            assert_eq!((Called::Kinder.exit(exit).code(), Called::Joinder.exit(exit)), (kinder, exit));
        }
    }
}
