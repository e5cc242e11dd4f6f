//! How fast records go from one process to another: a queue, a pipe, a Unix socket, ZeroMQ.

use serde_json::Value;

use crate::{
    plot::Plot,
    program::Program,
    report::{Goal, Section, Table},
    sensor::{
        in_turn::{Rounds, in_turn, number},
        settings::Settings,
    },
};

/// Payload bytes of a record: what fits into a segment, and less and more.
const BYTES: [u64; 3] = [64, 1460, 16_384];
/// The bytes that goals are about.
const GOAL_BYTES: u64 = 1460;
const QUEUE: &str = "queue";

/// One transport, by its name in the table.
pub(super) struct Transport {
    pub name: &'static str,
    words: &'static [&'static str],
    pub is_ours: bool,
}

const fn ours(name: &'static str, words: &'static [&'static str]) -> Transport {
    Transport { name, words, is_ours: true }
}

/// A peer: its kind, and the size of its buffers (0: the default).
const fn peer(name: &'static str, words: &'static [&'static str]) -> Transport {
    Transport { name, words, is_ours: false }
}

pub(super) const TRANSPORTS: [Transport; 8] = [
    ours(QUEUE, &["--poll"]),
    ours("queue, in place", &["--poll", "--in-place"]),
    ours("queue, reader sleeps", &[]),
    peer("pipe, 64 KiB", &["pipe", "65536"]),
    peer("pipe, 1 MiB", &["pipe", "1048576"]),
    peer("Unix socket", &["unix", "0"]),
    peer("Unix socket, 1 MiB", &["unix", "1048576"]),
    peer("ZeroMQ PUB/SUB, ipc://", &["zmq", "0"]),
];

impl Transport {
    /// The program for so many bytes and seconds; `rate` 0: as fast as possible.
    pub fn program(&self, settings: &Settings, bytes: u64, seconds: f64, rate: u64) -> Program {
        let (bytes, seconds, rate) = (bytes.to_string(), seconds.to_string(), rate.to_string());
        if self.is_ours {
            let mut words = [&["pair", &bytes, "--seconds", &seconds, "--rate", &rate], self.words].concat();
            if rate == "0" {
                words.push("--hold");
            }
            return settings.program(self.name, "queue-loop", &words).unpinned();
        }
        let path = settings.transport.display().to_string();
        let &[kind, buffer] = self.words else { unreachable!("a peer has a kind and a buffer") };
        Program::new(self.name, &[&path, kind, &bytes, &seconds, &rate, buffer]).unpinned()
    }

    /// Records that arrived in a round.
    pub fn received(&self, output: &Value) -> f64 {
        number(output, if self.is_ours { "/readers/0/read" } else { "/received" })
    }

    /// Records that were sent.
    fn sent(&self, output: &Value) -> f64 {
        number(output, if self.is_ours { "/published" } else { "/sent" })
    }

    /// Where the CPU time of sender and receiver is, nanoseconds.
    pub fn cpu_paths(&self) -> [&'static str; 2] {
        if self.is_ours { ["/thread_cpu_ns", "/readers/0/cpu_ns"] } else { ["/sender_cpu_ns", "/receiver_cpu_ns"] }
    }

    /// Where a quantile of the latency is.
    pub fn latency_path(&self, quantile: &str) -> String {
        if self.is_ours { format!("/readers/0/latency/{quantile}") } else { format!("/{quantile}") }
    }

    /// CPU time of sender and receiver for a record that arrived, nanoseconds.
    fn cpu_ns(&self, output: &Value) -> [f64; 2] {
        self.cpu_paths().map(|path| number(output, path) / self.received(output))
    }

    /// Whether everything that arrived arrived in order, and what was not read is accounted for.
    pub fn is_sound(&self, output: &Value) -> bool {
        let sum = |paths: &[&str]| paths.iter().map(|path| number(output, path)).sum::<f64>();
        if self.is_ours {
            let seen = sum(&["/readers/0/read", "/readers/0/missed", "/readers/0/lost"]);
            number(output, "/readers/0/wrong") == 0.0 && seen == self.sent(output)
        } else {
            number(output, "/wrong") == 0.0 && self.received(output) == self.sent(output)
        }
    }
}

/// Records a second that arrived.
fn rate(transport: &Transport, output: &Value) -> f64 {
    transport.received(output) / number(output, "/seconds")
}

pub(super) fn run(settings: &Settings) -> Result<Section, String> {
    let mut section = Section {
        title: "Records from one process to another".into(),
        text: "One process sends as fast as it can, another reads everything and checks the sequence; each thread has a core, \
               what libraries start besides runs where it likes. Counted is what arrived, from the first record sent until \
               the last one was read. The queue holds the producer back until the reader has read; pipe and socket do so by \
               themselves; ZeroMQ has no high-water mark on either side, so that it drops nothing. Pipe and socket: one write \
               for each record, reads of up to 64 KiB. Readers of the queue copy each payload, or add up its words in place and \
               check afterwards that it was not overwritten. Median of the rounds."
            .into(),
        ..Section::default()
    };
    let columns =
        ["bytes", "way", "M records/s", "GB/s", "GB/s, fastest round", "arrived of sent %", "sender ns", "receiver ns"];
    let mut table = Table::new("CPU time of sender and receiver is for a record that arrived.", &columns);
    let seconds = if settings.quick { 0.3 } else { 0.8 };
    let mut plot = Plot {
        file: "queue".into(),
        title: "Payload from one process to another".into(),
        axes: ["bytes of a record".into(), "GB/s".into()],
        x_by_factors: true,
        ..Plot::default()
    };
    plot.curves = TRANSPORTS.iter().map(|transport| (transport.name.to_owned(), Vec::new())).collect();
    for bytes in BYTES {
        let programs: Vec<Program> =
            TRANSPORTS.iter().map(|transport| transport.program(settings, bytes, seconds, 0)).collect();
        let rounds = in_turn(&programs, settings.rounds());
        for (index, (transport, rounds)) in TRANSPORTS.iter().zip(&rounds).enumerate() {
            if let Some(why) = &rounds.failed {
                section.skipped.push(format!("{}, {bytes} bytes: {why}", transport.name));
                continue;
            }
            if !rounds.outputs.iter().all(|output| transport.is_sound(output)) {
                return Err(format!("{}: records are not accounted for: {:?}", transport.name, rounds.outputs));
            }
            let records = rounds.median(|output| rate(transport, output));
            let [sender, receiver] = [0, 1]
                .map(|end| rounds.median(|output| transport.cpu_ns(output).get(end).copied().unwrap_or(f64::NAN)));
            table.lines.push(vec![
                bytes.to_string(),
                transport.name.into(),
                format!("{:.2}", records / 1e6),
                format!("{:.2}", records * bytes as f64 / 1e9),
                format!("{:.2}", fastest(transport, rounds) * bytes as f64 / 1e9),
                format!("{:.1}", 100.0 * rounds.median(|output| transport.received(output) / transport.sent(output))),
                format!("{sender:.0}"),
                format!("{receiver:.0}"),
            ]);
            plot.curves[index].1.push((bytes as f64, records * bytes as f64 / 1e9));
            section.points.push(rounds.point());
        }
        if bytes == GOAL_BYTES {
            section.goals.extend(goals(&rounds));
        }
    }
    section.tables.push(table);
    section.plots.push(plot);
    Ok(section)
}

/// Records a second in the round that was disturbed least: other work on the machine can only slow a round down.
fn fastest(transport: &Transport, rounds: &Rounds) -> f64 {
    rounds.all(|output| rate(transport, output)).into_iter().fold(f64::NAN, f64::max)
}

/// Goals are about medians; the fastest rounds are shown beside them.
fn goals(rounds: &[Rounds]) -> Vec<Goal> {
    let best = |begins: &str, figure: &dyn Fn(&Transport, &Rounds) -> f64| {
        let named = TRANSPORTS.iter().zip(rounds).filter(|(transport, _)| transport.name.starts_with(begins));
        named.map(|(transport, rounds)| figure(transport, rounds)).fold(f64::NAN, f64::max)
    };
    let median = |transport: &Transport, rounds: &Rounds| rounds.median(|output| rate(transport, output));
    let [ours, pipe, zmq] = [QUEUE, "pipe", "ZeroMQ"].map(|name| [best(name, &median), best(name, &fastest)]);
    let goal = |against: &str, figures: [f64; 2], unit: &str, least: f64| Goal {
        work: Some([format!("queue, {GOAL_BYTES} bytes a record"), against.to_owned()]),
        wanted: format!("at least {least} {unit}"),
        figure: format!("{:.2} {unit} (fastest rounds: {:.2})", figures[0], figures[1]),
        met: figures[0].is_finite().then_some(figures[0] >= least),
    };
    let over = |peer: [f64; 2]| [ours[0] / peer[0], ours[1] / peer[1]];
    vec![
        goal("", ours.map(|rate| rate * GOAL_BYTES as f64 / 1e9), "GB/s", 5.0),
        goal("", ours.map(|rate| rate / 1e6), "M records/s", 3.0),
        goal("ZeroMQ PUB/SUB, ipc://", over(zmq), "×", 10.0),
        goal("pipe (the faster of 64 KiB and 1 MiB)", over(pipe), "×", 5.0),
    ]
}
