//! One request: to an API server with the credentials of a kubeconfig file, or over plain HTTP.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;

/// An API server that starts may accept and never answer; the next question finds it ready.
const LIMIT: Duration = Duration::from_secs(3);

/// What is asked of an API server.
#[derive(Clone, Debug)]
pub(super) enum Ask<'a> {
    /// What is there?
    Get {
        /// With its query.
        path: &'a str,
    },
    /// Let it be so, on the server's side; what is not there is made.
    Apply {
        /// With its query.
        path: &'a str,
        /// JSON.
        body: String,
    },
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) struct Unanswered {
    /// Was the request sent, or a part of it?
    pub(super) sent: bool,
    /// In words.
    pub(super) why: String,
}

/// Status and body of `GET path`.
pub(super) async fn get(kubeconfig: &str, server: Option<&str>, path: &str) -> Result<(u16, String), String> {
    ask(kubeconfig, server, Ask::Get { path }).await.map_err(|unanswered| unanswered.why)
}

/// Status and body of the answer.
pub(super) async fn ask(kubeconfig: &str, server: Option<&str>, ask: Ask<'_>) -> Result<(u16, String), Unanswered> {
    let not_sent = |why: String| Unanswered { sent: false, why };
    let text = std::fs::read_to_string(kubeconfig).map_err(|e| not_sent(format!("{kubeconfig}: {e}")))?;
    let access = Access::parse(&text).map_err(|e| not_sent(format!("{kubeconfig}: {e}")))?;
    let server = server.unwrap_or(&access.server).trim_start_matches("https://").trim_end_matches('/').to_owned();
    let end = Instant::now() + LIMIT;
    let late = || format!("{server}{}: no answer in time", ask.path());
    let tls = timeout_at(end, connect(&access, &server)).await;
    let tls = tls.map_err(|_| late()).and_then(|made| made.map_err(|e| format!("{server}{}: {e}", ask.path()))).map_err(not_sent)?;
    let answer = timeout_at(end, exchange(tls, &server, &ask)).await;
    answer.map_err(|_| late()).and_then(|answer| answer).map_err(|why| Unanswered { sent: true, why })
}

async fn connect(access: &Access, server: &str) -> Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static, String> {
    let told = |e: &dyn std::fmt::Display| e.to_string();
    let host = server.rsplit_once(':').map_or(server, |(host, _)| host).trim_matches(['[', ']']);
    let name = ServerName::try_from(host.to_owned()).map_err(|e| told(&e))?;
    let tcp = TcpStream::connect(server).await.map_err(|e| told(&e))?;
    TlsConnector::from(access.tls()?).connect(name, tcp).await.map_err(|e| told(&e))
}

/// Status and body of `GET path` over plain HTTP.
pub(super) async fn plain(server: &str, path: &str) -> Result<(u16, String), String> {
    let told = |e: &dyn std::fmt::Display| format!("{server}{path}: {e}");
    let ask = async {
        let tcp = TcpStream::connect(server).await.map_err(|e| told(&e))?;
        exchange(tcp, server, &Ask::Get { path }).await
    };
    timeout(LIMIT, ask).await.map_err(|_| told(&"no answer in time"))?
}

impl Ask<'_> {
    fn path(&self) -> &str {
        match self {
            Self::Get { path } | Self::Apply { path, .. } => path,
        }
    }

    fn request(&self, server: &str) -> Result<Request<Full<Bytes>>, String> {
        let request = match self {
            Self::Get { path } => Request::get(*path).header("host", server).body(Full::default()),
            Self::Apply { path, body } => Request::patch(*path)
                .header("host", server)
                .header("content-type", "application/apply-patch+yaml")
                .body(Full::from(body.clone())),
        };
        request.map_err(|e| e.to_string())
    }
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    server: &str,
    ask: &Ask<'_>,
) -> Result<(u16, String), String> {
    let told = |e: hyper::Error| format!("{server}{}: {e}", ask.path());
    let request = ask.request(server)?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(told)?;
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    let answer = sender.send_request(request).await.map_err(told)?;
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.map_err(told)?.to_bytes();
    Ok((status, String::from_utf8_lossy(&body).into_owned()))
}

struct Access {
    server: String,
    ca: Vec<u8>,
    cert: Vec<u8>,
    key: Vec<u8>,
}

impl Access {
    /// Takes the first cluster and the first user, which is all that kubeadm's files have.
    fn parse(text: &str) -> Result<Self, String> {
        let file: Kubeconfig = serde_saphyr::from_str(text).map_err(|e| e.to_string())?;
        let cluster = file.clusters.into_iter().next().ok_or("no cluster")?.cluster;
        let user = file.users.into_iter().next().ok_or("no user")?.user;
        let decode = |what: &str, text: String| STANDARD.decode(text).map_err(|e| format!("{what}: {e}"));
        // the kubelet's own kubeconfig names files, since its certificate is renewed
        let of_user = |what: &str, data: Option<String>, file: Option<String>| match (data, file) {
            (Some(data), _) => decode(what, data),
            (None, Some(file)) => std::fs::read(&file).map_err(|e| format!("{what}: {file}: {e}")),
            (None, None) => Err(format!("no {what}")),
        };
        Ok(Self {
            server: cluster.server,
            ca: decode("certificate-authority-data", cluster.certificate_authority_data)?,
            cert: of_user("client-certificate", user.client_certificate_data, user.client_certificate)?,
            key: of_user("client-key", user.client_key_data, user.client_key)?,
        })
    }

    fn tls(&self) -> Result<Arc<ClientConfig>, String> {
        let mut roots = RootCertStore::empty();
        for cert in CertificateDer::pem_slice_iter(&self.ca) {
            roots.add(cert.map_err(|e| e.to_string())?).map_err(|e| e.to_string())?;
        }
        let chain = CertificateDer::pem_slice_iter(&self.cert).collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string())?;
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|e| e.to_string())?;
        let config = ClientConfig::builder().with_root_certificates(roots).with_client_auth_cert(chain, key);
        Ok(Arc::new(config.map_err(|e| e.to_string())?))
    }
}

#[derive(Deserialize)]
struct Kubeconfig {
    clusters: Vec<NamedCluster>,
    users: Vec<NamedUser>,
}

#[derive(Deserialize)]
struct NamedCluster {
    cluster: Cluster,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Cluster {
    server: String,
    certificate_authority_data: String,
}

#[derive(Deserialize)]
struct NamedUser {
    user: User,
}

#[derive(Deserialize)]
#[expect(clippy::struct_field_names, reason = "as a kubeconfig has them")]
#[serde(rename_all = "kebab-case")]
struct User {
    client_certificate_data: Option<String>,
    client_certificate: Option<String>,
    client_key_data: Option<String>,
    client_key: Option<String>,
}
