//! Looks at the engine and at this machine.

use std::path::Path;

use nix::sys::statvfs::statvfs;

use super::facts::Facts;
use crate::cli::context::engine;
use crate::cluster;
use crate::image::find;
use crate::runtime::{Engine, Runtime, RuntimeError};
use crate::sys::env;

/// Go's programs, kubectl among them, read both spellings.
const PROXIES: &[&str] = &["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];

/// Everything that can be known without making a container.
pub(super) async fn gather(nodes: u64) -> Facts {
    let proxies = PROXIES.iter().filter_map(|name| Some(((*name).to_owned(), env::var(name)?))).collect();
    let no_proxy = env::var("NO_PROXY").or_else(|| env::var("no_proxy")).unwrap_or_default();
    let mut facts = Facts {
        nodes,
        engine: Err(String::new()),
        capabilities: None,
        inotify_instances: None,
        inotify_watches: None,
        files_left: None,
        own_files: limit("/proc/self/limits"),
        engine_files: None,
        disk: None,
        memory: None,
        subnets: None,
        proxies,
        no_proxy,
        kmsg: None,
        images: None,
    };
    let reached = async {
        let runtime = engine().await?;
        let about = runtime.engine().await?;
        Ok::<_, RuntimeError>((runtime, about))
    };
    match reached.await {
        Err(e) => facts.engine = Err(e.to_string()),
        Ok((runtime, about)) => {
            facts.subnets = runtime.networks(&[]).await.ok().map(|all| cluster::free_subnets(&all));
            facts.images = Some(images(runtime.as_ref()).await);
            process(&mut facts, &about);
            // One kernel's release twice: nobody runs the engine in a virtual machine with just the same.
            if text("/proc/sys/kernel/osrelease").is_some_and(|own| own == about.host.kernel) {
                machine(&mut facts, &about);
            }
            facts.engine = Ok(about);
        }
    }
    facts
}

async fn images(runtime: &dyn Runtime) -> Result<Vec<String>, String> {
    let node = find::node_image(runtime, None, None).await.map_err(|e| e.to_string())?;
    let balancer = find::load_balancer(runtime).await.map_err(|e| e.to_string())?;
    Ok(vec![find::reference(&node).to_owned(), find::reference(&balancer).to_owned()])
}

/// Where Docker's daemon leaves its process id.
const PID_FILE: &str = "/run/docker.pid";

/// What the engine's own process may do.
fn process(facts: &mut Facts, about: &Engine) {
    let name = |pid: i32| text(&format!("/proc/{pid}/comm")).unwrap_or_default();
    let Some(listener) = about.host.pid else { return };
    // Behind systemd's socket it is systemd that listens, which says nothing of the engine.
    let pid = if name(listener) == "systemd" { text(PID_FILE).and_then(|pid| pid.parse().ok()) } else { Some(listener) };
    let Some(pid) = pid.filter(|pid| ["dockerd", "podman"].contains(&name(*pid).as_str())) else { return };
    let status = text(&format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    facts.capabilities = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    facts.engine_files = limit(&format!("/proc/{pid}/limits"));
}

fn machine(facts: &mut Facts, about: &Engine) {
    let number = |path: &str| text(path)?.parse().ok();
    // Nodes run as this user does: what others of the same user hold is not there for them.
    facts.inotify_instances =
        number("/proc/sys/fs/inotify/max_user_instances").map(|most: u64| most.saturating_sub(inotify_instances_in_use()));
    facts.inotify_watches = number("/proc/sys/fs/inotify/max_user_watches");
    // three numbers: open, free, most
    let files = text("/proc/sys/fs/file-nr").unwrap_or_default();
    let files: Vec<u64> = files.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    facts.files_left = files.first().zip(files.get(2)).map(|(open, most)| most.saturating_sub(*open));
    let memory = text("/proc/meminfo").unwrap_or_default();
    let kib = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:")?.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    facts.memory = kib.map(|kib| kib << 10);
    facts.kmsg = Some(Path::new("/dev/kmsg").exists());
    facts.disk = statvfs(about.host.store.as_str()).ok().map(|fs| fs.blocks_available() * fs.fragment_size());
}

/// The soft limit of open files.
fn limit(path: &str) -> Option<u64> {
    let limits = text(path)?;
    let soft = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?.split_whitespace().next()?;
    if soft == "unlimited" { Some(u64::MAX) } else { soft.parse().ok() }
}

fn text(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// Inotify instances of all processes that can be looked into.
fn inotify_instances_in_use() -> u64 {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let fds = processes.filter_map(|process| std::fs::read_dir(process.path().join("fd")).ok()).flatten().flatten();
    let instances = fds.filter(|fd| std::fs::read_link(fd.path()).is_ok_and(|target| target.as_os_str() == "anon_inode:inotify"));
    u64::try_from(instances.count()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_a_limit_of_open_files() {
        assert!(limit("/proc/self/limits").is_some_and(|n| n > 0));
        assert_eq!(limit("/proc/self/no-such"), None);
    }
}
