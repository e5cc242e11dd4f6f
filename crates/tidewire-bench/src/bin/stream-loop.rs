//! The counterpart of `nids-loop`: Tidewire over an interface; the bytes of every stream are counted, or searched by the same
//! matcher, with extra work per delivery if requested.
//!
//! `stream-loop IFACE count|match [--patterns FILE] [--work-ns N] [--high-port PORT] …`; prints its totals on SIGTERM.
#![forbid(unsafe_code)]

use std::{hint::spin_loop, path::PathBuf, process::ExitCode, time::Instant};

use clap::{Parser, ValueEnum};
use tidewire::{
    Capture, ChecksumMode, Chunk, Direction, EndReason, Gap, Handler, Outcome, Stop, Stream, StreamClass,
    live::{LiveEngine, LiveSettings, Role},
};
use tidewire_patterns::{Border, Patterns};

/// Tidewire, its bytes counted or searched
#[derive(Parser)]
struct Arguments {
    /// An interface
    interface: String,
    /// The work: count or match
    #[arg(value_enum)]
    work: Work,
    /// Patterns to search for, one a line
    #[arg(long)]
    patterns: Option<PathBuf>,
    /// Busy time per delivery, nanoseconds
    #[arg(long, default_value_t = 0)]
    work_ns: u64,
    /// Streams to this port have high priority, all others low priority, which overload sheds
    #[arg(long)]
    high_port: Option<u16>,
    /// AF_XDP on an interface that only mirrors, instead of a packet socket
    #[arg(long)]
    xdp: bool,
    /// Memory of the ring, bytes
    #[arg(long, default_value_t = 64 << 20)]
    ring: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Work {
    Count,
    Match,
}

struct Loop<'p> {
    patterns: Option<&'p Patterns>,
    work_ns: u128,
    high_port: Option<u16>,
    delivered_bytes: u64,
    matches: u64,
    closed: u64,
    high_packets: u64,
    high_shed: u64,
}

impl Handler for Loop<'_> {
    type Data = [Border; 2];

    fn data(&mut self, stream: &mut Stream<'_, Self::Data>, chunk: Chunk<'_>) {
        self.delivered_bytes += chunk.bytes.len() as u64;
        if let Some(patterns) = self.patterns {
            let matches = &mut self.matches;
            let border = &mut stream.data()[chunk.direction as usize];
            patterns.find(border, chunk.bytes, &mut |_| *matches += 1);
        }
        if self.work_ns > 0 {
            let begun = Instant::now();
            while begun.elapsed().as_nanos() < self.work_ns {
                spin_loop();
            }
        }
    }

    fn gap(&mut self, stream: &mut Stream<'_, Self::Data>, gap: Gap) {
        stream.data()[gap.direction as usize].reset();
    }

    fn close(&mut self, stream: &mut Stream<'_, Self::Data>, reason: EndReason) {
        let stats = [Direction::ClientToServer, Direction::ServerToClient].map(|direction| stream.stats(direction));
        let whole = stats.iter().all(|stats| stats.missing_bytes == 0 && stats.shed_packets == 0);
        self.closed += u64::from(reason == EndReason::Fin && whole);
        let key = stream.key();
        if self.high_port.is_some_and(|port| key.client.port == port || key.server.port == port) {
            self.high_packets += stats.iter().map(|stats| stats.frames).sum::<u64>();
            self.high_shed += stats.iter().map(|stats| stats.shed_packets).sum::<u64>();
        }
    }
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stream-loop: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let patterns = match (arguments.work, &arguments.patterns) {
        (Work::Count, _) => None,
        (Work::Match, None) => return Err("match needs --patterns".into()),
        (Work::Match, Some(file)) => {
            let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
            let lines = text.lines().filter(|line| !line.is_empty());
            let list: Vec<_> = lines.map(|line| tidewire_patterns::Pattern::new(line, line)).collect();
            Some(Patterns::new(&list, false).map_err(|error| error.to_string())?)
        }
    };
    let mut settings = LiveSettings::new([arguments.interface.as_str()]);
    settings.set_ring_bytes(arguments.ring);
    settings.set_engine(if arguments.xdp { LiveEngine::Xdp } else { LiveEngine::Packet });
    settings.set_role(if arguments.xdp { Role::Tap } else { Role::Host });
    let stop = Stop::new();
    let raised = stop.clone();
    ctrlc::set_handler(move || raised.stop()).map_err(|error| error.to_string())?;
    let mut capture = Capture::live(settings).checksum(ChecksumMode::Ignore).stop_when(&stop);
    if let Some(port) = arguments.high_port {
        capture = capture
            .class(StreamClass::matching(format!("port {port}")).priority(7))
            .configure(|config| config.set_shed(true));
    }
    let handler = Loop {
        patterns: patterns.as_ref(),
        work_ns: arguments.work_ns.into(),
        high_port: arguments.high_port,
        delivered_bytes: 0,
        matches: 0,
        closed: 0,
        high_packets: 0,
        high_shed: 0,
    };
    let outcome = capture.run_with(handler).map_err(|error| error.to_string())?;
    print(&outcome);
    Ok(())
}

fn print(outcome: &Outcome<Loop<'_>>) {
    let (ledger, handler) = (&outcome.ledger, outcome.handler());
    let rings = outcome.live.as_ref().map(tidewire::live::LiveReport::rings).unwrap_or_default();
    let (mut kernel_shed, mut kernel_cut) = ([0; 8], 0);
    let interfaces = outcome.live.iter().flat_map(|report| &report.interfaces);
    for counters in interfaces.filter_map(|interface| interface.kernel.as_ref()) {
        kernel_shed.iter_mut().zip(counters.shed).for_each(|(sum, count)| *sum += count);
        kernel_cut += counters.cut;
    }
    // Not all of these packets belong to a known stream: the engine does not know a stream whose first packets were lost.
    let in_kernel = (kernel_shed.iter().sum::<u64>() + kernel_cut).max(ledger.shunted_packets);
    println!(
        "{{\"packets\":{},\"connections\":{},\"closed\":{},\"delivered_bytes\":{},\"gap_bytes\":{},\"matches\":{},\
         \"high_packets\":{},\"high_shed\":{},\"shed_by_priority\":{:?},\"kernel_shed\":{kernel_shed:?},\"shunted\":{},\"dropped\":{},\"calls\":{},\
         \"evicted\":{}}}",
        ledger.received + in_kernel,
        ledger.streams_opened,
        handler.closed,
        handler.delivered_bytes,
        ledger.gap_bytes,
        handler.matches,
        handler.high_packets,
        handler.high_shed,
        ledger.shed_by_priority().map(|(_, count)| count).collect::<Vec<_>>(),
        ledger.shunted_packets,
        rings.dropped,
        rings.calls,
        ledger.evicted,
    );
}
