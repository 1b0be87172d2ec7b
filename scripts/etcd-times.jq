# Events of runs, slurped, to one row a case: its choice, then for each run the seconds from the last start of etcd-2 to its first answer to
# clients, with the number of times that it failed to publish itself.
def seconds: (. / 1e9 * 100 | round / 100);

map(select(.type == "case-started" or .type == "case-finished" or (.type == "noticed" and .notice == "etcd-log")))
| reduce .[] as $event ({cases: [], now: null};
    if $event.type == "case-started" then .now = {choice: ($event.choice | map(.[1])), log: []}
    elif $event.type == "case-finished" then (if .now then .cases += [.now] else . end) | .now = null
    elif ($event.node | endswith("-etcd-2")) and .now then .now.log += [$event]
    else . end)
| .cases
| map(
    ([.log[] | select(.word == "starting")] | last | .seen.mono_ns) as $from
    | ([.log[] | select(.word == "serving" and .seen.mono_ns > $from)] | first | .seen.mono_ns) as $to
    | {choice, took: (if $from and $to then ($to - $from | seconds) else null end),
       failed: ([.log[] | select(.word == "publish-failed" and .seen.mono_ns > $from)] | length)})
| group_by(.choice)
| map([.[0].choice[], (map(.took // "?" | tostring) | join(" ")), (map(.failed | tostring) | join(" "))])
| sort_by(map(tonumber? // .))
| .[]
| "| " + join(" | ") + " |"
