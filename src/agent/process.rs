//! The host's end of one process in a node.

use super::client::{AgentError, Replies};
use super::protocol::{Pipe, Said};
use crate::sys::clock::Stamp;

/// A process that an agent runs. Dropping it ends the process with its group.
pub struct Process {
    node: String,
    replies: Replies,
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
        Self { node: node.to_owned(), replies }
    }

    /// What it does next.
    ///
    /// # Errors
    /// [`AgentError::Refused`] when it could not be started; [`AgentError::Lost`] when it can no longer be followed.
    pub async fn next(&mut self) -> Result<Output, AgentError> {
        loop {
            match self.replies.next().await? {
                Said::Line { pipe, seen, text, more } => return Ok(Output::Line { pipe, seen, text, more }),
                Said::Exited { code, signal } => return Ok(Output::Exited { code, signal }),
                Said::Failed { why } => return Err(AgentError::Refused { node: self.node.clone(), why }),
                Said::Hello { .. }
                | Said::Started { .. }
                | Said::Answer { .. }
                | Said::Sample { .. }
                | Said::Members { .. }
                | Said::Used { .. }
                | Said::Metered { .. }
                | Said::Noticed { .. }
                | Said::Proxying { .. }
                | Said::Proxied { .. }
                | Said::Unproxied { .. }
                | Said::Disturbed { .. }
                | Said::Called { .. }
                | Said::Kept { .. }
                | Said::Done => {}
            }
        }
    }

    /// Asks its group to end; [`Output::Exited`] still comes.
    pub fn end(&self) {
        self.replies.cancel();
    }
}
