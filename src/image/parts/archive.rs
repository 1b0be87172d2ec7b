//! Images in the form of `docker save`, which Docker, Podman and containerd load.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

use super::layer::Layer;
use crate::runtime::label::Labels;

/// The search path of programs in our images.
pub(crate) const PATH: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What an image says beside its layers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Config {
    /// Go's word for it.
    pub(crate) arch: String,
    /// RFC 3339.
    pub(crate) created: String,
    /// First words of the command.
    pub(crate) entrypoint: Vec<String>,
    /// `NAME=value`.
    pub(crate) env: Vec<String>,
    /// Labels.
    pub(crate) labels: Labels,
    /// Signal that asks the first process to end.
    pub(crate) stop_signal: Option<String>,
}

impl Config {
    fn json(&self, layers: &[Layer]) -> Value {
        let mut config = json!({ "Env": self.env, "Labels": self.labels });
        if !self.entrypoint.is_empty() {
            config["Entrypoint"] = json!(self.entrypoint);
        }
        if let Some(signal) = &self.stop_signal {
            config["StopSignal"] = json!(signal);
        }
        json!({
            "architecture": self.arch,
            "os": "linux",
            "created": self.created,
            "config": config,
            "rootfs": { "type": "layers", "diff_ids": layers.iter().map(|l| format!("sha256:{}", l.diff)).collect::<Vec<_>>() },
            "history": layers.iter().map(|_| json!({ "created": self.created, "created_by": "joinder" })).collect::<Vec<_>>(),
        })
    }
}

/// Writes an archive with one image; returns the image's id.
pub(crate) fn write(path: &Path, name: &str, config: &Config, layers: &[Layer]) -> io::Result<String> {
    let mut tar = Builder::new(BufWriter::with_capacity(1 << 20, File::create(path)?));
    let text = serde_json::to_vec(&config.json(layers))?;
    let id = format!("{:x}", Sha256::digest(&text));
    let mut paths = Vec::new();
    for layer in layers {
        let file = File::open(&layer.file)?;
        let inside = format!("{}/layer.tar", layer.diff);
        if !paths.contains(&inside) {
            tar.append_data(&mut header(file.metadata()?.len()), &inside, file)?;
        }
        paths.push(inside);
    }
    let config_name = format!("{id}.json");
    tar.append_data(&mut header(text.len() as u64), &config_name, &text[..])?;
    let manifest = serde_json::to_vec(&json!([{ "Config": config_name, "RepoTags": [name], "Layers": paths }]))?;
    tar.append_data(&mut header(manifest.len() as u64), "manifest.json", &manifest[..])?;
    tar.into_inner()?.flush()?;
    Ok(format!("sha256:{id}"))
}

fn header(size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    header.set_size(size);
    header.set_mtime(1);
    header
}

#[cfg(test)]
mod tests {
    use super::super::layer::{LayerWriter, Packing};
    use super::*;
    use std::collections::BTreeMap;
    use std::io::Read;

    fn read(path: &Path) -> BTreeMap<String, Vec<u8>> {
        let mut archive = tar::Archive::new(File::open(path).expect("there"));
        let entries = archive.entries().expect("a tar");
        entries
            .map(|e| {
                let mut e = e.expect("an entry");
                let mut bytes = Vec::new();
                e.read_to_end(&mut bytes).expect("read");
                (e.path().expect("a path").display().to_string(), bytes)
            })
            .collect()
    }

    #[test]
    fn an_archive_is_whole_and_its_digests_are_right() {
        let dir = tempfile::tempdir().expect("a folder");
        let layer = |name: &str| {
            let mut layer = LayerWriter::create(&dir.path().join(name), Packing::Plain).expect("created");
            layer.bytes(name, 0o755, name.as_bytes()).expect("added");
            layer.finish().expect("finished")
        };
        let layers = [layer("etcd"), layer("pause")];
        let config = Config {
            arch: "amd64".into(),
            created: "2026-07-22T18:07:38Z".into(),
            entrypoint: vec!["/pause".into(), "-P".into()],
            env: vec![PATH.into()],
            labels: Labels::from([("a".into(), "b".into())]),
            stop_signal: Some("SIGRTMIN+3".into()),
        };
        let (one, two) = (dir.path().join("one.tar"), dir.path().join("two.tar"));
        let id = write(&one, "example.com/pause:3", &config, &layers).expect("written");
        write(&two, "example.com/pause:3", &config, &layers).expect("written");
        assert_eq!(std::fs::read(&one).expect("read"), std::fs::read(&two).expect("read"));

        let files = read(&one);
        let manifest: Value = serde_json::from_slice(&files["manifest.json"]).expect("JSON");
        assert_eq!(manifest[0]["RepoTags"], json!(["example.com/pause:3"]));
        let config_file = &files[manifest[0]["Config"].as_str().expect("named")];
        assert_eq!(id, format!("sha256:{:x}", Sha256::digest(config_file)));
        let config: Value = serde_json::from_slice(config_file).expect("JSON");
        for (i, diff) in config["rootfs"]["diff_ids"].as_array().expect("listed").iter().enumerate() {
            let bytes = &files[manifest[0]["Layers"][i].as_str().expect("named")];
            assert_eq!(diff.as_str().expect("text"), format!("sha256:{:x}", Sha256::digest(bytes)));
        }
        assert_eq!(config["config"]["StopSignal"], "SIGRTMIN+3");
        assert_eq!(config["config"]["Entrypoint"], json!(["/pause", "-P"]));
    }
}
