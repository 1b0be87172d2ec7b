//! What host and agent say to each other, one JSON object a line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::load::{Access, Load};
use crate::event::{ClientCall, EtcdMetrics, EtcdSample, Kept, Member, Notice, Usage};
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
    /// Connects to a Unix socket and closes it again: [`Said::Done`] or [`Said::Failed`].
    Dial {
        /// Path of the socket.
        unix: String,
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
        /// Milliseconds between looks.
        every: u64,
        /// The same while a learner or an unstarted member exists.
        busy: u64,
    },
    /// The member list after a linearizable read on the node's own member: [`Said::Members`].
    Members,
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
