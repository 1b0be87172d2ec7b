//! What a node does when it is disturbed: the proxy of etcd's calls, and the scripts of faults.

use std::time::Duration;

use joinder::agent::{Act, Pipe, Reply, Said, Side};
use joinder::sys::clock::Stamp;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::super::kubernetes::Kubernetes;
use super::{Disturbed, One};

impl One {
    /// A proxy, until it is told to end or dies.
    pub(super) async fn proxy(&self) -> Said {
        let died = CancellationToken::new();
        self.nodes.lock().proxies.insert(self.node.clone(), (self.id, self.to.clone()));
        self.say(Said::Proxying { port: 4000 });
        loop {
            let dying = self.nodes.lock().dying.iter().any(|(node, method)| *node == self.node && method.is_empty());
            tokio::select! {
                () = self.stop.cancelled() => break,
                () = sleep(Duration::from_millis(50)) => if dying { died.cancel(); break },
            }
        }
        self.nodes.lock().proxies.remove(&self.node);
        if died.is_cancelled() { Said::Failed { why: "the proxy of etcd's calls: it was killed".into() } } else { Said::Done }
    }

    /// kubeadm calls etcd, which does `act`; the proxy, where one stands, does what it was told to. Is there an answer?
    pub(super) async fn calls(&self, method: &str, act: impl FnOnce(&mut Kubernetes)) -> bool {
        let met: Vec<Disturbed> = {
            let mut nodes = self.nodes.lock();
            for dying in nodes.dying.iter_mut().filter(|dying| dying.0 == self.node && dying.1 == method) {
                dying.1.clear();
            }
            let there = nodes.proxies.contains_key(&self.node);
            let about = nodes.disturbs.iter_mut().filter(|held| there && held.node == self.node && held.disturb.method == method);
            let counted = about.map(|held| {
                held.seen += 1;
                held.clone()
            });
            counted.filter(|held| held.seen >= held.disturb.nth && held.seen - held.disturb.nth < held.disturb.times).collect()
        };
        let told = |held: &Disturbed, how: &str| {
            if let Some((id, to)) = self.nodes.lock().proxies.get(&self.node) {
                let said = Said::Disturbed { key: held.disturb.key.clone(), how: format!("{method} {how}"), held: how == "held" };
                let _ = to.send(Reply { id: *id, said });
            }
        };
        let mut act = Some(act);
        for held in met {
            if held.disturb.act != (Act::Hold { at: Side::Request })
                && held.disturb.act != Act::Refuse
                && let Some(act) = act.take()
            {
                self.nodes.cluster(&self.node, act);
            }
            match held.disturb.act {
                Act::DropAnswer => {
                    told(&held, "dropped");
                    sleep(Duration::from_secs(2)).await;
                    return false;
                }
                Act::Refuse => {
                    told(&held, "refused");
                    return false;
                }
                Act::Delay { by } => {
                    sleep(Duration::from_millis(by)).await;
                    told(&held, "late");
                }
                Act::Hold { .. } => {
                    told(&held, "held");
                    held.lifted.cancelled().await;
                }
            }
        }
        if let Some(act) = act.take() {
            self.nodes.cluster(&self.node, act);
        }
        true
    }

    /// The faults' scripts: signals, what became of processes, rules.
    pub(super) fn fault_script(&self, script: &str, args: &[String]) -> Option<Said> {
        let say = |text: &str| self.say(Said::Line { pipe: Pipe::Out, seen: Stamp::now(), text: text.to_owned(), more: false });
        let arg = |at: usize| args.get(at).cloned().unwrap_or_default();
        let exit = |code| Some(Said::Exited { code: Some(code), signal: None });
        let mut nodes = self.nodes.lock();
        let key = (self.node.clone(), arg(0));
        if script.contains("/comm") {
            if let Some(looks) = nodes.between.get_mut(&key)
                && *looks > 0
            {
                *looks -= 1;
                return exit(0);
            }
            let kubeadm = nodes.running.get(&self.node).cloned();
            match (arg(0).as_str(), arg(1).as_str()) {
                ("kubeadm", _) if kubeadm.is_none() => {}
                (_, "STOP") => {
                    nodes.still.push(key);
                    say("7");
                }
                ("kubeadm", "KILL") => {
                    kubeadm.inspect(CancellationToken::cancel);
                    say("7");
                }
                (_, _) => say("7"),
            }
            return exit(0);
        }
        if script.contains("/stat\"") {
            if nodes.still.iter().any(|(node, _)| *node == self.node) {
                say("7 T");
            }
            return exit(0);
        }
        if script.contains("CONT") {
            nodes.still.retain(|(node, _)| *node != self.node);
            return exit(0);
        }
        if script.contains("was made with") {
            if nodes.edited.contains(&key) {
                say(&format!("a container of {} was made with {}", arg(0), arg(1)));
            }
            return exit(0);
        }
        if script.contains("kept=/etc/kubernetes/joinder-") {
            nodes.edited.retain(|other| *other != key);
            if script.contains("until") {
                nodes.edited.push(key);
            }
            return exit(0);
        }
        if script.contains("grep -oE \"(x509|tls)") {
            say(&format!("x509: certificate {}", arg(1)));
            return exit(0);
        }
        if script.contains("nft list") {
            say("counter packets 5 bytes 300 drop");
            return exit(0);
        }
        if script.contains("nft -f") {
            if nodes.no_nft {
                say("there is no nft in this image");
                return exit(3);
            }
            let table = arg(0).split_whitespace().find(|word| word.starts_with("joinder_")).unwrap_or_default().to_owned();
            nodes.tables.retain(|(node, other)| (node, other) != (&self.node, &table));
            if !arg(0).contains("delete") {
                nodes.tables.push((self.node.clone(), table));
            }
            return exit(0);
        }
        None
    }
}
