//! HAProxy before the API servers: a backend is there only while joinder says so.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use tokio::sync::Mutex;

use crate::node::path::API_PORT;
use crate::runtime::{Archive, ContainerSpec, Runtime, RuntimeError};

/// Where HAProxy reads its configuration.
const CONFIG: &str = "/etc/haproxy/haproxy.cfg";
/// Makes the master process load the configuration again (HAProxy's management guide, section 4).
const RELOAD: &str = "SIGUSR2";
/// HAProxy sizes its tables by the limit of open files, which can be huge (docker-library/haproxy#194).
const MAX_CONNECTIONS: u32 = 4000;

/// A running load balancer.
pub(super) struct LoadBalancer {
    name: String,
    runtime: Arc<dyn Runtime>,
    backends: Mutex<BTreeMap<String, Ipv4Addr>>,
}

impl LoadBalancer {
    /// Makes and starts it without a backend.
    pub(super) async fn create(spec: &ContainerSpec, runtime: &Arc<dyn Runtime>) -> Result<Self, RuntimeError> {
        let this = Self { name: spec.name.clone(), runtime: runtime.clone(), backends: Mutex::default() };
        runtime.create(spec).await?;
        this.write(&BTreeMap::new()).await?;
        runtime.start(&spec.name).await?;
        Ok(this)
    }

    /// One that is there already, with these backends.
    pub(super) fn existing(name: String, runtime: Arc<dyn Runtime>, backends: BTreeMap<String, Ipv4Addr>) -> Self {
        Self { name, runtime, backends: Mutex::new(backends) }
    }

    /// Sends connections to this node too.
    pub(super) async fn add(&self, node: &str, address: Ipv4Addr) -> Result<(), RuntimeError> {
        self.change(|backends| _ = backends.insert(node.to_owned(), address)).await
    }

    /// Sends no new connections to this node any more.
    pub(super) async fn drop_backend(&self, node: &str) -> Result<(), RuntimeError> {
        self.change(|backends| _ = backends.remove(node)).await
    }

    /// A change that could not be told is none, so that it can be tried again.
    async fn change(&self, change: impl FnOnce(&mut BTreeMap<String, Ipv4Addr>)) -> Result<(), RuntimeError> {
        let mut backends = self.backends.lock().await;
        let mut changed = backends.clone();
        change(&mut changed);
        if changed != *backends {
            self.write(&changed).await?;
            self.runtime.signal(&self.name, RELOAD).await?;
            *backends = changed;
        }
        Ok(())
    }

    async fn write(&self, backends: &BTreeMap<String, Ipv4Addr>) -> Result<(), RuntimeError> {
        let mut archive = Archive::default();
        let packed = archive.file(CONFIG, 0o644, config(backends).as_bytes()).map(drop).and_then(|()| archive.finish());
        let tar = packed.map_err(|e| RuntimeError {
            op: "write the configuration of",
            target: self.name.clone(),
            said: e.to_string(),
            fault: crate::runtime::Fault::Other,
        })?;
        self.runtime.put(&self.name, tar).await
    }
}

/// TCP passthrough, `/readyz` asked of each backend over TLS once a second.
fn config(backends: &BTreeMap<String, Ipv4Addr>) -> String {
    use std::fmt::Write;
    let mut text = format!(
        "global\n  maxconn {MAX_CONNECTIONS}\n\
         defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 50s\n  timeout server 50s\n  retries 1\n  option redispatch\n\
         frontend api\n  bind :{API_PORT}\n  default_backend api\n\
         backend api\n  option httpchk GET /readyz\n  default-server check check-ssl verify none inter 1s fall 2 rise 1\n"
    );
    for (node, address) in backends {
        let _ = writeln!(text, "  server {node} {address}:{API_PORT}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_line_a_backend() {
        let text = config(&BTreeMap::from([("b".into(), Ipv4Addr::new(10, 0, 0, 2)), ("a".into(), Ipv4Addr::new(10, 0, 0, 1))]));
        assert!(text.ends_with("  server a 10.0.0.1:6443\n  server b 10.0.0.2:6443\n"), "{text}");
        assert!(text.contains("maxconn 4000"));
    }
}
