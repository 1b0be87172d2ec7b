//! `joinder get artifacts`: what runs have left in a folder, by their first events and the last one.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::Context;
use serde::Serialize;
use serde_json::{Value, json};

use super::args::Output;
use super::diag;
use super::exit::Exit;
use super::show;

/// The cases of a run begin after its first event and perhaps some notes.
const FIRST: usize = 20;
/// A line is at most so long; a longer one is not looked for.
const LONGEST: u64 = 64 << 10;

/// A run as its events tell of it. What a torn file does not tell is missing.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Kept {
    name: String,
    run: Option<String>,
    /// RFC 3339.
    began: Option<String>,
    /// The file of its first case.
    workflow: Option<String>,
    /// `None` for a run that goes on, or was killed.
    exit: Option<u64>,
}

pub(super) fn artifacts(dir: &Path, output: Output) -> Exit {
    let kept = match list(dir) {
        Ok(kept) => kept,
        Err(e) => return diag::fail(Exit::BadEnvironment, &e),
    };
    if kept.is_empty() && matches!(output, Output::Name | Output::Wide) {
        diag::say(&format!("there is no run in {}", dir.display()));
    }
    let or = |text: &Option<String>| text.clone().unwrap_or_else(|| "?".into());
    let row = |k: &Kept| {
        let exit = k.exit.map_or_else(|| "unfinished".to_owned(), |exit| exit.to_string());
        let began = or(&k.began);
        // seconds are enough for people
        let began = began.split_once('.').map_or(began.clone(), |(seconds, _)| format!("{seconds}Z"));
        [k.name.clone(), began, or(&k.workflow), exit]
    };
    show::rows(output, ["NAME", "BEGAN", "WORKFLOW", "EXIT"], kept.iter().map(row).collect(), &json!(kept))
}

/// The runs in `dir`, oldest first; `dir` itself where it is one.
fn list(dir: &Path) -> anyhow::Result<Vec<Kept>> {
    let read = |path: &Path, name: String| {
        let events = path.join("events.jsonl");
        events.is_file().then(|| kept(&events, name).with_context(|| format!("cannot read {}", events.display()))).transpose()
    };
    if let Some(own) = read(dir, dir.display().to_string())? {
        return Ok(vec![own]);
    }
    let mut all = Vec::new();
    match fs::read_dir(dir) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(all),
        Err(e) => return Err(anyhow::Error::new(e).context(format!("cannot read folder {}", dir.display()))),
        Ok(entries) => {
            for entry in entries.flatten() {
                // `latest` is a link to one of the others
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    all.extend(read(&entry.path(), entry.file_name().to_string_lossy().into_owned())?);
                }
            }
        }
    }
    all.sort_by(|a, b| (&a.began, &a.name).cmp(&(&b.began, &b.name)));
    Ok(all)
}

fn kept(events: &Path, name: String) -> std::io::Result<Kept> {
    let mut file = File::open(events)?;
    let mut kept = Kept { name, run: None, began: None, workflow: None, exit: None };
    let mut lines = BufReader::new(&file).take(FIRST as u64 * LONGEST);
    for _ in 0..FIRST {
        let mut line = Vec::new();
        lines.read_until(b'\n', &mut line)?;
        // A torn line tells nothing; the ones behind it may.
        let Ok(event) = serde_json::from_slice::<Value>(&line) else { continue };
        let text = |key: &str| event[key].as_str().map(str::to_owned);
        match event["type"].as_str() {
            Some("run-started") => (kept.run, kept.began) = (text("run"), text("wall")),
            Some("case-started") => {
                kept.workflow = text("file");
                break;
            }
            Some(_) | None => {}
        }
    }
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LONGEST)))?;
    let mut tail = Vec::new();
    file.take(LONGEST).read_to_end(&mut tail)?;
    let last = tail.trim_ascii_end().rsplit(|b| *b == b'\n').next().unwrap_or_default();
    let last: Value = serde_json::from_slice(last).unwrap_or_default();
    kept.exit = last["exit"].as_u64().filter(|_| last["type"] == "run-finished");
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STARTED: &str = r#"{"seq":1,"mono_ns":1,"wall":"2026-12-01T15:03:21.302137231Z","type":"run-started","run":"ab","format":2}"#;
    const CASE: &str = r#"{"seq":2,"mono_ns":2,"wall":"2026-12-01T15:03:22Z","type":"case-started","file":"workflows/join/single.yaml"}"#;
    const FINISHED: &str =
        r#"{"seq":3,"mono_ns":3,"wall":"2026-12-01T15:03:23Z","type":"run-finished","exit":100,"took":{"secs":1,"nanos":0}}"#;

    fn of(text: &str) -> Kept {
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir(dir.path().join("ab")).expect("made");
        fs::write(dir.path().join("ab/events.jsonl"), text).expect("written");
        std::os::unix::fs::symlink("ab", dir.path().join("latest")).expect("linked");
        let mut all = list(dir.path()).expect("read");
        assert_eq!(all.len(), 1, "the link is none of its own");
        let own = list(&dir.path().join("ab")).expect("read");
        assert_eq!(own[0].exit, all[0].exit, "a run's own folder is read too");
        all.remove(0)
    }

    #[test]
    fn a_whole_file_tells_all() {
        let kept = of(&format!("{STARTED}\n{CASE}\n{FINISHED}\n"));
        assert_eq!((kept.run.as_deref(), kept.exit), (Some("ab"), Some(100)));
        assert_eq!(kept.workflow.as_deref(), Some("workflows/join/single.yaml"));
        assert_eq!(kept.began.as_deref(), Some("2026-12-01T15:03:21.302137231Z"));
    }

    #[test]
    fn a_torn_file_tells_what_it_has() {
        let whole = format!("{STARTED}\n{CASE}\n{FINISHED}\n");
        for cut in 0..whole.len() - 1 {
            let kept = of(&whole[..cut]);
            assert_eq!(kept.exit, None, "{cut}");
            assert_eq!(kept.workflow.is_some(), cut > STARTED.len() + CASE.len(), "{cut}");
        }
        assert_eq!(of("\0\0\0\nnot json\n").began, None);
        assert_eq!(of(&format!("half of a li\n{STARTED}\n{CASE}\n")).run.as_deref(), Some("ab"));
    }

    #[test]
    fn a_folder_that_is_not_there_holds_no_run() {
        assert_eq!(list(Path::new("/no/such/folder")).expect("fine"), []);
    }
}
