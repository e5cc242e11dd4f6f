//! `tidewire sensor status`: a running sensor as tables or JSON.

use tidewire_sensor::{
    report::{QueueStatus, ReaderReport},
    supervisor::status::{PartStatus, SensorStatus, StatusError, ask},
};

use super::options::StatusOptions;
use crate::{
    error::{self, CliError},
    layout::Layout,
    output::Out,
    row::Column,
    table::Table,
    units::{Bytes, Count, Lasting},
};

const PARTS: [Column; 7] = [
    Column::words("PART", "part", 0),
    Column::words("STATE", "state", 0),
    Column::figures("PROCESS", "process", 0),
    Column::figures("FOR", "for", 2),
    Column::figures("RESTARTS", "restarts", 1),
    Column::words("QUEUE", "queue", 4),
    Column::words("LAST EXIT", "last_exit", 3),
];

const QUEUES: [Column; 6] = [
    Column::words("QUEUE", "queue", 0),
    Column::words("UNIT", "unit", 1),
    Column::figures("READERS", "readers", 0),
    Column::figures("RECORDS", "records", 0),
    Column::figures("BYTES", "bytes", 0),
    Column::figures("SHED", "shed", 2),
];

const READERS: [Column; 9] = [
    Column::words("READER", "reader", 0),
    Column::words("QUEUE", "queue", 0),
    Column::words("GROUP", "group", 4),
    Column::figures("PROCESS", "process", 2),
    Column::figures("FROM", "first", 3),
    Column::figures("READ", "read", 0),
    Column::figures("LAG", "lag", 0),
    Column::figures("LOST", "lost", 0),
    Column::figures("LOST BYTES", "lost_bytes", 3),
];

/// Runs the subcommand.
pub fn run(options: &StatusOptions) -> Result<u8, CliError> {
    let status = ask(&options.directory).map_err(|error| {
        let hint = match &error {
            StatusError::None(_) => "; start one with tidewire sensor, or name its --directory",
            _ => "",
        };
        CliError::Input(format!("{error}{hint}"))
    })?;
    let mut out = Out::stdout();
    if options.json {
        let text = serde_json::to_string(&status).map_err(|error| CliError::Output(error.to_string()))?;
        out.line(&text)?;
    } else {
        print(&status, &mut out)?;
    }
    out.flush()?;
    Ok(error::OK)
}

fn print(status: &SensorStatus, out: &mut Out) -> Result<(), CliError> {
    let capture = &status.capture;
    let lasting = lasting(status.seconds);
    let (packets, dropped) = (Count(capture.packets), Count(capture.dropped));
    let pieces = if capture.dropped == 0 { "none dropped".into() } else { format!("{dropped} dropped") };
    out.line(&format!("sensor {} for {lasting}: {packets} packets, {pieces}", status.state))?;
    for input in &status.inputs {
        out.line(&format!("  {input}"))?;
    }
    if !status.pending.is_empty() {
        out.line(&format!("  after a restart: {}", status.pending.join(", ")))?;
    }
    out.line("")?;
    let mut table = Table::new(&PARTS, &Layout::default());
    status.parts.iter().for_each(|part| table.row(part_cells(part)));
    table.finish(out)?;
    if !capture.queues.is_empty() {
        out.line("")?;
    }
    let mut table = Table::new(&QUEUES, &Layout::default());
    capture.queues.iter().for_each(|queue| table.row(queue_cells(queue)));
    table.finish(out)?;
    let mut readers =
        capture.queues.iter().flat_map(|queue| queue.readers.iter().map(move |reader| (queue, reader))).peekable();
    if readers.peek().is_some() {
        out.line("")?;
    }
    let mut table = Table::new(&READERS, &Layout::default());
    readers.for_each(|(queue, reader)| table.row(reader_cells(queue, reader)));
    table.finish(out)
}

fn lasting(seconds: f64) -> String {
    Lasting((seconds * 1e9) as u64).to_string()
}

fn part_cells(part: &PartStatus) -> Vec<String> {
    let running = |text: String| if part.process.is_some() { text } else { String::new() };
    vec![
        part.name.clone(),
        part.state.clone(),
        part.process.map(|process| process.to_string()).unwrap_or_default(),
        running(lasting(part.seconds)),
        part.restarts.to_string(),
        part.queue.clone().unwrap_or_default(),
        part.last_exit.clone().unwrap_or_default(),
    ]
}

fn queue_cells(queue: &QueueStatus) -> Vec<String> {
    let shed = if queue.shed_records == 0 { String::new() } else { Count(queue.shed_records).to_string() };
    vec![
        queue.name.clone(),
        queue.unit.clone(),
        match queue.awaited {
            0 => queue.readers.len().to_string(),
            awaited => format!("{} of {awaited}", queue.readers.len()),
        },
        Count(queue.records).to_string(),
        Bytes(queue.bytes).to_string(),
        shed,
    ]
}

fn reader_cells(queue: &QueueStatus, reader: &ReaderReport) -> Vec<String> {
    // Who was there from the beginning read, lost or has still to read all records.
    let from = if reader.first == 0 { String::new() } else { Count(reader.first).to_string() };
    let lost_bytes = if reader.lost == 0 { String::new() } else { Bytes(reader.lost_bytes).to_string() };
    vec![
        reader.name.clone(),
        queue.name.clone(),
        reader.group.clone().unwrap_or_default(),
        reader.process.to_string(),
        from,
        Count(reader.read).to_string(),
        Count(reader.lag).to_string(),
        Count(reader.lost).to_string(),
        lost_bytes,
    ]
}
