//! Where a cluster that is watched is shown: anew in one place on a terminal, as blocks where something changes, or as lines of JSON.

use std::io::{self, IsTerminal, Write};

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

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
