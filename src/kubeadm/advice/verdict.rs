//! What the rules come to.

use serde::Serialize;

/// An answer, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// It may start.
    Yes,
    /// It could not be seen.
    CannotTell,
    /// It would fail, or wait.
    No,
}

impl Answer {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// What one rule says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule's name: `learner-limit`.
    pub rule: &'static str,
    /// May the join start, by this rule alone?
    pub answer: Answer,
    /// What was seen.
    pub saw: String,
    /// What to do; nothing where nothing is wrong.
    pub remedy: Option<String>,
    /// Where the rule comes from: version, function, pull request.
    pub source: String,
}

/// May the next control plane join now?
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// The worst answer of all rules.
    pub answer: Answer,
    /// What each rule says.
    pub rules: Vec<Finding>,
}

impl Advice {
    /// The worst of these.
    pub(super) fn of(rules: Vec<Finding>) -> Self {
        Self { answer: rules.iter().map(|finding| finding.answer).max().unwrap_or(Answer::CannotTell), rules }
    }

    /// The rules that keep it from being yes.
    pub fn reasons(&self) -> impl Iterator<Item = &Finding> {
        self.rules.iter().filter(|finding| finding.answer != Answer::Yes && finding.answer == self.answer)
    }

    /// In one line: the answer, and what keeps it from being yes.
    pub fn line(&self) -> String {
        let why: Vec<String> = self.reasons().map(|finding| format!("{}: {}", finding.rule, finding.saw)).collect();
        if why.is_empty() { self.answer.words().to_owned() } else { format!("{} ({})", self.answer.words(), why.join("; ")) }
    }
}
