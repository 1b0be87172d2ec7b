//! One GET over HTTP or HTTPS, redirects followed: a text of a few bytes, or a file piece by piece.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::{Request, Response, Uri, body::Incoming};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::sys::env;

/// One question with its answer.
const LIMIT: Duration = Duration::from_secs(10);
/// Between two pieces of a file.
const SILENCE: Duration = Duration::from_secs(30);
/// Redirects to each other.
const MOST_REDIRECTS: usize = 5;
/// No text that is asked for is larger.
const MOST_BYTES: usize = 1 << 20;
/// Where systems keep the certificates that they trust.
const BUNDLES: [&str; 4] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"];

/// Why there is no answer that can be used.
#[derive(Debug, Error)]
pub(in crate::image) enum HttpError {
    /// Nobody knows the host.
    #[error("GET {url}: no address of the host is known: {said}")]
    NoSuchHost { url: String, said: String },
    /// The server was not reached, or hung up.
    #[error("GET {url}: {said}")]
    Lost { url: String, said: String },
    /// The server will answer later, it says.
    #[error("GET {url}: status {status}")]
    Busy { url: String, status: u16 },
    /// The server has no such thing.
    #[error("GET {url}: status {status}")]
    Refused { url: String, status: u16 },
    /// The URL, the answer or the trust in it is broken.
    #[error("GET {url}: {said}")]
    Unusable { url: String, said: String },
    /// What came could not be written.
    #[error("GET {url}: what came cannot be written: {source}")]
    Unwritten { url: String, source: io::Error },
}

impl HttpError {
    /// Might the same question be answered a little later?
    pub(in crate::image) fn may_pass(&self) -> bool {
        match self {
            Self::Lost { .. } | Self::Busy { .. } => true,
            Self::NoSuchHost { .. } | Self::Refused { .. } | Self::Unusable { .. } | Self::Unwritten { .. } => false,
        }
    }
}

/// The text at a URL.
pub(in crate::image) async fn get(url: &str) -> Result<String, HttpError> {
    let reply = ask(url).await?;
    let lost = |said: String| HttpError::Lost { url: shown(url), said };
    let body = timeout(LIMIT, Limited::new(reply.body, MOST_BYTES).collect()).await.map_err(|_| lost("no answer in time".into()))?;
    Ok(String::from_utf8_lossy(&body.map_err(|e| lost(e.to_string()))?.to_bytes()).into_owned())
}

/// The file at a URL, each piece as it comes; returns how many bytes there were. One that ends too soon is [`HttpError::Lost`].
pub(in crate::image) async fn download(url: &str, mut piece: impl FnMut(&[u8]) -> io::Result<()>) -> Result<u64, HttpError> {
    let Reply { mut body, length, _driver } = ask(url).await?;
    let mut came = 0;
    loop {
        let lost = |said: &str| {
            let of = length.map(|length| format!(" of {length}")).unwrap_or_default();
            HttpError::Lost { url: shown(url), said: format!("it ended after {came}{of} bytes: {said}") }
        };
        match timeout(SILENCE, body.frame()).await {
            Err(_) => return Err(lost("nothing more came")),
            Ok(None) => return Ok(came),
            Ok(Some(Err(e))) => return Err(lost(&e.to_string())),
            Ok(Some(Ok(frame))) => {
                let Ok(data) = frame.into_data() else { continue };
                piece(&data).map_err(|source| HttpError::Unwritten { url: shown(url), source })?;
                came += data.len() as u64;
            }
        }
    }
}

/// An answer whose body is still to come.
struct Reply {
    body: Incoming,
    length: Option<u64>,
    /// Reads the connection; ends with this.
    _driver: JoinSet<Result<(), hyper::Error>>,
}

async fn ask(url: &str) -> Result<Reply, HttpError> {
    let mut url = url.to_owned();
    for _ in 0..=MOST_REDIRECTS {
        let answer = timeout(LIMIT, one(&url)).await.map_err(|_| HttpError::Lost { url: shown(&url), said: "no answer in time".into() })?;
        match answer? {
            Answer::Here(reply) => return Ok(reply),
            Answer::Elsewhere(to) => url = to,
        }
    }
    Err(HttpError::Unusable { url: shown(&url), said: format!("more than {MOST_REDIRECTS} redirects") })
}

enum Answer {
    Here(Reply),
    Elsewhere(String),
}

async fn one(url: &str) -> Result<Answer, HttpError> {
    let unusable = |said: String| HttpError::Unusable { url: shown(url), said };
    let lost = |said: String| HttpError::Lost { url: shown(url), said };
    let uri: Uri = url.parse().map_err(|e| unusable(format!("no URL: {e}")))?;
    let host = uri.host().ok_or_else(|| unusable("it names no host".into()))?.trim_matches(['[', ']']).to_owned();
    let secure = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        other => return Err(unusable(format!("{} is not spoken, only http and https", other.unwrap_or("nothing")))),
    };
    let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
    let addresses = lookup_host((host.as_str(), port)).await;
    let addresses: Vec<_> = addresses.map_err(|e| HttpError::NoSuchHost { url: shown(url), said: e.to_string() })?.collect();
    let tcp = TcpStream::connect(&addresses[..]).await.map_err(|e| lost(e.to_string()))?;
    let answer = if secure {
        let name = ServerName::try_from(host).map_err(|e| unusable(e.to_string()))?;
        let tls = TlsConnector::from(tls().map_err(unusable)?).connect(name, tcp).await.map_err(|e| unusable(e.to_string()))?;
        exchange(tls, &uri).await
    } else {
        exchange(tcp, &uri).await
    };
    let (status, place, reply) = answer.map_err(lost)?;
    match status {
        200 => Ok(Answer::Here(reply)),
        301 | 302 | 303 | 307 | 308 => match place {
            Some(place) if place.starts_with('/') => Ok(Answer::Elsewhere(format!(
                "{}://{}{place}",
                uri.scheme_str().unwrap_or("http"),
                uri.authority().map_or("", |a| a.as_str())
            ))),
            Some(place) => Ok(Answer::Elsewhere(place)),
            None => Err(unusable(format!("status {status} without the place to look at"))),
        },
        429 | 500.. => Err(HttpError::Busy { url: shown(url), status }),
        _ => Err(HttpError::Refused { url: shown(url), status }),
    }
}

/// Status, `Location`, and what leads to the body.
async fn exchange(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, uri: &Uri) -> Result<(u16, Option<String>, Reply), String> {
    let told = |e: hyper::Error| e.to_string();
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let host = uri.authority().map_or("", |authority| authority.as_str());
    let request = Request::get(path).header("host", host).header("user-agent", concat!("joinder/", env!("CARGO_PKG_VERSION")));
    let request = request.body(Empty::<Bytes>::new()).map_err(|e| e.to_string())?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(told)?;
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    let answer: Response<Incoming> = sender.send_request(request).await.map_err(told)?;
    let status = answer.status().as_u16();
    let place = answer.headers().get("location").and_then(|place| place.to_str().ok()).map(str::to_owned);
    let length = answer.headers().get("content-length").and_then(|length| length.to_str().ok()?.parse().ok());
    Ok((status, place, Reply { body: answer.into_body(), length, _driver: driver }))
}

/// Trust in what the system trusts.
fn tls() -> Result<Arc<ClientConfig>, String> {
    let own = env::var("SSL_CERT_FILE");
    let bundle = own.as_deref().into_iter().chain(BUNDLES).find(|path| Path::new(path).is_file());
    let bundle = bundle.ok_or("this system has no bundle of certificates to trust: name one in SSL_CERT_FILE")?;
    let certificates = CertificateDer::pem_file_iter(bundle).map_err(|e| format!("{bundle}: {e}"))?;
    let mut roots = RootCertStore::empty();
    // one that cannot be read is not trusted, which takes nothing from the others
    roots.add_parsable_certificates(certificates.filter_map(Result::ok));
    Ok(Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()))
}

/// A URL without the name and the password that it may hold.
pub(in crate::image) fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    format!("{scheme}://{}{path}", host.rsplit_once('@').map_or(host, |(_, host)| host))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// Serves one answer a path, each connection one.
    async fn served(answers: &'static [(&'static str, &'static str)]) -> (String, JoinSet<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let mut server = JoinSet::new();
        server.spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = vec![0; 4096];
                let n = stream.read(&mut request).await.unwrap_or(0);
                let line = String::from_utf8_lossy(&request[..n]).lines().next().unwrap_or_default().to_owned();
                let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
                let answer =
                    answers.iter().find(|(known, _)| *known == path).map_or("HTTP/1.1 404 no\r\ncontent-length: 0\r\n\r\n", |(_, a)| a);
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        (base, server)
    }

    #[tokio::test]
    async fn texts_are_read_redirects_followed_and_what_is_not_there_is_told_apart() {
        let (base, _server) = served(&[
            ("/ci/latest.txt", "HTTP/1.1 302 there\r\nlocation: /moved\r\ncontent-length: 0\r\n\r\n"),
            ("/moved", "HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nv1.36.0\n"),
            ("/round", "HTTP/1.1 302 there\r\nlocation: /round\r\ncontent-length: 0\r\n\r\n"),
            ("/busy", "HTTP/1.1 503 later\r\ncontent-length: 0\r\n\r\n"),
            ("/torn", "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nv1"),
        ])
        .await;
        assert_eq!(get(&format!("{base}/ci/latest.txt")).await.expect("there"), "v1.36.0\n");
        assert!(matches!(get(&format!("{base}/none")).await, Err(HttpError::Refused { status: 404, .. })));
        assert!(matches!(get(&format!("{base}/busy")).await, Err(HttpError::Busy { status: 503, .. })));
        assert!(matches!(get(&format!("{base}/round")).await, Err(HttpError::Unusable { .. })));
        assert!(matches!(get(&format!("{base}/torn")).await, Err(HttpError::Lost { .. })));
        let mut all = Vec::new();
        let mut keep = |piece: &[u8]| {
            all.extend_from_slice(piece);
            Ok(())
        };
        assert_eq!(download(&format!("{base}/moved"), &mut keep).await.expect("there"), 8);
        let torn = download(&format!("{base}/torn"), &mut keep).await.expect_err("it ends too soon");
        assert!(torn.may_pass() && torn.to_string().contains("it ended after 2 of 100 bytes"), "{torn}");
        assert_eq!(all, b"v1.36.0\nv1");
        let full = download(&format!("{base}/moved"), |_| Err(io::Error::other("no room"))).await.expect_err("not written");
        assert!(!full.may_pass() && full.to_string().contains("no room"), "{full}");
        assert!(matches!(get("ftp://x/y").await, Err(HttpError::Unusable { .. })));
        assert!(matches!(get("http://127.0.0.1:1/x").await, Err(HttpError::Lost { .. })));
    }

    #[test]
    fn a_password_is_not_shown() {
        assert_eq!(shown("http://user:pw@10.0.0.1:1/ci/x@y.txt"), "http://10.0.0.1:1/ci/x@y.txt");
        assert_eq!(shown("http://10.0.0.1/ci"), "http://10.0.0.1/ci");
    }
}
