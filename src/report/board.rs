//! A running cluster at one moment, and how it is shown: as lines that fit the terminal, or as JSON. Pure.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use super::frame::Size;
use super::tone::{Tone, cut, fit, one_line, width};

/// What is seen of a cluster. The fields are described in `docs/watch.md`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Board {
    /// When, UTC.
    pub at: Timestamp,
    /// The cluster's name.
    pub cluster: String,
    /// Kubernetes in the nodes; empty until a node has said.
    pub kubernetes: String,
    /// Number of voters in the newest member list.
    pub voters: usize,
    /// Number of learners in it.
    pub learners: usize,
    /// The node whose member leads, as the member in the highest term says.
    pub leader: Option<String>,
    /// The highest term that a member is in.
    pub term: Option<u64>,
    /// The learner that holds the learner slot.
    pub slot: Option<Slot>,
    /// Alarms and errors that members tell of.
    pub alarms: Vec<String>,
    /// Ids of clusters, when members tell of more than one.
    pub clusters: Vec<String>,
    /// The nodes, control planes first.
    pub nodes: Vec<Row>,
    /// Members of the list that are of no node.
    pub strangers: Vec<Member>,
}

/// Who holds the learner slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Slot {
    /// Its name, or its id while it has none.
    pub holder: String,
    /// Has it started?
    pub started: bool,
    /// For how long it has been seen as a learner.
    pub seen_ms: u64,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its name.
    pub node: String,
    /// `control-plane` or `worker`.
    pub role: String,
    /// `running`, `not answering`, or the container's state.
    pub state: String,
    /// Why it does not answer, or why its member does not.
    pub why: Option<String>,
    /// Its etcd member, as far as it is known.
    pub member: Option<Member>,
    /// What its components use, by name.
    pub used: BTreeMap<String, Use>,
}

/// An etcd member.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact that a reader asks for by name")]
pub struct Member {
    /// Its id, hexadecimal.
    pub id: String,
    /// Its name; empty until it has started.
    pub name: String,
    /// Is it a learner?
    pub learner: bool,
    /// Has it started and published its name?
    pub started: bool,
    /// Does it lead?
    pub leads: bool,
    /// Does it answer?
    pub answers: bool,
    /// Its raft index.
    pub index: Option<u64>,
    /// Entries that it is behind the leader.
    pub lag: Option<u64>,
    /// Its index in per cent of the leader's.
    pub in_sync: Option<f64>,
    /// Bytes of its store.
    pub db_size: Option<u64>,
    /// etcd's version.
    pub version: String,
}

/// What a component uses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Use {
    /// CPU time by time: 1 is one core.
    pub cores: Option<f64>,
    /// Bytes of resident anonymous memory; 0 where the kernel does not say.
    pub rss: u64,
    /// Bytes of memory less idle page cache; 0 where the kernel does not say.
    pub working_set: u64,
}

/// Columns of one component's use: `0.05 123MiB`.
const USE: usize = 13;
/// Components in the order of their columns.
const COMPONENTS: [(&str, &str); 4] = [("etcd", "ETCD"), ("kube-apiserver", "API SERVER"), ("kubelet", "KUBELET"), ("node", "WHOLE NODE")];

impl Board {
    /// What a reader would call a change: indexes, sizes, times and use alone are none.
    pub(super) fn essence(&self) -> String {
        let member = |m: &Member| format!("{} {} {} {} {} {}", m.id, m.name, m.learner, m.started, m.leads, m.answers);
        let rows =
            self.nodes.iter().map(|row| format!("{} {} {}", row.node, row.state, row.member.as_ref().map(member).unwrap_or_default()));
        let strangers = self.strangers.iter().map(member);
        let head = format!("{:?} {:?} {:?} {:?}", self.leader, self.term, self.alarms, self.clusters);
        std::iter::once(head).chain(rows).chain(strangers).collect::<Vec<_>>().join("\n")
    }

    /// The lines, none wider than the terminal, and together lower.
    pub(super) fn lines(&self, size: Size) -> Vec<(Tone, String)> {
        let mut all = vec![(Tone::Plain, self.head())];
        let names: Vec<String> = self.nodes.iter().map(|row| self.short(&row.node)).collect();
        let name = names.iter().map(|name| width(name)).max().unwrap_or(4).clamp(4, 30);
        let components = components(size.columns, name);
        all.push((Tone::Faint, titles(name, &components)));
        let room = size.rows.saturating_sub(8 + self.strangers.len()).max(1);
        for (row, short) in self.nodes.iter().zip(&names).take(room) {
            all.push((row.tone(), row.line(short, name, &components)));
        }
        if self.nodes.len() > room {
            all.push((Tone::Faint, format!("  … and {} more nodes", self.nodes.len() - room)));
        }
        all.extend(
            self.strangers.iter().map(|member| (Tone::Doubt, format!("  {} is of no node here: {}", member.label(), member.words()))),
        );
        all.extend(self.tail());
        let columns = size.columns.saturating_sub(1);
        all.into_iter().map(|(tone, line)| (tone, cut(&one_line(&line), columns).trim_end().to_owned())).collect()
    }

    fn head(&self) -> String {
        let count = |n: usize, one: &str| if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") };
        let leader = match (&self.leader, self.term) {
            (Some(leader), Some(term)) => format!("{} leads in term {term}", self.short(leader)),
            (None, Some(term)) => format!("nobody leads in term {term}"),
            (Some(_) | None, None) => "no etcd member answers".to_owned(),
        };
        let kubernetes = if self.kubernetes.is_empty() { String::new() } else { format!(" · Kubernetes {}", self.kubernetes) };
        let members = format!("{}, {}", count(self.voters, "voter"), count(self.learners, "learner"));
        format!("{}{kubernetes} · {members} · {leader} · {}", self.cluster, self.at.strftime("%H:%M:%S"))
    }

    /// Does any etcd member tell how it is?
    fn answers(&self) -> bool {
        self.term.is_some()
    }

    fn tail(&self) -> Vec<(Tone, String)> {
        let mut tail = Vec::new();
        tail.push(match &self.slot {
            None if self.answers() => (Tone::Faint, "learner slot: free".to_owned()),
            None => (Tone::Doubt, "learner slot: not known".to_owned()),
            Some(slot) => {
                let started = if slot.started { "" } else { ", not started" };
                let seen = crate::sys::clock::human(std::time::Duration::from_millis(slot.seen_ms));
                (Tone::Doubt, format!("learner slot: held by {}{started}, seen so for {seen}", self.short(&slot.holder)))
            }
        });
        tail.push(match self.alarms.first() {
            None if self.answers() => (Tone::Faint, "alarms: none".to_owned()),
            None => (Tone::Doubt, "alarms: not known".to_owned()),
            Some(_) => (Tone::Bad, format!("alarms: {}", self.alarms.join("; "))),
        });
        if self.clusters.len() > 1 {
            tail.push((Tone::Bad, format!("members of {} clusters: {}", self.clusters.len(), self.clusters.join(", "))));
        }
        let why = |row: &Row| row.why.as_ref().map(|why| (Tone::Doubt, format!("{}: {why}", self.short(&row.node))));
        // Whoever has no member yet is not in trouble.
        tail.extend(self.nodes.iter().filter(|row| row.state != "running" || row.member.is_some()).filter_map(why).take(4));
        tail
    }

    /// A node's name without what all have in common.
    fn short(&self, name: &str) -> String {
        name.strip_prefix(&format!("{}-", self.cluster)).unwrap_or(name).to_owned()
    }
}

/// Columns before the components' and behind the name: two in front, member, lag, in sync, store.
const MEMBERS: usize = 2 + 1 + 20 + 1 + 7 + 1 + 6 + 1 + 9;

/// The components that there is room for.
fn components(columns: usize, name: usize) -> Vec<(&'static str, &'static str)> {
    let room = columns.saturating_sub(name + MEMBERS + 1) / (USE + 1);
    COMPONENTS.into_iter().take(room).collect()
}

fn titles(name: usize, components: &[(&str, &str)]) -> String {
    let uses = components.iter().fold(String::new(), |all, (_, title)| all + " " + &fit(title, USE));
    format!("  {} {} {:>7} {:>6} {:>9}{uses}", fit("NODE", name), fit("MEMBER", 20), "LAG", "SYNC", "STORE")
}

impl Row {
    fn tone(&self) -> Tone {
        match &self.member {
            _ if self.state != "running" => Tone::Bad,
            Some(member) if !member.answers => Tone::Bad,
            Some(member) if member.learner => Tone::Doubt,
            Some(_) => Tone::Plain,
            None => Tone::Faint,
        }
    }

    fn line(&self, short: &str, name: usize, components: &[(&str, &str)]) -> String {
        let state = match &self.member {
            _ if self.state != "running" => self.state.clone(),
            Some(member) => member.words(),
            None => "-".to_owned(),
        };
        let of = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        let member = self.member.as_ref();
        let lag = of(member.and_then(|m| m.lag).map(|lag| lag.to_string()));
        let sync = of(member.and_then(|m| m.in_sync).map(|percent| format!("{:.0} %", percent.floor())));
        let store = of(member.and_then(|m| m.db_size).map(size));
        let words = |component: &str| self.used.get(component).map_or_else(|| "-".to_owned(), use_words);
        let uses = components.iter().fold(String::new(), |all, (component, _)| all + " " + &fit(&words(component), USE));
        format!("  {} {} {lag:>7} {sync:>6} {store:>9}{uses}", fit(short, name), fit(&state, 20))
    }
}

impl Member {
    /// Its name, or its id while it has none.
    fn label(&self) -> &str {
        if self.name.is_empty() { &self.id } else { &self.name }
    }

    fn words(&self) -> String {
        let kind = if self.learner { "learner" } else { "voter" };
        let more = match () {
            () if self.leads => ", leads",
            () if !self.started => ", not started",
            () if !self.answers => ", silent",
            () => "",
        };
        format!("{kind}{more}")
    }
}

fn use_words(used: &Use) -> String {
    let cores = used.cores.map_or_else(|| "-".to_owned(), |cores| format!("{cores:.2}"));
    let memory = if used.working_set > 0 { used.working_set } else { used.rss };
    format!("{cores:>5} {}", size(memory))
}

/// In the largest unit of which it has some.
fn size(bytes: u64) -> String {
    match bytes {
        0 => "-".to_owned(),
        1..1_024 => format!("{bytes}B"),
        1_024..1_048_576 => format!("{}KiB", bytes >> 10),
        1_048_576..1_073_741_824 => format!("{}MiB", bytes >> 20),
        _ => format!("{}.{}GiB", bytes >> 30, ((bytes >> 20) % 1_024) * 10 / 1_024),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(id: &str, name: &str, learner: bool, index: u64) -> Member {
        Member {
            id: id.into(),
            name: name.into(),
            learner,
            started: !name.is_empty(),
            leads: id == "a1",
            answers: true,
            index: Some(index),
            lag: Some(1_000 - index),
            in_sync: Some(f64::from(u32::try_from(index).expect("small")) / 10.0),
            db_size: Some(20 << 20),
            version: "3.6.16".into(),
        }
    }

    fn row(n: usize, member: Option<Member>) -> Row {
        let used = |cores, mib: u64| Use { cores, rss: mib << 19, working_set: mib << 20 };
        let used = [
            ("etcd", used(Some(0.031), 60)),
            ("kube-apiserver", used(Some(0.12), 400)),
            ("kubelet", used(None, 50)),
            ("node", used(Some(0.4), 1_500)),
        ];
        Row {
            node: format!("demo-control-plane-{n}"),
            role: "control-plane".into(),
            state: "running".into(),
            why: None,
            member,
            used: used.into_iter().map(|(name, used)| (name.to_owned(), used)).collect(),
        }
    }

    fn board() -> Board {
        let name = |n: usize| format!("demo-control-plane-{n}");
        let mut third = row(
            3,
            Some(Member { answers: false, index: None, lag: None, in_sync: None, db_size: None, ..member("a3", &name(3), false, 0) }),
        );
        third.why = Some("127.0.0.1:2379: Connection refused".into());
        let mut gone = row(5, None);
        (gone.state, gone.why) = ("not answering".into(), Some("lost the agent in demo-control-plane-5".into()));
        gone.used.clear();
        let mut worker = row(1, None);
        (worker.node, worker.role) = ("demo-worker-1".into(), "worker".into());
        Board {
            at: "2026-12-01T15:03:21Z".parse().expect("a time"),
            cluster: "demo".into(),
            kubernetes: "v1.36.3".into(),
            voters: 3,
            learners: 1,
            leader: Some(name(1)),
            term: Some(2),
            slot: Some(Slot { holder: name(4), started: true, seen_ms: 12_300 }),
            alarms: vec![],
            clusters: vec!["c1".into()],
            nodes: vec![
                row(1, Some(member("a1", &name(1), false, 1_000))),
                row(2, Some(member("a2", &name(2), false, 998))),
                third,
                row(4, Some(member("a4", &name(4), true, 899))),
                gone,
                worker,
            ],
            strangers: vec![],
        }
    }

    fn drawn(board: &Board, columns: usize, rows: usize) -> String {
        let lines = board.lines(Size { columns, rows });
        assert!(lines.iter().all(|(_, line)| width(line) < columns.max(1)), "{lines:#?}");
        lines.into_iter().map(|(_, line)| line + "\n").collect()
    }

    #[test]
    fn a_board_fits_any_width() {
        for columns in [60, 100, 140] {
            insta::assert_snapshot!(format!("board_{columns}"), drawn(&board(), columns, 40));
        }
    }

    #[test]
    fn trouble_is_told_and_hostile_names_command_nothing() {
        let mut board = board();
        board.alarms = vec!["memberID:1 alarm:NOSPACE".into()];
        board.clusters = vec!["c1".into(), "c2".into()];
        (board.leader, board.slot) = (None, None);
        board.strangers = vec![Member { started: false, answers: false, ..member("dead", "\x1b[2J", true, 0) }];
        insta::assert_snapshot!("board_trouble", drawn(&board, 100, 40));
        (board.term, board.nodes, board.alarms) = (None, vec![], vec![]);
        let text = drawn(&board, 100, 40);
        assert!(text.contains("learner slot: not known") && text.contains("alarms: not known"), "{text}");
        assert!(text.contains("no etcd member answers") && !text.contains('\x1b'), "{text}");
        drawn(&board, 1, 1);
    }

    #[test]
    fn many_nodes_leave_room_for_the_rest() {
        let mut board = board();
        board.nodes = (1..=50).map(|n| row(n, None)).collect();
        let text = drawn(&board, 80, 20);
        assert!(text.contains("… and 38 more nodes") && text.lines().count() < 20, "{text}");
    }

    #[test]
    fn indexes_and_use_are_no_change_and_all_else_is() {
        let same = |change: fn(&mut Board)| {
            let mut other = board();
            change(&mut other);
            other.essence() == board().essence()
        };
        assert!(same(|b| b.nodes[1].used.clear()));
        assert!(same(|b| b.nodes[1].member.as_mut().expect("one").index = Some(7)));
        assert!(!same(|b| b.nodes[3].member.as_mut().expect("one").learner = false));
        assert!(!same(|b| b.nodes[0].state = "exited".into()));
        assert!(!same(|b| b.term = Some(3)));
        assert!(!same(|b| b.alarms.push("x".into())));
        assert!(!same(|b| b.nodes.truncate(5)));
    }

    #[test]
    fn every_field_is_described() {
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/watch.md")).expect("there");
        let mut board = board();
        board.strangers = vec![member("dead", "", true, 0)];
        let json = serde_json::to_value(&board).expect("JSON");
        let mut open = vec![json];
        while let Some(value) = open.pop() {
            match value {
                serde_json::Value::Object(all) => {
                    for (key, value) in all {
                        let component = COMPONENTS.iter().any(|(name, _)| *name == key);
                        assert!(component || page.contains(&format!("`{key}`")), "docs/watch.md says nothing of {key}");
                        open.push(value);
                    }
                }
                serde_json::Value::Array(all) => open.extend(all),
                serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) | serde_json::Value::String(_) => {}
            }
        }
    }
}
