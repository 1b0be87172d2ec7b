//! The rooms and their doors , read from the sources: which room may look into which, and what belongs
//! in one place only.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Stands for every room.
const ALL: &str = "*";

/// Room and the rooms it looks into. A door that is not used is taken out of here.
const DOORS: &[(&str, &[&str])] = &[
    ("sys", &[]),
    // sys: an event carries the moment it was told
    ("event", &["sys"]),
    // sys: how a length of time is shown
    ("spec", &["sys"]),
    ("runtime", &["sys"]),
    ("pki", &[]),
    // event: a member is one plain type from the wire to the verdict
    ("etcd", &["event"]),
    // event: as in etcd; what the agent says of members and usage is what is told
    // pki: the proxy is taken for etcd, and joinder's own clients have certificates of their own
    ("agent", &["etcd", "event", "pki", "sys"]),
    // no event: a node is waited for by whoever tells of it
    ("node", &["agent", "runtime", "sys"]),
    ("image", &["runtime", "sys"]),
    // agent: readiness is asked of it
    // pki: members of an etcd alone have certificates of an authority of their own
    ("cluster", &["agent", "event", "node", "pki", "runtime", "spec", "sys"]),
    // agent: it runs kubeadm
    // cluster: what the file tells kubeadm is decided with the topology
    // spec: what a join leaves is one word from the file to the verdict
    ("kubeadm", &["agent", "cluster", "event", "node", "spec", "sys"]),
    // agent: it samples etcd
    // kubeadm: what the lines mean between which a join's time goes
    ("observe", &["agent", "event", "kubeadm", "node", "sys"]),
    // kubeadm: what joins came to is held against what its oracle predicts
    // observe: the record is what is judged
    ("expect", &["event", "kubeadm", "observe", "spec", "sys"]),
    // agent: the proxy in the nodes disturbs calls
    // pki: certificates that do not hold are minted
    ("fault", &["agent", "cluster", "event", "node", "pki", "spec", "sys"]),
    // cluster, node: a plan holds the topology that was decided
    // event: the outline of a plan is told with the case
    ("workflow", &["cluster", "event", "node", "spec"]),
    // agent: commands in nodes are followed, and members asked who leads
    // fault: the world holds what is broken beyond one step
    ("step", &["agent", "cluster", "event", "fault", "kubeadm", "node", "observe", "runtime", "spec", "sys"]),
    // agent, cluster, kubeadm, node, runtime: kinder's actions do what no step does, on a cluster that is there
    // fault: a world has its faults
    ("action", &["agent", "cluster", "event", "fault", "kubeadm", "node", "runtime", "spec", "step", "sys"]),
    // agent, cluster, node, spec: the judge asks the members, and looks into logs, for what expectations need to see
    // observe: it waits until what is judged has been told
    ("runner", &["agent", "cluster", "event", "expect", "fault", "node", "observe", "spec", "step", "sys", "workflow"]),
    ("report", &["event", "sys"]),
    ("cli", &[ALL]),
];

/// A file longer than this is two files.
const MOST_LINES: usize = 600;

struct Source {
    /// Below `src/`, `node/boot.rs`.
    path: String,
    text: String,
}

impl Source {
    /// `node`; `None` for the files beside the rooms.
    fn room(&self) -> Option<&str> {
        self.path.split_once('/').map(|(room, _)| room)
    }

    fn is_door(&self) -> bool {
        self.path.ends_with("/mod.rs")
    }

    /// Lines with their numbers, without those that are only a comment.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(at, line)| (at + 1, line)).filter(|(_, line)| !line.trim_start().starts_with("//"))
    }

    /// Where `word` stands in its code.
    fn lines_with<'a>(&'a self, word: &'a str) -> impl Iterator<Item = String> + 'a {
        self.code().filter(move |(_, line)| line.contains(word)).map(|(at, line)| format!("src/{}:{at}: {}", self.path, line.trim()))
    }
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut open, mut found) = (vec![root.clone()], Vec::<PathBuf>::new());
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    let source = |path: PathBuf| Source {
        text: fs::read_to_string(&path).expect("UTF-8"),
        path: path.strip_prefix(&root).expect("below src").display().to_string(),
    };
    found.into_iter().map(source).collect()
}

/// The rooms that a line names by `crate::ROOM`.
fn doors_in(line: &str) -> impl Iterator<Item = &str> {
    line.split("crate::").skip(1).map(|rest| {
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        &rest[..end]
    })
}

fn none(found: &[String], rule: &str) {
    let list = found.iter().fold(String::new(), |mut text, line| {
        let _ = write!(text, "\n  {line}");
        text
    });
    assert!(found.is_empty(), "{rule}{list}");
}

#[test]
fn a_room_looks_only_through_its_doors() {
    let mut used = BTreeSet::new();
    let mut wrong = Vec::new();
    for source in sources() {
        let Some(room) = source.room() else { continue };
        let Some((_, doors)) = DOORS.iter().find(|(name, _)| *name == room) else {
            wrong.push(format!("src/{}: room {room:?} is not in the table", source.path));
            continue;
        };
        for (at, line) in source.code() {
            for to in doors_in(line) {
                used.insert((room.to_owned(), to.to_owned()));
                if to.is_empty() {
                    wrong.push(format!("src/{}:{at}: name one room a line, as in `use crate::sys::stop`", source.path));
                } else if to != room && !doors.contains(&ALL) && !doors.contains(&to) {
                    wrong.push(format!("src/{}:{at}: {room} has no door to {to}: {}", source.path, line.trim()));
                }
            }
        }
    }
    none(&wrong, "is the line in the wrong room? If not, change this table and ARCHITECTURE.md together, with the reason:");
    let unused: Vec<String> = DOORS
        .iter()
        .flat_map(|(room, doors)| doors.iter().map(move |door| ((*room).to_owned(), (*door).to_owned())))
        .filter(|door| door.1 != ALL && !used.contains(door))
        .map(|(room, door)| format!("{room} -> {door}"))
        .collect();
    none(&unused, "doors that nobody uses any more; take them out of the table:");
}

#[test]
fn nobody_climbs_out_of_a_room_by_super() {
    let mut wrong = Vec::new();
    for source in sources() {
        // node/boot.rs is crate::node::boot, two deep; node/mod.rs is crate::node, one deep
        let depth = source.path.split('/').count() - usize::from(source.is_door());
        if source.room().is_none() {
            continue;
        }
        // a test module is one deeper
        let tests = source.code().find(|(_, line)| *line == "#[cfg(test)]").map_or(usize::MAX, |(at, _)| at);
        for (at, line) in source.code() {
            if line.contains(&"super::".repeat(depth + usize::from(at > tests))) {
                wrong.push(format!("src/{}:{at}: {}", source.path, line.trim()));
            }
        }
    }
    none(&wrong, "name what is in another room by crate::ROOM:");
}

#[test]
fn files_are_small() {
    let long = |s: &Source| (s.text.lines().count() > MOST_LINES).then(|| format!("src/{}: {} lines", s.path, s.text.lines().count()));
    none(&sources().iter().filter_map(long).collect::<Vec<_>>(), "more than 600 lines:");
}

#[test]
fn doors_say_what_is_behind_them_and_hold_no_logic() {
    let sources = sources();
    let doors: Vec<&Source> = sources.iter().filter(|s| s.is_door()).collect();
    for room in sources.iter().filter_map(Source::room) {
        assert!(doors.iter().any(|d| d.path == format!("{room}/mod.rs")), "room {room} has no mod.rs");
    }
    let silent = doors.iter().filter(|d| !d.text.starts_with("//! ")).map(|d| format!("src/{}", d.path));
    none(&silent.collect::<Vec<_>>(), "a mod.rs begins with a line on what belongs there:");
    let logic = doors.iter().flat_map(|d| d.lines_with("fn "));
    none(&logic.collect::<Vec<_>>(), "a mod.rs holds no logic; move it into a file beside it:");
}

#[test]
fn what_has_one_owner_is_named_only_there() {
    let sources = sources();
    for (word, owner) in
        [("bollard", "runtime/docker"), ("std::env::var", "sys/env.rs"), ("use std::env", "sys/env.rs"), ("etcd_client", "etcd/")]
    {
        let strays = sources.iter().filter(|s| !s.path.starts_with(owner)).flat_map(|s| s.lines_with(word));
        none(&strays.collect::<Vec<_>>(), &format!("{word} belongs to src/{owner}:"));
    }
}
