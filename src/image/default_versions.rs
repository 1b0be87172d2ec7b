//! What a node image holds when nothing else is asked for. The sums of just these are pinned under `images/`.

/// Kubernetes: the newest patch of 1.36 that Go modules serve.
pub const KUBERNETES: &str = "v1.36.3";
/// etcd.
pub const ETCD: &str = "3.6.16";
/// CoreDNS beside a Kubernetes that is not in [`COREDNS_FOR`]; its image is still named as kubeadm wants it.
pub const COREDNS: &str = "v1.14.2";
/// CoreDNS by minor version of Kubernetes: `CoreDNSVersion` in kubeadm's `constants.go` (1.33.13, 1.34.4, 1.35.4, 1.36.3,
/// 1.37.2).
pub const COREDNS_FOR: &[(&str, &str)] =
    &[("1.33", "v1.12.0"), ("1.34", "v1.12.1"), ("1.35", "v1.13.1"), ("1.36", "v1.14.2"), ("1.37", "v1.14.6")];
/// crictl.
pub const CRICTL: &str = "v1.37.0";
/// The Debian release that the root file system is made of.
pub const DEBIAN: &str = "trixie";

/// Name of node images, without the tag.
pub const NODE_NAME: &str = "joinder/node";
/// Name of images with etcd alone, without the tag.
pub const ETCD_NAME: &str = "joinder/etcd";
/// Name of load balancer images, without the tag.
pub const LOAD_BALANCER_NAME: &str = "joinder/load-balancer";
/// What [`crate::runtime::label::IMAGE`] says of a node image.
pub const NODE: &str = "node";
/// What [`crate::runtime::label::IMAGE`] says of an image with etcd alone.
pub const ETCD_ALONE: &str = "etcd";
/// What [`crate::runtime::label::IMAGE`] says of a load balancer image.
pub const LOAD_BALANCER: &str = "load-balancer";
/// Where the load balancer reads its configuration.
pub const LOAD_BALANCER_CONFIG: &str = "/etc/haproxy/haproxy.cfg";
/// The signal that makes it read its configuration again: the master process (`-W`) starts new workers and lets the
/// old ones finish. SIGHUP does the same.
pub const LOAD_BALANCER_RELOAD: &str = "SIGUSR2";
