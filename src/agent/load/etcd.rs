//! Calls to one member. The connection is made anew when a call has failed.

use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::numbers::{read, stored};
use super::pace::Ended;
use super::plan::{Access, Identity};
use crate::etcd::{Client, Credentials, EtcdError};
use crate::pki::{Authority, Leaf, Usage};

/// One call's limit.
const LIMIT: Duration = Duration::from_secs(2);
/// A server on the same machine takes a connection at once, or refuses it.
const DIAL: Duration = Duration::from_millis(500);
/// The common name in its certificate, by which etcd's log knows it.
const NAME: &str = "joinder";

/// The member.
pub(super) struct Etcd {
    access: Access,
    prefix: String,
    link: Mutex<Link>,
}

#[derive(Default)]
struct Link {
    client: Option<Client>,
    credentials: Option<Credentials>,
    /// Counts the connections, so that a call of an old one takes no new one away.
    made: u64,
}

impl Etcd {
    pub(super) fn new(access: &Access, prefix: &str) -> Self {
        Self { access: access.clone(), prefix: prefix.to_owned(), link: Mutex::default() }
    }

    pub(super) async fn put(&self, key: &str, value: u64, size: usize) -> Ended {
        let (client, made) = match self.client().await {
            Ok(client) => client,
            Err(why) => return Ended::failed(why),
        };
        match client.put(&format!("{}{key}", self.prefix), stored(value, size)).await {
            Ok(revision) => Ended::ok(None, revision),
            Err(e) => {
                self.drop_link(made).await;
                if e.is_surely_not_done() { Ended::failed(e.to_string()) } else { Ended::unknown(e.to_string()) }
            }
        }
    }

    /// A read that fails has done nothing.
    pub(super) async fn get(&self, key: &str) -> Ended {
        let (client, made) = match self.client().await {
            Ok(client) => client,
            Err(why) => return Ended::failed(why),
        };
        match client.get(&format!("{}{key}", self.prefix)).await {
            Ok(found) => Ended::ok(found.value.as_deref().and_then(read), found.revision),
            Err(e) => {
                self.drop_link(made).await;
                Ended::failed(e.to_string())
            }
        }
    }

    /// The connection, made if need be; which one it is.
    pub(super) async fn client(&self) -> Result<(Client, u64), String> {
        // whoever waits for others to connect has its limit too
        let mut link = timeout(LIMIT, self.link.lock()).await.map_err(|_| "no connection in time".to_owned())?;
        if let Some(client) = &link.client {
            return Ok((client.clone(), link.made));
        }
        dial(&self.access.endpoint).await?;
        let credentials = match &link.credentials {
            Some(credentials) => credentials.clone(),
            None => link.credentials.insert(credentials(&self.access.identity)?).clone(),
        };
        let client = Client::new(&self.access.endpoint, &credentials, LIMIT).await.map_err(|e: EtcdError| e.to_string())?;
        link.client = Some(client.clone());
        link.made += 1;
        Ok((client, link.made))
    }

    async fn drop_link(&self, made: u64) {
        let mut link = self.link.lock().await;
        if link.made == made {
            link.client = None;
        }
    }
}

/// The gRPC channel would spend its whole limit on a connection that is refused.
async fn dial(endpoint: &str) -> Result<(), String> {
    let address = endpoint.rsplit('/').next().unwrap_or(endpoint);
    match timeout(DIAL, TcpStream::connect(address)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(e)) => Err(format!("{address}: {e}")),
        Err(_) => Err(format!("{address}: no connection in time")),
    }
}

fn credentials(identity: &Identity) -> Result<Credentials, String> {
    let file = |path: &str| std::fs::read(path).map_err(|e| format!("{path}: {e}"));
    match identity {
        Identity::Files { ca, cert, key } => Ok(Credentials::of_pem(file(ca)?, file(cert)?, file(key)?)),
        Identity::Signed { ca, key } => {
            let cert = String::from_utf8(file(ca)?).map_err(|e| format!("{ca}: {e}"))?;
            let authority = Authority::read(&cert, &file(key)?).map_err(|e| format!("{key}: {e}"))?;
            let issued = authority.issue(&Leaf::new(NAME, Usage::Client)).map_err(|e| e.to_string())?;
            Ok(Credentials::of_pem(cert, issued.cert, issued.key))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::CallEnd;

    fn identity(key: &str) -> Identity {
        let file = |name: &str| format!("{}/tests/data/pki/{name}", env!("CARGO_MANIFEST_DIR"));
        Identity::Signed { ca: file("rsa.crt"), key: file(key) }
    }

    #[test]
    fn a_certificate_of_its_own_is_signed_with_the_ca_that_is_there() {
        assert!(credentials(&identity("rsa.key")).is_ok());
        let why = credentials(&identity("none.key")).expect_err("it is not there");
        assert!(why.contains("none.key: No such file"), "{why}");
    }

    #[tokio::test]
    async fn what_was_never_sent_has_surely_failed() {
        // bound and closed again: nobody listens there
        let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port").local_addr().expect("its address");
        let etcd = Etcd::new(&Access { endpoint: format!("https://{free}"), identity: identity("rsa.key") }, "joinder/x/");
        let ended = etcd.put("own/cp-1/1", 1, 8).await;
        assert!(matches!(&ended.end, CallEnd::Failed { why } if why.contains("refused")), "{:?}", ended.end);
    }

    #[tokio::test]
    async fn a_server_that_never_answers_leaves_it_open_what_it_did() {
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let endpoint = format!("https://{}", silent.local_addr().expect("its address"));
        let etcd = Etcd::new(&Access { endpoint, identity: identity("rsa.key") }, "joinder/x/");
        let (written, read) = tokio::join!(etcd.put("own/cp-1/1", 1, 8), etcd.get("register/0"));
        assert!(matches!(written.end, CallEnd::Unknown { .. }), "{:?}", written.end);
        assert!(matches!(read.end, CallEnd::Failed { .. }), "a read has done nothing: {:?}", read.end);
    }
}
