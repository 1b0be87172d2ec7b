//! Random words from the kernel, for ids and secrets.

use std::fs::File;
use std::io::{self, Read};

const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// `n` random bytes.
///
/// # Errors
/// When `/dev/urandom` cannot be read.
pub fn bytes(n: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; n];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// A word of `n` lower-case letters and digits, five random bits each, without those that look alike.
///
/// # Errors
/// As [`bytes`].
pub fn word(n: usize) -> io::Result<String> {
    Ok(bytes(n)?.into_iter().map(|b| char::from(ALPHABET[usize::from(b) % ALPHABET.len()])).collect())
}

/// `n` random bytes in hexadecimal.
///
/// # Errors
/// As [`bytes`].
pub fn hex(n: usize) -> io::Result<String> {
    use std::fmt::Write;
    Ok(bytes(n)?.into_iter().fold(String::new(), |mut text, b| {
        let _ = write!(text, "{b:02x}");
        text
    }))
}

/// A seed that a person can type: 32 random bits.
///
/// # Errors
/// As [`bytes`].
pub fn seed() -> io::Result<u64> {
    Ok(bytes(4)?.into_iter().fold(0, |seed, byte| seed << 8 | u64::from(byte)))
}
