//! Flags for ginkgo and for a suite: read from one text, completed, put together again.

use anyhow::bail;

/// `--NAME=VALUE`, in the order in which names came first; of two with one name the last counts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Flags(Vec<(String, String)>);

impl Flags {
    /// From `--a=b --c=d`.
    pub(super) fn read(text: &str) -> anyhow::Result<Self> {
        let mut flags = Self::default();
        for word in text.split_ascii_whitespace() {
            match word.strip_prefix("--").and_then(|word| word.split_once('=')) {
                Some((name, value)) if !name.is_empty() => flags.set(name, value),
                Some(_) | None => bail!("{word:?}: write each as --NAME=VALUE, without spaces in it"),
            }
        }
        Ok(flags)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    pub(super) fn set(&mut self, name: &str, value: &str) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => value.clone_into(known),
            None => self.0.push((name.to_owned(), value.to_owned())),
        }
    }

    pub(super) fn set_default(&mut self, name: &str, value: &str) {
        if !self.has(name) {
            self.set(name, value);
        }
    }

    /// A pattern beside the one that is there.
    pub(super) fn or(&mut self, name: &str, pattern: &str) {
        let both = self.0.iter().find(|(known, _)| known == name).map(|(_, known)| format!("{known}|{pattern}"));
        self.set(name, both.as_deref().unwrap_or(pattern));
    }

    pub(super) fn words(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(name, value)| format!("--{name}={value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(flags: &Flags) -> String {
        flags.words().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn flags_keep_their_order_and_the_last_of_a_name_counts() {
        let mut flags = Flags::read(" --b=1  --a=x=y --b=2 --c= ").expect("fine");
        flags.set_default("a", "no");
        flags.or("skip", "one");
        flags.or("skip", "two");
        assert_eq!(words(&flags), "--b=2 --a=x=y --c= --skip=one|two");
        assert_eq!(Flags::read("").expect("fine"), Flags::default());
    }

    #[test]
    fn what_is_no_flag_with_a_value_is_named() {
        for text in ["--v", "-v=1", "x", "--=1", "--a=1 b"] {
            let why = Flags::read(text).expect_err(text).to_string();
            assert!(why.contains("--NAME=VALUE"), "{why}");
        }
    }
}
