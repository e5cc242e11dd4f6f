//! The peer: libnids collecting both directions of every connection, counted, or searched by Tidewire's own matcher.
//!
//! `nids-loop FILE count|match [--no-checksums] [--patterns FILE]`. Built with the feature `nids` only.
#![forbid(unsafe_code)]

#[path = "../../../tidewire-cli/src/patterns/mod.rs"]
#[allow(dead_code, unused_imports, unreachable_pub)]
mod patterns;

use std::{cell::Cell, path::PathBuf, process::ExitCode, rc::Rc};

use clap::{Parser, ValueEnum};
use patterns::{Border, Patterns};
use tidewire_lab::sys::nids::{self, Sink};

/// libnids, its bytes counted or searched
#[derive(Parser)]
struct Arguments {
    /// A pcap file
    file: String,
    /// What is done with the bytes
    #[arg(value_enum)]
    work: Work,
    /// Take packets as they are
    #[arg(long)]
    no_checksums: bool,
    /// What to search for, one pattern a line
    #[arg(long)]
    patterns: Option<PathBuf>,
    /// Size of libnids' table; it keeps three quarters of that many connections
    #[arg(long, default_value_t = 262_144)]
    streams: i32,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Work {
    Count,
    Match,
}

#[derive(Default)]
struct Totals {
    connections: Cell<u64>,
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

    fn close(&mut self, _: usize) {}
}

struct Searcher {
    totals: Rc<Totals>,
    patterns: Patterns,
    /// What each connection keeps of its two directions at a border; free ones are used again.
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

    fn close(&mut self, connection: usize) {
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
    let sink: Box<dyn Sink> = match (arguments.work, &arguments.patterns) {
        (Work::Count, _) => Box::new(Counter(Rc::clone(&totals))),
        (Work::Match, Some(file)) => {
            let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
            let lines = text.lines().filter(|line| !line.is_empty());
            let list: Vec<_> = lines.map(|line| patterns::Pattern { name: line.into(), bytes: line.into() }).collect();
            let patterns = Patterns::new(&list, false)?;
            Box::new(Searcher { totals: Rc::clone(&totals), patterns, borders: Vec::new(), free: Vec::new() })
        }
        (Work::Match, None) => return Err("match needs --patterns".into()),
    };
    nids::run(&arguments.file, arguments.streams, !arguments.no_checksums, sink)?;
    println!(
        "{{\"connections\":{},\"delivered_bytes\":{},\"matches\":{}}}",
        totals.connections.get(),
        totals.bytes.get(),
        totals.matches.get()
    );
    Ok(())
}
