//! `joinder schema`: the JSON Schema of workflows, for editors and for whoever writes one without this repository.

use super::exit::Exit;
use super::show;
use crate::spec;

pub(super) fn schema() -> Exit {
    show::write(&spec::schema_text())
}
