//! What can go wrong with the engine, sorted by what the caller can do about it.

use thiserror::Error;

/// The kind of a failed engine call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing listens on the engine's socket, or it went away in the middle.
    Unreachable,
    /// This user may not talk to the engine.
    Denied,
    /// The engine is older than what joinder needs.
    TooOld,
    /// No such container, network, volume, image or exec.
    NotFound,
    /// The name is taken.
    NameTaken,
    /// The host port is taken.
    PortTaken,
    /// The subnet overlaps with another network's, or no address is left.
    SubnetTaken,
    /// No answer in time. The call may have been carried out.
    Late,
    /// Anything else.
    Other,
}

/// A failed engine call: what was tried, on what, and the engine's own words.
#[derive(Debug, Error)]
#[error("cannot {op} {target}: {said}{}", hint(*.fault))]
pub struct RuntimeError {
    /// What was tried, as a verb phrase: `create container`.
    pub op: &'static str,
    /// On what.
    pub target: String,
    /// The engine's own words.
    pub said: String,
    /// What kind of failure it is.
    pub fault: Fault,
}

impl RuntimeError {
    /// Did the call fail in this way?
    pub fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }
}

fn hint(fault: Fault) -> &'static str {
    match fault {
        Fault::Unreachable => {
            "\nhint: is the engine running? Start it (`systemctl start docker`, or `dockerd &` where there is no init system), or name its socket in DOCKER_HOST"
        }
        Fault::Denied => {
            "\nhint: this user may not talk to the engine: run as root, or join the group that owns the socket (`usermod -aG docker USER`, then log in again)"
        }
        Fault::TooOld => "\nhint: joinder needs Docker 20.10 (API 1.41) or newer",
        Fault::Late => "\nhint: the engine did not answer in time and may still carry it out",
        Fault::NotFound | Fault::NameTaken | Fault::PortTaken | Fault::SubnetTaken | Fault::Other => "",
    }
}

/// Short for results of engine calls.
pub type Result<T, E = RuntimeError> = std::result::Result<T, E>;
