//! The rules, in the order in which a join meets them.

use std::time::Duration;

use super::super::policy::{EtcdPolicy, Health, Policy};
use super::situation::{Asked, Reply, Situation};
use super::verdict::{Advice, Answer, Finding};
use crate::event::{Member, MemberStatus};
use crate::sys::clock::human;

/// How long a connection must have been held before it counts (`HealthInterval`, `server/etcdserver/server.go`).
const GATE: Duration = Duration::from_secs(5);

/// What each rule says, and the worst of it.
pub fn advise(seen: &Situation) -> Advice {
    Advice::of(vec![quorum(seen), health(seen), alarms(seen), learner_limit(seen), connected(seen), promotion(seen)])
}

fn finding(rule: &'static str, answer: Answer, saw: String, remedy: Option<&str>, source: String) -> Finding {
    Finding { rule, answer, saw, remedy: remedy.filter(|_| answer != Answer::Yes).map(str::to_owned), source }
}

/// kubeadm's client begins with a linearizable member list (`Sync`), and etcd adds no member without a quorum that agrees.
fn quorum(seen: &Situation) -> Finding {
    let source = "kubeadm's etcd client syncs its endpoints by a linearizable member list (etcd 3.5 and newer: client/v3/client.go, Sync)";
    let make = |answer, saw, remedy| finding("quorum", answer, saw, remedy, source.into());
    let Err(why) = &seen.settled else {
        return make(Answer::Yes, format!("a linearizable member list with {} members", seen.list.len()), None);
    };
    let voters = seen.voters();
    let answering = seen.answering().count();
    let led = seen.answering().any(|(.., status)| status.leader.0 != 0);
    let unseen = seen.nodes.iter().all(|asked| matches!(asked.reply, Reply::Unseen(_)));
    let state = format!("no linearizable member list: {why}; {answering} of {voters} voters answer");
    if unseen || led {
        return make(Answer::CannotTell, state, Some("ask again, or look with `joinder watch`"));
    }
    let remedy = "bring back voters until more than half of them answer: without a quorum no member can be added or removed";
    make(Answer::No, format!("{state}, and none of them knows a leader"), Some(remedy))
}

/// What kubeadm's `check-etcd` finds, alarms aside.
fn health(seen: &Situation) -> Finding {
    let voters: Vec<&Member> = seen.started_voters().collect();
    let mut down = Vec::new();
    let (mut up, mut unseen) = (0, 0);
    for voter in &voters {
        match seen.reply_of(voter) {
            Some(Reply::Status(_)) => up += 1,
            Some(Reply::Silent(why)) => down.push(format!("{}: {why}", voter.name)),
            Some(Reply::Unseen(_)) => unseen += 1,
            None => down.push(format!("{} runs on no node of this cluster", voter.name)),
        }
    }
    let all = voters.len();
    let by = |rule: Health, up: usize| match rule {
        Health::Each => up == all,
        Health::Majority => up > all / 2,
    };
    let policy = Policy::of(&seen.kubeadm).ok().and_then(|policy| policy.health());
    let rules = policy.map_or(vec![Health::Each, Health::Majority], |rule| vec![rule]);
    let (least, most) = (rules.iter().all(|rule| by(*rule, up)), rules.iter().any(|rule| by(*rule, up + unseen)));
    let answer = match (least, most) {
        _ if all == 0 => Answer::CannotTell,
        (true, _) => Answer::Yes,
        (false, true) => Answer::CannotTell,
        (false, false) => Answer::No,
    };
    let wanted = match policy {
        Some(Health::Each) => "each started voter must answer (before kubernetes/kubernetes#138403)",
        Some(Health::Majority) => "more than half of the started voters must answer (kubernetes/kubernetes#138403)",
        None => "each started voter must answer, or more than half, as kubernetes/kubernetes#138403 is in this patch or not",
    };
    let mut saw = format!("{up} of {all} started voters answer");
    if !down.is_empty() {
        saw = format!("{saw}; {}", down.join("; "));
    }
    if unseen > 0 {
        saw = format!("{saw}; {unseen} could not be asked");
    }
    if answer == Answer::Yes && !down.is_empty() {
        saw = format!("{saw}; check-etcd waits etcdAPICall, 2 minutes unless it is set, for each that is down");
    }
    let remedy = "start what is down again, or take it out with `etcdctl member remove ID` where it does not come back";
    finding("health", answer, saw, Some(remedy), format!("kubeadm {} check-etcd: {wanted}", seen.kubeadm))
}

/// An alarm is told by all members, and the newer look at health takes a member that tells an error for ill.
fn alarms(seen: &Situation) -> Finding {
    let said: Vec<&String> = seen.answering().flat_map(|(.., status)| &status.errors).collect();
    let ill = seen.answering().filter(|(.., status)| !status.errors.is_empty()).count();
    let all = seen.started_voters().count();
    let well = seen.answering().count() - ill;
    let policy = Policy::of(&seen.kubeadm).ok().and_then(|policy| policy.health());
    let make = |answer, saw| {
        let source = format!("kubeadm {} check-etcd: errors in a member's status count since kubernetes/kubernetes#138403", seen.kubeadm);
        let remedy = match said.first() {
            Some(error) if !error.contains("alarm:") => "look at etcd's logs: this is no alarm, but an error that counts as one",
            Some(_) | None => "look with `etcdctl alarm list`; for NOSPACE compact and defragment, then `etcdctl alarm disarm`",
        };
        finding("alarms", answer, saw, Some(remedy), source)
    };
    let Some(first) = said.first() else { return make(Answer::Yes, "none".into()) };
    let saw = format!("{ill} of {all} voters tell of {first}");
    match policy {
        Some(Health::Each) => make(Answer::Yes, format!("{saw}, which this kubeadm does not look at")),
        _ if well > all / 2 => make(Answer::Yes, format!("{saw}, the others of nothing")),
        Some(Health::Majority) => make(Answer::No, saw),
        None => make(Answer::CannotTell, format!("{saw}; whether this kubeadm looks at it is not known")),
    }
}

/// etcd takes no more learners than `--max-learners`, one by default; before 3.6 it is one.
fn learner_limit(seen: &Situation) -> Finding {
    let learners: Vec<&Member> = seen.list.iter().filter(|member| member.learner).collect();
    let source =
        "etcd: too many learner members (membership/cluster.go, ValidateConfigurationChange; --max-learners since 3.6, 1 by default)";
    let make = |answer, saw, remedy: Option<&str>| finding("learner-limit", answer, saw, remedy, source.into());
    if learners.is_empty() {
        return make(Answer::Yes, "no learner".into(), None);
    }
    // each member judges by its own flag, so the lowest one decides
    let flags = seen.answering().map(|(_, asked, status)| match EtcdPolicy::of(&status.version) {
        Ok(policy) if !policy.limits_learners_by_flag() => Ok(1),
        Ok(_) | Err(_) => asked.max_learners.clone(),
    });
    let limit = match flags.collect::<Result<Vec<usize>, String>>() {
        Ok(flags) => flags.into_iter().min().ok_or_else(|| "no voter answers".to_owned()),
        Err(why) => Err(why),
    };
    let each: Vec<(String, Option<String>)> = learners.iter().map(|learner| holder(seen, learner)).collect();
    let who = each.iter().map(|(who, _)| who.clone()).collect::<Vec<_>>().join("; ");
    let remedies: Vec<String> = each.into_iter().filter_map(|(_, remedy)| remedy).collect();
    let remedy = if remedies.is_empty() { "wait until it is promoted".to_owned() } else { remedies.join("; ") };
    match limit {
        Ok(limit) if learners.len() < limit => make(Answer::Yes, format!("{} of {limit} learners: {who}", learners.len()), None),
        Ok(limit) => make(Answer::No, format!("{} of {limit} learners: {who}", learners.len()), Some(&remedy)),
        Err(why) => make(Answer::CannotTell, format!("{} learners: {who}; the limit is not known: {why}", learners.len()), Some(&remedy)),
    }
}

/// Who holds a learner's place, in words, and what to do where nobody will give it free.
fn holder(seen: &Situation, learner: &Member) -> (String, Option<String>) {
    let node = seen.node_of(learner);
    let started = if learner.started() { "started" } else { "not started" };
    let name = match node {
        Some(asked) if !learner.started() => format!("{} of {}", learner.id, asked.node),
        Some(_) | None => learner.label(),
    };
    let remove = format!("`etcdctl member remove {}`", learner.id);
    match node {
        Some(asked) if asked.kubeadm_runs => (format!("{name} ({started}), whose kubeadm is at it"), None),
        Some(asked) => {
            let again = format!("on {} run `kubeadm join phase etcd-join` again, or take the learner out with {remove}", asked.node);
            (format!("{name} ({started}), whose node runs no kubeadm: nobody will promote it"), Some(again))
        }
        None => {
            (format!("{name} ({started}), of no node of this cluster: nobody will promote it"), Some(format!("take it out with {remove}")))
        }
    }
}

/// What the member that kubeadm asks says of its connections.
enum Taken {
    Yes,
    /// In so long.
    Later(Duration),
    /// Nobody looked for long enough.
    Unknown,
    No(String),
}

/// The member that is asked must have held connections for 5 s: to all voters, or to the quorum of one more, by etcd's version.
fn connected(seen: &Situation) -> Finding {
    let voters = seen.voters();
    let each: Vec<(Taken, &Member)> =
        seen.answering().map(|(member, asked, status)| (taken(seen, member, asked, status), member)).collect();
    let versions: Vec<&str> = seen.answering().map(|(.., status)| status.version.as_str()).collect();
    let source = format!(
        "etcd {} refuses a member as \"unhealthy cluster\" (server/etcdserver: mayAddMember, HealthInterval of 5 s; all voters before 3.5.30 and 3.6.11, \
         then the quorum of one more: etcd-io/etcd#21667)",
        versions.first().copied().unwrap_or("of any version")
    );
    let make = |answer, saw, remedy: Option<&str>| finding("connected", answer, saw, remedy, source.clone());
    if each.is_empty() {
        return make(Answer::CannotTell, "no voter answers".into(), Some("bring back voters"));
    }
    let fine = each.iter().filter(|(taken, _)| matches!(taken, Taken::Yes)).count();
    if fine == each.len() {
        let saw = if voters == 1 {
            "a single voter takes members at any time".to_owned()
        } else {
            format!("{fine} voters are connected to enough others, each for 5 s")
        };
        return make(Answer::Yes, saw, None);
    }
    let unknown = each.iter().any(|(taken, _)| matches!(taken, Taken::Unknown));
    let later = each.iter().filter_map(|(taken, _)| if let Taken::Later(in_time) = taken { Some(*in_time) } else { None }).max();
    let broken: Vec<String> = each
        .iter()
        .filter_map(|(taken, member)| if let Taken::No(why) = taken { Some(format!("{} {why}", member.label())) } else { None })
        .collect();
    if !broken.is_empty() && broken.len() == each.len() {
        let remedy = "start the voters that are down again, or take them out with `etcdctl member remove ID`";
        return make(Answer::No, broken.join("; "), Some(remedy));
    }
    if let (Some(time), false) = (later, unknown || !broken.is_empty()) {
        let saw = format!(
            "a connection between voters is younger than 5 s: a member was promoted or restarted just now, {} are missing",
            human(time)
        );
        return make(
            Answer::No,
            saw,
            Some("wait for 5 s behind the last promotion or restart; kubeadm tries again by itself until etcdAPICall has passed"),
        );
    }
    let saw = if broken.is_empty() {
        "nobody has looked at the connections for 5 s yet".to_owned()
    } else {
        format!("{fine} of {} voters take members; {}", each.len(), broken.join("; "))
    };
    make(Answer::CannotTell, saw, Some("ask again: which voter kubeadm asks is its client's choice"))
}

fn taken(seen: &Situation, member: &Member, asked: &Asked, status: &MemberStatus) -> Taken {
    let voters = seen.voters();
    let Ok(policy) = EtcdPolicy::of(&status.version) else { return Taken::Unknown };
    let needed = policy.connected(voters);
    if voters == 1 {
        return Taken::Yes;
    }
    let Some(held) = &asked.held else { return Taken::Unknown };
    let (mut old, mut unsure, mut young) = (1, 0, Vec::new());
    let others: Vec<&Member> = seen.list.iter().filter(|other| !other.learner && other.id != member.id).collect();
    for other in &others {
        match held.get(&other.id) {
            Some(held) if held.at_least >= GATE => old += 1,
            Some(held) if held.begin_seen => young.push(GATE.saturating_sub(held.at_least)),
            Some(_) => unsure += 1,
            None => {}
        }
    }
    young.sort();
    if old >= needed {
        Taken::Yes
    } else if old + unsure + young.len() < needed {
        let missing: Vec<String> = others.iter().filter(|other| !held.contains_key(&other.id)).map(|other| other.label()).collect();
        Taken::No(format!(
            "is connected to {} of {voters} voters, itself included, and needs {needed}: not to {}",
            old + unsure + young.len(),
            missing.join(", ")
        ))
    } else if old + unsure >= needed || unsure > 0 {
        Taken::Unknown
    } else {
        Taken::Later(young.get(needed - old - 1).copied().unwrap_or(GATE))
    }
}

/// A learner gets its vote only where the voters that have started, and it, are a quorum of all with it.
fn promotion(seen: &Situation) -> Finding {
    let (voters, started) = (seen.voters(), seen.started_voters().count());
    let quorum = voters.div_ceil(2) + 1;
    let source = "etcd promotes only with enough started voters (server/etcdserver: mayPromote, IsReadyToPromoteMember)";
    let saw = format!("{started} of {voters} voters have started: {} with the new one, and {quorum} are needed", started + 1);
    let answer = match started + 1 >= quorum {
        _ if voters == 0 => Answer::CannotTell,
        true => Answer::Yes,
        false => Answer::No,
    };
    finding(
        "promotion",
        answer,
        saw,
        Some("start the voters that have not started, or take them out with `etcdctl member remove ID`"),
        source.into(),
    )
}
