# jq -s: the events of one run to one row, in seconds.
# `total` is by-hand's: from the first thing made to all nodes Ready. `overhead` is in per cent: of the wall time from the
# first thing made to the last join's end, what is beyond the time in which a node was being made or a kubeadm ran.
def secs: .secs + .nanos / 1e9;
def worked($work): map(select(.type == "worked" and .work == $work));
def median: sort | if length == 0 then null elif length % 2 == 1 then .[length / 2 | floor] else (.[length / 2 - 1] + .[length / 2]) / 2 end;
# seconds covered by intervals [from, to] in nanoseconds
def covered: sort | reduce .[] as [$from, $to] ({end: 0, sum: 0};
  if $to <= .end then . else .sum += $to - ([$from, .end] | max) | .end = $to end) | .sum / 1e9;

. as $events
| (worked("create-nodes") | first) as $create
| (worked("joins") | first) as $joins
# told as work, or else by the expectation's verdict
| ($events | (worked("ready") | first)
    // (map(select(.type == "judged" and .judgement.name == "nodes" and .judgement.verdict == "pass")) | first)) as $ready
| ($events | map(
    if .type == "worked" and (.work == "create-node" or .work == "boot") then [.began.mono_ns, .mono_ns]
    elif .type == "kubeadm-finished" then [.mono_ns - (.took | secs * 1e9), .mono_ns]
    else empty end) | covered) as $busy
| (($joins.mono_ns - $create.began.mono_ns) / 1e9) as $wall
| {
    run: ($events | map(select(.type == "run-started")) | first | .run),
    exit: ($events | map(select(.type == "run-finished")) | first | .exit),
    image: ($events | map(select(.type == "case-started")) | first | .image),
    etcd: ($events | map(select(.type == "case-started")) | first | .etcd),
    kubernetes: ($events | map(select(.type == "case-started")) | first | .kubernetes),
    engine: ($events | map(select(.type == "run-started")) | first | .engine),
    node: ($events | worked("create-node") | map(.took | secs) | median),
    nodes: ($create.took | secs),
    init: ($events | worked("init") | first | .took | secs),
    joins: ($joins.took | secs),
    ready: (if $ready then ($ready.mono_ns - $joins.mono_ns) / 1e9 else null end),
    total: (if $ready then ($ready.mono_ns - $create.began.mono_ns) / 1e9 else null end),
    overhead: (($wall / $busy - 1) * 100)
  }
