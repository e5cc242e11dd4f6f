//! The report of the instances' counts, as table or JSON.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::process::ExitStatusExt as _,
    process::ExitStatus,
};

use tidewire_live::sys::shared_counters::Count;

use super::{instance::Instance, instances::Instances, options::Options};
use crate::{
    error::{CliError, notify},
    output::{Object, push_number},
};

/// The row of an instance.
pub struct Row {
    process: u32,
    processor: Option<usize>,
    handles: u64,
    received: u64,
    delivered: u64,
    dropped: u64,
    steered_out: u64,
    interface_dropped: u64,
    ended: Option<ExitStatus>,
    text: Option<String>,
}

/// The report.
pub struct Report {
    rows: Vec<Row>,
    /// Whether the instances have ended.
    is_last: bool,
    code: u8,
}

/// The current counts of the instances.
pub fn rows(instances: &Instances, is_last: bool) -> Report {
    let row = |(number, instance): (usize, &Instance)| {
        let slot = instances.slot(number);
        let load = |count| slot.map_or(0, |slot| slot.load(count));
        Row {
            process: instance.number(),
            processor: instance.processor,
            handles: load(Count::Handles),
            received: load(Count::Received),
            delivered: load(Count::Delivered),
            dropped: load(Count::Dropped),
            steered_out: load(Count::SteeredOut),
            interface_dropped: load(Count::InterfaceDropped),
            ended: instance.ended,
            text: slot.and_then(|slot| slot.text()),
        }
    };
    Report { rows: instances.all.iter().enumerate().map(row).collect(), is_last, code: instances.code() }
}

/// Writes the report. As for messages, a closed standard error is ignored.
pub fn write(options: &Options, report: &Report) -> Result<(), CliError> {
    let mut text = Vec::new();
    if options.json {
        report.json(&mut text);
    } else {
        report.table(&mut text);
    }
    match &options.report {
        Some(path) => fs::write(path, text)
            .map_err(|error| CliError::Output(format!("{}: cannot be written: {error}", path.display()))),
        None => {
            let _ = io::stderr().write_all(&text);
            Ok(())
        }
    }
}

/// Remarks in addition to the counts.
pub fn remarks(instances: &Instances) {
    if let Some(number) = instances.failed()
        && let Some(status) = instances.all.get(number).and_then(|instance| instance.ended)
    {
        notify(format_args!("instance {number} {}", ending(status)));
    }
    let idle: Vec<_> = (0..instances.all.len())
        .filter(|number| instances.slot(*number).is_none_or(|slot| slot.load(Count::Handles) == 0))
        .map(|number| number.to_string())
        .collect();
    if !idle.is_empty() {
        let (instances, they) = if idle.len() == 1 { ("instance", "it") } else { ("instances", "they") };
        notify(format_args!(
            "{instances} {} shared no packets: {they} opened no network interface through libpcap",
            idle.join(", ")
        ));
    }
}

fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".into(),
    }
}

/// The exit status for a table, which must fit 80 columns.
fn short_ending(status: ExitStatus) -> String {
    let code = status.code().map(|code| format!("code {code}"));
    let signal = status.signal().map(|signal| format!("signal {signal}"));
    code.or(signal).unwrap_or("ended".into())
}

impl Row {
    fn figures(&self) -> [u64; FIGURES] {
        [self.received, self.delivered, self.dropped, self.steered_out, self.interface_dropped]
    }
}

/// Number of counters of an instance, and of cells of its row.
const FIGURES: usize = 5;
const CELLS: usize = FIGURES + 4;

/// The counter that is shown only if it is not zero.
const STEERED_OUT: usize = 3;

/// Titles of the counters. Each capture counts all drops of the interface, so that they have no sum.
const TITLES: [&str; FIGURES] = ["received", "delivered", "dropped", "steered out", "by interface"];

impl Report {
    /// Totals: sums, and the maximum of what each instance counts as a whole.
    fn total(&self) -> [u64; FIGURES] {
        let mut total = [0; FIGURES];
        for row in &self.rows {
            for (at, (sum, figure)) in total.iter_mut().zip(row.figures()).enumerate() {
                *sum = if at == FIGURES - 1 { (*sum).max(figure) } else { u64::saturating_add(*sum, figure) };
            }
        }
        total
    }

    fn table(&self, out: &mut Vec<u8>) {
        let mut lines = vec![["instance", "process", "cpu", "", "", "", "", "", ""].map(str::to_owned)];
        let figures = |line: &mut [String; CELLS], values: [String; FIGURES]| {
            line.iter_mut().skip(3).zip(values).for_each(|(cell, value)| *cell = value);
        };
        figures(&mut lines[0], TITLES.map(str::to_owned));
        for (number, row) in self.rows.iter().enumerate() {
            let cpu = row.processor.map_or("any".into(), |cpu| cpu.to_string());
            let state = row.ended.map_or("runs".into(), short_ending);
            let mut line = [const { String::new() }; CELLS];
            (line[0], line[1], line[2], line[CELLS - 1]) = (number.to_string(), row.process.to_string(), cpu, state);
            let values = row.figures().map(|value| if row.handles == 0 { "-".into() } else { value.to_string() });
            figures(&mut line, values);
            lines.push(line);
        }
        let mut last = [const { String::new() }; CELLS];
        last[0] = "all".into();
        figures(&mut last, self.total().map(|value| value.to_string()));
        lines.push(last);
        let mut widths = [0; CELLS];
        for line in &lines {
            widths.iter_mut().zip(line).for_each(|(width, cell)| *width = cell.chars().count().max(*width));
        }
        // Omitted if it is zero.
        let hidden = (self.total()[STEERED_OUT] == 0).then_some(STEERED_OUT + 3);
        for line in &lines {
            let cells = line.iter().zip(widths).take(CELLS - 1).enumerate();
            let cells = cells.filter(|(at, _)| Some(*at) != hidden);
            let cells: Vec<_> = cells.map(|(_, (cell, width))| format!("{cell:>width$}")).collect();
            let text = format!("{}  {}", cells.join("  "), line[CELLS - 1]);
            out.extend_from_slice(text.trim_end().as_bytes());
            out.push(b'\n');
        }
        for (number, text) in
            self.rows.iter().enumerate().filter_map(|(number, row)| Some((number, row.text.as_ref()?)))
        {
            out.extend_from_slice(format!("instance {number}: {text}\n").as_bytes());
        }
    }

    fn json(&self, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        object.array("instances", self.rows.iter().enumerate(), |out, (number, row)| {
            let mut object = Object::open(out);
            object.number("instance", number as u64);
            object.number("process", row.process.into());
            match row.processor {
                Some(cpu) => object.number("cpu", cpu as u64),
                None => object.null("cpu"),
            }
            object.number("handles", row.handles);
            push_figures(&mut object, row.figures());
            match row.ended.map(|status| (status.code(), status.signal())) {
                Some((Some(code), _)) => push_number(object.key("code"), code.unsigned_abs().into()),
                Some((None, Some(signal))) => push_number(object.key("signal"), signal.unsigned_abs().into()),
                _ => object.truth("runs", true),
            }
            if let Some(text) = &row.text {
                object.text("message", text);
            }
            object.close();
        });
        object.object("all", |all| push_figures(all, self.total()));
        object.truth("ended", self.is_last);
        object.number("code", self.code.into());
        object.close();
        out.push(b'\n');
    }
}

fn push_figures(object: &mut Object<'_>, figures: [u64; FIGURES]) {
    let names = ["received", "delivered", "dropped", "steered_out", "interface_dropped"];
    for (name, value) in names.into_iter().zip(figures) {
        object.number(name, value);
    }
}
