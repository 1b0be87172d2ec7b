# Events of the runs of one workflow, slurped, to the rows of its table; `$kind` says of which: voter-vs-learner, slot-hold, learner-cost.
# scripts/etcd-tables has only those types of events that are used here.
def two: (. * 100 | round) / 100;
def median: sort | if length == 0 then null elif length % 2 == 1 then .[length / 2 | floor] else (.[length / 2 - 1] + .[length / 2]) / 2 end;
def cell: map(values) | if length == 0 then "not seen" else "\(median | two) (\(min | two)–\(max | two))" end;
def row: "| " + join(" | ") + " |";

# the cases, each with its choice and its events
def cases:
  reduce .[] as $e ({all: [], now: null};
    if $e.type == "case-started" then .now = {choice: ($e.choice | map(.[1])), events: []}
    elif $e.type == "case-finished" then (if .now then .all += [.now] else . end) | .now = null
    elif .now then .now.events += [$e] else . end)
  | .all;

def moment($node; $what): [.[] | select(.type == "member" and .moment == $what and (.name | endswith($node))) | .seen.mono_ns] | first;
# a member has no name when it is announced
def announced: [.[] | select(.type == "member" and .moment == "announced") | .seen.mono_ns] | sort;
def between($from; $to): if $from and $to then ($to - $from) / 1e9 else null end;

# the longest time without an acknowledged write, in seconds, from the first write's beginning on
def gap:
  [.[] | select(.type == "called" and .call.op == "write") | .call]
  | [map(.began.mono_ns) | min] + [.[] | select(.end.is == "ok") | .ended.mono_ns] | sort
  | [.[1:], .[:-1]] | transpose | map(.[0] - .[1]) | max | if . then . / 1e9 else null end;

# while a task of this name ran
def during($task):
  ([.[] | select(.type == "task-started" and .name == $task) | .mono_ns] | first) as $from
  | ([.[] | select(.type == "task-finished" and .name == $task) | .mono_ns] | first) as $to
  | [.[] | select(.seen.mono_ns? >= $from and .seen.mono_ns? <= $to)];
def leader: [.[] | select(.type == "etcd" and .sample.status.leader? == .sample.status.id? and .sample.status.id?) | .node] | last;
def rate(stamps; values): [stamps] as $t | [values] as $v
  | if ($t | length) < 2 then null else ($v[-1] - $v[0]) / (($t[-1] - $t[0]) / 1e9) end;
# what the leader used in a phase
def used($node; $task):
  during($task)
  | [.[] | select(.type == "used" and .component == "etcd" and .node == $node)] as $u
  | [.[] | select(.type == "metrics" and .node == $node)] as $m
  | {cpu: rate($u[].seen.mono_ns; $u[].usage.cpu_us / 1e4), rss: ([$u[].usage.rss / 1048576] | median),
     sent: rate($m[].seen.mono_ns; $m[].metrics.peer_sent / 1024)};

cases
| if $kind == "voter-vs-learner" then
    map({choice, gap: (.events | gap)})
    | group_by([.choice[0], (.choice[1] | rtrimstr("s") | tonumber)]) | .[]
    | [.[0].choice[], (map(.gap) | cell)] | row
  elif $kind == "slot-hold" then
    map(.choice as $choice | .events
      | {choice: $choice, slot: between(announced[0]; moment("-etcd-2"; "promoted")), next: between(announced[0]; announced[1])})
    | group_by(.choice) | sort_by(.[0].choice[0] | rtrimstr("MiB") | tonumber) | .[]
    | [.[0].choice[], (map(.slot) | cell), (map(.next) | cell)] | row
  else
    map(.choice as $choice | .events | leader as $leader | . as $events
      | ["before", "learning", "voting"][] | . as $phase | {choice: $choice, phase: $phase} + ($events | used($leader; $phase)))
    | group_by([.choice, .phase]) | .[]
    | [.[0].choice[], .[0].phase, (map(.cpu) | cell), (map(.rss) | cell), (map(.sent) | cell)] | row
  end
