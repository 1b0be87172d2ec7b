//! An agent that does nothing: it tells what it was asked for, and answers as if that had been done.

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

use super::protocol::{Call, Reply, Request, Said};
use crate::sys::clock::Stamp;

/// Serves one host until its input ends; `tell` hears of each command.
///
/// # Errors
/// When input or output breaks.
pub async fn pretend(input: impl AsyncRead + Unpin, mut output: impl AsyncWrite + Unpin, tell: impl Fn(&[String])) -> std::io::Result<()> {
    let mut lines = BufReader::new(input).lines();
    while let Some(line) = lines.next_line().await? {
        let Ok(Request { id, call }) = serde_json::from_str(&line) else { continue };
        for said in answers(&call, &tell) {
            let mut line = serde_json::to_vec(&Reply { id, said })?;
            line.push(b'\n');
            output.write_all(&line).await?;
        }
        output.flush().await?;
    }
    Ok(())
}

fn answers(call: &Call, tell: &impl Fn(&[String])) -> Vec<Said> {
    match call {
        Call::Hello => vec![Said::Hello { version: env!("CARGO_PKG_VERSION").into(), now: Stamp::now() }],
        Call::Run { argv, .. } | Call::Spawn { argv, .. } => {
            tell(argv);
            vec![Said::Started { pid: 0 }, Said::Exited { code: Some(0), signal: None }]
        }
        Call::Get { .. } | Call::Metrics => vec![Said::Answer { status: 200, body: String::new() }],
        // nobody is left to be removed, and nobody has to be waited for
        Call::Members { .. } => vec![Said::Members { members: Vec::new() }],
        // they look on until they are told to end, and there is nothing to see
        Call::Watch { .. } | Call::Meter { .. } | Call::Load { .. } | Call::Proxy | Call::Cancel { .. } => Vec::new(),
        Call::Cri { .. }
        | Call::DataHash { .. }
        | Call::Change { .. }
        | Call::Put { .. }
        | Call::End { .. }
        | Call::Runs { .. }
        | Call::Usage
        | Call::Disturb { .. }
        | Call::Lift { .. }
        | Call::Preload { .. }
        | Call::Kept { .. } => vec![Said::Done],
    }
}
