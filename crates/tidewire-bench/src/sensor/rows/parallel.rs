//! The work of a packet in other processes: through a packet queue and through a stream queue, by rate and by the number of
//! analyzers.

use serde::Serialize;
use tidewire_sensor::config::{CaptureInput, Unit};

use super::inline::{RING_BYTES, WORK_US, load, rates};
use crate::{
    live::{
        Load, TrafficKind,
        measurement::{measure, offer},
        testbed::{Receiving, Testbed},
        tools::Tools,
    },
    plot::Plot,
    program::CORE,
    report::{Section, Table, percent},
    sensor::{
        capturing::{Analyzers, Capturing, config},
        settings::Settings,
    },
};

/// Analyzers where the rate is varied: one for each core.
const ANALYZERS: usize = 2;
/// Numbers of analyzers, at one rate.
const NUMBERS: [usize; 6] = [1, 2, 4, 8, 16, 32];
/// The rate at which their number is varied, and the work: more than one core can do.
const RATE: f64 = 125_786.0;
const RATE_WORK_US: u64 = 10;
/// Payload of a TCP segment in a frame of 1,434 bytes with FCS: the work of a packet is for so many bytes of a stream.
const SEGMENT_BYTES: u64 = 1376;

/// How the work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
enum Mode {
    /// For each packet, in analyzers.
    Packets,
    /// For each chunk of a stream, in proportion to its bytes, in analyzers.
    Streams,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Packets => "packet-parallel",
            Self::Streams => "stream-parallel",
        }
    }

    fn unit(self) -> Unit {
        match self {
            Self::Packets => Unit::Packets,
            Self::Streams => Unit::Streams,
        }
    }

    /// The traffic: the same frames, UDP for packets, TCP for streams.
    fn load(self, settings: &Settings, rate: f64) -> Load {
        let load = load(settings, rate);
        match self {
            Self::Packets => load,
            Self::Streams => {
                // About so many packets a connection: handshake, request, segments, acknowledgments, FINs.
                let connections = (rate * load.seconds / 20.0) as u64;
                // Connections that begin together end together, and their last chunks come at once: not too many of them.
                Load { kind: TrafficKind::Tcp { connections, segments: 10 }, flows: 100, ..load }
            }
        }
    }
}

/// Memory of a queue: a twentieth of a second of work at 10 µs.
const QUEUE_BYTES: u64 = 8 << 20;

/// One measurement.
#[derive(Clone, Debug, Default, Serialize)]
struct Point {
    mode: String,
    work_us: u64,
    analyzers: usize,
    wanted_pps: f64,
    offered_pps: f64,
    offered: u64,
    /// Payload of streams offered.
    offered_bytes: Option<u64>,
    /// Packets that the capture received.
    captured: u64,
    /// Packets that the kernel dropped before it.
    dropped: u64,
    records: u64,
    /// Units of work done: packets, or chunks.
    done: u64,
    /// Bytes of streams that were worked on.
    done_bytes: u64,
    missed: u64,
    lost: u64,
    capture_cpu: f64,
    analyzers_cpu: f64,
}

impl Point {
    /// The share of the packets that the capture lost.
    fn capture_loss(&self) -> f64 {
        self.offered.saturating_sub(self.captured) as f64 / self.offered.max(1) as f64
    }

    fn line(&self) -> String {
        format!("lost {} %, by the capture {} %", percent(self.loss()), percent(self.capture_loss()))
    }

    /// The share of the offered packets (or bytes of streams) that no analyzer worked on.
    fn loss(&self) -> f64 {
        let (done, of) = match self.offered_bytes {
            Some(bytes) => (self.done_bytes, bytes),
            None => (self.done, self.offered),
        };
        of.saturating_sub(done) as f64 / of.max(1) as f64
    }
}

fn point(
    settings: &Settings,
    testbed: &Testbed<'_>,
    mode: Mode,
    work_us: u64,
    analyzers: usize,
    rate: f64,
) -> Result<Point, String> {
    let program = settings.programs.join("queue-loop");
    let mut config = config(&settings.folder, CaptureInput::Interfaces(vec![testbed.receiver.clone()]), mode.unit());
    config.capture.ring_bytes = Some(RING_BYTES);
    let queue = &mut config.queues[0];
    // A larger one would hide the loss of a short run.
    (queue.memory_bytes, queue.records) = (QUEUE_BYTES, QUEUE_BYTES >> 10);
    let core = CORE.to_string();
    let capturing = Capturing::start(&["taskset", "-c", &core], &program, &config, Some(testbed))?;
    capturing.set_nice(-20);
    let work_ns = (work_us * 1000).to_string();
    let segment = SEGMENT_BYTES.to_string();
    let mut words = vec!["--group", "work", "--work-ns", &work_ns];
    if mode == Mode::Streams {
        words.extend(["--work-bytes", &segment]);
    }
    let running = Analyzers::start(&program, &settings.folder, analyzers, "0,1", &words)?;
    running.set_nice(0);
    std::thread::sleep(std::time::Duration::from_millis(if analyzers > 8 { 600 } else { 250 }));
    let load = mode.load(settings, rate);
    let report = offer(testbed, &load)?;
    std::thread::sleep(std::time::Duration::from_millis(200));
    capturing.stop()?;
    let (status, usage) = capturing.finish()?;
    let figures = running.finish()?;
    let seconds = report.elapsed.as_secs_f64().max(1e-6);
    let tally = |name: &str| report.tally.iter().find(|(counted, _)| *counted == name).map(|(_, count)| *count);
    let offered_bytes = tally("client_payload_bytes").zip(tally("server_payload_bytes")).map(|(a, b)| a + b);
    let sum = |figure: fn(&crate::sensor::ends::Figures) -> u64| figures.iter().map(figure).sum::<u64>();
    Ok(Point {
        mode: mode.name().into(),
        work_us,
        analyzers,
        wanted_pps: rate,
        offered_pps: report.packets_per_s(),
        offered: report.packets,
        offered_bytes: offered_bytes.filter(|_| mode == Mode::Streams),
        captured: status.packets,
        dropped: status.dropped,
        records: status.queues.iter().map(|queue| queue.records).sum(),
        done: sum(|figures| figures.units),
        done_bytes: sum(|figures| figures.data_bytes),
        missed: sum(|figures| figures.missed),
        lost: sum(|figures| figures.lost),
        capture_cpu: usage.cpu_s() / seconds,
        analyzers_cpu: sum(|figures| figures.cpu_ns) as f64 / 1e9 / seconds,
    })
}

/// The loss of the same work inline: packets without, streams by bytes.
fn inline(settings: &Settings, testbed: &Testbed<'_>, mode: Mode, work_us: u64, rate: f64) -> Result<f64, String> {
    let tools = Tools::new(&settings.programs);
    let (ring, work) = (RING_BYTES.to_string(), (work_us * 1000).to_string());
    let program = match mode {
        Mode::Packets => {
            let nanoseconds = format!("{work}ns");
            let options = ["--engine", "packet", "--ring", &ring, "--json", "--work", &nanoseconds];
            tools.tidewire("inline", "count", &options)?
        }
        Mode::Streams => tools.streams("inline", "count", &["--work-ns", &work, "--ring", &ring])?,
    };
    let measured = measure(testbed, std::slice::from_ref(&program), &mode.load(settings, rate))?.succeeded()?;
    let by_bytes = measured.payload_bytes.zip(measured.output.delivered_bytes).filter(|_| mode == Mode::Streams);
    Ok(by_bytes.map_or(measured.loss, |(of, done)| of.saturating_sub(done) as f64 / of.max(1) as f64))
}

const HOW: &str = "The capture has core 1 at the highest priority; analyzers share both cores with it and with the generator, at \
ordinary priority, as one group: each packet or stream goes to one of them. The ring holds 2 MiB, the queue 8 MiB. What no analyzer worked \
on, because the capture lost it or because it was overwritten in the queue, is lost; what the capture itself lost is shown apart.";

pub(super) fn by_rate(settings: &Settings) -> Result<Section, String> {
    let mut section = Section {
        title: "Loss against rate: inline, packet-parallel, stream-parallel".into(),
        text: format!(
            "The same work of 10, 5 and 3 µs in {ANALYZERS} analyzers, for each packet (UDP), or for each {SEGMENT_BYTES} bytes of a \
             stream (TCP, acknowledgments and handshakes carry no work). {HOW}"
        ),
        ..Section::default()
    };
    let rates: Vec<f64> = rates(settings).into_iter().step_by(if settings.quick { 1 } else { 2 }).collect();
    Testbed::inside(Receiving::Sender, |testbed| {
        for mode in [Mode::Packets, Mode::Streams] {
            let mut table = Table::new(
                format!("{}: lost, %", mode.name()),
                &[
                    "work µs",
                    "offered, packets/s",
                    "inline",
                    mode.name(),
                    "of it by the capture",
                    "capture CPU %",
                    "analyzers CPU %",
                ],
            );
            let mut plot = Plot {
                file: mode.name().into(),
                title: format!("Loss against rate: inline and {}, {ANALYZERS} analyzers", mode.name()),
                axes: ["packets a second".into(), "lost, %".into()],
                y_max: Some(100.0),
                ..Plot::default()
            };
            for work_us in WORK_US {
                let [mut there, mut here] = [Vec::new(), Vec::new()];
                for &rate in &rates {
                    let inline = inline(settings, testbed, mode, work_us, rate)?;
                    let point = point(settings, testbed, mode, work_us, ANALYZERS, rate)?;
                    eprintln!("bench-sensor:   {} at {rate:.0}, {work_us} µs: {}", mode.name(), point.line());
                    table.lines.push(vec![
                        work_us.to_string(),
                        format!("{:.0}", point.offered_pps),
                        percent(inline),
                        percent(point.loss()),
                        percent(point.capture_loss()),
                        format!("{:.0}", point.capture_cpu * 100.0),
                        format!("{:.0}", point.analyzers_cpu * 100.0),
                    ]);
                    here.push((rate, inline * 100.0));
                    there.push((rate, point.loss() * 100.0));
                    section.points.push(serde_json::to_value(&point).map_err(|error| error.to_string())?);
                }
                plot.curves.push((format!("inline, {work_us} µs"), here));
                plot.curves.push((format!("{}, {work_us} µs", mode.name()), there));
            }
            section.tables.push(table);
            section.plots.push(plot);
        }
        Ok(())
    })?;
    Ok(section)
}

pub(super) fn by_number(settings: &Settings) -> Result<Section, String> {
    let mut section = Section {
        title: "1 to 32 analyzers".into(),
        text: format!(
            "{RATE:.0} packets a second with {RATE_WORK_US} µs of work: more than one core can do, less than two. {HOW}"
        ),
        ..Section::default()
    };
    let columns = [
        "way",
        "analyzers",
        "offered, packets/s",
        "lost %",
        "of it by the capture %",
        "capture CPU %",
        "analyzers CPU %",
    ];
    let mut table = Table::new("", &columns);
    let mut plot = Plot {
        file: "analyzers".into(),
        title: format!("{RATE:.0} packets a second, {RATE_WORK_US} µs of work each"),
        axes: ["analyzers".into(), "lost, %".into()],
        y_max: Some(100.0),
        x_by_factors: true,
        ..Plot::default()
    };
    Testbed::inside(Receiving::Sender, |testbed| {
        for mode in [Mode::Packets, Mode::Streams] {
            let (mut all, mut capture) = (Vec::new(), Vec::new());
            for analyzers in NUMBERS.into_iter().filter(|number| !settings.quick || matches!(number, 1 | 2 | 32)) {
                let point = point(settings, testbed, mode, RATE_WORK_US, analyzers, RATE)?;
                eprintln!("bench-sensor:   {} with {analyzers}: {}", mode.name(), point.line());
                table.lines.push(vec![
                    mode.name().into(),
                    analyzers.to_string(),
                    format!("{:.0}", point.offered_pps),
                    percent(point.loss()),
                    percent(point.capture_loss()),
                    format!("{:.0}", point.capture_cpu * 100.0),
                    format!("{:.0}", point.analyzers_cpu * 100.0),
                ]);
                all.push((analyzers as f64, point.loss() * 100.0));
                capture.push((analyzers as f64, point.capture_loss() * 100.0));
                section.points.push(serde_json::to_value(&point).map_err(|error| error.to_string())?);
            }
            plot.curves.push((mode.name().into(), all));
            plot.curves.push((format!("{}, by the capture", mode.name()), capture));
        }
        Ok(())
    })?;
    section.tables.push(table);
    section.plots.push(plot);
    Ok(section)
}
