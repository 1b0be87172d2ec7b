//! From the command line to the verb.

use std::panic;

use clap::FromArgMatches;
use clap::error::ErrorKind;

use super::args::{Build, Cli, Command, Create, Delete, Export, Get, Test};
use super::exit::Exit;
use super::{
    advise, artifacts, build, cp, create, delete, diag, doctor, doing, e2e, exec, export, gc, get, kinder, kubeconfig, lint, manual,
    migrate, pflag, report, run, schema, test, variant, version, watch,
};

/// Reads the command line and does what it says.
pub fn main() -> Exit {
    end_on_panic();
    // One provider for all TLS in the process; a second call would only say that there is one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let called = kinder::Called::look();
    let command = called.command(manual::command());
    let words: Vec<_> = std::env::args_os().collect();
    let cli = match pflag::matches(command, &words).and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(e) => {
            let shown = e.print();
            let asked = matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            return called.exit(if asked && shown.is_ok() { Exit::Passed } else { Exit::BadCommandLine });
        }
    };
    kinder::check_level(cli.loglevel.as_deref());
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(e) => return diag::fail(Exit::Unexpected, &anyhow::Error::new(e).context("cannot start")),
    };
    let exit = called.exit(runtime.block_on(dispatch(cli, called)));
    // A blocked read of standard input must not keep the process alive.
    runtime.shutdown_background();
    exit
}

/// A panic, also one in a task, ends the program as an unexpected error: nothing that was in use is looked at again. Rust's own
/// exit code, 101, means something else here. The release build does not unwind, which makes the program smaller.
fn end_on_panic() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        usual(panic);
        diag::say("error: joinder itself is broken: please report the lines above. `joinder gc` removes what this run has left");
        #[expect(clippy::disallowed_methods, clippy::exit, reason = "main does not get its turn any more")]
        std::process::exit(i32::from(Exit::Unexpected.code()));
    }));
}

async fn dispatch(cli: Cli, called: kinder::Called) -> Exit {
    match cli.command {
        Command::Run(args) => run::run(args).await,
        Command::Test(Test::Workflow(args)) => test::workflow(args).await,
        Command::Test(Test::E2e(args)) => e2e::kubernetes(&args).await,
        Command::Test(Test::E2eKubeadm(args)) => e2e::kubeadm(&args).await,
        Command::Migrate(args) => migrate::migrate(&args),
        Command::Lint(args) => lint::lint(&args),
        Command::Schema => schema::schema(),
        Command::Build(Build::NodeImage(args)) => build::node_image(args).await,
        Command::Build(Build::EtcdImage(args)) => build::etcd_image(args).await,
        Command::Build(Build::Base(_)) => build::base_image(),
        Command::Build(Build::NodeImageVariant(args)) => variant::build(args, called).await,
        Command::Create(Create::Cluster(args)) => create::cluster(called.create(args), called).await,
        Command::Delete(Delete::Cluster(args)) => delete::cluster(&args, called).await,
        Command::Delete(Delete::Clusters(args)) => delete::clusters(args, called).await,
        Command::Get(Get::Clusters(args)) => get::clusters(args.output).await,
        Command::Get(Get::Nodes { cluster, output }) => get::nodes(&cluster.name, output.output, called).await,
        Command::Get(Get::Kubeconfig { cluster, internal }) => get::kubeconfig(&cluster.name, internal).await,
        Command::Get(Get::Artifacts { dir, output }) => artifacts::artifacts(&dir, output.output),
        Command::Get(Get::BuildArtifacts(args)) => variant::artifacts(args).await,
        Command::Do(what) => doing::act(what).await,
        Command::Exec(args) => exec::exec(&args, called).await,
        Command::Cp(args) => cp::cp(&args).await,
        Command::Get(Get::KubeconfigPath { cluster }) => kinder::kubeconfig_path(&cluster.name),
        Command::Version(_) if called.is_kinder() => kinder::version(),
        Command::Export(Export::Logs { cluster, dir }) => export::logs(&cluster.name, dir).await,
        Command::Export(Export::Kubeconfig { cluster, kubeconfig, internal }) => {
            kubeconfig::export(&cluster.name, kubeconfig.kubeconfig.as_deref(), internal, called).await
        }
        Command::Watch(args) => watch::watch(&args).await,
        Command::Advise(args) => advise::advise(&args).await,
        Command::Report(args) => report::report(&args),
        Command::Gc => gc::collect().await,
        Command::Doctor(args) => doctor::doctor(&args).await,
        Command::Version(args) => version::version(&args).await,
        Command::Completion(args) => manual::completion(args.shell),
        Command::Man(args) => manual::man(&args.dir),
        Command::Agent { idle: false } => serve().await,
        Command::Agent { idle: true } => idle().await,
    }
}

/// Inside a node: serves the host on standard input and output.
async fn serve() -> Exit {
    match crate::agent::serve(tokio::io::stdin(), tokio::io::stdout()).await {
        Ok(()) => Exit::Passed,
        Err(e) => diag::fail(Exit::Unexpected, &anyhow::Error::new(e).context("the agent cannot read its input")),
    }
}

/// The first process of a container without a system.
async fn idle() -> Exit {
    match crate::agent::idle().await {
        Ok(()) => Exit::Passed,
        Err(e) => diag::fail(Exit::Unexpected, &anyhow::Error::new(e).context("signals cannot be listened to")),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_panic_in_a_thread_is_an_unexpected_error() {
        let this = std::env::current_exe().expect("this test");
        let name = "cli::dispatch::tests::panics";
        let ended = Command::new(this).args(["--exact", name, "--ignored"]).output().expect("it starts");
        assert_eq!(ended.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&ended.stderr).contains("please report the lines above"));
    }

    #[test]
    #[ignore = "ends the program that it runs in; the other test runs it"]
    fn panics() {
        end_on_panic();
        let _ = std::thread::spawn(|| panic!("a test's")).join();
    }
}
