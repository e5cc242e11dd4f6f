//! The `tidewire-lab` command: traffic to measure on, and figures.
#![forbid(unsafe_code)]

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};
use tidewire::ChecksumMode;
use tidewire_lab::{
    attack, bench, concurrency,
    count::count,
    differential, evasion,
    generate::{Worst, concurrent, impair, worst},
    live, locality, pcap,
};
use tidewire_locality::Key;

/// Traffic to measure on, and figures. Real traffic: scripts/record.sh.
#[derive(Parser)]
#[command(name = "tidewire-lab", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The same capture as a lossy path shows it: 0.1 % dropped, 0.1 % doubled, 0.5 % displaced by 1 to 6 packets
    Impair {
        /// A capture
        input: PathBuf,
        /// What to write
        output: PathBuf,
        /// The same seed gives the same file
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Many TCP connections open at once, strictly interleaved
    Concurrent {
        /// What to write
        output: PathBuf,
        /// Connections
        flows: u64,
        /// Packets of data for each
        rounds: u64,
        /// Bytes of data a packet; 0: 60 to 1,460
        length: u16,
        /// The same seed gives the same file
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Reassemble and deliver both directions of every connection to a handler that only counts
    Count {
        /// Captures
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Verify checksums
        #[arg(long)]
        verify: bool,
        /// Workers
        #[arg(short, long, default_value_t = 1)]
        jobs: usize,
    },
    /// Send the insertion and evasion cases to the running kernel and write packets and answers as corpus cases
    Evasion {
        /// The folder of cases: tests/corpus
        folder: PathBuf,
        /// Only those whose names hold this
        #[arg(default_value = "")]
        name: String,
    },
    /// Random scripts of packets to the running kernel and to the engine: what was received against what was delivered
    /// (what `make differential` runs)
    Differential {
        /// How long, seconds
        #[arg(long, default_value_t = 3600)]
        seconds: u64,
        /// At most so many scripts; 0: as time allows
        #[arg(long, default_value_t = 0)]
        scripts: u64,
        /// The same seed gives the same scripts
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Plain IP and link layers
        #[arg(long)]
        tcp_only: bool,
        /// Where the smallest scripts of silent differences are written
        #[arg(long)]
        cases: Option<PathBuf>,
        /// Instead: play these scripts
        replay: Vec<PathBuf>,
    },
    /// Make the traces for `bench`
    Traces {
        /// Where they are made and kept
        #[arg(long)]
        folder: PathBuf,
        /// Small traces
        #[arg(long)]
        quick: bool,
        /// scripts/record.sh
        #[arg(long)]
        record: PathBuf,
    },
    /// Peers and Tidewire in turn: the table (what `make bench` runs)
    Bench {
        /// Where traces are made and kept
        #[arg(long)]
        folder: PathBuf,
        /// Where bench.md and bench.json are written
        #[arg(long)]
        output: PathBuf,
        /// Small traces
        #[arg(long)]
        quick: bool,
        /// Measured runs of each program, after one to warm up
        #[arg(long, default_value_t = 3)]
        runs: usize,
        /// Folder of the release build
        #[arg(long)]
        programs: PathBuf,
        /// The built reading floor
        #[arg(long)]
        floor: PathBuf,
        /// scripts/record.sh
        #[arg(long)]
        record: PathBuf,
        /// Only rows whose names hold one of these
        rows: Vec<String>,
    },
    /// Peers and Tidewire listening in turn to the same traffic: tables and plots (what `make bench-live` runs)
    BenchLive {
        /// Where bench-live.md, bench-live.json and the plots are written
        #[arg(long)]
        output: PathBuf,
        /// Few and short measurements
        #[arg(long)]
        quick: bool,
        /// Folder of the release build
        #[arg(long)]
        programs: PathBuf,
        /// Receive in a thread of the kernel on the program's core, not on the generator's
        #[arg(long)]
        threaded: bool,
        /// Only rows whose names hold one of these
        rows: Vec<String>,
    },
    /// Programs over the system's libpcap and over the drop-in one, alone and as several instances (what `make bench-pcap` runs)
    BenchPcap {
        /// Where bench-pcap.md and the plots are written
        #[arg(long)]
        output: PathBuf,
        /// Few and short measurements
        #[arg(long)]
        quick: bool,
        /// Folder of the release build
        #[arg(long)]
        programs: PathBuf,
        /// The classifier over nDPI, compiled
        #[arg(long)]
        ndpi: PathBuf,
        /// Folder of real captures, which are mixed for real programs; without it they get made traffic
        #[arg(long)]
        captures: Option<PathBuf>,
        /// Only rows whose names hold one of these
        rows: Vec<String>,
    },
    /// One measurement of `bench-live`, for profiling: a program (or nobody) on a cable of its own, and packets for it
    Listen {
        /// Packets a second; 0: flat out
        #[arg(long, default_value_t = 1e6)]
        rate: f64,
        /// How long, seconds
        #[arg(long, default_value_t = 2.0)]
        seconds: f64,
        /// Bytes of a frame, FCS included
        #[arg(long, default_value_t = 64)]
        size: u32,
        /// Flows at once
        #[arg(long, default_value_t = 1000)]
        flows: u64,
        /// TCP instead of UDP: this many connections in all
        #[arg(long)]
        connections: Option<u64>,
        /// Receive in a thread of the kernel on the program's core, not on the generator's
        #[arg(long)]
        threaded: bool,
        /// The command; IFACE stands for the interface
        #[arg(last = true)]
        command: Vec<String>,
    },
    /// What the order of packets does to an application with large tables: one measurement, for profiling
    Locality {
        /// rules (patterns of each service), flows (a record for each) or ngrams (a Bloom filter for each service)
        #[arg(value_parser = application)]
        application: locality::apps::Kinds,
        /// Patterns of a service, flows known already, or KiB of a service's filter
        size: u64,
        /// port, service or flow; without: as packets arrive
        #[arg(long)]
        key: Option<Key>,
        /// Packets of a batch
        #[arg(long, default_value_t = 4000)]
        batch: usize,
        /// Flows of the traffic
        #[arg(long, default_value_t = 100_000)]
        flows: u64,
        /// Packets of the traffic
        #[arg(long, default_value_t = 300_000)]
        packets: u64,
        /// A capture instead
        #[arg(long)]
        capture: Option<PathBuf>,
    },
    /// Write the traffic of that to a capture
    LocalityTraffic {
        /// What to write
        output: PathBuf,
        /// Flows
        #[arg(long, default_value_t = 100_000)]
        flows: u64,
        /// Packets
        #[arg(long, default_value_t = 300_000)]
        packets: u64,
        /// Instead: the captures below this folder mixed, as if all had been seen at the same time
        #[arg(long)]
        mix: Option<PathBuf>,
        /// How many of each
        #[arg(long, default_value_t = 1)]
        copies: u32,
    },
    /// Tables and plots of that (a part of what `make bench-pcap` runs)
    BenchLocality {
        /// Where locality.md and the plots are written
        #[arg(long)]
        output: PathBuf,
        /// Few and short measurements
        #[arg(long)]
        quick: bool,
        /// Only rows whose names hold one of these: batch, tables, flows, misses, or an application's name
        rows: Vec<String>,
    },
    /// Many connections at once, made in memory and fed to the engine directly: cost per packet, memory per connection
    Engine {
        /// Connections open at once
        connections: u64,
        /// Packets of data for each
        #[arg(long, default_value_t = 6)]
        rounds: u64,
        /// Bytes of data a packet; 0: 60 to 1,460
        #[arg(long, default_value_t = 0)]
        length: u16,
    },
    /// Floods of every kind at several sizes of memory, each alone and among honest connections (what `make attack` runs)
    Attack {
        /// Few packets
        #[arg(long)]
        quick: bool,
        /// Instead: honest connections whole against the attacker's share of the packets
        #[arg(long)]
        curves: bool,
        /// Only floods whose names hold one of these
        floods: Vec<String>,
    },
    /// One measurement of that: its figures as JSON
    AttackOne {
        /// Which
        #[arg(value_parser = flood)]
        flood: attack::Flood,
        /// Memory, bytes
        #[arg(long, default_value_t = 64 << 20)]
        memory: u64,
        /// Packets in all
        #[arg(long, default_value_t = 1_000_000)]
        packets: u64,
        /// The flood's part of them, percent; the rest are honest connections
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(0..=100))]
        share: u64,
        /// Addresses that the flood comes from
        #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=4_000_000))]
        sources: u64,
        /// Addresses that it goes to
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=65_536))]
        destinations: u64,
        /// Over IPv6
        #[arg(long)]
        ipv6: bool,
    },
    /// What costs a reassembler most: syn-flood, hole-per-flow, tiny-segments, reverse-fragments, overlap-everything,
    /// and benign, the reference
    Worst {
        /// Which
        #[arg(value_parser = kind)]
        kind: Worst,
        /// What to write
        output: PathBuf,
        /// How many packets
        #[arg(long, default_value_t = 1_000_000)]
        packets: u64,
        /// The same seed gives the same file
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
}

fn kind(name: &str) -> Result<Worst, String> {
    let found = Worst::ALL.iter().find(|kind| kind.name() == name);
    found.copied().ok_or_else(|| {
        let names: Vec<_> = Worst::ALL.iter().map(|kind| kind.name()).collect();
        format!("one of {}", names.join(", "))
    })
}

fn flood(name: &str) -> Result<attack::Flood, String> {
    let found = attack::Flood::ALL.iter().find(|flood| flood.name() == name);
    found.copied().ok_or_else(|| {
        let names: Vec<_> = attack::Flood::ALL.iter().map(|flood| flood.name()).collect();
        format!("one of {}", names.join(", "))
    })
}

fn application(name: &str) -> Result<locality::apps::Kinds, String> {
    let all = locality::apps::Kinds::ALL;
    let names = || all.map(locality::apps::Kinds::name).join(", ");
    all.into_iter().find(|kind| kind.name() == name).ok_or_else(|| format!("one of {}", names()))
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tidewire-lab: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<(), Box<dyn std::error::Error>> {
    match command {
        Command::Impair { input, output, seed } => {
            let done = impair(&input, &output, seed)?;
            println!(
                "{} packets written, {} dropped, {} doubled, {} displaced",
                done.written, done.dropped, done.doubled, done.displaced
            );
        }
        Command::Concurrent { output, flows, rounds, length, seed } => {
            let (packets, bytes) = concurrent(&output, flows, rounds, length, seed)?;
            println!("{packets} packets, {bytes} bytes");
        }
        Command::Count { files, verify, jobs } => {
            let checksum = if verify { ChecksumMode::Verify } else { ChecksumMode::Ignore };
            println!("{}", serde_json::to_string(&count(files, checksum, jobs)?)?);
        }
        Command::Evasion { folder, name } => {
            for case in evasion::write(&folder, &name)? {
                println!("{case}");
            }
        }
        Command::Differential { seconds, scripts, seed, tcp_only, cases, replay } => {
            let time = std::time::Duration::from_secs(seconds);
            let options = differential::Options { time, scripts, seed, network: !tcp_only, cases };
            if !replay.is_empty() {
                print!("{}", differential::replay(&replay)?);
                return Ok(());
            }
            let report = differential::run(&options, &mut std::io::stderr())?;
            print!("{report}");
            if report.silent > 0 || !report.found.is_empty() {
                return Err("there are silent differences".into());
            }
        }
        Command::Traces { folder, quick, record } => bench::prepare(&folder, quick, &record)?,
        Command::Bench { folder, output, quick, runs, programs, floor, record, rows } => {
            let options = bench::Options { folder, output, quick, runs, only: rows, programs, floor, record };
            let results = bench::run(&options)?;
            print!("{}", bench::markdown(&results));
        }
        Command::BenchLive { output, quick, programs, threaded, rows } => {
            let options = live::Options { output, quick, programs, threaded, only: rows };
            print!("{}", live::run(&options)?);
        }
        Command::BenchPcap { output, quick, programs, ndpi, captures, rows } => {
            let options = pcap::Options { output, quick, programs, ndpi, captures, only: rows };
            print!("{}", pcap::run(&options)?);
        }
        Command::Listen { rate, seconds, size, flows, connections, threaded, command } => {
            let rate = if rate > 0.0 { rate } else { f64::INFINITY };
            let load = match connections {
                None => live::Load::udp(flows, size, rate, seconds),
                Some(connections) => live::Load {
                    kind: live::Kind::Tcp { connections, segments: 10 },
                    ..live::Load::udp(flows, size, rate, seconds)
                },
            };
            println!("{}", live::one(&command, &load, threaded)?);
        }
        Command::Locality { application, size, key, batch, flows, packets, capture } => {
            let traffic = locality::traffic::Traffic { flows, packets, seed: 1 };
            let one = locality::One { kind: application, size, capture, traffic, key, batch_frames: batch.max(1) };
            println!("{}", serde_json::to_string(&locality::one(&one)?)?);
        }
        Command::LocalityTraffic { output, flows, packets, mix, copies } => {
            let trace = match mix {
                Some(folder) => locality::mixture::mix(&folder, copies)?.0,
                None => locality::traffic::Traffic { flows, packets, seed: 1 }.make(),
            };
            trace.write(&output)?;
        }
        Command::BenchLocality { output, quick, rows } => print!("{}", locality::run(&output, quick, &rows)?),
        Command::Engine { connections, rounds, length } => {
            let figures = concurrency::run(connections, rounds, length)?;
            println!("{}", serde_json::to_string(&figures)?);
        }
        Command::Attack { quick, curves, floods } => {
            print!("{}", attack::run(&attack::Options { quick, only: floods, curves })?);
        }
        Command::AttackOne { flood, memory, packets, share, sources, destinations, ipv6 } => {
            let crowd = attack::Crowd { sources, destinations, is_v6: ipv6 };
            let one = attack::One { flood, crowd, memory_bytes: memory, packets, share };
            println!("{}", serde_json::to_string(&attack::one(&one)?)?);
        }
        Command::Worst { kind, output, packets, seed } => {
            let (packets, bytes) = worst(&output, kind, packets, seed)?;
            println!("{packets} packets, {bytes} bytes");
        }
    }
    Ok(())
}
