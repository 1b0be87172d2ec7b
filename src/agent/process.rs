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

    /// Asks its group to end; [`Output::Exited`] still comes.
    pub fn end(&self) {
        self.replies.cancel();
    }
}
