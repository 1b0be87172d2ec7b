//! Keeps secrets out of everything that is written down: those that are known, and those that can be told by their shape.
//!
//! Rather too much is taken than too little: the mask says that something stood there.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

/// What stands in a secret's place.
pub const MASK: &str = "[redacted]";

/// Words whose value is a secret, as kubeconfigs, kubeadm's configuration and command lines and Secret objects spell them.
const KEYS: &[&str] = &[
    "client-key-data",
    "certificate-key",
    "certificateKey",
    "tlsBootstrapToken",
    "tls-bootstrap-token",
    "discovery-token",
    "token-secret",
    "refresh-token",
    "access-token",
    "id-token",
    "token",
    "password",
    "Bearer",
    "bearer",
];
/// A shorter value is a word of a sentence or a number.
const SHORTEST: usize = 16;
/// How much of a long line's end is kept back: more than a key in base64.
const HELD: usize = 6 * 1024;
/// Places at which a long line's end is tried to be parted, in as much again.
const TRIES: usize = 24;
/// The width of a PEM line (RFC 7468).
const PEM_WIDTH: usize = 64;
/// `-----BEGIN ` in base64.
const PEM_IN_BASE64: &str = "LS0tLS1CRUdJTi";

/// Known secrets, replaced wherever they appear, and what looks like a secret.
#[derive(Clone, Default)]
pub struct Redactor(Vec<String>);

impl Redactor {
    /// Empty secrets are ignored. Each is known in base64 too, as Secret objects hold it.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let both = |s: String| [STANDARD.encode(&s), s];
        Self(secrets.into_iter().filter(|s| !s.is_empty()).flat_map(both).collect())
    }

    /// `text`, of one line or many, without the secrets.
    pub fn apply(&self, text: &str) -> String {
        let mut lines = self.lines();
        let mut kept: Vec<String> = Vec::new();
        for line in text.split_inclusive('\n') {
            // The text begins in the middle of a key: what stands above its end belongs to it.
            if lines.block == Block::None && key_ends(line) && !key_begins(line) {
                for before in kept.iter_mut().rev().take_while(|line| is_base64(line.trim()) || line.trim() == MASK) {
                    *before = ending(MASK, before);
                }
            }
            kept.push(lines.apply(line));
        }
        kept.concat()
    }

    /// For lines that come one by one.
    pub fn lines(&self) -> Lines<'_> {
        Lines { secrets: &self.0, block: Block::None, held: String::new(), hidden: false }
    }
}

/// Lines of one stream; a key spans several.
#[derive(Clone)]
pub struct Lines<'a> {
    secrets: &'a [String],
    block: Block,
    /// The end of a long line's last piece, which the next one may make a secret.
    held: String,
    /// What was hidden of a long line goes on with the next piece.
    hidden: bool,
}

/// What PEM block the last line was in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    None,
    Key,
    Other,
}

impl Lines<'_> {
    /// The next piece of a long line that goes on where `more` is said; its end is kept back until it is seen what follows it.
    pub fn piece(&mut self, text: &str, more: bool) -> String {
        let mut whole = std::mem::take(&mut self.held) + text;
        if self.hidden {
            let end = whole.find(ends_value);
            self.hidden = more && end.is_none();
            if self.hidden {
                return String::new();
            }
            whole.drain(..end.unwrap_or(whole.len()));
        }
        if !more {
            return self.apply(&whole);
        }
        let clean = self.clone().apply(&whole);
        let mut cuts = (1..=TRIES).map(|n| whole.floor_char_boundary(whole.len().saturating_sub(HELD + (n - 1) * HELD / TRIES)));
        // Nothing secret lies across the cut when both sides together read as the whole does.
        let harmless = cuts.find_map(|cut| {
            let (front, back) = whole.split_at(cut);
            let mut after = self.clone();
            let front = after.apply(front);
            (front.clone() + &after.clone().apply(back) == clean).then_some((front, back, after))
        });
        let Some((front, back, after)) = harmless else {
            // Longer than any secret should be: what follows up to the end of the word belongs to it too.
            self.block = self.block.after(&whole);
            self.hidden = !whole.ends_with(ends_value);
            return MASK.to_owned();
        };
        self.block = after.block;
        self.held = back.to_owned();
        front
    }

    /// The next line without the secrets, with its end where it has one.
    pub fn apply(&mut self, line: &str) -> String {
        let block = self.block;
        self.block = block.after(line);
        let bare = line.trim();
        match block {
            // A log puts its prefix before each line, so the last word is looked at.
            Block::Key if key_ends(line) || is_base64(last_word(bare)) || is_pem_header(bare) => return ending(MASK, line),
            // A whole line of a PEM block whose beginning is not there, or a certificate key alone on its line.
            Block::None if bare.len() == PEM_WIDTH && is_base64(bare) => return ending(MASK, line),
            Block::Key | Block::None | Block::Other => {}
        }
        let known = self.secrets.iter().fold(line.to_owned(), |text, secret| text.replace(secret, MASK));
        values(&words(&keys(&known)))
    }
}

impl Block {
    fn after(self, line: &str) -> Self {
        let ends = line.rfind("-----END ");
        match line.rfind("-----BEGIN ").filter(|begin| ends.is_none_or(|end| end < *begin)) {
            Some(begin) if key_begins(&line[begin..]) => Self::Key,
            Some(_) => Self::Other,
            None if ends.is_some() => Self::None,
            // Only the last line of a key is shorter. Should its end never come, the stream is not lost.
            None if self == Self::Key && !is_pem_header(line.trim()) && !is_whole_line(last_word(line)) => Self::None,
            None => self,
        }
    }
}

/// Of a PEM block, but for its last one.
fn is_whole_line(text: &str) -> bool {
    text.len() >= PEM_WIDTH && is_base64(text)
}

fn key_begins(text: &str) -> bool {
    text.find("-----BEGIN ").is_some_and(|at| text[at..].split("-----").nth(1).is_some_and(|name| name.ends_with("PRIVATE KEY")))
}

fn key_ends(text: &str) -> bool {
    text.find("-----END ").is_some_and(|at| text[at..].split("-----").nth(1).is_some_and(|name| name.ends_with("PRIVATE KEY")))
}

/// Of an old encrypted key, and the empty line below it.
fn is_pem_header(line: &str) -> bool {
    line.is_empty() || line.starts_with("Proc-Type:") || line.starts_with("DEK-Info:")
}

fn last_word(line: &str) -> &str {
    line.split_whitespace().next_back().unwrap_or_default()
}

fn is_base64(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(in_base64)
}

fn in_base64(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=')
}

/// `text` with the line end of `line`.
fn ending(text: &str, line: &str) -> String {
    let end = &line[line.trim_end_matches(['\n', '\r']).len()..];
    format!("{text}{end}")
}

/// Keys inside one line, as in JSON and quoted strings; one whose end is not there takes the rest.
fn keys(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(begin) = rest.find("-----BEGIN ") {
        let Some(body) = rest[begin + 11..].find("-----").map(|at| begin + 11 + at + 5) else { break };
        if !rest[..body].ends_with("PRIVATE KEY-----") {
            out.push_str(&rest[..body]);
            rest = &rest[body..];
            continue;
        }
        out.push_str(&rest[..body]);
        let end = rest[body..].find("-----END ").map(|at| body + at);
        let line_end = rest.trim_end_matches(['\n', '\r']).len();
        let until = end.unwrap_or(line_end);
        if until > body {
            out.push_str(MASK);
        }
        rest = &rest[until..];
        if end.is_none() {
            break;
        }
    }
    out + rest
}

/// Words that are secrets by themselves: bootstrap tokens, web tokens, keys in base64.
fn words(line: &str) -> String {
    let part = |b: u8| in_base64(b) || matches!(b, b'.' | b'_' | b'-');
    pieces(line, part, |word| {
        if let Some(at) = word.find(PEM_IN_BASE64).filter(|at| holds_key(&word[*at..])) {
            return Some(format!("{}{MASK}", &word[..at]));
        }
        let web = |at: &usize| word[*at..].len() >= 40 && word[*at..].matches('.').count() >= 2;
        if let Some(at) = word.find("eyJ").filter(web) {
            return Some(format!("{}{MASK}", &word[..at]));
        }
        let token = bootstrap_token(word)?;
        Some(format!("{}{MASK}{}", &word[..token], &word[token + 23..]))
    })
}

/// Where `[a-z0-9]{6}\.[a-z0-9]{16}` stands in a word, with nothing of its alphabet at either side.
fn bootstrap_token(word: &str) -> Option<usize> {
    let lower = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = word.as_bytes();
    let fits = |dot: usize| {
        let (id, secret) = (bytes.get(dot.checked_sub(6)?..dot)?, bytes.get(dot + 1..dot + 17)?);
        let free = |b: Option<&u8>| b.is_none_or(|b| !lower(b));
        let alone = free(dot.checked_sub(7).and_then(|at| bytes.get(at))) && free(bytes.get(dot + 17));
        (alone && id.iter().all(lower) && secret.iter().all(lower)).then_some(dot - 6)
    };
    word.match_indices('.').find_map(|(dot, _)| fits(dot))
}

/// Does this base64 of a PEM block hold a private key? Its first line says.
fn holds_key(base64: &str) -> bool {
    let run = base64.bytes().take_while(|b| in_base64(*b)).take(48).count();
    let start = STANDARD_NO_PAD.decode(&base64[..run / 4 * 4]).unwrap_or_default();
    let start = String::from_utf8_lossy(&start);
    // A certificate says so; what is cut too early to say anything is taken.
    !start.contains("CERTIFICATE") && !start.contains("PUBLIC")
}

/// What stands behind one of [`KEYS`].
fn values(line: &str) -> String {
    let mut out = line.to_owned();
    for key in KEYS {
        let mut from = 0;
        while let Some(at) = out[from..].find(key).map(|at| from + at) {
            let behind = at + key.len();
            let alone = out[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric());
            let gap = out[behind..].find(|c: char| !matches!(c, ' ' | '\t' | '"' | '\'' | ':' | '=' | '\\' | '[')).unwrap_or(0);
            let value = behind + gap;
            let length = out[value..].find(ends_value).unwrap_or(out.len() - value);
            from = behind;
            if alone && gap > 0 && length >= SHORTEST {
                out.replace_range(value..value + length, MASK);
            }
        }
    }
    out
}

fn ends_value(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '\\' | '}' | ']' | ')')
}

/// `line` with `change` made to each run of bytes that are `part` of a word.
fn pieces(line: &str, part: impl Fn(u8) -> bool, change: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(begin) = rest.bytes().position(&part) {
        out.push_str(&rest[..begin]);
        let length = rest[begin..].bytes().position(|b| !part(b)).unwrap_or(rest.len() - begin);
        let word = &rest[begin..begin + length];
        match change(word) {
            Some(changed) => out.push_str(&changed),
            None => out.push_str(word),
        }
        rest = &rest[begin + length..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "abcdef.0123456789abcdef";

    /// As long as a real one, all lines different.
    fn pem(name: &str) -> String {
        let body: Vec<String> = (0..24).map(|n| STANDARD.encode([n; 48])).collect();
        format!("-----BEGIN {name}-----\n{}\nAbC0+/==\n-----END {name}-----\n", body.join("\n"))
    }

    fn shapes(text: &str) -> String {
        Redactor::default().apply(text)
    }

    #[test]
    fn replaces_every_occurrence() {
        let redact = Redactor::new(["short one".into(), String::new()]);
        assert_eq!(redact.apply("--token short one again short one"), "--token [redacted] again [redacted]");
        assert_eq!(redact.apply(&format!("data: {}", STANDARD.encode("short one"))), "data: [redacted]");
    }

    #[test]
    fn what_looks_like_a_secret_is_one() {
        let hex = "0123456789abcdef".repeat(4);
        let key = STANDARD.encode(pem("EC PRIVATE KEY"));
        let jwt = format!("eyJ{}.eyJ{}.{}", "a".repeat(20), "b".repeat(20), "c".repeat(20));
        for (text, want) in [
            (format!("kubeadm join --token {TOKEN} 10.0.0.1:6443"), "kubeadm join --token [redacted] 10.0.0.1:6443"),
            (format!("token={TOKEN}, x"), "token=[redacted], x"),
            (format!("\"token\":\"{TOKEN}\"}}"), "\"token\":\"[redacted]\"}"),
            (format!("found {TOKEN}."), "found [redacted]."),
            (format!("--certificate-key {hex}"), "--certificate-key [redacted]"),
            (format!("certificateKey: {hex}\nx"), "certificateKey: [redacted]\nx"),
            (format!("\t--control-plane --certificate-key {hex}\r\n"), "\t--control-plane --certificate-key [redacted]\r\n"),
            (format!("{hex}\n"), "[redacted]\n"),
            (format!("    client-key-data: {key}\n"), "    client-key-data: [redacted]\n"),
            (format!("{{\"client-key-data\":\"{key}\"}}"), "{\"client-key-data\":\"[redacted]\"}"),
            (format!("  ca.key: {key}"), "  ca.key: [redacted]"),
            (format!("Authorization: Bearer {jwt}"), "Authorization: Bearer [redacted]"),
            (format!("data {jwt} end"), "data [redacted] end"),
            (
                format!("a {} b", pem("PRIVATE KEY").replace('\n', "\\n")),
                "a -----BEGIN PRIVATE KEY-----[redacted]-----END PRIVATE KEY-----\\n b",
            ),
        ] {
            assert_eq!(shapes(&text), want);
        }
    }

    #[test]
    fn what_is_none_stays() {
        let certificate = pem("CERTIFICATE");
        let in_base64 = format!("certificate-authority-data: {}", STANDARD.encode(&certificate));
        for text in [
            certificate.as_str(),
            &in_base64,
            "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            "Created bootstrap token for a node; the token is valid",
            "[certs] Generating \"ca\" certificate and key\n[bootstrap-token] Using token",
            "joinder-control-plane-1.1857f0a1b2c3d4e5 at 10.213.0.11:6443, v1.36.3",
            "ümläut \u{1b}[0m \n\n",
        ] {
            assert_eq!(shapes(text), text);
        }
    }

    #[test]
    fn a_key_is_found_wherever_the_text_is_cut() {
        let key = pem("RSA PRIVATE KEY");
        let body: Vec<&str> = key.lines().filter(|l| !l.contains("-----")).collect();
        let whole = format!("before\n{key}after\n");
        assert_eq!(shapes(&whole).lines().next(), Some("before"));
        assert_eq!(shapes(&whole).lines().next_back(), Some("after"));
        for cut in 0..whole.len() {
            for piece in [&whole[..cut], &whole[cut..]] {
                let shown = shapes(piece);
                assert!(!body.iter().any(|line| shown.contains(line)), "cut at {cut}: {shown}");
            }
        }
        // below a prefix, as a journal has it
        let logged: String = whole.lines().map(|l| format!("Dec 01 node x[1]: {l}\n")).collect::<Vec<_>>().concat();
        let shown = shapes(&logged);
        assert!(!body.iter().any(|line| shown.contains(line)) && shown.ends_with("after\n"), "{shown}");
    }

    #[test]
    fn a_secret_across_the_cut_of_a_long_line_is_not_shown() {
        let key = STANDARD.encode(format!("-----BEGIN RSA PRIVATE KEY-----\n{}", "MIIEow".repeat(400)));
        let redact = Redactor::new(["a secret of words".to_owned()]);
        for secret in ["a secret of words", "abcdef.0123456789abcdef", "\"password\": \"hunter2hunter2hunter2\"", &key] {
            for cut in (1..secret.len()).step_by(secret.len() / 16) {
                let (before, behind) = secret.split_at(cut);
                let first = format!("{}ä, {before}", "x y ".repeat(4 * 1024));
                let second = format!("{behind}, ö{}", " x y".repeat(4 * 1024));
                let mut lines = redact.lines();
                let told = [lines.piece(&first, true), lines.piece(&second, true), lines.piece("end", false)];
                assert_eq!(told.concat(), redact.apply(&(first + &second + "end")), "{cut} of {secret}");
                assert!(told.concat().contains(MASK) && told.concat().ends_with("x yend") && told[0].len() > 8 * 1024);
            }
        }
    }

    #[test]
    fn of_a_secret_that_is_longer_than_what_is_kept_back_nothing_is_shown() {
        let redact = Redactor::default();
        let mut lines = redact.lines();
        let body = "Zm9v".repeat(4 * 1024);
        let told = [format!("token: {body}"), body.clone(), format!("{body} end")].map(|text| lines.piece(&text, true));
        assert!(!told.concat().contains("Zm9v"), "{told:?}");
        assert_eq!(lines.piece("", false), " end");
    }

    #[test]
    fn a_key_that_never_ends_does_not_take_the_stream() {
        let redact = Redactor::default();
        let mut lines = redact.lines();
        let body = STANDARD.encode([7; 48]);
        for (line, want) in [
            ("-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----"),
            (body.as_str(), MASK),
            ("all is well, still", MASK),
            ("all is well, still", "all is well, still"),
        ] {
            assert_eq!(lines.apply(line), want);
        }
    }
}
