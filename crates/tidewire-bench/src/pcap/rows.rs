//! Capture by mode and engine, and applications by instances: as figures 5 to 11 of the fan-out paper.

use super::{
    options::Options,
    way::{Way, Words},
};
use crate::{
    live::{
        Load, Measurement, TrafficKind,
        measurement::measure,
        testbed::{Receiving, Testbed},
        tools::RING_BYTES,
    },
    peer_output::Format,
    plot::Plot,
    report::{Section, Table, percent, rate},
};

/// The ring where overload is measured: a large one would hide the loss of a short run.
const SMALL_RING_BYTES: u64 = 4 << 20;

/// A command without the folders of this build.
fn short(words: &[String]) -> String {
    let name = |word: &String| match word.rsplit_once('/') {
        Some((before, last)) if word.starts_with("LD_PRELOAD=") || before.starts_with('/') => {
            format!("{}{last}", if word.starts_with("LD_PRELOAD=") { "LD_PRELOAD=" } else { "" })
        }
        _ => word.clone(),
    };
    words.iter().map(name).collect::<Vec<_>>().join(" ")
}

fn print(name: &str, measured: &Measurement) {
    eprintln!(
        "bench-pcap:   {name}: {}: link {} %, application {} %, dropped {} %, unexplained {}, CPU {} %, each {:?}",
        rate(measured.offered_pps),
        percent(measured.link_received()),
        percent(measured.application_received()),
        percent(measured.application_dropped()),
        measured.not_read(),
        percent(measured.cpu),
        measured.each
    );
}

fn pcap_loop(options: &Options, work_ns: u64, ring_bytes: u64) -> impl Fn(usize) -> (Vec<String>, Format) + use<> {
    let path = options.programs.join("pcap-loop").display().to_string();
    move |_| {
        let words = [&path, "IFACE", "--work-ns", &work_ns.to_string(), "--buffer", &ring_bytes.to_string()];
        (words.iter().map(|word| (*word).to_owned()).collect(), Format::Loop)
    }
}

/// Figures 5 and 6: what a counting program receives at the greatest rate, by frame size, mode and engine.
pub(super) fn capture(options: &Options) -> Result<Section, String> {
    let mut section = Section {
        title: "Counting flat out, by mode and engine (figures 5 and 6)".into(),
        text:
            "`pcap-loop` without work; 1,000 flows as fast as the generator's core can send and receive them. With two \
               instances the second shares that core."
                .into(),
        ..Section::default()
    };
    let mut ways = vec![Way::stock(), Way::ours(options, "1 × packet", &["TIDEWIRE_ENGINE=packet"], 1)];
    ways.push(Way::ours(options, "1 × xdp", &["TIDEWIRE_ENGINE=xdp"], 1));
    ways.extend(["hash", "lb", "qm", "rnd"].map(|mode| Way::group(options, mode, 2)));
    let sizes: &[u32] = if options.quick { &[64] } else { &[64, 256, 1500] };
    let columns =
        ["bytes", "way", "offered", "link received %", "received", "lost %", "CPU %", "ns a packet", "unexplained"];
    let mut table = Table::new("", &columns);
    let words = pcap_loop(options, 0, RING_BYTES);
    section.commands = commands(&ways, &words);
    Testbed::inside(Receiving::Sender, |testbed| {
        for &size in sizes {
            for way in &ways {
                let load = Load::udp(1000, size, f64::INFINITY, if options.quick { 0.7 } else { 1.5 });
                match measure(testbed, &way.programs(&words), &load)?.succeeded() {
                    Err(why) => section.skipped.push(format!("{}, {size} bytes: {why}", way.name)),
                    Ok(measured) => {
                        print(&way.name, &measured);
                        table.lines.push(vec![
                            size.to_string(),
                            way.name.clone(),
                            rate(measured.offered_pps),
                            percent(measured.link_received()),
                            rate(measured.received() as f64 / measured.seconds),
                            percent(1.0 - measured.received() as f64 / measured.offered.max(1) as f64),
                            percent(measured.cpu),
                            format!("{:.0}", measured.program_ns_per_packet()),
                            measured.not_read().to_string(),
                        ]);
                    }
                }
            }
        }
        Ok(())
    })?;
    section.tables.push(table);
    Ok(section)
}

fn commands(ways: &[Way], words: Words<'_>) -> Vec<(String, String)> {
    let command = |way: &Way| way.programs(words).first().map(|program| short(&program.words)).unwrap_or_default();
    ways.iter().map(|way| (way.name.clone(), command(way))).collect()
}

/// An application by rate and instances.
struct Application<'w> {
    id: &'static str,
    title: String,
    text: String,
    flows: u64,
    /// TCP connections from SYN to FIN instead of datagrams.
    tcp: bool,
    size: u32,
    rates: &'static [f64],
    words: Words<'w>,
}

impl Application<'_> {
    fn load(&self, rate: f64, seconds: f64) -> Load {
        /// Data segments of each connection, and its packets in all, roughly.
        const SEGMENTS: u32 = 10;
        const PACKETS: f64 = 22.0;
        let load = Load::udp(self.flows, self.size, rate, seconds);
        if !self.tcp {
            return load;
        }
        let connections = (rate * seconds / PACKETS) as u64;
        Load { kind: TrafficKind::Tcp { connections: connections.max(self.flows), segments: SEGMENTS }, ..load }
    }
}

fn by_instances(options: &Options, application: &Application<'_>) -> Result<Section, String> {
    let mut section =
        Section { title: application.title.clone(), text: application.text.clone(), ..Section::default() };
    let mut ways = vec![Way::stock()];
    ways.extend([1, 2, 4].map(|count| Way::group(options, "hash", count)));
    ways.push(Way::group(options, "lb", 2));
    ways.push(Way::ours(options, "1 × xdp", &["TIDEWIRE_ENGINE=xdp"], 1));
    section.commands = commands(&ways, application.words);
    let rates: Vec<f64> = application.rates.iter().copied().step_by(if options.quick { 3 } else { 1 }).collect();
    let columns = [
        "offered",
        "way",
        "link received %",
        "IF dropped %",
        "application received %",
        "application dropped %",
        "received a second",
        "CPU %",
        "softirq %",
        "unexplained",
    ];
    let mut table = Table::new("", &columns);
    let axes = |y: &str| ["packets a second".to_owned(), y.to_owned()];
    let plot = |what: &str, y: &str| Plot {
        file: format!("pcap-{}-{what}", application.id),
        title: format!("{}: {y}", application.id),
        axes: axes(y),
        ..Plot::default()
    };
    let (mut lost, mut cpu) = (plot("loss", "lost, %"), plot("cpu", "CPU of all instances, %"));
    lost.y_max = Some(100.0);
    Testbed::inside(Receiving::Sender, |testbed| {
        for way in &ways {
            let (mut loss_curve, mut cpu_curve) = (Vec::new(), Vec::new());
            for &wanted in &rates {
                let load = application.load(wanted, if options.quick { 1.0 } else { 2.0 });
                let measured = match measure(testbed, &way.programs(application.words), &load)?.succeeded() {
                    Ok(measured) => measured,
                    Err(why) => {
                        section.skipped.push(format!("{}: {why}", way.name));
                        break;
                    }
                };
                print(&way.name, &measured);
                let gone = 1.0 - measured.received() as f64 / measured.offered.max(1) as f64;
                loss_curve.push((measured.offered_pps, gone * 100.0));
                cpu_curve.push((measured.offered_pps, measured.cpu * 100.0));
                table.lines.push(vec![
                    rate(measured.offered_pps),
                    way.name.clone(),
                    percent(measured.link_received()),
                    percent(1.0 - measured.link_received()),
                    percent(measured.application_received()),
                    percent(measured.application_dropped()),
                    rate(measured.received() as f64 / measured.seconds),
                    percent(measured.cpu),
                    percent(measured.softirq),
                    measured.not_read().to_string(),
                ]);
            }
            lost.curves.push((way.name.clone(), loss_curve));
            cpu.curves.push((way.name.clone(), cpu_curve));
        }
        Ok(())
    })?;
    section.tables.push(table);
    section.plots = vec![lost, cpu];
    Ok(section)
}

/// The counting application with 4 µs of work per packet: a core can process 250,000 packets per second.
pub(super) fn counting(options: &Options) -> Result<Section, String> {
    let words = pcap_loop(options, 4000, SMALL_RING_BYTES);
    by_instances(
        options,
        &Application {
            id: "counting",
            title: "The counting application, 4 µs of work a packet".into(),
            text: "300-byte frames of 4,096 flows, as in figures 7 and 10. One core can do 250,000 packets a second."
                .into(),
            flows: 4096,
            tcp: false,
            size: 300,
            rates: &[100e3, 200e3, 300e3, 400e3, 500e3],
            words: &words,
        },
    )
}

/// softflowd.
pub(super) fn softflowd(options: &Options) -> Result<Section, String> {
    let words = |index: usize| {
        let path = |what: &str| format!("/tmp/tidewire-bench-pcap-{}-{index}.{what}", std::process::id());
        let (socket, pid, ring) = (path("sock"), path("pid"), SMALL_RING_BYTES.to_string());
        let words =
            ["softflowd", "-i", "IFACE", "-d", "-n", "127.0.0.1:9995", "-v", "10", "-m", "2000000", "-B", &ring];
        let words = words.iter().chain(&["-c", &socket, "-p", &pid]).map(|word| (*word).to_owned()).collect();
        (words, Format::Softflowd(socket.clone()))
    };
    by_instances(
        options,
        &Application {
            id: "softflowd",
            title: "softflowd".into(),
            text: "300-byte frames of 100,000 flows. Over the system's library it does not get its last block, which is not full \
                   (its timeout is 0): that is its loss at rates that it holds."
                .into(),
            flows: 100_000,
            tcp: false,
            size: 300,
            rates: &[100e3, 200e3, 400e3, 600e3, 800e3],
            words: &words,
        },
    )
}

/// A classifier over nDPI.
pub(super) fn ndpi(options: &Options) -> Result<Section, String> {
    let path = options.ndpi.display().to_string();
    let words = move |_| (vec![path.clone(), "IFACE".to_owned()], Format::Loop);
    by_instances(
        options,
        &Application {
            id: "ndpi",
            title: "A classifier over nDPI".into(),
            text: "`peers/ndpi.c`: nDPI 4.2 inspects every packet. 1,000 concurrent TCP connections from SYN to FIN, \
                   data frames of 300 bytes."
                .into(),
            flows: 1000,
            tcp: true,
            size: 300,
            rates: &[50e3, 100e3, 150e3, 200e3, 300e3],
            words: &words,
        },
    )
}
