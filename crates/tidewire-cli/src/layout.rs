//! Columns of tables and comma-separated values, and the format of times.

use clap::Args;
use tidewire_exports::table;

use crate::{
    clock::{Clock, TimeForm},
    error::CliError,
    row::{Cells, Column, Form, Row},
};

/// Heading of the help.
const REPORT: &str = "Report";

/// Options that choose columns.
#[derive(Args, Clone, Debug, Default)]
pub struct ColumnOptions {
    /// Columns of the table or of --csv: client,server; or changes: +client,-server
    ///
    /// Names are separated by commas and give the order. In --csv a column's name stands for its values (client for client_addr
    /// and client_port). +NAME adds a column to the default ones, -NAME removes one. The error for an unknown name lists all
    /// names.
    ///
    /// Without --columns, a table has the columns that fit into the width of the terminal (COLUMNS, if set; 120 characters in
    /// pipes and files), and notes beneath a row what has no column. Columns that are named here are always shown.
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true, conflicts_with = "json", help_heading = REPORT)]
    pub columns: Vec<String>,

    /// Show all columns that have a value, however long the lines are
    ///
    /// `less -S` scrolls sideways.
    #[arg(long, conflicts_with_all = ["json", "csv"], help_heading = REPORT)]
    pub wide: bool,
}

/// The option for the format of times.
#[derive(Args, Clone, Debug, Default)]
pub struct TimeOption {
    /// Format of times: local (honours TZ), utc, iso (ISO 8601 with the offset) or epoch (seconds) [default: local]
    ///
    /// local: the time zone of TZ, else of the system; the title names it. epoch: seconds since 1970-01-01 00:00 UTC. With this
    /// option a table always has the column, and comma-separated values have start_time and end_time instead of start_ns and
    /// end_ns. JSON always has nanoseconds since 1970.
    #[arg(long, value_name = "FORM", value_enum, hide_possible_values = true, help_heading = REPORT)]
    pub time: Option<TimeForm>,
}

/// Columns and formats for records of one kind.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    pub clock: Clock,
    /// Exactly these columns, by index: of the table, or of the comma-separated values.
    pub exactly: Option<Vec<usize>>,
    /// Of the table: columns that are omitted, and columns that are always shown.
    pub without: Vec<usize>,
    pub essential: Vec<usize>,
    /// Columns of values behind those of the table, each with its place among the values of a record.
    pub extra: Vec<(usize, Column)>,
    /// Whether columns were named, or added: they are whole.
    pub is_named: bool,
    /// Whether lines may have any length.
    pub wide: bool,
}

impl Layout {
    /// Resolves the options for records of kind `R` in this form.
    ///
    /// # Errors
    /// Unknown column: the message lists all columns.
    pub fn of<R: Row>(columns: &ColumnOptions, time: &TimeOption, form: Form) -> Result<Self, CliError> {
        let clock = Clock::new(time.time);
        let is_named = columns.columns.iter().any(|name| !name.starts_with('-'));
        let mut layout = Self { wide: columns.wide, clock, is_named, ..Self::default() };
        let header = R::csv_header(&layout.clock);
        let values = R::values();
        let mut names: Vec<&str> = match form {
            Form::Csv => header.split(',').collect(),
            Form::Table | Form::Json => R::COLUMNS.iter().map(|column| column.name).collect(),
        };
        if form == Form::Table {
            names.extend(values.iter().map(|(name, _)| name.as_str()));
        }
        let of_name = |name: &str| names.iter().position(|known| known.eq_ignore_ascii_case(name));
        // The id of a stream, where a record has none of its own.
        let place =
            |name: &str| of_name(name).or_else(|| of_name("stream").filter(|_| name.eq_ignore_ascii_case("id")));
        let find = |name: &str| {
            let mut places: Vec<usize> = place(name).into_iter().collect();
            if form == Form::Csv && places.is_empty() {
                let shown = R::COLUMNS.iter().filter(|column| column.name.eq_ignore_ascii_case(name));
                places = shown.flat_map(|column| column.values).filter_map(|name| place(name)).collect();
            }
            let unknown = || {
                let known = names.iter().enumerate().filter(|(at, name)| !names[..*at].contains(name));
                let known = known.map(|(_, name)| *name).collect::<Vec<_>>().join(", ");
                CliError::Usage(format!("--columns: unknown column '{name}'; expected {known}"))
            };
            if places.is_empty() { Err(unknown()) } else { Ok(places) }
        };
        let changes = columns.columns.iter().filter(|name| name.starts_with(['+', '-'])).count();
        if changes != 0 && changes != columns.columns.len() {
            let message =
                "--columns: give either a list of columns, or only changes with + and -, as in +client,-server";
            return Err(CliError::Usage(message.into()));
        }
        if changes == 0 && !columns.columns.is_empty() {
            let places: Vec<Vec<usize>> =
                columns.columns.iter().map(|name| find(name.trim())).collect::<Result<_, _>>()?;
            layout.exactly = Some(places.concat());
            return Ok(layout.with_values::<R>(&values, form));
        }
        for name in &columns.columns {
            match name.split_at(1) {
                ("-", name) => layout.without.extend(find(name)?),
                (_, name) => layout.essential.extend(find(name)?),
            }
        }
        if form == Form::Csv && !layout.without.is_empty() {
            layout.exactly = Some((0..names.len()).filter(|index| !layout.without.contains(index)).collect());
        }
        if layout.clock.is_given() && form == Form::Table {
            let times = R::COLUMNS.iter().enumerate().filter(|(_, column)| column.is_time).map(|(index, _)| index);
            layout.essential.extend(times.filter(|index| !layout.without.contains(index)));
        }
        Ok(layout.with_values::<R>(&values, form))
    }

    /// Gives values that were named as columns of a table their places behind its own ones.
    fn with_values<R: Row>(mut self, values: &[(String, table::Column)], form: Form) -> Self {
        let own = R::COLUMNS.len();
        if form == Form::Table {
            self.without.retain(|place| *place < own);
            for place in self.exactly.iter_mut().flatten().chain(&mut self.essential).filter(|place| **place >= own) {
                let index = *place - own;
                *place = own + self.extra.len();
                self.extra.extend(values.get(index).map(|(name, column)| (index, Column::of_value(name, column))));
            }
        }
        self
    }

    /// Always shows a column of the table, unless the chosen columns do not have it.
    pub fn keep<R: Row>(&mut self, name: &str) {
        let place = R::COLUMNS.iter().position(|column| column.name == name);
        self.essential.extend(place.filter(|place| !self.without.contains(place)));
    }

    /// The columns of the table.
    pub fn columns<R: Row>(&self) -> Vec<Column> {
        R::COLUMNS.iter().chain(self.extra.iter().map(|(_, column)| column)).copied().collect()
    }

    /// A record's row of the table.
    pub fn cells<R: Row>(&self, row: &R) -> Cells {
        let mut cells = row.cells(&self.clock);
        cells.cells.extend(self.extra.iter().map(|(index, _)| row.value(*index, &self.clock)));
        cells
    }

    /// The header of comma-separated values.
    pub fn csv_header<R: Row>(&self) -> String {
        let header = R::csv_header(&self.clock);
        match &self.exactly {
            None => header,
            Some(chosen) => {
                let names: Vec<&str> = header.split(',').collect();
                chosen.iter().filter_map(|&index| names.get(index).copied()).collect::<Vec<_>>().join(",")
            }
        }
    }

    /// Appends a record as a line of comma-separated values.
    pub fn push_csv<R: Row>(&self, row: &R, out: &mut Vec<u8>) {
        let begin = out.len();
        row.push_csv(out, &self.clock);
        if let Some(chosen) = &self.exactly {
            let line = out.split_off(begin);
            select(&line, chosen, out);
        }
    }
}

/// Appends the selected fields of a line of comma-separated values (RFC 4180: quoted commas do not separate fields).
fn select(line: &[u8], chosen: &[usize], out: &mut Vec<u8>) {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let mut is_quoted = false;
    let values: Vec<&[u8]> = line
        .split(|&byte| {
            is_quoted ^= byte == b'"';
            byte == b',' && !is_quoted
        })
        .collect();
    for (place, &index) in chosen.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        out.extend_from_slice(values.get(index).copied().unwrap_or_default());
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use tidewire_exports::{
        DatagramRecord,
        records::{self, Csv, DatagramKind, Description as _, Field},
        table::Kind,
    };

    use super::*;
    use crate::row::described;

    /// A datagram with a field more in its description.
    struct Wider(DatagramRecord);

    fn values() -> &'static Csv<DatagramKind> {
        static VALUES: LazyLock<Csv<DatagramKind>> = LazyLock::new(|| {
            let hops = Field::<DatagramKind>::number("hops", Kind::Long, |of| of.packet + 3, "routers on the way");
            let fields: Vec<_> = DatagramKind::FIELDS.iter().copied().chain([hops]).collect();
            Csv::of(&fields, records::Form::CSV)
        });
        &VALUES
    }

    impl Wider {
        fn view<T>(&self, _: records::Form, call: impl FnOnce(&DatagramRecord) -> T) -> T {
            call(&self.0)
        }
    }

    impl Row for Wider {
        const COLUMNS: &'static [Column] =
            &[Column::figures("PACKET", "packet", 0), Column::words("POLICY", "policy", 0)];

        described!(records::datagram_json, values, values);

        fn cells(&self, _: &Clock) -> Cells {
            Cells::of(vec![self.0.packet.to_string(), self.0.policy.name().to_owned()])
        }
    }

    /// A field that is added to a description is a column of the table on request, and of comma-separated values.
    #[test]
    fn an_added_field_is_a_column() {
        let (source, destination) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
        let mut datagram = DatagramRecord::new(9, source, destination, 7, 17);
        (datagram.fragments, datagram.bytes) = (3, 4000);
        let row = Wider(datagram);
        let of = |names: &[&str], form| {
            let columns = names.iter().map(|name| (*name).to_owned()).collect();
            Layout::of::<Wider>(&ColumnOptions { columns, wide: false }, &TimeOption::default(), form)
        };
        let layout = of(&["hops", "packet", "bytes"], Form::Table).unwrap();
        let titles: Vec<&str> = layout.columns::<Wider>().iter().map(|column| column.title).collect();
        assert_eq!(
            (titles, layout.exactly.as_deref()),
            (vec!["PACKET", "POLICY", "HOPS", "BYTES"], Some(&[2, 0, 3][..]))
        );
        assert_eq!(layout.cells(&row).cells, ["9", "linux", "12", "4.0 kB"]);
        let added = of(&["+hops", "-policy"], Form::Table).unwrap();
        assert_eq!((added.essential, added.without, added.extra.len()), (vec![2], vec![1], 1));
        let none = of(&[], Form::Table).unwrap();
        assert_eq!(none.cells(&row).cells, ["9", "linux"]);
        let mut line = Vec::new();
        of(&["hops", "proto"], Form::Csv).unwrap().push_csv(&row, &mut line);
        assert_eq!(line, b"12,udp\n");
        let message = of(&["hopps"], Form::Table).unwrap_err().to_string();
        assert!(message.contains("expected packet, policy, ") && message.contains(", hops"), "{message}");
    }

    #[test]
    fn values_are_chosen_by_their_place() {
        let mut out = b"before\n".to_vec();
        select(b"1,\"a,\"\"b\"\",c\",,4\n", &[3, 1, 1, 2], &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "before\n4,\"a,\"\"b\"\",c\",\"a,\"\"b\"\",c\",\n");
    }
}
