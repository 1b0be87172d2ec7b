//! `joinder version`.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::args::{Output, VersionArgs};
use super::context::engine;
use super::exit::Exit;
use super::show;
use crate::event;
use crate::image::default_versions;
use crate::runtime::{Engine, RuntimeError};

/// Who asks for a version does not wait for an engine.
const QUICK: Duration = Duration::from_secs(2);

pub(super) async fn version(args: &VersionArgs) -> Exit {
    let number = env!("CARGO_PKG_VERSION");
    if args.output == Some(Output::Name) {
        return show::write(&format!("{number}\n"));
    }
    let reach = async { engine().await?.engine().await };
    let engine: Option<Engine> = timeout(QUICK, reach).await.ok().and_then(|reached: Result<_, RuntimeError>| reached.ok());
    let data = json!({
        "version": number,
        "commit": option_env!("JOINDER_COMMIT"),
        "target": env!("JOINDER_TARGET"),
        "kubernetes": default_versions::KUBERNETES,
        "etcd": default_versions::ETCD,
        "events": event::FORMAT,
        "engine": engine.as_ref().map(|e| json!({"name": e.name, "api": e.api, "cgroups": e.cgroup_version, "arch": e.arch})),
    });
    match args.output {
        Some(Output::Json) => show::json(&data),
        Some(Output::Yaml) => show::yaml(&data),
        Some(Output::Name | Output::Wide) | None => show::write(&words(&data, engine.as_ref())),
    }
}

fn words(data: &Value, engine: Option<&Engine>) -> String {
    let text = |key: &str| data[key].as_str().map(str::to_owned);
    let commit = text("commit").map(|commit| format!(", commit {commit}")).unwrap_or_default();
    let of = |key: &str| text(key).unwrap_or_default();
    let engine = engine.map_or_else(|| "not reached".to_owned(), Engine::describe);
    format!(
        "joinder {}{commit}, {}\nby default: Kubernetes {}, etcd {}\nevents: format {}\nengine: {engine}\n",
        of("version"),
        of("target"),
        of("kubernetes"),
        of("etcd"),
        data["events"]
    )
}
