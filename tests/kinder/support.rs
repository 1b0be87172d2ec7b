//! A folder with workflows and stand-ins, and joinder in it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use joinder::sys::clock::Stamp;
use joinder::sys::env;
use tempfile::TempDir;

/// More than anything here takes.
pub(crate) const LONG: Duration = Duration::from_mins(1);

/// Between two looks at a file.
const GLANCE: Duration = Duration::from_millis(20);

pub(crate) struct Rig {
    dir: TempDir,
}

impl Rig {
    pub(crate) fn new() -> Self {
        let rig = Self { dir: tempfile::tempdir().expect("a folder") };
        for (label, version) in
            [("ci/latest-1.36", "v1.36.9-rc.0+abc"), ("ci/latest", "v1.38.0-alpha.0+def"), ("release/stable", "v1.37.2")]
        {
            rig.write(&format!("labels/{label}.txt"), &format!("{version}\n"));
        }
        rig
    }

    /// With one workflow, `w.yaml`.
    pub(crate) fn with(text: &str) -> Self {
        let rig = Self::new();
        rig.write("w.yaml", text);
        rig
    }

    /// With the fixtures, and stand-ins that write down how they are called.
    pub(crate) fn with_fixtures() -> Self {
        let rig = Self::new();
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/kinder/workflows");
        for entry in fs::read_dir(fixtures).expect("fixtures") {
            let path = entry.expect("an entry").path();
            fs::copy(&path, rig.path(&path.file_name().expect("a name").to_string_lossy())).expect("copied");
        }
        for program in ["kinder", "docker"] {
            rig.program(program, "echo \"$(basename \"$0\") $*\" | tee -a \"$CALLS\"");
        }
        rig
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// A stand-in in `PATH`.
    pub(crate) fn program(&self, name: &str, script: &str) {
        let name = format!("bin/{name}");
        self.write(&name, &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(self.path(&name), fs::Permissions::from_mode(0o755)).expect("made executable");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}; there are {:?}", self.names(".")))
    }

    /// Names in a folder, sorted.
    pub(crate) fn names(&self, dir: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(dir)) else { return Vec::new() };
        let mut names: Vec<String> = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_joinder"));
        let path = env::var("PATH").expect("a path");
        command
            .args(args)
            .current_dir(self.dir.path())
            .env("PATH", format!("{}:{path}", self.path("bin").display()))
            .env("CALLS", self.path("calls"))
            .env("JOINDER_RELEASES", self.path("labels"))
            // nothing here may reach an engine
            .env("DOCKER_HOST", "unix:///nonexistent/engine.sock")
            .env_remove("ARTIFACTS");
        command
    }

    pub(crate) fn joinder(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().expect("joinder starts"))
    }

    /// `test workflow w.yaml art` and more.
    pub(crate) fn test(&self, more: &[&str]) -> Ran {
        self.joinder(&[&["test", "workflow", "w.yaml", "art"], more].concat())
    }

    /// Waits until a file holds a text.
    pub(crate) fn wait_for(&self, name: &str, text: &str) {
        let began = Stamp::now();
        while !fs::read_to_string(self.path(name)).is_ok_and(|found| found.contains(text)) {
            assert!(Stamp::now().since(began) < LONG, "{name} never held {text:?}");
            std::thread::park_timeout(GLANCE);
        }
    }

    /// The testcases of `art/junit_runner.xml`: name, and the element inside with its text.
    pub(crate) fn junit(&self) -> Vec<(String, String)> {
        let text = self.read("art/junit_runner.xml");
        text.lines().fold(Vec::new(), |mut all: Vec<(String, String)>, line| {
            if let Some((_, rest)) = line.split_once("<testcase ") {
                let name = rest.split("name=\"").nth(2).or(rest.split(" name=\"").nth(1)).and_then(|rest| rest.split('"').next());
                all.push((name.unwrap_or_default().to_owned(), String::new()));
            } else if let (Some(last), false) = (all.last_mut(), line.trim_start().starts_with("</")) {
                last.1 += line.trim();
            }
            all
        })
    }
}

pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Ended so.
    pub(crate) fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        self
    }
}

/// Does a process run? A zombie does not.
pub(crate) fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}
