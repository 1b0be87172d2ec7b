# shellcheck shell=bash
# What several scripts share: where they stand, how they speak, how they reach the container engine. Sourced, not run.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT"
LOGS=$ROOT/_artifacts/logs
mkdir -p "$LOGS"

# rustup and Go's archive install where a CI job or sudo does not look; an ordinary user has no sbin
PATH=$PATH:${HOME:-/root}/.cargo/bin:/usr/local/go/bin:/usr/local/sbin:/usr/sbin:/sbin

# seconds count from the first script's start, also in the ones that it calls
export JOINDER_SCRIPTS_BEGAN=${JOINDER_SCRIPTS_BEGAN:-$EPOCHSECONDS}

say() { printf '%4ds  %s\n' $((EPOCHSECONDS - JOINDER_SCRIPTS_BEGAN)) "$*" >&2; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

# step quiet|shown NAME HINT COMMAND...: output to a log, with `shown` (and in CI) to the terminal too.
# On failure: the log's last lines, the hint, exit 1.
step() {
  local view=$1 name=$2 hint=$3 began=$EPOCHSECONDS code log; shift 3
  log=$LOGS/$(basename "$0")-${name// /-}.log
  [ -z "${CI:-}" ] || view=shown
  say "$name (log: ${log#"$ROOT/"})"
  # the command stands in no condition: there bash would ignore its set -e
  set +e
  if [ "$view" = shown ]; then
    # -i: after Ctrl-C what the command cleans up is still shown
    (set -e; "$@") </dev/null 2>&1 | tee -i "$log"; code=${PIPESTATUS[0]}
  else
    (set -e; "$@") </dev/null >"$log" 2>&1; code=$?
  fi
  set -e
  if [ "$code" = 0 ]; then say "$name: done in $((EPOCHSECONDS - began))s"; return; fi
  [ "$view" = shown ] || { printf -- '--- last lines of %s\n' "$log"; tail -n 30 "$log"; printf -- '---\n'; } >&2
  say "$name: FAILED after $((EPOCHSECONDS - began))s, exit code $code"
  fail "$name failed; all of its output: $log. $hint"
}

# The engine that joinder takes: DOCKER_HOST, else the usual socket. By its API, since a `docker` in PATH may be a client
# of something else.
SOCKET=${DOCKER_HOST:-unix:///var/run/docker.sock}
engine() { curl -sS --fail --max-time 20 --noproxy '*' --unix-socket "${SOCKET#unix://}" "http://engine$1"; }
engine_answers() { [ "$(engine /_ping 2>/dev/null)" = OK ]; }

# Builds the program; joinder_path says where it is (.cargo/config.toml adds the host's triple, CARGO_TARGET_DIR may too).
build_joinder() {
  local told=$LOGS/joinder.json
  cargo build --release --locked --message-format=json-render-diagnostics >"$told.new"
  mv "$told.new" "$told"
}
joinder_path() { jq -r 'select(.reason == "compiler-artifact" and .target.name == "joinder") | .executable // empty' "$LOGS/joinder.json"; }
