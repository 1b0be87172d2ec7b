//! The kubelet's journal, as far as it is about the request for its certificate.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;
use tokio::time::sleep;

use super::protocol::Said;
use super::serve::Answers;
use crate::event::Notice;
use crate::sys::clock::Stamp;

/// Before the journal is opened anew, when it has closed.
const AGAIN: Duration = Duration::from_secs(5);
/// Where the lines that are told come from: files of `client-go/util/certificate` and `kubelet/certificate/bootstrap`.
const FROM: [&str; 3] = [" certificate_manager.go:", " csr.go:", " bootstrap.go:"];

/// Follows the journal for ever; where there is none, nothing is told.
pub(super) async fn follow(answers: &Answers) {
    loop {
        // only new lines: the old ones are in the exported logs
        let mut command = Command::new("journalctl");
        command.args(["--unit=kubelet", "--follow", "--lines=0", "--output=cat", "--quiet"]);
        // the end of this call drops it, and it ends with that
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let child = command.spawn();
        if let Some((out, _child)) = child.ok().and_then(|mut child| Some((child.stdout.take()?, child))) {
            let mut lines = BufReader::new(out).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if let Some(said) = about_the_certificate(&line) {
                    let notice = Notice::CertificateRequest { said: said.to_owned() };
                    answers.say(Said::Noticed { seen: Stamp::now(), notice });
                }
            }
        }
        sleep(AGAIN).await;
    }
}

/// The words of a line that is about it: `I1201 16:53:45.3  526 csr.go:274] "Certificate signing request is issued"`.
fn about_the_certificate(line: &str) -> Option<&str> {
    let from = FROM.iter().find(|from| line.contains(*from))?;
    let (_, said) = line.split_once(from)?.1.split_once("] ")?;
    Some(said.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_request_is_told() {
        let refused = r#"E1201 17:01:02.1     526 certificate_manager.go:596] "Failed while requesting a signed certificate from the control plane" err="connection refused""#;
        assert_eq!(
            about_the_certificate(refused),
            Some(r#""Failed while requesting a signed certificate from the control plane" err="connection refused""#)
        );
        for line in ["", "I1201 17:01:02.1 526 kubelet.go:1] \"about csr.go: nothing\"", "csr.go:1] x", " csr.go:1 x"] {
            assert_eq!(about_the_certificate(line), None, "{line}");
        }
    }
}
