//! What a failed etcd call means.

use etcd_client::Error;
use thiserror::Error as ThisError;

/// A failed call to one member.
#[derive(Debug, ThisError)]
#[error("cannot {op} of {endpoint}: {said}")]
pub struct EtcdError {
    /// What was asked.
    pub op: &'static str,
    /// Of whom.
    pub endpoint: String,
    /// etcd's own words, or the transport's.
    pub said: String,
    /// What kind of failure it is.
    pub kind: Kind,
}

/// What the caller can make of a failed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nobody serves there (yet).
    Down,
    /// No answer in time. For a change: it may have been applied.
    Late,
    /// A learner does not answer this (`rpc not supported for learner`; `Unavailable` in 3.5, `FailedPrecondition` in 3.6).
    Learner,
    /// Certificates or keys do not fit.
    Tls,
    /// etcd refused; the words say why.
    Refused,
}

impl EtcdError {
    /// No answer within the caller's limit.
    pub fn late(op: &'static str, endpoint: &str) -> Self {
        Self { op, endpoint: endpoint.to_owned(), said: "no answer in time".into(), kind: Kind::Late }
    }

    pub(super) fn new(op: &'static str, endpoint: &str, error: &Error) -> Self {
        let said = words(error);
        let kind = if said.contains("not supported for learner") {
            Kind::Learner
        } else if said.contains("context deadline exceeded") || said.contains("request timed out") || said.contains("Timeout expired") {
            Kind::Late
        } else if said.contains("transport error") || said.contains("tcp connect error") || said.contains("Connection refused") {
            Kind::Down
        } else {
            Kind::Refused
        };
        Self { op, endpoint: endpoint.to_owned(), said, kind }
    }
}

fn words(error: &Error) -> String {
    #[expect(clippy::wildcard_enum_match_arm, reason = "only a status carries etcd's own words; all else is shown with its causes")]
    match error {
        Error::GRpcStatus(status) => {
            let mut text = status.message().to_owned();
            let mut next = std::error::Error::source(status);
            while let Some(cause) = next {
                text = format!("{text}: {cause}");
                next = cause.source();
            }
            text
        }
        other => other.to_string(),
    }
}
