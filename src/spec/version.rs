//! Demands on versions.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use semver::{Version, VersionReq};
use serde::{Deserialize, Serialize};

/// A demand on a version: `>=1.36`, `<3.6`, `>=1.34.4, <1.35`. A pre-release counts as its release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand(VersionReq);

impl Demand {
    /// Does this version, with or without a `v`, meet it?
    ///
    /// # Errors
    /// When the text is no version.
    pub fn met_by(&self, version: &str) -> Result<bool, String> {
        let read = Version::parse(version.trim_start_matches('v')).map_err(|e| format!("{version:?} is no version: {e}"))?;
        Ok(self.0.matches(&Version::new(read.major, read.minor, read.patch)))
    }

    /// Can any patch of this minor version meet it?
    pub fn allows(&self, major: u16, minor: u16) -> bool {
        // no minor has had half as many patches
        (0..=200).any(|patch| self.0.matches(&Version::new(major.into(), minor.into(), patch)))
    }
}

impl FromStr for Demand {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let example = "write it as in '>=1.36', '<3.6' or '>=1.34.4, <1.35'";
        if !text.trim_start().starts_with(['<', '>', '=', '~', '^']) {
            return Err(format!("{text:?} is no demand on a version\nhelp: {example}"));
        }
        VersionReq::parse(&text.replace('v', ""))
            .map(Self)
            .map_err(|e| format!("{text:?} is no demand on a version ({e})\nhelp: {example}"))
    }
}

impl fmt::Display for Demand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

super::unit::as_text!(Demand, "^\\s*(<|>|=|~|\\^)=?\\s*v?[0-9]+", "A demand on a version: '>=1.36', '<3.6', '>=1.34.4, <1.35'");

/// Versions with which something is done or expected; all that are said must be met.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct When {
    /// Kubernetes in the node image.
    pub kubernetes: Option<Demand>,
    /// etcd in the node image.
    pub etcd: Option<Demand>,
}

impl When {
    /// Why it is not so with these versions; `None` when it is. A version that is not known meets no demand.
    pub fn unmet(&self, kubernetes: Option<&str>, etcd: Option<&str>) -> Option<String> {
        [("kubernetes", &self.kubernetes, kubernetes), ("etcd", &self.etcd, etcd)].into_iter().find_map(|(what, demand, version)| {
            let demand = demand.as_ref()?;
            match version.map(|v| (v, demand.met_by(v))) {
                None => Some(format!("{what} {demand} is wanted, and its version is not known")),
                Some((_, Ok(true))) => None,
                Some((version, Ok(false))) => Some(format!("{what} {demand} is wanted, this is {version}")),
                Some((_, Err(why))) => Some(format!("{what} {demand} is wanted, and {why}")),
            }
        })
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [("kubernetes", &self.kubernetes), ("etcd", &self.etcd)];
        let words: Vec<String> = parts.into_iter().filter_map(|(what, d)| d.as_ref().map(|d| format!("{what} {d}"))).collect();
        f.write_str(&words.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demands_are_met_as_people_read_them() {
        for (demand, version, met) in [
            (">=1.36", "v1.36.3", true),
            (">=1.36", "v1.35.9", false),
            (">=1.36", "v1.37.0-rc.1", true),
            ("<3.6", "3.5.21", true),
            (">=1.34.4, <1.35", "v1.34.5", true),
            (">=1.34.4, <1.35", "v1.35.0", false),
        ] {
            assert_eq!(demand.parse::<Demand>().expect(demand).met_by(version), Ok(met), "{demand} {version}");
        }
        for text in ["1.36", "", "newest", ">=x"] {
            assert!(text.parse::<Demand>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_not_known_meets_no_demand() {
        let when = When { kubernetes: ">=1.36".parse().ok(), etcd: None };
        assert_eq!(when.unmet(Some("v1.36.3"), None), None);
        assert!(when.unmet(Some("v1.35.0"), None).is_some() && when.unmet(None, None).is_some());
    }
}
