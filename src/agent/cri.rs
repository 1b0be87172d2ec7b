//! Does the container runtime answer? containerd listens on its socket a while before its CRI is up, and kubeadm that comes between
//! fails in preflight with "server is not initialized yet".

use bytes::Bytes;
use h2::{Error, RecvStream, client};
use hyper::{HeaderMap, Method, Request};
use tokio::net::UnixStream;

/// What each version of the CRI since Kubernetes 1.26 has, and asks nothing of a pod.
const VERSION: &str = "http://localhost/runtime.v1.RuntimeService/Version";
/// gRPC's frame around a message without fields: not compressed, no bytes.
const EMPTY: [u8; 5] = [0; 5];

/// Asks the runtime behind a socket for its version, and is content with any.
///
/// # Errors
/// Why it does not answer, with the runtime's own words where it has some.
pub(super) async fn ready(socket: &str) -> Result<(), String> {
    let stream = UnixStream::connect(socket).await.map_err(|e| format!("{socket}: {e}"))?;
    let (sender, connection) = client::handshake(stream).await.map_err(|e| format!("{socket}: {e}"))?;
    tokio::select! {
        answer = ask(sender) => answer.map_err(|e| format!("{socket}: {e}"))?.map_err(|said| format!("{socket}: {said}")),
        ended = connection => Err(format!("{socket}: the connection ended{}", ended.err().map(|e| format!(": {e}")).unwrap_or_default())),
    }
}

async fn ask(sender: client::SendRequest<Bytes>) -> Result<Result<(), String>, Error> {
    let request = Request::builder().method(Method::POST).uri(VERSION);
    let request = request
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(())
        .map_err(|_| Error::from(h2::Reason::INTERNAL_ERROR))?;
    let (response, mut body) = sender.ready().await?.send_request(request, false)?;
    body.send_data(Bytes::from_static(&EMPTY), true)?;
    let response = response.await?;
    // a refusal comes as headers alone
    if let Some(status) = status(response.headers()) {
        return Ok(status);
    }
    let trailers = trailers(response.into_body()).await?;
    Ok(trailers.as_ref().and_then(status).unwrap_or_else(|| Err("no gRPC status".into())))
}

async fn trailers(mut body: RecvStream) -> Result<Option<HeaderMap>, Error> {
    while let Some(data) = body.data().await {
        let size = data?.len();
        body.flow_control().release_capacity(size)?;
    }
    body.trailers().await
}

fn status(headers: &HeaderMap) -> Option<Result<(), String>> {
    let text = |name: &str| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    match text("grpc-status")?.as_str() {
        "0" => Some(Ok(())),
        code => Some(Err(text("grpc-message").filter(|said| !said.is_empty()).unwrap_or_else(|| format!("gRPC status {code}")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Response;
    use tokio::net::UnixListener;

    /// A runtime that answers one call with this status, in trailers or in headers alone.
    async fn asked(code: &'static str, said: &'static str, trailing: bool) -> Result<(), String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("cri.sock");
        let listener = UnixListener::bind(&path).expect("a socket");
        let runtime = async {
            let (stream, _) = listener.accept().await.expect("a caller");
            let mut server = h2::server::handshake(stream).await.expect("a handshake");
            while let Some(call) = server.accept().await {
                let Ok((request, mut respond)) = call else { break };
                assert_eq!(request.uri().path(), "/runtime.v1.RuntimeService/Version");
                let status = || [("grpc-status", code), ("grpc-message", said)];
                if !trailing {
                    let response = status().into_iter().fold(Response::builder(), |response, (name, value)| response.header(name, value));
                    respond.send_response(response.body(()).expect("a response"), true).expect("sent");
                    continue;
                }
                let mut body = respond.send_response(Response::new(()), false).expect("sent");
                body.send_data(Bytes::from_static(&EMPTY), false).expect("sent");
                let mut trailers = HeaderMap::new();
                for (name, value) in status() {
                    trailers.insert(name, value.parse().expect("a value"));
                }
                body.send_trailers(trailers).expect("sent");
            }
        };
        let path = path.to_string_lossy().into_owned();
        tokio::select! {
            answer = ready(&path) => answer.map_err(|e| e.replace(&path, "SOCKET")),
            () = runtime => Err("the runtime went away first".into()),
        }
    }

    #[tokio::test]
    async fn a_socket_that_answers_before_its_runtime_is_not_ready() {
        assert_eq!(asked("0", "", true).await, Ok(()));
        for trailing in [false, true] {
            let said = asked("2", "server is not initialized yet", trailing).await;
            assert_eq!(said, Err("SOCKET: server is not initialized yet".to_owned()));
        }
        assert_eq!(asked("12", "", false).await, Err("SOCKET: gRPC status 12".to_owned()));
        let nobody = ready("/nowhere/cri.sock").await.expect_err("nobody listens");
        assert!(nobody.starts_with("/nowhere/cri.sock: "), "{nobody}");
    }
}
