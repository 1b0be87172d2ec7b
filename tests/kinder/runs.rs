//! How kinder's workflows run: what is skipped, what counts, what is left as files.

use super::support::{Rig, runs};

fn names(all: &[(String, String)]) -> Vec<(&str, &str)> {
    all.iter().map(|(name, inside)| (name.as_str(), inside.as_str())).collect()
}

#[test]
fn the_regular_workflow_calls_just_what_it_says() {
    let rig = Rig::with_fixtures();
    let ran = rig.joinder(&["test", "workflow", "regular-1.36.yaml", "art", "--verbose"]).ends(0);
    let art = rig.path("art").display().to_string();
    insta::assert_snapshot!("regular_calls", rig.read("calls").replace(&art, "ART"));
    assert!(ran.out.contains("SUCCESS! -- 11 tasks Passed | 0 Failed | 0 Skipped\n"), "{}", ran.out);
    assert!(ran.err.contains("| kinder do kubeadm-init"), "{}", ran.err);
    insta::assert_snapshot!("regular_log", rig.read("art/task-03-init-log.txt"));
    let logs: Vec<String> = rig.names("art").into_iter().filter(|name| name.starts_with("task-")).collect();
    assert_eq!((logs.len(), logs[10].as_str()), (11, "task-10-delete-log.txt"));
}

#[test]
fn the_scripts_of_the_skew_workflow_run_as_they_stand() {
    let rig = Rig::with_fixtures();
    rig.joinder(&["test", "workflow", "skew-1.36-on-latest.yaml", "art"]).ends(0);
    let log = rig.read("art/task-03-check-versions-log.txt");
    assert!(log.ends_with("v1.36.9-rc.0+abc\nv1.36.9-rc.0+abc\n{\"a\":{\"b\":{\"c\":{\"d\":1}}}}\n"), "{log}");
    assert!(rig.read("calls").contains("--ginkgo-flags=--skip=\\[(MinimumKubeletVersion:1\\.37)\\] --parallel"), "{}", rig.read("calls"));
}

const MIXED: &str = "version: 1
tasks:
- {name: fine, cmd: 'true'}
- {name: forgiven, cmd: sh, args: [-c, exit 4], ignoreError: true}
- {name: broken, cmd: sh, args: [-c, 'echo said; exit 3']}
- {name: later, cmd: 'true'}
- {name: cleanup, cmd: sh, args: [-c, echo cleaned], force: true}
- {name: bad-cleanup, cmd: 'false', force: true}
";

#[test]
fn after_a_failure_only_forced_tasks_run_and_junit_has_kinders_shape() {
    for flags in [&[][..], &["--exit-on-task-error"]] {
        let rig = Rig::with(MIXED);
        let ran = rig.test(flags).ends(1);
        assert!(ran.out.contains("Ran 5 of 6 tasks in "), "{}", ran.out);
        assert!(ran.out.contains("FAIL! -- 3 tasks Passed | 2 Failed | 1 Skipped\n"), "{}", ran.out);
        assert_eq!(
            names(&rig.junit()),
            [
                ("task-00-fine", ""),
                ("task-01-forgiven", ""),
                ("task-02-broken", "<failure>exit status 3</failure>"),
                ("task-03-later", "<skipped>skipping because a predecessor task failed</skipped>"),
                ("task-04-cleanup", ""),
                ("task-05-bad-cleanup", "<failure>exit status 1</failure>"),
            ]
        );
        let text = rig.read("art/junit_runner.xml");
        let root = text.lines().nth(1).expect("a root");
        assert!(root.starts_with("<testsuite failures=\"2\" tests=\"6\" time=\""), "{root}");
        assert!(rig.read("art/task-04-cleanup-log.txt").ends_with("\ncleaned\n"));
    }
}

#[test]
fn what_cannot_be_started_counts_also_when_errors_are_ignored() {
    let rig = Rig::with("version: 1\ntasks:\n- {name: a, cmd: no-such-program-here, ignoreError: true}\n- {name: b, cmd: 'true'}\n");
    rig.test(&[]).ends(1);
    let junit = rig.junit();
    assert!(junit[0].1.contains("there is no program"), "{junit:?}");
    assert!(junit[1].1.contains("a predecessor task failed"), "{junit:?}");
}

#[test]
fn a_limit_ends_a_task_with_its_children_and_counts_also_when_errors_are_ignored() {
    let text = "version: 1\ntasks:\n- {name: a, cmd: sh, args: [-c, 'sleep 1000 & echo $!; sleep 1000'], timeout: 500ms, ignoreError: true}\n- {name: b, cmd: 'true'}\n- {name: c, cmd: 'true', force: true}\n";
    let rig = Rig::with(text);
    rig.test(&[]).ends(1);
    let junit = rig.junit();
    assert_eq!(junit[0].1, "<failure>timeout. The task did not complete in less than 500ms as expected</failure>");
    assert_eq!((junit[1].1.as_str(), junit[2].1.as_str()), ("<skipped>skipping because a predecessor task timed-out</skipped>", ""));
    let log = rig.read("art/task-00-a-log.txt");
    assert!(!runs(log.lines().last().expect("a line")), "{log}");
}

#[test]
fn what_a_task_writes_is_in_its_log_as_it_came_and_in_its_order() {
    let script = "for i in $(seq 100); do echo out $i; echo err $i >&2; done; printf '\\033[1mbold\\n'";
    let rig = Rig::with(&format!("version: 1\ntasks:\n- name: a\n  cmd: sh\n  args:\n  - -c\n  - |-\n    {script}\n"));
    rig.test(&[]).ends(0);
    let want = (1..=100).map(|i| format!("out {i}\nerr {i}\n")).collect::<Vec<_>>().concat();
    let log = rig.read("art/task-00-a-log.txt");
    assert!(log.ends_with(&format!("\n{}\n\n{want}\u{1b}[1mbold\n", "-".repeat(80))), "{log}");
    // no description, no blank line
    assert!(log.contains("\ntask-00-a\ncommand : sh -c for"), "{log}");
}

#[test]
fn what_is_skipped_says_kinders_reason_of_several() {
    // kinder asks for a failure first, whichever came first
    let text = "version: 1
tasks:
- {name: a, cmd: sleep, args: ['1000'], timeout: 200ms}
- {name: b, cmd: 'true'}
- {name: c, cmd: 'false', force: true}
- {name: d, cmd: 'true'}
";
    let rig = Rig::with(text);
    rig.test(&[]).ends(1);
    let junit = rig.junit();
    assert_eq!(junit[1].1, "<skipped>skipping because a predecessor task timed-out</skipped>");
    assert_eq!(junit[3].1, "<skipped>skipping because a predecessor task failed</skipped>");
}

#[test]
fn a_folder_is_no_workflow() {
    let rig = Rig::with("version: 1\ntasks: [{name: a, cmd: 'true'}]\n");
    let ran = rig.joinder(&["test", "workflow", ".", "art"]).ends(1);
    assert!(ran.err.contains("`joinder run` runs all of a folder"), "{}", ran.err);
    assert!(!rig.names(".").contains(&"art".to_owned()));
}

#[test]
fn a_timeout_of_some_nanoseconds_is_warned_of() {
    let rig = Rig::with("version: 1\ntasks: [{name: a, cmd: sleep, args: [1000], timeout: 300}]\n");
    let dry = rig.test(&["--dry-run"]).ends(0);
    assert!(dry.err.contains("warning: task-00 has 300 ns: a timeout without a unit is nanoseconds"), "{}", dry.err);
    rig.test(&[]).ends(1);
    assert!(rig.junit()[0].1.contains("in less than 300ns as expected"), "{:?}", rig.junit());
}

#[test]
fn background_children_are_named_and_go_on_and_do_not_hang_the_run() {
    // a server that one task starts, the next uses, and the last ends; it writes, which must not end it
    let text = "version: 1
tasks:
- {name: a, cmd: sh, args: [-c, '(while :; do echo here; sleep 0.05; done) & echo $! > pid']}
- {name: b, cmd: sh, args: [-c, 'sleep 0.3; kill -0 $(cat pid)']}
- {name: c, cmd: sh, args: [-c, 'kill $(cat pid)'], force: true}
";
    for flags in [&[][..], &["--verbose"]] {
        let rig = Rig::with(text);
        let ran = rig.test(flags).ends(0);
        assert!(ran.err.contains("sh leaves processes running: "), "{}", ran.err);
        assert!(!runs(&rig.read("pid")));
    }
}

#[test]
fn a_slash_in_a_name_is_one_in_junit_and_none_in_the_logs_name() {
    let rig = Rig::with("version: 1\ntasks:\n- {name: a/b c, cmd: echo, args: [x]}\n- {name: ../../up, cmd: 'true'}\n");
    rig.test(&[]).ends(0);
    assert_eq!(names(&rig.junit()), [("task-00-a/b c", ""), ("task-01-../../up", "")]);
    assert!(rig.read("art/task-00-a-b c-log.txt").ends_with("\nx\n"));
    assert!(rig.names("art").contains(&"task-01-..-..-up-log.txt".to_owned()));
}

#[test]
fn the_folder_of_artifacts_is_made_and_chosen_in_kinders_order() {
    let text = "version: 1\ntasks: [{name: a, cmd: printenv, args: [ARTIFACTS]}]\n";
    let rig = Rig::with(text);
    // an argument, whatever the environment says
    let status = rig.command(&["test", "workflow", "w.yaml", "x/y"]).env("ARTIFACTS", "other").status().expect("it starts");
    assert!(status.success() && rig.read("x/y/task-00-a-log.txt").ends_with("/x/y\n"));
    // an empty one is none
    let status = rig.command(&["test", "workflow", "w.yaml", ""]).env("ARTIFACTS", "other").status().expect("it starts");
    assert!(status.success() && rig.read("other/task-00-a-log.txt").ends_with("/other\n"));
    // what the file says wins over the environment
    rig.write("own.yaml", &text.replace("tasks", "env: {ARTIFACTS: own}\ntasks"));
    let status = rig.command(&["test", "workflow", "own.yaml", ""]).env("ARTIFACTS", "other").status().expect("it starts");
    assert!(status.success() && rig.read("own/task-00-a-log.txt").ends_with("/own\n"));
    // nobody says
    rig.joinder(&["test", "workflow", "w.yaml"]).ends(0);
    let new: Vec<String> = rig.names(".").into_iter().filter(|name| name.starts_with("kinder-test-workflow")).collect();
    assert_eq!(new.len(), 1);
    assert!(rig.names(&new[0]).contains(&"junit_runner.xml".to_owned()));
}

#[test]
fn a_folder_that_cannot_be_written_to_is_told_before_anything_runs() {
    let rig = Rig::with("version: 1\ntasks: [{cmd: touch, args: [ran]}]\n");
    rig.write("art", "a file");
    let ran = rig.test(&[]).ends(1);
    assert!(ran.err.contains("art"), "{}", ran.err);
    assert!(!rig.names(".").contains(&"ran".to_owned()));
    // below /proc nobody can make a folder, not even root
    let ran = rig.joinder(&["test", "workflow", "w.yaml", "/proc/art"]).ends(1);
    assert!(ran.err.contains("cannot write artifacts to /proc/art"), "{}", ran.err);
    assert!(!rig.names(".").contains(&"ran".to_owned()));
}

#[test]
fn a_log_that_cannot_be_written_is_no_success() {
    let rig = Rig::with("version: 1\ntasks: [{name: a, cmd: echo, args: [x]}, {name: b, cmd: touch, args: [cleaned], force: true}]\n");
    rig.write("art/task-00-a-log.txt/in-the-way", "");
    let ran = rig.test(&[]).ends(1);
    assert!(ran.err.contains("task-00-a-log.txt: Is a directory"), "{}", ran.err);
    assert!(ran.out.contains("FAIL! -- 2 tasks Passed | 0 Failed | 0 Skipped\n"), "{}", ran.out);
    assert!(rig.names(".").contains(&"cleaned".to_owned()), "what can be done is done");
}

#[test]
fn flags_stand_where_they_like() {
    let rig = Rig::with("version: 1\ntasks: [{cmd: echo, args: [x]}]\n");
    for args in [["--verbose", "w.yaml", "art"], ["w.yaml", "--verbose", "art"], ["w.yaml", "art", "--verbose"]] {
        let ran = rig.joinder(&[&["test", "workflow"][..], &args].concat()).ends(0);
        assert!(ran.err.contains("| x"), "{}", ran.err);
    }
}

#[test]
fn a_program_is_looked_up_in_joinders_path_and_its_folder_is_below_joinders() {
    let rig = Rig::with(
        "version: 1\nenv: {PATH: /nowhere}\ntasks:\n- {name: a, cmd: sh, args: [-c, 'echo $PATH'], dir: sub}\n- {name: b, cmd: pwd, dir: sub}\n",
    );
    rig.write("sub/x", "");
    rig.test(&[]).ends(0);
    assert!(rig.read("art/task-00-a-log.txt").ends_with("\n/nowhere\n"));
    assert!(rig.read("art/task-01-b-log.txt").ends_with("/sub\n"));
}

#[test]
fn joinder_run_takes_kinders_files_too_and_each_has_a_folder_of_its_own() {
    let rig = Rig::new();
    for (name, end) in [("a", "true"), ("b", "false")] {
        rig.write(
            &format!("{name}.yaml"),
            &format!("version: 1\ntasks:\n- {{name: say, cmd: echo, args: ['{{{{ .env.ARTIFACTS }}}}']}}\n- {{cmd: '{end}'}}\n"),
        );
    }
    rig.joinder(&["run", "a.yaml", "--artifacts", "one"]).ends(0);
    let ran = rig.joinder(&["run", "a.yaml", "b.yaml", "--artifacts", "two"]).ends(100);
    assert!(ran.out.is_empty(), "{}", ran.out);
    for folder in ["01-a", "02-b"] {
        assert!(rig.read(&format!("two/{folder}/task-00-say-log.txt")).ends_with(&format!("/two/{folder}\n")));
    }
    assert!(rig.read("two/02-b/junit_runner.xml").contains("exit status 1"));
}
