//! Texts that the program carries deflated: it is copied into each node.

use std::io::{self, Read};

use flate2::read::DeflateDecoder;

/// A file of the repository, as `build.rs` has packed it.
#[derive(Debug, Clone, Copy)]
pub struct Packed(pub(crate) &'static [u8]);

/// The file at a path below the root, which `build.rs` names too.
macro_rules! packed {
    ($file:literal) => {
        $crate::sys::packed::Packed(include_bytes!(concat!(env!("OUT_DIR"), "/", $file, ".z")))
    };
}
pub(crate) use packed;

impl Packed {
    /// The file's text.
    ///
    /// # Errors
    /// When the program itself is broken.
    pub fn text(self) -> io::Result<String> {
        let mut text = String::new();
        DeflateDecoder::new(self.0).read_to_string(&mut text)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_file_is_the_one_in_the_repository() {
        let text = packed!("images/etcd/3.6.16/go.sum").text().expect("whole");
        assert!(text == include_str!("../../images/etcd/3.6.16/go.sum"), "{text}");
    }

    #[test]
    fn half_a_packed_file_is_an_error() {
        let Packed(bytes) = packed!("images/etcd/3.6.16/go.sum");
        assert!(Packed(&bytes[..bytes.len() / 2]).text().is_err());
    }
}
