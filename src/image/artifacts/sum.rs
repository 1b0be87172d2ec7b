//! Checksums as they lie beside released files: `FILE.sha256`, `FILE.sha512`.

use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::digest::DynDigest;
use sha2::{Sha256, Sha512};

/// How the bytes of a file are summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Sha256,
    Sha512,
}

/// In the order in which they are looked for.
pub(super) const KINDS: [Kind; 2] = [Kind::Sha256, Kind::Sha512];

impl Kind {
    /// What stands behind the file's name.
    pub(super) fn ending(self) -> &'static str {
        match self {
            Self::Sha256 => ".sha256",
            Self::Sha512 => ".sha512",
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Sha256 => "SHA-256",
            Self::Sha512 => "SHA-512",
        }
    }

    pub(super) fn hash(self) -> Box<dyn DynDigest + Send> {
        match self {
            Self::Sha256 => Box::new(Sha256::default()),
            Self::Sha512 => Box::new(Sha512::default()),
        }
    }

    /// Of a whole file.
    pub(super) fn of(self, path: &Path) -> io::Result<String> {
        let (mut file, mut hash, mut piece) = (File::open(path)?, self.hash(), vec![0; 1 << 20]);
        loop {
            match file.read(&mut piece)? {
                0 => return Ok(hex(hash)),
                n => hash.update(&piece[..n]),
            }
        }
    }
}

/// What a file must come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) kind: Kind,
    digest: String,
    /// Where it says so.
    from: String,
}

impl Sum {
    /// Reads what `from` holds: the digest, perhaps with the file's name behind it.
    pub(super) fn read(kind: Kind, from: &str, text: &str) -> Result<Self, String> {
        let digest = text.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
        let length = kind.hash().output_size() * 2;
        if digest.len() == length && digest.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Ok(Self { kind, digest, from: from.to_owned() });
        }
        let begin: String = text.trim().chars().take(40).collect();
        Err(format!("{from} holds no {}: {begin:?}", kind.words()))
    }

    /// Is it the right one?
    pub(super) fn check(&self, what: &str, digest: &str) -> Result<(), String> {
        if self.digest == digest {
            return Ok(());
        }
        let kind = self.kind.words();
        Err(format!("the {kind} of {what} is {digest}, and {} says {}", self.from, self.digest))
    }
}

pub(super) fn hex(hash: Box<dyn DynDigest + Send>) -> String {
    hash.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of `abc`, from FIPS 180-4's examples.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn a_file_is_what_its_sum_says_or_the_difference_is_told() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("kubeadm");
        std::fs::write(&path, "abc").expect("written");
        let sum = Sum::read(Kind::Sha256, "kubeadm.sha256", &format!("{}  kubeadm\n", ABC.to_uppercase())).expect("a sum");
        sum.check("kubeadm", &Kind::Sha256.of(&path).expect("read")).expect("the same");
        std::fs::write(&path, "abd").expect("written");
        let told = sum.check("kubeadm", &Kind::Sha256.of(&path).expect("read")).expect_err("another");
        assert!(told.contains("the SHA-256 of kubeadm is a52d") && told.contains(&format!("kubeadm.sha256 says {ABC}")), "{told}");
        assert_eq!(Kind::Sha512.of(&path).expect("read").len(), 128);
    }

    #[test]
    fn what_is_no_sum_is_told() {
        for text in ["", "<html>not found</html>", &ABC[1..], &ABC.replace('b', "x")] {
            assert!(Sum::read(Kind::Sha256, "x", text).is_err_and(|why| why.contains("holds no SHA-256")), "{text}");
        }
        assert!(Sum::read(Kind::Sha512, "x", ABC).is_err());
    }
}
