//! How text is to be seen, what is safe to show, and how much of it fits.

use crate::event::Verdict;

/// How a line is to be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Good,
    Bad,
    Doubt,
    Faint,
}

/// A verdict's colour and word.
pub(super) fn verdict(verdict: Verdict) -> (Tone, &'static str) {
    match verdict {
        Verdict::NotApplicable => (Tone::Faint, "N/A"),
        Verdict::Pass => (Tone::Good, "PASS"),
        Verdict::Known => (Tone::Doubt, "KNOWN"),
        Verdict::Undecided => (Tone::Doubt, "UNDECIDED"),
        Verdict::Fail => (Tone::Bad, "FAIL"),
    }
}

/// `text` with everything that could command a terminal, hide or turn round what is read, or that XML 1.0 does not know,
/// made visible. It may come from files, nodes and programs. Line feeds stay.
pub fn plain(text: &str) -> String {
    text.chars().fold(String::new(), |mut all, c| {
        if c != '\n' && unseen(c) {
            all.extend(c.escape_default());
        } else {
            all.push(c);
        }
        all
    })
}

/// The same in one line.
pub(super) fn one_line(text: &str) -> String {
    plain(text).replace('\n', "\\n")
}

/// Control characters, marks that have no width or change the direction of what follows, and what is no character.
fn unseen(c: char) -> bool {
    let marks = matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}');
    let more = matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}');
    c.is_control() || marks || more
}

/// `text` in the colour of its tone.
pub(super) fn paint(tone: Tone, text: &str, colour: bool) -> String {
    let code = match tone {
        Tone::Plain => return text.to_owned(),
        Tone::Good => "32",
        Tone::Bad => "31;1",
        Tone::Doubt => "33",
        Tone::Faint => "2",
    };
    if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

/// Columns that plain text takes.
pub(super) fn width(text: &str) -> usize {
    console::measure_text_width(text)
}

/// Plain text in at most so many columns, cut with `…` where it has more.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        text.to_owned()
    } else {
        console::truncate_str(text, columns, if columns == 0 { "" } else { "…" }).into_owned()
    }
}

/// Plain text in just so many columns.
pub(super) fn fit(text: &str, columns: usize) -> String {
    let text = cut(text, columns);
    let missing = columns - width(&text).min(columns);
    text + &" ".repeat(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_commands_hides_or_is_no_character_becomes_visible() {
        for (text, want) in [
            ("\x1b[2Jcleared", "\\u{1b}[2Jcleared"),
            ("a\rb\tc\0", "a\\rb\\tc\\u{0}"),
            ("two\nlines", "two\nlines"),
            ("\u{202e}gpj.exe\u{200b}", "\\u{202e}gpj.exe\\u{200b}"),
            ("\u{fffe}\u{9b}31m", "\\u{fffe}\\u{9b}31m"),
            ("Zürich 東京", "Zürich 東京"),
        ] {
            assert_eq!(plain(text), want);
        }
        assert_eq!(one_line("a\nb"), "a\\nb");
    }

    #[test]
    fn text_is_cut_by_columns_not_characters() {
        for (text, columns, want) in
            [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("東京都", 5, "東京…"), ("東京都", 4, "東…"), ("ab", 1, "…"), ("ab", 0, "")]
        {
            assert_eq!(cut(text, columns), want, "{text} in {columns}");
        }
        assert_eq!(fit("東京都", 4), "東… ");
        assert_eq!(fit("a", 3), "a  ");
    }
}
