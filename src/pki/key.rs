//! Private keys as others write them: kubeadm's are PKCS#1 (RSA) or SEC1 (ECDSA), and what signs here wants PKCS#8.

use rcgen::KeyPair;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use super::authority::PkiError;

/// `rsaEncryption` with its NULL, as an `AlgorithmIdentifier` (RFC 8017, A.1).
const RSA: &[u8] = &[0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];
/// `id-ecPublicKey` on the curve P-256 (RFC 5480, 2.1.1): the one that kubeadm's `ECDSA-P256` means.
const P256: &[u8] =
    &[0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
/// P-384: `ECDSA-P384`, since kubeadm 1.36.
const P384: &[u8] = &[0x30, 0x10, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22];

/// Reads a PEM key of any of the three forms.
pub(super) fn read(pem: &[u8]) -> Result<KeyPair, PkiError> {
    let no = |why: String| PkiError::Key { why };
    let key = PrivateKeyDer::from_pem_slice(pem).map_err(|e| no(e.to_string()))?;
    let candidates = match &key {
        PrivateKeyDer::Pkcs8(key) => vec![key.secret_pkcs8_der().to_vec()],
        PrivateKeyDer::Pkcs1(key) => vec![wrapped(RSA, key.secret_pkcs1_der())],
        PrivateKeyDer::Sec1(key) => [P256, P384].map(|curve| wrapped(curve, key.secret_sec1_der())).into(),
        _ => return Err(no("a key of an unknown form".into())),
    };
    let mut why = String::new();
    for candidate in candidates {
        match KeyPair::try_from(&PrivatePkcs8KeyDer::from(candidate)) {
            Ok(pair) => return Ok(pair),
            Err(e) => why = e.to_string(),
        }
    }
    Err(no(why))
}

/// `PrivateKeyInfo` (RFC 5208, 5): version 0, the algorithm, the key as octets.
fn wrapped(algorithm: &[u8], key: &[u8]) -> Vec<u8> {
    let mut inner = vec![0x02, 0x01, 0x00];
    inner.extend(algorithm);
    inner.extend(tagged(0x04, key));
    tagged(0x30, &inner)
}

/// Tag, length and content in DER.
fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let length = &length[length.iter().position(|byte| *byte != 0).unwrap_or(length.len() - 1)..];
    let mut out = vec![tag];
    match length {
        [short] if *short < 0x80 => out.push(*short),
        long => {
            out.push(0x80 | u8::try_from(long.len()).unwrap_or(u8::MAX));
            out.extend(long);
        }
    }
    out.extend(content);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_der() {
        assert_eq!(tagged(4, &[])[..2], [4, 0]);
        assert_eq!(tagged(4, &[0; 127])[..2], [4, 127]);
        assert_eq!(tagged(4, &[0; 128])[..3], [4, 0x81, 128]);
        assert_eq!(tagged(4, &[0; 256])[..4], [4, 0x82, 1, 0]);
    }
}
