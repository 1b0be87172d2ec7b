//! Versions as Go modules and image names spell them.

use std::fmt;

use super::error::ImageError;

/// `MAJOR.MINOR.PATCH`, perhaps with `-PRERELEASE` and `+BUILD`, kept without a leading `v`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(String);

impl Version {
    /// Reads a version, with or without the leading `v`.
    ///
    /// # Errors
    /// [`ImageError::Version`], naming `what` it is of and a right one.
    pub fn parse(what: &'static str, given: &str, like: &'static str) -> Result<Self, ImageError> {
        let plain = given.strip_prefix('v').unwrap_or(given);
        let core = plain.split(['-', '+']).next().unwrap_or(plain);
        let numbers: Vec<&str> = core.split('.').collect();
        let digits = |n: &&str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()) && (n.len() == 1 || !n.starts_with('0'));
        let why = if numbers.len() != 3 {
            "it needs three numbers"
        } else if !numbers.iter().all(digits) {
            "its parts are not all numbers"
        } else if !plain.bytes().all(|b| b.is_ascii_alphanumeric() || b".-+".contains(&b)) {
            "it has characters that no version has"
        } else {
            return Ok(Self(plain.to_owned()));
        };
        Err(ImageError::Version { what, given: given.to_owned(), why, like })
    }

    /// With the leading `v`, as Kubernetes and Go modules write it.
    pub fn tagged(&self) -> String {
        format!("v{}", self.0)
    }

    /// As part of an image tag, where `+` is not allowed; kubeadm replaces it in the same way.
    pub fn in_image_tag(&self) -> String {
        self.0.replace('+', "_")
    }

    /// The number at a place, from 0: major, minor.
    pub(crate) fn number(&self, place: usize) -> &str {
        self.0.split(['.', '-', '+']).nth(place).unwrap_or_default()
    }

    /// The version that Kubernetes' staging modules have beside this one: `1.36.3` → `v0.36.3`.
    pub(crate) fn staging(&self) -> String {
        format!("v0.{}", self.0.split_once('.').map_or("", |(_, rest)| rest))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_releases_and_development_builds() {
        for (given, tagged, tag) in [
            ("v1.36.3", "v1.36.3", "1.36.3"),
            ("3.6.16", "v3.6.16", "3.6.16"),
            ("v1.38.0-beta.0", "v1.38.0-beta.0", "1.38.0-beta.0"),
            ("v1.38.0-alpha.1.12+ab34", "v1.38.0-alpha.1.12+ab34", "1.38.0-alpha.1.12_ab34"),
        ] {
            let version = Version::parse("Kubernetes version", given, "v1.36.3").expect(given);
            assert_eq!((version.tagged().as_str(), version.in_image_tag().as_str()), (tagged, tag));
        }
        assert_eq!(Version::parse("Kubernetes version", "v1.38.0-beta.0", "x").expect("one").staging(), "v0.38.0-beta.0");
    }

    #[test]
    fn refuses_what_is_none_and_shows_one() {
        for given in ["", "v1.36", "latest", "1.36.x", "1.36.03", "1.36.3; rm -rf", "v1.36.3/../.."] {
            let error = Version::parse("Kubernetes version", given, "v1.36.3").expect_err(given).to_string();
            assert!(error.contains("v1.36.3") && error.contains(given), "{error}");
        }
    }
}
