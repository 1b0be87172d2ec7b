//! The proxy as a call of the agent: from its rule to the end of the last connection.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tokio_util::sync::CancellationToken;

use super::super::protocol::Said;
use super::call::Tell;
use super::link::link;
use super::rules;
use super::script::Script;
use super::trust::Trust;

/// From a connection of kubeadm to one of ours to etcd. kubeadm gives up before.
const CONNECT: Duration = Duration::from_secs(10);

/// Stands between until stopped; its last words.
pub(in crate::agent) async fn serve(pki: &Path, script: Script, tell: Tell, stop: &CancellationToken) -> Said {
    let failed = |why: String| Said::Failed { why: format!("the proxy of etcd's calls: {why}") };
    let listener = match TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await {
        Ok(listener) => listener,
        Err(e) => return failed(format!("cannot listen: {e}")),
    };
    let port = match listener.local_addr() {
        Ok(address) => address.port(),
        Err(e) => return failed(e.to_string()),
    };
    if let Err(why) = rules::lead_to(port).await {
        return failed(why);
    }
    tell(Said::Proxying { port });
    let ended = tokio::select! {
        () = stop.cancelled() => Ok(()),
        Err(e) = accept(&listener, Arc::new(Trust::of(&pki.join("etcd"))), &script, &tell) => Err(e),
    };
    // First of all: from here on connections go to etcd itself. Those that are open end with the tasks that carry them.
    let removed = rules::remove().await;
    script.clear();
    match (ended, removed) {
        (Ok(()), Ok(())) => Said::Done,
        (Err(e), _) => failed(format!("cannot accept: {e}")),
        (Ok(()), Err(why)) => failed(why),
    }
}

async fn accept(listener: &TcpListener, trust: Arc<Trust>, script: &Script, tell: &Tell) -> std::io::Result<()> {
    let mut links = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (stream, _) = accepted?;
                let (trust, script, tell) = (trust.clone(), script.clone(), tell.clone());
                links.spawn(async move {
                    let Some(address) = meant_for(&stream) else { return };
                    if let Err(why) = carry(stream, address, &trust, &script, &tell).await {
                        tell(Said::Unproxied { endpoint: endpoint(address), why });
                    }
                });
            }
            Some(_) = links.join_next() => {}
        }
    }
}

type Address = (Ipv4Addr, u16);

fn endpoint((address, port): Address) -> String {
    format!("{address}:{port}")
}

/// Whom kubeadm wanted to speak to.
fn meant_for(stream: &TcpStream) -> Option<Address> {
    let meant = SockRef::from(stream).original_dst_v4().ok()?.as_socket_ipv4()?;
    Some((*meant.ip(), meant.port()))
}

/// Connects to etcd first: where that fails, kubeadm's connection ends too.
async fn carry(stream: TcpStream, address: Address, trust: &Trust, script: &Script, tell: &Tell) -> Result<(), String> {
    let told = |e: std::io::Error| e.to_string();
    let _ = stream.set_nodelay(true);
    let etcd = timeout(CONNECT, dial(address)).await.map_err(|_| "no connection in time".to_owned())?.map_err(told)?;
    join(stream, etcd, address, trust, script, tell).await
}

async fn dial(address: Address) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    SockRef::from(&socket).set_mark(rules::MARK)?;
    let stream = socket.connect(address.into()).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// TLS on both sides, and calls from one to the other.
pub(super) async fn join<C, E>(client: C, etcd: E, address: Address, trust: &Trust, script: &Script, tell: &Tell) -> Result<(), String>
where
    C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    E: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (server, as_client) = trust.at(address.0)?;
    let name = ServerName::IpAddress(std::net::IpAddr::V4(address.0).into());
    let shake = async {
        let etcd = TlsConnector::from(as_client).connect(name, etcd).await.map_err(|e| format!("etcd: {e}"))?;
        let client = TlsAcceptor::from(server).accept(client).await.map_err(|e| format!("kubeadm: {e}"))?;
        Ok::<_, String>((client, etcd))
    };
    let (client, etcd) = timeout(CONNECT, shake).await.map_err(|_| "no handshake in time".to_owned())??;
    link(client, etcd, &endpoint(address), script, tell).await.map_err(|e| e.to_string())
}
