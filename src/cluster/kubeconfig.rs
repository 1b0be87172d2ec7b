//! The administrator's kubeconfig beside a run's artifacts: there while the cluster is, and gone with it.
//!
//! It is the one file with credentials that joinder writes unasked. Its path is a label of all that the cluster is made of,
//! so that whoever removes the cluster finds it, and its first line says whose it is, so that no other file is removed.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::create::Cluster;
use crate::agent::AgentError;
use crate::node::{NodeError, path};
use crate::runtime::label::{KUBECONFIG, Labels, RUN};
use crate::runtime::{Fault, RuntimeError};
use crate::sys::file::write_atomic;

/// Why it is not there.
#[derive(Debug, Error)]
pub enum KubeconfigError {
    /// The node did not give it.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The file could not be written.
    #[error("cannot write the kubeconfig {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Cluster {
    /// The administrator's kubeconfig, with the address on the host unless `internal`.
    ///
    /// # Errors
    /// The engine's, as before `kubeadm init`.
    pub async fn kubeconfig(&self, internal: bool) -> Result<String, NodeError> {
        if self.is_etcd_alone() {
            return Err(NodeError::Agent(AgentError::Refused {
                node: self.first().name.clone(),
                why: "there is no kubeconfig: the cluster is etcd alone".into(),
            }));
        }
        let bytes = match self.first().read(path::ADMIN_CONF).await {
            Err(NodeError::Engine(e)) if e.is(Fault::NotFound) => {
                let said = format!("kubeadm init has not run there ({})", e.said);
                return Err(NodeError::Engine(RuntimeError { said, ..e }));
            }
            read => read?,
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let outside = format!("https://127.0.0.1:{}", self.host_port);
        Ok(if internal { text } else { text.replace(&format!("https://{}", self.endpoint), &outside) })
    }

    /// Writes the kubeconfig of the cluster that `run` made to `file`, for its owner only.
    ///
    /// # Errors
    /// [`KubeconfigError`].
    pub async fn keep_kubeconfig(&self, run: &str, file: &Path) -> Result<(), KubeconfigError> {
        let text = format!("{}\n{}", mark(run), self.kubeconfig(false).await?);
        let dir = file.parent().map_or(Ok(()), fs::create_dir_all);
        dir.map_err(|source| KubeconfigError::Write { path: file.to_owned(), source })?;
        write_atomic(file, text.as_bytes(), 0o600).map_err(|source| KubeconfigError::Write { path: file.to_owned(), source })
    }
}

/// The first line of the file.
fn mark(run: &str) -> String {
    format!("# written by joinder, run {run}; removed with the cluster")
}

/// A kubeconfig that goes with a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct KeptFile {
    path: PathBuf,
    run: String,
}

impl KeptFile {
    /// The one that labels tell of.
    pub(super) fn of(labels: &Labels) -> Option<Self> {
        Some(Self { path: labels.get(KUBECONFIG)?.into(), run: labels.get(RUN)?.clone() })
    }

    /// `file PATH`.
    pub(super) fn name(&self) -> String {
        format!("file {}", self.path.display())
    }

    /// Removes it; `false` when there is none that this run wrote.
    pub(super) fn remove(&self) -> io::Result<bool> {
        let file = match fs::File::open(&self.path) {
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(false),
            file => file?,
        };
        let mut first = String::new();
        // What is no text is not ours either.
        let ours = BufReader::new(file).read_line(&mut first).is_ok() && first.trim_end() == mark(&self.run);
        if ours {
            fs::remove_file(&self.path)?;
        }
        Ok(ours)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_file_that_the_run_wrote_is_removed() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("kubeconfig");
        let labels = |run: &str| Labels::from([(RUN.to_owned(), run.to_owned()), (KUBECONFIG.to_owned(), path.display().to_string())]);
        let file = KeptFile::of(&labels("r1")).expect("told");
        assert!(!file.remove().expect("nothing there"));
        for (text, goes) in
            [("apiVersion: v1\n", false), ("", false), (&format!("{}\nx", mark("r2")), false), (&format!("{}\nx", mark("r1")), true)]
        {
            fs::write(&path, text).expect("written");
            assert_eq!(file.remove().expect("looked at"), goes, "{text}");
            assert_eq!(path.exists(), !goes, "{text}");
        }
        assert_eq!(KeptFile::of(&Labels::new()), None);
    }
}
