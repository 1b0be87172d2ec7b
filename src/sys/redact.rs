//! Keeps secrets out of everything that is written down.

/// What stands in a secret's place.
pub const MASK: &str = "[redacted]";

/// Known secrets, replaced wherever they appear.
#[derive(Clone, Default)]
pub struct Redactor(Vec<String>);

impl Redactor {
    /// Empty secrets are ignored.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        Self(secrets.into_iter().filter(|s| !s.is_empty()).collect())
    }

    /// `text` without the secrets.
    pub fn apply(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, MASK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_every_occurrence() {
        let redact = Redactor::new(["abcdef.0123".into(), String::new()]);
        assert_eq!(redact.apply("--token abcdef.0123 again abcdef.0123"), "--token [redacted] again [redacted]");
    }
}
