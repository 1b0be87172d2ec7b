//! From the command line to the verb.

use std::panic::{self, AssertUnwindSafe};

use clap::FromArgMatches;
use clap::error::ErrorKind;

use super::args::{Build, Cli, Command, Create, Delete, Export, Get};
use super::exit::Exit;
use super::{
    artifacts, build, create, delete, diag, doctor, exec, export, gc, get, kubeconfig, lint, manual, report, run, schema, version,
};

/// Reads the command line and does what it says.
pub fn main() -> Exit {
    // One provider for all TLS in the process; a second call would only say that there is one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let cli = match manual::command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(e) => {
            let shown = e.print();
            let asked = matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            return if asked && shown.is_ok() { Exit::Passed } else { Exit::BadCommandLine };
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(e) => return diag::fail(Exit::Unexpected, &anyhow::Error::new(e).context("cannot start")),
    };
    let exit = guarded(|| runtime.block_on(dispatch(cli)));
    // A blocked read of standard input must not keep the process alive.
    runtime.shutdown_background();
    exit
}

/// A panic is an unexpected error, and not the exit code 101 that Rust would make of it, which means something else here.
fn guarded(work: impl FnOnce() -> Exit) -> Exit {
    // Nothing that was in use is looked at again.
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        diag::say("error: joinder itself is broken: please report the lines above. `joinder gc` removes what this run has left");
        Exit::Unexpected
    })
}

async fn dispatch(cli: Cli) -> Exit {
    match cli.command {
        Command::Run(args) => run::run(args).await,
        Command::Lint(args) => lint::lint(&args),
        Command::Schema => schema::schema(),
        Command::Build(Build::NodeImage(args)) => build::node_image(args).await,
        Command::Create(Create::Cluster(args)) => create::cluster(args).await,
        Command::Delete(Delete::Cluster(args)) => delete::cluster(&args).await,
        Command::Get(Get::Clusters(args)) => get::clusters(args.output).await,
        Command::Get(Get::Nodes { cluster, output }) => get::nodes(&cluster.name, output.output).await,
        Command::Get(Get::Kubeconfig { cluster, internal }) => get::kubeconfig(&cluster.name, internal).await,
        Command::Get(Get::Artifacts { dir, output }) => artifacts::artifacts(&dir, output.output),
        Command::Exec(args) => exec::exec(&args).await,
        Command::Export(Export::Logs { cluster, dir }) => export::logs(&cluster.name, dir).await,
        Command::Export(Export::Kubeconfig { cluster, kubeconfig, internal }) => {
            kubeconfig::export(&cluster.name, kubeconfig.kubeconfig.as_deref(), internal).await
        }
        Command::Report(args) => report::report(&args),
        Command::Gc => gc::collect().await,
        Command::Doctor(args) => doctor::doctor(&args).await,
        Command::Version(args) => version::version(&args).await,
        Command::Completion(args) => manual::completion(args.shell),
        Command::Man(args) => manual::man(&args.dir),
        Command::Agent => serve().await,
    }
}

/// Inside a node: serves the host on standard input and output.
async fn serve() -> Exit {
    match crate::agent::serve(tokio::io::stdin(), tokio::io::stdout()).await {
        Ok(()) => Exit::Passed,
        Err(e) => diag::fail(Exit::Unexpected, &anyhow::Error::new(e).context("the agent cannot read its input")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_unexpected_error() {
        assert_eq!(guarded(|| panic!("a test's")).code(), 1);
        assert_eq!(guarded(|| Exit::Undecided), Exit::Undecided);
    }
}
