//! The tables of databases, and the statements that make and fill them.

use tidewire_exports::table::{self, Kind, Table};

/// The tables of all kinds of records.
pub const TABLES: [Table; 4] = [table::FLOWS, table::TRANSACTIONS, table::MATCHES, table::EVENTS];

/// The statement that creates a table. Strict: a column has the type that it says.
pub fn definition(table: &Table) -> String {
    let columns = table.columns.iter().map(|column| {
        let kind = match column.kind {
            Kind::Long | Kind::Int | Kind::Truth => "INTEGER",
            Kind::Time | Kind::Text | Kind::List(_) | Kind::Object(_) => "TEXT",
        };
        format!("\"{}\" {kind}{}", column.name, if column.is_optional { "" } else { " NOT NULL" })
    });
    format!("CREATE TABLE \"{}\" ({}) STRICT;", table.name, columns.collect::<Vec<_>>().join(", "))
}

/// The statement that adds a row.
pub fn insertion(name: &str) -> &'static str {
    use std::sync::LazyLock;
    static ALL: LazyLock<Vec<(&'static str, String)>> = LazyLock::new(|| {
        let of = |table: &Table| {
            let marks = vec!["?"; table.columns.len()].join(",");
            (table.name, format!("INSERT INTO \"{}\" VALUES ({marks})", table.name))
        };
        TABLES.iter().map(of).collect()
    });
    ALL.iter().find(|(table, _)| *table == name).map_or("", |(_, statement)| statement)
}
