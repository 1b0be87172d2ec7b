//! `joinder schema`: the JSON Schema of workflows, for editors and for whoever writes one without this repository.
//!
//! It is the committed one: what makes it from the types is 0.2 MB of code, which only the tests need.

use super::diag;
use super::exit::Exit;
use super::show;
use crate::sys::packed::packed;

pub(super) fn schema() -> Exit {
    match packed!("schema/workflow.v2.json").text() {
        Ok(text) => show::write(&text),
        Err(e) => diag::fail(Exit::Unexpected, &anyhow::Error::new(e).context("cannot unpack the schema from joinder")),
    }
}
