//! The workflow language from outside: who wins, what is typed, cases, imports.

use std::path::Path;

use joinder::workflow::{Loaded, Request, Step, plans, plans_of_text};

fn request(vars: &[(&str, &str)]) -> Request {
    let vars = vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Request { vars, env: [("HOME".to_owned(), "/home/x".to_owned())].into(), ..Request::default() }
}

fn loaded(text: &str, vars: &[(&str, &str)]) -> Loaded {
    plans_of_text(Path::new("x.yaml"), text, &request(vars)).unwrap_or_else(|problems| panic!("{problems}"))
}

fn refused(text: &str) -> String {
    plans_of_text(Path::new("x.yaml"), text, &request(&[])).expect_err("wrong").to_string()
}

/// What the first task of each case says.
fn said(loaded: &Loaded) -> Vec<String> {
    let args = |step: &Step| {
        let Step::Cmd(process) = step else { panic!("no process: {step:?}") };
        process.args.join(" ")
    };
    loaded.plans.iter().map(|plan| args(&plan.tasks[0].step)).collect()
}

const SAY: &str = "tasks: [{name: say, cmd: echo, args: ['{{ .vars.a }}']}]";

#[test]
fn the_command_line_wins_over_the_matrix_over_the_file_over_what_it_imports() {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(
        dir.path().join("parts.yaml"),
        "version: 2\nvars: {a: imported, b: imported}\ntasks: [{name: say, cmd: echo, args: ['{{ .vars.a }}', '{{ .vars.b }}']}]\n",
    )
    .expect("written");
    let main = dir.path().join("main.yaml");
    let with = |head: &str, vars: &[(&str, &str)]| {
        std::fs::write(&main, format!("version: 2\n{head}\ntasks: [{{import: parts.yaml}}]\n")).expect("written");
        said(&plans(&main, &request(vars)).unwrap_or_else(|problems| panic!("{problems}")))
    };
    assert_eq!(with("", &[]), ["imported imported"]);
    assert_eq!(with("vars: {a: file}", &[]), ["file imported"]);
    assert_eq!(with("vars: {a: file}\nmatrix: {a: [one, two]}", &[]), ["one imported", "two imported"]);
    assert_eq!(with("vars: {a: file}\nmatrix: {a: [one, two]}", &[("a", "line"), ("b", "line")]), ["line line"]);
}

#[test]
fn what_a_template_writes_is_typed_by_where_it_stands() {
    let text = "version: 2\nvars: {n: 3, yes: true, order: serial, limit: 90s, who: cp2}\ncluster: {controlPlanes: '{{ .vars.n }}', workers: \"{{ len .vars.who }}\"}\ntasks:\n- {name: init, init: {}}\n- name: join\n  timeout: '{{ .vars.limit }}'\n  force: '{{ .vars.yes }}'\n  join: {nodes: '{{ .vars.who }}', order: '{{ .vars.order }}'}\n  expect: {members: {voters: '{{ .vars.n }}'}}\n";
    let plan = &loaded(text, &[]).plans[0];
    assert_eq!(plan.topology.nodes.len(), 6);
    assert!(plan.tasks[1].force && plan.tasks[1].limit.as_secs() == 90);
}

#[test]
fn scalars_stay_as_they_are_written() {
    for written in ["1.30", "010", "0x10", "1e3", "yes", "true", "1_000"] {
        assert_eq!(said(&loaded(&format!("version: 2\nvars: {{a: {written}}}\n{SAY}"), &[])), [written]);
    }
}

#[test]
fn a_value_of_the_command_line_is_no_template() {
    assert_eq!(said(&loaded(&format!("version: 2\nvars: {{a: x}}\n{SAY}"), &[("a", "{{ .vars.b }}")])), ["{{ .vars.b }}"]);
}

#[test]
fn the_environment_of_the_file_wins_over_the_process_and_reaches_processes() {
    let text = "version: 2\nvars: {a: '{{ .env.HOME }}'}\nenv: {GREETING: 'hello {{ .vars.a }}'}\ntasks: [{name: say, cmd: echo, args: ['{{ .env.GREETING }}']}]";
    let loaded = loaded(text, &[]);
    assert_eq!(said(&loaded), ["hello /home/x"]);
    let Step::Cmd(process) = &loaded.plans[0].tasks[0].step else { panic!("cmd") };
    assert_eq!(process.env, [("GREETING".to_owned(), "hello /home/x".to_owned())]);
}

#[test]
fn vars_and_environment_may_ask_for_each_other_in_any_order() {
    let text = "version: 2\nvars: {a: '{{ .env.B }}!', c: 'see'}\nenv: {B: '{{ .env.C }}b', C: '{{ .vars.c }}'}\ntasks: [{name: say, cmd: echo, args: ['{{ .vars.a }}']}]";
    assert_eq!(said(&loaded(text, &[])), ["seeb!"]);
    let circle = "version: 2\nvars: {a: '{{ .env.B }}'}\nenv: {B: '{{ .vars.a }}'}\ntasks: [{name: say, cmd: echo}]";
    assert!(refused(circle).contains("circle: a → .env.B → a"), "{}", refused(circle));
}

#[test]
fn a_summary_can_be_a_template() {
    let text = "version: 2\nsummary: 'with {{ .vars.a }}'\nvars: {a: x}\ntasks: [{name: say, cmd: echo}]";
    assert_eq!(loaded(text, &[]).plans[0].summary, "with x");
}

#[test]
fn the_last_axis_turns_fastest_and_cases_are_named_by_their_choice() {
    let text = format!("version: 2\nvars: {{a: x}}\nmatrix: {{order: [serial, parallel], n: [1, 3]}}\n{SAY}");
    let names: Vec<String> = loaded(&text, &[]).plans.into_iter().map(|plan| plan.case).collect();
    assert_eq!(names, ["x order=serial n=1", "x order=serial n=3", "x order=parallel n=1", "x order=parallel n=3"]);
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_are_fine() {
    let text = format!("\u{feff}version: 2\r\nvars: {{a: x}}\r\n{SAY}\r\n");
    assert_eq!(said(&loaded(&text, &[])), ["x"]);
    let crooked = format!("\u{feff}version: 2\r\nvars: {{b: x}}\r\n{SAY}\r\n");
    assert!(refused(&crooked).contains("x.yaml:3:"), "{}", refused(&crooked));
}

#[test]
fn aliases_stand_for_what_they_name() {
    let text = "version: 2\nvars: {a: x}\ntasks:\n- {name: say, cmd: echo, args: &args ['{{ .vars.a }}', y]}\n- {name: again, cmd: echo, args: *args}\n";
    assert_eq!(said(&loaded(text, &[])), ["x y"]);
}

#[test]
fn one_file_may_be_imported_twice_but_its_tasks_need_names_of_their_own() {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("part.yaml"), "version: 2\ntasks: [{name: say, cmd: echo}]\n").expect("written");
    let main = dir.path().join("main.yaml");
    std::fs::write(&main, "version: 2\ntasks: [{import: part.yaml}, {import: ./part.yaml}]\n").expect("written");
    let names: Vec<String> =
        plans(&main, &request(&[])).unwrap_or_else(|problems| panic!("{problems}")).plans[0].tasks.iter().map(|t| t.name.clone()).collect();
    assert_eq!(names, ["say", "say (2)"]);
}

/// Whatever stands in a file, it is planned or refused with places that are in it; nothing panics.
#[test]
fn mangled_files_are_planned_or_refused() {
    let mut random = fastrand::Rng::with_seed(4);
    let pieces = [
        "{{", "}}", ": ", "- ", "\n", "\t", "'", "\"", "*a", "&a ", "[", "]", "{", "}", "é", "\u{feff}", "---\n", "!x ", "| ", "0", "null",
        "#",
    ];
    let mut texts: Vec<String> = Vec::new();
    for dir in ["workflows/join", "tests/bad", "tests/bad/parts", "tests/bad/v1", "tests/data/kinder/workflows"] {
        for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(dir)).expect("a folder") {
            let path = entry.expect("an entry").path();
            if let (true, Ok(text)) = (path.is_file(), std::fs::read_to_string(&path)) {
                texts.push(text);
            }
        }
    }
    texts.sort();
    for round in 0..3_000 {
        let mut text = texts[round % texts.len()].clone();
        for _ in 0..random.usize(1..6) {
            let mut at = random.usize(0..=text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            match random.u8(0..3) {
                0 => text.insert_str(at, pieces[random.usize(0..pieces.len())]),
                1 => text.truncate(at),
                _ => drop(text.drain(at..).next()),
            }
        }
        if let Err(problems) = plans_of_text(Path::new("x.yaml"), &text, &request(&[])) {
            assert!(problems.count() > 0 && !problems.to_string().is_empty());
        }
    }
}

#[test]
fn ten_thousand_cases_are_planned_and_one_more_is_refused() {
    let axis = |name: char, n: usize| format!("{name}: [{}]", (0..n).map(|n| n.to_string()).collect::<Vec<_>>().join(","));
    let text = |n: usize| format!("version: 2\nvars: {{a: x}}\nmatrix: {{{}, {}}}\n{SAY}", axis('p', 100), axis('q', n));
    assert_eq!(loaded(&text(100), &[]).plans.len(), 10_000);
    assert!(refused(&text(101)).contains("10100 cases"));
}

#[test]
fn imports_that_multiply_are_refused_once() {
    let dir = tempfile::tempdir().expect("a folder");
    for (version, kind) in [(2, "v2"), (1, "v1")] {
        let at = |depth: usize| dir.path().join(format!("{kind}-{depth}.yaml"));
        for depth in 0..8 {
            let next: String = (0..8).fold(String::new(), |text, _| text + &format!("- {{import: {kind}-{}.yaml}}\n", depth + 1));
            std::fs::write(at(depth), format!("version: {version}\ntasks:\n{next}")).expect("written");
        }
        std::fs::write(at(8), format!("version: {version}\ntasks: [{{name: a, cmd: 'true'}}]\n")).expect("written");
        let said = plans(&at(0), &request(&[])).expect_err("it would be sixteen million tasks").to_string();
        assert_eq!(said.matches("more than 1000 imports in all").count(), 1, "{said}");
    }
}
