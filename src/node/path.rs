//! Paths and ports inside a node: joinder's own, kinder's and kubeadm's. Spelled only here.

/// kubeadm's configuration, written just before use (kinder's path).
pub const KUBEADM_CONFIG: &str = "/kind/kubeadm.conf";
/// Kubeconfig for discovery by file (kinder's path).
pub const DISCOVERY: &str = "/kinder/discovery.conf";
/// Certificate and key of whoever looks, where they are not in that file (kinder's paths).
pub const DISCOVERY_CLIENT: [&str; 2] = ["/kinder/discovery-client-cert.pem", "/kinder/discovery-client-key.pem"];
/// Patches for kubeadm (kinder's path).
pub const PATCHES: &str = "/kinder/patches";
/// What an upgrade needs, in a folder a version, and the version (kinder's paths).
pub const UPGRADE: &str = "/kinder/upgrade";
/// The Kubernetes version of the image, one line.
pub const VERSION: &str = "/kind/version";
/// Resolver file for pods.
pub const RESOLV: &str = "/kind/resolv.conf";
/// Routes to the other nodes' pods, run at each boot.
pub const NETWORK: &str = "/kind/network.sh";
/// The pods' network.
pub const CNI: &str = "/etc/cni/net.d/10-pods.conflist";
/// Where kubeadm is called.
pub const KUBEADM: &str = "/usr/bin/kubeadm";
/// Where the kubelet is started.
pub const KUBELET: &str = "/usr/bin/kubelet";
/// Where the user's own etcd waits to be put into the image store.
pub const ETCD_OVERRIDE: &str = "/kind/override/etcd";
/// Files on their way in or out; where the engine's archives see them.
pub const COPY: &str = "/kind/copy";
/// The administrator's kubeconfig.
pub const ADMIN_CONF: &str = "/etc/kubernetes/admin.conf";
/// The API server's manifest.
pub const API_MANIFEST: &str = "/etc/kubernetes/manifests/kube-apiserver.yaml";
/// The cluster's CA.
pub const CA: &str = "/etc/kubernetes/pki/ca.crt";
/// Certificates and keys.
pub const PKI: &str = "/etc/kubernetes/pki";
/// etcd's CA.
pub const ETCD_CA: &str = "/etc/kubernetes/pki/etcd/ca.crt";
/// Its private key, which only control planes have.
pub const ETCD_CA_KEY: &str = "/etc/kubernetes/pki/etcd/ca.key";
/// containerd's socket.
pub const CONTAINERD: &str = "/run/containerd/containerd.sock";
/// The same as the kubelet wants it.
pub const CRI: &str = "unix:///run/containerd/containerd.sock";
/// The API server's port.
pub const API_PORT: u16 = 6443;
/// Where the node's own etcd member serves clients, also kubeadm's.
pub const ETCD: &str = "127.0.0.1:2379";
/// etcd's port for clients.
pub const CLIENT_PORT: u16 = 2379;
/// etcd's port for peers.
pub const PEER_PORT: u16 = 2380;
/// Where it tells its metrics, also while it serves no client.
pub const ETCD_METRICS: &str = "127.0.0.1:2381";
/// CA, certificate and key of etcd's health check, as kubeadm writes them.
pub const KUBEADM_ETCD: [&str; 3] = [
    "/etc/kubernetes/pki/etcd/ca.crt",
    "/etc/kubernetes/pki/etcd/healthcheck-client.crt",
    "/etc/kubernetes/pki/etcd/healthcheck-client.key",
];
/// CA, certificate and key of a client, beside etcd alone.
pub const ETCD_CLIENT: [&str; 3] = ["/etc/etcd/pki/ca.crt", "/etc/etcd/pki/client.crt", "/etc/etcd/pki/client.key"];
/// Certificate and key of the member, for clients and peers, beside etcd alone.
pub const ETCD_SERVER: [&str; 2] = ["/etc/etcd/pki/server.crt", "/etc/etcd/pki/server.key"];
/// etcd, where it is alone.
pub const ETCD_PROGRAM: &str = "/usr/local/bin/etcd";
/// Data folders of etcd alone, one for each time that the node was made a member.
pub const ETCD_DATA: &str = "/var/lib/etcd";
/// What etcd alone writes.
pub const ETCD_LOG: &str = "/var/log/etcd/etcd.log";
/// The folder of it.
pub const ETCD_LOGS: &str = "/var/log/etcd";
