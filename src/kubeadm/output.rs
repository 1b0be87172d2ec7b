//! What a line of kubeadm's output means.

/// The phase that a line announces: `[etcd] Waiting …` gives `etcd`.
///
/// kubeadm marks its own words with the phase in brackets; log lines of `--v` begin with `I0512 12:00:00`.
pub fn phase(line: &str) -> Option<&str> {
    let inside = line.strip_prefix('[')?.split_once(']')?.0;
    let plain = !inside.is_empty() && inside.bytes().all(|b| b.is_ascii_lowercase() || b == b'-' || b == b'/');
    (plain && inside != "apiclient").then_some(inside)
}

/// kubeadm's own error: the last line `error: …` or `error execution phase …`, without the stack that `--v=5` prints below. Where that
/// says only that checks have failed, the checks follow it (`[ERROR Port-6443]: …`).
///
/// kubeadm prints warnings and retries with the word "error" before; only these two forms end it
/// (`cmd/kubeadm/app/util/error.go`).
pub fn error<'a>(lines: impl DoubleEndedIterator<Item = &'a str> + Clone) -> Option<String> {
    let last = lines.clone().rev().find(|line| line.starts_with("error: ") || line.starts_with("error execution phase "))?;
    let checks = lines.map(str::trim).filter(|line| line.starts_with("[ERROR "));
    let checks: Vec<&str> = if last.contains("preflight") { checks.collect() } else { Vec::new() };
    let last = last.strip_prefix("error: ").unwrap_or(last).trim_end_matches(':');
    Some(std::iter::once(last).chain(checks).collect::<Vec<_>>().join("\n  "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_told_by_brackets_and_nothing_else_is() {
        for (line, want) in [
            ("[etcd] Creating static Pod manifest for local etcd", Some("etcd")),
            ("[check-etcd] Checking that the etcd cluster is healthy", Some("check-etcd")),
            ("I0512 09:32:58.6 1 x.go:1] [etcd] no", None),
            ("[::1]:6443 is up", None),
            ("	[WARNING SystemVerification]: x", None),
            ("", None),
        ] {
            assert_eq!(phase(line), want, "{line}");
        }
    }

    #[test]
    fn checks_that_failed_are_named() {
        let lines = [
            "[preflight] Some fatal errors occurred:",
            "	[ERROR FileAvailable--etc-kubernetes-manifests-etcd.yaml]: /etc/kubernetes/manifests/etcd.yaml already exists",
            "[preflight] If you know what you are doing, you can make a check non-fatal with `--ignore-preflight-errors=...`",
            "error: error execution phase preflight: preflight checks failed",
        ];
        let want = "error execution phase preflight: preflight checks failed\n  [ERROR FileAvailable--etc-kubernetes-manifests-etcd.yaml]: /etc/kubernetes/manifests/etcd.yaml already exists";
        assert_eq!(error(lines.into_iter()).as_deref(), Some(want));
    }

    #[test]
    fn the_error_line_is_found_above_its_stack() {
        let lines = [
            "[check-etcd] Checking",
            "error execution phase etcd-join: error creating local etcd static pod manifest file: etcdserver: unhealthy cluster",
            "k8s.io/kubernetes/cmd/kubeadm/app/cmd/phases/workflow.(*Runner).Run",
            "	/x/runner.go:262",
        ];
        assert_eq!(error(lines.into_iter()).as_deref(), Some(lines[1]));
        assert_eq!(error(["all well"].into_iter()), None);
    }
}
