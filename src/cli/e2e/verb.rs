//! From the flags to ginkgo and back.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};

use super::super::context::Signals;
use super::super::exit::Exit;
use super::super::{diag, kinder, show};
use super::args::{E2eArgs, E2eKubeadmArgs, SuiteArgs};
use super::flags::Flags;
use super::programs::{GINKGO, KUBEADM, KUBERNETES, Wanted};
use crate::cluster;
use crate::runtime::label;
use crate::sys::process::{self, End, Pipe, Program};
use crate::sys::{env, shell};

/// ginkgo ends its suites in order first.
const GRACE: Duration = Duration::from_secs(30);
/// How many tests run at once when nobody says: ginkgo's own choice follows the machine, and was too few for a job's time.
const NODES: &str = "16";
const CONFORMANCE: &str = r"\[Conformance\]";
/// What conformance runs leave out.
const NO_CONFORMANCE: &str = r"Aggregator|Alpha|Kubectl|\[(Disruptive|Feature:[^\]]+|Flaky)\]";

type Failed = (Exit, anyhow::Error);

/// `test e2e`.
pub(in super::super) async fn kubernetes(args: &E2eArgs) -> Exit {
    let complete = |ginkgo: &mut Flags, suite: &mut Flags| {
        if args.conformance {
            ginkgo.or("focus", CONFORMANCE);
            ginkgo.or("skip", NO_CONFORMANCE);
        }
        if args.parallel {
            if !ginkgo.has("procs") {
                ginkgo.set_default("nodes", NODES);
            }
            ginkgo.or("skip", r"\[Serial\]");
        }
        // it would try to reach the nodes by ssh
        suite.set_default("disable-log-dump", "true");
    };
    run(&args.suite, &KUBERNETES, complete).await
}

/// `test e2e-kubeadm`.
pub(in super::super) async fn kubeadm(args: &E2eKubeadmArgs) -> Exit {
    let complete = |ginkgo: &mut Flags, _: &mut Flags| {
        if args.single_node {
            ginkgo.or("skip", r"\[multi-node\]");
        }
        if !args.automatic_copy_certs {
            ginkgo.or("skip", r"\[copy-certs\]");
        }
    };
    run(&args.suite, &KUBEADM, complete).await
}

async fn run(args: &SuiteArgs, wanted: &Wanted, complete: impl FnOnce(&mut Flags, &mut Flags)) -> Exit {
    let flags = |flag: &str, text: &str| Flags::read(text).map_err(|e| e.context(flag.to_owned()));
    let (mut ginkgo, mut suite) = match (flags("--ginkgo-flags", &args.ginkgo_flags), flags("--test-flags", &args.test_flags)) {
        (Ok(ginkgo), Ok(suite)) => (ginkgo, suite),
        (Err(e), _) | (_, Err(e)) => return diag::fail(Exit::BadCommandLine, &e),
    };
    ginkgo.set("no-color", "true");
    complete(&mut ginkgo, &mut suite);
    let signals = Signals::listen();
    match tested(args, wanted, &ginkgo, suite, &signals).await {
        Ok(()) => signals.or(Exit::Passed),
        Err((exit, e)) => diag::fail(signals.or(exit), &e),
    }
}

async fn tested(args: &SuiteArgs, wanted: &Wanted, ginkgo: &Flags, mut suite: Flags, signals: &Signals) -> Result<(), Failed> {
    let environment = |e: anyhow::Error| (Exit::BadEnvironment, e);
    if !suite.has("kubeconfig") {
        let given = args.kubeconfig.clone().filter(|file| !file.is_empty());
        let file = match given {
            Some(file) => file,
            None => kubeconfig(&args.cluster.name, signals).await.map_err(environment)?.display().to_string(),
        };
        suite.set("kubeconfig", &file);
    }
    let root = match args.kube_root.as_deref().filter(|root| !root.is_empty()) {
        Some(root) => PathBuf::from(root),
        None => sources(signals).await.map_err(environment)?,
    };
    let mut found = Vec::new();
    for wanted in [&GINKGO, wanted] {
        found.push(program(wanted, &root, args.dry_run, signals).await?);
    }
    let mut argv = vec![found[0].clone()];
    argv.extend(ginkgo.words());
    argv.extend([found[1].clone(), "--".to_owned()]);
    argv.extend(suite.words());
    go(&argv, args.dry_run, signals).await
}

/// The file that whoever made the cluster keeps its kubeconfig in.
async fn kubeconfig(name: &str, signals: &Signals) -> anyhow::Result<PathBuf> {
    let (runtime, _) = signals.engine().await?;
    let found = cluster::find(runtime.as_ref(), name).await?;
    let told = found.nodes.first().and_then(|node| node.labels.get(label::KUBECONFIG)).map(PathBuf::from);
    let file = told.or_else(|| kinder::kubeconfig_file(name)).context("HOME is not set, below which kinder keeps kubeconfigs")?;
    if !file.is_file() {
        return Err(anyhow!(
            "cluster {name:?} has no kubeconfig {}: kubeadm init comes first; or name one by --kubeconfig",
            file.display()
        ));
    }
    Ok(file)
}

/// Kubernetes' sources where Go has them.
async fn sources(signals: &Signals) -> anyhow::Result<PathBuf> {
    let mut all = env::var("GOPATH").unwrap_or_default();
    if all.is_empty() {
        let program = Program { program: "go".into(), args: vec!["env".into(), "GOPATH".into()], ..Program::default() };
        process::run(&program, GRACE, &signals.stop, |pipe, line, _| {
            if pipe == Pipe::Out {
                all += &line;
            }
        })
        .await;
    }
    let dirs = all.split(':').filter(|dir| !dir.is_empty()).map(|dir| Path::new(dir).join("src/k8s.io/kubernetes"));
    dirs.into_iter()
        .find(|dir| dir.is_dir())
        .context("Kubernetes' sources are not in $GOPATH/src/k8s.io/kubernetes: name their folder by --kube-root, or the one that the test archive of a release was unpacked to")
}

/// A program that is there, or that `make` makes.
async fn program(wanted: &Wanted, root: &Path, dry_run: bool, signals: &Signals) -> Result<String, Failed> {
    if let Some(path) = wanted.find(root) {
        return Ok(path.display().to_string());
    }
    if !root.join("Makefile").is_file() {
        let why = anyhow!("there is no {} below {}, and no Makefile to build it with", wanted.name, root.display());
        return Err((Exit::BadEnvironment, why));
    }
    let make = ["make", "-C", &root.display().to_string(), &format!("WHAT={}", wanted.goal)].map(str::to_owned);
    go(&make, dry_run, signals).await?;
    match wanted.find(root) {
        Some(path) => Ok(path.display().to_string()),
        None if dry_run => Ok(wanted.name.to_owned()),
        None => Err((Exit::BadEnvironment, anyhow!("make made no {} below {}", wanted.name, root.display()))),
    }
}

/// Runs a program for all to see, or only says how.
async fn go(argv: &[String], dry_run: bool, signals: &Signals) -> Result<(), Failed> {
    let line = shell::line(argv);
    if dry_run {
        let told = show::write(&format!("{line}\n"));
        return if told == Exit::Passed { Ok(()) } else { Err((told, anyhow!("the command could not be told"))) };
    }
    diag::say(&format!("$ {line}"));
    let program = Program { program: argv[0].clone(), args: argv[1..].to_vec(), ..Program::default() };
    let ran = process::run(&program, GRACE, &signals.stop, |pipe, line, more| follow(pipe, &line, more)).await;
    if !ran.leaked.is_empty() {
        diag::say(&format!("warning: {} left processes running, which were ended: {}", argv[0], ran.leaked.join(", ")));
    }
    match ran.end {
        End::Exited(0) => Ok(()),
        end @ End::NotStarted(_) => Err((Exit::BadEnvironment, anyhow!("{}: {end}", argv[0]))),
        end @ (End::Exited(_) | End::Signalled(_) | End::Stopped) => Err((Exit::Failed, anyhow!("{}: {end}", argv[0]))),
    }
}

/// A line, or a piece of a long one, where the program has written it.
fn follow(pipe: Pipe, line: &str, more: bool) {
    use std::io::Write;
    let end = if more { "" } else { "\n" };
    // where nobody reads on, the tests go on all the same
    let _ = match pipe {
        Pipe::Out => write!(std::io::stdout().lock(), "{line}{end}"),
        Pipe::Err => write!(std::io::stderr().lock(), "{line}{end}"),
    };
}
