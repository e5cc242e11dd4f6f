//! The peer: libnids collects both directions of every connection; their bytes are counted, or searched by Tidewire's matcher.
//!
//! `nids-loop FILE count|flows|match [--no-checksums] [--patterns FILE]`, or `nids-loop --interface NAME count|flows|match …`, which
//! prints its totals on SIGTERM. Built with the feature `nids` only.
#![forbid(unsafe_code)]

use std::{
    cell::Cell,
    collections::HashMap,
    path::{Path, PathBuf},
    process::ExitCode,
    rc::Rc,
};

use clap::Parser;
use pcap::Capture;
use tidewire_bench::{
    feed::load,
    sys::nids::{self, Endpoints, Input, Sink},
};
use tidewire_lab::sys::thread_cpu_ns;
use tidewire_patterns::{Border, Patterns};

/// libnids, its bytes counted or searched
#[derive(Parser)]
struct Arguments {
    /// A pcap file, unless an interface is given, and the work: count, flows or match
    #[arg(required = true, num_args = 1..=2)]
    words: Vec<String>,
    /// Receive packets from this interface, until SIGTERM
    #[arg(long)]
    interface: Option<String>,
    /// The ring of the interface's capture, bytes
    #[arg(long, default_value_t = 64 << 20)]
    buffer: i32,
    /// Read the file into memory first, and print the CPU time of libnids alone
    #[arg(long)]
    from_memory: bool,
    /// Do not verify checksums
    #[arg(long)]
    no_checksums: bool,
    /// Patterns to search for, one a line
    #[arg(long)]
    patterns: Option<PathBuf>,
    /// Size of libnids' table; it keeps three quarters of that many connections
    #[arg(long, default_value_t = 262_144)]
    streams: i32,
}

#[derive(Default)]
struct Totals {
    connections: Cell<u64>,
    closed: Cell<u64>,
    bytes: Cell<u64>,
    matches: Cell<u64>,
}

struct Counter(Rc<Totals>);

impl Sink for Counter {
    fn open(&mut self) -> usize {
        self.0.connections.update(|count| count + 1);
        0
    }

    fn data(&mut self, _: usize, _: usize, bytes: &[u8]) {
        self.0.bytes.update(|count| count + bytes.len() as u64);
    }

    fn close(&mut self, _: usize, orderly: bool) {
        self.0.closed.update(|count| count + u64::from(orderly));
    }
}

/// Packets and bytes by direction of a flow, as a flow exporter keeps them.
struct Flows {
    totals: Rc<Totals>,
    flows: HashMap<Endpoints, [u64; 2]>,
}

impl Sink for Flows {
    fn open(&mut self) -> usize {
        self.totals.connections.update(|count| count + 1);
        0
    }

    fn data(&mut self, _: usize, _: usize, bytes: &[u8]) {
        self.totals.bytes.update(|count| count + bytes.len() as u64);
    }

    fn close(&mut self, _: usize, _: bool) {}

    fn datagram(&mut self, ends: &Endpoints, payload_bytes: usize) {
        let flow = self.flows.entry(*ends).or_default();
        flow[0] += 1;
        flow[1] += payload_bytes as u64;
        self.totals.connections.set(self.flows.len() as u64);
        self.totals.bytes.update(|count| count + payload_bytes as u64);
    }
}

struct Searcher {
    totals: Rc<Totals>,
    patterns: Patterns,
    /// The matcher's state of both directions of each connection; free entries are reused.
    borders: Vec<[Border; 2]>,
    free: Vec<usize>,
}

impl Sink for Searcher {
    fn open(&mut self) -> usize {
        self.totals.connections.update(|count| count + 1);
        self.free.pop().unwrap_or_else(|| {
            self.borders.push(<[Border; 2]>::default());
            self.borders.len() - 1
        })
    }

    fn data(&mut self, connection: usize, direction: usize, bytes: &[u8]) {
        self.totals.bytes.update(|count| count + bytes.len() as u64);
        let mut matches = 0;
        self.patterns.find(&mut self.borders[connection][direction], bytes, &mut |_| matches += 1);
        self.totals.matches.update(|count| count + matches);
    }

    fn close(&mut self, connection: usize, orderly: bool) {
        self.totals.closed.update(|count| count + u64::from(orderly));
        self.borders[connection].iter_mut().for_each(Border::reset);
        self.free.push(connection);
    }
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("nids-loop: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let totals = Rc::new(Totals::default());
    let (file, work) = match (arguments.words.as_slice(), &arguments.interface) {
        ([file, work], None) => (Some(file), work),
        ([work], Some(_)) => (None, work),
        _ => return Err("give a file or --interface, and count or match".into()),
    };
    let sink: Box<dyn Sink> = match (work.as_str(), &arguments.patterns) {
        ("count", _) => Box::new(Counter(Rc::clone(&totals))),
        ("flows", _) => Box::new(Flows { totals: Rc::clone(&totals), flows: HashMap::new() }),
        ("match", Some(file)) => {
            let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
            let lines = text.lines().filter(|line| !line.is_empty());
            let list: Vec<_> = lines.map(|line| tidewire_patterns::Pattern::new(line, line)).collect();
            let patterns = Patterns::new(&list, false).map_err(|error| error.to_string())?;
            Box::new(Searcher { totals: Rc::clone(&totals), patterns, borders: Vec::new(), free: Vec::new() })
        }
        ("match", None) => return Err("match needs --patterns".into()),
        _ => return Err("count, flows or match?".into()),
    };
    let mut ring = String::new();
    if let (Some(file), true) = (file, arguments.from_memory) {
        ring = from_memory(file, arguments, sink)?;
    } else if let Some(file) = file {
        nids::run(&Input::File(file), arguments.streams, !arguments.no_checksums, sink)?;
    } else if let Some(interface) = &arguments.interface {
        ring = live(interface, arguments, sink)?;
    }
    println!(
        "{{\"connections\":{},\"closed\":{},\"delivered_bytes\":{},\"matches\":{}{ring}}}",
        totals.connections.get(),
        totals.closed.get(),
        totals.bytes.get(),
        totals.matches.get()
    );
    Ok(())
}

/// Runs over a capture in memory; returns packets, bytes and CPU time.
fn from_memory(file: &str, arguments: &Arguments, sink: Box<dyn Sink>) -> Result<String, String> {
    let blocks = load(Path::new(file))?;
    // libnids takes frames that it may write to.
    let (mut memory, mut frames) = (Vec::new(), Vec::new());
    for block in &blocks {
        let batch = block.batch();
        for frame in batch.frames {
            let begin = memory.len();
            memory.extend_from_slice(batch.bytes(frame));
            frames.push((frame.timestamp.as_nanos() / 1000, begin..memory.len()));
        }
    }
    drop(blocks);
    nids::begin(arguments.streams, !arguments.no_checksums, sink)?;
    let begun_ns = thread_cpu_ns();
    for (time_us, range) in &frames {
        nids::feed(&mut memory[range.clone()], *time_us);
    }
    let cpu_ns = thread_cpu_ns() - begun_ns;
    Ok(format!(",\"packets\":{},\"bytes\":{},\"cpu_ns\":{cpu_ns}", frames.len(), memory.len()))
}

/// Runs over an interface until SIGTERM; returns libpcap's counts of its ring.
fn live(interface: &str, arguments: &Arguments, sink: Box<dyn Sink>) -> Result<String, String> {
    let say = |error: pcap::Error| error.to_string();
    let inactive = Capture::from_device(interface).map_err(say)?;
    let inactive = inactive.promisc(true).snaplen(65_535).buffer_size(arguments.buffer).timeout(100);
    let mut capture = inactive.open().map_err(say)?;
    let stop = capture.breakloop_handle();
    ctrlc::set_handler(move || stop.breakloop()).map_err(|error| error.to_string())?;
    nids::run(&Input::Live(&capture), arguments.streams, !arguments.no_checksums, sink)?;
    let stats = capture.stats().map_err(say)?;
    Ok(format!(",\"received\":{},\"dropped\":{},\"if_dropped\":{}", stats.received, stats.dropped, stats.if_dropped))
}
