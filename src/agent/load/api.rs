//! Calls to the API server that the kubeconfig names, each over a connection of its own: a load balancer chooses anew each time.

use serde_json::{Value, json};

use super::super::kube::{self, Ask, Unanswered};
use super::pace::Ended;

/// Where the `ConfigMap` lies.
const NAMESPACE: &str = "/api/v1/namespaces/kube-system/configmaps/";

/// A `ConfigMap`.
pub(super) struct Api {
    kubeconfig: String,
    path: String,
    name: String,
}

impl Api {
    pub(super) fn new(kubeconfig: &str, config_map: &str) -> Self {
        Self { kubeconfig: kubeconfig.to_owned(), path: format!("{NAMESPACE}{config_map}"), name: config_map.to_owned() }
    }

    /// Applies it with this number: makes it where it is not there.
    pub(super) async fn set(&self, value: u64) -> Ended {
        let body = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": self.name, "namespace": "kube-system"},
            "data": {"number": value.to_string()},
        });
        let path = format!("{}?fieldManager=joinder&force=true", self.path);
        match kube::ask(&self.kubeconfig, None, Ask::Apply { path: &path, body: body.to_string() }).await {
            Ok((200 | 201, body)) => Ended::ok(None, number(&body).1),
            // refused before anything was done; 5xx may come behind it
            Ok((status @ 400..500, body)) => Ended::failed(answer(status, &body)),
            Ok((status, body)) => Ended::unknown(answer(status, &body)),
            Err(Unanswered { sent: true, why }) => Ended::unknown(why),
            Err(Unanswered { sent: false, why }) => Ended::failed(why),
        }
    }

    pub(super) async fn get(&self) -> Ended {
        match kube::ask(&self.kubeconfig, None, Ask::Get { path: &self.path }).await {
            Ok((200, body)) => {
                let (value, revision) = number(&body);
                Ended::ok(value, revision)
            }
            Ok((404, _)) => Ended::ok(None, 0),
            Ok((status, body)) => Ended::failed(answer(status, &body)),
            Err(Unanswered { why, .. }) => Ended::failed(why),
        }
    }
}

/// The number in a `ConfigMap`, and the revision that it was last changed at.
fn number(body: &str) -> (Option<u64>, u64) {
    let object: Value = serde_json::from_str(body).unwrap_or_default();
    let text = |value: &Value| value.as_str().and_then(|text| text.parse().ok());
    (text(&object["data"]["number"]), text(&object["metadata"]["resourceVersion"]).unwrap_or(0))
}

fn answer(status: u16, body: &str) -> String {
    let object: Value = serde_json::from_str(body).unwrap_or_default();
    format!("{status} {}", object["message"].as_str().unwrap_or_default()).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_and_its_revision_are_read() {
        let body = r#"{"metadata": {"resourceVersion": "712"}, "data": {"number": "31"}}"#;
        assert_eq!(number(body), (Some(31), 712));
        assert_eq!(number("{}"), (None, 0));
        assert_eq!(answer(503, r#"{"message": "etcdserver: no leader"}"#), "503 etcdserver: no leader");
        assert_eq!(answer(502, "<html>"), "502");
    }
}
