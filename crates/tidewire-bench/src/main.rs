//! The `tidewire-bench` command: Tidewire and its peers measured on the same traffic.
#![forbid(unsafe_code)]

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};
use tidewire::{ChecksumMode, DefragPolicy};
use tidewire_bench::{concurrency, count::count, feed::feed, files, hostile, live, locality, pcap, record, sensor};
use tidewire_locality::Key;

/// Measure Tidewire and its peers on the same traffic.
#[derive(Parser)]
#[command(name = "tidewire-bench", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make the traces for `files`
    Traces {
        /// Folder in which traces are made and kept
        #[arg(long)]
        folder: PathBuf,
        /// Small traces
        #[arg(long)]
        quick: bool,
        /// The script that records traffic: scripts/record.sh
        #[arg(long)]
        record: PathBuf,
    },
    /// Measure peers and Tidewire in turn over capture files (run by `make bench`)
    Files {
        /// Folder in which traces are made and kept
        #[arg(long)]
        folder: PathBuf,
        /// Folder for bench.md and bench.json
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
        /// The compiled reading floor
        #[arg(long)]
        floor: PathBuf,
        /// The script that records traffic: scripts/record.sh
        #[arg(long)]
        record: PathBuf,
        /// Only rows whose names contain one of these
        rows: Vec<String>,
    },
    /// Measure content that is made expensive against benign content, in instructions (run by `make bench-hostile`)
    Hostile {
        /// Folder for bench-hostile.md, and for captures meanwhile
        #[arg(long)]
        output: PathBuf,
        /// Three commands of all
        #[arg(long)]
        quick: bool,
        /// CPU time instead of instructions: an estimate, in a fraction of the time
        #[arg(long)]
        time: bool,
        /// Begin no measurement after so many minutes, and say how many are missing
        #[arg(long)]
        minutes: Option<u64>,
        /// The program `tidewire`
        #[arg(long)]
        program: PathBuf,
        /// The compiled peers/fork.c
        #[arg(long)]
        fork: PathBuf,
        /// Only rows whose names contain one of these
        rows: Vec<String>,
    },
    /// Measure peers and Tidewire in turn on a live interface (run by `make bench-live`)
    Live {
        /// Folder for bench-live.md, bench-live.json and the plots
        #[arg(long)]
        output: PathBuf,
        /// Few and short measurements
        #[arg(long)]
        quick: bool,
        /// Folder of the release build
        #[arg(long)]
        programs: PathBuf,
        /// Receive in a kernel thread on the program's core, not on the generator's
        #[arg(long)]
        threaded: bool,
        /// Only rows whose names contain one of these
        rows: Vec<String>,
    },
    /// Measure one program on a private veth pair, for profiling, and print the figures as JSON
    Listen {
        /// Packets per second; 0: as fast as possible
        #[arg(long, default_value_t = 1e6)]
        rate: f64,
        /// Duration, seconds
        #[arg(long, default_value_t = 2.0)]
        seconds: f64,
        /// Frame size in bytes, FCS included
        #[arg(long, default_value_t = 64)]
        size: u32,
        /// Concurrent flows
        #[arg(long, default_value_t = 1000)]
        flows: u64,
        /// Send TCP instead of UDP: this many connections in all
        #[arg(long)]
        connections: Option<u64>,
        /// Receive in a kernel thread on the program's core, not on the generator's
        #[arg(long)]
        threaded: bool,
        /// The command; IFACE stands for the interface; without a command nothing listens
        #[arg(last = true)]
        command: Vec<String>,
    },
    /// Measure programs over the system's libpcap and over the drop-in library, with one and several instances (run by
    /// `make bench-pcap`)
    Pcap {
        /// Folder for bench-pcap.md, bench-pcap.json and the plots
        #[arg(long)]
        output: PathBuf,
        /// Few and short measurements
        #[arg(long)]
        quick: bool,
        /// Folder of the release build
        #[arg(long)]
        programs: PathBuf,
        /// The compiled nDPI classifier
        #[arg(long)]
        ndpi: PathBuf,
        /// Folder of real captures to mix for real programs; without it they read generated traffic
        #[arg(long)]
        captures: Option<PathBuf>,
        /// Only rows whose names contain one of these
        rows: Vec<String>,
    },
    /// Measure the sensor's queues beside other ways between processes, and NCAP's figures (run by `make bench-sensor`)
    Sensor {
        /// Folder for bench-sensor.md, bench-sensor.json and the plots
        #[arg(long)]
        output: PathBuf,
        /// Few and short measurements
        #[arg(long)]
        quick: bool,
        /// Folder of the release build
        #[arg(long)]
        programs: PathBuf,
        /// The compiled peers of a queue
        #[arg(long)]
        transport: PathBuf,
        /// Folder in which traces are made
        #[arg(long)]
        folder: PathBuf,
        /// A recording of real traffic
        #[arg(long)]
        big: Option<PathBuf>,
        /// Only rows whose names contain one of these
        rows: Vec<String>,
    },
    /// Measure recorders that write packets, and how packets are found again (run by `make bench-record`)
    Record {
        /// Folder for bench-record.md, bench-record.json and the plots
        #[arg(long)]
        output: PathBuf,
        /// Few and short measurements
        #[arg(long)]
        quick: bool,
        /// Folder of the release build
        #[arg(long)]
        programs: PathBuf,
        /// A folder in memory
        #[arg(long, default_value = "/dev/shm")]
        memory: PathBuf,
        /// A folder on a disk
        #[arg(long)]
        disk: PathBuf,
        /// Only rows whose names contain one of these
        rows: Vec<String>,
    },
    /// Kill the processes of a sensor at random moments, and check what is left (run by `make crash`)
    Crash {
        /// Folder of the build
        #[arg(long)]
        programs: PathBuf,
        /// How long
        #[arg(long, default_value_t = 30)]
        seconds: u64,
        /// Repeats the choices
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Measure how the order of packets affects applications with large tables (part of `make bench-pcap`)
    Locality {
        /// Folder for locality.md, locality.json and the plots
        #[arg(long)]
        output: PathBuf,
        /// Few and short measurements
        #[arg(long)]
        quick: bool,
        /// Only rows whose names contain one of these: batch, tables, flows, misses, or an application's name
        rows: Vec<String>,
    },
    /// Measure one application of `locality`, for profiling
    Application {
        /// rules (patterns of each service), flows (a record for each) or ngrams (a Bloom filter for each service)
        #[arg(value_parser = application)]
        application: locality::apps::Kinds,
        /// Patterns of a service, flows already in the table, or KiB of a service's filter
        size: u64,
        /// Sort by port, service or flow; without it packets stay in order of arrival
        #[arg(long)]
        key: Option<Key>,
        /// Packets in a batch
        #[arg(long, default_value_t = 4000)]
        batch: usize,
        /// Flows of the traffic
        #[arg(long, default_value_t = 100_000)]
        flows: u64,
        /// Packets of the traffic
        #[arg(long, default_value_t = 300_000)]
        packets: u64,
        /// Read this capture instead
        #[arg(long)]
        capture: Option<PathBuf>,
    },
    /// Write the traffic of `locality` to a capture
    LocalityTraffic {
        /// The capture to write
        output: PathBuf,
        /// Flows
        #[arg(long, default_value_t = 100_000)]
        flows: u64,
        /// Packets
        #[arg(long, default_value_t = 300_000)]
        packets: u64,
        /// Instead: mix the captures below this folder as if all had been recorded at the same time
        #[arg(long)]
        mix: Option<PathBuf>,
        /// Copies of each mixed capture
        #[arg(long, default_value_t = 1)]
        copies: u32,
    },
    /// Reassemble and deliver both directions of every connection to a handler that only counts
    Count {
        /// Captures
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Verify checksums
        #[arg(long)]
        verify: bool,
        /// Treatment of packets with wrong checksums: auto, verify or ignore
        #[arg(long, conflicts_with = "verify", value_parser = checksum)]
        checksum: Option<ChecksumMode>,
        /// Workers
        #[arg(short, long, default_value_t = 1)]
        jobs: usize,
    },
    /// Feed a capture to the engine from memory: CPU time without reading
    Feed {
        /// The capture
        file: PathBuf,
        /// Policy for overlapping fragments
        #[arg(long, default_value = "linux")]
        defrag: DefragPolicy,
    },
    /// Feed many concurrent connections to the engine from memory: CPU time per packet, memory per connection
    Engine {
        /// Connections open at once
        connections: u64,
        /// Data packets of each connection
        #[arg(long, default_value_t = 6)]
        rounds: u64,
        /// Data bytes of a packet; 0: 60 to 1,460
        #[arg(long, default_value_t = 0)]
        length: u16,
    },
}

fn application(name: &str) -> Result<locality::apps::Kinds, String> {
    let all = locality::apps::Kinds::ALL;
    let names = || all.map(locality::apps::Kinds::name).join(", ");
    all.into_iter().find(|kind| kind.name() == name).ok_or_else(|| format!("expected one of {}", names()))
}

fn checksum(name: &str) -> Result<ChecksumMode, String> {
    match name {
        "auto" => Ok(ChecksumMode::Auto),
        "verify" => Ok(ChecksumMode::Verify),
        "ignore" => Ok(ChecksumMode::Ignore),
        _ => Err("expected one of auto, verify, ignore".into()),
    }
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tidewire-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<(), Box<dyn std::error::Error>> {
    match command {
        Command::Traces { folder, quick, record } => files::prepare(&folder, quick, &record)?,
        Command::Files { folder, output, quick, runs, programs, floor, record, rows } => {
            let options = files::Options { folder, output, quick, runs, only: rows, programs, floor, record };
            print!("{}", files::run(&options)?);
        }
        Command::Hostile { output, quick, time, minutes, program, fork, rows } => {
            let options = hostile::Options { output, program, fork, quick, time, rows, minutes };
            let (table, is_within) = hostile::run(&options)?;
            print!("{table}");
            if !is_within {
                return Err("rows are beyond their bounds, or were not measured: see the tables".into());
            }
        }
        Command::Live { output, quick, programs, threaded, rows } => {
            let options = live::Options { output, quick, programs, threaded, only: rows };
            print!("{}", live::run(&options)?);
        }
        Command::Listen { rate, seconds, size, flows, connections, threaded, command } => {
            let rate = if rate > 0.0 { rate } else { f64::INFINITY };
            let load = match connections {
                None => live::Load::udp(flows, size, rate, seconds),
                Some(connections) => live::Load {
                    kind: live::TrafficKind::Tcp { connections, segments: 10 },
                    ..live::Load::udp(flows, size, rate, seconds)
                },
            };
            println!("{}", live::one(&command, &load, threaded)?);
        }
        Command::Pcap { output, quick, programs, ndpi, captures, rows } => {
            let options = pcap::Options { output, quick, programs, ndpi, captures, only: rows };
            print!("{}", pcap::run(&options)?);
        }
        Command::Sensor { output, quick, programs, transport, folder, big, rows } => {
            let options = sensor::Options { output, quick, programs, transport, folder, big, only: rows };
            print!("{}", sensor::run(&options)?);
        }
        Command::Record { output, quick, programs, memory, disk, rows } => {
            let options = record::Options { output, quick, programs, memory, disk, only: rows };
            print!("{}", record::run(&options)?);
        }
        Command::Crash { programs, seconds, seed } => {
            let programs = ["tidewire", "queue-loop"].map(|name| programs.join(name));
            let programs = [std::path::absolute(&programs[0])?, std::path::absolute(&programs[1])?];
            println!("{}", serde_json::to_string(&sensor::crash::Crash { programs, seconds, seed }.run()?)?);
        }
        Command::Locality { output, quick, rows } => print!("{}", locality::run(&output, quick, &rows)?),
        Command::Application { application, size, key, batch, flows, packets, capture } => {
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
        Command::Count { files, verify, checksum, jobs } => {
            let default = if verify { ChecksumMode::Verify } else { ChecksumMode::Ignore };
            let checksum = checksum.unwrap_or(default);
            println!("{}", serde_json::to_string(&count(files, checksum, jobs)?)?);
        }
        Command::Feed { file, defrag } => println!("{}", serde_json::to_string(&feed(&file, defrag)?)?),
        Command::Engine { connections, rounds, length } => {
            let figures = concurrency::run(connections, rounds, length)?;
            println!("{}", serde_json::to_string(&figures)?);
        }
    }
    Ok(())
}
