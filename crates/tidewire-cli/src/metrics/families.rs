//! Converts a report to metric families.

use std::sync::{Arc, Mutex};

use tidewire::{
    AnomalyKind, Fate, Ledger, Malformation, OtherLink,
    legible::legible,
    live::{InterfaceReport, InterfaceState, KernelCounters, LiveReport, WorkerReport},
};

/// The families of the next answer.
pub type Shown = Arc<Mutex<Vec<Family>>>;

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// A counter: it only grows.
    Counter,
    /// A gauge: it rises and falls.
    Gauge,
}

/// Samples with one name.
#[derive(Clone, Debug)]
pub struct Family {
    /// The name, without the `_total` of counters.
    pub name: &'static str,
    /// The help text, a sentence without its full stop.
    pub help: &'static str,
    /// The type.
    pub kind: MetricKind,
    /// The samples.
    pub samples: Vec<Sample>,
}

/// One sample.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Labels that distinguish it from others with its name.
    pub labels: Vec<(&'static str, String)>,
    /// Its value.
    pub value: f64,
}

/// All families, in order of output.
#[derive(Default)]
struct Families(Vec<Family>);

impl Families {
    fn add(
        &mut self,
        kind: MetricKind,
        name: &'static str,
        help: &'static str,
        samples: impl IntoIterator<Item = Sample>,
    ) {
        self.0.push(Family { name, help, kind, samples: samples.into_iter().collect() });
    }

    fn counter(&mut self, name: &'static str, help: &'static str, samples: impl IntoIterator<Item = Sample>) {
        self.add(MetricKind::Counter, name, help, samples);
    }

    fn gauge(&mut self, name: &'static str, help: &'static str, samples: impl IntoIterator<Item = Sample>) {
        self.add(MetricKind::Gauge, name, help, samples);
    }
}

/// A sample with [`legible`] labels: both formats escape quotes, backslashes and line feeds, but allow all other control
/// characters, which interface names may contain.
fn sample<const LABELS: usize>(labels: [(&'static str, &str); LABELS], value: u64) -> Sample {
    Sample { labels: labels.map(|(name, value)| (name, legible(value).into_owned())).into(), value: value as f64 }
}

/// The metrics of a live capture: interface, ring, worker, engine.
pub fn live(report: &LiveReport) -> Vec<Family> {
    let mut families = Families::default();
    let elapsed = Sample { labels: Vec::new(), value: report.elapsed.as_secs_f64() };
    families.gauge("tidewire_elapsed_seconds", "Time since the capture was opened", [elapsed]);
    interfaces(&mut families, &report.interfaces);
    kernel(&mut families, &report.interfaces);
    workers(&mut families, &report.workers);
    engine(&mut families, &report.ledger());
    families.0
}

/// Families of interfaces by name, with their state and the seconds since their last frame: the same of every command.
pub fn interface_states<'s>(all: impl Iterator<Item = (&'s str, &'s str, Option<f64>)>) -> [Family; 2] {
    let labelled = |name: &str, value| Sample { labels: vec![("interface", legible(name).into_owned())], value };
    let (mut up, mut idle) = (Vec::new(), Vec::new());
    for (name, state, seconds) in all {
        up.push(labelled(name, f64::from(u8::from(state == InterfaceState::Up.name()))));
        idle.extend(seconds.map(|seconds| labelled(name, seconds)));
    }
    let gauge = |name, help, samples| Family { name, help, kind: MetricKind::Gauge, samples };
    [
        gauge("tidewire_interface_up", "Whether an interface that is captured is there and up", up),
        gauge("tidewire_interface_idle_seconds", "Time since the last frame of an interface", idle),
    ]
}

fn interfaces(families: &mut Families, all: &[InterfaceReport]) {
    let present = |one: &InterfaceReport| u64::from(one.state != InterfaceState::Gone);
    let present = all.iter().map(|one| sample([("interface", &one.name), ("engine", one.method.name())], present(one)));
    families.gauge("tidewire_interface_present", "Whether the interface exists, and its capture engine", present);
    let states = all.iter().map(|one| (one.name.as_str(), one.state.name(), one.idle.map(|idle| idle.as_secs_f64())));
    families.0.extend(interface_states(states));
    let mut counter = |name, help, count: fn(&tidewire::live::InterfaceCounts) -> u64| {
        let counted = all.iter().filter_map(|one| Some((one, one.counts.as_ref()?)));
        families.counter(name, help, counted.map(|(one, counts)| sample([("interface", &one.name)], count(counts))));
    };
    counter("tidewire_interface_received_packets", "Frames that the interface received", |counts| counts.rx_packets);
    counter("tidewire_interface_received_bytes", "Bytes that the interface received", |counts| counts.rx_bytes);
    counter("tidewire_interface_sent_packets", "Frames that the interface sent", |counts| counts.tx_packets);
    counter("tidewire_interface_sent_bytes", "Bytes that the interface sent", |counts| counts.tx_bytes);
    counter("tidewire_interface_errors", "Frames that arrived damaged", |counts| counts.rx_errors);
    counter(
        "tidewire_interface_dropped_packets",
        "Frames that the driver or kernel dropped before any capture",
        |counts| counts.rx_dropped,
    );
    counter("tidewire_interface_missed_packets", "Frames that the NIC dropped for lack of room", |counts| {
        counts.rx_missed
    });
}

/// Counters of kernel programs, if any. `place` is the fate of a packet: the sum is what the program received.
fn kernel(families: &mut Families, all: &[InterfaceReport]) {
    let of = |figure: fn(&KernelCounters) -> u64| {
        let counted = all.iter().filter_map(|one| Some((one, one.kernel.as_ref()?)));
        counted.map(move |(one, kernel)| sample([("interface", &one.name)], figure(kernel)))
    };
    families.counter(
        "tidewire_kernel_received_packets",
        "Packets that the kernel program received",
        of(|kernel| kernel.received),
    );
    families.counter(
        "tidewire_kernel_received_bytes",
        "Bytes that the kernel program received",
        of(|kernel| kernel.received_bytes),
    );
    let counted = || all.iter().filter_map(|one| Some((one.name.as_str(), one.kernel.as_ref()?)));
    let places = counted().flat_map(|(name, kernel)| {
        let places = [
            ("filtered", kernel.filtered),
            ("cut", kernel.cut),
            ("shed", kernel.shed.iter().sum()),
            ("delivered", kernel.delivered),
            ("no_socket", kernel.absent),
            ("steered_out", kernel.unsteered),
        ];
        places.map(|(place, count)| sample([("interface", name), ("place", place)], count))
    });
    families.counter("tidewire_kernel_packets", "Fates of packets in the kernel program; the sum is all", places);
    let shed = counted().flat_map(|(name, kernel)| {
        let levels = kernel.shed.iter().enumerate();
        levels.map(move |(level, count)| sample([("interface", name), ("priority", &level.to_string())], *count))
    });
    families.counter(
        "tidewire_kernel_shed_packets",
        "Packets that the kernel program shed, by priority (0 lowest)",
        shed,
    );
    families.counter("tidewire_kernel_cut_bytes", "Bytes beyond cutoffs", of(|kernel| kernel.cut_bytes));
    families.counter("tidewire_kernel_unparsed_packets", "Packets without a flow key", of(|kernel| kernel.unparsed));
    families.counter(
        "tidewire_kernel_full_packets",
        "Packets whose flow had no room in the kernel's table",
        of(|kernel| kernel.map_full),
    );
    let steered = all.iter().map(|one| sample([("interface", &one.name)], one.steered_out));
    families.counter("tidewire_steered_out_packets", "Packets that steering of packet sockets dropped", steered);
}

fn workers(families: &mut Families, all: &[WorkerReport]) {
    let each = |figure: fn(&WorkerReport) -> u64| {
        let numbered = all.iter().enumerate();
        numbered.map(move |(number, worker)| sample([("worker", &number.to_string())], figure(worker)))
    };
    families.counter(
        "tidewire_ring_received_packets",
        "Frames put into the worker's rings",
        each(|one| one.rings.received),
    );
    families.counter(
        "tidewire_ring_dropped_packets",
        "Frames dropped because a ring of the worker was full",
        each(|one| one.rings.dropped),
    );
    families.counter(
        "tidewire_ring_failed_packets",
        "Frames lost before a ring for another reason",
        each(|one| one.rings.failed),
    );
    families.counter(
        "tidewire_ring_system_calls",
        "System calls made for the worker's rings",
        each(|one| one.rings.calls),
    );
    let levels = all.iter().enumerate().map(|(number, worker)| Sample {
        value: f64::from(worker.ring_level_permille) / 1000.0,
        labels: vec![("worker", number.to_string())],
    });
    families.gauge("tidewire_ring_level_ratio", "Fill level of the worker's fullest ring", levels);
    families.counter("tidewire_worker_packets", "Frames taken out of the rings", each(|one| one.frames));
    families.counter("tidewire_worker_late_packets", "Frames delivered after a later one", each(|one| one.late));
    families.gauge(
        "tidewire_worker_buffered_bytes",
        "Bytes that the worker's engine holds",
        each(|one| one.buffered_bytes),
    );
    families.gauge("tidewire_worker_memory_bytes", "Memory limit of the worker's engine", each(|one| one.memory_bytes));
    families.gauge("tidewire_worker_ended", "Whether the worker has ended", each(|one| u64::from(one.ended)));
}

fn engine(families: &mut Families, ledger: &Ledger) {
    let alone = |value: u64| [sample([], value)];
    families.counter("tidewire_packets_received", "Packets received by the engines", alone(ledger.received));
    families.counter("tidewire_received_bytes", "Captured bytes received by the engines", alone(ledger.received_bytes));
    let fates = Fate::ALL.iter().map(|fate| sample([("fate", fate.name())], ledger.fate(*fate)));
    families.counter("tidewire_packets", "Fates of received packets; the sum is all", fates);
    let shed = ledger.shed_by_priority();
    let shed = shed.map(|(priority, count)| sample([("priority", &priority.to_string())], count));
    families.counter("tidewire_shed_packets", "Packets shed by the watermark rule, by priority (0 lowest)", shed);
    families.counter("tidewire_shunted_packets", "Packets counted before the engines", alone(ledger.shunted_packets));
    families.counter(
        "tidewire_shunted_bytes",
        "Bytes of packets counted before the engines",
        alone(ledger.shunted_bytes),
    );
    families.counter("tidewire_streams_opened", "Streams opened", alone(ledger.streams_opened));
    families.counter("tidewire_streams_closed", "Streams closed", alone(ledger.streams_closed));
    let open = ledger.streams_opened.saturating_sub(ledger.streams_closed);
    families.gauge("tidewire_streams_open", "Streams that are open", alone(open));
    let evicted = [("full_table", ledger.evicted), ("half_open", ledger.evicted_half_open)];
    let evicted = evicted.map(|(which, count)| sample([("table", which)], count));
    families.counter("tidewire_streams_evicted", "Streams evicted from a full table", evicted);
    families.counter("tidewire_delivered_bytes", "Payload delivered to the application", alone(ledger.delivered_bytes));
    families.counter("tidewire_gap_bytes", "Payload reported to the application as missing", alone(ledger.gap_bytes));
    let uncompared = alone(ledger.uncompared_bytes);
    families.counter(
        "tidewire_uncompared_bytes",
        "Retransmitted payload not compared with its first version",
        uncompared,
    );
    let datagrams = [("rebuilt", ledger.datagrams_rebuilt), ("rejected", ledger.datagrams_rejected)];
    let datagrams = datagrams.map(|(fate, count)| sample([("fate", fate)], count));
    families.counter("tidewire_datagrams", "Datagrams that arrived in fragments", datagrams);
    let anomalies = AnomalyKind::ALL.iter().map(|kind| sample([("kind", kind.name())], ledger.anomaly(*kind)));
    families.counter("tidewire_anomalies", "Anomalies of streams", anomalies);
    let malformed = Malformation::ALL.iter();
    let malformed = malformed.map(|why| sample([("reason", why.name())], ledger.malformation(*why)));
    families.counter("tidewire_malformations", "Why packets were malformed", malformed);
    let others = OtherLink::ALL.iter();
    let others = others.map(|what| sample([("protocol", what.name())], ledger.other_link(*what)));
    families.counter("tidewire_other_links", "Packets of other link-layer protocols, by name", others);
}
