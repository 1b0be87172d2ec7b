//! Vars and environment, resolved: who wins, in which order they are written out, and circles.

use std::collections::BTreeMap;

use super::super::file::{Node, Place, Problem, Sources, Value};
use super::labels::Labels;
use super::template::{self, Unknown, Values};

/// A var before it is written out.
#[derive(Clone, Debug)]
pub(in crate::workflow) struct Raw {
    pub(in crate::workflow) text: String,
    /// `None` for one of the command line, which is taken as it is.
    pub(in crate::workflow) place: Option<Place>,
}

/// Names and texts of a map of scalars; what is none is left to the types to complain of.
pub(super) fn scalars(map: Option<&Node>) -> BTreeMap<String, Raw> {
    let Some(Value::Map(entries)) = map.map(|node| &node.value) else { return BTreeMap::new() };
    let scalar = |node: &Node| match &node.value {
        Value::Scalar(text) => Some(Raw { text: text.text.clone(), place: Some(node.place) }),
        Value::List(_) | Value::Map(_) => None,
    };
    entries.iter().filter_map(|entry| Some((entry.key.clone(), scalar(&entry.node)?))).collect()
}

/// Writes all out. Vars and the file's environment may ask for each other in any order; what the file gives wins over the process, but
/// for a variable that asks for itself, and for vars of version 1, which do not know the file's.
pub(in crate::workflow) fn resolve(
    vars: &BTreeMap<String, Raw>,
    env: &BTreeMap<String, Raw>,
    process: &BTreeMap<String, String>,
    rules: (Labels, Unknown),
    sources: &Sources,
    problems: &mut Vec<Problem>,
) -> Values {
    let inherited = process.iter().filter(|(name, _)| !env.contains_key(*name));
    let env_values = inherited.map(|(name, value)| (name.clone(), value.clone())).collect();
    let values = Values { vars: BTreeMap::new(), env: env_values, labels: rules.0, unknown: rules.1 };
    let mut resolver = Resolver { vars, env, process, sources, values, open: Vec::new(), problems };
    for name in vars.keys() {
        resolver.resolve("vars", name);
    }
    for name in env.keys() {
        resolver.resolve("env", name);
    }
    resolver.values
}

struct Resolver<'a> {
    vars: &'a BTreeMap<String, Raw>,
    env: &'a BTreeMap<String, Raw>,
    process: &'a BTreeMap<String, String>,
    sources: &'a Sources,
    values: Values,
    /// Those that ask for each other right now, by kind and name.
    open: Vec<(&'static str, String)>,
    problems: &'a mut Vec<Problem>,
}

impl Resolver<'_> {
    fn raw(&self, kind: &str, name: &str) -> Option<&Raw> {
        if kind == "vars" { self.vars.get(name) } else { self.env.get(name) }
    }

    fn values(&mut self, kind: &str) -> &mut BTreeMap<String, String> {
        if kind == "vars" { &mut self.values.vars } else { &mut self.values.env }
    }

    fn is_version_1(&self) -> bool {
        self.values.unknown == Unknown::WhereAsked
    }

    fn resolve(&mut self, kind: &'static str, name: &str) {
        let Some(Raw { text, place }) = self.raw(kind, name).cloned() else { return };
        if self.values(kind).contains_key(name) {
            return;
        }
        let Some(place) = place.filter(|_| template::is_one(&text)) else {
            self.values(kind).insert(name.to_owned(), text);
            return;
        };
        if let Some(from) = self.open.iter().position(|open| *open == (kind, name.to_owned())) {
            let circle = self.open[from..].iter().map(|(kind, name)| shown(kind, name)).chain([shown(kind, name)]);
            let what = format!("values ask for each other in a circle: {}", circle.collect::<Vec<_>>().join(" → "));
            let mut problem = Problem::at(place, what);
            if kind == "env" && self.open.last() == Some(&(kind, name.to_owned())) {
                problem = problem.help(format!("joinder's own environment has no {name} that this could add to"));
            }
            self.problems.push(problem);
            // a value, so that who asks for it is not told that there is none
            self.values(kind).insert(name.to_owned(), String::new());
            return;
        }
        self.open.push((kind, name.to_owned()));
        // values that are other ones here than elsewhere
        let mut own = BTreeMap::new();
        for asked in template::names(&text).into_iter().filter(|asked| matches!(asked.kind, "vars" | "env")) {
            let of_process = asked.kind == "env" && ((kind == "env" && asked.name == name) || (kind == "vars" && self.is_version_1()));
            match self.process.get(&asked.name).filter(|_| of_process) {
                Some(value) => drop(own.insert(asked.name, value.clone())),
                None => self.resolve(asked.kind, &asked.name),
            }
        }
        self.open.pop();
        // a circle has given it one
        if self.values(kind).contains_key(name) {
            return;
        }
        let here = (!own.is_empty()).then(|| {
            let mut values = self.values.clone();
            values.env.extend(own);
            values
        });
        let written = match template::expand(&text, place, here.as_ref().unwrap_or(&self.values), self.sources) {
            Ok(text) => text,
            Err(all) => {
                self.problems.extend(all);
                String::new()
            }
        };
        self.values(kind).insert(name.to_owned(), written);
    }
}

/// A name as templates ask for it, short for a var.
fn shown(kind: &str, name: &str) -> String {
    if kind == "vars" { name.to_owned() } else { format!(".env.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(vars: &[(&str, &str)]) -> (BTreeMap<String, String>, Vec<String>) {
        let place = Some(Place { file: 0, start: 0, end: 0 });
        let raw = vars.iter().map(|(name, text)| ((*name).to_owned(), Raw { text: (*text).to_owned(), place })).collect();
        let mut problems = Vec::new();
        let process = [("HOME".to_owned(), "/h".to_owned())].into();
        let values = resolve(&raw, &BTreeMap::new(), &process, (Labels::default(), Unknown::default()), &Sources::default(), &mut problems);
        (values.vars, problems.into_iter().map(|p| p.what).collect())
    }

    #[test]
    fn vars_may_ask_for_later_ones() {
        let (vars, problems) = resolved(&[("a", "{{ .vars.b }}{{ .vars.c }}"), ("b", "{{ .vars.c }}!"), ("c", "{{ .env.HOME }}")]);
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!((vars["a"].as_str(), vars["b"].as_str()), ("/h!/h", "/h!"));
    }

    #[test]
    fn a_circle_is_named_once() {
        let (_, problems) = resolved(&[("a", "{{ .vars.b }}"), ("b", "{{ .vars.c }}"), ("c", "{{ .vars.a }}"), ("d", "{{ .vars.a }}")]);
        assert_eq!(problems, ["values ask for each other in a circle: a → b → c → a"]);
    }
}
