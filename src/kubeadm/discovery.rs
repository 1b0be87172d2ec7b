//! How a joining node finds the cluster: what kubeadm's document says of it, and the files that belong to it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::config;
use super::wishes::Discover;
use crate::node::path;

/// What joins of one cluster have in common.
#[derive(Clone, Debug)]
pub struct Discovery {
    /// Of the join's document.
    pub document: Value,
    /// Path and contents of what is written into the node.
    pub files: Vec<(&'static str, Vec<u8>)>,
}

/// What is known of the cluster.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// `IP:PORT`.
    pub endpoint: &'a str,
    /// The bootstrap token.
    pub token: &'a str,
    /// The cluster's CA; empty before there is one.
    pub ca: &'a [u8],
    /// The administrator's kubeconfig, where the way needs it; empty before there is one.
    pub admin: &'a str,
}

impl Discover {
    /// Does it need the administrator's kubeconfig?
    pub fn wants_admin(self) -> bool {
        matches!(self, Self::Embedded | Self::External)
    }
}

impl Discovery {
    /// For a way to find the cluster.
    ///
    /// # Errors
    /// When the CA or the kubeconfig cannot be read, in words.
    pub fn of(discover: Discover, known: &Known<'_>) -> Result<Self, String> {
        let by_file = json!({"file": {"kubeConfigPath": path::DISCOVERY}});
        let ca = STANDARD.encode(known.ca);
        let file = |user: &str| vec![(path::DISCOVERY, kubeconfig(&ca, known.endpoint, user).into_bytes())];
        Ok(match discover {
            Discover::Token => {
                let mut by_token = json!({"token": known.token, "apiServerEndpoint": known.endpoint});
                if known.ca.is_empty() {
                    by_token["unsafeSkipCAVerification"] = json!(true);
                } else {
                    by_token["caCertHashes"] = json!([config::ca_hash(known.ca).map_err(|e| format!("{}: {e}", path::CA))?]);
                }
                Self { document: json!({"bootstrapToken": by_token, "tlsBootstrapToken": known.token}), files: Vec::new() }
            }
            Discover::File => {
                let document = json!({"file": {"kubeConfigPath": path::DISCOVERY}, "tlsBootstrapToken": known.token});
                Self { document, files: file("") }
            }
            Discover::FileWithToken => Self { document: by_file, files: file(&format!("    token: {}\n", known.token)) },
            Discover::Embedded => {
                let (cert, key) = credentials(known.admin)?;
                let user = format!("    client-certificate-data: {cert}\n    client-key-data: {key}\n");
                Self { document: by_file, files: file(&user) }
            }
            Discover::External => {
                let (cert, key) = credentials(known.admin)?;
                let [cert_at, key_at] = path::DISCOVERY_CLIENT;
                let mut files = file(&format!("    client-certificate: {cert_at}\n    client-key: {key_at}\n"));
                for (at, text) in [(cert_at, cert), (key_at, key)] {
                    files.push((at, STANDARD.decode(text).map_err(|e| format!("{}: {e}", path::ADMIN_CONF))?));
                }
                Self { document: by_file, files }
            }
        })
    }
}

/// A kubeconfig with the CA and the server, and a user where there is one.
fn kubeconfig(ca: &str, endpoint: &str, user: &str) -> String {
    let cluster = format!("certificate-authority-data: {ca}\n    server: https://{endpoint}");
    if user.is_empty() {
        return format!("apiVersion: v1\nkind: Config\nclusters:\n- name: \"\"\n  cluster:\n    {cluster}\n");
    }
    format!(
        "apiVersion: v1\nkind: Config\nclusters:\n- name: x\n  cluster:\n    {cluster}\ncontexts:\n- name: x\n  context:\n    cluster: x\n    user: x\ncurrent-context: x\nusers:\n- name: x\n  user:\n{user}"
    )
}

/// Certificate and key of the first user of a kubeconfig, in base64.
fn credentials(kubeconfig: &str) -> Result<(String, String), String> {
    if kubeconfig.is_empty() {
        return Ok((String::new(), String::new()));
    }
    let value: Value = serde_saphyr::from_str(kubeconfig).map_err(|e| format!("{}: {e}", path::ADMIN_CONF))?;
    let text = |name: &str| value["users"][0]["user"][name].as_str().map(str::to_owned);
    text("client-certificate-data").zip(text("client-key-data")).ok_or_else(|| format!("{} names no certificate", path::ADMIN_CONF))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADMIN: &str = "users:\n- name: a\n  user:\n    client-certificate-data: Q0VSVA==\n    client-key-data: S0VZ\n";

    #[test]
    fn each_way_has_the_credentials_that_it_is_called_after() {
        let known = Known { endpoint: "10.0.0.2:6443", token: "abcdef.0123", ca: b"CA", admin: ADMIN };
        for (discover, document, files, holds) in [
            (Discover::File, "tlsBootstrapToken", 1, "server: https://10.0.0.2:6443"),
            (Discover::FileWithToken, "kubeConfigPath", 1, "token: abcdef.0123"),
            (Discover::Embedded, "kubeConfigPath", 1, "client-key-data: S0VZ"),
            (Discover::External, "kubeConfigPath", 3, "client-key: /kinder/discovery-client-key.pem"),
        ] {
            let made = Discovery::of(discover, &known).expect("made");
            assert!(made.document.to_string().contains(document), "{discover:?}: {}", made.document);
            assert_eq!(made.files.len(), files, "{discover:?}");
            let text = made.files.first().map_or_else(String::new, |(_, bytes)| String::from_utf8_lossy(bytes).into_owned());
            assert!(text.contains(holds), "{discover:?}: {text}");
            assert_eq!(text.contains("abcdef"), discover == Discover::FileWithToken, "{discover:?}");
            serde_saphyr::from_str::<Value>(&text).expect("YAML");
        }
        let made = Discovery::of(Discover::External, &known).expect("made");
        assert_eq!(made.files[1], ("/kinder/discovery-client-cert.pem", b"CERT".to_vec()));
        let early = Discovery::of(Discover::Token, &Known { ca: b"", ..known }).expect("made");
        assert_eq!(early.document["bootstrapToken"]["unsafeSkipCAVerification"], true);
        // the pin needs a certificate
        assert!(Discovery::of(Discover::Token, &known).is_err_and(|why| why.starts_with("/etc/kubernetes/pki/ca.crt")));
        assert!(Discovery::of(Discover::Embedded, &Known { admin: "users: []", ..known }).is_err());
    }
}
