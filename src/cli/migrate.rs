//! `joinder migrate`: a file of version 1 to one of version 2.

use std::fs::OpenOptions;
use std::io::Write;

use anyhow::Context;

use super::args::{MigrateArgs, VarArgs};
use super::exit::Exit;
use super::{diag, files, show};
use crate::workflow::{self, Migrated};

pub(super) fn migrate(args: &MigrateArgs) -> Exit {
    let file = args.file.display();
    match workflow::migrate(&args.file, &files::request(&VarArgs::default())) {
        Err(problems) => {
            diag::say(&problems.to_string());
            Exit::BadFile
        }
        Ok(Migrated::Already) => {
            diag::say(&format!("{file} is of version 2 already: there is nothing to migrate"));
            Exit::Passed
        }
        Ok(Migrated::Text { text, notes }) => {
            for note in notes {
                diag::say(&format!("note: {note}"));
            }
            let Some(out) = args.output.as_ref().filter(|out| out.as_os_str() != "-") else { return show::write(&text) };
            // never over a file that is there: it may be the one that is migrated
            let written = OpenOptions::new().write(true).create_new(true).open(out).and_then(|mut to| to.write_all(text.as_bytes()));
            match written.with_context(|| format!("cannot write {}: a file that is there is never written over", out.display())) {
                Ok(()) => {
                    diag::say(&format!("{file} is in version 2 in {}", out.display()));
                    Exit::Passed
                }
                Err(e) => diag::fail(Exit::BadEnvironment, &e),
            }
        }
    }
}
