//! The text of `go.mod` files: a module that has the commands we build as tools, and nothing else.

use std::fmt::Write as _;

use super::super::embedded::GO_MOD;
use super::super::version::Version;

/// Something built from Go modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Component {
    /// `kubeadm`, `kubelet`, `kubectl` and what runs a control plane.
    Kubernetes,
    /// `etcd`, `etcdctl`, `etcdutl`.
    Etcd,
    /// `coredns`.
    CoreDns,
    /// `crictl`.
    Crictl,
}

impl Component {
    /// Its name in paths and messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Kubernetes => "kubernetes",
            Self::Etcd => "etcd",
            Self::CoreDns => "coredns",
            Self::Crictl => "crictl",
        }
    }

    /// The modules to require, all at the same version; the first says whether that version is served.
    pub(crate) fn modules(self) -> &'static [&'static str] {
        match self {
            Self::Kubernetes => &["k8s.io/kubernetes"],
            Self::Etcd => &["go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/etcdctl/v3", "go.etcd.io/etcd/etcdutl/v3"],
            Self::CoreDns => &["github.com/coredns/coredns"],
            Self::Crictl => &["sigs.k8s.io/cri-tools"],
        }
    }

    /// Package and name of each binary.
    pub(crate) fn commands(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Kubernetes => &[
                ("k8s.io/kubernetes/cmd/kube-apiserver", "kube-apiserver"),
                ("k8s.io/kubernetes/cmd/kube-controller-manager", "kube-controller-manager"),
                ("k8s.io/kubernetes/cmd/kube-proxy", "kube-proxy"),
                ("k8s.io/kubernetes/cmd/kube-scheduler", "kube-scheduler"),
                ("k8s.io/kubernetes/cmd/kubeadm", "kubeadm"),
                ("k8s.io/kubernetes/cmd/kubectl", "kubectl"),
                ("k8s.io/kubernetes/cmd/kubelet", "kubelet"),
            ],
            Self::Etcd => &[
                ("go.etcd.io/etcd/etcdctl/v3", "etcdctl"),
                ("go.etcd.io/etcd/etcdutl/v3", "etcdutl"),
                ("go.etcd.io/etcd/server/v3", "etcd"),
            ],
            Self::CoreDns => &[("github.com/coredns/coredns", "coredns")],
            Self::Crictl => &[("sigs.k8s.io/cri-tools/cmd/crictl", "crictl")],
        }
    }

    /// The linker's flags: without symbols, and with the version stamps that kubeadm and the API check.
    ///
    /// `date` is when the module's version was made, so that the same inputs give the same bytes.
    pub(crate) fn linker_flags(self, version: &Version, date: &str) -> String {
        let mut flags = "-s -w".to_owned();
        match self {
            Self::Kubernetes => {
                for package in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
                    for (name, value) in [
                        ("gitVersion", version.tagged().as_str()),
                        ("gitMajor", version.number(0)),
                        ("gitMinor", version.number(1)),
                        ("gitTreeState", "clean"),
                        // a module archive does not say which commit it was made from
                        ("gitCommit", "unknown"),
                        ("buildDate", date),
                    ] {
                        let _ = write!(flags, " -X {package}.{name}={value}");
                    }
                }
            }
            Self::Crictl => {
                let _ = write!(flags, " -X sigs.k8s.io/cri-tools/pkg/version.Version={}", version.tagged());
            }
            Self::Etcd | Self::CoreDns => {}
        }
        flags
    }
}

/// What we need to know of the `go.mod` of the module that is built.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Upstream {
    go: String,
    godebug: Vec<String>,
    staging: Vec<String>,
}

impl Upstream {
    /// Reads them from its text. Kubernetes' staging modules are those that it replaces by folders of its own; which
    /// they are differs between minor versions.
    pub(crate) fn read(go_mod: &str) -> Self {
        let mut this = Self::default();
        let mut in_godebug = false;
        for line in go_mod.lines().map(str::trim) {
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                ["go", version] => version.clone_into(&mut this.go),
                ["godebug", "("] => in_godebug = true,
                [")"] => in_godebug = false,
                ["godebug", setting] => this.godebug.push(setting.to_owned()),
                [setting] if in_godebug => this.godebug.push(setting.to_owned()),
                [module, "=>", to] | ["replace", module, "=>", to] if to.starts_with("./staging/src/") => {
                    this.staging.push(module.to_owned());
                }
                _ => {}
            }
        }
        this
    }
}

/// The text of `go.mod`, before `go mod tidy` adds the indirect requirements.
pub(crate) fn text(component: Component, version: &Version, upstream: &Upstream) -> String {
    let lines = |lines: &mut dyn Iterator<Item = String>| lines.fold(String::new(), |text, line| text + "\t" + &line + "\n");
    // in the form that `go mod tidy` gives it
    let tools = match component.commands() {
        [(package, _)] => format!("tool {package}"),
        commands => format!("tool (\n{})", lines(&mut commands.iter().map(|(package, _)| (*package).to_owned()))),
    };
    let require = lines(&mut component.modules().iter().map(|module| format!("{module} {}", version.tagged())));
    let replace = lines(&mut upstream.staging.iter().map(|module| format!("{module} => {module} {}", version.staging())));
    let replace = if replace.is_empty() { String::new() } else { format!("\nreplace (\n{replace})") };
    let godebug = upstream.godebug.iter().fold(String::new(), |text, setting| text + "\ngodebug " + setting + "\n");
    let text = GO_MOD
        .replace("@WHAT@", &format!("What joinder builds of {} {}", component.name(), version.tagged()))
        .replace("@NAME@", component.name())
        .replace("@GO@", &upstream.go)
        .replace("@GODEBUG@", &godebug)
        .replace("@TOOLS@", &tools)
        .replace("@REQUIRE@", &require)
        .replace("@REPLACE@", &replace);
    text.trim_end().to_owned() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::parse("version", text, "v1.36.3").expect(text)
    }

    const OF_1_37: &str = "module k8s.io/kubernetes\n\ngo 1.26.0\n\ngodebug default=go1.26\n\nrequire (\n\tk8s.io/api v0.0.0\n)\n\nreplace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n\tk8s.io/newcomer => ./staging/src/k8s.io/newcomer\n\texample.com/other => ../other\n)\n";

    #[test]
    fn staging_modules_come_from_kubernetes_own_file() {
        let text = text(Component::Kubernetes, &version("v1.37.2"), &Upstream::read(OF_1_37));
        insta::assert_snapshot!(text, @r"
        // What joinder builds of kubernetes v1.37.2. Made by joinder (src/image/gomod.rs).
        module joinder/images/kubernetes

        go 1.26.0

        godebug default=go1.26

        tool (
        	k8s.io/kubernetes/cmd/kube-apiserver
        	k8s.io/kubernetes/cmd/kube-controller-manager
        	k8s.io/kubernetes/cmd/kube-proxy
        	k8s.io/kubernetes/cmd/kube-scheduler
        	k8s.io/kubernetes/cmd/kubeadm
        	k8s.io/kubernetes/cmd/kubectl
        	k8s.io/kubernetes/cmd/kubelet
        )

        require (
        	k8s.io/kubernetes v1.37.2
        )

        replace (
        	k8s.io/api => k8s.io/api v0.37.2
        	k8s.io/newcomer => k8s.io/newcomer v0.37.2
        )
        ");
    }

    #[test]
    fn etcd_needs_three_modules_and_no_replacements() {
        let text = text(Component::Etcd, &version("3.7.3"), &Upstream::read("module x\ngo 1.26.0\ntoolchain go1.26.10\n"));
        assert!(text.contains("require (\n\tgo.etcd.io/etcd/server/v3 v3.7.3\n\tgo.etcd.io/etcd/etcdctl/v3 v3.7.3\n"), "{text}");
        assert!(!text.contains("replace") && !text.contains('@') && !text.contains("toolchain"), "{text}");
    }

    #[test]
    fn the_pinned_modules_are_of_the_versions_in_their_folders() {
        for (component, at) in [
            (Component::Kubernetes, super::super::super::default_versions::KUBERNETES),
            (Component::Etcd, super::super::super::default_versions::ETCD),
            (Component::CoreDns, super::super::super::default_versions::COREDNS),
            (Component::Crictl, super::super::super::default_versions::CRICTL),
        ] {
            let version = version(at);
            let pinned = super::super::super::embedded::pinned(component.name(), &version.tagged()).expect("unpacked");
            let (go_mod, go_sum) = pinned.expect("the default is pinned");
            for module in component.modules() {
                assert!(go_mod.contains(&format!("{module} {}", version.tagged())), "{module} in {go_mod}");
                assert!(go_sum.contains(&format!("{module} {} h1:", version.tagged())), "{module}");
            }
            for (package, _) in component.commands() {
                assert!(go_mod.contains(package), "{package}");
            }
        }
    }

    #[test]
    fn the_pinned_modules_are_what_is_generated_plus_indirect_requirements() {
        for (component, at) in [
            (Component::Kubernetes, "v1.36.3"),
            (Component::Etcd, "v3.6.16"),
            (Component::CoreDns, "v1.14.2"),
            (Component::Crictl, "v1.37.0"),
        ] {
            let (pinned, _) = super::super::super::embedded::pinned(component.name(), at).expect("unpacked").expect("pinned");
            // in a pinned file the staging modules stand with their released versions
            let released = format!(" {}\n", version(at).staging());
            let staging = pinned.lines().filter(|l| l.contains(" => ")).filter_map(|l| l.split_whitespace().next()).map(ToOwned::to_owned);
            let upstream = Upstream { staging: staging.collect(), ..Upstream::read(&pinned) };
            let generated = text(component, &version(at), &upstream);
            let (head, rest) = generated.split_once("require (").expect("it requires something");
            assert!(pinned.starts_with(head), "{head}");
            let replace = rest.find("replace (").map_or("", |at| &rest[at..]);
            assert!(pinned.ends_with(replace), "{replace}");
            assert_eq!(replace.matches(&released).count(), upstream.staging.len());
        }
    }

    #[test]
    fn stamps_say_the_version_and_the_minor() {
        let flags = Component::Kubernetes.linker_flags(&version("v1.36.3"), "2026-07-22T18:07:38Z");
        for part in ["component-base/version.gitVersion=v1.36.3", "client-go/pkg/version.gitMinor=36", "buildDate=2026-07-22T18:07:38Z"] {
            assert!(flags.contains(part), "{flags}");
        }
    }
}
