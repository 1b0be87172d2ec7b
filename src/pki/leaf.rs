//! What a certificate is for.

use std::net::IpAddr;
use std::time::Duration;

use jiff::Timestamp;
use rcgen::string::Ia5String;
use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyUsagePurpose, SanType};

use super::authority::PkiError;

/// Clocks of two machines differ; kubeadm dates its own CA back by as much (kubernetes/kubernetes#118922).
const BACKDATED: Duration = Duration::from_mins(5);

/// What a certificate may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// To be known to a server.
    Client,
    /// To be known to clients.
    Server,
    /// Both, as etcd's members are to each other.
    Both,
}

/// A certificate to be signed.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// Common name.
    pub name: String,
    /// Organization: what Kubernetes takes for a group.
    pub organization: Option<String>,
    /// DNS names that it is valid for.
    pub dns: Vec<String>,
    /// Addresses that it is valid for.
    pub addresses: Vec<IpAddr>,
    /// What it may be used for.
    pub usage: Usage,
    /// From when.
    pub from: Timestamp,
    /// Until when.
    pub until: Timestamp,
}

impl Leaf {
    /// Valid from five minutes ago for a day, for no name and no address.
    pub fn new(name: &str, usage: Usage) -> Self {
        let now = Timestamp::now();
        let (from, until) = (now - BACKDATED, now + Duration::from_hours(24));
        Self { name: name.to_owned(), organization: None, dns: Vec::new(), addresses: Vec::new(), usage, from, until }
    }

    pub(super) fn params(&self) -> Result<CertificateParams, PkiError> {
        let mut params = CertificateParams::default();
        let mut subject = DistinguishedName::new();
        subject.push(DnType::CommonName, self.name.as_str());
        if let Some(organization) = &self.organization {
            subject.push(DnType::OrganizationName, organization.as_str());
        }
        params.distinguished_name = subject;
        for name in &self.dns {
            let name = Ia5String::try_from(name.as_str()).map_err(|e| PkiError::Sign { name: self.name.clone(), why: e.to_string() })?;
            params.subject_alt_names.push(SanType::DnsName(name));
        }
        params.subject_alt_names.extend(self.addresses.iter().map(|address| SanType::IpAddress(*address)));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        params.extended_key_usages = match self.usage {
            Usage::Client => vec![ExtendedKeyUsagePurpose::ClientAuth],
            Usage::Server => vec![ExtendedKeyUsagePurpose::ServerAuth],
            Usage::Both => vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth],
        };
        params.use_authority_key_identifier_extension = true;
        params.not_before = super::authority::moment(self.from);
        params.not_after = super::authority::moment(self.until);
        Ok(params)
    }
}
