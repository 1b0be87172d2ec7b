//! The verb: gathers, checks, shows.

use serde_json::json;

use super::checks::{Check, Verdict, all};
use super::gather::gather;
use crate::cli::args::{DoctorArgs, Output};
use crate::cli::context::Signals;
use crate::cli::exit::Exit;
use crate::cli::show;
use crate::report::plain;

pub(in crate::cli) async fn doctor(args: &DoctorArgs) -> Exit {
    let signals = Signals::listen();
    let facts = tokio::select! {
        biased;
        () = signals.stop.soft.cancelled() => return signals.or(Exit::Passed),
        facts = gather(args.nodes.into()) => facts,
    };
    let checks = all(&facts);
    let failed = checks.iter().any(|c| c.verdict == Verdict::Fail);
    let data = json!({"nodes": args.nodes, "ok": !failed, "checks": checks});
    let shown = match args.output {
        None | Some(Output::Wide) => show::write(&plain(&checks.iter().map(line).collect::<String>())),
        Some(Output::Name) => {
            let unwell = checks.iter().filter(|c| c.verdict != Verdict::Ok);
            show::write(&unwell.map(|c| format!("{}\n", c.name)).collect::<Vec<_>>().concat())
        }
        Some(Output::Json) => show::json(&data),
        Some(Output::Yaml) => show::yaml(&data),
    };
    if failed && shown == Exit::Passed { Exit::BadEnvironment } else { shown }
}

fn line(check: &Check) -> String {
    let fix = check.fix.as_ref().map(|fix| format!("{:11}fix: {fix}\n", "")).unwrap_or_default();
    format!("{:<9}  {:<24}  {}\n{fix}", check.verdict.word(), check.name, check.saw)
}
