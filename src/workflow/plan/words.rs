//! A plan's steps in words, for `--dry-run`, logs and reports.

use serde_json::Value;

use super::types::{Language, Plan, PlannedTask, Step, Transfer};
use crate::cluster::EtcdAlone;
use crate::event::TaskPlan;
use crate::spec::{Ending, Exec, Fault, Join, MemberKind, MemberStep, Order, Restart, Scale, Span, Trigger, Wait};

/// What a step does, in one line; to an etcd alone where there is one.
pub fn describe(step: &Step, etcd: Option<&EtcdAlone>) -> String {
    match step {
        Step::Cmd(process) => format!("run {}", command(std::iter::once(&process.program).chain(&process.args))),
        Step::Create => "make the nodes".into(),
        Step::Init => match etcd {
            Some(etcd) => format!("found etcd with {} members", etcd.members),
            None => "kubeadm init".into(),
        },
        Step::Join(join) => describe_join(join),
        Step::Exec(exec) => describe_exec(exec),
        Step::Copy(Transfer::In { from, nodes, to, .. }) => format!("copy {} to {to} in {nodes}", from.display()),
        Step::Copy(Transfer::Out { node, from, to }) => format!("copy {from} of {node} to {}", to.display()),
        Step::Wait(wait) => describe_wait(wait),
        Step::Group { tasks, keep_going } => {
            let going = if *keep_going { ", a failure stops none" } else { "" };
            format!("{} tasks side by side{going}", tasks.len())
        }
        Step::Export(export) => format!("write the nodes' logs to {}", export.to.as_deref().unwrap_or("the artifacts")),
        Step::Restart(restart) => describe_restart(restart),
        Step::Reset(reset) => format!("kubeadm reset of {}", reset.nodes),
        Step::Repair(repair) => match &repair.nodes {
            Some(nodes) => format!("repair what failed joins of {nodes} have left"),
            None => "repair what failed joins have left".into(),
        },
        Step::Scale(scale) => describe_scale(scale),
        Step::Advise(advise) => {
            let because = advise.because.as_ref().map(|text| format!(", because of {text:?}")).unwrap_or_default();
            format!("ask whether the next control plane may join, {} is wanted{because}", advise.is.as_str())
        }
        Step::Member(member) => describe_member(member),
        Step::Fault(fault) => format!("break {}", describe_standing(fault)),
        Step::Heal(id) => format!("end the fault {id:?}"),
        Step::Delete => "remove everything".into(),
        Step::Expect => "look".into(),
    }
}

/// A fault that has no step to end with.
fn describe_standing(fault: &Fault) -> String {
    let all = describe_fault(fault);
    let at_once = fault.on == Trigger::default();
    let all = if at_once { all.replacen(": on : ", ": at once: ", 1) } else { all };
    all.strip_suffix(", until step-end").map_or(all.clone(), |all| format!("{all}, until it is healed"))
}

/// What a fault does, and when: its own keys and values.
pub fn describe_fault(fault: &Fault) -> String {
    let given = |value: serde_json::Result<Value>| value.map_or_else(|e| e.to_string(), |value| without_nulls(value).to_string());
    let words = |json: String| {
        let text = json.replace(['{', '}', '"', '[', ']'], "").replace(':', " ").replace(',', ", ");
        text.trim_end().to_owned()
    };
    let (on, action) = (given(serde_json::to_value(&fault.on)), given(serde_json::to_value(&fault.action)));
    let until = given(serde_json::to_value(fault.until));
    format!("{}: on {}: {}, until {}", fault.id, words(on), words(action), words(until))
}

/// What is said, at any depth.
fn without_nulls(value: Value) -> Value {
    let Value::Object(all) = value else { return value };
    Value::Object(all.into_iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| (key, without_nulls(value))).collect())
}

/// Tasks as events tell of them, those of a group behind it. kinder's logs have the whole command in their headers.
pub fn outline(plan: &Plan) -> Vec<TaskPlan> {
    let mut all: Vec<TaskPlan> = plan.tasks.iter().flat_map(|task| outline_one(task, plan.topology.etcd.as_ref(), None)).collect();
    if let Language::V1 { .. } = plan.language {
        for (told, task) in all.iter_mut().zip(&plan.tasks) {
            if let Step::Cmd(process) = &task.step {
                told.what = std::iter::once(&process.program).chain(&process.args).cloned().collect::<Vec<_>>().join(" ");
            }
        }
    }
    all
}

fn outline_one(task: &PlannedTask, etcd: Option<&EtcdAlone>, group: Option<usize>) -> Vec<TaskPlan> {
    let own = TaskPlan {
        index: task.index,
        group,
        name: task.name.clone(),
        what: describe(&task.step, etcd),
        description: task.description.clone(),
        limit: task.limit,
        force: task.force,
    };
    let mut all = vec![own];
    if let Step::Group { tasks, .. } = &task.step {
        all.extend(tasks.iter().flat_map(|inner| outline_one(inner, etcd, Some(task.index))));
    }
    all
}

fn command<'a>(words: impl Iterator<Item = &'a String>) -> String {
    let quoted = words.map(|word| {
        let plain = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c));
        let first = word.lines().next().unwrap_or_default();
        match (plain, first.len() == word.len()) {
            (true, _) => word.clone(),
            (false, true) => format!("'{word}'"),
            (false, false) => format!("'{first} …'"),
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

fn describe_join(join: &Join) -> String {
    let nodes = join.nodes.as_ref().map_or_else(|| "all nodes but the first".to_owned(), ToString::to_string);
    let most = join.in_flight.map(|n| format!(", {n} at a time")).unwrap_or_default();
    let jitter = join.jitter.map(|j| format!(", jitter up to {j}")).unwrap_or_default();
    let seed = join.seed.map(|s| format!(", seed {s}")).unwrap_or_default();
    let watched = if join.watch_calls { ", its calls to etcd watched" } else { "" };
    format!("kubeadm join of {nodes}, {}{most}{jitter}{seed}{watched}", join.order.as_str())
}

fn describe_exec(exec: &Exec) -> String {
    let what = match (&exec.command, &exec.script) {
        (Some(words), _) => command(words.iter()),
        (None, Some(script)) => format!("a script of {} lines", script.lines().count()),
        (None, None) => "nothing".into(),
    };
    let code = if exec.exit_code == 0 { String::new() } else { format!(", exit code {} is wanted", exec.exit_code) };
    format!("run {what} in {}{code}", exec.nodes)
}

fn describe_wait(wait: &Wait) -> String {
    match (wait.time, wait.until) {
        (Some(time), _) => format!("wait {time}"),
        (None, Some(state)) => {
            let nodes = wait.nodes.as_ref().map_or_else(|| "all nodes".to_owned(), ToString::to_string);
            let within = wait.within.map(|w| format!(", at most {w}")).unwrap_or_default();
            format!("wait until {nodes} are {}{within}", state.as_str())
        }
        (None, None) => "wait for nothing".into(),
    }
}

fn describe_restart(restart: &Restart) -> String {
    let what = match restart.what {
        crate::spec::Part::Node => String::new(),
        part @ (crate::spec::Part::Kubelet | crate::spec::Part::Etcd | crate::spec::Part::KubeApiserver) => {
            format!("{} of ", part.as_str())
        }
    };
    let verb = match restart.how {
        crate::spec::Ending::Stop => "restart",
        crate::spec::Ending::Kill => "kill and start",
    };
    let at_once = if restart.parallel { ", all at once" } else { "" };
    format!("{verb} {what}{}{at_once}", restart.nodes)
}

fn describe_member(member: &MemberStep) -> String {
    let within = |within: Option<Span>| within.map(|w| format!(", within {w}")).unwrap_or_default();
    let MemberStep { add, start, promote, remove, update, stop, put, fails } = member;
    let add = add.as_ref().map(|add| {
        let kind = match add.kind {
            MemberKind::Learner => "learner",
            MemberKind::Voter => "voter",
        };
        format!("add {} as a {kind}{}", add.node, within(add.within))
    });
    let start = start.as_ref().map(|start| {
        let delay = start.delay.map(|delay| format!(", {delay} later")).unwrap_or_default();
        format!("start etcd of {}{delay} until {}{}", start.node, start.until.as_str(), within(start.within))
    });
    let promote = promote.as_ref().map(|change| format!("promote {}{}", change.node, within(change.within)));
    let remove = remove.as_ref().map(|change| format!("remove {}{}", change.node, within(change.within)));
    let update = update.as_ref().map(|update| format!("update {} to {}", update.node, update.peer_url));
    let stop = stop.as_ref().map(|stop| match stop.how {
        Ending::Stop => format!("stop etcd of {}", stop.node),
        Ending::Kill => format!("kill etcd of {}", stop.node),
    });
    let put = put.as_ref().map(|put| format!("put {} entries", put.entries));
    let fails = fails.as_ref().map(|text| format!(", which fails with {text:?}")).unwrap_or_default();
    let words: Vec<String> = [add, start, promote, remove, update, stop, put].into_iter().flatten().collect();
    words.join(", ") + &fails
}

fn describe_scale(scale: &Scale) -> String {
    let parts = [("control planes", scale.control_planes), ("workers", scale.workers)];
    let words: Vec<String> = parts.into_iter().filter_map(|(what, n)| n.map(|n| format!("{n} {what}"))).collect();
    let order = if scale.order == Order::default() { String::new() } else { format!(", {}", scale.order.as_str()) };
    format!("scale to {}{order}", words.join(" and "))
}
