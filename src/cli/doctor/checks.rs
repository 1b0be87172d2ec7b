//! The checks: pure functions from facts to a verdict, each with what was seen and the remedy.

use serde::Serialize;

use super::facts::Facts;
use crate::cluster;
use crate::node::CAPABILITIES;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// What the kernel could still give fell by 2.5 GB while three control planes joined; this and the counts below are in
/// docs/performance.md.
const MEMORY_PER_NODE: u64 = 850 * MIB;
/// A node's files are below 10 MB (docs/performance.md); etcd allocates two write-ahead log segments of 64 MB at once
/// (`SegmentSizeBytes` and its file pipeline), and logs and events come on top.
const DISK_PER_NODE: u64 = 200 * MIB;
/// A node's systemd, containerd, kubelet and pods had 24; the limit is for all processes of root together.
const INOTIFY_INSTANCES_PER_NODE: u64 = 25;
/// What a machine without nodes has.
const INOTIFY_INSTANCES_BASE: u64 = 10;
/// What a node's processes watch: 210, mostly control groups and mounted volumes, and more with more pods.
const INOTIFY_WATCHES_PER_NODE: u64 = 500;
/// All processes of a node together had 880 open.
const FILES_PER_NODE: u64 = 2000;
/// joinder's connections to the engine and to each node.
const OWN_FILES: (u64, u64) = (64, 8);
/// A container's processes begin with the engine's limit; etcd and kube-apiserver hold a file for each connection.
const CONTAINER_FILES: u64 = 4096;

/// Capabilities by the kernel's numbers (`linux/capability.h`): the engine's default set, and ours.
const NUMBERS: &[(&str, u8)] = &[
    ("CHOWN", 0),
    ("DAC_OVERRIDE", 1),
    ("FOWNER", 3),
    ("FSETID", 4),
    ("KILL", 5),
    ("SETGID", 6),
    ("SETUID", 7),
    ("SETPCAP", 8),
    ("NET_BIND_SERVICE", 10),
    ("NET_ADMIN", 12),
    ("NET_RAW", 13),
    ("SYS_CHROOT", 18),
    ("SYS_PTRACE", 19),
    ("SYS_ADMIN", 21),
    ("MKNOD", 27),
    ("AUDIT_WRITE", 29),
    ("SETFCAP", 31),
    ("SYSLOG", 34),
];

/// What a check came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Verdict {
    /// Fine.
    Ok,
    /// It may go wrong.
    Warn,
    /// It will go wrong.
    Fail,
    /// It cannot be seen from here.
    NotKnown,
}

impl Verdict {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
            Self::NotKnown => "not known",
        }
    }
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) verdict: Verdict,
    /// What was seen.
    pub(super) saw: String,
    /// What to do; a command where there is one.
    pub(super) fix: Option<String>,
}

/// All checks, in the order in which one would mend things.
pub(super) fn all(facts: &Facts) -> Vec<Check> {
    vec![
        engine(facts),
        cgroups(facts),
        capabilities(facts),
        kmsg(facts),
        images(facts),
        memory(facts),
        disk(facts),
        inotify_instances(facts),
        inotify_watches(facts),
        open_files(facts),
        own_files(facts),
        container_files(facts),
        subnets(facts),
        proxies(facts),
    ]
}

fn check(name: &'static str, verdict: Verdict, saw: impl Into<String>) -> Check {
    Check { name, verdict, saw: saw.into(), fix: None }
}

impl Check {
    fn fix(mut self, fix: impl Into<String>) -> Self {
        if matches!(self.verdict, Verdict::Warn | Verdict::Fail) {
            self.fix = Some(fix.into());
        }
        self
    }
}

fn not_known(name: &'static str, why: &str) -> Check {
    check(name, Verdict::NotKnown, why)
}

/// The engine may be in a virtual machine, or not be there.
const ELSEWHERE: &str = "the engine's machine cannot be looked at from here";

/// Fails below `need`, warns where less than half as much again is there.
fn amount(name: &'static str, has: Option<u64>, need: u64, show: impl Fn(u64) -> String) -> Check {
    let Some(has) = has else { return not_known(name, ELSEWHERE) };
    let verdict = if has < need {
        Verdict::Fail
    } else if has < need + need / 2 {
        Verdict::Warn
    } else {
        Verdict::Ok
    };
    check(name, verdict, format!("{}, needed {}", show(has), show(need)))
}

fn bytes(n: u64) -> String {
    if n < GIB { format!("{} MiB", n / MIB) } else { format!("{}.{} GiB", n / GIB, n % GIB * 10 / GIB) }
}

/// A limit that is as good as none is not worth nineteen digits.
fn count(n: u64) -> String {
    if n > u64::from(u32::MAX) { "unlimited".into() } else { n.to_string() }
}

fn engine(facts: &Facts) -> Check {
    match &facts.engine {
        Ok(engine) if engine.host.rootless => {
            check("engine", Verdict::Warn, format!("{}, rootless: joinder has not been tried there", engine.describe()))
                .fix("use an engine that runs as root: DOCKER_HOST=unix:///var/run/docker.sock")
        }
        Ok(engine) => check("engine", Verdict::Ok, engine.describe()),
        Err(said) => {
            let (said, hint) = said.split_once("\nhint: ").unwrap_or((said, "start the engine, or name its socket in DOCKER_HOST"));
            check("engine", Verdict::Fail, said).fix(hint)
        }
    }
}

fn cgroups(facts: &Facts) -> Check {
    let name = "cgroups";
    let Ok(engine) = &facts.engine else { return not_known(name, "the engine does not answer") };
    let saw = format!("v{}, driver {}", engine.cgroup_version, engine.host.cgroup_driver);
    match (engine.cgroup_version.as_str(), engine.host.cgroup_driver.as_str()) {
        (_, "none") => check(name, Verdict::Fail, saw)
            .fix("let the engine manage control groups: run it as root, or delegate them to its user (systemd: Delegate=yes)"),
        ("1", _) => check(name, Verdict::Ok, saw),
        ("2", _) => check(name, Verdict::Warn, format!("{saw}: joinder's nodes have only been tried on v1"))
            .fix("try `joinder run workflows/join/single.yaml`; if a node does not boot, start the kernel with systemd.unified_cgroup_hierarchy=0"),
        _ => not_known(name, "the engine does not say"),
    }
}

fn capabilities(facts: &Facts) -> Check {
    let name = "capabilities";
    let Some(has) = facts.capabilities else { return not_known(name, "the engine's process cannot be looked at from here") };
    let lacks: Vec<&str> = NUMBERS.iter().filter(|(_, bit)| has >> bit & 1 == 0).map(|(name, _)| *name).collect();
    if lacks.is_empty() {
        return check(name, Verdict::Ok, format!("the engine can grant the default set and {}", CAPABILITIES.join(", ")));
    }
    check(name, Verdict::Fail, format!("the engine itself lacks {}", lacks.join(", ")))
        .fix("start the engine with them: where it runs in a container, give that container `--cap-add` for each; docs/rights.md has why")
}

fn kmsg(facts: &Facts) -> Check {
    let name = "/dev/kmsg";
    match facts.kmsg {
        None => not_known(name, ELSEWHERE),
        Some(true) => check(name, Verdict::Ok, "there"),
        Some(false) => check(name, Verdict::Fail, "not there; the kubelet exits without it").fix("mknod -m 600 /dev/kmsg c 1 11"),
    }
}

fn images(facts: &Facts) -> Check {
    let name = "images";
    match &facts.images {
        None => not_known(name, "the engine does not answer"),
        Some(Ok(names)) => check(name, Verdict::Ok, names.join(", ")),
        Some(Err(why)) => {
            let (why, command) = why.split_once("\nhint: build it: ").unwrap_or((why, "joinder build node-image"));
            check(name, Verdict::Fail, why).fix(command)
        }
    }
}

fn memory(facts: &Facts) -> Check {
    let nodes = facts.nodes;
    amount("memory", facts.memory, MEMORY_PER_NODE * nodes, bytes).fix("end other programs, or ask for fewer nodes")
}

fn disk(facts: &Facts) -> Check {
    amount("disk", facts.disk, DISK_PER_NODE * facts.nodes, bytes)
        .fix("joinder gc; docker system prune (see `docker system df` first), or move the engine's data-root")
}

fn inotify_instances(facts: &Facts) -> Check {
    let need = INOTIFY_INSTANCES_BASE + INOTIFY_INSTANCES_PER_NODE * facts.nodes;
    amount("inotify instances", facts.inotify_instances, need, count).fix(format!("sysctl -w fs.inotify.max_user_instances={}", 4 * need))
}

fn inotify_watches(facts: &Facts) -> Check {
    let need = INOTIFY_WATCHES_PER_NODE * facts.nodes;
    amount("inotify watches", facts.inotify_watches, need, count)
        .fix(format!("sysctl -w fs.inotify.max_user_watches={}", need.max(524_288)))
}

fn open_files(facts: &Facts) -> Check {
    let need = FILES_PER_NODE * facts.nodes;
    amount("open files", facts.files_left, need, count).fix(format!("sysctl -w fs.file-max={}", (10 * need).max(1_000_000)))
}

fn own_files(facts: &Facts) -> Check {
    let (base, each) = OWN_FILES;
    let need = base + each * facts.nodes;
    let Some(has) = facts.own_files else { return not_known("joinder's open files", "/proc/self/limits does not say") };
    amount("joinder's open files", Some(has), need, count).fix(format!("ulimit -n {}", (4 * need).max(1024)))
}

fn container_files(facts: &Facts) -> Check {
    amount("a container's open files", facts.engine_files, CONTAINER_FILES, count)
        .fix("raise the engine's limit: LimitNOFILE=1048576 in its systemd unit, or `ulimit -n 1048576` before dockerd")
}

fn subnets(facts: &Facts) -> Check {
    let name = "subnets";
    let saw = |free: usize| format!("{free} of 256 in {} are free", cluster::RANGE);
    match facts.subnets {
        None => not_known(name, "the engine does not answer"),
        Some(0) => check(name, Verdict::Fail, saw(0)).fix("joinder gc; docker network prune; or give the cluster a `subnet` elsewhere"),
        Some(few @ 1..=8) => check(name, Verdict::Warn, saw(few)).fix("joinder gc; docker network prune"),
        Some(free) => check(name, Verdict::Ok, saw(free)),
    }
}

fn proxies(facts: &Facts) -> Check {
    let name = "proxy variables";
    if facts.proxies.is_empty() {
        return check(name, Verdict::Ok, "none is set");
    }
    let set: Vec<&str> = facts.proxies.iter().map(|(name, _)| name.as_str()).collect();
    let set = set.join(", ");
    let range = cluster::span(cluster::RANGE);
    let covers =
        |entry: &str| entry.trim() == "*" || (cluster::span(entry).zip(range)).is_some_and(|(own, all)| own.0 <= all.0 && all.1 <= own.1);
    if facts.no_proxy.split(',').any(covers) {
        return check(name, Verdict::Ok, format!("{set} set; NO_PROXY has the clusters' subnets"));
    }
    let saw = format!(
        "{set} set, and NO_PROXY leaves out the clusters' subnets: kubectl with an internal kubeconfig, and commands of workflows, would ask the proxy"
    );
    let before = if facts.no_proxy.is_empty() { String::new() } else { format!("{},", facts.no_proxy) };
    check(name, Verdict::Warn, saw).fix(format!("export NO_PROXY={before}localhost,127.0.0.1,{}", cluster::RANGE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Engine;
    use crate::runtime::api::Host;

    /// A machine on which all is well.
    fn well() -> Facts {
        let host = Host { kernel: "6.1".into(), store: "/var/lib/docker".into(), cgroup_driver: "cgroupfs".into(), ..Host::default() };
        Facts {
            nodes: 3,
            engine: Ok(Engine { name: "Docker 20.10".into(), api: "1.41".into(), cgroup_version: "1".into(), arch: "amd64".into(), host }),
            capabilities: Some(u64::MAX),
            inotify_instances: Some(8192),
            inotify_watches: Some(524_288),
            files_left: Some(u64::MAX),
            own_files: Some(1024),
            engine_files: Some(1_048_576),
            disk: Some(100 * GIB),
            memory: Some(16 * GIB),
            subnets: Some(256),
            proxies: Vec::new(),
            no_proxy: String::new(),
            kmsg: Some(true),
            images: Some(Ok(vec!["joinder/node:v1.36.3-etcd3.6.16".into()])),
        }
    }

    fn engine_with(change: impl FnOnce(&mut Engine)) -> Facts {
        let mut facts = well();
        if let Ok(engine) = &mut facts.engine {
            change(engine);
        }
        facts
    }

    #[test]
    fn on_a_machine_where_all_is_well_all_is_ok() {
        for check in all(&well()) {
            assert_eq!((check.verdict, &check.fix), (Verdict::Ok, &None), "{check:?}");
        }
    }

    #[test]
    fn each_check_fails_where_its_fact_is_bad_and_says_what_to_do() {
        let proxy = || vec![("HTTPS_PROXY".to_owned(), "http://proxy:3128".to_owned())];
        let cases: Vec<(&str, Verdict, Facts, &str)> = vec![
            ("engine", Verdict::Fail, Facts { engine: Err("cannot reach it: no\nhint: start it".into()), ..well() }, "start it"),
            ("engine", Verdict::Warn, engine_with(|e| e.host.rootless = true), "DOCKER_HOST"),
            ("cgroups", Verdict::Fail, engine_with(|e| e.host.cgroup_driver = "none".into()), "Delegate"),
            ("cgroups", Verdict::Warn, engine_with(|e| e.cgroup_version = "2".into()), "unified_cgroup_hierarchy"),
            ("capabilities", Verdict::Fail, Facts { capabilities: Some(!(1 << 21)), ..well() }, "--cap-add"),
            ("/dev/kmsg", Verdict::Fail, Facts { kmsg: Some(false), ..well() }, "mknod"),
            (
                "images",
                Verdict::Fail,
                Facts {
                    images: Some(Err("no node image\nhint: build it: joinder build node-image --kubernetes v1.36.3".into())),
                    ..well()
                },
                "joinder build node-image --kubernetes v1.36.3",
            ),
            ("memory", Verdict::Fail, Facts { memory: Some(GIB), ..well() }, "fewer nodes"),
            ("memory", Verdict::Warn, Facts { memory: Some(3 * GIB), ..well() }, "fewer nodes"),
            ("disk", Verdict::Fail, Facts { disk: Some(500 * MIB), ..well() }, "prune"),
            (
                "inotify instances",
                Verdict::Fail,
                Facts { inotify_instances: Some(16), ..well() },
                "sysctl -w fs.inotify.max_user_instances=",
            ),
            ("inotify watches", Verdict::Fail, Facts { inotify_watches: Some(16), ..well() }, "sysctl -w fs.inotify.max_user_watches="),
            ("open files", Verdict::Fail, Facts { files_left: Some(100), ..well() }, "sysctl -w fs.file-max="),
            ("joinder's open files", Verdict::Fail, Facts { own_files: Some(20), ..well() }, "ulimit -n"),
            ("a container's open files", Verdict::Fail, Facts { engine_files: Some(1024), ..well() }, "LimitNOFILE"),
            ("subnets", Verdict::Fail, Facts { subnets: Some(0), ..well() }, "joinder gc"),
            ("subnets", Verdict::Warn, Facts { subnets: Some(3), ..well() }, "joinder gc"),
            (
                "proxy variables",
                Verdict::Warn,
                Facts { proxies: proxy(), no_proxy: "localhost,10.96.0.0/12".into(), ..well() },
                "export NO_PROXY=localhost,10.96.0.0/12,localhost,127.0.0.1,10.213.0.0/16",
            ),
        ];
        let names: std::collections::BTreeSet<&str> = cases.iter().map(|(name, ..)| *name).collect();
        for (name, verdict, facts, fix) in &cases {
            let found: Vec<Check> = all(facts).into_iter().filter(|c| c.verdict != Verdict::Ok && c.name == *name).collect();
            assert_eq!(found.len(), 1, "{name}");
            assert_eq!(found[0].verdict, *verdict, "{:?}", found[0]);
            assert!(found[0].fix.as_ref().is_some_and(|f| f.contains(fix)), "{:?}", found[0]);
        }
        assert_eq!(names, all(&well()).iter().map(|c| c.name).collect(), "each check has a case in which it is not fine");
    }

    #[test]
    fn what_cannot_be_seen_is_not_known_and_never_fine() {
        let blind = Facts {
            engine: Err("no".into()),
            capabilities: None,
            inotify_instances: None,
            inotify_watches: None,
            files_left: None,
            own_files: None,
            engine_files: None,
            disk: None,
            memory: None,
            subnets: None,
            kmsg: None,
            images: None,
            ..well()
        };
        let fine: Vec<&str> = all(&blind).iter().filter(|c| c.verdict == Verdict::Ok).map(|c| c.name).collect();
        assert_eq!(fine, ["proxy variables"]);
    }

    #[test]
    fn more_nodes_need_more() {
        let failing = |nodes| all(&Facts { nodes, ..well() }).into_iter().filter(|c| c.verdict == Verdict::Fail).count();
        assert!(failing(3) == 0 && failing(200) >= 2, "{} {}", failing(3), failing(200));
    }

    #[test]
    fn a_no_proxy_that_has_the_subnets_is_fine() {
        for no_proxy in ["*", "10.0.0.0/8", "localhost, 10.213.0.0/16"] {
            let facts = Facts { proxies: vec![("http_proxy".into(), "x".into())], no_proxy: no_proxy.into(), ..well() };
            assert_eq!(proxies(&facts).verdict, Verdict::Ok, "{no_proxy}");
        }
    }

    #[test]
    fn the_capabilities_of_a_node_all_have_a_number() {
        for capability in CAPABILITIES {
            assert!(NUMBERS.iter().any(|(name, _)| name == capability), "{capability}");
        }
    }
}
