//! What a node image holds when nothing else is asked for. The sums of just these are pinned under `images/`.

/// Kubernetes: the newest patch of 1.36 that Go modules serve.
pub const KUBERNETES: &str = "v1.36.3";
/// etcd.
pub const ETCD: &str = "3.6.16";
/// CoreDNS. Its image is named as the cluster's kubeadm wants it, whatever kubeadm's default version is.
pub const COREDNS: &str = "v1.14.2";
/// crictl.
pub const CRICTL: &str = "v1.37.0";
/// The Debian release that the root file system is made of.
pub const DEBIAN: &str = "trixie";

/// Name of node images, without the tag.
pub const NODE_NAME: &str = "joinder/node";
/// Name of load balancer images, without the tag.
pub const LOAD_BALANCER_NAME: &str = "joinder/load-balancer";
/// What [`crate::runtime::label::IMAGE`] says of a node image.
pub const NODE: &str = "node";
/// What [`crate::runtime::label::IMAGE`] says of a load balancer image.
pub const LOAD_BALANCER: &str = "load-balancer";
/// Where the load balancer reads its configuration.
pub const LOAD_BALANCER_CONFIG: &str = "/etc/haproxy/haproxy.cfg";
/// The signal that makes it read its configuration again: the master process (`-W`) starts new workers and lets the
/// old ones finish. SIGHUP does the same.
pub const LOAD_BALANCER_RELOAD: &str = "SIGUSR2";
