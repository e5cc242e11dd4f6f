//! `tidewire check-steering`: which flows a fan-out mode or a steering program would divide among workers.

mod flows;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tidewire::{Block, Source};
use tidewire_steer::{Compiled, Engine, Fragments, Packet, Program, Settings, State, Target, Verdict};

use crate::{
    error::{self, CliError},
    output::{Object, Out, push_number},
    text_file,
    units::counted,
};
use flows::{FLOWS_MAX, Flow, Flows, Key};

/// Name the flows that a fan-out mode or program would split
///
/// A flow is split when no worker gets all of its packets; dropped packets count as missing. Exit status 1 if a flow is
/// split. The kernel's modes hash with a secret key: a flow counts as split when its packets have different hashes, even if
/// these might select the same worker by chance.
#[derive(Args, Debug)]
pub struct Options {
    /// The capture file; - is standard input
    #[arg(value_name = "CAPTURE")]
    capture: PathBuf,

    /// hash, hash,defrag, lb or rnd; or a steering program (docs/steering.md); @FILE reads it from a file
    #[arg(value_name = "MODE|PROGRAM")]
    steering: String,

    /// Number of workers
    #[arg(short = 'w', long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=65536))]
    workers: u32,

    /// How a program that uses ports steers fragments: by addresses, or follow-first
    #[arg(long, value_name = "HOW", value_enum, default_value = "addresses", hide_possible_values = true)]
    fragments: FragmentsOption,

    /// Most nested tunnels that a program decodes
    #[arg(long, value_name = "N", default_value_t = tidewire_steer::TUNNELS_MAX, value_parser = clap::value_parser!(u8).range(0..=i64::from(tidewire_steer::TUNNELS_MAX)))]
    tunnels: u8,

    /// Print at most N split flows
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,

    /// Print JSON: one object for each split flow, then one with the totals
    #[arg(long)]
    json: bool,

    /// Names of the destinations, if they are not workers.
    #[arg(skip)]
    outputs: Vec<String>,
}

impl Options {
    /// Options to check a program that divides packets among interfaces.
    pub fn of(capture: &Path, program: String, outputs: &[String], tunnels: u8, json: bool) -> Self {
        let (fragments, outputs) = (FragmentsOption::Addresses, outputs.to_vec());
        let workers = u32::try_from(outputs.len()).unwrap_or(u32::MAX);
        Self { capture: capture.into(), steering: program, workers, fragments, tunnels, limit: 20, json, outputs }
    }

    /// The name of a destination: `worker 3`, or an interface.
    fn place(&self, number: u32) -> String {
        self.outputs.get(number as usize).cloned().unwrap_or_else(|| format!("worker {number}"))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FragmentsOption {
    Addresses,
    FollowFirst,
}

/// The steering program and its state.
struct Steering {
    compiled: Compiled,
    state: State,
    /// Destinations are hashes, not workers.
    by_hash: bool,
}

/// The kernel's `PACKET_FANOUT_HASH`: its flow dissector decodes VLAN tags, PPPoE, MPLS, GRE and IP in IP, but not UDP tunnels,
/// and uses the addresses of fragments (net/core/flow_dissector.c).
fn kernel_hash(defrag: bool) -> Settings {
    let mut settings = Settings::default();
    settings.wire = settings.wire.without_udp_tunnels();
    settings.fragments = if defrag { Fragments::FollowFirst } else { Fragments::Addresses };
    settings
}

impl Steering {
    fn new(options: &Options) -> Result<Self, CliError> {
        let (mode, flags) = options.steering.split_once(',').unwrap_or((&options.steering, ""));
        let made = |text: &str, settings: &Settings, by_hash: bool| {
            let program = Program::parse(text).map_err(|error| CliError::Usage(error.to_string()))?;
            let compiled = Compiled::new(&program, settings).map_err(|error| CliError::Usage(error.to_string()))?;
            compiled.check(Engine::File, options.workers).map_err(|error| CliError::Usage(error.to_string()))?;
            Ok(Self { compiled, state: State::default(), by_hash })
        };
        match mode.trim() {
            "hash" => made("steer_flow", &kernel_hash(flags.split(',').any(|flag| flag.trim() == "defrag")), true),
            "lb" => made("steer_rrobin", &Settings::default(), false),
            // Like `lb`, it ignores the contents of packets: both split the same flows.
            "rnd" => made("steer_rrobin", &Settings::default(), false),
            "cpu" | "qm" => Err(CliError::Usage(format!(
                "{mode} cannot be checked: captures do not record which CPU or queue received a packet; the NIC's hash decides \
                 (ethtool -n DEVICE rx-flow-hash tcp4)"
            ))),
            "rollover" => Err(CliError::Usage(
                "rollover cannot be checked: packets go to the next worker whenever a ring is full, which depends on timing; it \
                 splits flows on every overflow"
                    .into(),
            )),
            "cbpf" | "ebpf" => Err(CliError::Usage(format!("{mode} needs its program: give it as a steering program (docs/steering.md)"))),
            _ => made(&program_text(&options.steering)?, &program_settings(options), false),
        }
    }

    /// The destinations of a packet.
    fn places(&mut self, packet: &Packet<'_>, workers: u32) -> ([u32; 2], usize) {
        let verdict: Verdict = self.compiled.evaluate(packet, &mut self.state);
        match verdict.target {
            Target::Hash(hash) if self.by_hash => ([hash, 0], 1),
            _ => {
                let mut places = [0; 2];
                let mut count = 0;
                for (place, worker) in places.iter_mut().zip(verdict.workers(workers)) {
                    *place = worker;
                    count += 1;
                }
                (places, count)
            }
        }
    }
}

/// Reads a program from the command line, or from the file that it names.
pub fn program_text(argument: &str) -> Result<String, CliError> {
    match argument.strip_prefix('@') {
        Some(path) => text_file::read_text(Path::new(path), text_file::STEERING_BYTES_MAX),
        None => Ok(argument.to_owned()),
    }
}

fn program_settings(options: &Options) -> Settings {
    let mut settings = Settings::default();
    settings.wire.tunnel_depth = options.tunnels;
    settings.fragments = match options.fragments {
        FragmentsOption::Addresses => Fragments::Addresses,
        FragmentsOption::FollowFirst => Fragments::FollowFirst,
    };
    settings
}

/// Packets of each worker, and in total.
#[derive(Default)]
struct Totals {
    packets: u64,
    dropped: u64,
    doubled: u64,
    workers: Vec<u64>,
}

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<u8, CliError> {
    let mut steering = Steering::new(options)?;
    let input = |error: tidewire_files::Error| CliError::Input(error.to_string());
    let mut source = tidewire_files::open(std::slice::from_ref(&options.capture)).map_err(input)?;
    let mut totals = Totals { workers: vec![0; options.workers as usize], ..Totals::default() };
    let mut flows = Flows::default();
    let mut damage = None;
    let mut block = Block::new();
    loop {
        match source.fill(&mut block) {
            Ok(true) => replay(&block, &mut steering, options, &mut totals, &mut flows)?,
            Ok(false) => break,
            Err(error) => {
                damage = Some(error);
                break;
            }
        }
    }
    let flows = flows.finish();
    let split: Vec<_> = flows.iter().filter(|flow| flow.1.is_split()).collect();
    let mut out = Out::stdout();
    let printed = split.iter().take(options.limit);
    if options.json {
        printed.for_each(|(key, flow)| push_json(out.buffer(), options, key, flow));
        push_totals(out.buffer(), options, &totals, flows.len(), split.len());
    } else {
        print(&mut out, options, &steering, &totals, [flows.len(), split.len()])?;
        printed.into_iter().try_for_each(|(key, flow)| out.line(&line(options, key, flow, steering.by_hash)))?;
        if split.len() > options.limit {
            out.line(&format!("  and {} more: --limit {}", split.len() - options.limit, split.len()))?;
        }
    }
    out.flush()?;
    if let Some(damage) = damage {
        return Err(input(damage));
    }
    Ok(if split.is_empty() { error::OK } else { error::NOT_FOUND })
}

fn replay(
    block: &Block,
    steering: &mut Steering,
    options: &Options,
    totals: &mut Totals,
    flows: &mut Flows,
) -> Result<(), CliError> {
    let settings = tidewire_wire::Settings::default();
    let batch = block.batch();
    for frame in batch.frames {
        let bytes = batch.bytes(frame);
        let (places, count) = steering.places(&Packet::new(frame.link, bytes), options.workers);
        let places = places.get(..count).unwrap_or_default();
        totals.packets += 1;
        totals.dropped += u64::from(places.is_empty());
        totals.doubled += u64::from(places.len() == 2);
        for place in places {
            if let Some(worker) = totals.workers.get_mut((*place % options.workers) as usize) {
                *worker += 1;
            }
        }
        let decoded = tidewire_wire::decode(frame.link, bytes, frame.wire_bytes, &settings);
        if !flows.add(frame.number, bytes, &decoded, places) {
            let message = format!("there are more than {FLOWS_MAX} flows, and no more fit: take a part of the capture");
            return Err(CliError::Input(message));
        }
    }
    Ok(())
}

fn print(
    out: &mut Out,
    options: &Options,
    steering: &Steering,
    totals: &Totals,
    [flows, split]: [usize; 2],
) -> Result<(), CliError> {
    let (doubled, each, counts) = if options.outputs.is_empty() {
        let counts: Vec<_> = totals.workers.iter().map(u64::to_string).collect();
        ("to two workers", "packets at each worker", counts.join(" "))
    } else {
        let named = options.outputs.iter().zip(&totals.workers);
        let counts: Vec<_> = named.map(|(name, count)| format!("{name} {count}")).collect();
        ("to two outputs", "packets for each output", counts.join(", "))
    };
    out.line(&format!(
        "{}, {} dropped, {} {doubled}; {each}{}: {counts}",
        counted(totals.packets, "packet", "packets"),
        totals.dropped,
        totals.doubled,
        if steering.by_hash { " (the kernel's own hash divides them otherwise)" } else { "" },
    ))?;
    out.line(&format!("split: {split} of {}", counted(flows as u64, "flow", "flows")))
}

fn line(options: &Options, key: &Key, flow: &Flow, by_hash: bool) -> String {
    let places = flow.places.iter().map(|&(number, packets)| {
        let place = if by_hash { format!("hash {number:08x}") } else { options.place(number) };
        format!("{packets} to {place}")
    });
    let dropped = (flow.dropped > 0).then(|| format!("{} dropped", flow.dropped));
    let parts: Vec<_> = places.chain(dropped).collect();
    format!("  {} from packet {}: {} of {}", key.text(), flow.first, parts.join(", "), flow.packets)
}

fn push_json(out: &mut Vec<u8>, options: &Options, key: &Key, flow: &Flow) {
    let mut object = Object::open(out);
    object.number("id", flow.first);
    object.number("proto", key.proto.into());
    for (names, (address, port)) in [("address_a", "port_a"), ("address_b", "port_b")].into_iter().zip(key.ends) {
        object.address(names.0, address);
        object.number(names.1, port.into());
    }
    object.number("packets", flow.packets);
    object.number("dropped", flow.dropped);
    object.array("places", &flow.places, |out, (number, packets)| {
        let mut place = Object::open(out);
        match options.outputs.get(*number as usize) {
            Some(name) => place.text("output", name),
            None => place.number("worker", (*number).into()),
        }
        place.number("packets", *packets);
        place.close();
    });
    object.close();
    out.push(b'\n');
}

fn push_totals(out: &mut Vec<u8>, options: &Options, totals: &Totals, flows: usize, split: usize) {
    let mut object = Object::open(out);
    object.text("steering", &options.steering);
    object.number("packets", totals.packets);
    object.number("dropped", totals.dropped);
    object.number("doubled", totals.doubled);
    object.number("flows", flows as u64);
    object.number("split", split as u64);
    let places = if options.outputs.is_empty() { "workers" } else { "outputs" };
    object.array(places, totals.workers.iter().copied(), push_number);
    object.close();
    out.push(b'\n');
}
