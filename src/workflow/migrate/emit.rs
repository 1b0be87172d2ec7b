//! Values as YAML 1.2, where a file's own text cannot stay.

use super::super::file::{Plain, plain};

/// A text as a scalar that every reader takes for that text.
pub(super) fn quoted(text: &str) -> String {
    let simple = |c: char| c.is_ascii_alphanumeric() || "./_-+@:=, ".contains(c);
    let bare = text.starts_with(|c: char| c.is_ascii_alphanumeric() || "./_".contains(c))
        && !text.ends_with([' ', ':'])
        && text.chars().all(simple)
        && !text.contains(": ")
        && !text.contains(", ")
        && plain(text) == Plain::Text
        && text.parse::<f64>().is_err();
    if bare {
        return text.to_owned();
    }
    if text.chars().any(char::is_control) {
        // JSON's texts are YAML's
        return serde_json::Value::from(text).to_string();
    }
    format!("'{}'", text.replace('\'', "''"))
}

/// The same where the text may be a number: `3` stays one.
pub(super) fn number_or_text(text: &str) -> String {
    if !text.is_empty() && text.len() < 10 && text.bytes().all(|b| b.is_ascii_digit()) { text.to_owned() } else { quoted(text) }
}

/// A text that is no template, for a field that is one.
pub(super) fn quote_braces(text: &str) -> String {
    text.replace("{{", "{{ `{{` }}")
}

/// A list of texts on one line.
pub(super) fn list(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| flow(item)).collect();
    format!("[{}]", items.join(", "))
}

/// A text within brackets.
pub(super) fn flow(text: &str) -> String {
    let scalar = quoted(text);
    if scalar == text && text.contains([',', ':']) { format!("'{text}'") } else { scalar }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_read_as_something_else_is_quoted() {
        for (text, want) in [
            ("docker", "docker"),
            ("/bin/bash", "/bin/bash"),
            ("kindest/node:test", "kindest/node:test"),
            ("yes", "'yes'"),
            ("1.3", "'1.3'"),
            ("", "''"),
            ("@cp*", "'@cp*'"),
            ("a: b", "'a: b'"),
            ("it's", "'it''s'"),
            ("two\nlines", "\"two\\nlines\""),
            ("{{ .vars.x }}", "'{{ .vars.x }}'"),
            ("# no comment", "'# no comment'"),
            ("null", "'null'"),
        ] {
            assert_eq!(quoted(text), want);
        }
        assert_eq!((number_or_text("3"), number_or_text("{{ .n }}")), ("3".into(), "'{{ .n }}'".into()));
        assert_eq!(list(&["a".into(), "b,c".into()]), "[a, 'b,c']");
    }
}
