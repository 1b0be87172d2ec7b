//! An event that a verdict may point to, in words.

use crate::event::{CallEnd, ClientCall, EtcdSample, Event, Member, Notice, Op, Told};
use crate::sys::clock::Stamp;

/// What it shows; `None` for events that are no evidence.
pub(super) fn words(event: &Event) -> Option<String> {
    match event {
        Event::Etcd { node, sample } => Some(format!("{node} {}", etcd(sample))),
        Event::Member { id, name, moment, .. } => {
            let who = if name.is_empty() { id.to_string() } else { name.clone() };
            Some(format!("member {who}: {}", format!("{moment:?}").to_lowercase()))
        }
        Event::KubeadmFinished { node, code, error, .. } => {
            let code = code.map_or("was killed".to_owned(), |code| format!("ended with exit code {code}"));
            let error = error.as_ref().map(|e| format!(": {e}")).unwrap_or_default();
            Some(format!("kubeadm on {node} {code}{error}"))
        }
        Event::Noticed { node, notice: Notice::InitialCluster { entries }, .. } => {
            Some(format!("etcd.yaml of {node} names {}", entries.join(",")))
        }
        Event::Noticed { node, notice: Notice::DataHash { revision, compacted, hash, .. }, .. } => {
            Some(format!("{node} has hash {hash:08x} of revisions {compacted} to {revision}"))
        }
        Event::Called { call } => Some(called(call)),
        Event::RunStarted { .. }
        | Event::CaseStarted { .. }
        | Event::CaseFinished { .. }
        | Event::TaskStarted { .. }
        | Event::TaskFinished { .. }
        | Event::Output { .. }
        | Event::Worked { .. }
        | Event::NodeUp { .. }
        | Event::KubeadmStarted { .. }
        | Event::KubeadmLine { .. }
        | Event::KubeadmPhase { .. }
        | Event::Judged { .. }
        | Event::Cleaned { .. }
        | Event::Note { .. }
        | Event::Warning { .. }
        | Event::Used { .. }
        | Event::Metrics { .. }
        | Event::Span { .. }
        | Event::Fault { .. }
        | Event::Proxied { .. }
        | Event::Noticed { .. }
        | Event::RunFinished { .. } => None,
    }
}

/// When it was seen, which is before it was told.
pub(super) fn seen(told: &Told) -> Stamp {
    match &told.event {
        Event::Etcd { sample, .. } => sample.seen,
        Event::Member { seen, .. } | Event::Used { seen, .. } | Event::Metrics { seen, .. } | Event::Noticed { seen, .. } => *seen,
        Event::Span { began, .. } => *began,
        Event::Called { call } => call.ended,
        Event::Proxied { call, .. } => call.began,
        Event::RunStarted { .. }
        | Event::CaseStarted { .. }
        | Event::CaseFinished { .. }
        | Event::TaskStarted { .. }
        | Event::TaskFinished { .. }
        | Event::Output { .. }
        | Event::Worked { .. }
        | Event::NodeUp { .. }
        | Event::KubeadmStarted { .. }
        | Event::KubeadmLine { .. }
        | Event::KubeadmPhase { .. }
        | Event::KubeadmFinished { .. }
        | Event::Judged { .. }
        | Event::Cleaned { .. }
        | Event::Fault { .. }
        | Event::Note { .. }
        | Event::Warning { .. }
        | Event::RunFinished { .. } => told.at,
    }
}

/// Each text is kept once: a writer's own keys are numbered, and not named.
fn called(call: &ClientCall) -> String {
    let ClientCall { client, key, value, .. } = call;
    let shown = value.map_or_else(|| "nothing".to_owned(), |value| value.to_string());
    match (&call.end, call.op) {
        (CallEnd::Ok, Op::Write) if key.starts_with("own/") => format!("{client}: a write is acknowledged"),
        (CallEnd::Ok, Op::Write) => format!("{client} has written {shown} into {key}"),
        (CallEnd::Ok, Op::Read) => format!("{client} has read {shown} from {key}"),
        (CallEnd::Failed { why }, _) => format!("{client}: failed: {why}"),
        (CallEnd::Unknown { why }, _) => format!("{client}: of unknown end: {why}"),
    }
}

fn etcd(sample: &EtcdSample) -> String {
    let errors = sample.status.as_ref().map(|status| status.errors.join(", ")).filter(|errors| !errors.is_empty());
    let reports = errors.map(|errors| format!("; it reports {}", errors.trim_end())).unwrap_or_default();
    looks(sample) + &reports
}

fn looks(sample: &EtcdSample) -> String {
    match (&sample.members, &sample.status, &sample.error) {
        (Some(members), _, _) => format!("lists {}", list(members)),
        (None, Some(status), _) if status.learner => format!("answers as a learner, term {}", status.term),
        (None, Some(status), _) => format!("answers, term {}", status.term),
        (None, None, Some(error)) => format!("does not answer: {error}"),
        (None, None, None) => "does not answer".into(),
    }
}

fn list(members: &[Member]) -> String {
    let one = |member: &Member| {
        let kind = match (member.learner, member.started()) {
            (true, true) => "learner",
            (true, false) => "learner, not started",
            (false, true) => "voter",
            (false, false) => "voter, not started",
        };
        format!("{} ({kind})", member.label())
    };
    members.iter().map(one).collect::<Vec<_>>().join(", ")
}
