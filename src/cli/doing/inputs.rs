//! From flags to what an action is told, and which flags it does not read.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};

use super::args::DoArgs;
use crate::action::{Action, Options};
use crate::kubeadm::wishes::{CopyCerts, Discover, Wishes};
use crate::spec::Order;

/// kinder's.
const WAIT: Duration = Duration::from_mins(5);

/// What the flags come to.
pub(super) fn options(args: &DoArgs) -> anyhow::Result<Options> {
    let mut wishes = Wishes {
        verbosity: Some(args.kubeadm_verbosity.unwrap_or(0)),
        phases: args.use_phases,
        copy_certs: args.copy_certs.unwrap_or(CopyCerts::Manual),
        discovery: Some(args.discovery_mode.unwrap_or(Discover::Token)),
        ignored: args.ignore_preflight_errors.as_deref().map(list),
        config_api: args.kubeadm_config_version.clone().filter(|version| !version.is_empty()),
        gates: gates(&args.kubeadm_feature_gate)?,
        encryption: args.kubeadm_encryption_algorithm.clone().filter(|algorithm| !algorithm.is_empty()),
        patches: true,
        ..Wishes::default()
    };
    if wishes.encryption.is_some() && wishes.config_api.as_deref() == Some("v1beta3") {
        bail!("--kubeadm-encryption-algorithm: v1beta3 of kubeadm's configuration has none");
    }
    for file in &args.config_patch {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        wishes.patch(&text).map_err(|why| anyhow!("{}: {why}", file.display()))?;
    }
    Ok(Options {
        name: args.cluster.name.clone(),
        only_node: args.only_node.clone().filter(|name| !name.is_empty()),
        dry_run: args.dry_run,
        wait: args.wait.unwrap_or(WAIT),
        order: args.order.map_or(Order::Serial, Order::from),
        upgrade: args.upgrade_version.clone(),
        patches: args.patches.as_deref().filter(|dir| !dir.is_empty()).map(|dir| patches(Path::new(dir))).transpose()?.unwrap_or_default(),
        wishes,
    })
}

/// Flags that were given and that the action does not read.
pub(super) fn ignored(action: Action, args: &DoArgs) -> Vec<&'static str> {
    use Action::{KubeadmConfig as Config, KubeadmInit as Init, KubeadmJoin as Join, KubeadmReset as Reset, KubeadmUpgrade as Upgrade};
    use Action::{SetupExternalCa, SmokeTest};
    // each action reads --name, and --dry-run: it can be told instead of being done
    let table: [(&str, bool, &[Action]); 14] = [
        ("--only-node", args.only_node.is_some(), &[Join, Upgrade, Reset, Config]),
        ("--use-phases", args.use_phases, &[Init, Join]),
        ("--upgrade-version", args.upgrade_version.is_some(), &[Upgrade]),
        ("--copy-certs", args.copy_certs.is_some(), &[Init, Join, Config]),
        ("--discovery-mode", args.discovery_mode.is_some(), &[Join, Config]),
        ("--wait", args.wait.is_some(), &[Init, Join, Upgrade, SmokeTest]),
        ("--kubeadm-verbosity", args.kubeadm_verbosity.is_some(), &[Init, Join, Reset, Upgrade, SetupExternalCa]),
        ("--patches", args.patches.is_some(), &[Init, Join, Upgrade]),
        ("--ignore-preflight-errors", args.ignore_preflight_errors.is_some(), &[Init, Join, Upgrade, Config]),
        ("--kubeadm-config-version", args.kubeadm_config_version.is_some(), &[Init, Join, Config]),
        ("--kubeadm-feature-gate", !args.kubeadm_feature_gate.is_empty(), &[Init, Config, SetupExternalCa]),
        ("--kubeadm-encryption-algorithm", args.kubeadm_encryption_algorithm.is_some(), &[Init, Config, SetupExternalCa]),
        ("--order", args.order.is_some(), &[Join]),
        ("--config-patch", !args.config_patch.is_empty(), &[Init, Join, Upgrade, Config, SetupExternalCa]),
    ];
    table.into_iter().filter(|(_, given, by)| *given && !by.contains(&action)).map(|(flag, ..)| flag).collect()
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// `A=true`, also in quotes that a workflow has left around it.
fn gates(given: &[String]) -> anyhow::Result<Vec<(String, bool)>> {
    let all = given.iter().flat_map(|text| list(text.trim().trim_matches(['"', '\'']))).collect::<Vec<_>>();
    let gate = |text: &String| {
        let (name, on) = text.split_once('=')?;
        Some((name.trim().to_owned(), on.trim().to_ascii_lowercase().parse().ok()?))
    };
    all.iter()
        .map(|text| gate(text).ok_or_else(|| anyhow!("--kubeadm-feature-gate {text:?}: write it as NAME=true or NAME=false")))
        .collect()
}

/// The files of a folder.
fn patches(dir: &Path) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let failed = || format!("--patches: cannot read {}", dir.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        if entry.path().is_file() {
            let bytes = std::fs::read(entry.path()).with_context(failed)?;
            files.push((entry.file_name().to_string_lossy().into_owned(), bytes));
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, FromArgMatches};

    use super::super::super::args::{Cli, Command};
    use super::*;

    fn parsed(words: &str) -> (Action, DoArgs) {
        let words = ["joinder", "do"].into_iter().chain(words.split(' '));
        let matches = Cli::command().try_get_matches_from(words).unwrap_or_else(|e| panic!("{e}"));
        let Command::Do(what) = Cli::from_arg_matches(&matches).expect("fine").command else { panic!("do") };
        what.parts()
    }

    #[test]
    fn flags_that_an_action_ignores_are_named() {
        let all = "--only-node x --use-phases --upgrade-version v1.0.0 --copy-certs auto --discovery-mode file --wait 1m --kubeadm-verbosity 6 --patches . \
            --ignore-preflight-errors Swap --kubeadm-config-version v1beta4 --kubeadm-feature-gate A=true --kubeadm-encryption-algorithm RSA-2048 --order staged --config-patch f --dry-run";
        let all = all.split_whitespace().collect::<Vec<_>>().join(" ");
        for (action, read) in [
            ("cluster-info", 0),
            ("copy-certs", 0),
            ("loadbalancer", 0),
            ("smoke-test", 1),
            ("setup-external-ca", 4),
            ("kubeadm-reset", 2),
            ("kubeadm-config", 8),
            ("kubeadm-init", 10),
            ("kubeadm-join", 11),
            ("kubeadm-upgrade", 7),
        ] {
            let (action, args) = parsed(&format!("{action} {all}"));
            assert_eq!(14 - ignored(action, &args).len(), read, "{action:?}: {:?}", ignored(action, &args));
        }
        let (action, args) = parsed("cluster-info");
        assert!(ignored(action, &args).is_empty());
    }

    #[test]
    fn defaults_are_kinders() {
        let options = options(&parsed("kubeadm-join").1).expect("fine");
        assert_eq!((options.wait, options.order, options.only_node, options.dry_run), (WAIT, Order::Serial, None, false));
        let wishes = options.wishes;
        assert_eq!((wishes.level(), wishes.copy_certs, wishes.discovery), (0, CopyCerts::Manual, Some(Discover::Token)));
        assert!(wishes.ignored.is_none() && wishes.gates.is_empty() && !wishes.phases);
    }

    #[test]
    fn gates_stand_in_quotes_and_there_may_be_several() {
        let (_, args) = parsed("kubeadm-init --kubeadm-feature-gate=\"RootlessControlPlane=true\" --kubeadm-feature-gate A=false,B=True");
        let gates = options(&args).expect("fine").wishes.gates;
        assert_eq!(gates, [("RootlessControlPlane".to_owned(), true), ("A".into(), false), ("B".into(), true)]);
        let (_, args) = parsed("kubeadm-init --kubeadm-feature-gate A");
        assert!(options(&args).expect_err("wrong").to_string().contains("NAME=true"));
    }

    #[test]
    fn what_is_ignored_in_preflight_and_waited_for_is_read_as_kinder_does() {
        let (_, args) = parsed("kubeadm-init --ignore-preflight-errors=Swap,KubeletVersion, --wait 1m30s");
        let options = options(&args).expect("fine");
        assert_eq!(options.wishes.ignored, Some(vec!["Swap".into(), "KubeletVersion".into()]));
        assert_eq!(options.wait, Duration::from_secs(90));
        let wrong = ["joinder", "do", "kubeadm-init", "--wait", "90"];
        assert!(Cli::command().try_get_matches_from(wrong).is_err(), "a length of time has a unit");
    }

    #[test]
    fn patches_and_documents_come_from_files() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join("etcd.json"), "{}").expect("written");
        std::fs::write(dir.path().join("bad.yaml"), "kind: Pod").expect("written");
        let at = dir.path().display().to_string();
        let (_, args) = parsed(&format!("kubeadm-init --patches {at}"));
        let patches = options(&args).expect("fine").patches;
        assert_eq!(patches.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["bad.yaml", "etcd.json"]);
        for (words, says) in [
            (format!("--config-patch {at}/bad.yaml"), "Pod is none of"),
            (format!("--config-patch {at}/none.yaml"), "cannot read"),
            (format!("--patches {at}/none"), "cannot read"),
            ("--kubeadm-encryption-algorithm ECDSA-P384 --kubeadm-config-version v1beta3".into(), "v1beta3"),
        ] {
            let why = format!("{:#}", options(&parsed(&format!("kubeadm-init {words}")).1).expect_err("wrong"));
            assert!(why.contains(says), "{words}: {why}");
        }
    }
}
