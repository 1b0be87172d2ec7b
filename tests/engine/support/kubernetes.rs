//! As much of Kubernetes and etcd as joinder looks at: who is a member, whose API server answers, which nodes are Ready.

use std::collections::{BTreeMap, BTreeSet};

use joinder::event::{EtcdSample, Member, MemberId, MemberStatus};
use joinder::sys::clock::Stamp;
use serde_json::json;

use super::store::Store;

/// One cluster.
#[derive(Default)]
pub(super) struct Kubernetes {
    /// etcd's members by node; a learner is no voter yet.
    members: BTreeMap<String, Member>,
    /// Nodes whose API server is ready.
    apis: BTreeSet<String>,
    /// Node objects, all Ready.
    nodes: BTreeSet<String>,
    /// Members that there were so far: an id is never given again.
    ids: u64,
    /// What etcd keeps.
    store: Store,
}

impl Kubernetes {
    /// `kubeadm init` made it on this node.
    pub(super) fn found(node: &str) -> Self {
        let mut this = Self::default();
        this.add(node, false);
        this.start(node);
        this
    }

    /// Adds a learner; etcd has one slot for them.
    pub(super) fn add_learner(&mut self, node: &str) -> Result<(), &'static str> {
        if self.members.values().any(|m| m.learner) {
            return Err("etcdserver: too many learner members in cluster");
        }
        self.add(node, true);
        Ok(())
    }

    fn add(&mut self, node: &str, learner: bool) {
        self.ids += 1;
        let id = MemberId(self.ids);
        let peer_urls = vec![format!("https://{node}:2380")];
        self.members.insert(node.to_owned(), Member { id, name: String::new(), peer_urls, learner });
    }

    pub(super) fn start(&mut self, node: &str) {
        if let Some(member) = self.members.get_mut(node) {
            node.clone_into(&mut member.name);
        }
    }

    pub(super) fn promote(&mut self, node: &str) {
        if let Some(member) = self.members.get_mut(node) {
            member.learner = false;
        }
    }

    pub(super) fn serve_api(&mut self, node: &str) {
        self.apis.insert(node.to_owned());
    }

    /// `kubeadm reset`: no member and no API server, but a Node object.
    pub(super) fn leave(&mut self, node: &str) {
        self.members.remove(node);
        self.apis.remove(node);
    }

    pub(super) fn unregister(&mut self, node: &str) {
        self.nodes.remove(node);
    }

    pub(super) fn is_registered(&self, node: &str) -> bool {
        self.nodes.contains(node)
    }

    pub(super) fn register(&mut self, node: &str) {
        self.nodes.insert(node.to_owned());
    }

    /// What the API server of `node` answers.
    pub(super) fn get(&self, node: &str, path: &str) -> Result<(u16, String), String> {
        if !self.apis.contains(node) {
            return Err("connection refused".into());
        }
        let ready = |name: &String| json!({"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        match path {
            "/readyz" => Ok((200, "ok".into())),
            "/api/v1/nodes" => Ok((200, json!({"items": self.nodes.iter().map(ready).collect::<Vec<_>>()}).to_string())),
            _ => Ok((404, "not found".into())),
        }
    }

    /// etcd's store as a voter gives it.
    pub(super) fn store(&mut self, node: &str) -> Result<&mut Store, String> {
        self.settled_members(node)?;
        Ok(&mut self.store)
    }

    /// The same behind an API server.
    pub(super) fn store_by_api(&mut self) -> Result<&mut Store, String> {
        if self.apis.is_empty() { Err("connection refused".into()) } else { Ok(&mut self.store) }
    }

    /// The member list as a voter gives it.
    pub(super) fn settled_members(&self, node: &str) -> Result<Vec<Member>, String> {
        match self.members.get(node) {
            Some(own) if own.started() && !own.learner => Ok(self.list()),
            Some(_) => Err("etcdserver: rpc not supported for learner".into()),
            None => Err("connection refused".into()),
        }
    }

    /// A look at the member of `node`.
    pub(super) fn sample(&self, node: &str) -> EtcdSample {
        let own = self.members.get(node).filter(|m| m.started());
        let status = own.map(|own| MemberStatus { id: own.id, leader: MemberId(1), term: 2, learner: own.learner, ..Default::default() });
        EtcdSample {
            seen: Stamp::now(),
            members: own.filter(|own| !own.learner).map(|_| self.list()),
            error: status.is_none().then(|| "127.0.0.1:2379: connection refused".to_owned()),
            status,
            looks: 1,
            gap_ms: Some(50),
            missed: 0,
        }
    }

    fn list(&self) -> Vec<Member> {
        let mut list: Vec<Member> = self.members.values().cloned().collect();
        list.sort();
        list
    }
}
