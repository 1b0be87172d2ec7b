//! The host's end of one process in a node.

use super::client::{AgentError, Replies};
use super::protocol::{Pipe, Said};
use crate::sys::clock::Stamp;
use crate::sys::stop::Stop;

/// A process that an agent runs. Dropping it ends the process with its group.
pub struct Process {
    node: String,
    replies: Replies,
    stopped: bool,
}

/// What a process does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// It wrote a line.
    Line {
        /// Where.
        pipe: Pipe,
        /// When the agent read it.
        seen: Stamp,
        /// Without the newline; a long line in pieces.
        text: String,
        /// The line goes on with the next piece.
        more: bool,
    },
    /// It has ended; nothing follows.
    Exited {
        /// Exit code; `None` when a signal ended it.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    },
}

impl Process {
    pub(super) fn new(node: &str, replies: Replies) -> Self {
        Self { node: node.to_owned(), replies, stopped: false }
    }

    /// What it does next. At the soft level of `stop` its group is asked to end, and [`Output::Exited`] still comes; `None` at the hard one:
    /// the agent kills after its grace, and nobody waits for that.
    ///
    /// # Errors
    /// [`AgentError::Refused`] when it could not be started; [`AgentError::Lost`] when it can no longer be followed.
    pub async fn next_or_stop(&mut self, stop: &Stop) -> Option<Result<Output, AgentError>> {
        loop {
            tokio::select! {
                output = self.next() => return Some(output),
                () = stop.soft.cancelled(), if !self.stopped => {
                    self.stopped = true;
                    self.replies.cancel();
                }
                () = stop.hard.cancelled() => return None,
            }
        }
    }

    /// Was it asked to end?
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// What it does next, whatever stops meanwhile.
    ///
    /// # Errors
    /// As [`Self::next_or_stop`].
    pub async fn next(&mut self) -> Result<Output, AgentError> {
        loop {
            let said = self.replies.next().await?;
            if let Said::Line { pipe, seen, text, more } = said {
                return Ok(Output::Line { pipe, seen, text, more });
            }
            if let Said::Exited { code, signal } = said {
                return Ok(Output::Exited { code, signal });
            }
            if let Said::Failed { why } = said {
                return Err(AgentError::Refused { node: self.node.clone(), why });
            }
        }
    }
}
