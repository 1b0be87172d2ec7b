//! Faults that could not be: no trigger or two, nothing broken or two things, calls that nobody makes.

use super::super::file::Path;
use super::findings::Findings;
use super::select::{Empty, Nodes, look_up};
use super::types::{PlannedTask, Step};
use crate::spec::{Action, EditedManifest, Fault, Selector, Trigger, Until, Victim};

/// Looks at the faults of one task.
pub(super) fn check(task: &PlannedTask, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    let list = path.key("faults");
    if !task.faults.is_empty()
        && matches!(task.step, Step::Create | Step::Delete | Step::Expect | Step::Export(_) | Step::Fault(_) | Step::Heal(_))
    {
        let what = format!("nothing can be disturbed while `{}` runs", task.step.word());
        findings.wrong_with(&list, what, "a fault lives in the step that it disturbs: init, join, reset, restart, scale, exec, cmd, wait");
    }
    for (at, fault) in task.faults.iter().enumerate() {
        let path = list.index(at);
        if fault.id.trim().is_empty() {
            findings.wrong(&path.key("id"), "the fault's id is empty");
        } else if task.faults[..at].iter().any(|earlier| earlier.id == fault.id) {
            findings.wrong(&path.key("id"), format!("an earlier fault of this task is called {:?} too", fault.id));
        }
        trigger(&fault.on, &path.key("on"), nodes, findings);
        action(fault, &path.key("do"), nodes, findings);
        turn(task, fault, &path, findings);
        if let Some(earlier) = task.faults[..at].iter().find(|earlier| same_target(earlier, fault)) {
            let what = format!("the earlier fault {:?} does something to the same at the same moment", earlier.id);
            findings.wrong_with(&path, what, "one of them would hide the other: give them other moments, or leave one out");
        }
    }
}

/// Looks at a fault that is a task of its own.
pub(super) fn standing(fault: &Fault, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    if fault.id.trim().is_empty() {
        findings.wrong(&path.key("id"), "the fault's id is empty");
    }
    if fault.until == Until::RunEnd {
        findings.wrong_with(&path.key("until"), "it lasts until it is healed, or everything is removed", "leave `until` out");
    }
    if fault.on != Trigger::default() {
        trigger(&fault.on, &path.key("on"), nodes, findings);
    }
    action(fault, &path.key("do"), nodes, findings);
}

/// Does anything in this step set the fault off, and does its end come?
fn turn(task: &PlannedTask, fault: &Fault, path: &Path, findings: &mut Findings<'_>) {
    let word = task.step.word();
    let kubeadm = matches!(task.step, Step::Init | Step::Join(_) | Step::Reset(_) | Step::Repair(_) | Step::Scale(_) | Step::Group { .. });
    let own = matches!(task.step, Step::Exec(_) | Step::Cmd(_));
    if fault.on.call.is_some() {
        let on = path.key("on").key("call");
        if task.step == Step::Init {
            findings.wrong(&on, "`kubeadm init` calls no etcd: this never sets the fault off");
        } else if matches!(task.step, Step::Scale(_)) {
            let help = "make the nodes with the cluster, and `join` them";
            findings.wrong_with(&on, "`scale` makes its nodes itself: no proxy is in them before their kubeadm runs", help);
        } else if !kubeadm && !own {
            findings.wrong(&on, format!("no kubeadm runs while `{word}` does: this never sets the fault off"));
        }
    }
    if fault.on.phase.is_some() && !kubeadm {
        findings.wrong(&path.key("on").key("phase"), format!("no kubeadm is followed while `{word}` runs: this never sets the fault off"));
    }
    let kubeadm_stands = fault.action.pause.as_ref().is_some_and(|target| matches!(target.what, Victim::Kubeadm));
    if kubeadm_stands && kubeadm && !matches!(fault.until, Until::After(_)) {
        findings.wrong_with(
            &path.key("do").key("pause"),
            format!("an end that never comes: `{word}` waits for kubeadm, which stands still until the step ends"),
            "say how long, as in `until: 5s`",
        );
    }
}

/// Would both be done to the same at the same moment?
fn same_target(a: &Fault, b: &Fault) -> bool {
    if let (Some(_), true, true) = (a.on.call, on_call(a), on_call(b)) {
        let range = |fault: &Fault| {
            let first = fault.on.nth.unwrap_or(1);
            let counts = [fault.action.drop_answer.as_ref(), fault.action.refuse.as_ref()].into_iter().flatten().map(|calls| calls.times);
            let delay = fault.action.delay.as_ref().and_then(|delay| delay.times);
            (first, first.saturating_add(counts.chain(delay).next().unwrap_or(1)))
        };
        let ((from_a, to_a), (from_b, to_b)) = (range(a), range(b));
        let where_same = |a: &Option<Selector>, b: &Option<Selector>| a.is_none() || b.is_none() || a == b;
        let here = where_same(&a.on.node, &b.on.node) && where_same(&a.on.endpoint, &b.on.endpoint);
        return a.on.call == b.on.call && here && from_a < to_b && from_b < to_a;
    }
    let targets = |fault: &Fault| {
        let Action { kill, pause, restart, partition, .. } = &fault.action;
        let target = kill.as_ref().or(pause.as_ref()).or(restart.as_ref()).cloned();
        let files = (fault.action.certificate.clone(), fault.action.manifest.clone());
        (target, partition.clone(), fault.action.crash_all.is_some(), files)
    };
    a.on == b.on && targets(a) == targets(b) && targets(a) != (None, None, false, (None, None))
}

/// Is it done to calls?
fn on_call(fault: &Fault) -> bool {
    let Action { drop_answer, delay, refuse, hold, .. } = &fault.action;
    drop_answer.is_some() || delay.is_some() || refuse.is_some() || hold.is_some()
}

fn trigger(on: &Trigger, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
    let given = [on.call.is_some(), on.event.is_some(), on.phase.is_some(), on.after.is_some()].into_iter().filter(|given| *given).count();
    if given != 1 {
        findings.wrong_with(path, format!("a fault has one trigger, this has {given}"), "give just one of call, event, phase and after");
    }
    if on.after.is_some() && (on.node.is_some() || on.nth.is_some()) {
        findings.wrong(path, "`node` and `nth` belong to a call, an event or a phase, not to a time");
    }
    for (key, there) in [("endpoint", on.endpoint.is_some()), ("at", on.at.is_some())] {
        if there && on.call.is_none() {
            findings.wrong(&path.key(key), format!("`{key}` belongs to `call`"));
        }
    }
    if let Some(endpoint) = &on.endpoint {
        look_up(endpoint, nodes, Empty::Never, &path.key("endpoint"), findings);
    }
    if on.nth == Some(0) {
        findings.wrong(&path.key("nth"), "times count from 1");
    }
    if let Some(node) = &on.node {
        let meant = look_up(node, nodes, Empty::Never, &path.key("node"), findings);
        if on.call.is_some() && !meant.unknown && !meant.nodes.is_empty() && meant.workers() == meant.nodes.len() {
            findings.wrong(&path.key("node"), "kubeadm on workers does not call etcd: this never sets the fault off");
        }
    }
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
    if let Some(image) = manifest.image.as_ref().filter(|image| image.is_empty() || !plain(image)) {
        findings.wrong(&path.key("image"), format!("{image:?} is no name of an image"));
    }
    if let Some(flag) = manifest.flag.as_ref().filter(|flag| !flag.starts_with("--") || !plain(flag)) {
        findings.wrong_with(&path.key("flag"), format!("{flag:?} is no flag"), "write it as `--name=value`, without spaces and quotes");
    }
}

fn action(fault: &Fault, path: &Path, nodes: &Nodes, findings: &mut Findings<'_>) {
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
        let meant = look_up(&target.nodes, nodes, Empty::Never, &path.key(key).key("nodes"), &mut findings.aside(&mut Vec::new()));
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
        look_up(&partition.from, nodes, Empty::Never, &path.key("partition").key("from"), findings);
        look_up(&partition.to, nodes, Empty::Never, &path.key("partition").key("to"), findings);
    }
}
