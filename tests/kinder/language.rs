//! What kinder's language means: scalars, keys, templates, imports.

use std::io::{Read, Write};
use std::net::TcpListener;

use super::support::Rig;

/// A task that says all its arguments, one a line.
const SAY: &str = "tasks:\n- cmd: printf\n  args: ['%s\\n', ";

/// What the arguments of one task come to.
fn said(head: &str, args: &str) -> Vec<String> {
    let rig = Rig::with(&format!("version: 1\n{head}{SAY}{args}]\n"));
    rig.test(&[]).ends(0);
    output(&rig.read("art/task-00-log.txt"))
}

/// The lines of a log below its header.
fn output(log: &str) -> Vec<String> {
    log.split(&"-".repeat(80)).nth(2).expect("a header").trim_start_matches('\n').lines().map(str::to_owned).collect()
}

#[test]
fn scalars_in_fields_for_texts_are_written_anew_as_yaml_1_1_has_them() {
    let head = "vars: {a: 1.30, b: 010, c: 0x10, d: 1_000, e: yes, f: null, g: 1e3, h: 0.00001, i: 3, j: \"1.30\", k: !!str 1.30}\n";
    let args = "'{{ .vars.a }} {{ .vars.b }} {{ .vars.c }} {{ .vars.d }} {{ .vars.e }} [{{ .vars.f }}] {{ .vars.g }} {{ .vars.h }} {{ .vars.i }} {{ .vars.j }} {{ .vars.k }}', off, 0o17, ~";
    assert_eq!(said(head, args), ["1.3 8 16 1000 true [] 1000 1e-05 3 1.30 1.30", "false", "15", ""]);
}

#[test]
fn keys_are_found_in_any_case_and_booleans_among_them_are_booleans() {
    assert_eq!(said("VARS: {n: x, \"y\": z}\nSummary: s\n", "'{{ .vars.false }}{{ .vars.y }}'"), ["xz"]);
    let rig = Rig::with("VERSION: 1\nTASKS:\n- {NAME: a, Cmd: 'false', IgnoreERROR: On}\n");
    rig.test(&[]).ends(0);
}

#[test]
fn only_the_first_document_is_read_and_merge_keys_are_understood() {
    let rig = Rig::with(
        "version: 1\nvars: &v {a: x}\nenv:\n  <<: *v\n  b: why\ntasks:\n- {cmd: printenv, args: [a, b]}\n---\nversion: [nonsense\n",
    );
    rig.test(&[]).ends(0);
    assert_eq!(output(&rig.read("art/task-00-log.txt")), ["x", "why"]);
}

#[test]
fn a_var_may_ask_for_a_later_one_and_for_the_environment() {
    let head = "vars: {a: '{{ .vars.z }}!', z: '{{ .env.B }}'}\nenv: {B: '{{ .env.HOME }}'}\n";
    let home = joinder::sys::env::var("HOME").expect("a home");
    assert_eq!(said(head, "'{{ .vars.a }}'"), [format!("{home}!")]);
}

#[test]
fn names_that_nobody_asks_for_need_not_be_there() {
    assert_eq!(said("vars: {a: ''}\n", "'{{ if .vars.a }}{{ .vars.none }}{{ end }}x', '{{ index .vars \"none\" }}y'"), ["x", "y"]);
}

#[test]
fn what_is_no_template_stays_as_it_is() {
    let text = "version: 1\nsummary: '{{ .s }}'\ntasks:\n- name: '{{ .n }}'\n  description: '{{ .d }} {{'\n  cmd: echo\n  args: ['${x} }}}} {% # %}', \"'{print $2}'\"]\n";
    let rig = Rig::with(text);
    rig.test(&[]).ends(0);
    let log = rig.read("art/task-00-{{ .n }}-log.txt");
    assert!(log.contains("\ntask-00-{{ .n }}\n{{ .d }} {{\n"), "{log}");
    assert_eq!(output(&log), ["${x} }}}} {% # %} '{print $2}'"]);
}

#[test]
fn the_folder_of_artifacts_is_known_in_commands_and_in_vars_only_from_outside() {
    let text = "version: 1\nvars: {a: '{{ .env.ARTIFACTS }}'}\ntasks: [{cmd: echo, args: ['{{ .vars.a }}', '{{ .env.ARTIFACTS }}']}]\n";
    let rig = Rig::with(text);
    let refused = rig.test(&[]).ends(1);
    assert!(refused.err.contains("no environment variable `ARTIFACTS`"), "{}", refused.err);
    let outside = rig.command(&["test", "workflow", "w.yaml", "art"]).env("ARTIFACTS", "/outside").status().expect("it starts");
    assert!(outside.success());
    assert_eq!(output(&rig.read("art/task-00-log.txt")), [format!("/outside {}", rig.path("art").display())]);
}

#[test]
fn labels_are_looked_up_in_a_folder_or_at_a_mirror_and_once() {
    let args = "'{{ resolve `ci/latest-1.36` }}', '{{ \"release/stable\" | resolve }}', '{{ resolve \"v1.2.3\" }}'";
    assert_eq!(said("", args), ["v1.36.9-rc.0+abc", "v1.37.2", "v1.2.3"]);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let base = format!("http://{}/k8s", listener.local_addr().expect("an address"));
    // one question: the second would find nobody
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a question");
        let mut request = [0; 4096];
        let n = stream.read(&mut request).expect("read");
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nv1.36.7\n").expect("answered");
        String::from_utf8_lossy(&request[..n]).lines().next().unwrap_or_default().to_owned()
    });
    let rig = Rig::with(&format!(
        "version: 1\nvars: {{a: '{{{{ resolve `ci/x` }}}}', b: '{{{{ resolve `ci/x` }}}}'}}\n{SAY}'{{{{ .vars.a }}}}{{{{ .vars.b }}}}']\n"
    ));
    let status = rig.command(&["test", "workflow", "w.yaml", "art"]).env("JOINDER_RELEASES", &base).status().expect("it starts");
    assert!(status.success());
    assert_eq!(server.join().expect("served"), "GET /k8s/ci/x.txt HTTP/1.1");
    assert_eq!(output(&rig.read("art/task-00-log.txt")), ["v1.36.7v1.36.7"]);
}

#[test]
fn a_label_that_cannot_be_looked_up_says_what_to_do() {
    let rig = Rig::with("version: 1\nvars: {a: '{{ resolve `ci/none` }}'}\ntasks: [{cmd: echo}]\n");
    let refused = rig.test(&[]).ends(1);
    assert!(refused.err.contains("labels/ci/none.txt") && refused.err.contains("w.yaml:2:11"), "{}", refused.err);
    let status = rig.command(&["lint", "w.yaml"]).env("JOINDER_RELEASES", "http://no-such-host.invalid").output().expect("it starts");
    let err = String::from_utf8_lossy(&status.stderr).into_owned();
    assert!(
        err.contains("no address of the host is known") && err.contains("JOINDER_RELEASES can name a mirror's URL or a folder"),
        "{err}"
    );
}

#[test]
fn who_imports_wins_and_a_parent_without_vars_takes_those_of_the_import() {
    let rig = Rig::new();
    let imported = "version: 1\nvars: {a: import, b: import}\nenv: {C: import}\ntasks:\n- {name: one, cmd: echo, args: ['{{ .vars.a }} {{ .vars.b }} {{ .env.C }}']}\n";
    rig.write("parts/tasks.yaml", imported);
    rig.write("w.yaml", "version: 1\ntasks:\n- import: parts/tasks.yaml\n- import: ./parts/tasks.yaml\n");
    rig.test(&[]).ends(0);
    assert_eq!(output(&rig.read("art/task-01-one-log.txt")), ["import import import"]);
    rig.write(
        "w.yaml",
        "version: 1\nvars: {a: parent}\nenv: {C: parent}\ntasks:\n- {name: own, cmd: echo}\n- {name: x, import: parts/tasks.yaml}\n",
    );
    rig.test(&[]).ends(0);
    assert_eq!(output(&rig.read("art/task-01-one-log.txt")), ["parent import parent"]);
}

#[test]
fn maps_that_are_null_take_those_of_an_import() {
    let rig = Rig::with("version: 1\nvars:\nenv: ~\ntasks:\n- import: parts/tasks.yaml\n");
    rig.write(
        "parts/tasks.yaml",
        "version: 1\nvars: {a: import}\nenv: {C: import}\ntasks:\n- {cmd: echo, args: ['{{ .vars.a }} {{ .env.C }}'], dir: ~, timeout: ~}\n",
    );
    rig.test(&[]).ends(0);
    assert_eq!(output(&rig.read("art/task-00-log.txt")), ["import import"]);
}

#[test]
fn a_hundred_tasks_keep_their_names_also_when_they_are_imported() {
    let rig = Rig::new();
    let tasks: Vec<String> = (1..=100).map(|n| format!("- {{name: foo{n}, cmd: 'true'}}\n")).collect();
    rig.write("many.yaml", &format!("version: 1\ntasks:\n{}", tasks.concat()));
    rig.write("w.yaml", "version: 1\ntasks:\n- import: many.yaml\n- {name: last, cmd: 'true'}\n- {cmd: 'true'}\n");
    let ran = rig.test(&[]).ends(0);
    assert!(ran.out.contains("SUCCESS! -- 102 tasks Passed | 0 Failed | 0 Skipped\n"), "{}", ran.out);
    let names: Vec<String> = rig.junit().into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        (names[0].as_str(), names[99].as_str(), names[100].as_str(), names[101].as_str()),
        ("task-00-foo1", "task-99-foo100", "task-100-last", "task-101")
    );
}

#[test]
fn a_variable_may_add_to_its_own_value_of_outside_and_vars_see_that_of_outside() {
    let text = "version: 1
vars: {v: '{{ .env.OWN }}', only: '{{ .env.INNER }}'}
env: {OWN: '{{ .env.OWN }}:more', INNER: inner}
tasks: [{cmd: sh, args: [-c, 'echo {{ .vars.v }} {{ .vars.only }} {{ .env.OWN }} $OWN']}]
";
    let rig = Rig::with(text);
    let status = rig.command(&["test", "workflow", "w.yaml", "art"]).env("OWN", "outer").status().expect("it starts");
    assert!(status.success());
    assert_eq!(output(&rig.read("art/task-00-log.txt")), ["outer inner outer:more outer:more"]);
    let alone = rig.test(&[]).ends(1);
    assert!(alone.err.contains("in a circle: .env.OWN"), "{}", alone.err);
}

#[test]
fn a_variable_with_an_equals_sign_in_it_is_whole() {
    let rig =
        Rig::with("version: 1\nenv: {OWN: a=b=c}\ntasks:\n- {cmd: printenv, args: [KV, OWN]}\n- {cmd: echo, args: ['{{ .env.KV }}']}\n");
    let status = rig.command(&["test", "workflow", "w.yaml", "art"]).env("KV", "a=b=c").status().expect("it starts");
    assert!(status.success());
    assert_eq!(output(&rig.read("art/task-00-log.txt")), ["a=b=c", "a=b=c"]);
    assert_eq!(output(&rig.read("art/task-01-log.txt")), ["a=b=c"]);
}

#[test]
fn both_shapes_of_fixtures_lint_and_dry_run() {
    let rig = Rig::with_fixtures();
    for (file, tasks) in [("regular-1.36.yaml", 11), ("skew-1.36-on-latest.yaml", 6)] {
        let lint = rig.joinder(&["lint", file]).ends(0);
        assert_eq!(lint.out, format!("{file}: 1 case, {tasks} tasks\n"));
        let dry = rig.joinder(&["test", "workflow", "--dry-run", file, ""]).ends(0);
        insta::assert_snapshot!(format!("dry_run_{}", file.trim_end_matches(".yaml")), dry.out);
    }
    assert!(rig.names(".").iter().all(|name| !name.starts_with("kinder-test-workflow") && name != "calls"), "it touches nothing");
}
