//! What host and agent say to each other, one JSON object a line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::load::{Access, Load};
use super::proxy::Disturb;
use crate::event::{ClientCall, EtcdCall, EtcdMetrics, EtcdSample, Kept, Member, MemberId, Notice, Usage};
use crate::sys::clock::Stamp;

/// Host to agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Chosen by the host; replies carry it.
    pub id: u64,
    /// What to do.
    pub call: Call,
}

/// What an agent can do.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Call {
    /// Says [`Said::Hello`].
    Hello,
    /// Starts a process in its own group: [`Said::Started`], [`Said::Line`]s, [`Said::Exited`]. Cancelled: TERM to the
    /// group, KILL after a grace.
    Run {
        /// Program and arguments.
        argv: Vec<String>,
        /// Variables added to the agent's own.
        env: BTreeMap<String, String>,
    },
    /// Asks a container runtime for its version: [`Said::Done`] or [`Said::Failed`].
    Cri {
        /// Path of its Unix socket.
        socket: String,
    },
    /// Asks an API server with the credentials of a kubeconfig in the node: [`Said::Answer`].
    Get {
        /// Path of the kubeconfig.
        kubeconfig: String,
        /// Replaces the kubeconfig's server, `https://IP:PORT`.
        server: Option<String>,
        /// Path of the request, `/readyz`.
        path: String,
    },
    /// Samples the node's etcd member until cancelled: [`Said::Sample`] at each change and once a second, then [`Said::Done`].
    Watch {
        /// The member.
        etcd: EtcdAccess,
        /// Milliseconds between looks.
        every: u64,
        /// The same while a learner or an unstarted member exists.
        busy: u64,
    },
    /// The member list after a linearizable read on the node's own member: [`Said::Members`].
    Members {
        /// The member.
        etcd: EtcdAccess,
    },
    /// The hash of all that the node's own member has stored: [`Said::Noticed`] with [`Notice::DataHash`], then [`Said::Done`].
    DataHash {
        /// The member.
        etcd: EtcdAccess,
        /// Up to which revision; what is newest where not said.
        revision: Option<u64>,
    },
    /// Changes the member list by way of the node's own member: [`Said::Members`] with the list behind it.
    Change {
        /// The member.
        etcd: EtcdAccess,
        /// What is changed.
        change: MemberChange,
    },
    /// Writes entries to the node's own member: [`Said::Done`].
    Put {
        /// The member.
        etcd: EtcdAccess,
        /// How many.
        entries: u32,
        /// Bytes of each value.
        size: usize,
    },
    /// Starts a process that outlives the agent, what it writes behind the end of a file: [`Said::Done`].
    Spawn {
        /// Program and arguments.
        argv: Vec<String>,
        /// Variables added to the agent's own.
        env: BTreeMap<String, String>,
        /// The file.
        log: String,
    },
    /// Ends the oldest process of a name: [`Said::Done`] once it is gone.
    End {
        /// The program's name.
        program: String,
        /// KILL in place of TERM.
        kill: bool,
    },
    /// Is there a process of this name? [`Said::Done`] or [`Said::Failed`].
    Runs {
        /// The program's name.
        program: String,
    },
    /// The metrics of the node's etcd member, which answers on port 2381 also while it serves no client: [`Said::Answer`].
    Metrics,
    /// What the node has used: [`Said::Used`].
    Usage,
    /// Tells until cancelled what the node and its components use, and what comes to be in it: [`Said::Metered`] at a steady rate,
    /// [`Said::Noticed`] as it happens, then [`Said::Done`].
    Meter {
        /// The name of its Node object.
        node: String,
        /// Milliseconds between two measurements.
        every: u64,
        /// The file that etcd writes its log to; the pod's where there is none.
        log: Option<String>,
    },
    /// Stands between the node's kubeadm and etcd until cancelled: [`Said::Proxying`], then [`Said::Proxied`] for each call and
    /// [`Said::Disturbed`] for each that a fault meets, then [`Said::Done`]. Its rule in the node goes with it.
    Proxy,
    /// Calls that the node's proxy disturbs from now on: [`Said::Done`].
    Disturb {
        /// Which, and how.
        disturb: Disturb,
    },
    /// Disturbs them no more, and lets those go on that stand still: [`Said::Done`].
    Lift {
        /// What it is known by.
        key: String,
    },
    /// Calls etcd or the API server at a steady rate until cancelled: [`Said::Called`] as each call ends, then [`Said::Done`].
    Load {
        /// Which calls.
        load: Load,
    },
    /// Puts data into etcd's store: [`Said::Done`].
    Preload {
        /// Whom to ask.
        etcd: Access,
        /// What the keys begin with.
        prefix: String,
        /// How much.
        bytes: u64,
    },
    /// Reads all that writers have put below `prefix`: [`Said::Kept`].
    Kept {
        /// Whom to ask.
        etcd: Access,
        /// What the keys begin with.
        prefix: String,
        /// The node that is asked.
        node: String,
    },
    /// Ends a call that goes on.
    Cancel {
        /// The call's id.
        of: u64,
    },
}

/// How the node's own member is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EtcdAccess {
    /// `IP:PORT`.
    pub address: String,
    /// Path of the CA's certificate.
    pub ca: String,
    /// Path of a client's certificate.
    pub cert: String,
    /// Path of its key.
    pub key: String,
}

/// A change to the member list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum MemberChange {
    /// A new member.
    Add {
        /// Its peer URL.
        peer_url: String,
        /// Without a vote?
        learner: bool,
    },
    /// A learner gets its vote.
    Promote {
        /// The member.
        id: MemberId,
    },
    /// A member goes.
    Remove {
        /// The member.
        id: MemberId,
    },
    /// A member gets another peer URL.
    Update {
        /// The member.
        id: MemberId,
        /// The URL.
        peer_url: String,
    },
}

/// Agent to host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reply {
    /// The request's id.
    pub id: u64,
    /// What is said.
    pub said: Said,
}

/// What an agent says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "kebab-case")]
pub enum Said {
    /// Here I am.
    Hello {
        /// The agent's version, to be compared with the host's.
        version: String,
        /// Its clocks, which must be the host's.
        now: Stamp,
    },
    /// The process runs.
    Started {
        /// Its id in the node.
        pid: u32,
    },
    /// It wrote a line.
    Line {
        /// Where.
        pipe: Pipe,
        /// When the agent read it.
        seen: Stamp,
        /// Without the newline; a byte that is no UTF-8 as `\xff`, a long line in pieces.
        text: String,
        /// The line goes on with the next piece.
        #[serde(default)]
        more: bool,
    },
    /// It ended. Last of its call.
    Exited {
        /// Exit code; `None` when a signal ended it.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    },
    /// The answer of an API server or of etcd's metrics. Last of its call.
    Answer {
        /// HTTP status.
        status: u16,
        /// Body.
        body: String,
    },
    /// A look at the member.
    Sample {
        /// What was seen.
        sample: EtcdSample,
    },
    /// A settled member list. Last of its call.
    Members {
        /// Sorted by id.
        members: Vec<Member>,
    },
    /// What the node has used. Last of its call.
    Used {
        /// How much.
        usage: Usage,
    },
    /// What the node and its components have used so far, and its member's metrics.
    Metered {
        /// When it was read.
        seen: Stamp,
        /// By component; `node` for all that runs in it.
        used: BTreeMap<String, Usage>,
        /// Where they have changed since they were last told.
        metrics: Option<EtcdMetrics>,
    },
    /// Something came to be in the node.
    Noticed {
        /// When, as near as can be told.
        seen: Stamp,
        /// What.
        notice: Notice,
    },
    /// The proxy stands.
    Proxying {
        /// The port that it listens on.
        port: u16,
    },
    /// kubeadm's call to etcd has ended.
    Proxied {
        /// The call.
        call: EtcdCall,
    },
    /// A connection of kubeadm to etcd could not be carried.
    Unproxied {
        /// The member that it was for.
        endpoint: String,
        /// Why not.
        why: String,
    },
    /// A call has met a fault.
    Disturbed {
        /// What the fault is known by.
        key: String,
        /// What became of the call.
        how: String,
        /// Does it stand still until it is let go?
        held: bool,
    },
    /// A call of one of joinder's clients ended.
    Called {
        /// Which.
        call: ClientCall,
    },
    /// What etcd's store holds. Last of its call.
    Kept {
        /// What is there.
        kept: Kept,
    },
    /// Nothing more to say. Last of its call.
    Done,
    /// It could not be done. Last of its call.
    Failed {
        /// Why.
        why: String,
    },
}

impl Said {
    /// Is this the last thing said for its call?
    pub fn is_last(&self) -> bool {
        match self {
            Self::Started { .. }
            | Self::Line { .. }
            | Self::Sample { .. }
            | Self::Metered { .. }
            | Self::Noticed { .. }
            | Self::Proxying { .. }
            | Self::Proxied { .. }
            | Self::Unproxied { .. }
            | Self::Disturbed { .. }
            | Self::Called { .. } => false,
            Self::Hello { .. }
            | Self::Exited { .. }
            | Self::Answer { .. }
            | Self::Members { .. }
            | Self::Used { .. }
            | Self::Kept { .. }
            | Self::Done
            | Self::Failed { .. } => true,
        }
    }
}

/// An output stream of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pipe {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}
