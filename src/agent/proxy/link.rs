//! One connection of kubeadm, and the one to etcd that stands for it.

use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::call::{Tell, Way, carry};
use super::script::Script;

/// How long calls that etcd has not answered yet are waited for, when kubeadm is gone.
const ORPHANS: Duration = Duration::from_secs(30);
/// How long calls may take to tell that etcd is gone.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Carries calls from one side to the other until either ends.
///
/// # Errors
/// Why the two do not understand each other.
pub(super) async fn link<C, E>(client: C, etcd: E, endpoint: &str, script: &Script, tell: &Tell) -> Result<(), h2::Error>
where
    C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    E: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut server = h2::server::handshake(client).await?;
    let (upstream, connection) = h2::client::Builder::new().enable_push(false).handshake::<_, Bytes>(etcd).await?;
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    let way = Way { endpoint: endpoint.to_owned(), upstream, script: script.clone(), tell: tell.clone() };
    let mut calls = JoinSet::new();
    // What only the end of the connection may end: kubeadm is to see what it would see without us.
    let mut kept = Vec::new();
    let etcd_is_gone = loop {
        tokio::select! {
            next = server.accept() => match next {
                Some(Ok((request, respond))) => drop(calls.spawn(carry(request, respond, way.clone()))),
                Some(Err(_)) | None => break false,
            },
            Some(ended) = calls.join_next() => {
                kept.extend(ended.ok().flatten());
                if !kept.is_empty() {
                    break true;
                }
            },
            _ = driver.join_next() => break true,
        }
    };
    if etcd_is_gone {
        let _ = timeout(LAST_WORDS, async {
            while let Some(ended) = calls.join_next().await {
                kept.extend(ended.ok().flatten());
            }
        })
        .await;
        return Ok(());
    }
    drop(server);
    let _ = timeout(ORPHANS, async { while calls.join_next().await.is_some() {} }).await;
    Ok(())
}
