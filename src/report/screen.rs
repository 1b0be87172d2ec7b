//! Where a cluster that is watched is shown: anew in one place on a terminal, as blocks where something changes, or as lines of JSON.

use std::future::pending;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

use tokio::io::{Interest, Ready};
use tokio::net::unix::pipe::Sender;

use super::board::Board;
use super::frame::Size;
use super::line::Verbosity;
use super::live::Live;
use super::mode::{Around, View, mode};
use super::tone::paint;

/// A board that goes to no terminal is as wide as all of it.
const WIDE: Size = Size { columns: 140, rows: 200 };

/// Where boards are shown.
pub struct Screen {
    way: Way,
    colour: bool,
}

enum Way {
    Live(Live),
    /// The last block's essence.
    Blocks(Option<String>),
    Json,
}

impl Screen {
    /// As fits what is around; `once` and `json` are never drawn anew.
    pub fn look(json: bool, once: bool) -> Self {
        let mode = mode(&Around::look(), Verbosity::Normal);
        let out = io::stdout().is_terminal();
        let way = match mode.view {
            _ if json => Way::Json,
            View::Live if !once && out => Way::Live(Live::new()),
            View::Live | View::Plain | View::Verbose => Way::Blocks(None),
        };
        Self { way, colour: mode.colour && out }
    }

    /// Shows a board, where it shows something new.
    ///
    /// # Errors
    /// Standard output's; nobody may read on.
    pub fn show(&mut self, board: &Board) -> io::Result<()> {
        let painted = |size, colour| board.lines(size).into_iter().map(|(tone, line)| paint(tone, &line, colour)).collect::<Vec<_>>();
        match &mut self.way {
            Way::Live(live) => live.draw(&painted(live.size(), self.colour)),
            Way::Json => {
                let line = serde_json::to_string(board).map_err(io::Error::from)?;
                write(&format!("{line}\n"))?;
            }
            Way::Blocks(last) => {
                let essence = board.essence();
                if last.as_ref() != Some(&essence) {
                    let gap = if last.is_some() { "\n" } else { "" };
                    write(&format!("{gap}{}\n", painted(WIDE, self.colour).join("\n")))?;
                    *last = Some(essence);
                }
            }
        }
        Ok(())
    }

    /// Takes what changes away.
    pub fn close(self) {
        if let Way::Live(live) = self.way {
            live.close();
        }
    }
}

/// Ends when whoever reads standard output has gone; never where nobody can tell, as of a file.
pub async fn reader_gone() {
    gone(io::stdout()).await;
}

async fn gone(out: impl AsFd) {
    // it is only listened to: what is written goes another way, and may block
    if let Ok(out) = out.as_fd().try_clone_to_owned().and_then(Sender::from_owned_fd_unchecked)
        && out.ready(Interest::ERROR).await.is_ok_and(Ready::is_error)
    {
        return;
    }
    pending::<()>().await;
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_reader_that_goes_is_noticed_though_nothing_is_written() {
        let (reader, writer) = io::pipe().expect("a pipe");
        let mut waits = Box::pin(gone(writer));
        tokio::select! {
            biased;
            () = &mut waits => panic!("somebody reads"),
            () = tokio::task::yield_now() => {}
        }
        drop(reader);
        waits.await;
    }
}
