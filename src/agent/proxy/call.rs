//! One call: to etcd and back, or what a fault makes of it.
//!
//! A complete request goes to etcd and is waited for also when kubeadm has given up meanwhile: what etcd did is then known.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::client::SendRequest;
use h2::server::SendResponse;
use h2::{Error, Reason, RecvStream, SendStream};
use http::{HeaderMap, HeaderValue, Request, Response, response};
use tokio::time::{sleep, timeout};

use super::super::protocol::Said;
use super::body::{Whole, give, pump, whole};
use super::script::{Act, Script, Side, Struck};
use crate::event::EtcdCall;
use crate::sys::clock::Stamp;

/// gRPC's code for a server that is not there.
const UNAVAILABLE: u32 = 14;
/// From the end of kubeadm to its notice here. A call that has stood still can stand still for so much longer.
const NOTICED: Duration = Duration::from_millis(100);
/// What is left of an answer whose reader is gone.
const REST: Duration = Duration::from_secs(1);

/// Hears of calls and of what was done to them.
pub(super) type Tell = Arc<dyn Fn(Said) + Send + Sync>;

/// What calls on one connection share.
#[derive(Clone)]
pub(super) struct Way {
    /// The member, `10.213.0.2:2379`.
    pub(super) endpoint: String,
    pub(super) upstream: SendRequest<Bytes>,
    pub(super) script: Script,
    pub(super) tell: Tell,
}

/// How a call came out.
struct End {
    answered: Option<u32>,
    said: String,
    disturbed: Option<String>,
    /// The connection to etcd broke: kubeadm's must break too, and a reset of the stream would come before that.
    broken: bool,
}

/// Carries a call out and tells of it. Gives the way to kubeadm back where only the end of the connection may end it.
pub(super) async fn carry(request: Request<RecvStream>, mut respond: SendResponse<Bytes>, way: Way) -> Option<SendResponse<Bytes>> {
    let began = Stamp::now();
    let method = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
    let struck = way.script.strike(&method, &way.endpoint, Side::Request);
    let end = if struck.is_empty() && !way.script.waits_for(&method, &way.endpoint) {
        through(request, &mut respond, way.upstream.clone()).await
    } else {
        disturbed(request, &mut respond, &way, &method, &struck).await
    };
    let End { answered, said, disturbed, broken } = end;
    let call = EtcdCall { method, endpoint: way.endpoint.clone(), began, ended: Stamp::now(), answered, said, disturbed };
    (way.tell)(Said::Proxied { call });
    broken.then_some(respond)
}

/// Neither side is kept waiting for the other's whole message: so also streams go through.
async fn through(request: Request<RecvStream>, respond: &mut SendResponse<Bytes>, upstream: SendRequest<Bytes>) -> End {
    let (answer, sent) = match send(request, upstream).await {
        Ok(sent) => sent,
        Err(e) => return failed(&e, respond),
    };
    let down = async {
        match answer.await {
            Ok(answer) => pass_on(answer, respond).await,
            Err(e) => failed(&e, respond),
        }
    };
    tokio::pin!(down);
    tokio::select! {
        biased;
        end = &mut down => end,
        () = sent => down.await,
    }
}

type Answer = h2::client::ResponseFuture;

/// Sends the request's head; the future beside the answer sends its body.
async fn send(request: Request<RecvStream>, upstream: SendRequest<Bytes>) -> Result<(Answer, impl Future<Output = ()>), Error> {
    let (head, body) = request.into_parts();
    let complete = body.is_end_stream();
    let (answer, to) = upstream.ready().await?.send_request(Request::from_parts(head, ()), complete)?;
    let sent = async move {
        if !complete {
            pump(body, to).await;
        }
    };
    Ok((answer, sent))
}

/// Passes an answer on as it comes.
async fn pass_on(answer: Response<RecvStream>, respond: &mut SendResponse<Bytes>) -> End {
    let (head, mut body) = answer.into_parts();
    let end = of_status(&head.headers);
    let only_head = body.is_end_stream();
    let sent = respond.send_response(Response::from_parts(head, ()), only_head);
    if only_head {
        return end;
    }
    let Ok(mut to) = sent else { return given_up(body).await };
    loop {
        let piece = tokio::select! {
            piece = body.data() => piece,
            _ = poll_fn(|cx| to.poll_reset(cx)) => return given_up(body).await,
        };
        match piece {
            Some(Ok(piece)) => {
                let taken = piece.len();
                if give(piece, &mut to).await.is_err() {
                    return given_up(body).await;
                }
                let _ = body.flow_control().release_capacity(taken);
            }
            Some(Err(e)) => return broken_off(&e, to),
            None => break,
        }
    }
    match body.trailers().await {
        Ok(Some(trailers)) => {
            let end = of_status(&trailers);
            let _ = to.send_trailers(trailers);
            end
        }
        Ok(None) => {
            let _ = to.send_data(Bytes::new(), true);
            end
        }
        Err(e) => broken_off(&e, to),
    }
}

/// kubeadm has gone; etcd's answer has begun, and its end tells what became of the call.
async fn given_up(body: RecvStream) -> End {
    let rest = timeout(REST, whole(body)).await.ok().and_then(Result::ok).and_then(|rest| rest.trailers);
    let end = rest.as_ref().map_or_else(|| of_status(&HeaderMap::new()), of_status);
    End { said: with(&end.said, "kubeadm had given up"), ..end }
}

fn broken_off(error: &Error, mut to: SendStream<Bytes>) -> End {
    if let Some(reason) = error.reason().filter(|_| error.is_reset()) {
        to.send_reset(reason);
    }
    unanswered(error)
}

/// What a fault makes of a call. Those that faults name are short: one request, one answer.
async fn disturbed(request: Request<RecvStream>, respond: &mut SendResponse<Bytes>, way: &Way, method: &str, struck: &[Struck]) -> End {
    let words = format!("{method} to {}", way.endpoint);
    let told = |fault: &Struck, how: String, held: bool| (way.tell)(Said::Disturbed { key: fault.key.clone(), how, held });
    let of = |is: fn(&Act) -> bool| struck.iter().filter(move |fault| is(&fault.act));
    let done = |what: &str, fault: &Struck| Some(format!("{what} by {:?}", fault.id));
    if let Some(fault) = of(|act| *act == Act::Refuse).next() {
        // an answer before the request's end would end the request with an error of its own
        let _ = whole(request.into_body()).await;
        refuse(respond, &format!("refused by joinder's fault {:?}", fault.id));
        told(fault, format!("{words} was refused and did not reach etcd"), false);
        return End { answered: None, said: "etcd did not see it".into(), disturbed: done("refused", fault), broken: false };
    }
    let mut was = None;
    for fault in of(|act| *act == Act::Hold { at: Side::Request }) {
        told(fault, format!("{words} stood still before etcd saw it"), true);
        fault.lifted.cancelled().await;
        was = done("held before etcd saw it", fault);
        if has_given_up(respond).await {
            let said = "etcd did not see it: kubeadm had given up".to_owned();
            return End { answered: None, said, disturbed: was, broken: false };
        }
    }
    let (head, body) = match ask(request, way.upstream.clone()).await {
        Ok(answer) => answer,
        Err(e) => return End { disturbed: was, ..failed(&e, respond) },
    };
    let end = of_status(body.trailers.as_ref().unwrap_or(&head.headers));
    let outcome = match end.answered {
        Some(0) => "etcd had carried it out".to_owned(),
        _ => format!("etcd had answered {}", end.said),
    };
    for fault in struck {
        if let Act::Delay { by } = fault.act {
            tokio::select! {
                () = sleep(Duration::from_millis(by)) => {}
                () = fault.lifted.cancelled() => {}
            }
            told(fault, format!("{words}: {outcome}, and the answer was given {by} ms later"), false);
            was = done("answered late", fault);
        }
    }
    let carried_out = if end.answered == Some(0) { way.script.strike(method, &way.endpoint, Side::Answer) } else { Vec::new() };
    let of = |is: fn(&Act) -> bool| carried_out.iter().filter(move |fault| is(&fault.act));
    for fault in of(|act| *act == Act::Hold { at: Side::Answer }) {
        told(fault, format!("{words}: {outcome}, and the answer stood still"), true);
        fault.lifted.cancelled().await;
        was = done("its answer held", fault);
    }
    if let Some(fault) = of(|act| *act == Act::DropAnswer).next() {
        told(fault, format!("{words}: {outcome}, and the answer was dropped"), false);
        tokio::select! {
            _ = poll_fn(|cx| respond.poll_reset(cx)) => {}
            () = fault.lifted.cancelled() => respond.send_reset(Reason::CANCEL),
        }
        return End { disturbed: done("its answer dropped", fault), ..end };
    }
    let given = answer(head, body, respond).await;
    let said = if given.is_ok() { end.said } else { with(&end.said, "kubeadm had given up") };
    End { said, disturbed: was, ..end }
}

/// Asks etcd, and keeps its whole answer.
async fn ask(request: Request<RecvStream>, upstream: SendRequest<Bytes>) -> Result<(response::Parts, Whole), Error> {
    let (answer, sent) = send(request, upstream).await?;
    sent.await;
    let (head, body) = answer.await?.into_parts();
    Ok((head, whole(body).await?))
}

/// Gives kubeadm an answer that was kept.
async fn answer(head: response::Parts, body: Whole, respond: &mut SendResponse<Bytes>) -> Result<(), Error> {
    let only_head = body.data.is_empty() && body.trailers.is_none();
    let mut to = respond.send_response(Response::from_parts(head, ()), only_head)?;
    for piece in body.data {
        give(piece, &mut to).await?;
    }
    match body.trailers {
        Some(trailers) => to.send_trailers(trailers),
        None if only_head => Ok(()),
        None => to.send_data(Bytes::new(), true),
    }
}

/// An answer of gRPC with nothing but a status.
fn refuse(respond: &mut SendResponse<Bytes>, why: &str) {
    let mut answer = Response::new(());
    let headers = answer.headers_mut();
    headers.insert("content-type", HeaderValue::from_static("application/grpc"));
    headers.insert("grpc-status", HeaderValue::from(UNAVAILABLE));
    if let Ok(why) = HeaderValue::from_str(why) {
        headers.insert("grpc-message", why);
    }
    let _ = respond.send_response(answer, true);
}

/// Has kubeadm taken the call back, or died? Whoever killed it lets go at once, when the end of its connection may be here and not read
/// yet: seen on a busy machine, where etcd then promoted for a kubeadm that was dead.
async fn has_given_up(respond: &mut SendResponse<Bytes>) -> bool {
    timeout(NOTICED, poll_fn(|cx| respond.poll_reset(cx))).await.is_ok()
}

fn failed(error: &Error, respond: &mut SendResponse<Bytes>) -> End {
    if let Some(reason) = error.reason().filter(|_| error.is_reset()) {
        respond.send_reset(reason);
    }
    unanswered(error)
}

fn unanswered(error: &Error) -> End {
    End { answered: None, said: error.to_string(), disturbed: None, broken: !error.is_reset() }
}

/// gRPC's code and message, from trailers or from a head that has no body behind it.
fn of_status(headers: &HeaderMap) -> End {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let answered = text("grpc-status").parse().ok();
    End { answered, said: unescaped(text("grpc-message")), disturbed: None, broken: false }
}

/// gRPC's messages have `%0A` for what a header cannot hold.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let hex = behind.get(..2).and_then(|two| std::str::from_utf8(two).ok()).and_then(|two| u8::from_str_radix(two, 16).ok());
        if let (b'%', Some(byte)) = (first, hex) {
            bytes.push(byte);
            rest = &behind[2..];
        } else {
            bytes.push(*first);
            rest = behind;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn with(said: &str, more: &str) -> String {
    if said.is_empty() { more.to_owned() } else { format!("{said}; {more}") }
}
