//! `tidewire sensor status`: a running sensor as tables or JSON.

use tidewire_delivery::{DestinationStatus, SpoolStatus};
use tidewire_sensor::{
    events::report::{AnalyzerStatus, EventsStatus},
    report::{InputStatus, LedgerStatus, OutputStatus, QueueStatus, ReaderReport, RecordStatus, RecordsStatus},
    supervisor::status::{PartStatus, SensorStatus, StatusError, ask},
};

use tidewire::legible::legible;

use super::options::StatusOptions;
use crate::{
    clock::Clock,
    error::{self, CliError},
    layout::Layout,
    output::Out,
    recording::show,
    row::Column,
    table::Table,
    units::{Bytes, Count, Lasting, counted},
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

const INTERFACES: [Column; 4] = [
    Column::words("INTERFACE", "interface", 0),
    Column::words("STATE", "state", 0),
    Column::figures("FRAMES", "frames", 0),
    Column::figures("LAST FRAME", "idle_seconds", 0),
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

const ANALYZERS: [Column; 7] = [
    Column::words("EVENTS OF", "analyzer", 0),
    Column::figures("USER", "user", 3),
    Column::figures("CLIENTS", "clients", 1),
    Column::figures("EVENTS", "events", 0),
    Column::figures("BYTES", "bytes", 2),
    Column::figures("WAITED", "waits", 3),
    Column::figures("REFUSED", "refused", 1),
];

const OUTPUTS: [Column; 6] = [
    Column::words("OUTPUT", "output", 0),
    Column::words("STATE", "state", 0),
    Column::figures("RECORDS", "records", 1),
    Column::figures("LOST", "lost_records", 0),
    Column::figures("FILES REMOVED", "removed_files", 3),
    Column::words("TO", "to", 2),
];

const BRANCHES: [Column; 7] = [
    Column::words("BRANCH", "branch", 0),
    Column::words("UNIT", "unit", 2),
    Column::figures("OFFERED", "offered", 0),
    Column::figures("DELIVERED", "delivered", 0),
    Column::figures("WAITING", "waiting", 3),
    Column::figures("LOST", "lost", 0),
    Column::words("WHY", "why", 1),
];

const DIRECTORIES: [Column; 3] = [
    Column::figures("SEGMENTS", "segments", 0),
    Column::figures("BYTES", "bytes", 0),
    Column::words("DIRECTORY", "directory", 0),
];

const DESTINATIONS: [Column; 7] = [
    Column::words("DESTINATION", "destination", 0),
    Column::words("TYPE", "type", 2),
    Column::words("STATE", "state", 0),
    Column::figures("RECORD", "delivered", 1),
    Column::figures("LAG", "lag", 0),
    Column::figures("EVENTS", "events", 3),
    Column::figures("LOST", "lost", 0),
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
    out.line(&headline(status))?;
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
    if !capture.interfaces.is_empty() {
        out.line("")?;
    }
    let mut table = Table::new(&INTERFACES, &Layout::default());
    capture.interfaces.iter().for_each(|one| table.row(interface_cells(one)));
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
    table.finish(out)?;
    capture.records.as_ref().map_or(Ok(()), |records| print_records(records, out))?;
    capture.record.as_ref().map_or(Ok(()), |record| print_record(record, out))?;
    print_ledger(&capture.ledger, out)?;
    status.events.as_ref().map_or(Ok(()), |events| print_events(events, out))?;
    status.spool.as_ref().map_or(Ok(()), |spool| print_spool(spool, out))
}

/// State of the sensor, since when, and how old the figures are.
fn headline(status: &SensorStatus) -> String {
    let capture = &status.capture;
    let (packets, dropped) = (Count(capture.packets), Count(capture.dropped));
    let pieces = if capture.dropped == 0 { "none dropped".into() } else { format!("{dropped} dropped") };
    let restarts = status.parts.iter().find(|part| part.name == "capture").map_or(0, |part| part.restarts);
    // Its figures begin again with each capture.
    let later = match restarts {
        0 => String::new(),
        1 => format!(", captures again for {}", lasting(capture.seconds)),
        _ => format!(", captures for the {}. time for {}", restarts + 1, lasting(capture.seconds)),
    };
    // With those before it was started again.
    let all = match restarts {
        0 => String::new(),
        _ => format!("; in all {} packets, {} dropped", Count(status.totals.packets), Count(status.totals.dropped)),
    };
    let age = status.figures_age.map_or_else(String::new, |age| format!(" (as of {} ago)", lasting(age)));
    format!("sensor {} for {}{later}: {packets} packets, {pieces}{all}{age}", status.state, lasting(status.seconds))
}

/// Records of streams and transactions, and their outputs.
fn print_records(records: &RecordsStatus, out: &mut Out) -> Result<(), CliError> {
    let (flows, transactions) = (Count(records.flows), Count(records.transactions));
    out.line("")?;
    out.line(&format!("records: {flows} of streams that ended, {transactions} of transactions"))?;
    if records.without_fields + records.cut_histories > 0 {
        let (fields, histories) = (Count(records.without_fields), Count(records.cut_histories));
        out.line(&format!(
            "  for lack of memory {fields} streams without fields, {histories} with a part of QUIC's history"
        ))?;
    }
    let mut table = Table::new(&OUTPUTS, &Layout::default());
    for output in &records.outputs {
        table.row_with_notes(output_cells(output), Vec::new(), output_notes(output));
    }
    table.finish(out)
}

fn output_cells(output: &OutputStatus) -> Vec<String> {
    let state = match (output.failed, output.retried) {
        (true, true) => "failing",
        (true, false) => "failed",
        (false, _) => "written",
    };
    let removed = if output.removed_files == 0 { String::new() } else { Count(output.removed_files).to_string() };
    let [records, lost] = [output.records, output.lost_records].map(|count| Count(count).to_string());
    vec![output.name.clone(), state.to_owned(), records, lost, removed, output.to.clone()]
}

/// Since when it has failed, or is written again.
fn output_notes(output: &OutputStatus) -> Vec<String> {
    let clock = Clock::iso_utc();
    let failed = output.failed_since_ns.map(|ns| {
        let why = output.failing.as_deref().map_or_else(|| "its reader went away".into(), legible);
        let retried = if output.retried { "; it is tried again" } else { "" };
        format!("failed since {}: {why}{retried}", clock.cell(ns))
    });
    let again = output.written_again_ns.filter(|_| !output.failed);
    failed.or_else(|| again.map(|ns| format!("written again since {}", clock.cell(ns)))).into_iter().collect()
}

/// The packets by what became of them, and the branches.
fn print_ledger(ledger: &LedgerStatus, out: &mut Out) -> Result<(), CliError> {
    let (received, delivered) = (Count(ledger.received), Count(ledger.delivered));
    let drops: String =
        ledger.drops.iter().map(|(reason, packets)| format!(" + {} {reason}", Count(*packets))).collect();
    out.line("")?;
    out.line(&format!("ledger: {received} packets = {delivered} of streams{drops}"))?;
    let mut table = Table::new(&BRANCHES, &Layout::default());
    for branch in &ledger.branches {
        let lost = branch.lost.values().sum();
        let why: Vec<String> =
            branch.lost.iter().map(|(reason, count)| format!("{reason} {}", Count(*count))).collect();
        let [offered, delivered, waiting, lost] =
            [branch.offered, branch.delivered, branch.waiting, lost].map(|count| Count(count).to_string());
        let (name, unit) = (branch.name.clone(), branch.unit.clone());
        table.row(vec![name, unit, offered, delivered, waiting, lost, why.join(", ")]);
    }
    table.finish(out)
}

/// The recording: what became of packets, and where they are.
fn print_record(record: &RecordStatus, out: &mut Out) -> Result<(), CliError> {
    let figures = &record.figures;
    let all = figures.totals.all();
    let state = if record.failed { "record (failed)" } else { "record" };
    let (packets, stored) = (counted(all.written_packets, "packet", "packets"), Bytes(figures.stored_bytes));
    let segments = counted(figures.segments, "segment", "segments");
    let lost = Count(show::lost(figures));
    out.line("")?;
    out.line(&format!("{state}: {packets} written, {lost} lost, {stored} stored in {segments}"))?;
    if let Some(failing) = &record.failing {
        out.line(&format!("  not written at this moment: {}", legible(failing)))?;
    }
    let others =
        [("beyond a cutoff", all.cut_off_packets), ("shed", all.shed_packets), ("filtered", all.filtered_packets)];
    let others: Vec<String> = others
        .into_iter()
        .filter(|(_, packets)| *packets > 0)
        .map(|(fate, packets)| format!("{} {fate}", Count(packets)))
        .collect();
    if !others.is_empty() {
        out.line(&format!("  packets {}", others.join(", ")))?;
    }
    if let Some(waiting) = &figures.waiting {
        let (bytes, span) = (Bytes(waiting.bytes), Lasting(waiting.span_ns));
        let triggers = counted(waiting.triggers, "trigger", "triggers");
        out.line(&format!("  {triggers}; {bytes} of packets ({span}) wait in memory for one"))?;
    }
    let mut table = Table::new(&DIRECTORIES, &Layout::default());
    for directory in &record.directories {
        let (segments, bytes) = (Count(directory.segments).to_string(), Bytes(directory.bytes).to_string());
        table.row(vec![segments, bytes, legible(&directory.path.to_string_lossy()).into_owned()]);
    }
    table.finish(out)
}

fn print_events(events: &EventsStatus, out: &mut Out) -> Result<(), CliError> {
    let (stored, records) = (Count(events.stored_events), Count(events.stored_records));
    let sealed = if events.encrypted { ", encrypted" } else { "" };
    let removed = match events.removed_records {
        0 => String::new(),
        removed => format!(", {} old ones removed", Count(removed)),
    };
    out.line("")?;
    out.line(&format!(
        "events: {} received, {stored} stored in {records} records{removed}; store {}{sealed}",
        Count(events.events),
        Bytes(events.store_bytes)
    ))?;
    if let Some(failing) = &events.failing {
        out.line(&format!("  not stored at this moment: {}", legible(failing)))?;
    }
    let mut table = Table::new(&ANALYZERS, &Layout::default());
    events.analyzers.iter().for_each(|analyzer| table.row(analyzer_cells(analyzer)));
    table.finish(out)
}

fn print_spool(spool: &SpoolStatus, out: &mut Out) -> Result<(), CliError> {
    if !spool.destinations.is_empty() {
        out.line("")?;
    }
    let mut table = Table::new(&DESTINATIONS, &Layout::default());
    for destination in &spool.destinations {
        let notes = destination.failing.iter().map(|why| legible(why).into_owned()).collect();
        table.row_with_notes(destination_cells(destination), Vec::new(), notes);
    }
    table.finish(out)
}

fn analyzer_cells(analyzer: &AnalyzerStatus) -> Vec<String> {
    let some = |count: u64| if count == 0 { String::new() } else { Count(count).to_string() };
    vec![
        legible(&analyzer.name).into_owned(),
        analyzer.user.map(|user| user.to_string()).unwrap_or_default(),
        analyzer.clients.to_string(),
        Count(analyzer.events).to_string(),
        Bytes(analyzer.bytes).to_string(),
        some(analyzer.waits),
        some(analyzer.refused),
    ]
}

fn destination_cells(destination: &DestinationStatus) -> Vec<String> {
    let state = match (&destination.failing, destination.connected) {
        (Some(_), _) => "failing",
        (None, true) => "connected",
        (None, false) => "waiting",
    };
    vec![
        destination.name.clone(),
        destination.kind.clone(),
        state.into(),
        destination.delivered.to_string(),
        Count(destination.lag_records).to_string(),
        Count(destination.events).to_string(),
        Count(destination.lost_events).to_string(),
    ]
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

fn interface_cells(interface: &InputStatus) -> Vec<String> {
    vec![
        legible(&interface.name).into_owned(),
        match &interface.current_name {
            Some(name) => format!("{} as {}", interface.state, legible(name)),
            None => interface.state.clone(),
        },
        Count(interface.frames).to_string(),
        interface.idle_seconds.map_or_else(|| "none came".into(), |idle| format!("{} ago", lasting(idle))),
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
    let lost_bytes = reader.lost_bytes.filter(|_| reader.lost != Some(0)).map(|bytes| Bytes(bytes).to_string());
    // A figure that it never reported is unknown.
    let count = |figure: Option<u64>| figure.map_or_else(|| "?".to_owned(), |figure| Count(figure).to_string());
    vec![
        reader.name.clone(),
        queue.name.clone(),
        reader.group.clone().unwrap_or_default(),
        reader.process.to_string(),
        from,
        count(reader.read),
        count(reader.lag),
        count(reader.lost),
        lost_bytes.unwrap_or_default(),
    ]
}
