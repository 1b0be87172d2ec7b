//! Bytes of an output to lines that can be shown: of a bounded length, what is no UTF-8 made visible.

/// A longer line is told in pieces: nobody can read it, and a program may never end one.
const LONGEST: usize = 16 * 1024;

/// The lines of one stream, fed in pieces as they come. Each is said with whether it goes on with the next one.
#[derive(Debug, Default)]
pub struct Lines {
    open: Vec<u8>,
}

impl Lines {
    /// Takes a piece; says each line that it ends, without its newline.
    pub fn feed(&mut self, piece: &[u8], mut say: impl FnMut(String, bool)) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let mut rest = part;
            while self.open.len() + rest.len() > LONGEST + 1 {
                let room = LONGEST.saturating_sub(self.open.len());
                self.open.extend_from_slice(&rest[..room]);
                rest = &rest[room..];
                // not in the middle of a character
                let cut = whole(&self.open);
                let next = self.open.split_off(cut);
                say(shown(&self.open), true);
                self.open = next;
            }
            self.open.extend_from_slice(rest);
            if self.open.ends_with(b"\n") {
                self.end(&mut say);
            }
        }
    }

    /// The stream has ended: says the line that has no newline, if there is one.
    pub fn end(&mut self, mut say: impl FnMut(String, bool)) {
        if !self.open.is_empty() {
            let line = self.open.strip_suffix(b"\n").unwrap_or(&self.open);
            say(shown(line.strip_suffix(b"\r").unwrap_or(line)), false);
            self.open.clear();
        }
    }
}

/// How many of these bytes are whole characters, where only the last one may be torn.
fn whole(bytes: &[u8]) -> usize {
    let torn = bytes.iter().rev().take(3).position(|byte| *byte >= 0xC0);
    match torn {
        Some(back) if std::str::from_utf8(&bytes[bytes.len() - 1 - back..]).is_err() && bytes.len() > back + 1 => bytes.len() - 1 - back,
        Some(_) | None => bytes.len(),
    }
}

/// A byte that is no UTF-8 as `\xff`.
fn shown(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(pieces: &[&[u8]]) -> Vec<(String, bool)> {
        let (mut lines, mut said) = (Lines::default(), Vec::new());
        for piece in pieces {
            lines.feed(piece, |line, more| said.push((line, more)));
        }
        lines.end(|line, more| said.push((line, more)));
        said
    }

    fn lines(pieces: &[&[u8]]) -> Vec<String> {
        said(pieces).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn pieces_are_not_lines_and_the_last_one_may_have_no_newline() {
        assert_eq!(lines(&[b"a", b"b\nc\r\n", b"\nd"]), ["ab", "c", "", "d"]);
        assert_eq!(lines(&[b""]), [""; 0]);
    }

    #[test]
    fn what_is_no_utf8_is_shown_and_a_character_may_come_in_two_pieces() {
        assert_eq!(lines(&[b"a\xffb\n"]), ["a\\xffb"]);
        assert_eq!(lines(&["ä".as_bytes(), b"\n"]), ["ä"]);
        assert_eq!(lines(&[&"ä".as_bytes()[..1], &"ä".as_bytes()[1..]]), ["ä"]);
    }

    #[test]
    fn a_line_without_an_end_is_told_in_pieces_and_nothing_is_lost() {
        let long = "xä".repeat(20_000);
        for size in [1000, 4096, 100_000] {
            let pieces: Vec<&[u8]> = long.as_bytes().chunks(size).collect();
            let said = lines(&pieces);
            assert!(said.len() >= 3 && said.iter().all(|line| line.len() <= LONGEST + 1), "{}", said.len());
            assert_eq!(said.concat(), long);
        }
        let told = said(&[long.as_bytes(), b"\nnext\n"]);
        let goes_on: Vec<bool> = told.iter().map(|(_, more)| *more).collect();
        assert_eq!(goes_on, [true, true, true, false, false]);
        let exact = "x".repeat(LONGEST) + "\n";
        assert_eq!(lines(&[exact.as_bytes()]).len(), 1);
        let junk = vec![0xff; LONGEST + 10];
        assert_eq!(lines(&[&junk]).concat().len(), 4 * junk.len());
    }
}
