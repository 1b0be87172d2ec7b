//! etcd's own log, followed in the files that containerd writes, or in the one that etcd alone writes to: what it says of members, at its own time.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::event::{EtcdWord, MemberId, Notice};
use crate::sys::clock::Stamp;

const PODS: &str = "/var/log/pods";
const POD: &str = "kube-system_etcd-";
/// At most so much is read in one look.
const PIECE: u64 = 256 << 10;

/// The log of the node's member, also over restarts of its container.
pub(super) struct EtcdLog {
    /// Where containerd writes; `None` where the file is known.
    pods: Option<PathBuf>,
    file: Option<PathBuf>,
    offset: u64,
    rest: Vec<u8>,
}

impl EtcdLog {
    /// The node's own.
    pub(super) fn of_node() -> Self {
        Self::below(PODS)
    }

    /// Just this file, which may not be there yet.
    pub(super) fn of_file(file: impl Into<PathBuf>) -> Self {
        Self { pods: None, file: Some(file.into()), offset: 0, rest: Vec::new() }
    }

    fn below(pods: impl Into<PathBuf>) -> Self {
        Self { pods: Some(pods.into()), file: None, offset: 0, rest: Vec::new() }
    }

    /// What was written since the last look.
    pub(super) fn look(&mut self) -> Vec<(Stamp, Notice)> {
        let mut found = Vec::new();
        // The last lines of one container come before the first ones of the next.
        if self.read(&mut found) == 0 {
            let newest = self.newest();
            if newest.is_some() && newest != self.file {
                (self.file, self.offset, self.rest) = (newest, 0, Vec::new());
                self.read(&mut found);
            }
        }
        found
    }

    fn read(&mut self, found: &mut Vec<(Stamp, Notice)>) -> usize {
        let Some(path) = &self.file else { return 0 };
        let mut piece = Vec::new();
        let read = File::open(path).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.offset))?;
            file.take(PIECE).read_to_end(&mut piece)
        });
        let read = read.unwrap_or(0);
        self.offset += read as u64;
        self.rest.append(&mut piece);
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            found.extend(notice(&String::from_utf8_lossy(&line)));
        }
        read
    }

    /// `PODS/kube-system_etcd-NODE_UID/etcd/N.log`, the one that was begun last.
    fn newest(&self) -> Option<PathBuf> {
        let inside = |dir: &Path| fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect::<Vec<_>>();
        let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let pods = self.pods.iter().flat_map(|pods| inside(pods)).filter(|pod| name(pod).starts_with(POD));
        let logs = pods.flat_map(|pod| inside(&pod.join("etcd")));
        let numbered = logs.filter_map(|log| Some((name(&log).strip_suffix(".log")?.parse::<u32>().ok()?, log)));
        let made = |log: &Path| fs::metadata(log.parent().unwrap_or(log)).and_then(|m| m.modified()).ok();
        numbered.max_by_key(|(number, log)| (made(log), *number)).map(|(_, log)| log)
    }
}

/// What a line tells, as containerd writes it, `TIME stderr F {"level":…,"ts":…,"msg":…}`, or as etcd does.
fn notice(line: &str) -> Option<(Stamp, Notice)> {
    let json = &line[line.find('{')?..];
    if !MESSAGES.iter().any(|(message, ..)| json.contains(message)) {
        return None;
    }
    let entry: Value = serde_json::from_str(json.trim_end()).ok()?;
    let said = entry["msg"].as_str()?;
    let (_, word, about) = MESSAGES.iter().find(|(message, ..)| said == *message)?;
    let member = about.iter().find_map(|key| entry[*key].as_str()?.parse::<MemberId>().ok());
    let at = Stamp::of_wall(entry["ts"].as_str()?.parse().ok()?);
    Some((at, Notice::EtcdLog { word: *word, member }))
}

/// Messages, what they tell, and where they name the member (`server/etcdserver/api/membership/cluster.go`, `server.go`).
const MESSAGES: &[(&str, EtcdWord, &[&str])] = &[
    ("starting an etcd server", EtcdWord::Starting, &[]),
    ("added member", EtcdWord::Added, &["added-peer-id"]),
    ("promote member", EtcdWord::Promoted, &["promoted-member-id"]),
    ("removed member", EtcdWord::Removed, &["removed-remote-peer-id"]),
    ("published local member to cluster through raft", EtcdWord::Published, &["local-member-id"]),
    ("failed to publish local member to cluster through raft", EtcdWord::PublishFailed, &["local-member-id"]),
    ("ready to serve client requests", EtcdWord::Serving, &[]),
];

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const ADDED: &str = r#"2026-12-01T16:53:46.692228698Z stderr F {"level":"info","ts":"2026-12-01T16:53:46.692175Z","caller":"membership/cluster.go:424","msg":"added member","cluster-id":"9100a088ccd66453","local-member-id":"db7e56acd2e2150","added-peer-id":"c5fb9a2395c2a7a1","added-peer-peer-urls":["https://10.213.1.11:2380"],"added-peer-is-learner":true}"#;
    const SERVES: &str = r#"2026-12-01T16:53:47.473786278Z stderr F {"level":"info","ts":"2026-12-01T16:53:47.473563Z","caller":"embed/serve.go:139","msg":"ready to serve client requests"}"#;

    #[test]
    fn a_line_is_told_at_etcds_own_time() {
        let (at, said) = notice(ADDED).expect("a notice");
        assert_eq!(at.wall.to_string(), "2026-12-01T16:53:46.692175Z");
        assert_eq!(said, Notice::EtcdLog { word: EtcdWord::Added, member: Some(MemberId(0xc5fb_9a23_95c2_a7a1)) });
        for line in ["", "{", "x stderr F {\"msg\":\"added member\"", "x stderr F {\"msg\":\"not added member\",\"ts\":\"x\"}"] {
            assert_eq!(notice(line), None, "{line}");
        }
    }

    #[test]
    fn a_file_of_its_own_is_followed_from_before_it_is_there() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("etcd.log");
        let mut log = EtcdLog::of_file(&file);
        assert_eq!(log.look(), []);
        let json = |line: &str| line[line.find('{').expect("JSON")..].to_owned();
        fs::write(&file, format!("{}\n", json(ADDED))).expect("written");
        assert_eq!(log.look().len(), 1);
        let mut file = File::options().append(true).open(&file).expect("there");
        // etcd ended and started again: it writes behind the end
        writeln!(file, "{}", json(SERVES)).expect("written");
        let words: Vec<Notice> = log.look().into_iter().map(|(_, notice)| notice).collect();
        assert_eq!(words, [Notice::EtcdLog { word: EtcdWord::Serving, member: None }]);
    }

    #[test]
    fn lines_in_pieces_and_the_next_container_are_followed() {
        let dir = tempfile::tempdir().expect("a folder");
        let logs = dir.path().join("kube-system_etcd-cp-1_846c/etcd");
        fs::create_dir_all(&logs).expect("made");
        let mut log = EtcdLog::below(dir.path());
        assert_eq!(log.look(), []);
        let mut file = File::create(logs.join("0.log")).expect("made");
        let (head, tail) = ADDED.split_at(100);
        file.write_all(head.as_bytes()).expect("written");
        assert_eq!(log.look(), []);
        writeln!(file, "{tail}\nnoise").expect("written");
        assert_eq!(log.look().len(), 1);
        assert_eq!(log.look(), []);
        writeln!(file, "{SERVES}").expect("written");
        fs::write(logs.join("1.log"), format!("{SERVES}\n")).expect("written");
        let words: Vec<_> = (0..3).flat_map(|_| log.look()).collect();
        assert_eq!(words.len(), 2, "the last line of the old file and the first of the new one: {words:?}");
    }
}
