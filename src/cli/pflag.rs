//! Flags as Go's pflag takes them, which is how kinder's users write them: `--verbose=false`.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command};

/// Reads a command line. Who says nothing of the kind meets the command as it is, in help and errors too.
pub(super) fn matches(command: Command, words: &[OsString]) -> Result<ArgMatches, clap::Error> {
    let words = &action_first(&command, words.to_vec());
    match command.clone().try_get_matches_from(words) {
        Err(plain) if !matches!(plain.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            let again = lenient(command).try_get_matches_from(words);
            again.map_err(|lenient| if lenient.kind() == plain.kind() { plain } else { lenient })
        }
        read => read,
    }
}

/// `do --name=x kubeadm-init`: kinder's actions are no verbs of their own, and flags may stand before them.
fn action_first(command: &Command, mut words: Vec<OsString>) -> Vec<OsString> {
    let Some(command) = command.find_subcommand("do") else { return words };
    let verb = words.iter().skip(1).position(|word| word == "do").map(|at| at + 1);
    // what comes before is the level alone, or else it is no verb
    let level = |before: &[OsString]| {
        before.iter().all(|word| word.to_string_lossy().starts_with("--loglevel=")) || before.len() == 2 && before[0] == "--loglevel"
    };
    let Some(verb) = verb.filter(|verb| level(&words[1..*verb])) else { return words };
    let is_action = |word: &OsString| word.to_str().is_some_and(|word| command.find_subcommand(word).is_some());
    if let Some(at) = words[verb + 1..].iter().position(is_action) {
        let action = words.remove(verb + 1 + at);
        words.insert(verb + 1, action);
    }
    words
}

/// All flags that are only given or not take a value too.
fn lenient(command: Command) -> Command {
    let flag = |arg: Arg| {
        if !matches!(arg.get_action(), ArgAction::SetTrue) {
            return arg;
        }
        let arg = arg.action(ArgAction::Set).num_args(0..=1).require_equals(true);
        arg.default_value("false").default_missing_value("true").value_parser(go_bool).value_name("BOOL")
    };
    command.mut_args(flag).mut_subcommands(lenient)
}

/// What Go's `strconv.ParseBool` takes.
pub(super) fn go_bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("write true or false".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::manual;
    use super::*;

    /// All arguments of a command and those below it.
    fn args(command: &Command) -> Vec<Arg> {
        command.get_arguments().cloned().chain(command.get_subcommands().flat_map(args)).collect()
    }

    #[test]
    fn every_flag_of_every_verb_takes_a_value_too() {
        let (plain, lenient) = (args(&manual::command()), args(&lenient(manual::command())));
        let mut flags = 0;
        for (plain, lenient) in plain.iter().zip(&lenient) {
            assert_eq!(plain.get_id(), lenient.get_id());
            assert!(!matches!(lenient.get_action(), ArgAction::SetTrue | ArgAction::SetFalse), "{}", lenient.get_id());
            if matches!(plain.get_action(), ArgAction::SetTrue) {
                flags += 1;
                assert_eq!(lenient.get_default_values(), ["false"]);
                assert!(lenient.is_require_equals_set(), "a value that stands apart is the next argument");
            }
        }
        assert!(flags > 20 && plain.len() == lenient.len(), "{flags}");
    }

    #[test]
    fn flags_may_stand_before_an_action() {
        let moved = |line: &str| {
            let words = line.split(' ').map(OsString::from).collect();
            action_first(&manual::command(), words).join(std::ffi::OsStr::new(" ")).to_string_lossy().into_owned()
        };
        for (line, to) in [
            ("kinder do --name=x --wait 5m kubeadm-init --dry-run", "kinder do kubeadm-init --name=x --wait 5m --dry-run"),
            ("kinder --loglevel debug do -v 6 kubeadm-join", "kinder --loglevel debug do kubeadm-join -v 6"),
            ("kinder do kubeadm-init --name=x", "kinder do kubeadm-init --name=x"),
            ("kinder do --name=x bogus", "kinder do --name=x bogus"),
            ("kinder exec cp1 do this kubeadm-init", "kinder exec cp1 do this kubeadm-init"),
        ] {
            assert_eq!(moved(line), to);
        }
    }

    #[test]
    fn what_go_takes_for_a_boolean_is_one() {
        let read = |words: &[&str]| {
            let command = Command::new("x").arg(Arg::new("flag").long("flag").short('f').action(ArgAction::SetTrue)).arg(Arg::new("more"));
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            matches(command, &words).map(|read| read.get_flag("flag")).map_err(|e| e.kind())
        };
        for (word, means) in
            [("", true), ("=1", true), ("=t", true), ("=TRUE", true), ("=True", true), ("=0", false), ("=F", false), ("=false", false)]
        {
            assert_eq!(read(&["x", &format!("--flag{word}")]), Ok(means), "{word}");
            assert_eq!(read(&["x", &format!("-f{word}"), "more"]), Ok(means), "{word}");
        }
        assert_eq!(read(&["x"]), Ok(false));
        for word in ["yes", "tRUE", "", "2"] {
            assert_eq!(read(&["x", &format!("--flag={word}")]), Err(ErrorKind::ValueValidation), "{word}");
        }
        assert_eq!(read(&["x", "--flag", "more", "most"]), Err(ErrorKind::UnknownArgument));
        assert_eq!(read(&["x", "--flag=true", "--bogus"]), Err(ErrorKind::UnknownArgument), "not that the flag has a value");
    }
}
