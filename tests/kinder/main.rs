//! kinder's language and verbs from outside: the binary with real processes, and stand-ins for `kinder` and `docker`. Needs no engine.

mod docs;
mod doing;
mod language;
mod migrate;
mod name;
mod runs;
mod shapes;
mod stops;
mod support;
