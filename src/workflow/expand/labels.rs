//! `resolve` of templates: a release label, as `ci/latest-1.36`, to the version that it stands for.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

type Look = dyn Fn(&str) -> Result<String, String> + Send + Sync;

/// Looks labels up, each once: a label that moves must not be two versions in one run. Clones share what they know.
#[derive(Clone)]
pub struct Labels {
    look: Arc<Look>,
    known: Arc<Mutex<BTreeMap<String, Result<String, String>>>>,
}

impl Labels {
    /// Asks `look` for each label, which says `v1.36.3`, or why there is none.
    pub fn new(look: impl Fn(&str) -> Result<String, String> + Send + Sync + 'static) -> Self {
        Self { look: Arc::new(look), known: Arc::default() }
    }

    /// A label's version.
    pub(super) fn resolve(&self, label: &str) -> Result<String, String> {
        // Held while it is asked, so that nobody asks a second time.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(label.to_owned()).or_insert_with(|| (self.look)(label)).clone()
    }
}

impl Default for Labels {
    /// Nobody to ask.
    fn default() -> Self {
        Self::new(|label| Err(format!("nobody was asked what {label} is")))
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Labels")
    }
}
