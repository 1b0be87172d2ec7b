//! The rule that leads connections to etcd here. It is the node's own: nothing outside its network namespace changes.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

/// Our table; everything in it is ours.
const TABLE: &str = "joinder";
/// Where etcd serves its clients.
const ETCD: u16 = 2379;
/// On our own connections, so that they are not led back here.
pub(super) const MARK: u32 = 1;
/// One call of `nft`; it waits for the kernel's lock.
const LIMIT: Duration = Duration::from_secs(10);

/// Leads connections to other addresses than 127.0.0.0/8 to this port. What an agent that was killed has left goes first.
///
/// # Errors
/// What `nft` said.
pub(super) async fn lead_to(port: u16) -> Result<(), String> {
    remove().await?;
    nft(&format!(
        "table ip {TABLE} {{
           chain proxy {{
             type nat hook output priority -100
             tcp dport {ETCD} ip daddr != 127.0.0.0/8 meta mark != {MARK} counter redirect to :{port}
           }}
         }}"
    ))
    .await
}

/// Takes the table away, if it is there.
///
/// # Errors
/// What `nft` said.
pub(super) async fn remove() -> Result<(), String> {
    // adding first: deleting what is not there is an error
    nft(&format!("add table ip {TABLE}\ndelete table ip {TABLE}\n")).await
}

async fn nft(rules: &str) -> Result<(), String> {
    let told = |e: std::io::Error| {
        if e.kind() == std::io::ErrorKind::NotFound {
            return "there is no nft in this image, which leads kubeadm's calls to the proxy".to_owned();
        }
        format!("nft: {e}")
    };
    let mut command = Command::new("nft");
    command.args(["-f", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    let run = async {
        let mut child = command.spawn().map_err(told)?;
        if let Some(mut input) = child.stdin.take() {
            input.write_all(rules.as_bytes()).await.map_err(told)?;
        }
        let output = child.wait_with_output().await.map_err(told)?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("nft: {}", String::from_utf8_lossy(&output.stderr).trim()))
    };
    timeout(LIMIT, run).await.map_err(|_| "nft does not end".to_owned())?
}
