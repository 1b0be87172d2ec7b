//! What the layer of a variant holds, at kinder's paths.
//!
//! The engine unpacks it over the base, so folders that the base has are left out: an entry would put a folder where a link is, and reset
//! its mode.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::super::artifacts::BINARIES;
use super::super::embedded::NODE_FILES;
use super::super::parts::layer::{Layer, LayerWriter, Packing};
use super::gather::{Bits, Set};
use super::images::CONTENT;
use super::request::CopiedPath;

/// One entry; paths are below `/`, without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// A folder with its mode.
    Dir(String, u32),
    /// A copy of a file of this machine.
    Copy(String, u32, PathBuf),
    /// A text.
    Text(String, String),
    /// A symbolic link, and where it leads.
    Link(String, String),
}

/// What was seen of the base.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Base {
    /// Folders, of those that were asked about.
    pub(super) dirs: BTreeSet<String>,
    /// Does the kubelet start with a node?
    pub(super) kubelet_starts: bool,
}

/// What must be asked about the base.
pub(super) fn questions(paths: &[CopiedPath]) -> Vec<String> {
    paths.iter().flat_map(|path| Path::new(&path.to).ancestors().map(|above| above.display().to_string())).collect()
}

/// Everything but the image store.
pub(super) fn entries(bits: &Bits, base: &Base) -> io::Result<Vec<Entry>> {
    let mut all = Vec::new();
    if let Some(set) = &bits.init {
        init(set, base, &mut all);
    }
    for (name, file) in [("kubeadm", &bits.kubeadm), ("kubelet", &bits.kubelet)] {
        if let Some(file) = file {
            program(name, file, &mut all);
        }
    }
    if let Some(set) = &bits.upgrade {
        upgrade(set, &mut all);
    }
    for path in &bits.paths {
        copied(path, base, &mut all)?;
    }
    Ok(all)
}

fn text(path: &str, text: &str) -> Entry {
    Entry::Text(path.to_owned(), text.to_owned())
}

/// One file under both of its names.
fn program(name: &str, file: &Path, all: &mut Vec<Entry>) {
    // a second one takes the first one's place
    all.retain(|entry| !matches!(entry, Entry::Copy(path, ..) if *path == format!("usr/bin/{name}")));
    all.push(Entry::Copy(format!("usr/bin/{name}"), 0o755, file.to_owned()));
    let link = Entry::Link(format!("kind/bin/{name}"), format!("/usr/bin/{name}"));
    if !all.contains(&link) {
        all.push(link);
    }
}

fn init(set: &Set, base: &Base, all: &mut Vec<Entry>) {
    all.extend(["kind", "kind/bin", "kind/images", "kind/systemd"].map(|dir| Entry::Dir(dir.into(), 0o755)));
    all.push(Entry::Text("kind/version".into(), format!("{}\n", set.version)));
    for name in BINARIES {
        if let Some(file) = set.file(name) {
            program(name, file, all);
        }
    }
    let own = |path: &str| NODE_FILES.iter().find(|(known, ..)| *known == path).map_or("", |(.., text)| *text);
    let (unit, drop_in) = ("etc/systemd/system/kubelet.service", "etc/systemd/system/kubelet.service.d/10-kubeadm.conf");
    all.push(text("kind/systemd/kubelet.service", own(unit)));
    all.push(text(drop_in, own(drop_in)));
    if !base.kubelet_starts {
        let wanted = "etc/systemd/system/multi-user.target.wants/kubelet.service";
        all.extend([unit, wanted].map(|link| Entry::Link(link.into(), "/kind/systemd/kubelet.service".into())));
    }
}

fn upgrade(set: &Set, all: &mut Vec<Entry>) {
    let dir = format!("kinder/upgrade/{}", set.version);
    all.extend(["kinder", "kinder/upgrade", &dir].map(|dir| Entry::Dir(dir.into(), 0o755)));
    all.push(Entry::Text("kinder/upgrade/version".into(), format!("{}\n", set.version)));
    for (name, file) in &set.files {
        let mode = if BINARIES.contains(&name.as_str()) { 0o755 } else { 0o644 };
        all.push(Entry::Copy(format!("{dir}/{name}"), mode, file.clone()));
    }
}

/// As `cp -r` would have it: into a folder that is there, else under that name.
fn copied(path: &CopiedPath, base: &Base, all: &mut Vec<Entry>) -> io::Result<()> {
    let named = path.to.trim_end_matches('/');
    let to = match path.from.canonicalize()?.file_name() {
        Some(name) if named.is_empty() || base.dirs.contains(named) => {
            // the name as it was given, where it has one
            let name = path.from.file_name().unwrap_or(name);
            format!("{named}/{}", name.to_string_lossy())
        }
        Some(_) | None => named.to_owned(),
    };
    let above: Vec<String> = Path::new(&to).ancestors().skip(1).map(|above| above.display().to_string()).collect();
    for dir in above.iter().rev().filter(|dir| *dir != "/" && !base.dirs.contains(*dir)) {
        all.push(Entry::Dir(dir.trim_start_matches('/').to_owned(), 0o755));
    }
    below(&path.from, to.trim_start_matches('/'), true, all)
}

/// A file, or a folder with all that is in it. Links stay links, but for what was named itself.
fn below(from: &Path, to: &str, named: bool, all: &mut Vec<Entry>) -> io::Result<()> {
    let failed = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", from.display()));
    let meta = if named { from.metadata() } else { from.symlink_metadata() }.map_err(failed)?;
    let mode = meta.permissions().mode() & 0o7777;
    if meta.is_symlink() {
        all.push(Entry::Link(to.to_owned(), std::fs::read_link(from).map_err(failed)?.display().to_string()));
    } else if meta.is_dir() {
        all.push(Entry::Dir(to.to_owned(), mode));
        let mut names: Vec<_> =
            std::fs::read_dir(from).map_err(failed)?.map(|e| Ok(e?.file_name())).collect::<io::Result<_>>().map_err(failed)?;
        names.sort();
        for name in names {
            below(&from.join(&name), &format!("{to}/{}", name.to_string_lossy()), false, all)?;
        }
    } else if meta.is_file() {
        all.push(Entry::Copy(to.to_owned(), mode, from.to_owned()));
    } else {
        return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "it is neither file nor folder")));
    }
    Ok(())
}

/// What an image store has gained.
#[derive(Clone, Debug)]
pub(super) struct Gained {
    /// The whole store as an archive.
    pub(super) tar: PathBuf,
    /// Where it is in the image, below `/`.
    pub(super) to: &'static str,
    /// The digests of what was there before.
    pub(super) before: BTreeSet<String>,
}

/// Writes the layer.
pub(super) fn write(path: &Path, entries: &[Entry], gained: Option<&Gained>) -> io::Result<Layer> {
    let mut layer = LayerWriter::create(path, Packing::Plain)?;
    for entry in entries {
        match entry {
            Entry::Dir(path, mode) => layer.dir_with(path, *mode)?,
            Entry::Copy(path, mode, from) => {
                layer.copy(path, *mode, from).map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", from.display())))?;
            }
            Entry::Text(path, text) => layer.bytes(path, 0o644, text.as_bytes())?,
            Entry::Link(path, to) => layer.link(path, to)?,
        }
    }
    if let Some(gained) = gained {
        carry(gained, &mut layer)?;
    }
    layer.finish()
}

/// The database, and the content that it names and that was not there.
fn carry(gained: &Gained, layer: &mut LayerWriter) -> io::Result<()> {
    const DATABASE: &str = "io.containerd.metadata.v1.bolt";
    for dir in [DATABASE, CONTENT] {
        let dirs = Path::new(dir).ancestors().map(|above| Path::new(gained.to).join(above).display().to_string());
        for dir in dirs.collect::<Vec<_>>().iter().rev() {
            layer.only_dir(dir.trim_end_matches('/'))?;
        }
    }
    let mut archive = tar::Archive::new(BufReader::with_capacity(1 << 20, File::open(&gained.tar)?));
    for entry in archive.entries()? {
        let mut entry = entry?;
        let inside: PathBuf = entry.path()?.components().skip(1).collect();
        let is_new = || inside.file_name().is_some_and(|name| !gained.before.contains(&*name.to_string_lossy()));
        // content that was there is a link, or listed
        let wanted = inside.starts_with(DATABASE) || inside.starts_with(CONTENT) && is_new();
        if wanted && entry.header().entry_type().is_file() {
            layer.entry(&Path::new(gained.to).join(inside), &mut entry)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::{Archive, Tar};

    fn set(version: &str) -> Set {
        let names = ["kubeadm", "kubelet", "kubectl", "kube-proxy.tar"];
        Set { version: version.into(), files: names.map(|name| (name.to_owned(), format!("/from/{name}").into())).into() }
    }

    fn shown(bits: &Bits, base: &Base) -> Vec<String> {
        let line = |entry: Entry| match entry {
            Entry::Dir(path, mode) => format!("{path}/ {mode:o}"),
            Entry::Copy(path, mode, from) => format!("{path} {mode:o} {}", from.display()),
            Entry::Text(path, text) => format!("{path} {:?}", text.lines().next().unwrap_or_default()),
            Entry::Link(path, to) => format!("{path} -> {to}"),
        };
        entries(bits, base).expect("listed").into_iter().map(line).collect()
    }

    #[test]
    fn an_upgrade_is_where_kinder_has_it() {
        let bits = Bits { upgrade: Some(set("v1.37.2")), ..Bits::default() };
        let want = [
            "kinder/ 755",
            "kinder/upgrade/ 755",
            "kinder/upgrade/v1.37.2/ 755",
            "kinder/upgrade/version \"v1.37.2\"",
            "kinder/upgrade/v1.37.2/kubeadm 755 /from/kubeadm",
            "kinder/upgrade/v1.37.2/kubelet 755 /from/kubelet",
            "kinder/upgrade/v1.37.2/kubectl 755 /from/kubectl",
            "kinder/upgrade/v1.37.2/kube-proxy.tar 644 /from/kube-proxy.tar",
        ];
        assert_eq!(shown(&bits, &Base::default()), want);
    }

    #[test]
    fn a_release_replaces_the_programs_and_a_single_one_wins_over_it() {
        let bits = Bits { init: Some(set("v1.37.2")), kubelet: Some("/mine".into()), ..Bits::default() };
        let all = shown(&bits, &Base { kubelet_starts: true, ..Base::default() });
        for line in [
            "kind/version \"v1.37.2\"",
            "usr/bin/kubeadm 755 /from/kubeadm",
            "kind/bin/kubeadm -> /usr/bin/kubeadm",
            "kind/bin/kubectl -> /usr/bin/kubectl",
            "usr/bin/kubelet 755 /mine",
            "kind/systemd/kubelet.service \"[Unit]\"",
        ] {
            assert_eq!(all.iter().filter(|l| *l == line).count(), 1, "{line}: {all:#?}");
        }
        assert!(!all.iter().any(|l| l.contains("/from/kubelet") || l.contains(".tar") || l.contains("wants")), "{all:#?}");
        let all = shown(&bits, &Base::default());
        assert!(all.contains(&"etc/systemd/system/multi-user.target.wants/kubelet.service -> /kind/systemd/kubelet.service".to_owned()));
    }

    #[test]
    fn paths_go_where_cp_would_put_them() {
        let dir = tempfile::tempdir().expect("a folder");
        let (file, tree) = (dir.path().join("a.conf"), dir.path().join("tree"));
        std::fs::write(&file, "x").expect("written");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).expect("set");
        std::fs::create_dir_all(tree.join("sub")).expect("made");
        std::os::unix::fs::symlink("a", tree.join("sub/link")).expect("linked");
        let base = Base { dirs: ["/", "/etc"].map(str::to_owned).into(), ..Base::default() };
        let put = |from: &Path, to: &str| {
            let bits = Bits { paths: vec![CopiedPath { from: from.into(), to: to.into() }], ..Bits::default() };
            shown(&bits, &base).into_iter().map(|line| line.replace(&dir.path().display().to_string(), "~")).collect::<Vec<_>>()
        };
        assert_eq!(put(&file, "/etc"), ["etc/a.conf 640 ~/a.conf"]);
        assert_eq!(put(&file, "/etc/new/b.conf"), ["etc/new/ 755", "etc/new/b.conf 640 ~/a.conf"]);
        assert_eq!(put(&file, "/"), ["a.conf 640 ~/a.conf"]);
        assert_eq!(put(&tree, "/srv/x"), ["srv/ 755", "srv/x/ 755", "srv/x/sub/ 755", "srv/x/sub/link -> a"]);
        assert_eq!(put(&tree, "/etc/")[0], "etc/tree/ 755");
        assert_eq!(questions(&[CopiedPath { from: file.clone(), to: "/etc/new/b".into() }]), ["/etc/new/b", "/etc/new", "/etc", "/"]);
        let gone = Bits { paths: vec![CopiedPath { from: dir.path().join("none"), to: "/x".into() }], ..Bits::default() };
        assert!(entries(&gone, &base).is_err());
    }

    #[test]
    fn of_the_store_the_database_goes_along_and_what_is_new() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut from = Archive::default();
        for path in ["io.containerd.metadata.v1.bolt/meta.db", "io.containerd.content.v1.content/ingest/half", "tmpmounts/x"] {
            from.file(&format!("/containerd/{path}"), 0o644, b"x").expect("added");
        }
        for digest in ["old", "new"] {
            from.file(&format!("/containerd/{CONTENT}/{digest}"), 0o444, b"x").expect("added");
        }
        from.link(&format!("/containerd/{CONTENT}/linked"), "/kind/store/x").expect("added");
        let tar = dir.path().join("from.tar");
        std::fs::write(&tar, from.finish().and_then(Tar::read).expect("finished")).expect("written");
        let gained = Gained { tar, to: "kind/store", before: BTreeSet::from(["old".to_owned()]) };
        let layer = write(&dir.path().join("layer.tar"), &[], Some(&gained)).expect("written");
        let mut archive = tar::Archive::new(File::open(layer.file).expect("there"));
        let all = archive.entries().expect("a tar").map(|e| e.expect("one").path().expect("a path").display().to_string());
        let files: Vec<String> = all.filter(|path| !path.ends_with('/')).collect();
        assert_eq!(files, ["kind/store/io.containerd.metadata.v1.bolt/meta.db".to_owned(), format!("kind/store/{CONTENT}/new")]);
    }
}
