//! The report page in headless Chromium. Where `chromium` is not installed each test says that it did not run; in CI it fails.
//! Pages and screenshots are left in `_artifacts/report_page/`.

#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "a test looks at the program from outside, by the wall clock")]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A browser that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(90);

/// Text that would like to be more: each piece names what it would do.
const HOSTILE: &str = "</title></style></script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\
     ' onmouseover='x' \" autofocus onfocus=\"x\" {{ 7 * 7 }} {% raw %} &lt;b&gt; \u{1b}[2J\u{0}\u{202e}";

fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join("chromium")).find(|program| program.is_file());
    if found.is_none() {
        let why = "did NOT run: there is no chromium in PATH (Debian: apt-get install --no-install-recommends chromium)";
        assert!(!joinder::sys::env::in_ci(), "{why}");
        // past the test harness, which hides what passing tests print
        let line = format!("{}: {why}\n", std::thread::current().name().unwrap_or("a test"));
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
    found
}

fn recorded(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name).join("events.jsonl");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).expect("an event")).collect()
}

fn left() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("_artifacts/report_page")
}

/// A run's folder with these events, and its page as `joinder report` draws it.
fn report(name: &str, events: &[Value]) -> PathBuf {
    let dir = left().join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("made");
    let lines: Vec<String> = events.iter().map(|event| format!("{event}\n")).collect();
    std::fs::write(dir.join("events.jsonl"), lines.concat()).expect("written");
    let output = Command::new(env!("CARGO_BIN_EXE_joinder")).arg("report").arg(&dir).output().expect("joinder starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    assert!(page.is_file(), "{}", page.display());
    page
}

struct Seen {
    dom: String,
    /// What the browser had to say of the page.
    console: Vec<String>,
    /// Addresses that it asked for.
    asked: Vec<String>,
}

/// Opens a page and leaves a screenshot beside it.
fn open(chromium: &Path, page: &Path, fragment: &str, scheme: &str) -> Seen {
    let profile = tempfile::tempdir().expect("a folder");
    let log = profile.path().join("net.json");
    let url = format!("file://{}{fragment}", page.display());
    let flags = |extra: &[&str]| {
        let mut command = Command::new(chromium);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-background-networking"]);
        // it gets nowhere itself
        command.args([
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            "--enable-logging=stderr",
            "--v=0",
        ]);
        command.arg(format!("--blink-settings=preferredColorScheme={}", u8::from(scheme != "dark")));
        command.arg(format!("--user-data-dir={}", profile.path().display())).args(extra).arg(&url);
        finish(&mut command)
    };
    let shot = format!("--screenshot={}", page.with_file_name(format!("{scheme}.png")).display());
    flags(&["--window-size=1400,1900", &shot]);
    let net = format!("--log-net-log={}", log.display());
    let (dom, errors) = flags(&["--dump-dom", &net]);
    let console = errors.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect();
    let net: Value = serde_json::from_slice(&std::fs::read(&log).expect("a log of requests")).expect("a whole log");
    let requests = net["events"].as_array().expect("events").iter().map(|event| &event["params"]);
    // the browser has calls of its own, which have no page that asked
    let by_page = requests.filter(|request| request["initiator"].as_str().is_some_and(|who| who != "not an origin"));
    let asked = by_page.filter_map(|request| request["url"].as_str()).map(str::to_owned).collect();
    Seen { dom, console, asked }
}

/// What a program wrote; it is ended when it hangs.
fn finish(command: &mut Command) -> (String, String) {
    let dir = tempfile::tempdir().expect("a folder");
    let files = ["out", "err"].map(|name| dir.path().join(name));
    let [out, err] = files.each_ref().map(|path| std::fs::File::create(path).expect("made"));
    let mut child = command.stdin(Stdio::null()).stdout(out).stderr(err).spawn().expect("chromium starts");
    let end = Instant::now() + LIMIT;
    while child.try_wait().expect("asked").is_none() {
        if Instant::now() > end {
            let _ = child.kill();
            let _ = child.wait();
            panic!("chromium hangs");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let [out, err] = files.map(|path| String::from_utf8_lossy(&std::fs::read(path).expect("read")).into_owned());
    (out, err)
}

/// How often each element is there.
fn elements(dom: &str) -> BTreeMap<String, usize> {
    let mut all = BTreeMap::new();
    for rest in dom.split('<').skip(1) {
        let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '!').collect();
        if !name.is_empty() {
            *all.entry(name).or_default() += 1;
        }
    }
    all
}

/// What is said of any page.
fn assert_sound(seen: &Seen, page: &Path) {
    assert_eq!(seen.console, Vec::<String>::new(), "the console is quiet");
    assert_eq!(seen.asked, Vec::<String>::new(), "nothing is asked for");
    let elements = elements(&seen.dom);
    for name in ["script", "img", "iframe", "object", "embed", "link", "form", "image", "foreignObject"] {
        assert_eq!(elements.get(name), None, "<{name}> in {}", page.display());
    }
    assert!(elements["rect"] > 20, "a timeline is drawn");
}

/// A second of usage and metrics for every node, a few spans, and a writer that stumbles.
fn measured(mut events: Vec<Value>) -> Vec<Value> {
    let end = events.iter().position(|event| event["type"] == "case-finished").expect("it ends");
    let zero = events[0]["mono_ns"].as_u64().expect("a time");
    let last = events[end]["mono_ns"].as_u64().expect("a time");
    let at = |ns: u64| json!({"mono_ns": ns, "wall": "2026-12-01T16:52:00Z"});
    let told = |ns: u64, event: Value| {
        let mut all = json!({"seq": 0, "mono_ns": ns, "wall": "2026-12-01T16:52:00Z"});
        all.as_object_mut().expect("an object").extend(event.as_object().expect("an object").clone());
        all
    };
    let second = 1_000_000_000;
    let mut more = Vec::new();
    for number in 1..=3_u64 {
        let node = format!("joinder-control-plane-{number}");
        let fsync = [0.004, 0.009, 0.016][usize::try_from(number - 1).expect("small")];
        let began = zero + (8 + 6 * number) * second;
        for tick in 0..(last - began) / second {
            let (seen, up) = (began + tick * second, tick.min(20));
            for (component, cpu, mib) in [
                ("node", 900, 700 + 20 * up),
                ("etcd", 60 + 10 * number, 30 + 2 * up),
                ("kube-apiserver", 250, 150 + 9 * up),
                ("kubelet", 90, 60),
            ] {
                let busy = if tick % 9 == 0 { 3 } else { 1 };
                let usage = json!({"cpu_us": tick * cpu * 1_000 + busy * 300_000, "memory": mib << 20, "memory_peak": 0, "working_set": mib << 20,
                    "io_write": tick * 400_000 * number, "net_received": if component == "node" { tick * 90_000 } else { 0 }});
                more.push(told(seen, json!({"type": "used", "node": node, "component": component, "seen": at(seen), "usage": usage})));
            }
            let metrics = json!({"active_peers": [], "peer_sent": tick * 20_000, "peer_received": tick * 9_000 * number, "fsync_p99": fsync,
                "fsyncs": tick, "db_size": (1 + up / 3) << 20, "leader_changes": 1, "proposals": tick * 10});
            more.push(told(seen, json!({"type": "metrics", "node": node, "seen": at(seen), "metrics": metrics})));
        }
        if number > 1 {
            let mut from = zero + (17 * second);
            for (span, ms) in [
                ("preflight", 400),
                ("prepare", 1_500),
                ("slot-wait", 4_000 * (number - 1)),
                ("etcd-start", 900),
                ("promotion", 500),
                ("kubelet-certificate", 9_000),
                ("rest", 2_000),
            ] {
                more.push(told(from, json!({"type": "span", "node": node, "span": span, "began": at(from), "took": {"secs": ms / 1_000, "nanos": ms % 1_000 * 1_000_000}})));
                from += ms * 1_000_000;
            }
        }
    }
    let mut began = zero + 18 * second;
    for value in 0..300_u64 {
        let slow = if value == 90 { 1_400 } else { 8 };
        let end = if value == 91 {
            json!({"is": "unknown", "why": "no answer"})
        } else if value == 60 {
            json!({"is": "failed", "why": "etcdserver: leader changed"})
        } else {
            json!({"is": "ok"})
        };
        let ended = began + slow * 1_000_000;
        let call = json!({"client": "writer joinder-control-plane-1", "node": "joinder-control-plane-1", "op": "write", "key": "k", "value": value, "began": at(began), "ended": at(ended), "end": end, "revision": value});
        more.push(told(ended, json!({"type": "called", "call": call})));
        began = ended + 92_000_000;
    }
    let rest = events.split_off(end);
    events.into_iter().chain(more).chain(rest).collect()
}

#[test]
fn what_a_page_asks_for_and_says_would_be_seen() {
    let Some(chromium) = chromium() else { return };
    let dir = left().join("loud");
    std::fs::create_dir_all(&dir).expect("made");
    let page = dir.join("page.html");
    std::fs::write(&page, "<img src='http://nowhere.invalid/x.png'><script>console.log('hello')</script>").expect("written");
    let seen = open(&chromium, &page, "", "light");
    assert!(seen.asked.iter().any(|url| url == "http://nowhere.invalid/x.png"), "{:?}", seen.asked);
    assert!(seen.console.iter().any(|line| line.contains("hello")), "{:?}", seen.console);
}

#[test]
fn pages_of_real_runs_are_quiet_in_light_and_dark() {
    let Some(chromium) = chromium() else { return };
    let joined = report("joined", &measured(recorded("joined")));
    let failed = report("failed", &recorded("failed"));
    for (page, words) in [(&joined, "5 of 5 expectations held."), (&failed, "What failed: join")] {
        for scheme in ["light", "dark"] {
            let seen = open(&chromium, page, "", scheme);
            assert_sound(&seen, page);
            assert!(seen.dom.contains(words), "{words}");
            let picture = std::fs::metadata(page.with_file_name(format!("{scheme}.png"))).expect("a screenshot").len();
            assert!(picture > 20_000, "{scheme}: {picture} bytes");
        }
    }
}

/// Adds to texts that come from files, nodes and programs.
fn spoil(value: &mut Value, more: &str) {
    const NAMES: [&str; 15] = [
        "case",
        "summary",
        "file",
        "name",
        "text",
        "line",
        "phase",
        "error",
        "saw",
        "wanted",
        "reason",
        "client",
        "component",
        "engine",
        "repeat",
    ];
    match value {
        Value::Object(map) => {
            for (key, inner) in map.iter_mut() {
                if let (Value::String(text), true) = (&mut *inner, NAMES.contains(&key.as_str())) {
                    text.push_str(more);
                } else {
                    spoil(inner, more);
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|inner| spoil(inner, more)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn hostile_text_stays_text() {
    let Some(chromium) = chromium() else { return };
    let harmless = "x".repeat(HOSTILE.chars().count());
    let [page, calm] = [("hostile", HOSTILE), ("harmless", &harmless)].map(|(name, more)| {
        let mut events = measured(recorded("failed"));
        for event in &mut events {
            spoil(event, more);
        }
        report(name, &events)
    });
    let (seen, calm) = (open(&chromium, &page, "", "light"), open(&chromium, &calm, "", "light"));
    assert_sound(&seen, &page);
    assert!(seen.dom.contains("&lt;img src=x onerror="), "it is shown");
    assert!(!seen.dom.contains(">owned"), "and nothing more");
    assert!(!seen.dom.contains('\u{1b}') && !seen.dom.contains('\u{202e}') && !seen.dom.contains('\u{0}'));
    assert_eq!(elements(&seen.dom), elements(&calm.dom), "the same elements as with harmless text");
}

#[test]
fn a_link_to_a_sample_leads_into_the_timeline() {
    let Some(chromium) = chromium() else { return };
    let page = report("linked", &recorded("failed"));
    let html = std::fs::read_to_string(&page).expect("read");
    let links: Vec<&str> = html.split("href=\"#e").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(links.len() >= 3, "{links:?}");
    for seq in &links {
        assert!(html.contains(&format!("id=\"e{seq}\"")), "event {seq} is in the timeline");
    }
    let seen = open(&chromium, &page, &format!("#e{}", links[0]), "dark");
    assert_sound(&seen, &page);
}
