//! Vars and environment, resolved: who wins, in which order they are written out, and circles.

use std::collections::BTreeMap;

use super::super::file::{Node, Place, Problem, Sources, Value};
use super::template::{self, Values};

/// A var before it is written out.
#[derive(Clone, Debug)]
pub(super) struct Raw {
    pub(super) text: String,
    /// `None` for one of the command line, which is taken as it is.
    pub(super) place: Option<Place>,
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

/// Writes all out. A var may ask for others, in any order; the environment for vars and for what the process has.
pub(super) fn resolve(
    vars: &BTreeMap<String, Raw>,
    env: &BTreeMap<String, Raw>,
    process: &BTreeMap<String, String>,
    sources: &Sources,
    problems: &mut Vec<Problem>,
) -> Values {
    // A var that asks for the environment sees the process's, and what the file gives as it stands.
    let plain_env = env.iter().filter(|(_, raw)| !template::is_one(&raw.text)).map(|(name, raw)| (name.clone(), raw.text.clone()));
    let seen = process.iter().map(|(name, value)| (name.clone(), value.clone())).chain(plain_env).collect();
    let mut resolver = Resolver { vars, sources, values: Values { vars: BTreeMap::new(), env: seen }, open: Vec::new(), problems };
    for name in vars.keys() {
        resolver.var(name);
    }
    let Resolver { mut values, problems, .. } = resolver;
    for (name, raw) in env {
        let written = match raw.place {
            Some(place) if template::is_one(&raw.text) => template::expand(&raw.text, place, &values, sources),
            Some(_) | None => Ok(raw.text.clone()),
        };
        match written {
            Ok(text) => drop(values.env.insert(name.clone(), text)),
            Err(all) => {
                problems.extend(all);
                values.env.entry(name.clone()).or_default();
            }
        }
    }
    values
}

struct Resolver<'a> {
    vars: &'a BTreeMap<String, Raw>,
    sources: &'a Sources,
    values: Values,
    /// Those that ask for each other right now.
    open: Vec<String>,
    problems: &'a mut Vec<Problem>,
}

impl Resolver<'_> {
    fn var(&mut self, name: &str) {
        let Some(raw) = self.vars.get(name) else { return };
        if self.values.vars.contains_key(name) {
            return;
        }
        let Some(place) = raw.place.filter(|_| template::is_one(&raw.text)) else {
            self.values.vars.insert(name.to_owned(), raw.text.clone());
            return;
        };
        if let Some(from) = self.open.iter().position(|open| open == name) {
            let circle: Vec<&str> = self.open[from..].iter().map(String::as_str).chain([name]).collect();
            self.problems.push(Problem::at(place, format!("vars ask for each other in a circle: {}", circle.join(" → "))));
            // a value, so that who asks for it is not told that there is none
            self.values.vars.insert(name.to_owned(), String::new());
            return;
        }
        self.open.push(name.to_owned());
        for asked in template::names(&raw.text).into_iter().filter(|asked| asked.kind == "vars") {
            self.var(&asked.name);
        }
        self.open.pop();
        if self.values.vars.contains_key(name) {
            return;
        }
        // All names are known here, so that a var which comes later in the file counts as known.
        let text = match template::expand(&raw.text, place, &self.values, self.sources) {
            Ok(text) => text,
            Err(all) => {
                self.problems.extend(all);
                String::new()
            }
        };
        self.values.vars.insert(name.to_owned(), text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(vars: &[(&str, &str)]) -> (BTreeMap<String, String>, Vec<String>) {
        let place = Some(Place { file: 0, start: 0, end: 0 });
        let raw = vars.iter().map(|(name, text)| ((*name).to_owned(), Raw { text: (*text).to_owned(), place })).collect();
        let mut problems = Vec::new();
        let process = [("HOME".to_owned(), "/h".to_owned())].into();
        let values = resolve(&raw, &BTreeMap::new(), &process, &Sources::default(), &mut problems);
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
        assert_eq!(problems, ["vars ask for each other in a circle: a → b → c → a"]);
    }
}
