# jq -rs: rows of many runs to a Markdown table, medians with the least and the most, and the ratios that have a bar.
def median: sort | if length % 2 == 1 then .[length / 2 | floor] else (.[length / 2 - 1] + .[length / 2]) / 2 end;
def fixed: (. * 100 | round) as $c
  | "\(if $c < 0 then "-" else "" end)\($c | fabs / 100 | floor).\($c | fabs % 100 | if . < 10 then "0\(.)" else "\(.)" end)";
def cell: map(select(. != null)) | if length == 0 then "–" else "\(median | fixed) (\(min | fixed)–\(max | fixed))" end;
def ratio($a; $b): if ($a | length) > 0 and ($b | length) > 0 and ($b | median) > 0 then "\(($a | median) / ($b | median) | fixed)" else null end;
def of($tool; $order; $n; $key): map(select(.tool == $tool and .order == $order and .n == $n and (.failed | not)) | .[$key] | select(. != null));

. as $rows
| ["| tool | order | N | runs | one node | all nodes | init | joins | Ready | total | tool's CPU | overhead % |",
   "|---|---|---|---|---|---|---|---|---|---|---|---|"]
+ (group_by([.n, .tool, .order]) | map(
    . as $all | map(select(.failed | not)) as $good | first as $v
    | "| \($v.tool) | \($v.order) | \($v.n) | \($good | length)\(if ($good | length) < ($all | length) then " of \($all | length)" else "" end) | "
      + ([["node", "nodes", "init", "joins", "ready", "total", "cpu", "overhead"][] as $k | $good | map(.[$k]) | cell] | join(" | ")) + " |"))
+ [""]
+ ([$rows | map(.n) | unique[] as $n | $rows
    | (ratio(of("joinder"; "parallel"; $n; "joins"); of("joinder"; "serial"; $n; "joins")) | select(.) | "- N=\($n), joinder's joins, parallel over serial: \(.) (with five, bar 0.65)"),
      ($rows | ratio(of("joinder"; "parallel"; $n; "total"); of("kinder"; "serial"; $n; "total")) | select(.)
        | "- N=\($n), total, joinder over kinder: \(.) (with three, bar 0.5)"),
      ($rows | ratio(of("joinder, token"; "parallel"; $n; "total"); of("kinder"; "serial"; $n; "total")) | select(.)
        | "- N=\($n), total, joinder by kinder's way of discovery over kinder: \(.) (with three, bar 0.75)"),
      ($rows | ratio(of("kinder"; "serial"; $n; "cpu"); of("joinder"; "parallel"; $n; "cpu")) | select(.)
        | "- N=\($n), tool's CPU, kinder over joinder: \(.) (bar 10)"),
      (["serial", "parallel"][] as $o | $rows | ratio(of("joinder"; $o; $n; "total"); of("by hand"; $o; $n; "total")) | select(.) | "- N=\($n), \($o), total, joinder over by hand: \(.)")])
| .[]
