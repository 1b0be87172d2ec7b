//! The events. A reader matches all of them; the line view and the artifacts find the words.

use std::net::Ipv4Addr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{ClientCall, EtcdCall, EtcdMetrics, EtcdSample, FaultMoment, Judgement, MemberId, Notice, Outcome, SpanKind, Usage};
use crate::sys::clock::Stamp;

/// Something that happened.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "snake_case")]
pub enum Event {
    /// First of all.
    RunStarted {
        /// [`super::FORMAT`].
        format: u32,
        /// The run's id, which labels all it makes.
        run: String,
        /// joinder's version.
        joinder: String,
        /// The container engine.
        engine: String,
    },
    /// A case begins: one workflow with one choice of its matrix.
    CaseStarted {
        /// Counts from 1.
        index: usize,
        /// How many the run has.
        of: usize,
        /// Its name, stable over runs and unique in one: the file's without the ending, and the choice.
        case: String,
        /// The language of its file: 1 is kinder's. An earlier joinder, which knew only 2, did not tell.
        #[serde(default = "joinders")]
        language: u32,
        /// Its choice of the matrix, in the order of the file.
        choice: Vec<(String, String)>,
        /// The command that runs it again; empty where no file made it.
        repeat: String,
        /// Where its artifacts go, below the run's folder; empty for that folder itself.
        folder: String,
        /// Its file, as named by the user.
        file: String,
        /// Its summary.
        summary: String,
        /// Its tasks in order, those of a group behind it.
        tasks: Vec<TaskPlan>,
        /// Which round of this case it is, counted from 1; 0 where an earlier joinder wrote the event.
        #[serde(default)]
        round: u32,
        /// How many rounds there are at most.
        #[serde(default)]
        rounds: u32,
        /// What is random in it is drawn from this.
        #[serde(default)]
        seed: u64,
        /// Values that the command line gave.
        #[serde(default)]
        vars: Vec<(String, String)>,
        /// The node image, by name.
        image: String,
        /// Kubernetes in it.
        kubernetes: String,
        /// etcd in it.
        etcd: String,
    },
    /// A task begins.
    TaskStarted {
        /// Counts from 1.
        index: usize,
        /// Its name.
        name: String,
    },
    /// A task ended. Exactly one for each task, also for one that was never started.
    TaskFinished {
        /// Counts from 1.
        index: usize,
        /// Its name.
        name: String,
        /// How it ended.
        outcome: Outcome,
        /// Does that make the run fail? (`force` and `ignoreError` are applied here.)
        counts: bool,
        /// How long it took.
        took: Duration,
    },
    /// A command of a task wrote a line.
    Output {
        /// The task.
        index: usize,
        /// The node; empty for a process on this machine.
        node: String,
        /// Did it write to standard error?
        error: bool,
        /// The line, secrets removed.
        line: String,
    },
    /// A case ended. Exactly one for each that began.
    CaseFinished {
        /// Counts from 1.
        index: usize,
        /// The first task whose failure counts.
        failed: Option<String>,
        /// Was something judged undecided?
        undecided: bool,
        /// Could something not be removed?
        left: bool,
        /// How long it took.
        took: Duration,
    },
    /// A stretch of work on a node or the cluster ended; what the durations are summed from.
    Worked {
        /// What kind of work.
        work: Work,
        /// The node, or the cluster's name.
        on: String,
        /// When it began.
        began: Stamp,
        /// How long it took.
        took: Duration,
    },
    /// A node container is up.
    NodeUp {
        /// Its name.
        node: String,
        /// Its fixed address.
        address: Ipv4Addr,
    },
    /// kubeadm begins on a node.
    KubeadmStarted {
        /// The node.
        node: String,
        /// The command line.
        argv: Vec<String>,
    },
    /// kubeadm wrote a line.
    KubeadmLine {
        /// The node.
        node: String,
        /// When the node saw it.
        seen: Stamp,
        /// The line, secrets removed.
        line: String,
    },
    /// kubeadm entered a phase.
    KubeadmPhase {
        /// The node.
        node: String,
        /// When the node saw the line that tells.
        seen: Stamp,
        /// The phase as kubeadm's output names it: `check-etcd`, `etcd`, `kubelet-start`, …
        phase: String,
    },
    /// kubeadm ended on a node.
    KubeadmFinished {
        /// The node.
        node: String,
        /// Exit code; `None` when it was killed.
        code: Option<i32>,
        /// The phase it was in.
        phase: Option<String>,
        /// kubeadm's own error line, when it failed.
        error: Option<String>,
        /// How long it ran.
        took: Duration,
    },
    /// A look at a node's etcd member that showed something new.
    Etcd {
        /// The node.
        node: String,
        /// What was seen.
        sample: EtcdSample,
    },
    /// What a component of a node has used, once a second.
    Used {
        /// The node.
        node: String,
        /// `node` for all that runs in it, `etcd`, `kube-apiserver`, `kubelet`.
        component: String,
        /// When the node read it.
        seen: Stamp,
        /// Counters since the component's start, and levels.
        usage: Usage,
    },
    /// etcd's own metrics, once a second.
    Metrics {
        /// The node.
        node: String,
        /// When the node read them.
        seen: Stamp,
        /// The ones that are kept.
        metrics: EtcdMetrics,
    },
    /// Something came to be in a node.
    Noticed {
        /// The node.
        node: String,
        /// When, as near as the node can tell.
        seen: Stamp,
        /// What.
        #[serde(flatten)]
        notice: Notice,
    },
    /// A named stretch of a node's way into the cluster. Those of one node do not overlap, but for `join` itself.
    Span {
        /// The node.
        node: String,
        /// Which.
        span: SpanKind,
        /// When it began.
        began: Stamp,
        /// How long it took.
        took: Duration,
    },
    /// A call of one of joinder's own clients ended.
    Called {
        /// What it was.
        call: ClientCall,
    },
    /// A fault came a step further.
    Fault {
        /// The task it belongs to, counted from 1.
        index: usize,
        /// Its id in the file.
        id: String,
        /// The node that it is done to; empty before that is known.
        node: String,
        /// What it does, in words.
        what: String,
        /// How far it is.
        moment: FaultMoment,
    },
    /// kubeadm's call to etcd ended, where a proxy stands between them.
    Proxied {
        /// The node whose kubeadm called.
        node: String,
        /// The call.
        call: EtcdCall,
    },
    /// A moment in a member's life, first seen anywhere.
    Member {
        /// The member.
        id: MemberId,
        /// Its name; empty before it has one.
        name: String,
        /// The moment.
        moment: Moment,
        /// When it was seen.
        seen: Stamp,
    },
    /// An expectation or invariant was judged.
    Judged {
        /// The task it belongs to, counted from 1.
        index: usize,
        /// That task's name.
        task: String,
        /// What it came to.
        judgement: Judgement,
    },
    /// Something was cleaned up.
    Cleaned {
        /// What was removed.
        removed: Vec<String>,
        /// What could not be removed, each with the reason.
        left: Vec<String>,
    },
    /// Something a reader should know.
    Note {
        /// In words.
        text: String,
    },
    /// Something a reader should look at.
    Warning {
        /// In words.
        text: String,
    },
    /// Last of all.
    RunFinished {
        /// The program's exit code.
        exit: u8,
        /// How long it all took.
        took: Duration,
    },
}

/// A task as planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskPlan {
    /// Counts from 1.
    pub index: usize,
    /// The group that it belongs to.
    pub group: Option<usize>,
    /// Its name.
    pub name: String,
    /// What it does, in words.
    pub what: String,
    /// More words on it; may be empty.
    pub description: String,
    /// Its limit.
    pub limit: Duration,
    /// Does it run even after a failure or a stop?
    pub force: bool,
}

/// A moment in the life of an etcd member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Moment {
    /// In some member's list for the first time, as a learner.
    Announced,
    /// In some member's list for the first time, as a voter (the first member, and a voter add).
    Founded,
    /// Its entry has a name: it has started and published itself.
    Started,
    /// Each other voter holds a connection to it.
    PeerActive,
    /// As a learner, its log has come to 90 % of the leader's: etcd would promote it.
    CaughtUp,
    /// Its entry is no learner's any more.
    Promoted,
    /// Each other voter has held a connection to it for the 5 s that etcd demands before the next member may be added.
    GatePassed,
    /// It is gone from the lists of all that answer.
    Removed,
}

/// Kinds of work whose durations are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Making the network, the nodes and the load balancer, up until containerd's CRI answers on each.
    CreateNodes,
    /// One node: container made, files written, started.
    CreateNode,
    /// From start until containerd's CRI answers.
    Boot,
    /// `kubeadm init`.
    Init,
    /// One `kubeadm join`.
    Join,
    /// All joins of a step.
    Joins,
    /// From the last join's end to all nodes Ready.
    Ready,
    /// Removing everything.
    Delete,
}

/// The version of joinder's own language.
fn joinders() -> u32 {
    2
}
