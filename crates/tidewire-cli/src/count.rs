//! `tidewire count`: packet rates of interfaces and losses, without decoding.

use std::{
    io::Write as _,
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::Args;
use tidewire::{
    Outcome, Stop,
    live::{LiveReport, WorkerReport},
};

use crate::{
    arg_types::whole,
    error::{self, CliError},
    live::{self, Live},
    live_report::lost_list,
    output::{Object, Out},
    terminal,
    units::{BitRate, Bytes, Count, Span, counted},
};

/// Count packets, bits and drops a second, decoding nothing
///
/// Counts by worker, and reports at the end where packets were lost. Use it to measure what capturing alone achieves, and how
/// --fanout or --steer divide the traffic. On a terminal a table is updated in place; elsewhere each interval is a line.
#[derive(Args, Debug)]
pub struct Options {
    /// Count only packets that match this expression (libpcap's language, as in tcpdump)
    #[arg(short = 'F', long, value_name = "EXPR", help_heading = "Input")]
    filter: Option<String>,

    /// As --filter: tidewire count -i eth0 tcp port 80
    #[arg(value_name = "EXPR", conflicts_with = "filter", help_heading = "Input")]
    expression: Vec<String>,

    /// Worker threads, 1 to 64
    #[arg(short = 'w', visible_short_alias = 'j', long, value_name = "N", default_value_t = 1, value_parser = whole::<usize>, help_heading = "Input")]
    workers: usize,

    /// Read options from a TOML file, as the other commands do
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    config: Option<PathBuf>,

    #[command(flatten)]
    live: Live,

    /// Spend TIME on each packet to simulate an application, as in 5us
    #[arg(long, value_name = "TIME", default_value = "0", help_heading = "Count")]
    work: Span,

    /// Report every TIME
    #[arg(long, value_name = "TIME", default_value = "1s", help_heading = "Report")]
    interval: Span,

    /// Print one JSON object for each interval and one with the totals at the end; key names are stable
    #[arg(long, help_heading = "Report")]
    json: bool,
}

/// Counts of a worker, or of all.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    packets: u64,
    bytes: u64,
    drops: u64,
}

impl Figures {
    fn of(worker: &WorkerReport) -> Self {
        let (ledger, rings) = (&worker.ledger, &worker.rings);
        Self { packets: ledger.received, bytes: ledger.received_bytes, drops: rings.dropped + rings.failed }
    }

    fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.drops += other.drops;
    }
}

/// Rates per second.
#[derive(Clone, Copy, Debug, Default)]
struct Rates {
    packets: f64,
    bits: f64,
    drops: f64,
}

impl Rates {
    fn between(before: &Figures, now: &Figures, seconds: f64) -> Self {
        let rate = |before: u64, now: u64| now.saturating_sub(before) as f64 / seconds.max(1e-3);
        Self {
            packets: rate(before.packets, now.packets),
            bits: rate(before.bytes, now.bytes) * 8.0,
            drops: rate(before.drops, now.drops),
        }
    }

    fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.bits += other.bits;
        self.drops += other.drops;
    }
}

/// State between two outputs.
struct Counts {
    form: Form,
    interval: Duration,
    said: Duration,
    /// By worker: when it last reported, and its counts.
    before: Vec<(Option<Instant>, Figures)>,
    /// Lines of the last table on the terminal, which the next one overwrites.
    lines: usize,
    out: Out,
    failure: Option<CliError>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Lines,
    Table,
}

impl Counts {
    fn look(&mut self, report: &LiveReport, stop: &Stop) {
        if report.elapsed < self.said + self.interval || self.failure.is_some() {
            return;
        }
        // Keeps to multiples of the interval, without accumulating delays.
        while report.elapsed >= self.said + self.interval {
            self.said += self.interval;
        }
        let rates = self.rates(report);
        let written = self.say(report, &rates);
        if let Err(failure) = written.and_then(|()| self.out.flush()) {
            self.failure = Some(failure);
            stop.stop();
        }
    }

    /// Rates by worker. Each worker reports at a different moment.
    fn rates(&mut self, report: &LiveReport) -> Vec<Rates> {
        let begun = Instant::now().checked_sub(report.elapsed);
        self.before.resize(report.workers.len(), (begun, Figures::default()));
        let rate = |(before, worker): (&mut (Option<Instant>, Figures), &WorkerReport)| {
            let now = (worker.at.or(before.0), Figures::of(worker));
            let seconds = match (before.0, now.0) {
                (Some(before), Some(now)) => now.saturating_duration_since(before).as_secs_f64(),
                _ => 0.0,
            };
            let rates = Rates::between(&before.1, &now.1, seconds);
            *before = now;
            rates
        };
        self.before.iter_mut().zip(&report.workers).map(rate).collect()
    }

    fn say(&mut self, report: &LiveReport, rates: &[Rates]) -> Result<(), CliError> {
        let mut all = Rates::default();
        rates.iter().for_each(|rates| all.add(rates));
        match self.form {
            Form::Json => {
                let buffer = self.out.buffer();
                let mut object = Object::open(buffer);
                object.number("elapsed_ns", u64::try_from(report.elapsed.as_nanos()).unwrap_or(u64::MAX));
                push_rates(&mut object, &all);
                object.array("workers", rates.iter().enumerate(), |out, (index, rates)| {
                    let mut object = Object::open(out);
                    object.number("worker", index as u64);
                    push_rates(&mut object, rates);
                    object.close();
                });
                object.close();
                buffer.push(b'\n');
                Ok(())
            }
            Form::Lines => {
                let mut line = format!("{:>7.1}s  {}", report.elapsed.as_secs_f64(), sentence(&all));
                if rates.len() > 1 {
                    let by_worker: Vec<_> = rates.iter().map(|rates| whole_count(rates.packets)).collect();
                    line = format!("{line}  ({})", by_worker.join(" + "));
                }
                self.out.line(&line)
            }
            Form::Table => self.table(report, rates, &all),
        }
    }

    fn table(&mut self, report: &LiveReport, rates: &[Rates], all: &Rates) -> Result<(), CliError> {
        let row = |name: &str, rates: &Rates, level: String| {
            let (packets, bits) = (whole_count(rates.packets), BitRate(rates.bits));
            format!("{name:<8}{packets:>14}{bits:>14}{:>14}{level:>8}", whole_count(rates.drops))
        };
        let mut lines =
            vec![format!("{:<8}{:>14}{:>14}{:>14}{:>8}", "WORKER", "PACKETS/S", "BITS/S", "DROPS/S", "RING")];
        for (index, (rates, worker)) in rates.iter().zip(&report.workers).enumerate() {
            lines.push(row(&index.to_string(), rates, format!("{} %", worker.ring_level_permille / 10)));
        }
        lines.push(row("all", all, format!("{:.0} s", report.elapsed.as_secs_f64())));
        // Moves to the start of the last table; each line is cleared to its end.
        let up = if self.lines > 0 { format!("\x1b[{}A", self.lines) } else { String::new() };
        self.lines = lines.len();
        self.out.buffer().extend_from_slice(up.as_bytes());
        lines.iter().try_for_each(|line| self.out.line(&format!("{line}\x1b[K")))
    }
}

fn whole_count(value: f64) -> String {
    Count(value.round() as u64).to_string()
}

fn sentence(rates: &Rates) -> String {
    let (packets, drops) = (whole_count(rates.packets), whole_count(rates.drops));
    format!("{packets} packets/s  {}  {drops} drops/s", BitRate(rates.bits))
}

fn push_rates(object: &mut Object<'_>, rates: &Rates) {
    object.number("packets_per_second", rates.packets.round() as u64);
    object.number("bits_per_second", rates.bits.round() as u64);
    object.number("drops_per_second", rates.drops.round() as u64);
}

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<u8, CliError> {
    if !options.live.is_on() {
        return Err(CliError::Usage("no interface: name one, as in tidewire count -i eth0".into()));
    }
    if options.interval.0 == 0 {
        return Err(CliError::Usage("--interval must be more than 0, as in 1s".into()));
    }
    let form = match options.json {
        true => Form::Json,
        false if terminal::is_terminal() && terminal::has_escapes() => Form::Table,
        false => Form::Lines,
    };
    let mut counts = Counts {
        form,
        interval: Duration::from_nanos(options.interval.0),
        said: Duration::ZERO,
        before: Vec::new(),
        lines: 0,
        out: Out::stdout(),
        failure: None,
    };
    let stop = Stop::new();
    let mut capture = options.live.capture()?.workers(options.workers).stop_when(&stop);
    let trailing = (!options.expression.is_empty()).then(|| options.expression.join(" "));
    if let Some(expression) = options.filter.clone().or(trailing) {
        capture = capture.filter(expression);
    }
    let mut is_closed = false;
    let ending = stop.clone();
    let look = |report: &LiveReport| counts.look(report, &ending);
    let capture = live::watched(capture, &options.live, &stop, look, &mut is_closed, &[])?;
    let outcome = capture.count(Duration::from_nanos(options.work.0));
    let outcome = outcome?;
    match counts.failure.take() {
        Some(failure) => Err(failure),
        None if is_closed => Err(CliError::ClosedPipe),
        None => finish(&outcome, form, counts.out),
    }
}

fn finish(outcome: &Outcome<()>, form: Form, mut out: Out) -> Result<u8, CliError> {
    let Some(report) = &outcome.live else { return Ok(error::OK) };
    let mut all = Figures::default();
    report.workers.iter().for_each(|worker| all.add(&Figures::of(worker)));
    if form == Form::Json {
        let buffer = out.buffer();
        let mut object = Object::open(buffer);
        object.number("elapsed_ns", u64::try_from(outcome.elapsed.as_nanos()).unwrap_or(u64::MAX));
        object.number("packets", all.packets);
        object.number("bytes", all.bytes);
        object.number("drops", all.drops);
        live::push_json(&mut object, report, &outcome.ledger);
        object.close();
        buffer.push(b'\n');
        out.flush()?;
        return Ok(error::OK);
    }
    let rates = Rates::between(&Figures::default(), &all, outcome.elapsed.as_secs_f64());
    for (index, worker) in report.workers.iter().enumerate() {
        let figures = Figures::of(worker);
        let place = worker.cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
        let (packets, bytes) = (counted(figures.packets, "packet", "packets"), Bytes(figures.bytes));
        let drops = counted(figures.drops, "drop", "drops");
        out.line(&format!("worker {index}{place}: {packets}, {bytes}, {drops}"))?;
    }
    let (packets, bytes) = (counted(all.packets, "packet", "packets"), Bytes(all.bytes));
    let seconds = outcome.elapsed.as_secs_f64();
    out.line(&format!("{packets}, {bytes} in {seconds:.2} s: {}", sentence(&rates)))?;
    out.line(&loss(report, all.packets))?;
    out.flush()?;
    std::io::stderr().write_all(live::text(report, &outcome.ledger).as_bytes()).map_err(CliError::from_output)?;
    Ok(error::OK)
}

/// The number of lost packets, and where they were lost.
fn loss(report: &LiveReport, packets: u64) -> String {
    let (lost, places) = (report.lost().total(), lost_list(&report.lost()));
    if lost == 0 {
        return "nothing lost".into();
    }
    let share = lost as f64 * 100.0 / (lost + packets).max(1) as f64;
    format!("lost {} ({share:.3} %): {places}", Count(lost))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_of_the_time_between_two_reports_of_a_worker() {
        let before = Figures { packets: 100, bytes: 6400, drops: 1 };
        let now = Figures { packets: 400, bytes: 25_600, drops: 1 };
        let rates = Rates::between(&before, &now, 1.5);
        assert_eq!(sentence(&rates), "200 packets/s  102 kbit/s  0 drops/s");
    }
}
