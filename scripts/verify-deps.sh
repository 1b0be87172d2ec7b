#!/usr/bin/env bash
# Licences, banned crates and sources of everything in Cargo.lock, by deny.toml. Installs cargo-deny if need be.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
cargo deny --version >/dev/null 2>&1 || cargo install --locked cargo-deny
# multiple versions only warn: shown when asked for, `cargo deny check bans`
cargo deny --locked --log-level error check bans licenses sources
