//! The load balancer image: Debian's HAProxy and its libraries, nothing else.

use std::io;
use std::path::Path;

use super::build::Job;
use super::default_versions::{LOAD_BALANCER, LOAD_BALANCER_CONFIG, LOAD_BALANCER_NAME};
use super::embedded::HAPROXY;
use super::error::ImageError;
use super::node;
use super::parts::archive::{Config, PATH};
use super::parts::layer::{LayerWriter, Packing};
use super::parts::rootfs::{blocking, package_version};
use crate::runtime::label::{self, Labels};
use crate::sys::clock::Stamp;

/// Master and workers (`-W`), so that a signal reloads; in the foreground (`-db`).
const ENTRYPOINT: [&str; 5] = ["/usr/sbin/haproxy", "-W", "-db", "-f", LOAD_BALANCER_CONFIG];

/// The image's name for the HAProxy in a root file system stage.
pub(crate) fn name(rootfs: &Path) -> String {
    let version = package_version(rootfs, "haproxy").unwrap_or_default();
    let numbers: Vec<&str> = version.split(['.', '-', '+', '~']).take(2).collect();
    format!("{LOAD_BALANCER_NAME}:haproxy{}", numbers.join("."))
}

/// Builds the image into the engine; returns its name.
pub(crate) async fn make(job: &Job<'_>, rootfs: &Path, dir: &Path) -> Result<String, ImageError> {
    let op = "write the load balancer's files in";
    let (tree, path) = (rootfs.join("load-balancer"), dir.join("load-balancer.tar"));
    let layer = blocking(op, move || {
        let work = || -> io::Result<_> {
            let mut layer = LayerWriter::create(&path, Packing::Plain)?;
            layer.tree(&tree, &[])?;
            for dir in ["etc/haproxy", "usr/local/etc", "run", "tmp"] {
                layer.dir(dir)?;
            }
            layer.bytes(LOAD_BALANCER_CONFIG.trim_start_matches('/'), 0o644, HAPROXY.as_bytes())?;
            // where kind's and kinder's image has it
            layer.link("usr/local/etc/haproxy", "/etc/haproxy")?;
            layer.finish()
        };
        work().map_err(ImageError::io(op, &path))
    })
    .await?;
    let now = Stamp::now().wall.to_string();
    let config = Config {
        arch: job.plan.arch.clone(),
        created: now.clone(),
        entrypoint: ENTRYPOINT.map(ToOwned::to_owned).into(),
        env: vec![PATH.into()],
        labels: Labels::from([
            (label::IMAGE.to_owned(), LOAD_BALANCER.to_owned()),
            (label::PLAN.to_owned(), job.plan.load_balancer_digest.clone()),
            (label::CREATED.to_owned(), now),
        ]),
        stop_signal: None,
    };
    let name = name(rootfs);
    node::load(job, dir, &name, config, vec![layer]).await?;
    Ok(name)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_name_has_the_first_two_numbers() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join("versions"), "haproxy-doc 9.9.9\nhaproxy 3.0.11-1+deb13u1\n").expect("written");
        assert_eq!(super::name(dir.path()), "joinder/load-balancer:haproxy3.0");
    }
}
