//! What the checks look at. `None` is what could not be known.

use crate::runtime::Engine;

/// All that was gathered.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// How many nodes there are to be.
    pub(super) nodes: u64,
    /// The engine, or why it cannot be used, in its own words.
    pub(super) engine: Result<Engine, String>,
    /// Of the engine's process, as the kernel has them.
    pub(super) capabilities: Option<u64>,
    /// `fs.inotify.max_user_instances`, less what is in use.
    pub(super) inotify_instances: Option<u64>,
    /// `fs.inotify.max_user_watches`.
    pub(super) inotify_watches: Option<u64>,
    /// `fs.file-max` less what is open.
    pub(super) files_left: Option<u64>,
    /// Files that joinder may open.
    pub(super) own_files: Option<u64>,
    /// Files that the engine, and so a container, may open.
    pub(super) engine_files: Option<u64>,
    /// Bytes free where the engine stores.
    pub(super) disk: Option<u64>,
    /// Bytes of memory that can be had.
    pub(super) memory: Option<u64>,
    /// Subnets that a cluster can get.
    pub(super) subnets: Option<usize>,
    /// Proxy variables that are set: name and value.
    pub(super) proxies: Vec<(String, String)>,
    /// `NO_PROXY`, either spelling.
    pub(super) no_proxy: String,
    /// Is `/dev/kmsg` there?
    pub(super) kmsg: Option<bool>,
    /// The images that a run takes by default, or why there is none.
    pub(super) images: Option<Result<Vec<String>, String>>,
}
