//! The one place that reads environment variables.
#![expect(clippy::disallowed_methods, reason = "this file is the owner of the environment")]

use std::path::PathBuf;

/// A variable's value; `None` when unset, empty or not UTF-8.
pub fn var(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|v| !v.is_empty())
}

/// All variables that are UTF-8.
pub fn all() -> std::collections::BTreeMap<String, String> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))).collect()
}

/// `$XDG_CACHE_HOME/joinder`, else `~/.cache/joinder`, else below the temporary folder.
pub fn cache_dir() -> PathBuf {
    let base = var("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|p| p.is_absolute())
        .or_else(|| var("HOME").map(|h| PathBuf::from(h).join(".cache")))
        .unwrap_or_else(std::env::temp_dir);
    base.join("joinder")
}

/// Is this a CI job (`CI` set to anything but `false` or `0`)?
pub fn in_ci() -> bool {
    var("CI").is_some_and(|v| v != "false" && v != "0")
}
