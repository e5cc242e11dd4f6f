//! `--where`: records are selected by their fields.

use std::sync::Arc;

use clap::Args;
use tidewire_exports::{
    select::{self, Select},
    table::{self, Table},
};
use tidewire_protocols::Service;

use crate::{error::CliError, options::Common};

/// The option.
#[derive(Args, Clone, Debug, Default)]
pub struct WhereOption {
    /// Only records whose fields fulfil this, as in 'tls.sni ends with example.org'
    ///
    /// FIELD OPERATOR VALUE, joined by and, or, not and parentheses. Operators: = (or ==) != < <= > >=, in (a, b), contains, starts with, ends
    /// with. A field alone has to be there, a count to be more than 0. Fields have the names of CSV, as client_addr, packets_c2s,
    /// http.status; and addr and port of either end, packets, bytes, duration of both directions; all are listed below. Packets,
    /// bytes and anomalies are fields of flows and streams, not of transactions. Values have units, as 1M, 30s, 10.0.0.0/8. != of either
    /// end and of a list means none of the values. Of a stream's transactions one has to fulfil a test of their fields.
    #[arg(long = "where", value_name = "TEST", help_heading = "Report")]
    where_test: Option<String>,
}

/// Lists the fields in the help of a command that has the option.
pub fn with_fields(command: clap::Command) -> clap::Command {
    let table = match command.get_name() {
        "flows" | "streams" => &table::FLOWS,
        "transactions" => &table::TRANSACTIONS,
        _ => return command,
    };
    command.mut_arg("where_test", |arg| {
        let long = arg.get_long_help().map(ToString::to_string).unwrap_or_default();
        arg.long_help(format!("{long}\n\n{}", listed(table)))
    })
}

/// The fields of a table: a paragraph for those of the record, and one for each protocol.
fn listed(table: &'static Table) -> String {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (name, _) in select::fields(table) {
        let protocol = Service::ALL.iter().map(|service| service.name());
        let of = name.split_once('.').map(|(first, _)| first).filter(|first| protocol.clone().any(|it| it == *first));
        let title = of.map_or_else(|| "Fields".to_owned(), str::to_owned);
        match groups.iter_mut().find(|(known, _)| *known == title) {
            Some((_, names)) => names.push(name),
            None => groups.push((title, vec![name])),
        }
    }
    let paragraphs = groups.into_iter().map(|(title, names)| format!("{title}: {}", names.join(", ")));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

impl WhereOption {
    /// The selection from a table; `None`: everything.
    ///
    /// # Errors
    /// The test is wrong, or these options leave no stream for it.
    pub fn select(&self, table: &'static Table, common: &Common) -> Result<Option<Arc<Select>>, CliError> {
        let Some(text) = &self.where_test else { return Ok(None) };
        let select = Select::new(text, table).map_err(|error| CliError::Usage(format!("--where: {error}")))?;
        if let Some(field) = select.field_of_bytes() {
            common.need_delivery(&format!("--where: '{field}'"))?;
        }
        Ok(Some(Arc::new(select)))
    }
}
