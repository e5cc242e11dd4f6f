//! `tidewire keys show`: certificates as a table or as JSON.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;
use tidewire::legible::legible;
use tidewire_delivery::keys::{Facts, certificates};

use super::{
    options::ShowOptions,
    words::{date, failed},
};
use crate::{
    error::{self, CliError},
    layout::Layout,
    output::Out,
    row::Column,
    table::Table,
};

const COLUMNS: [Column; 7] = [
    Column::words("FILE", "file", 0),
    Column::words("ROLE", "role", 0),
    Column::words("NAME", "name", 0),
    Column::words("UNTIL", "until", 0),
    Column::words("STATE", "state", 0),
    Column::words("HOSTS", "hosts", 2),
    Column::words("SERIAL", "serial", 3),
];

/// Less than this is soon.
const SOON: Duration = Duration::from_secs(30 * 86_400);

/// Runs the subcommand. The exit code says whether all certificates are valid.
pub(super) fn run(options: &ShowOptions) -> Result<u8, CliError> {
    let now = SystemTime::now();
    let mut out = Out::stdout();
    let mut table = Table::new(&COLUMNS, &Layout::default());
    let mut are_valid = true;
    let mut without = Vec::new();
    for file in &options.files {
        let certificates = certificates(file).map_err(failed)?;
        if certificates.is_empty() {
            without.push(file.display().to_string());
        }
        for (_, facts) in certificates {
            are_valid &= facts.left(now).is_some();
            let path = legible(&file.display().to_string()).into_owned();
            if options.json {
                out.line(&line(&path, &facts, now).to_string())?;
            } else {
                let hosts = facts.hosts.join(", ");
                let cells = [
                    path,
                    facts.role.to_string(),
                    facts.name.clone(),
                    date(facts.ends),
                    state(&facts, now),
                    hosts,
                    facts.serial.clone(),
                ];
                table.row(cells.to_vec());
            }
        }
    }
    if !options.json {
        table.finish(&mut out)?;
    }
    out.flush()?;
    if !without.is_empty() {
        let what = "no certificate in it; 'tidewire keys recipient FILE' prints the recipients of identities";
        return Err(CliError::Input(format!("{}: {what}", legible(&without.join(", ")))));
    }
    Ok(if are_valid { error::OK } else { error::NOT_FOUND })
}

fn state(facts: &Facts, now: SystemTime) -> String {
    match facts.left(now) {
        None if facts.begins > now => "not valid yet".into(),
        None => "expired".into(),
        Some(left) if left < SOON => format!("{} days left", left.as_secs() / 86_400),
        Some(_) => "valid".into(),
    }
}

fn line(path: &str, facts: &Facts, now: SystemTime) -> serde_json::Value {
    let nanoseconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    json!({
        "file": path,
        "role": facts.role.to_string(),
        "name": facts.name,
        "serial": facts.serial,
        "hosts": facts.hosts,
        "begins_ns": nanoseconds(facts.begins),
        "ends_ns": nanoseconds(facts.ends),
        "valid": facts.left(now).is_some(),
    })
}
