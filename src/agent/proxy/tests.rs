//! An etcd of a few lines behind the proxy, spoken to as kubeadm's client does: HTTP/2, one request, an answer with trailers.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use h2::client::SendRequest;
use h2::{Reason, RecvStream};
use http::{HeaderMap, HeaderValue, Request, Response};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite, duplex};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tokio_util::sync::CancellationToken;

use super::super::protocol::Said;
use super::body::{give, whole};
use super::call::Tell;
use super::link::link;
use super::script::{Act, Disturb, Script, Side};
use super::serve::join;
use super::trust::Trust;
use crate::event::EtcdCall;
use crate::pki::{Authority, Leaf, Usage};

const ENDPOINT: &str = "10.0.0.2:2379";
/// More than any test takes, on virtual time.
const LONG: Duration = Duration::from_mins(2);

/// What etcd has seen, and may answer.
#[derive(Clone, Default)]
struct Etcd {
    seen: Arc<Mutex<Vec<String>>>,
    /// `MemberPromote` is answered when this fires.
    promote: CancellationToken,
}

impl Etcd {
    fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("not poisoned").clone()
    }

    async fn serve(self, io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let mut server = h2::server::handshake(io).await.expect("a handshake");
        let mut calls = JoinSet::new();
        while let Some(Ok((request, respond))) = server.accept().await {
            let this = self.clone();
            calls.spawn(async move { this.answer(request, respond).await });
        }
    }

    async fn answer(self, request: Request<RecvStream>, mut respond: h2::server::SendResponse<Bytes>) {
        let method = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
        self.seen.lock().expect("not poisoned").push(method.clone());
        let status = |code: u32, text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("grpc-status", HeaderValue::from(code));
            headers.insert("grpc-message", HeaderValue::from_static(text));
            headers
        };
        let mut body = request.into_body();
        match method.as_str() {
            // an answer with nothing but a head, as for an error
            "MemberRemove" => {
                whole(body).await.expect("a body");
                let mut answer = Response::new(());
                *answer.headers_mut() = status(5, "etcdserver: member not found%0Ahere");
                respond.send_response(answer, true).expect("sent");
            }
            "Watch" => {
                let mut to = respond.send_response(Response::new(()), false).expect("sent");
                while let Some(Ok(piece)) = body.data().await {
                    let _ = body.flow_control().release_capacity(piece.len());
                    if give(piece, &mut to).await.is_err() {
                        break;
                    }
                }
                self.seen.lock().expect("not poisoned").push("end of Watch".into());
                let _ = to.send_trailers(status(0, ""));
            }
            _ => {
                if method == "MemberPromote" {
                    self.promote.cancelled().await;
                }
                let asked = whole(body).await.expect("a body");
                let mut to = respond.send_response(Response::new(()), false).expect("sent");
                for piece in asked.data {
                    give(piece, &mut to).await.expect("given");
                }
                let _ = to.send_trailers(status(0, ""));
            }
        }
    }
}

/// A kubeadm, an etcd, and the proxy between them.
struct Between {
    kubeadm: SendRequest<Bytes>,
    etcd: Etcd,
    script: Script,
    said: mpsc::UnboundedReceiver<Said>,
    /// The client's connection ends with it.
    client: JoinSet<()>,
    /// So does etcd's.
    server: JoinSet<()>,
    _proxy: JoinSet<()>,
}

fn tell() -> (Tell, mpsc::UnboundedReceiver<Said>) {
    let (to, said) = mpsc::unbounded_channel();
    (Arc::new(move |what| drop(to.send(what))), said)
}

impl Between {
    async fn new(disturbs: &[(&str, &str, Act)]) -> Self {
        let (near, client) = duplex(64 << 10);
        let (upstream, far) = duplex(64 << 10);
        let (etcd, script) = (Etcd::default(), Script::default());
        for (id, method, act) in disturbs {
            let (id, method) = ((*id).to_owned(), (*method).to_owned());
            script.add(Disturb { key: id.clone(), id, method, endpoints: Vec::new(), nth: 1, times: 1, act: *act });
        }
        let (tell, said) = tell();
        let (mut server, mut proxy) = (JoinSet::new(), JoinSet::new());
        server.spawn(etcd.clone().serve(far));
        let ours = script.clone();
        proxy.spawn(async move { link(client, upstream, ENDPOINT, &ours, &tell).await.expect("it carries") });
        let (kubeadm, connection) = h2::client::handshake(near).await.expect("a handshake");
        let mut client = JoinSet::new();
        client.spawn(async move { drop(connection.await) });
        Self { kubeadm, etcd, script, said, client, server, _proxy: proxy }
    }

    /// One call with one message; its answer's bytes and gRPC's status.
    async fn call(&self, method: &str) -> Result<(usize, Option<String>), h2::Error> {
        call(&self.kubeadm, method, 100_000).await
    }

    async fn said(&mut self) -> Said {
        timeout(LONG, self.said.recv()).await.expect("in time").expect("more is said")
    }

    async fn proxied(&mut self) -> EtcdCall {
        loop {
            if let Said::Proxied { call } = self.said().await {
                return call;
            }
        }
    }

    async fn disturbed(&mut self) -> (String, bool) {
        let said = self.said().await;
        let Said::Disturbed { how, held, .. } = said else { panic!("{said:?}") };
        (how, held)
    }
}

fn request(method: &str) -> Request<()> {
    Request::post(format!("https://{ENDPOINT}/etcdserverpb.Cluster/{method}")).body(()).expect("a request")
}

async fn call(kubeadm: &SendRequest<Bytes>, method: &str, size: usize) -> Result<(usize, Option<String>), h2::Error> {
    let (answer, mut to) = kubeadm.clone().ready().await?.send_request(request(method), false)?;
    // more than a window's bytes, so that nobody may forget to make room
    give(Bytes::from(vec![7; size]), &mut to).await?;
    to.send_data(Bytes::new(), true)?;
    let answer = answer.await?;
    let head = answer.headers().clone();
    let body = whole(answer.into_body()).await?;
    let status = body.trailers.as_ref().unwrap_or(&head).get("grpc-status").and_then(|s| s.to_str().ok()).map(str::to_owned);
    Ok((body.data.iter().map(Bytes::len).sum(), status))
}

#[tokio::test(start_paused = true)]
async fn calls_go_through_as_they_are_and_are_told_with_their_outcome() {
    let mut between = Between::new(&[]).await;
    assert_eq!(between.call("MemberAdd").await.expect("answered"), (100_000, Some("0".into())));
    let told = between.proxied().await;
    assert_eq!((told.method.as_str(), told.endpoint.as_str(), told.answered, told.disturbed), ("MemberAdd", ENDPOINT, Some(0), None));
    assert!(told.ended >= told.began);
    assert_eq!(between.call("MemberRemove").await.expect("answered"), (0, Some("5".into())));
    let told = between.proxied().await;
    assert_eq!((told.answered, told.said.as_str()), (Some(5), "etcdserver: member not found\nhere"));
}

#[tokio::test(start_paused = true)]
async fn a_stream_goes_both_ways_and_ends_when_kubeadm_takes_it_back() {
    let mut between = Between::new(&[]).await;
    let sent = between.kubeadm.clone().ready().await.expect("ready").send_request(request("Watch"), false);
    let (answer, mut to) = sent.expect("sent");
    let mut body = answer.await.expect("an answer before the request's end").into_body();
    for _ in 0..3 {
        give(Bytes::from_static(b"a key"), &mut to).await.expect("given");
        assert_eq!(body.data().await.expect("a piece").expect("whole"), "a key");
    }
    to.send_reset(Reason::CANCEL);
    let told = between.proxied().await;
    assert_eq!(told.method, "Watch");
    assert_eq!(between.etcd.seen(), ["Watch", "end of Watch"]);
}

#[tokio::test(start_paused = true)]
async fn a_complete_call_that_is_taken_back_is_answered_by_etcd_all_the_same() {
    let mut between = Between::new(&[]).await;
    let sent = between.kubeadm.clone().ready().await.expect("ready").send_request(request("MemberPromote"), false);
    let (answer, mut to) = sent.expect("sent");
    to.send_data(Bytes::from_static(b"id"), true).expect("sent");
    while between.etcd.seen().is_empty() {
        tokio::task::yield_now().await;
    }
    to.send_reset(Reason::CANCEL);
    drop(answer);
    // and kubeadm itself is gone too
    between.client.shutdown().await;
    between.etcd.promote.cancel();
    let told = between.proxied().await;
    assert_eq!((told.answered, told.said.as_str()), (Some(0), "kubeadm had given up"));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_answer_leaves_kubeadm_waiting_though_etcd_has_carried_the_call_out() {
    let mut between = Between::new(&[("lost", "MemberAdd", Act::DropAnswer)]).await;
    // kubeadm's limit of a call
    let given_up = timeout(Duration::from_secs(2), between.call("MemberAdd")).await;
    assert!(given_up.is_err(), "{given_up:?}");
    let (how, held) = between.disturbed().await;
    assert_eq!(how, "MemberAdd to 10.0.0.2:2379: etcd had carried it out, and the answer was dropped");
    assert!(!held);
    let told = between.proxied().await;
    assert_eq!((told.answered, told.disturbed.as_deref()), (Some(0), Some("its answer dropped by \"lost\"")));
    assert!(between.call("MemberAdd").await.is_ok(), "the second one is left alone");
    assert_eq!(between.etcd.seen(), ["MemberAdd", "MemberAdd"]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_an_error_is_none_that_can_be_lost() {
    let mut between = Between::new(&[("lost", "MemberRemove", Act::DropAnswer)]).await;
    assert_eq!(between.call("MemberRemove").await.expect("answered"), (0, Some("5".into())));
    let told = between.proxied().await;
    assert_eq!((told.answered, told.disturbed), (Some(5), None), "etcd has carried nothing out");
}

#[tokio::test(start_paused = true)]
async fn a_delay_holds_the_answer_back_for_just_that_time() {
    let mut between = Between::new(&[("late", "MemberAdd", Act::Delay { by: 1500 })]).await;
    let began = Instant::now();
    assert_eq!(between.call("MemberAdd").await.expect("answered"), (100_000, Some("0".into())));
    assert!(began.elapsed() >= Duration::from_millis(1500) && began.elapsed() < Duration::from_millis(1600), "{:?}", began.elapsed());
    assert_eq!(between.proxied().await.disturbed.as_deref(), Some("answered late by \"late\""));
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_does_not_reach_etcd() {
    let mut between = Between::new(&[("no", "MemberAdd", Act::Refuse)]).await;
    assert_eq!(between.call("MemberAdd").await.expect("an answer"), (0, Some("14".into())));
    assert_eq!(between.etcd.seen(), [""; 0]);
    let told = between.proxied().await;
    assert_eq!((told.answered, told.disturbed.as_deref()), (None, Some("refused by \"no\"")));
}

#[tokio::test(start_paused = true)]
async fn a_held_call_stands_still_on_its_side_until_it_is_let_go() {
    for (at, reached) in [(Side::Request, false), (Side::Answer, true)] {
        let mut between = Between::new(&[("held", "MemberAdd", Act::Hold { at })]).await;
        let kubeadm = between.kubeadm.clone();
        let mut calls = JoinSet::new();
        calls.spawn(async move { call(&kubeadm, "MemberAdd", 10).await });
        let (how, held) = between.disturbed().await;
        assert!(held, "{how}");
        assert_eq!(!between.etcd.seen().is_empty(), reached, "{at:?}: {how}");
        assert!(timeout(Duration::from_mins(1), calls.join_next()).await.is_err(), "it stands still");
        between.script.lift("held");
        let answer = timeout(LONG, calls.join_next()).await.expect("let go").expect("one").expect("no panic");
        assert_eq!(answer.expect("answered"), (10, Some("0".into())), "{at:?}");
        assert_eq!(between.proxied().await.answered, Some(0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_kubeadm_died_while_it_was_held_does_not_reach_etcd() {
    let mut between = Between::new(&[("held", "MemberAdd", Act::Hold { at: Side::Request })]).await;
    let kubeadm = between.kubeadm.clone();
    let mut calls = JoinSet::new();
    calls.spawn(async move { call(&kubeadm, "MemberAdd", 10).await });
    between.disturbed().await;
    // all at once: the proxy cannot have read the end of the connection before the call is let go
    between.client.abort_all();
    calls.abort_all();
    between.script.lift("held");
    let told = between.proxied().await;
    assert_eq!((told.answered, told.said.as_str()), (None, "etcd did not see it: kubeadm had given up"));
    assert_eq!(between.etcd.seen(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_etcd_that_goes_away_ends_kubeadms_connection_and_no_call_is_called_answered() {
    let mut between = Between::new(&[]).await;
    let kubeadm = between.kubeadm.clone();
    let mut calls = JoinSet::new();
    calls.spawn(async move { call(&kubeadm, "MemberPromote", 10).await });
    while between.etcd.seen().is_empty() {
        tokio::task::yield_now().await;
    }
    between.server.shutdown().await;
    let told = between.proxied().await;
    assert_eq!((told.method.as_str(), told.answered), ("MemberPromote", None));
    let ended = timeout(LONG, calls.join_next()).await.expect("in time").expect("one").expect("no panic");
    assert!(ended.as_ref().is_err_and(|e| !e.is_reset()), "the connection ends, as it would without a proxy: {ended:?}");
}

/// A server or client that trusts this CA and shows a certificate of it.
fn roots(ca: &str) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca.as_bytes()).expect("PEM")).expect("a CA");
    roots
}

#[tokio::test]
async fn kubeadm_takes_the_proxy_for_etcd_and_etcd_takes_it_for_a_client() {
    let folder = tempfile::tempdir().expect("a folder");
    let (authority, own) = Authority::make("etcd-ca").expect("a CA");
    let trust = Trust::of(folder.path());
    let address = Ipv4Addr::new(10, 0, 0, 2);
    assert!(trust.at(address).is_err_and(|why| why.contains("ca.crt")), "it says what it lacks");
    std::fs::write(folder.path().join("ca.crt"), &own.cert).expect("written");
    std::fs::write(folder.path().join("ca.key"), &own.key).expect("written");

    let leaf = Leaf { addresses: vec![address.into()], ..Leaf::new("member", Usage::Both) };
    let issued = authority.issue(&leaf).expect("signed");
    let chain = vec![CertificateDer::from_pem_slice(issued.cert.as_bytes()).expect("PEM")];
    let key = rustls::pki_types::PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).expect("PEM");
    // as etcd with client-cert-auth
    let clients = WebPkiClientVerifier::builder(Arc::new(roots(&own.cert))).build().expect("a verifier");
    let mut server = ServerConfig::builder().with_client_cert_verifier(clients).with_single_cert(chain, key).expect("a server");
    server.alpn_protocols = vec![b"h2".to_vec()];
    let mut client = ClientConfig::builder().with_root_certificates(roots(&own.cert)).with_no_client_auth();
    client.alpn_protocols = vec![b"h2".to_vec()];

    let (near, at_proxy) = duplex(64 << 10);
    let (upstream, far) = duplex(64 << 10);
    let (tell, mut said) = tell();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let io = TlsAcceptor::from(Arc::new(server)).accept(far).await.expect("etcd lets the proxy in");
        Etcd::default().serve(io).await;
    });
    tasks.spawn(async move {
        let script = Script::default();
        let _ = join(at_proxy, upstream, (address, 2379), &trust, &script, &tell).await;
    });
    let name = ServerName::IpAddress(std::net::IpAddr::V4(address).into());
    let io = TlsConnector::from(Arc::new(client)).connect(name, near).await.expect("kubeadm trusts the proxy");
    let (kubeadm, connection) = h2::client::handshake(io).await.expect("a handshake");
    tasks.spawn(async move { drop(connection.await) });
    assert_eq!(call(&kubeadm, "Status", 10).await.expect("answered"), (10, Some("0".into())));
    let first = timeout(LONG, said.recv()).await.expect("in time").expect("told");
    assert!(matches!(first, Said::Proxied { call } if call.method == "Status" && call.answered == Some(0)));
}

/// What the proxy adds to a call, printed; `cargo test --lib proxy::tests::cost -- --ignored --nocapture`.
#[tokio::test]
#[ignore = "a measurement, not a judgement"]
async fn cost() {
    const CALLS: u32 = 2000;
    let (near, far) = duplex(64 << 10);
    let mut tasks = JoinSet::new();
    tasks.spawn(Etcd::default().serve(far));
    let (direct, connection) = h2::client::handshake(near).await.expect("a handshake");
    tasks.spawn(async move { drop(connection.await) });
    let between = Between::new(&[]).await;
    let mut took = Vec::new();
    for kubeadm in [&direct, &between.kubeadm] {
        let began = Instant::now();
        for _ in 0..CALLS {
            call(kubeadm, "MemberList", 100).await.expect("answered");
        }
        took.push(began.elapsed() / CALLS);
    }
    #[expect(clippy::print_stderr, reason = "it is what this is for")]
    {
        eprintln!("a call takes {:?}, {:?} through the proxy", took[0], took[1]);
    }
}
