#!/usr/bin/env bash
# Draws what a run printed as docs/run.svg, for the README: update-picture.sh FILE, with FILE from
#   joinder run workflows/join/parallel.yaml 2>FILE
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

[ $# = 1 ] || fail "usage: scripts/update-picture.sh FILE"
awk -v command='$ joinder run workflows/join/parallel.yaml' '
  function escape(s) { gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s); gsub(/>/, "\\&gt;", s); return s }
  function line(s, class) { body = body sprintf("<text class=\"%s\" x=\"16\" y=\"%d\" xml:space=\"preserve\">%s</text>\n", class, 44 + 17 * n++, escape(s)) }
  BEGIN { line(command, "b") }
  length($0) > 146 { $0 = substr($0, 1, 145) "…" }
  /PASS|✔|^result/ { line($0, "g"); next }
  /FAIL|✘|LEFT/ { line($0, "r"); next }
  /UNDECIDED|warning/ { line($0, "y"); next }
  /joinder [0-9]|removed|^artifacts/ { line($0, "f"); next }
  { line($0, "p") }
  END {
    height = 60 + 17 * n
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1180\" height=\"%d\" viewBox=\"0 0 1180 %d\" role=\"img\" aria-label=\"what a run prints\">\n", height, height
    print "<style>text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}.p{fill:#d4d4d4}.b{fill:#fff;font-weight:700}.g{fill:#7ec699}.r{fill:#f08d8d}.y{fill:#e6c07b}.f{fill:#8a8f98}</style>"
    printf "<rect width=\"1180\" height=\"%d\" rx=\"8\" fill=\"#1e2227\"/>\n<circle cx=\"20\" cy=\"18\" r=\"5\" fill=\"#f08d8d\"/><circle cx=\"38\" cy=\"18\" r=\"5\" fill=\"#e6c07b\"/><circle cx=\"56\" cy=\"18\" r=\"5\" fill=\"#7ec699\"/>\n", height
    printf "%s</svg>\n", body
  }' "$1" >docs/run.svg
say "wrote docs/run.svg"
