//! The pages as text: what they say, that they are whole, and that nothing in them is more than text.

use std::fmt::Write;
use std::time::Duration;

use serde_json::Value;

use super::{compare, index, page, view};
use crate::event::{
    CallEnd, ClientCall, EtcdCall, EtcdMetrics, EtcdSample, Event, FaultMoment, MemberId, MemberStatus, Moment, Op, Outcome, SpanKind,
    Told, Usage, Verdict,
};
use crate::report::files::Pages;
use crate::report::model::Run;
use crate::report::script::{Script, judged, name, run_of, stamp};
use crate::sys::clock::Stamp;

/// Elements and attributes that the templates have.
const ELEMENTS: &str = "html head meta title style body a header p h1 h2 h3 dl div dt dd code main section article span ul li details summary pre \
    table thead tbody tr th td time fieldset legend label input svg defs pattern rect g line text path polyline figure figcaption b small strong footer";
const ATTRIBUTES: &str = "lang charset http-equiv content name href class title tabindex role aria-label aria-labelledby aria-hidden scope id open \
    type value checked style x y width height d points viewBox preserveAspectRatio overflow y1 y2 x1 x2 patternUnits patternTransform text-anchor";

fn heard(told: &[Told]) -> (Run, Pages) {
    let (mut run, mut pages) = (Run::default(), Pages::keeping(true));
    for told in told {
        let ended = run.hear(told);
        pages.hear(told, &run, ended);
    }
    (run, pages)
}

fn html(script: &Script) -> String {
    let (run, pages) = heard(&script.told);
    let case = run.cases().last().expect("a case");
    let history = pages.histories().last().expect("its history");
    String::from_utf8(page(&view(&run, case, history)).expect("drawn")).expect("UTF-8")
}

/// An element: its name, its attributes; or the end of one.
struct Tag {
    name: String,
    attributes: Vec<(String, String)>,
    ends: bool,
    empty: bool,
}

/// All tags of a page. Panics at what is no HTML that the templates could have made.
fn tags(html: &str) -> Vec<Tag> {
    let mut all = Vec::new();
    let mut rest = html.strip_prefix("<!doctype html>").expect("its type");
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let end = rest.find('>').expect("a tag ends");
        let (inside, behind) = rest.split_at(end);
        rest = &behind[1..];
        let ends = inside.starts_with('/');
        let inside = inside.trim_start_matches('/');
        let empty = inside.ends_with('/');
        let inside = inside.trim_end_matches('/');
        let (name, mut more) = inside.split_once(char::is_whitespace).unwrap_or((inside, ""));
        let mut attributes = Vec::new();
        while !more.trim_start().is_empty() {
            more = more.trim_start();
            let name_end = more.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(more.len());
            let (attribute, value) = more.split_at(name_end);
            if let Some(quoted) = value.strip_prefix("=\"") {
                let (value, behind) = quoted.split_once('"').expect("a value ends");
                attributes.push((attribute.to_owned(), value.to_owned()));
                more = behind;
            } else {
                attributes.push((attribute.to_owned(), String::new()));
                more = value;
            }
        }
        let empty = empty || ["meta", "input"].contains(&name);
        all.push(Tag { name: name.to_owned(), attributes, ends, empty });
    }
    all
}

/// Every element is known, ends where it should, leads nowhere else, and asks for nothing.
fn assert_sound(html: &str) {
    let known = |list: &str, word: &str| list.split_whitespace().any(|known| known == word);
    let mut open: Vec<String> = Vec::new();
    for tag in tags(html) {
        assert!(known(ELEMENTS, &tag.name), "<{}>", tag.name);
        for (attribute, value) in &tag.attributes {
            assert!(known(ATTRIBUTES, attribute), "{attribute}={value:?} of <{}>", tag.name);
            let value = value.replace("&#x2f;", "/");
            let inside = value.starts_with('#') || value == "../index.html" || value.starts_with("./") && value.ends_with("/report.html");
            assert!(attribute != "href" || inside, "href={value:?}");
        }
        match (tag.ends, tag.empty) {
            (false, true) => {}
            (false, false) => open.push(tag.name),
            (true, _) => assert_eq!(open.pop().as_ref(), Some(&tag.name), "ends in its place"),
        }
    }
    assert_eq!(open, Vec::<String>::new(), "all is closed");
    assert!(html.contains("default-src 'none'"), "its policy");
    let style = html.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next()).expect("a style");
    assert!(!style.contains("url(") && !style.contains("@import"), "the style asks for nothing");
    assert!(html.chars().all(|c| c == '\n' || !c.is_control()), "no character commands");
}

/// As the templates write text.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#x27;")
        .replace('/', "&#x2f;")
}

/// All that can be told of a run, some of it going wrong.
fn measured() -> Script {
    let mut script = Script::joining();
    let mut writes = 0;
    for second in 0..30_u64 {
        for number in 1..=3 {
            for component in ["node", "etcd", "kube-apiserver", "kubelet"] {
                let usage =
                    Usage { cpu_us: second * 100_000 * number, memory: (100 + second) << 20, net_sent: second * 1_000, ..Usage::default() };
                script.tell(Event::Used { node: name(number), component: component.into(), seen: script.now(), usage });
            }
            let metrics =
                EtcdMetrics { peer_sent: second * 5_000, fsync_p99: Some(0.008), db_size: second << 16, ..EtcdMetrics::default() };
            script.tell(Event::Metrics { node: name(number), seen: script.now(), metrics });
        }
        let began = script.now();
        writes += 1;
        let end = match second {
            10 => CallEnd::Unknown { why: "no answer".into() },
            11 => CallEnd::Failed { why: "leader changed".into() },
            _ => CallEnd::Ok,
        };
        let ended = stamp(began.mono / 1_000_000 - 1_000 + 20);
        let client = format!("writer {}", name(1));
        let (key, value) = ("k".into(), Some(writes));
        let call = ClientCall { client, node: name(1), op: Op::Write, key, value, began, ended, end, revision: writes };
        script.tell(Event::Called { call });
    }
    let mut fault = |moment| {
        let (index, id, what) = (2, "cut".to_owned(), "cp2 cut off from <first>".to_owned());
        script.tell(Event::Fault { index, id, node: String::new(), what, moment });
        script.now()
    };
    let began = fault(FaultMoment::Armed);
    fault(FaultMoment::Done { by: "a call".into(), began, down: vec![name(2)], lasts: true });
    fault(FaultMoment::Bit { proof: "12 packets dropped".into() });
    fault(FaultMoment::Healed);
    for (method, answered, disturbed) in [("MemberAdd", Some(9), None), ("MemberAdd", Some(0), None), ("MemberPromote", None, Some("x"))] {
        let (began, ended) = (script.now(), script.now().after(Duration::from_millis(20)));
        let (method, disturbed) = (method.to_owned(), disturbed.map(str::to_owned));
        let call = EtcdCall { method, endpoint: "10.0.0.1:2379".into(), began, ended, answered, said: String::new(), disturbed };
        script.tell(Event::Proxied { node: name(2), call });
    }
    for (span, ms) in [(SpanKind::Join, 9_000), (SpanKind::Preflight, 500), (SpanKind::SlotWait, 4_000), (SpanKind::Promotion, 900)] {
        let began = script.now();
        script.tell(Event::Span { node: name(3), span, began, took: Duration::from_millis(ms) });
    }
    script.tell(Event::Warning { text: "a late answer".into() });
    script.member(2, &name(2), Moment::Removed);
    script.ends(2, "join", Outcome::TimedOut { limit: Duration::from_mins(5) }, true);
    script.case_finishes(1, Some("join"));
    script.finish(100)
}

#[test]
fn what_is_said_of_runs() {
    for (case, script) in [
        ("passing", Script::passing()),
        ("failing", Script::failing()),
        ("stopped", Script::stopped()),
        ("undecided", Script::undecided()),
        ("left", Script::left()),
        ("measured", measured()),
    ] {
        let (run, pages) = heard(&script.told);
        let view = view(&run, run.cases().last().expect("a case"), pages.histories().last().expect("its history"));
        let mut said = serde_json::to_value(&view).expect("plain");
        // bars are one a line, axes are tested for themselves
        let mut lines = String::new();
        for bar in said["timeline"]["bars"].as_array().into_iter().flatten() {
            let _ = writeln!(
                lines,
                "{:>4} {:>7} {:>7} {} {}",
                bar["y"],
                bar["x"].as_str().unwrap_or(""),
                bar["w"].as_str().unwrap_or(""),
                bar["class"],
                bar["text"]
            );
        }
        said["timeline"]["bars"] = lines.lines().map(str::to_owned).collect();
        said["timeline"]["scales"] = Value::Null;
        said["timeline"]["bands"] = Value::Null;
        for line in said["plots"].as_array_mut().into_iter().flatten().flat_map(|plot| plot["lines"].as_array_mut().expect("lines")) {
            let pieces = line["pieces"].as_array().expect("pieces").iter();
            let counts = pieces.map(|piece| format!("{} points", piece.as_str().map_or(0, |points| points.split_whitespace().count())));
            line["pieces"] = counts.collect::<Vec<_>>().into();
        }
        insta::assert_json_snapshot!(format!("page_{case}"), said);
    }
}

#[test]
fn of_a_step_that_a_broken_invariant_ended_nobody_says_that_it_ran() {
    let run = run_of(&Script::broken());
    let sentence = super::view::ending(run.cases().next().expect("a case")).sentence;
    assert!(sentence.starts_with("Ended before it was done: join"), "{sentence}");
}

#[test]
fn a_page_is_whole_and_holds_every_verdict() {
    for script in [
        Script::passing(),
        Script::failing(),
        Script::broken(),
        Script::stopped(),
        Script::undecided(),
        Script::left(),
        Script::grouped(),
        measured(),
    ] {
        let html = html(&script);
        assert_sound(&html);
        for told in &script.told {
            let Event::Judged { judgement, .. } = &told.event else { continue };
            for text in [&judgement.name, &judgement.wanted, &judgement.saw] {
                assert!(html.contains(&escaped(text)), "{text}");
            }
        }
    }
}

#[test]
fn the_seed_is_on_the_page() {
    assert!(html(&Script::passing()).contains("<dt>seed</dt>"));
}

#[test]
fn what_was_not_recorded_is_said() {
    let page = html(&Script::passing());
    for what in ["Nothing was recorded of named spans", "Nothing was recorded of client calls", "Nothing was recorded of CPU"] {
        assert!(page.contains(what), "{what}");
        assert!(!html(&measured()).contains(what), "not {what}");
    }
}

/// Adds to every text that is no name of a type.
fn spoil(value: &mut Value, bad: &str) {
    const FIXED: [&str; 12] = ["type", "wall", "id", "leader", "verdict", "is", "moment", "work", "op", "span", "address", "folder"];
    match value {
        Value::Object(map) => {
            for (_, inner) in map.iter_mut().filter(|(key, _)| !FIXED.contains(&key.as_str())) {
                if let Value::String(text) = inner {
                    text.push_str(bad);
                } else {
                    spoil(inner, bad);
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|inner| spoil(inner, bad)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn hostile_text_is_text_wherever_it_comes_from() {
    let bad = "</script></style><img src=x onerror=alert(1)>\"' onload=x {{ 1 }} {% endif %} <!-- \u{1b}[2J\0\u{202e}";
    let mut script = measured();
    script.judges(2, "join", judged("members", Verdict::Fail, "x", &[]));
    let mut all = serde_json::to_value(&script.told).expect("plain");
    spoil(&mut all, bad);
    script.told = serde_json::from_value(all).expect("events");
    for html in [html(&script), html(&Script::hostile())] {
        assert_sound(&html);
    }
    assert!(html(&script).matches("&lt;img src=x onerror=alert(1)&gt;").count() > 20, "it is shown");
    let (run, pages) = heard(&script.told);
    let side = || (&run, run.cases().last().expect("a case"), pages.histories().last().expect("its history"));
    assert_sound(&String::from_utf8(compare(side(), side()).expect("drawn")).expect("UTF-8"));
}

#[test]
fn several_cases_have_a_list_the_worst_first() {
    let (run, _) = heard(&Script::matrix().told);
    let html = String::from_utf8(index(&run).expect("drawn")).expect("UTF-8");
    assert_sound(&html);
    let places: Vec<usize> = ["02-case", "03-case", "01-case"].iter().map(|case| html.find(case).expect("listed")).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert_sound(&self::html(&Script::matrix()));
}

#[test]
fn two_runs_lie_side_by_side() {
    let (a, b) = (heard(&Script::passing().told), heard(&measured().told));
    let bytes = compare(
        (&a.0, a.0.cases().last().expect("a case"), a.1.histories().last().expect("its history")),
        (&b.0, b.0.cases().last().expect("a case"), b.1.histories().last().expect("its history")),
    );
    let html = String::from_utf8(bytes.expect("drawn")).expect("UTF-8");
    assert_sound(&html);
    let row = html.split("<tr").find(|row| row.contains("join &#x2f; promotion control-plane-2")).expect("a row");
    assert!(row.starts_with(" class=\"differs\""), "only the first has it: {row}");
    let row = html.split("<tr").find(|row| row.contains("init &#x2f; members")).expect("a row");
    assert!(row.starts_with('>'), "both have it: {row}");
}

#[test]
fn a_hundred_nodes_over_an_hour_are_no_more_than_five_megabytes() {
    let mut script = Script::grown(99);
    let hour = 3_600_000;
    for (at, ms) in (0..hour).step_by(10_000).enumerate() {
        for number in 1..=100 {
            for component in ["node", "etcd", "kube-apiserver", "kubelet"] {
                let usage = Usage { cpu_us: ms * number, memory: (at as u64 % 37) << 20, io_write: ms, net_sent: ms, ..Usage::default() };
                script.told.push(Told {
                    seq: 0,
                    at: stamp(ms),
                    event: Event::Used { node: name(number), component: component.into(), seen: stamp(ms), usage },
                });
            }
            let event = Event::KubeadmPhase { node: name(number), seen: stamp(ms), phase: "etcd".into() };
            if at % 20 == 0 {
                script.told.push(Told { seq: 0, at: stamp(ms), event });
            }
        }
    }
    for number in 2..=100 {
        script.told.push(Told { seq: 0, at: stamp(hour), event: Event::KubeadmStarted { node: name(number), argv: vec![] } });
    }
    let began = Stamp::now();
    let html = html(&script);
    assert!(html.contains("100 nodes over 3600 seconds"), "all of it");
    assert!((1_000_000..5_000_000).contains(&html.len()), "{} bytes", html.len());
    let took = Stamp::now().since(began);
    assert!(took < Duration::from_mins(1), "{took:?}");
}

#[test]
fn behind_a_lost_quorum_nobody_leads_and_no_client_looks_well() {
    let mut script = Script::joining();
    let mut says = |leader| {
        let status = MemberStatus { id: MemberId(1), leader: MemberId(leader), term: 2, index: 9, ..MemberStatus::default() };
        let seen = script.now();
        let sample = EtcdSample { seen, members: None, status: Some(status), error: None, gap_ms: None, looks: 1, missed: 0 };
        script.tell(Event::Etcd { node: name(1), sample });
    };
    says(1);
    says(0);
    for (at, end) in [CallEnd::Ok, CallEnd::Failed { why: "no leader".into() }].into_iter().enumerate() {
        let began = script.now();
        let (ended, revision) = (began.after(Duration::from_millis(20)), at as u64);
        let (client, key) = (format!("writer {}", name(1)), "own/1".to_owned());
        let call = ClientCall { client, node: name(1), op: Op::Write, key, value: Some(1), began, ended, end, revision };
        script.tell(Event::Called { call });
    }
    let page = html(&script);
    assert!(page.contains("no member that answers knows a leader"), "the leader's bar ends");
    assert!(page.contains("none of its writes succeeded any more"), "the client's bar ends with its last success");
}
