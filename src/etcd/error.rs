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

/// Words of those failures that say that nothing was done (`api/v3rpc/rpctypes/error.go`; the rest are the transport's): what was
/// refused before it was proposed, and what was never sent.
const NOT_DONE: [&str; 10] = [
    "not supported for learner",
    "too many requests",
    "database space exceeded",
    "not capable",
    "request is too large",
    "permission denied",
    "authentication",
    "Connection refused",
    "certificate",
    "HandshakeFailure",
];

impl EtcdError {
    /// Is it sure that the call was not carried out, and will not be? A leader that was lost, and a connection, leave that open.
    pub fn is_surely_not_done(&self) -> bool {
        self.kind == Kind::Tls || self.kind != Kind::Late && NOT_DONE.iter().any(|words| self.said.contains(words))
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_been_done_is_told_from_what_was_not() {
        let done = |kind, said: &str| {
            let error = EtcdError { op: "put", endpoint: String::new(), said: said.into(), kind };
            !error.is_surely_not_done()
        };
        assert!(done(Kind::Late, "no answer in time"));
        assert!(done(Kind::Down, "transport error: connection reset by peer"));
        assert!(done(Kind::Refused, "etcdserver: leader changed"), "nobody knows what the one before it has done");
        assert!(done(Kind::Refused, "words that nobody knows yet"));
        assert!(!done(Kind::Down, "transport error: tcp connect error: Connection refused (os error 111)"));
        assert!(!done(Kind::Learner, "etcdserver: rpc not supported for learner"));
        assert!(!done(Kind::Refused, "etcdserver: mvcc: database space exceeded"));
        assert!(!done(Kind::Tls, "no key"));
    }
}
