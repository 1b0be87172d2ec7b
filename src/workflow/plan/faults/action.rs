//! What a fault does: one thing, to nodes that have it, with values that change something.

use super::super::super::file::Path;
use super::super::findings::Findings;
use super::super::select::{Empty, Nodes, look_up};
use crate::spec::{Action, EditedManifest, Fault, Partition, Size, Until, Victim};

/// Faster than what connects nodes: a limit that limits nothing.
const FASTEST: Size = Size(100 << 30);

/// Is it done to calls?
pub(super) fn on_call(fault: &Fault) -> bool {
    let Action { drop_answer, delay, refuse, hold, .. } = &fault.action;
    drop_answer.is_some() || delay.is_some() || refuse.is_some() || hold.is_some()
}

/// Files that kubeadm writes on control planes only.
fn files(action: &Action, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    let Action { certificate, manifest, .. } = action;
    let wanted = [("certificate", certificate.as_ref().map(|bad| &bad.nodes)), ("manifest", manifest.as_ref().map(|edited| &edited.nodes))];
    for (key, selector) in wanted {
        let Some(selector) = selector else { continue };
        let meant = look_up(selector, nodes, Empty::Never, &path.key(key).key("nodes"), findings);
        if meant.workers() > 0 {
            findings.wrong(&path.key(key).key("nodes"), "workers have none: select control planes only");
        }
    }
    if let Some(manifest) = manifest {
        edited(manifest, &path.key("manifest"), findings);
    }
}

/// What is written into a manifest goes through a shell and `sed`.
fn edited(manifest: &EditedManifest, path: &Path, findings: &mut Findings<'_>) {
    match (&manifest.image, &manifest.flag) {
        (Some(_), None) | (None, Some(_)) => {}
        _ => findings.wrong_with(path, "one thing of a manifest is changed", "give just one of image and flag"),
    }
    let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "-._/:@=,".contains(c));
    let begins = |text: &str| text.starts_with(|c: char| c.is_ascii_alphanumeric());
    if let Some(image) = manifest.image.as_ref().filter(|image| !begins(image) || !plain(image)) {
        findings.wrong(&path.key("image"), format!("{image:?} is no name of an image"));
    }
    let named = |flag: &str| flag.strip_prefix("--").and_then(|rest| rest.split_once('=')).is_some_and(|(name, _)| begins(name));
    if let Some(flag) = manifest.flag.as_ref().filter(|flag| !named(flag) || !plain(flag)) {
        findings.wrong_with(&path.key("flag"), format!("{flag:?} is no flag"), "write it as `--name=value`, without spaces and quotes");
    }
}

/// What of Kubernetes it breaks; nothing where that is a node or a network.
pub(super) fn of_kubernetes(action: &Action) -> Option<&'static str> {
    let target = [&action.kill, &action.pause, &action.restart].into_iter().flatten().next();
    match target.map(|target| target.what) {
        Some(Victim::Etcd) => Some("etcd"),
        Some(Victim::KubeApiserver) => Some("API server"),
        None if action.certificate.is_some() => Some("certificate"),
        Some(Victim::Kubelet | Victim::Kubeadm | Victim::Node) | None => None,
    }
}

/// Looks at what it does; `path` is the fault's.
pub(super) fn check(fault: &Fault, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    let whole = path;
    let path = &whole.key("do");
    // all else needs a shell in the node, or kubeadm
    let frozen = fault.action.pause.as_ref().is_some_and(|target| target.what == Victim::Node);
    if nodes.is_etcd_alone() && !frozen {
        let what = "this cluster is etcd alone, whose nodes have no shell: nothing but `pause` of a `node` can be done to them";
        findings.wrong_with(path, what, "use that, or `member: {stop: …}`");
    }
    let Action {
        drop_answer,
        delay,
        refuse,
        hold,
        kill,
        pause,
        restart,
        crash_all,
        partition,
        bandwidth,
        disk_full,
        disk_slow,
        certificate,
        manifest,
    } = &fault.action;
    let given = [
        ("dropAnswer", drop_answer.is_some()),
        ("delay", delay.is_some()),
        ("refuse", refuse.is_some()),
        ("hold", hold.is_some()),
        ("kill", kill.is_some()),
        ("pause", pause.is_some()),
        ("restart", restart.is_some()),
        ("crashAll", crash_all.is_some()),
        ("partition", partition.is_some()),
        ("bandwidth", bandwidth.is_some()),
        ("diskFull", disk_full.is_some()),
        ("diskSlow", disk_slow.is_some()),
        ("certificate", certificate.is_some()),
        ("manifest", manifest.is_some()),
    ];
    let words: Vec<&str> = given.iter().filter(|(_, there)| *there).map(|(word, _)| *word).collect();
    match words[..] {
        [word] => {
            if matches!(word, "dropAnswer" | "delay" | "refuse" | "hold") && fault.on.call.is_none() {
                findings.wrong_with(
                    path,
                    format!("`{word}` is done to a call, and the trigger is none"),
                    "write `on: {call: MemberPromote}`",
                );
            }
        }
        [] => findings.wrong_with(path, "the fault breaks nothing", format!("give one of: {}", given.map(|(word, _)| word).join(", "))),
        _ => findings.wrong(path, format!("a fault breaks one thing, this has {}: {}", words.len(), words.join(", "))),
    }
    for (key, times) in [
        ("dropAnswer", drop_answer.as_ref().map(|calls| calls.times)),
        ("refuse", refuse.as_ref().map(|calls| calls.times)),
        ("delay", delay.as_ref().and_then(|delay| delay.times)),
    ] {
        if times == Some(0) {
            findings.wrong(&path.key(key).key("times"), "0 calls are none: this disturbs nothing");
        }
    }
    if fault.on.at.is_some() && on_call(fault) {
        let help = "say it in the action: `hold: {at: answer}`";
        findings.wrong_with(path, "`at` of the trigger is for faults of something else than the call", help);
    }
    if restart.as_ref().is_some_and(|target| matches!(target.what, Victim::Kubeadm)) {
        let help = "`kill` it, and join again in a later task";
        findings.wrong_with(&path.key("restart").key("what"), "nobody starts kubeadm again: it cannot be restarted", help);
    }
    for (key, target) in [("kill", kill), ("pause", pause), ("restart", restart)] {
        let Some(target) = target else { continue };
        let meant = nodes.selected(&target.nodes);
        if meant.workers() > 0 && matches!(target.what, Victim::Etcd | Victim::KubeApiserver) {
            findings.wrong(&path.key(key).key("nodes"), format!("workers have no {}: select control planes only", target.what.as_str()));
        }
    }
    let selectors = [
        ("kill", kill.as_ref().map(|target| &target.nodes)),
        ("pause", pause.as_ref().map(|target| &target.nodes)),
        ("restart", restart.as_ref().map(|target| &target.nodes)),
        ("bandwidth", bandwidth.as_ref().map(|link| &link.nodes)),
        ("diskFull", disk_full.as_ref().map(|on| &on.nodes)),
        ("diskSlow", disk_slow.as_ref().map(|disk| &disk.nodes)),
    ];
    for (key, selector) in selectors {
        if let Some(selector) = selector {
            look_up(selector, nodes, Empty::Never, &path.key(key).key("nodes"), findings);
        }
    }
    files(&fault.action, path, nodes, findings);
    if let Some(partition) = partition {
        cut(partition, &path.key("partition"), nodes, findings);
    }
    values(fault, whole, findings);
}

fn cut(partition: &Partition, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    let from = look_up(&partition.from, nodes, Empty::Never, &path.key("from"), findings);
    let to = look_up(&partition.to, nodes, Empty::Never, &path.key("to"), findings);
    if from == to && from.nodes.len() == 1 && !from.unknown {
        findings.wrong(path, "there is nothing to cut: both sides are the same node");
    }
}

/// Values that would change nothing.
fn values(fault: &Fault, path: &Path, findings: &mut Findings<'_>) {
    let (until, path) = (path.key("until"), path.key("do"));
    let Action { delay, kill, restart, bandwidth, disk_slow, .. } = &fault.action;
    for (key, rate) in [("bandwidth", bandwidth), ("diskSlow", disk_slow)] {
        let path = path.key(key).key("rate");
        match rate.as_ref().map(|slow| slow.rate) {
            Some(Size(0)) => findings.wrong_with(&path, "at this rate nothing moves at all", "use `partition` for a link that is dead"),
            Some(rate) if rate > FASTEST => findings.wrong(&path, format!("{rate} a second limit nothing: no link is that fast")),
            Some(_) | None => {}
        }
    }
    if delay.as_ref().is_some_and(|delay| delay.by.0.is_zero()) {
        findings.wrong(&path.key("delay").key("by"), "this delays nothing");
    }
    match fault.until {
        Until::After(span) if span.0.is_zero() => findings.wrong(&until, "the fault would end as it begins"),
        Until::StepEnd => {}
        Until::After(_) | Until::RunEnd => {
            let gone = kill.as_ref().filter(|target| target.what != Victim::Node).map(|_| "killed");
            if let Some(done) = gone.or_else(|| restart.as_ref().map(|_| "restarted")) {
                findings.wrong_with(&until, format!("what is {done} comes back by itself: nothing ends then"), "leave `until` out");
            }
        }
    }
}
