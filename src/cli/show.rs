//! Data on standard output: names, tables, JSON, YAML.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

use serde_json::Value;

use super::args::Output;
use super::diag;
use super::exit::Exit;

/// Rows as asked for; the first column is the name.
pub(super) fn rows<const N: usize>(output: Output, head: [&str; N], rows: Vec<[String; N]>, data: &Value) -> Exit {
    match output {
        Output::Name => write(&rows.iter().map(|row| format!("{}\n", row[0])).collect::<Vec<_>>().concat()),
        Output::Wide => write(&table(head, rows)),
        Output::Json => json(data),
        Output::Yaml => yaml(data),
    }
}

fn table<const N: usize>(head: [&str; N], rows: Vec<[String; N]>) -> String {
    let mut all = vec![head.map(str::to_owned)];
    all.extend(rows);
    let width = |column: usize| all.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let line = |row: &[String; N]| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    all.iter().map(line).collect()
}

/// JSON, indented.
pub(super) fn json(data: &Value) -> Exit {
    write(&format!("{data:#}\n"))
}

/// YAML, one document.
pub(super) fn yaml(data: &Value) -> Exit {
    match serde_saphyr::to_string(data) {
        Ok(text) => write(&text),
        Err(e) => diag::fail(Exit::Unexpected, &anyhow::Error::new(e).context("cannot write YAML")),
    }
}

/// Text as it is.
pub(super) fn write(text: &str) -> Exit {
    // Not through `Stdout`, which takes a descriptor that cannot be written to for a place where nobody wants to read.
    let out = io::stdout().as_fd().try_clone_to_owned().map(File::from);
    match out.and_then(|mut out| out.write_all(text.as_bytes())) {
        Ok(()) => Exit::Passed,
        // The reader has seen enough (`| head`).
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Exit::Passed,
        Err(e) => diag::fail(Exit::Unexpected, &anyhow::Error::new(e).context("cannot write to standard output")),
    }
}
