//! What runs in the containers of a fake engine.

use async_trait::async_trait;
use tokio::io::DuplexStream;

/// A process that `exec` started.
pub struct Process {
    /// Name of its container.
    pub container: String,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Its standard input; ends when the caller drops or shuts down its side.
    pub input: DuplexStream,
    /// Its standard output.
    pub output: DuplexStream,
}

/// Plays all processes of all containers.
#[async_trait]
pub trait Program: Send + Sync {
    /// Runs one process and returns its exit code. Dropped in the middle when its container ends.
    async fn run(&self, process: Process) -> i64;
}

/// Programs that end at once, successfully.
#[async_trait]
impl Program for () {
    async fn run(&self, _process: Process) -> i64 {
        0
    }
}
