//! The rows of `docs/oracle.md`: what is predicted of each, and that both say the same.

use std::time::Duration;

use super::{Before, Limits, Own, RULES, predict};

/// kubeadm and etcd as node images have them.
const NEW: (&str, &str) = ("v1.36.3", "3.6.16");
const OLD: (&str, &str) = ("v1.34.4", "3.6.5");

/// As the workflows in `workflows/oracle` set them, so that a row takes a minute or two.
const SHORT: Limits =
    Limits { etcd_api_call: Duration::from_secs(30), tls_bootstrap: Duration::from_mins(1), discovery: Duration::from_mins(1) };

fn base(voters: usize, down: usize) -> Before {
    Before {
        kubeadm: NEW.0.into(),
        etcd: NEW.1.into(),
        voters,
        down,
        stale: 0,
        limit: 1,
        own: Own::Nothing,
        no_space: false,
        joiners: 1,
        at_once: true,
        limits: SHORT,
    }
}

/// Each situation by its name.
fn situations() -> Vec<(&'static str, Before)> {
    let wiped = |learner, followed, in_sync| Own::Wiped { learner, followed: Some(followed), in_sync: Some(in_sync) };
    let own = |voters, down, own| Before { own, ..base(voters, down) };
    let queue = Limits { etcd_api_call: Duration::from_secs(7), ..SHORT };
    vec![
        ("one", base(1, 0)),
        ("three", base(3, 0)),
        ("three-one-down", base(3, 1)),
        ("four-one-down", base(4, 1)),
        ("five-one-down", base(5, 1)),
        ("five-two-down", base(5, 2)),
        ("three-two-down", base(3, 2)),
        ("stale-learner", Before { stale: 1, ..base(1, 0) }),
        ("stale-learner-of-two", Before { stale: 1, limit: 2, ..base(1, 0) }),
        ("own-unnamed", own(1, 0, Own::Unstarted)),
        ("own-learner", own(1, 0, wiped(true, true, true))),
        ("own-learner-behind", own(1, 0, wiped(true, true, false))),
        ("own-learner-of-three", own(3, 0, wiped(true, true, true))),
        ("own-voter", own(3, 1, wiped(false, true, true))),
        ("own-voter-new-leader", own(3, 1, wiped(false, false, true))),
        ("no-space", Before { no_space: true, ..base(1, 0) }),
        ("queue", Before { joiners: 3, limits: queue, ..base(1, 0) }),
    ]
}

/// Predictions that were corrected when they had been run: name, kubeadm, and what was predicted before.
const WAS: &[(&str, &str, &str)] = &[];

#[test]
fn the_document_says_what_is_predicted_and_nothing_else() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/oracle.md");
    let document = std::fs::read_to_string(&path).expect("docs/oracle.md");
    let mut wanted = Vec::new();
    for (name, before) in situations() {
        for (kubeadm, etcd) in [NEW, OLD] {
            let before = Before { kubeadm: kubeadm.into(), etcd: etcd.into(), ..before.clone() };
            let prediction = predict(&before).expect(name);
            let rules: Vec<&str> = prediction.rules.iter().map(|rule| rule.id).collect();
            let was = WAS.iter().find(|(row, of, _)| (*row, *of) == (name, kubeadm));
            let was = was.map(|(_, _, was)| format!("; was: {was}")).unwrap_or_default();
            let rules = if rules.is_empty() { "-".to_owned() } else { rules.join(", ") };
            wanted.push(format!("| {name} | {kubeadm}, {etcd} | {before} | {rules} | {prediction}{was} | "));
        }
    }
    let rows: Vec<&str> = document.lines().filter(|line| line.contains("| v1.")).collect();
    for (line, wanted) in rows.iter().zip(&wanted) {
        assert!(line.starts_with(wanted.as_str()), "docs/oracle.md has\n{line}\nwhere the oracle says\n{wanted}");
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        assert_eq!(cells.len(), 8, "{line}");
        let (seen, date) = (cells[5], cells[7]);
        assert_eq!(seen == "not run", date == "-", "what was run has a date: {line}");
    }
    assert_eq!(rows.len(), wanted.len(), "docs/oracle.md has {} rows; these are all:\n{}", rows.len(), wanted.join("\n"));
    for rule in RULES {
        let line = format!("| `{}` | {} | {} |", rule.id, rule.says, rule.source);
        assert!(document.contains(&line), "docs/oracle.md lacks\n{line}");
    }
}

/// The older release's own etcd is predicted; its rows were run with the etcd that its node image has.
#[test]
fn the_older_release_is_predicted_the_same_with_either_etcd() {
    for (name, before) in situations() {
        let with = |etcd: &str| predict(&Before { kubeadm: OLD.0.into(), etcd: etcd.into(), ..before.clone() }).expect(name).to_string();
        assert_eq!(with(OLD.1), with(NEW.1), "{name}");
    }
}

#[test]
fn each_rule_decides_some_row() {
    let used: Vec<&str> = situations()
        .into_iter()
        .flat_map(|(_, before)| [NEW, OLD].map(|(kubeadm, _)| Before { kubeadm: kubeadm.into(), ..before.clone() }))
        .flat_map(|before| predict(&before).expect("a prediction").rules)
        .map(|rule| rule.id)
        .collect();
    for rule in RULES {
        assert!(used.contains(&rule.id), "{}", rule.id);
    }
}

#[test]
fn versions_that_nobody_has_looked_into_have_no_prediction() {
    for (kubeadm, etcd, why) in [
        ("v1.35.6", "3.6.16", "138403"),
        ("v1.32.9", "3.5.16", "before 1.33"),
        ("v1.36.3", "3.4.23", "needs no quorum"),
        ("nonsense", "3.6.16", "no Kubernetes version"),
    ] {
        let before = Before { kubeadm: kubeadm.into(), etcd: etcd.into(), ..base(3, 0) };
        assert!(predict(&before).is_err_and(|said| said.contains(why)), "{kubeadm} {etcd}");
    }
    assert!(predict(&Before { joiners: 0, ..base(3, 0) }).is_err());
    assert!(predict(&Before { joiners: 2, own: Own::Unstarted, ..base(3, 0) }).is_err());
    let unknown = Own::Wiped { learner: false, followed: None, in_sync: None };
    assert!(predict(&Before { own: unknown, ..base(3, 1) }).is_err());
}

#[test]
fn the_add_rule_turns_with_etcds_version_and_health_with_kubeadms() {
    // of 5 voters with so many down: does a join succeed?
    for (kubeadm, etcd, down, joins) in [
        ("v1.36.3", "3.6.12", 1, true),
        ("v1.36.3", "3.6.8", 1, false),
        ("v1.35.4", "3.6.12", 1, false),
        ("v1.36.3", "3.6.12", 2, false),
        ("v1.37.2", "3.7.0", 1, true),
        ("v1.34.0", "3.6.4", 0, true),
    ] {
        let before = Before { kubeadm: kubeadm.into(), etcd: etcd.into(), ..base(5, down) };
        let prediction = predict(&before).expect("a prediction");
        assert_eq!(prediction.succeed == (1, 1), joins, "{kubeadm} {etcd}, {down} down: {prediction}");
    }
}

#[test]
fn joins_one_after_the_other_meet_what_those_before_have_made() {
    let three = Before { joiners: 3, at_once: false, ..base(4, 1) };
    let prediction = predict(&three).expect("a prediction");
    assert_eq!((prediction.succeed, prediction.fails), ((3, 3), None));
    // with kubeadm's own limits nine fit at once
    let many = |joiners| predict(&Before { joiners, limits: Limits::default(), ..base(1, 0) }).expect("a prediction");
    assert_eq!((many(9).succeed, many(9).fails.is_none()), ((9, 9), true));
    assert_eq!(many(10).succeed, (9, 10));
}
