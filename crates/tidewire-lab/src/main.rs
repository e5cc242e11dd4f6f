//! The `tidewire-lab` command: generated captures, attacks, and comparisons with the running kernel.
#![forbid(unsafe_code)]

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};
use tidewire_lab::{
    attack, differential, evasion,
    generate::{Worst, concurrent, impair, worst},
};

/// Generate captures, measure attacks, and compare the engine with the running kernel. To record real traffic: scripts/record.sh
#[derive(Parser)]
#[command(name = "tidewire-lab", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Copy a capture as a lossy path shows it: 0.1 % dropped, 0.1 % duplicated, 0.5 % displaced by 1 to 6 packets
    Impair {
        /// The capture to read
        input: PathBuf,
        /// The capture to write
        output: PathBuf,
        /// Seed; the same seed gives the same file
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Write many TCP connections that are open at once, their packets strictly interleaved
    Concurrent {
        /// The capture to write
        output: PathBuf,
        /// Connections
        flows: u64,
        /// Data packets of each connection
        rounds: u64,
        /// Data bytes of a packet; 0: 60 to 1,460
        length: u16,
        /// Seed; the same seed gives the same file
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Write the traffic that costs a reassembler most: syn-flood, hole-per-flow, tiny-segments, reverse-fragments,
    /// overlap-everything; or benign, the reference
    Worst {
        /// The kind of traffic
        #[arg(value_parser = kind)]
        kind: Worst,
        /// The capture to write
        output: PathBuf,
        /// Packets
        #[arg(long, default_value_t = 1_000_000)]
        packets: u64,
        /// Seed; the same seed gives the same file
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Send the insertion and evasion cases to the running kernel, and write packets and replies as corpus cases
    Evasion {
        /// Folder of the cases: tests/corpus
        folder: PathBuf,
        /// Only cases whose names contain this
        #[arg(default_value = "")]
        name: String,
    },
    /// Play random packet scripts to the running kernel and to the engine, and compare what the application received with
    /// what was delivered (run by `make differential`)
    Differential {
        /// Duration, seconds
        #[arg(long, default_value_t = 3600)]
        seconds: u64,
        /// Greatest number of scripts; 0: no limit
        #[arg(long, default_value_t = 0)]
        scripts: u64,
        /// Seed; the same seed gives the same scripts
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// The ends that the host is; batches of both take turns
        #[arg(long, value_enum, default_value_t = Sides::Both)]
        host: Sides,
        /// Vary TCP only, not IP and link layers
        #[arg(long)]
        tcp_only: bool,
        /// Folder for the minimized scripts of silent differences
        #[arg(long)]
        cases: Option<PathBuf>,
        /// Play these scripts instead
        replay: Vec<PathBuf>,
    },
    /// Measure floods of every kind at several memory budgets, alone and among honest connections (run by `make attack`)
    Attack {
        /// Few packets
        #[arg(long)]
        quick: bool,
        /// Instead: the share of intact honest connections against the attacker's share of the packets
        #[arg(long)]
        curves: bool,
        /// Only floods whose names contain one of these
        floods: Vec<String>,
    },
    /// Measure one flood and print its figures as JSON
    AttackOne {
        /// The flood
        #[arg(value_parser = flood)]
        flood: attack::Flood,
        /// Memory budget, bytes
        #[arg(long, default_value_t = 64 << 20)]
        memory: u64,
        /// Packets in all
        #[arg(long, default_value_t = 1_000_000)]
        packets: u64,
        /// The flood's share of the packets, percent; the rest belongs to honest connections
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(0..=100))]
        share: u64,
        /// Source addresses of the flood
        #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=4_000_000))]
        sources: u64,
        /// Destination addresses of the flood
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=65_536))]
        destinations: u64,
        /// Use IPv6
        #[arg(long)]
        ipv6: bool,
        /// Honest connections at a time
        #[arg(long, default_value_t = attack::Load::USUAL.at_once)]
        at_once: usize,
        /// Their late segments arrive 1 to this many segments late
        #[arg(long, default_value_t = attack::Load::USUAL.late_max, value_parser = clap::value_parser!(u64).range(1..))]
        late: u64,
    },
}

/// The ends of connections that the host is in random scripts.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Sides {
    Server,
    Client,
    Both,
}

impl Sides {
    fn list(self) -> Vec<differential::Side> {
        use differential::Side;
        match self {
            Self::Server => vec![Side::Server],
            Self::Client => vec![Side::Client],
            Self::Both => vec![Side::Server, Side::Client],
        }
    }
}

fn kind(name: &str) -> Result<Worst, String> {
    let found = Worst::ALL.iter().find(|kind| kind.name() == name);
    found.copied().ok_or_else(|| {
        let names: Vec<_> = Worst::ALL.iter().map(|kind| kind.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

fn flood(name: &str) -> Result<attack::Flood, String> {
    let found = attack::Flood::ALL.iter().find(|flood| flood.name() == name);
    found.copied().ok_or_else(|| {
        let names: Vec<_> = attack::Flood::ALL.iter().map(|flood| flood.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
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
                "{} packets written, {} dropped, {} duplicated, {} displaced",
                done.written, done.dropped, done.doubled, done.displaced
            );
        }
        Command::Concurrent { output, flows, rounds, length, seed } => {
            let (packets, bytes) = concurrent(&output, flows, rounds, length, seed)?;
            println!("{packets} packets, {bytes} bytes");
        }
        Command::Worst { kind, output, packets, seed } => {
            let (packets, bytes) = worst(&output, kind, packets, seed)?;
            println!("{packets} packets, {bytes} bytes");
        }
        Command::Evasion { folder, name } => {
            for case in evasion::write(&folder, &name)? {
                println!("{case}");
            }
        }
        Command::Differential { seconds, scripts, seed, host, tcp_only, cases, replay } => {
            let time = std::time::Duration::from_secs(seconds);
            let options = differential::Options { time, scripts, seed, network: !tcp_only, sides: host.list(), cases };
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
        Command::Attack { quick, curves, floods } => {
            print!("{}", attack::run(&attack::Options { quick, only: floods, curves })?);
        }
        Command::AttackOne { flood, memory, packets, share, sources, destinations, ipv6, at_once, late } => {
            let crowd = attack::Crowd { sources, destinations, is_v6: ipv6 };
            let one = attack::One {
                flood,
                crowd,
                memory_bytes: memory,
                packets,
                share,
                load: attack::Load { at_once, late_max: late },
            };
            println!("{}", serde_json::to_string(&attack::one(&one)?)?);
        }
    }
    Ok(())
}
