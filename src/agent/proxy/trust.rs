//! What makes kubeadm take us for etcd, and etcd for kubeadm: certificates of the cluster's own etcd CA.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use crate::pki::{Authority, Issued, Leaf, Usage};

/// HTTP/2, without which a client of gRPC gives up.
const PROTOCOL: &[u8] = b"h2";

/// Certificates as they are needed. kubeadm fetches the CA while it joins, so it is read when the first connection comes.
pub(super) struct Trust {
    folder: PathBuf,
    made: Mutex<Option<Made>>,
}

struct Made {
    cert: String,
    authority: Authority,
    client: Arc<ClientConfig>,
    servers: Vec<(Ipv4Addr, Arc<ServerConfig>)>,
}

impl Trust {
    /// With `ca.crt` and `ca.key` of this folder.
    pub(super) fn of(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), made: Mutex::new(None) }
    }

    /// To be taken for the member at this address, and to be taken for a client by it.
    ///
    /// # Errors
    /// Why no certificate can be made.
    pub(super) fn at(&self, address: Ipv4Addr) -> Result<(Arc<ServerConfig>, Arc<ClientConfig>), String> {
        let read = |name: &str| {
            let path = self.folder.join(name);
            std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))
        };
        let cert = String::from_utf8_lossy(&read("ca.crt")?).into_owned();
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        // another cluster's, after a reset
        if made.as_ref().is_none_or(|made| made.cert != cert) {
            let authority = Authority::read(&cert, &read("ca.key")?).map_err(|e| e.to_string())?;
            *made = Some(Made { client: client(&cert, &authority)?, cert, authority, servers: Vec::new() });
        }
        let Some(made) = made.as_mut() else { return Err("no CA".into()) };
        let client = made.client.clone();
        if let Some((_, server)) = made.servers.iter().find(|(of, _)| *of == address) {
            return Ok((server.clone(), client));
        }
        let server = server(&made.authority, address)?;
        made.servers.push((address, server.clone()));
        Ok((server, client))
    }
}

/// Go names no server when it dials an address: there is one certificate for each.
fn server(authority: &Authority, address: Ipv4Addr) -> Result<Arc<ServerConfig>, String> {
    let leaf = Leaf { addresses: vec![address.into()], ..Leaf::new("joinder-proxy", Usage::Server) };
    let (chain, key) = pair(&authority.issue(&leaf).map_err(|e| e.to_string())?)?;
    // whom it lets in is for etcd to say
    let mut config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).map_err(|e| e.to_string())?;
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(Arc::new(config))
}

fn client(ca: &str, authority: &Authority) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    for cert in CertificateDer::pem_slice_iter(ca.as_bytes()) {
        roots.add(cert.map_err(|e| e.to_string())?).map_err(|e| e.to_string())?;
    }
    let issued = authority.issue(&Leaf::new("joinder-proxy", Usage::Client)).map_err(|e| e.to_string())?;
    let (chain, key) = pair(&issued)?;
    let config = ClientConfig::builder().with_root_certificates(roots).with_client_auth_cert(chain, key);
    let mut config = config.map_err(|e| e.to_string())?;
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(Arc::new(config))
}

fn pair(issued: &Issued) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), String> {
    let cert = CertificateDer::from_pem_slice(issued.cert.as_bytes()).map_err(|e| e.to_string())?;
    let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).map_err(|e| e.to_string())?;
    Ok((vec![cert], key))
}
