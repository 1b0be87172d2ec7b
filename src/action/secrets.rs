//! The secrets of a cluster that is joined by one process after the other. They are kinder's, the same for each cluster: nothing has to
//! be kept anywhere, and scripts for kinder know them. Such a cluster is for tests.

use std::time::Duration;

use super::error::ActionError;
use super::ground::Ground;
use crate::cluster::Secrets;
use crate::node::path;

/// The bootstrap token.
pub(super) const TOKEN: &str = "abcdef.0123456789abcdef";

/// kubeadm asks its API server a few things.
const LIMIT: Duration = Duration::from_mins(1);

/// A token lives for a day, and a cluster that was made otherwise has another one.
const ENSURE_TOKEN: &str = r#"kubectl --kubeconfig "$1" -n kube-system get secret "bootstrap-token-${2%%.*}" >/dev/null 2>&1 ||
kubeadm --kubeconfig "$1" token create "$2" --ttl 24h 2>&1"#;
/// Uploaded certificates are kept for two hours. Which key they were encrypted with stands in kubeadm's configuration alone.
const ENSURE_CERTS: &str = r#"grep -qs "certificateKey: .*$2" "$3" && kubectl --kubeconfig "$1" -n kube-system get secret kubeadm-certs >/dev/null 2>&1 ||
kubeadm init phase upload-certs --kubeconfig "$1" --upload-certs --certificate-key "$2" 2>&1"#;

/// The key that uploaded certificates are encrypted with.
pub(super) fn certificate_key() -> String {
    "0123456789".repeat(6) + "0123"
}

/// Both.
pub(super) fn secrets() -> Secrets {
    Secrets { token: TOKEN.to_owned(), certificate_key: certificate_key() }
}

/// Makes sure that nodes can join by the token.
pub(super) async fn ensure_token(ground: &Ground) -> Result<(), ActionError> {
    let node = ground.serving().await?;
    ground.script(&node, ENSURE_TOKEN, &[path::ADMIN_CONF, TOKEN], LIMIT).await.map(drop)
}

/// Makes sure that control planes can take certificates out of the cluster.
pub(super) async fn ensure_certs(ground: &Ground) -> Result<(), ActionError> {
    let node = ground.serving().await?;
    ground.script(&node, ENSURE_CERTS, &[path::ADMIN_CONF, &certificate_key(), path::KUBEADM_CONFIG], LIMIT).await.map(drop)
}
