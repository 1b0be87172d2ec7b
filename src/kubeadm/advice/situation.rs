//! What is known of etcd and its nodes when advice is asked for.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::event::{Member, MemberId, MemberStatus};

/// What was seen of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Situation {
    /// The version of the kubeadm that would join, `v1.36.3`.
    pub kubeadm: String,
    /// The member list; the newest one that any member holds, where none could be asked for.
    pub list: Vec<Member>,
    /// Could the list be read linearizably? If not, what was said.
    pub settled: Result<(), String>,
    /// The control planes.
    pub nodes: Vec<Asked>,
}

/// What was seen of one control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Its name.
    pub node: String,
    /// Its address; empty where it has none any more.
    pub address: String,
    /// What its etcd member says.
    pub reply: Reply,
    /// Its etcd's `--max-learners`, 1 when it has none; or why nobody knows.
    pub max_learners: Result<usize, String>,
    /// Does kubeadm run there?
    pub kubeadm_runs: bool,
    /// The connections that its member holds; `None` where nobody has seen them.
    pub held: Option<BTreeMap<MemberId, Held>>,
}

/// What a node's member answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// This.
    Status(Box<MemberStatus>),
    /// Nothing; why.
    Silent(String),
    /// Nobody could ask; why.
    Unseen(String),
}

/// How long a connection has been held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// So long, or longer.
    pub at_least: Duration,
    /// Was its beginning seen? If not, it may be older.
    pub begin_seen: bool,
}

impl Situation {
    /// The voters that have started: whom kubeadm's client speaks to.
    pub(super) fn started_voters(&self) -> impl Iterator<Item = &Member> {
        self.list.iter().filter(|member| !member.learner && member.started())
    }

    /// All voters, also those that have not started.
    pub(in super::super) fn voters(&self) -> usize {
        self.list.iter().filter(|member| !member.learner).count()
    }

    /// The node that a member runs on.
    pub(in super::super) fn node_of(&self, member: &Member) -> Option<&Asked> {
        let own = |asked: &&Asked| matches!(&asked.reply, Reply::Status(status) if status.id == member.id);
        let address = |asked: &&Asked| {
            let host = format!("//{}:", asked.address);
            !asked.address.is_empty() && member.peer_urls.iter().any(|url| url.contains(&host))
        };
        let name = |asked: &&Asked| member.started() && asked.node == member.name;
        self.nodes.iter().find(own).or_else(|| self.nodes.iter().find(address)).or_else(|| self.nodes.iter().find(name))
    }

    /// What a member says of itself; a node may speak for another member than the one that the list has for it.
    pub(in super::super) fn reply_of(&self, member: &Member) -> Option<&Reply> {
        let asked = self.node_of(member)?;
        match &asked.reply {
            Reply::Status(status) if status.id != member.id => None,
            reply @ (Reply::Status(_) | Reply::Silent(_) | Reply::Unseen(_)) => Some(reply),
        }
    }

    /// The voters that answer, each with its node.
    pub(in super::super) fn answering(&self) -> impl Iterator<Item = (&Member, &Asked, &MemberStatus)> {
        self.list.iter().filter(|member| !member.learner).filter_map(|member| {
            let asked = self.node_of(member)?;
            match &asked.reply {
                Reply::Status(status) if status.id == member.id => Some((member, asked, status.as_ref())),
                Reply::Status(_) | Reply::Silent(_) | Reply::Unseen(_) => None,
            }
        })
    }
}
