//! `tidewire events`: what happened, from the stores of sensors.

pub mod emit;
mod expanded;
mod folded;
mod follow;
mod options;
mod scans;
mod selection;
mod stores;

pub use options::Options;

use std::path::Path;

use tidewire::Stop;
use tidewire_exports::table::EVENTS;

use crate::{
    error::{CliError, notify},
    export::csv_header,
    interrupt,
    layout::Layout,
    output::Out,
    own_input, print_rows,
    row::Form,
    units::{Count, counted},
};
use folded::{Fold, Folded, layout};
use selection::Selection;
use stores::Stores;

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<u8, CliError> {
    let form = Form::of(options.json, options.csv);
    if options.expand && form == Form::Csv {
        let message = "originals have different fields, and no columns in common; use --expand with --json";
        return Err(CliError::Usage(message.into()));
    }
    if options.export.is_on() {
        let time = options.time.time.is_some();
        options.export.refuse(&[("--expand", options.expand), ("--follow", options.follow), ("--time", time)])?;
    }
    let selection = Selection::new(options)?;
    // Following has its own, which is the normal end.
    let stop = Stop::new();
    if !options.follow {
        interrupt::on_interrupt(&stop, false)?;
    }
    let stores = Stores::open(options)?;
    // The shell appends to what standard output is, which may be what is read.
    own_input::refuse_over(&[], Path::new("-"))?;
    let code = match (options.follow, options.expand) {
        (true, _) => follow::run(options, &selection, stores, form),
        (false, true) => expanded::run(options, &selection, &stores, form),
        (false, false) if options.export.is_on() => export(options, &selection, &stores, &stop),
        (false, false) => print_folded(options, &selection, &stores, form),
    };
    let unexamined = selection.unexamined();
    if unexamined > 0 {
        let what = counted(unexamined, "record is encrypted and was", "records are encrypted and were");
        notify(format_args!(
            "{what} not compared with the filter: --identity FILE decrypts, with the identity of a recipient"
        ));
    }
    code
}

/// Writes a record for each fold, by the time of its first event.
fn export(options: &Options, selection: &Selection, stores: &Stores, stop: &Stop) -> Result<u8, CliError> {
    let folds = folded::gather(selection, stores)?;
    let opened = options.export.open(None, &[EVENTS], csv_header::<Folded>(), stop)?;
    let (mut scratch, mut count) = (Vec::new(), 0);
    // A record that cannot be read any more ends those before it, which are completed.
    let written = folds.iter().try_for_each(|fold| {
        if let Some(folded) = Folded::read(fold, stores)? {
            folded.export(&opened.exports, &mut scratch);
            count += 1;
        }
        Ok(())
    });
    let finished = opened.finish_without(!interrupt::is_interrupted());
    written.and(finished)?;
    if opened.is_shown {
        let mut out = Out::stdout();
        out.line(&format!("{} written", counted(count, "row", "rows")))?;
        out.flush()?;
    }
    Ok(stores.code())
}

/// Prints a row for each fold, by the time of its first event.
fn print_folded(options: &Options, selection: &Selection, stores: &Stores, form: Form) -> Result<u8, CliError> {
    let layout = layout(options, stores, form)?;
    let folds = folded::gather(selection, stores)?;
    let (all, events) = (folds.len(), folds.iter().map(|fold| fold.events).fold(0, u64::saturating_add));
    let skipped = options.limit.map_or(0, |limit| all.saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX)));
    let mut out = Out::stdout();
    // A record that cannot be read any more ends the rows before it.
    let mut failure = None;
    let shown = folds.iter().skip(skipped);
    let rows = shown.map_while(|fold| Folded::read(fold, stores).map_err(|error| failure = Some(error)).ok());
    let printed = print_rows::print(rows.flatten(), form, &layout, true, &mut out);
    printed?;
    if form == Form::Table {
        closing_lines(stores, &folds, events, skipped, &layout).iter().try_for_each(|line| out.line(line))?;
    }
    out.flush()?;
    failure.map_or(Ok(stores.code()), Err)
}

fn closing_lines(stores: &Stores, folds: &[Fold], events: u64, skipped: usize, layout: &Layout) -> Vec<String> {
    if folds.is_empty() {
        return vec![format!("no events{}", stores.words())];
    }
    let (first, last) =
        folds.iter().fold((u64::MAX, 0), |(first, last), fold| (first.min(fold.first_ns), last.max(fold.last_ns)));
    let (shown, count) = (counted(folds.len() as u64, "row", "rows"), Count(events));
    let clock = &layout.clock;
    let events = if events == 1 { "event" } else { "events" };
    let span = format!("from {} to {}", clock.sentence(first), clock.sentence(last));
    let mut lines = vec![format!("{count} {events} in {shown}, {span}")];
    if skipped > 0 {
        lines.push(format!("the first {skipped} rows are not shown (--limit)"));
    }
    let sealed = folds.iter().filter(|fold| fold.is_sealed).count();
    if sealed > 0 {
        let what = counted(sealed as u64, "row is", "rows are");
        lines.push(format!("{what} encrypted: --identity FILE shows the rest, with the identity of a recipient"));
    }
    lines
}

/// The columns of comma-separated values, for tests of the documents.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::{clock::Clock, row::Row as _};

    #[test]
    fn every_name_is_documented() {
        let document = include_str!("../../../../docs/output.md");
        let section =
            document.split("## `events`").nth(1).expect("a section").split("\n## ").next().unwrap_or_default();
        for name in Folded::csv_header(&Clock::default()).split(',') {
            assert!(section.contains(&format!("`{name}`")), "{name}");
        }
    }
}
