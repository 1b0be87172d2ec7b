//! docs/kinder.md: each row is held by a test or a fixture that is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Functions in all sources, and names of bad files.
fn there() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut open = vec![root.join("src"), root.join("tests")];
    let mut names = BTreeSet::new();
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(&path).expect("UTF-8");
                names.extend(
                    text.lines()
                        .filter_map(|line| line.trim().trim_start_matches("async ").strip_prefix("fn ")?.split('(').next())
                        .map(str::to_owned),
                );
            } else if path.starts_with(root.join("tests/bad/v1")) {
                names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
            }
        }
    }
    names
}

#[test]
fn every_row_names_what_holds_it() {
    let there = there();
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/kinder.md")).expect("there");
    let mut rows = 0;
    // other tables have other columns
    let mut is_one = false;
    for line in text.lines() {
        is_one = line.starts_with("| what |") || is_one && line.starts_with('|');
        if !is_one || !line.starts_with("| ") || line.starts_with("| what |") {
            continue;
        }
        let cells: Vec<String> = line.replace("\\|", "¦").split('|').map(|cell| cell.trim().to_owned()).collect();
        let [_, what, kind, _, test, _] = &cells[..] else { panic!("{line}") };
        assert!(["same", "fixed", "new", "not yet", "none"].contains(&kind.as_str()), "{what}: {kind:?}");
        if kind == "none" && test.is_empty() {
            continue;
        }
        assert!(there.contains(test.trim_matches('`')), "{what}: there is no test {test}");
        rows += 1;
    }
    assert!(rows > 60, "{rows}");
}
