//! A certificate authority: somebody else's, read from its files, or one of our own.

use std::time::Duration;

use jiff::Timestamp;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use thiserror::Error;

use super::key;
use super::leaf::Leaf;

/// What went wrong with keys and certificates.
#[derive(Debug, Error)]
pub enum PkiError {
    /// A private key cannot be used.
    #[error("the private key cannot be used: {why}; RSA (PKCS#1 or PKCS#8) and ECDSA (SEC1 or PKCS#8, P-256 or P-384) can")]
    Key {
        /// Why.
        why: String,
    },
    /// A CA's certificate cannot be used.
    #[error("the CA's certificate cannot be used: {why}")]
    Authority {
        /// Why.
        why: String,
    },
    /// A certificate cannot be signed.
    #[error("cannot sign a certificate for {name:?}: {why}")]
    Sign {
        /// Its common name.
        name: String,
        /// Why.
        why: String,
    },
}

/// A CA that can sign.
pub struct Authority {
    cert: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key.
#[derive(Clone, Debug)]
pub struct Issued {
    /// The certificate, PEM.
    pub cert: String,
    /// Its private key, PKCS#8 PEM.
    pub key: String,
}

impl Authority {
    /// Takes a CA's certificate and key, PEM, as kubeadm writes them: `etcd/ca.crt` and `etcd/ca.key`.
    ///
    /// # Errors
    /// When either cannot be read.
    pub fn read(cert: &str, key: &[u8]) -> Result<Self, PkiError> {
        let issuer = Issuer::from_ca_cert_pem(cert, key::read(key)?).map_err(|e| PkiError::Authority { why: e.to_string() })?;
        Ok(Self { cert: cert.to_owned(), issuer })
    }

    /// Makes a CA of our own, valid for a year, and gives its key.
    ///
    /// # Errors
    /// When no key can be made.
    pub fn make(name: &str) -> Result<(Self, Issued), PkiError> {
        let no = |e: rcgen::Error| PkiError::Sign { name: name.to_owned(), why: e.to_string() };
        let key = KeyPair::generate().map_err(no)?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        let now = Timestamp::now();
        params.not_before = moment(now - Duration::from_mins(5));
        params.not_after = moment(now + Duration::from_hours(24 * 365));
        let cert = params.self_signed(&key).map_err(no)?.pem();
        let issued = Issued { cert: cert.clone(), key: key.serialize_pem() };
        Ok((Self { cert, issuer: Issuer::new(params, key) }, issued))
    }

    /// Its certificate, PEM.
    pub fn cert(&self) -> &str {
        &self.cert
    }

    /// Signs a certificate with a new P-256 key.
    ///
    /// # Errors
    /// When a name is none that a certificate can hold.
    pub fn issue(&self, leaf: &Leaf) -> Result<Issued, PkiError> {
        let no = |e: rcgen::Error| PkiError::Sign { name: leaf.name.clone(), why: e.to_string() };
        let key = KeyPair::generate().map_err(no)?;
        let cert = leaf.params()?.signed_by(&key, &self.issuer).map_err(no)?;
        Ok(Issued { cert: cert.pem(), key: key.serialize_pem() })
    }
}

/// As the certificate library counts time.
pub(super) fn moment(at: Timestamp) -> time::OffsetDateTime {
    time::OffsetDateTime::UNIX_EPOCH + time::Duration::seconds(at.as_second())
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    use x509_parser::prelude::{FromDer, X509Certificate};

    use super::*;
    use crate::pki::Usage;

    fn file(name: &str) -> String {
        std::fs::read_to_string(format!("{}/tests/data/pki/{name}", env!("CARGO_MANIFEST_DIR"))).expect("a file of the tests")
    }

    /// Asserts that `cert` was signed with the key of `ca`, as anybody's verifier would.
    fn signed_by(cert: &str, ca: &str) {
        let der = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).expect("PEM").to_vec();
        let (cert, ca) = (der(cert), der(ca));
        let (_, cert) = X509Certificate::from_der(&cert).expect("DER");
        let (_, ca) = X509Certificate::from_der(&ca).expect("DER");
        assert_eq!(cert.issuer(), ca.subject());
        cert.verify_signature(Some(ca.public_key())).expect("signed by it");
    }

    #[test]
    fn keys_as_kubeadm_and_openssl_write_them_sign() {
        for (kind, heading) in [("rsa", "BEGIN RSA PRIVATE KEY"), ("p256", "BEGIN EC PRIVATE KEY"), ("p384", "BEGIN EC PRIVATE KEY")] {
            let (cert, key) = (file(&format!("{kind}.crt")), file(&format!("{kind}.key")));
            assert!(key.contains(heading), "{kind}");
            let authority = Authority::read(&cert, key.as_bytes()).expect(kind);
            signed_by(&authority.issue(&Leaf::new("joinder", Usage::Client)).expect(kind).cert, &cert);
        }
    }

    #[test]
    fn our_own_authority_signs_for_names_addresses_and_times() {
        let (authority, own) = Authority::make("joinder-etcd").expect("made");
        let read_again = Authority::read(&own.cert, own.key.as_bytes()).expect("its own PEM");
        let leaf = Leaf {
            addresses: vec!["10.0.0.2".parse().expect("an address")],
            dns: vec!["localhost".into()],
            from: "2030-01-01T00:00:00Z".parse().expect("a time"),
            until: "2031-01-01T00:00:00Z".parse().expect("a time"),
            ..Leaf::new("member", Usage::Both)
        };
        for authority in [authority, read_again] {
            let issued = authority.issue(&leaf).expect("signed");
            signed_by(&issued.cert, &own.cert);
            let der = CertificateDer::from_pem_slice(issued.cert.as_bytes()).expect("PEM").to_vec();
            let (_, cert) = X509Certificate::from_der(&der).expect("DER");
            assert_eq!(cert.validity().not_before.timestamp(), leaf.from.as_second());
            assert_eq!(cert.validity().not_after.timestamp(), leaf.until.as_second());
            let names = cert.subject_alternative_name().expect("one").expect("there").value.general_names.len();
            assert_eq!(names, 2);
        }
    }

    #[test]
    fn what_is_no_key_says_what_would_be() {
        let said = Authority::read(&file("rsa.crt"), b"-----BEGIN DSA PRIVATE KEY-----\n").err().map(|e| e.to_string());
        assert!(said.as_ref().is_some_and(|said| said.contains("RSA (PKCS#1 or PKCS#8)")), "{said:?}");
        assert!(matches!(Authority::read("no certificate", file("rsa.key").as_bytes()), Err(PkiError::Authority { .. })));
    }
}
