//! Columns of tables and comma-separated values, and the format of times.

use clap::Args;

use crate::{
    clock::{Clock, TimeForm},
    error::CliError,
    row::{Form, Row},
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
        let names: Vec<&str> = match form {
            Form::Csv => header.split(',').collect(),
            Form::Table | Form::Json => R::COLUMNS.iter().map(|column| column.name).collect(),
        };
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
            let unknown =
                || CliError::Usage(format!("--columns: unknown column '{name}'; expected {}", names.join(", ")));
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
            return Ok(layout);
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
        if layout.clock.is_asked() && form == Form::Table {
            let times = R::COLUMNS.iter().enumerate().filter(|(_, column)| column.is_time).map(|(index, _)| index);
            layout.essential.extend(times.filter(|index| !layout.without.contains(index)));
        }
        Ok(layout)
    }

    /// Always shows a column of the table, unless the chosen columns do not have it.
    pub fn keep<R: Row>(&mut self, name: &str) {
        let place = R::COLUMNS.iter().position(|column| column.name == name);
        self.essential.extend(place.filter(|place| !self.without.contains(place)));
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
    use super::*;

    #[test]
    fn values_are_chosen_by_their_place() {
        let mut out = b"before\n".to_vec();
        select(b"1,\"a,\"\"b\"\",c\",,4\n", &[3, 1, 1, 2], &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "before\n4,\"a,\"\"b\"\",c\",\"a,\"\"b\"\",c\",\n");
    }
}
