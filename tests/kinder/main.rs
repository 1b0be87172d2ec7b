//! kinder's language and verbs from outside: the binary with real processes, and stand-ins for `kinder` and `docker`. Needs no engine.

mod artifacts;
mod bench;
mod docs;
mod doing;
mod e2e;
mod language;
mod migrate;
mod name;
mod runs;
mod shapes;
mod stops;
mod support;
