//! `joinder export logs`.

use std::path::PathBuf;
use std::time::Duration;

use super::context::engine;
use super::diag;
use super::exit::Exit;
use super::show;
use crate::cluster;

const ATTACH: Duration = Duration::from_secs(10);

pub(super) async fn logs(name: &str, dir: Option<PathBuf>) -> Exit {
    let dir = dir.unwrap_or_else(|| PathBuf::from("_artifacts").join(format!("logs-{name}")));
    let export = async {
        let runtime = engine().await?;
        let cluster = cluster::attach(&runtime, name, ATTACH).await?;
        anyhow::Ok(cluster.export_logs(&dir).await)
    };
    match export.await {
        Err(e) => diag::fail(Exit::BadEnvironment, &e),
        Ok(missing) => {
            let shown = show::write(&format!("{}\n", dir.display()));
            if missing.is_empty() {
                return shown;
            }
            diag::say(&format!("error: not all could be read:\n  {}", missing.join("\n  ")));
            Exit::Failed
        }
    }
}
