//! The files of `workflows/bugs`: each says of which kind it is and with which versions it passes or fails, its `knownBad` means just
//! those, and the README's table says the same.

use std::collections::BTreeSet;
use std::path::Path;

use joinder::workflow::{Plan, Request, plans};

const KINDS: [&str; 3] = ["regression", "by-design", "guard"];

struct Bug {
    name: String,
    kind: String,
    /// `kubernetes v1.36.3, v1.37.2`; what `scripts/verify-bugs` reads.
    good: Option<String>,
    bad: Option<String>,
    /// With each version that is named: is it a good one, and the plans with it.
    cases: Vec<(String, bool, Vec<Plan>)>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// `kubernetes v1.36.3, v1.37.2` as `[("kubernetes", "v1.36.3"), ("kubernetes", "v1.37.2")]`.
fn versions(line: &str) -> Vec<(String, String)> {
    let (var, versions) = line.split_once(' ').unwrap_or_default();
    versions.split(", ").map(|version| (var.to_owned(), version.to_owned())).collect()
}

fn bugs() -> Vec<Bug> {
    let folder = root().join("workflows/bugs");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(&folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a file");
        let stated = |key: &str| {
            let mut lines = text.lines().filter_map(|line| line.strip_prefix(&format!("# {key}: ")));
            let first = lines.next().map(str::to_owned);
            assert!(lines.next().is_none(), "{name}: two lines `# {key}:`");
            first
        };
        let kind = KINDS.into_iter().find(|kind| stated(kind).is_some());
        let kind = kind.unwrap_or_else(|| panic!("{name}: no line `# KIND: REPORT…` with one of {KINDS:?}")).to_owned();
        let (good, bad) = (stated("good"), stated("bad"));
        let mut cases = Vec::new();
        for (line, is_good) in [(&good, true), (&bad, false)] {
            for (var, version) in line.iter().flat_map(|line| versions(line)) {
                let request = Request { vars: [(var, version.clone())].into(), ..Request::default() };
                let loaded = plans(&path, &request).unwrap_or_else(|problems| panic!("{name}: {problems}"));
                cases.push((version, is_good, loaded.plans));
            }
        }
        all.push(Bug { name, kind, good, bad, cases });
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

#[test]
fn each_says_its_kind_and_its_versions() {
    for bug in bugs() {
        let name = &bug.name;
        assert!(bug.good.is_some(), "{name}: no line `# good: VAR VERSION, …`");
        assert_eq!(bug.bad.is_some(), bug.kind == "regression", "{name}: a regression has bad versions, and nothing else has");
        let named: Vec<&String> = bug.cases.iter().map(|(version, _, _)| version).collect();
        assert_eq!(named.iter().collect::<BTreeSet<_>>().len(), named.len(), "{name}: a version twice: {named:?}");
    }
}

#[test]
fn known_bad_means_just_the_bad_versions() {
    for bug in bugs() {
        for (version, good, plans) in &bug.cases {
            for plan in plans {
                let (kubeadm, etcd) = (plan.cluster.kubernetes.as_deref(), plan.cluster.etcd.version.as_deref());
                let about: Vec<_> = plan.known_bad.iter().filter(|entry| entry.is_about(kubeadm, etcd)).collect();
                assert_eq!(about.is_empty(), *good, "{} with {version}", bug.name);
                assert!(about.iter().all(|entry| entry.strict && entry.fails.error.is_some()), "{} with {version} is not exact", bug.name);
            }
        }
    }
}

#[test]
fn the_readme_says_the_same() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("a file");
    let section = readme.split("\n## ").find(|section| section.starts_with("Real bugs this reproduces")).expect("the section");
    for Bug { name, kind, good, bad, .. } in bugs() {
        let link = format!("](workflows/bugs/{name}.yaml)");
        let rows: Vec<&str> = section.lines().filter(|line| line.starts_with('|') && line.contains(&link)).collect();
        let [row] = rows[..] else { panic!("{name}: {} rows", rows.len()) };
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let wanted = [Some(kind), good, Some(bad.unwrap_or_else(|| "—".to_owned()))];
        for cell in wanted.into_iter().flatten() {
            assert!(cells.contains(&cell.as_str()), "{name}: no cell {cell:?} in {row}");
        }
    }
    let rows = section.lines().filter(|line| line.contains("](workflows/bugs/")).count();
    assert_eq!(rows, bugs().len(), "rows of files that are not there");
}
