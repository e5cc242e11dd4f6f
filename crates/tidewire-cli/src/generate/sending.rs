//! Options of all kinds of traffic: interfaces, rate, duration.

use std::{
    io::{IsTerminal, Write as _},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use clap::{Args, ValueEnum};
use tidewire_gen::{Plan, Progress, Rate, RunEnd, Sender, run as send, traffic::Traffic};

use super::report;
use crate::{
    error::{self, CliError},
    interrupt,
    output::Out,
    terminal,
    units::{Bytes, Count, Span},
};

#[derive(Args, Debug)]
pub struct Sending {
    /// Interface to send from; given twice: the clients' end, then the servers'
    #[arg(short, long = "interface", value_name = "IF", required = true)]
    interfaces: Vec<String>,

    /// Rate, as in 1.5Mpps, 300kpps, 10Gbit, or flat: as fast as possible [default: flat; replay: its own pace]
    #[arg(short, long, value_name = "RATE")]
    rate: Option<Rate>,

    /// Send at most N frames
    #[arg(short = 'c', long, value_name = "N", value_parser = count)]
    packets: Option<u64>,

    /// Stop after TIME, as in 10s or 500ms
    #[arg(short, long, value_name = "TIME")]
    duration: Option<Span>,

    /// Sender: kernel (XDP live frames of up to 3332 bytes), socket (packet socket), or auto (kernel if possible)
    #[arg(long, value_name = "HOW", value_enum, default_value = "auto", hide_possible_values = true)]
    sender: SenderName,

    /// Most frames to catch up after the sender was delayed
    #[arg(long, value_name = "N", default_value_t = 256)]
    burst: u32,

    /// Frames in a batch, 1 to 256 (sender kernel)
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=256))]
    batch: u32,

    /// Send from the Nth available CPU. A veth selects the receive queue by it
    #[arg(long, value_name = "N")]
    cpu: Option<usize>,

    /// Omit the numbers at the end of frames; receivers with GRO then merge TCP segments
    #[arg(long)]
    no_numbers: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Print no progress
    #[arg(short, long)]
    quiet: bool,

    /// Send on any interface, where others may receive the frames: you confirm that they are all yours
    #[arg(long)]
    i_own_this_network: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SenderName {
    Auto,
    Kernel,
    Socket,
}

/// Parses a count, as in 64k.
pub fn count(text: &str) -> Result<u64, String> {
    let (digits, scale) = match text.trim().to_ascii_lowercase() {
        text if text.ends_with('k') => (text.trim_end_matches('k').to_owned(), 1_000),
        text if text.ends_with('m') => (text.trim_end_matches('m').to_owned(), 1_000_000),
        text if text.ends_with('g') => (text.trim_end_matches('g').to_owned(), 1_000_000_000),
        text => (text, 1),
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(scale));
    number.filter(|number| *number > 0).ok_or_else(|| format!("'{text}' is not a count, as in 1000, 64k or 10M"))
}

impl Sending {
    pub fn numbered(&self) -> bool {
        !self.no_numbers
    }

    /// Whether it ends by itself.
    pub fn is_limited(&self) -> bool {
        self.packets.is_some() || self.duration.is_some()
    }

    fn plan(&self, rate: Rate) -> Plan {
        let mut plan = Plan::new(self.interfaces.clone());
        plan.sender = match self.sender {
            SenderName::Auto => Sender::Auto,
            SenderName::Kernel => Sender::Kernel,
            SenderName::Socket => Sender::Socket,
        };
        (plan.rate, plan.packets, plan.burst, plan.batch) =
            (self.rate.unwrap_or(rate), self.packets, self.burst, self.batch);
        plan.duration = self.duration.map(|span| Duration::from_nanos(span.0));
        (plan.cpu, plan.own_network) = (self.cpu, self.i_own_this_network);
        plan
    }
}

static STOP: AtomicBool = AtomicBool::new(false);

/// Whether a signal arrived.
pub fn stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// The first signal ends sending, and the process where its output takes nothing; a second one ends the process.
pub fn on_signal() {
    on_signal_within(interrupt::LIVE_PATIENCE);
}

/// As above; the process may wait so long for others after the first signal.
pub fn on_signal_within(patience: Duration) {
    // Otherwise a signal would end the process without a report.
    let _ = interrupt::on_signal(patience, || STOP.store(true, Ordering::Relaxed));
}

/// Sends traffic, as fast as possible by default, and prints the report.
pub fn run(traffic: &mut dyn Traffic, sending: &Sending) -> Result<u8, CliError> {
    run_at(traffic, sending, Rate::Flat)
}

/// Sends traffic, at this rate by default, and prints the report.
pub fn run_at(traffic: &mut dyn Traffic, sending: &Sending, rate: Rate) -> Result<u8, CliError> {
    on_signal();
    let plan = sending.plan(rate);
    let shown = std::io::stderr().is_terminal() && terminal::has_escapes();
    let mut before = (0, Duration::ZERO);
    let mut say = |progress: &Progress| {
        if !sending.quiet {
            let line = progress_line(progress, &mut before);
            let _ =
                if shown { write!(std::io::stderr(), "\r{line}\x1b[K") } else { writeln!(std::io::stderr(), "{line}") };
        }
    };
    let report = send(traffic, &plan, &STOP, &mut say);
    if shown && before.0 > 0 {
        let _ = writeln!(std::io::stderr());
    }
    let report = report.map_err(from_live)?;
    let mut out = Out::stdout();
    if sending.json {
        report::push_json(out.buffer(), &report);
        out.line("")?;
    } else {
        report::print(&mut out, &report)?;
    }
    out.flush()?;
    Ok(if report.ended == RunEnd::Stopped { error::INTERRUPTED } else { error::OK })
}

fn progress_line(progress: &Progress, before: &mut (u64, Duration)) -> String {
    let (packets, elapsed) = std::mem::replace(before, (progress.packets, progress.elapsed));
    let rate = (progress.packets - packets) as f64 / (progress.elapsed.saturating_sub(elapsed)).as_secs_f64().max(1e-9);
    format!(
        "{:>6.1}s  {} frames, {}, {:.3} Mpps",
        progress.elapsed.as_secs_f64(),
        Count(progress.packets),
        Bytes(progress.bytes),
        rate / 1e6
    )
}

/// An error of the interface, the kernel or the options, with its hint.
pub fn from_live(error: impl Into<tidewire_gen::Error>) -> CliError {
    use tidewire_gen::Error;
    use tidewire_live::Error as Live;
    let error = error.into();
    let text = error.text();
    match &error {
        Error::Setting(_) | Error::Live(Live::Setting(_) | Live::NoInterface { .. } | Live::Steering(_)) => {
            CliError::Usage(text)
        }
        _ => CliError::Input(text),
    }
}
