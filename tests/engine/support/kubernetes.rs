//! As much of Kubernetes and etcd as joinder looks at: who is a member, whose API server answers, which nodes are Ready.

use std::collections::{BTreeMap, BTreeSet};

use joinder::agent::MemberChange;
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
    /// Nodes of an etcd alone whose etcd runs.
    running: BTreeSet<String>,
    /// Members that there were so far: an id is never given again.
    ids: u64,
    /// What etcd keeps.
    store: Store,
    /// Pods that are not Ready.
    unready: BTreeSet<String>,
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
        self.add_at(node, &format!("https://{node}:2380"), learner);
    }

    fn add_at(&mut self, node: &str, url: &str, learner: bool) {
        self.ids += 1;
        let id = MemberId(self.ids);
        let peer_urls = vec![url.to_owned()];
        self.members.insert(node.to_owned(), Member { id, name: String::new(), peer_urls, learner });
    }

    pub(super) fn start(&mut self, node: &str) {
        if let Some(member) = self.members.get_mut(node) {
            node.clone_into(&mut member.name);
        }
    }

    /// A node's etcd begins; the first one of an etcd alone founds it with those that are named.
    pub(super) fn spawn(&mut self, node: &str, argv: &[String]) {
        let flag = |name: &str| argv.iter().find_map(|arg| arg.strip_prefix(&format!("--{name}="))).unwrap_or_default();
        if flag("initial-cluster-state") == "new" && self.members.is_empty() {
            for (name, url) in flag("initial-cluster").split(',').filter_map(|member| member.split_once('=')) {
                self.add_at(name, url, false);
            }
        }
        let url = flag("initial-advertise-peer-urls");
        let added = self.members.iter().find(|(_, m)| m.peer_urls.iter().any(|has| has == url)).map(|(key, _)| key.clone());
        if let Some(member) = added.and_then(|key| self.members.remove(&key)) {
            self.members.insert(node.to_owned(), member);
        }
        self.running.insert(node.to_owned());
        self.start(node);
    }

    pub(super) fn runs(&self, node: &str) -> bool {
        self.running.contains(node)
    }

    /// A node's etcd ends; did it run?
    pub(super) fn end(&mut self, node: &str) -> bool {
        self.running.remove(node)
    }

    /// etcd's own rules, as far as the tests need them. A node is known by its URL.
    pub(super) fn change(&mut self, change: &MemberChange) -> Result<Vec<Member>, &'static str> {
        let of = |members: &BTreeMap<String, Member>, id| members.iter().find(|(_, m)| m.id == id).map(|(node, _)| node.clone());
        match change {
            MemberChange::Add { peer_url, .. } if self.members.values().any(|m| m.peer_urls.contains(peer_url)) => {
                return Err("etcdserver: Peer URLs already exists");
            }
            MemberChange::Add { learner: true, .. } if self.members.values().any(|m| m.learner) => {
                return Err("etcdserver: too many learner members in cluster");
            }
            MemberChange::Add { peer_url, learner } => self.add_at(&format!("at {peer_url}"), peer_url, *learner),
            MemberChange::Promote { id } => {
                let node = of(&self.members, *id).ok_or("etcdserver: member not found")?;
                if !self.members[&node].started() {
                    return Err("etcdserver: can only promote a learner member which is in sync with leader");
                }
                self.promote(&node);
            }
            MemberChange::Remove { id } => {
                let node = of(&self.members, *id).ok_or("etcdserver: member not found")?;
                self.members.remove(&node);
                self.running.remove(&node);
            }
            MemberChange::Update { id, peer_url } => {
                let node = of(&self.members, *id).ok_or("etcdserver: member not found")?;
                self.members.entry(node).and_modify(|m| m.peer_urls = vec![peer_url.clone()]);
            }
        }
        Ok(self.list())
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

    /// This pod is not Ready.
    pub(super) fn unready(&mut self, pod: &str) {
        self.unready.insert(pod.to_owned());
    }

    /// What the API server of `node` answers. Pods and kubelets are of a version that nodes are upgraded to.
    pub(super) fn get(&self, node: &str, path: &str) -> Result<(u16, String), String> {
        if !self.apis.contains(node) {
            return Err("connection refused".into());
        }
        let ready = |name: &String| json!({"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        match path {
            "/readyz" => Ok((200, "ok".into())),
            "/api/v1/nodes" => Ok((200, json!({"items": self.nodes.iter().map(ready).collect::<Vec<_>>()}).to_string())),
            _ if path.starts_with("/api/v1/nodes/") => {
                Ok((200, json!({"status": {"nodeInfo": {"kubeletVersion": "v1.37.2"}}}).to_string()))
            }
            _ if path.starts_with("/api/v1/namespaces/kube-system/pods/") => {
                let pod = path.rsplit('/').next().unwrap_or_default();
                let ready = if self.unready.contains(pod) { "False" } else { "True" };
                let status = json!({
                    "conditions": [{"type": "Ready", "status": ready}],
                    "containerStatuses": [{"image": "example.com/kube:v1.37.2"}],
                });
                Ok((200, json!({"status": status}).to_string()))
            }
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
