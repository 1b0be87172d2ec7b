//! `joinder build node-image-variant`.

use super::super::context::Signals;
use super::super::diag;
use super::super::exit::Exit;
use super::super::kinder::Called;
use super::args::VariantArgs;
use crate::image::find::{node_image, reference};
use crate::image::{self, ImageError};
use crate::runtime::Runtime;
use crate::sys::env;

/// kinder's own words where nobody says.
const KINDS: [&str; 2] = ["kindest/node:latest", "kindest/base:latest"];
const IMAGE: &str = "joinder/node:variant";

pub(in super::super) async fn build(args: VariantArgs, called: Called) -> Exit {
    let signals = Signals::listen();
    let runtime = match signals.engine().await {
        Ok((runtime, _)) => runtime,
        Err(e) => return diag::fail(signals.or(Exit::BadEnvironment), &e.into()),
    };
    let built = async {
        let base = match (&args.base_image, called) {
            (Some(base), _) => base.clone(),
            (None, Called::Kinder) => KINDS[1].to_owned(),
            (None, Called::Joinder) => default_base(runtime.as_ref()).await?,
        };
        let image = if called.is_kinder() { KINDS[0] } else { IMAGE };
        let request = args.request(image, base);
        image::build_variant(&request, runtime.as_ref(), &env::cache_dir(), &signals.stop, &diag::say).await
    };
    match built.await {
        Ok(built) => {
            diag::say(&format!("{} is built", built.image));
            if built.left.is_empty() {
                return Exit::Passed;
            }
            diag::say(&format!("error: could not remove {}", built.left.join("; ")));
            Exit::Left
        }
        Err(e @ ImageError::Version { .. }) => diag::fail(Exit::BadCommandLine, &e.into()),
        Err(e) => diag::fail(signals.or(Exit::BadEnvironment), &e.into()),
    }
}

async fn default_base(runtime: &dyn Runtime) -> Result<String, ImageError> {
    Ok(reference(&node_image(runtime, None, None).await?).to_owned())
}
