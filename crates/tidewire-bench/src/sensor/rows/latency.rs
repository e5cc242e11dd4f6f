//! How late a record arrives in another process.

use super::transport::{TRANSPORTS, Transport};
use crate::{
    program::Program,
    report::{Section, Table},
    sensor::{
        in_turn::{in_turn, number},
        settings::Settings,
    },
};

/// Records a second.
const RATE: u64 = 20_000;
const BYTES: u64 = 1460;

pub(super) fn run(settings: &Settings) -> Result<Section, String> {
    let mut section = Section {
        title: "Latency".into(),
        text: format!(
            "{RATE} records of {BYTES} bytes a second, evenly spaced; the time of sending is in each record, and is compared \
             when the reader has it. The sender spins until the next record is due. A sleeping reader of a queue is woken by the \
             thread that serves the queue, which looks every 200 µs, never by the publishing thread; a polling one looks all the \
             time. Readers of a pipe, a socket or ZeroMQ sleep and are woken by the sender's system call. Medians of the rounds."
        ),
        ..Section::default()
    };
    let columns = ["way", "p50 µs", "p99 µs", "p99.9 µs", "longest µs", "sender CPU %", "reader CPU %"];
    let mut table = Table::new("", &columns);
    let seconds = if settings.quick { 0.5 } else { 2.0 };
    let ways: Vec<&Transport> =
        TRANSPORTS.iter().filter(|way| !way.name.contains("1 MiB") && !way.name.contains("in place")).collect();
    let programs: Vec<Program> = ways.iter().map(|way| timed(way, settings, seconds)).collect();
    for (way, rounds) in ways.iter().zip(in_turn(&programs, settings.rounds())) {
        if let Some(why) = &rounds.failed {
            section.skipped.push(format!("{}: {why}", way.name));
            continue;
        }
        let of = |name: &str| {
            let path = way.latency_path(name);
            rounds.median(|output| number(output, &path))
        };
        let [sender, reader] = way.cpu_paths().map(|path| rounds.median(|output| number(output, path)) / 1e7 / seconds);
        let mut line =
            vec![way.name.replace("queue", "queue, reader polls").replace(" polls, reader sleeps", " sleeps")];
        line.extend(["p50_ns", "p99_ns", "p999_ns", "max_ns"].map(|name| format!("{:.1}", of(name) / 1e3)));
        line.extend([sender, reader].map(|share| format!("{share:.0}")));
        table.lines.push(line);
        section.points.push(rounds.point());
    }
    section.tables.push(table);
    Ok(section)
}

fn timed(way: &Transport, settings: &Settings, seconds: f64) -> Program {
    let mut program = way.program(settings, BYTES, seconds, RATE);
    if way.is_ours {
        program.words.push("--timed".into());
    }
    program
}
