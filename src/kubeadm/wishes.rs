//! What a caller wants otherwise than joinder's own documents and commands have it: kinder's flags, and patches of the documents.

use std::str::FromStr;

use serde_json::{Map, Value, json};

use super::policy::Policy;
use crate::node::path;

/// How the certificates of the first control plane get to the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyCerts {
    /// Through the cluster, encrypted, by kubeadm itself.
    #[default]
    Auto,
    /// From node to node, by joinder.
    Manual,
    /// Not at all: they are there already.
    None,
}

/// How a joining node finds the cluster; kinder's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discover {
    /// By token, with the CA pinned.
    Token,
    /// By a file without credentials, beside a token for the kubelet's certificate.
    File,
    /// By a file with the token in it.
    FileWithToken,
    /// By the administrator's kubeconfig.
    Embedded,
    /// The same with its certificate and key in files of their own.
    External,
}

impl Discover {
    /// The words.
    pub const WORDS: [(&'static str, Self); 5] = [
        ("token", Self::Token),
        ("file", Self::File),
        ("file-with-token", Self::FileWithToken),
        ("file-with-embedded-client-certificates", Self::Embedded),
        ("file-with-external-client-certificates", Self::External),
    ];
}

impl FromStr for Discover {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::WORDS.into_iter().find(|(word, _)| *word == text);
        found.map(|(_, mode)| mode).ok_or_else(|| format!("use one of {}", Self::WORDS.map(|(word, _)| word).join(", ")))
    }
}

impl FromStr for CopyCerts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "manual" => Ok(Self::Manual),
            "none" => Ok(Self::None),
            _ => Err("use auto, manual or none".into()),
        }
    }
}

/// What is wanted otherwise. The default is what joinder's own steps do.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// kubeadm's `--v`.
    pub verbosity: Option<u8>,
    /// Run each phase by itself.
    pub phases: bool,
    /// How certificates get to the other control planes.
    pub copy_certs: CopyCerts,
    /// How joining nodes find the cluster; as the topology has it when not said.
    pub discovery: Option<Discover>,
    /// Preflight errors that are none, in place of joinder's own list.
    pub ignored: Option<Vec<String>>,
    /// The configuration API's version, `v1beta4`; the newest that kubeadm knows when not said.
    pub config_api: Option<String>,
    /// Feature gates.
    pub gates: Vec<(String, bool)>,
    /// How kubeadm's keys are made.
    pub encryption: Option<String>,
    /// Is there a folder of patches for kubeadm in the nodes?
    pub patches: bool,
    /// May documents be made before there is a CA? Nothing is pinned then.
    pub is_early: bool,
    /// Documents that are merged into those of the same kind, last (RFC 7386).
    pub merges: Vec<Value>,
}

/// Kinds that a patch may be for.
const KINDS: &[&str] = &[
    "ClusterConfiguration",
    "InitConfiguration",
    "JoinConfiguration",
    "UpgradeConfiguration",
    "KubeletConfiguration",
    "KubeProxyConfiguration",
];

impl Wishes {
    /// kubeadm's `--v`; joinder reads marks in what 5 says.
    pub fn level(&self) -> u8 {
        self.verbosity.unwrap_or(5)
    }

    /// Takes up the documents of a file.
    ///
    /// # Errors
    /// What is wrong with them, in words.
    pub fn patch(&mut self, text: &str) -> Result<(), String> {
        let documents: Vec<Value> = serde_saphyr::from_multiple(text).map_err(|e| e.to_string())?;
        for document in documents {
            let kind = document["kind"].as_str().ok_or("a document has no kind, so that nobody knows what it is to change")?;
            if !KINDS.contains(&kind) {
                return Err(format!("{kind} is none of kubeadm's documents: there are {}", KINDS.join(", ")));
            }
            self.merges.push(document);
        }
        Ok(())
    }

    /// Changes the documents of one command.
    pub(super) fn change(&self, documents: &mut [Value]) {
        for document in documents {
            let kind = document["kind"].as_str().unwrap_or_default().to_owned();
            match kind.as_str() {
                "ClusterConfiguration" => self.change_cluster(document),
                "InitConfiguration" => self.change_node(document, &["certificateKey"]),
                "JoinConfiguration" => self.change_node(document, &["controlPlane", "certificateKey"]),
                _ => {}
            }
            for wanted in self.merges.iter().filter(|wanted| wanted["kind"] == kind.as_str()) {
                merge(document, wanted, true);
            }
        }
    }

    fn change_cluster(&self, cluster: &mut Value) {
        if !self.gates.is_empty() {
            let gates: Map<String, Value> = self.gates.iter().map(|(name, on)| (name.clone(), json!(on))).collect();
            cluster["featureGates"] = gates.into();
        }
        if let Some(algorithm) = &self.encryption {
            cluster["encryptionAlgorithm"] = json!(algorithm);
        }
    }

    fn change_node(&self, document: &mut Value, key: &[&str]) {
        if self.copy_certs != CopyCerts::Auto
            && let [above @ .., last] = key
        {
            let inner = above.iter().try_fold(&mut *document, |value, name| value.get_mut(*name));
            if let Some(Value::Object(inner)) = inner {
                inner.remove(*last);
            }
        }
        if let Some(ignored) = &self.ignored {
            document["nodeRegistration"]["ignorePreflightErrors"] = json!(ignored);
        }
        if self.patches {
            document["patches"] = json!({"directory": path::PATCHES});
        }
    }

    /// The rules for one version, with the configuration API that is wanted.
    ///
    /// # Errors
    /// When that is no version, or there is no such API.
    pub fn policy(&self, kubernetes: &str) -> Result<Policy, String> {
        let policy = Policy::of(kubernetes)?;
        match &self.config_api {
            Some(api) => policy.with_config_api(api),
            None => Ok(policy),
        }
    }
}

/// RFC 7386; the version and kind of the document stay.
fn merge(into: &mut Value, from: &Value, outermost: bool) {
    let Value::Object(from) = from else {
        from.clone_into(into);
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    let Value::Object(into) = into else { return };
    for (name, value) in from {
        if outermost && (name == "kind" || name == "apiVersion") {
            continue;
        }
        if value.is_null() {
            into.remove(name);
        } else {
            merge(into.entry(name.clone()).or_insert(Value::Null), value, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_are_merged_into_documents_of_their_kind() {
        let mut wishes = Wishes::default();
        let text = "kind: ClusterConfiguration\nnetworking: {podSubnet: null, dnsDomain: x}\nnew: {a: {b: null, c: 1}}\n---\nkind: InitConfiguration\nskipPhases: [addon]\n";
        wishes.patch(text).expect("fine");
        let mut documents = [
            json!({"apiVersion": "v1", "kind": "ClusterConfiguration", "networking": {"podSubnet": "p", "serviceSubnet": "s"}}),
            json!({"kind": "KubeletConfiguration"}),
        ];
        wishes.change(&mut documents);
        let want = json!({"apiVersion": "v1", "kind": "ClusterConfiguration",
            "networking": {"serviceSubnet": "s", "dnsDomain": "x"}, "new": {"a": {"c": 1}}});
        assert_eq!(documents[0], want);
        assert_eq!(documents[1], json!({"kind": "KubeletConfiguration"}));
        for (text, says) in [("a: 1", "no kind"), ("kind: Pod", "Pod is none of"), ("a: [", "")] {
            let why = wishes.patch(text).expect_err("wrong");
            assert!(why.contains(says), "{text}: {why}");
        }
    }

    #[test]
    fn flags_change_what_they_are_about() {
        let wishes = Wishes {
            copy_certs: CopyCerts::Manual,
            ignored: Some(vec!["Swap".into()]),
            gates: vec![("A".into(), true), ("B".into(), false)],
            encryption: Some("ECDSA-P384".into()),
            patches: true,
            ..Wishes::default()
        };
        let mut documents = [
            json!({"kind": "ClusterConfiguration"}),
            json!({"kind": "InitConfiguration", "certificateKey": "k", "nodeRegistration": {"name": "n", "ignorePreflightErrors": ["x"]}}),
            json!({"kind": "JoinConfiguration", "controlPlane": {"certificateKey": "k", "localAPIEndpoint": {}}}),
            json!({"kind": "JoinConfiguration"}),
        ];
        wishes.change(&mut documents);
        let patches = json!({"directory": "/kinder/patches"});
        let node = json!({"ignorePreflightErrors": ["Swap"]});
        assert_eq!(documents[0]["featureGates"], json!({"A": true, "B": false}));
        assert_eq!(documents[0]["encryptionAlgorithm"], "ECDSA-P384");
        let init = json!({"kind": "InitConfiguration", "patches": patches,
            "nodeRegistration": {"name": "n", "ignorePreflightErrors": ["Swap"]}});
        assert_eq!(documents[1], init);
        let join = json!({"kind": "JoinConfiguration", "patches": patches,
            "controlPlane": {"localAPIEndpoint": {}}, "nodeRegistration": node});
        assert_eq!(documents[2], join);
        assert_eq!(documents[3].get("controlPlane"), None);
    }

    #[test]
    fn words_are_kinders() {
        for (word, mode) in Discover::WORDS {
            assert_eq!(word.parse(), Ok(mode));
        }
        assert!("bogus".parse::<Discover>().is_err_and(|why| why.contains("file-with-token")));
        assert_eq!("none".parse(), Ok(CopyCerts::None));
        assert!("yes".parse::<CopyCerts>().is_err());
    }
}
