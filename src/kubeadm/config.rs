//! kubeadm's configuration documents.

use std::net::Ipv4Addr;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::policy::Policy;
use super::wishes::Wishes;
use crate::cluster::Settings;
use crate::node::path;

/// Preflight errors that a container cannot avoid, named one by one.
const IGNORED_PREFLIGHT: &[&str] = &[
    // wants to load the kernel's configuration from the host's module tree
    "SystemVerification",
    // br_netfilter is a module; our pods' traffic is routed, not bridged between nodes
    "FileContent--proc-sys-net-bridge-bridge-nf-call-iptables",
    // a container sees the host's swap
    "Swap",
];

/// What all nodes of a cluster share.
#[derive(Clone, Debug)]
pub struct Shared {
    /// `v1.36.3`.
    pub kubernetes: String,
    /// Tag of etcd's image, `3.6.16-0`; kubeadm's own choice when not said.
    pub etcd_tag: Option<String>,
    /// What the file says of kubeadm itself.
    pub settings: Settings,
    /// The cluster's name.
    pub name: String,
    /// `IP:PORT` of the load balancer or the first control plane.
    pub endpoint: String,
    /// Bootstrap token.
    pub token: String,
    /// Key that the uploaded certificates are encrypted with.
    pub certificate_key: String,
    /// Names and addresses that the API servers' certificates hold beside their own.
    pub sans: Vec<String>,
    /// URL of an etcd outside of the control planes.
    pub external_etcd: Option<String>,
    /// What is wanted otherwise.
    pub wishes: Wishes,
}

/// The documents for `kubeadm init` on a node.
///
/// # Errors
/// A limit that this kubeadm does not know.
pub fn init(shared: &Shared, policy: &Policy, node: &str, address: Ipv4Addr) -> Result<String, String> {
    let api = policy.config_api();
    let mut cluster = json!({
        "apiVersion": api,
        "kind": "ClusterConfiguration",
        "clusterName": shared.name,
        "kubernetesVersion": shared.kubernetes,
        "controlPlaneEndpoint": shared.endpoint,
        "networking": {"podSubnet": "10.244.0.0/16"},
        "apiServer": {"certSANs": shared.sans},
        // each node's pods have a range of their own that joinder routes; ranges given out by the controller would differ
        "controllerManager": {"extraArgs": args(policy, &[("allocate-node-cidrs", "false")])},
    });
    if let Some(tag) = &shared.etcd_tag {
        cluster["etcd"]["local"]["imageTag"] = json!(tag);
    }
    if !shared.settings.etcd_args.is_empty() {
        let all: Vec<(&str, &str)> = shared.settings.etcd_args.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        cluster["etcd"]["local"]["extraArgs"] = args(policy, &all);
    }
    if let Some(url) = &shared.external_etcd {
        cluster["etcd"] = json!({"external": {"endpoints": [url]}});
    }
    let mut init = json!({
        "apiVersion": api,
        "kind": "InitConfiguration",
        "bootstrapTokens": [{"token": shared.token}],
        "certificateKey": shared.certificate_key,
        "localAPIEndpoint": {"advertiseAddress": address, "bindPort": path::API_PORT},
        "nodeRegistration": registration(policy, node, address),
    });
    limits(&mut init, shared, policy)?;
    let mut kubelet = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cgroupDriver": "systemd",
        "failSwapOn": false,
        "resolvConf": path::RESOLV,
        // the host's disk and memory are everybody's: a full disk elsewhere must not evict our pods
        "evictionHard": {"memory.available": "0%", "nodefs.available": "0%", "imagefs.available": "0%"},
        "imageGCHighThresholdPercent": 100,
    });
    if policy.knows_fail_cgroup_v1() {
        kubelet["failCgroupV1"] = json!(false);
    }
    let proxy = json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        // nf_conntrack_max is the host's and cannot be set from a container
        "conntrack": {"maxPerCore": 0},
    });
    let mut all = [cluster, init, kubelet, proxy];
    shared.wishes.change(&mut all);
    documents(&all)
}

/// The document for `kubeadm join` on a node.
///
/// # Errors
/// A limit that this kubeadm does not know.
pub fn join(
    shared: &Shared,
    policy: &Policy,
    node: &str,
    address: Ipv4Addr,
    control_plane: bool,
    discovery: &Value,
) -> Result<String, String> {
    let mut join = json!({
        "apiVersion": policy.config_api(),
        "kind": "JoinConfiguration",
        "discovery": discovery,
        "nodeRegistration": registration(policy, node, address),
    });
    if control_plane {
        join["controlPlane"] = json!({
            "certificateKey": shared.certificate_key,
            "localAPIEndpoint": {"advertiseAddress": address, "bindPort": path::API_PORT},
        });
    }
    limits(&mut join, shared, policy)?;
    let mut all = [join];
    shared.wishes.change(&mut all);
    documents(&all)
}

/// The document for `kubeadm upgrade` on a node, from v1beta4 on: `apply`, `diff`, `node` and `plan` read their part of it.
///
/// # Errors
/// None in practice.
pub fn upgrade(shared: &Shared, policy: &Policy, version: &str) -> Result<String, String> {
    let ignored = shared.wishes.ignored.as_deref();
    let ignored = ignored.map_or_else(|| json!(IGNORED_PREFLIGHT), |ignored| json!(ignored));
    let patches = shared.wishes.patches.then(|| json!({"directory": path::PATCHES}));
    let part = |more: Value| {
        let mut part = json!({"ignorePreflightErrors": ignored});
        if let (Value::Object(part), Value::Object(more)) = (&mut part, more) {
            part.extend(more);
            part.extend(patches.clone().map(|patches| ("patches".to_owned(), patches)));
        }
        part
    };
    let mut all = [json!({
        "apiVersion": policy.config_api(),
        "kind": "UpgradeConfiguration",
        "apply": part(json!({
            "kubernetesVersion": version, "forceUpgrade": true, "allowExperimentalUpgrades": true, "allowRCUpgrades": true,
        })),
        "node": part(json!({})),
        "plan": {"kubernetesVersion": version, "allowExperimentalUpgrades": true, "allowRCUpgrades": true, "ignorePreflightErrors": ignored},
        "diff": {},
    })];
    shared.wishes.change(&mut all);
    documents(&all)
}

fn limits(document: &mut Value, shared: &Shared, policy: &Policy) -> Result<(), String> {
    let Settings { etcd_api_call, tls_bootstrap, discovery, etcd_args: _ } = &shared.settings;
    let named = [("etcdAPICall", etcd_api_call), ("tlsBootstrap", tls_bootstrap), ("discovery", discovery)];
    for (name, limit) in named.into_iter().filter_map(|(name, limit)| Some((name, limit.as_ref()?))) {
        if !policy.knows_timeouts() {
            return Err("this kubeadm cannot be told timeouts: take Kubernetes 1.31 or newer".into());
        }
        document["timeouts"][name] = json!(format!("{}ms", limit.as_millis()));
    }
    Ok(())
}

/// The pin of a CA as `caCertHashes` wants it: SHA-256 over the public key's DER form.
///
/// # Errors
/// When `pem` holds no certificate.
pub fn ca_hash(pem: &[u8]) -> Result<String, String> {
    use std::fmt::Write;
    let der = CertificateDer::from_pem_slice(pem).map_err(|e| e.to_string())?;
    let (_, cert) = x509_parser::parse_x509_certificate(&der).map_err(|e| e.to_string())?;
    let digest = Sha256::digest(cert.public_key().raw);
    Ok(digest.iter().fold("sha256:".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

fn registration(policy: &Policy, node: &str, address: Ipv4Addr) -> Value {
    json!({
        "name": node,
        "criSocket": path::CRI,
        "ignorePreflightErrors": IGNORED_PREFLIGHT,
        "kubeletExtraArgs": args(policy, &[("node-ip", &address.to_string())]),
    })
}

fn args(policy: &Policy, args: &[(&str, &str)]) -> Value {
    if policy.args_are_a_list() {
        args.iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
    } else {
        args.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect::<serde_json::Map<_, _>>().into()
    }
}

fn documents(values: &[Value]) -> Result<String, String> {
    let texts: Result<Vec<String>, _> = values.iter().map(serde_saphyr::to_string).collect();
    Ok(texts.map_err(|e| e.to_string())?.join("---\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared() -> Shared {
        Shared {
            kubernetes: "v1.36.3".into(),
            etcd_tag: Some("3.6.16-0".into()),
            settings: Settings::default(),
            name: "joinder".into(),
            endpoint: "10.213.0.2:6443".into(),
            token: "abcdef.0123456789abcdef".into(),
            certificate_key: "00".into(),
            sans: vec!["localhost".into(), "127.0.0.1".into()],
            external_etcd: None,
            wishes: Wishes::default(),
        }
    }

    #[test]
    fn preflight_is_never_switched_off_as_a_whole() {
        assert!(!IGNORED_PREFLIGHT.iter().any(|e| e.eq_ignore_ascii_case("all")));
    }

    #[test]
    fn what_the_file_says_of_kubeadm_is_written_where_kubeadm_looks_for_it() {
        let settings = Settings {
            etcd_api_call: Some(std::time::Duration::from_secs(20)),
            discovery: Some(std::time::Duration::from_mins(1)),
            tls_bootstrap: None,
            etcd_args: vec![("max-learners".into(), "3".into())],
        };
        let shared = Shared { settings, ..shared() };
        let address = Ipv4Addr::new(10, 213, 0, 11);
        let policy = Policy::of("v1.36.3").expect("a version");
        let text = init(&shared, &policy, "cp-1", address).expect("made");
        assert!(text.contains("    extraArgs:\n") && text.contains("name: max-learners"), "{text}");
        assert!(text.contains("timeouts:\n") && text.contains("  etcdAPICall: 20000ms"), "{text}");
        let text = join(&shared, &policy, "cp-2", address, true, &json!({})).expect("made");
        assert!(text.contains("  etcdAPICall: 20000ms") && text.contains("  discovery: 60000ms"), "{text}");
        let old = Policy::of("v1.30.0").expect("a version");
        assert!(join(&shared, &old, "cp-2", address, true, &json!({})).is_err_and(|why| why.contains("1.31")));
    }

    #[test]
    fn documents_by_version() {
        let address = Ipv4Addr::new(10, 213, 0, 11);
        for version in ["v1.30.0", "v1.36.3"] {
            let policy = Policy::of(version).expect("a version");
            let name = version.replace('.', "_");
            insta::assert_snapshot!(format!("init_{name}"), init(&shared(), &policy, "cp-1", address).expect("made"));
            let discovery = json!({
                "bootstrapToken": {"token": shared().token, "apiServerEndpoint": shared().endpoint, "caCertHashes": ["sha256:00"]},
                "tlsBootstrapToken": shared().token,
            });
            let made = join(&shared(), &policy, "cp-2", address, true, &discovery).expect("made");
            insta::assert_snapshot!(format!("join_{name}"), made);
        }
    }
}
