//! Files from a server that fails in each way, and from folders.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::super::error::ImageError;
use super::bring::{Keep, bring_with};
use super::locate::Located;
use super::release::Place;
use crate::sys::stop::Stop;

/// Nobody waits in tests.
const PAUSES: [Duration; 3] = [Duration::ZERO; 3];
const NOT_FOUND: &str = "HTTP/1.1 404 no\r\ncontent-length: 0\r\n\r\n";
const BROKEN: &str = "HTTP/1.1 500 no\r\ncontent-length: 0\r\n\r\n";

struct Server {
    base: String,
    /// How often each path was asked for.
    asked: Arc<Mutex<BTreeMap<String, usize>>>,
    _loop: JoinSet<()>,
}

impl Server {
    /// Answers by path, each in turn, the last one again and again.
    async fn new(answers: Vec<(&'static str, Vec<String>)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let asked = Arc::<Mutex<BTreeMap<String, usize>>>::default();
        let (seen, mut work) = (asked.clone(), JoinSet::new());
        work.spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = vec![0; 4096];
                let n = stream.read(&mut request).await.unwrap_or(0);
                let line = String::from_utf8_lossy(&request[..n]).lines().next().unwrap_or_default().to_owned();
                let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
                let before = {
                    let mut seen = seen.lock().expect("not poisoned");
                    let count = seen.entry(path.clone()).or_default();
                    *count += 1;
                    *count - 1
                };
                let answers = answers.iter().find(|(known, _)| *known == path).map(|(_, all)| all);
                let answer = answers.and_then(|all| all.get(before).or(all.last())).map_or(NOT_FOUND, String::as_str);
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        Self { base, asked, _loop: work }
    }

    fn asked(&self, path: &str) -> usize {
        self.asked.lock().expect("not poisoned").get(path).copied().unwrap_or(0)
    }

    async fn bring(&self, dir: &Path) -> Result<Vec<String>, String> {
        let files = vec![("kubeadm".to_owned(), Place::Url(format!("{}/kubeadm", self.base)))];
        bring(files, dir, Keep::Copies).await.map_err(|e| e.to_string())
    }
}

/// What was told of each file.
async fn bring(files: Vec<(String, Place)>, dir: &Path, keep: Keep) -> Result<Vec<String>, ImageError> {
    let told = Mutex::new(Vec::new());
    let tell = |line: &str| told.lock().expect("not poisoned").push(line.to_owned());
    bring_with(&Located { version: None, files }, dir, keep, &PAUSES, &Stop::new(), &tell).await?;
    Ok(told.into_inner().expect("not poisoned"))
}

fn text(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn sum(body: &str) -> String {
    text(&format!("{:x}", Sha256::digest(body)))
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).expect("a folder");
    entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

#[tokio::test]
async fn a_good_file_comes_with_its_mode_and_not_again_where_it_is_there() {
    let server = Server::new(vec![("/kubeadm", vec![text("program")]), ("/kubeadm.sha256", vec![sum("program")])]).await;
    let dir = tempfile::tempdir().expect("a folder");
    let told = server.bring(dir.path()).await.expect("brought");
    assert_eq!(told, [format!("kubeadm: {}/kubeadm, SHA-256 as it should be", server.base)]);
    let path = dir.path().join("kubeadm");
    assert_eq!(std::fs::read_to_string(&path).expect("there"), "program");
    assert_eq!(path.metadata().expect("there").permissions().mode() & 0o777, 0o755);
    assert!(server.bring(dir.path()).await.expect("there").concat().contains("there already"));
    assert_eq!(server.asked("/kubeadm"), 1);
    // as long as the right one, with which kinder would be content
    std::fs::write(&path, "PROGRAM").expect("written");
    server.bring(dir.path()).await.expect("brought");
    assert_eq!((std::fs::read_to_string(&path).expect("there").as_str(), server.asked("/kubeadm")), ("program", 2));
    assert_eq!(names(dir.path()), ["kubeadm"]);
}

#[tokio::test]
async fn a_wrong_checksum_is_told_and_nothing_is_kept() {
    let server = Server::new(vec![("/kubeadm", vec![text("other")]), ("/kubeadm.sha256", vec![sum("program")])]).await;
    let dir = tempfile::tempdir().expect("a folder");
    let told = server.bring(dir.path()).await.expect_err("refused");
    for part in ["cannot get kubeadm: the SHA-256 of http://127.0.0.1:", &format!("/kubeadm.sha256 says {:x}", Sha256::digest("program"))] {
        assert!(told.contains(part), "{told}");
    }
    assert_eq!((names(dir.path()).len(), server.asked("/kubeadm")), (0, 1), "asking again would not help");
}

#[tokio::test]
async fn a_checksum_of_the_longer_kind_counts_where_the_other_is_missing() {
    let answers = vec![("/kubeadm", vec![text("abc")]), ("/kubeadm.sha512", vec![text("00")])];
    let dir = tempfile::tempdir().expect("a folder");
    let told = Server::new(answers).await.bring(dir.path()).await.expect_err("no sum");
    assert!(told.contains("kubeadm.sha512 holds no SHA-512: \"00\""), "{told}");
    let server = Server::new(vec![("/kubeadm", vec![text("abc")])]).await;
    assert!(server.bring(dir.path()).await.expect("brought").concat().ends_with("which has no checksum beside it"));
    assert_eq!((server.asked("/kubeadm.sha256"), server.asked("/kubeadm.sha512")), (1, 1));
}

#[tokio::test]
async fn a_body_that_ends_too_soon_is_asked_for_some_times_and_told() {
    let torn = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nprog".to_owned();
    let server = Server::new(vec![("/kubeadm", vec![torn.clone()])]).await;
    let dir = tempfile::tempdir().expect("a folder");
    let told = server.bring(dir.path()).await.expect_err("torn");
    assert!(told.contains("it ended after 4 of 100 bytes"), "{told}");
    assert_eq!((names(dir.path()).len(), server.asked("/kubeadm")), (0, 4));
    let server = Server::new(vec![("/kubeadm", vec![torn, text("program")]), ("/kubeadm.sha256", vec![sum("program")])]).await;
    server.bring(dir.path()).await.expect("whole the second time");
    assert_eq!(std::fs::read_to_string(dir.path().join("kubeadm")).expect("there"), "program", "what came first is gone");
}

#[tokio::test]
async fn what_is_not_there_is_asked_for_once_and_a_broken_server_some_times() {
    let dir = tempfile::tempdir().expect("a folder");
    let server = Server::new(vec![]).await;
    let told = server.bring(dir.path()).await.expect_err("not there");
    assert!(told.contains("/kubeadm: status 404"), "{told}");
    assert_eq!(server.asked("/kubeadm"), 1);
    let server = Server::new(vec![("/kubeadm", vec![BROKEN.into(), BROKEN.into(), text("program")])]).await;
    server.bring(dir.path()).await.expect("the third time");
    assert_eq!(server.asked("/kubeadm"), 3);
    let server = Server::new(vec![("/kubeadm", vec![BROKEN.into()])]).await;
    assert!(server.bring(dir.path()).await.expect_err("never").contains("status 500"));
    assert_eq!(server.asked("/kubeadm"), 4);
}

#[tokio::test]
async fn files_of_this_machine_are_copied_or_used_and_their_checksums_count() {
    let (from, to) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let path = from.path().join("kubelet");
    std::fs::write(&path, "program").expect("written");
    std::fs::write(from.path().join("kubelet.sha256"), format!("{:x}  kubelet\n", Sha256::digest("program"))).expect("written");
    let files = || vec![("kubelet".to_owned(), Place::Folder(path.clone()))];
    let told = bring(files(), to.path(), Keep::Places).await.expect("fine").concat();
    assert!(told.ends_with("SHA-256 as it should be") && names(to.path()).is_empty(), "{told}");
    bring(files(), to.path(), Keep::Copies).await.expect("copied");
    assert_eq!(std::fs::read_to_string(to.path().join("kubelet")).expect("there"), "program");
    std::fs::write(&path, "another").expect("written");
    let told = bring(files(), to.path(), Keep::Places).await.expect_err("changed").to_string();
    assert!(told.contains("cannot get kubelet: the SHA-256 of ") && told.contains("kubelet.sha256 says"), "{told}");
}
