//! One measurement: a load offered for a few seconds, and where its packets went.

use std::{sync::atomic::AtomicBool, time::Duration};

use serde::Serialize;
use tidewire_gen::{
    Plan, Rate, Report, Sender, Sizes, run,
    traffic::{Class, Connections, Flows, Order, TcpSettings, Traffic},
};

use super::{
    cpu,
    running::{Running, Trace},
    sweep::Verdict,
    testbed::{SENDING_CORE, Testbed},
};
use crate::{
    peer_output::PeerOutput,
    program::{CORE, Program},
};

/// The protocol of the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrafficKind {
    /// UDP; each packet belongs to a random flow.
    Udp,
    /// TCP connections from SYN to FIN, as many at once as there are flows, their packets interleaved one by one.
    Tcp {
        /// Connections in all.
        connections: u64,
        /// Segments of data from each server.
        segments: u32,
    },
}

/// The traffic that is offered.
#[derive(Clone, Debug)]
pub struct Load {
    /// The protocol of the packets.
    pub kind: TrafficKind,
    /// Concurrent flows.
    pub flows: u64,
    /// Frame size in bytes, FCS included.
    pub size: u32,
    /// Packets per second; infinite: as fast as possible.
    pub rate: f64,
    /// Duration, seconds.
    pub seconds: f64,
    /// Classes of flows, by port; empty: all alike.
    pub classes: Vec<Class>,
    /// UDP: the rate of one packet per flow that is sent beforehand, so that all flows are known when measuring begins; 0: none.
    pub warm_up_pps: f64,
}

impl Load {
    /// UDP of this many flows, all alike.
    #[must_use]
    pub fn udp(flows: u64, size: u32, rate: f64, seconds: f64) -> Self {
        Self { kind: TrafficKind::Udp, flows, size, rate, seconds, classes: Vec::new(), warm_up_pps: 0.0 }
    }

    /// The packets.
    ///
    /// # Errors
    /// The generator refuses the settings.
    pub(crate) fn traffic(&self) -> Result<Box<dyn Traffic>, String> {
        let sizes = Sizes::fixed(self.size)?;
        match self.kind {
            TrafficKind::Udp => {
                let mut flows = Flows::udp(self.flows, sizes)?;
                flows.order = Order::Random;
                if !self.classes.is_empty() {
                    flows.set_classes(self.classes.clone())?;
                }
                Ok(Box::new(flows))
            }
            TrafficKind::Tcp { connections, segments } => {
                let mut settings = TcpSettings::new()?;
                (settings.concurrent, settings.connections) = (self.flows, Some(connections));
                (settings.segments, settings.sizes) = (segments, sizes);
                if !self.classes.is_empty() {
                    settings.classes.clone_from(&self.classes);
                }
                Ok(Box::new(Connections::new(settings)?))
            }
        }
    }

    fn plan(&self, interface: &str) -> Plan {
        let rate = if self.rate.is_finite() { Rate::Packets(self.rate) } else { Rate::Flat };
        Plan {
            rate,
            sender: Sender::Auto,
            duration: (self.kind == TrafficKind::Udp).then(|| Duration::from_secs_f64(self.seconds)),
            cpu: Some(SENDING_CORE),
            // A veth's ring holds 256 frames: a sender that was delayed must not fill it at once.
            burst: 128,
            ..Plan::new([interface])
        }
    }
}

/// The figures of a measurement.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Measurement {
    /// The program's name.
    pub program: String,
    /// Flows offered.
    pub flows: u64,
    /// Frame size in bytes, FCS included.
    pub size: u32,
    /// Packets per second that were requested; `None`: as many as possible.
    pub wanted_pps: Option<f64>,
    /// Packets offered, by the generator's account.
    pub offered: u64,
    /// Their bytes without FCS, as programs count them.
    pub offered_bytes: u64,
    /// TCP connections offered.
    pub connections: Option<u64>,
    /// Payload of these connections in both directions, bytes.
    pub payload_bytes: Option<u64>,
    /// Packets offered per second.
    pub offered_pps: f64,
    /// Bits offered per second, on the wire.
    pub offered_bps: f64,
    /// How long it took to offer them.
    pub seconds: f64,
    /// Times that the generator fell behind and skipped what it had missed.
    pub held_up: u64,
    /// Packets that the interface dropped.
    pub lost_interface: u64,
    /// Packets dropped because the programs' rings were full, by their reports.
    pub lost_ring: u64,
    /// Packets in the programs' rings that they had not read when they ended, by their reports.
    pub left_unread: u64,
    /// Packets that the programs received together, by their reports.
    pub got: Option<u64>,
    /// Packets that each instance received, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub each: Vec<u64>,
    /// Offered packets that the programs did not receive, as a share of all.
    pub loss: f64,
    /// Of these, packets that nothing accounts for; negative where packets arrived more than once.
    pub unexplained: i64,
    /// The programs' CPU time while packets were offered and until they were idle, as a share of the time of offering.
    pub cpu: f64,
    /// Of this, the share in user mode.
    pub cpu_user: f64,
    /// CPU time of receiving before programs get the packets, as a share of the same time: soft interrupts on the generator's
    /// core, or the NAPI thread.
    pub softirq: f64,
    /// How busy the receiving core was.
    pub core: f64,
    /// How long the programs worked after the last packet, seconds.
    pub backlog_s: f64,
    /// CPU seconds of the programs from start to end, as the kernel accounts for them.
    pub total_cpu_s: f64,
    /// Greatest resident memory of a program, bytes.
    pub peak_bytes: u64,
    /// Whether the flows' packets and bytes add up to what was offered; `None` where there is nothing to compare, or loss.
    pub exact: Option<bool>,
    /// Report of the (first) program.
    #[serde(rename = "said")]
    pub output: PeerOutput,
    /// System calls while packets were offered, where strace counted them.
    pub traced_calls: Option<u64>,
    /// Why there are no figures.
    pub failed: Option<String>,
}

impl Measurement {
    /// Whether all offered packets were received, and nothing was left in the ring for longer than a tenth of the time
    /// (otherwise rings would hide overload).
    #[must_use]
    pub fn holds(&self) -> bool {
        self.failed.is_none() && self.loss == 0.0 && self.backlog_s <= (self.seconds / 10.0).max(0.1)
    }

    /// The same, with whether the generator reached the requested rate.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let is_less = self.wanted_pps.is_none_or(|wanted| self.offered_pps < wanted * 0.9);
        match (self.holds(), is_less) {
            (false, _) => Verdict::Lost,
            (true, true) => Verdict::HeldLess,
            (true, false) => Verdict::Held,
        }
    }

    /// CPU time of programs and soft interrupts together, nanoseconds per packet offered.
    #[must_use]
    pub fn ns_per_packet(&self) -> f64 {
        (self.cpu + self.softirq) * self.seconds * 1e9 / self.offered.max(1) as f64
    }

    /// CPU time of the programs alone, nanoseconds per packet that they received.
    #[must_use]
    pub fn program_ns_per_packet(&self) -> f64 {
        self.cpu * self.seconds * 1e9 / self.received().max(1) as f64
    }

    /// Packets that the programs received together.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.got.unwrap_or(0)
    }

    /// Packets that the interface delivered.
    fn link_packets(&self) -> u64 {
        self.offered.saturating_sub(self.lost_interface)
    }

    /// Packets that the interface delivered, as a share of the packets offered.
    #[must_use]
    pub fn link_received(&self) -> f64 {
        1.0 - self.lost_interface.min(self.offered) as f64 / self.offered.max(1) as f64
    }

    /// Packets that the programs received, as a share of what the interface delivered.
    #[must_use]
    pub fn application_received(&self) -> f64 {
        self.received() as f64 / self.link_packets().max(1) as f64
    }

    /// Packets that the programs' full rings dropped, as a share of what the interface delivered.
    #[must_use]
    pub fn application_dropped(&self) -> f64 {
        self.lost_ring as f64 / self.link_packets().max(1) as f64
    }

    /// Offered packets that no program read and no counter of interface or ring shows as dropped. What was left unread in a
    /// ring counts here, because not every library reports it.
    #[must_use]
    pub fn not_read(&self) -> i64 {
        self.unexplained + self.left_unread.cast_signed()
    }

    /// The measurement, or why it failed.
    ///
    /// # Errors
    /// It failed.
    pub fn succeeded(self) -> Result<Self, String> {
        match self.failed {
            Some(why) => Err(why),
            None => Ok(self),
        }
    }
}

/// Counters that are read before and after.
struct Counters {
    process: u64,
    split: [u64; 2],
    softirq: u64,
    core: cpu::Core,
    dropped: u64,
}

impl Counters {
    fn read(testbed: &Testbed<'_>, running: &[Running]) -> Result<Self, String> {
        let split = running.iter().map(Running::user_and_system_ns);
        Ok(Self {
            process: running.iter().map(Running::cpu_ns).sum(),
            split: split.fold([0; 2], |sum, split| [sum[0] + split[0], sum[1] + split[1]]),
            softirq: if testbed.napi.is_empty() {
                cpu::core(SENDING_CORE).softirq_ns
            } else {
                testbed.napi.iter().map(|thread| cpu::process_ns(*thread)).sum()
            },
            core: cpu::core(CORE),
            dropped: testbed.received()?.rx_dropped,
        })
    }
}

/// Offers a load to the instances of a program (or, without one, to no listener) and measures.
///
/// # Errors
/// The testbed or the generator fails. If a program fails, the measurement says so.
pub fn measure(testbed: &Testbed<'_>, programs: &[Program], load: &Load) -> Result<Measurement, String> {
    measure_traffic(testbed, programs, load.traffic()?.as_mut(), load)
}

/// As [`measure`] with other packets, at the load's rate and for its time.
///
/// # Errors
/// As [`measure`].
pub fn measure_traffic(
    testbed: &Testbed<'_>,
    programs: &[Program],
    traffic: &mut dyn Traffic,
    load: &Load,
) -> Result<Measurement, String> {
    let mut measured = Measurement {
        program: programs.first().map_or("no program", |program| &program.name).to_owned(),
        flows: load.flows,
        size: load.size,
        wanted_pps: load.rate.is_finite().then_some(load.rate),
        ..Measurement::default()
    };
    let running: Result<Vec<_>, _> = programs.iter().map(|program| Running::start(program, testbed)).collect();
    let running = match running {
        Ok(running) => running,
        Err(why) => {
            measured.failed = Some(why);
            return Ok(measured);
        }
    };
    let trace = match running.first() {
        Some(first) if programs.iter().any(|program| program.traced) => Some(Trace::begin(first)?),
        _ => None,
    };
    let dropped = testbed.received()?.rx_dropped;
    let warm_up = warm_up(testbed, load)?;
    let before = Counters { dropped, ..Counters::read(testbed, &running)? };
    let report = send(traffic, &load.plan(&testbed.sender))?;
    let backlog = running.iter().map(|one| one.wait_until_idle(Duration::from_secs(5))).max();
    let after = Counters::read(testbed, &running)?;
    measured.traced_calls = trace.and_then(Trace::end);
    measured.note_load(&report, &before, &after);
    if let Some(warm_up) = warm_up {
        measured.offered += warm_up.packets;
        measured.offered_bytes += warm_up.bytes.saturating_sub(4 * warm_up.packets);
    }
    measured.backlog_s = backlog.unwrap_or_default().as_secs_f64();
    measured.end(testbed, running);
    Ok(measured)
}

/// Sends one packet of each flow.
fn warm_up(testbed: &Testbed<'_>, load: &Load) -> Result<Option<Report>, String> {
    if load.warm_up_pps == 0.0 {
        return Ok(None);
    }
    let mut flows = Flows::udp(load.flows, Sizes::fixed(load.size)?)?;
    let slow = Load { rate: load.warm_up_pps, ..load.clone() };
    let plan = Plan { packets: Some(load.flows), duration: None, ..slow.plan(&testbed.sender) };
    let report = send(&mut flows, &plan)?;
    std::thread::sleep(Duration::from_millis(100));
    Ok(Some(report))
}

/// Offers a load without measuring anything; the generator's account of it.
///
/// # Errors
/// The generator fails.
pub(crate) fn offer(testbed: &Testbed<'_>, load: &Load) -> Result<Report, String> {
    send(load.traffic()?.as_mut(), &load.plan(&testbed.sender))
}

fn send(traffic: &mut dyn Traffic, plan: &Plan) -> Result<Report, String> {
    let never = AtomicBool::new(false);
    run(traffic, plan, &never, &mut |_| {}).map_err(|error| error.to_string())
}

impl Measurement {
    fn note_load(&mut self, report: &Report, before: &Counters, after: &Counters) {
        let seconds = report.elapsed.as_secs_f64().max(1e-6);
        self.seconds = seconds;
        self.offered = report.packets;
        self.held_up = report.late;
        let count_of = |name: &str| report.tally.iter().find(|(counted, _)| *counted == name).map(|(_, count)| *count);
        self.connections = count_of("connections_closed");
        self.payload_bytes = count_of("client_payload_bytes").zip(count_of("server_payload_bytes")).map(|(a, b)| a + b);
        self.offered_bytes = report.bytes.saturating_sub(4 * report.packets);
        self.offered_pps = report.packets_per_s();
        self.offered_bps = report.cable_bits_per_s();
        let share = |before: u64, after: u64| after.saturating_sub(before) as f64 / 1e9 / seconds;
        self.cpu = share(before.process, after.process);
        let [user, system] = [0, 1].map(|index| share(before.split[index], after.split[index]));
        self.cpu_user = if user + system > 0.0 { user / (user + system) } else { 0.0 };
        self.softirq = share(before.softirq, after.softirq);
        self.core = share(before.core.busy_ns, after.core.busy_ns);
        self.lost_interface = after.dropped.saturating_sub(before.dropped);
    }

    /// Ends the programs and adds what they report.
    fn end(&mut self, testbed: &Testbed<'_>, running: Vec<Running>) {
        let count = running.len();
        let mut outputs = Vec::new();
        for one in running {
            match one.end(testbed) {
                Ok((output, usage)) => {
                    self.total_cpu_s += usage.cpu_s();
                    self.peak_bytes = self.peak_bytes.max(usage.peak_bytes);
                    self.lost_ring += output.ring_lost.unwrap_or(0);
                    self.left_unread += output.left_unread.unwrap_or(0);
                    outputs.push(output);
                }
                Err(why) => self.failed = Some(why),
            }
        }
        let received: Option<Vec<u64>> = outputs.iter().map(|output| output.packets).collect();
        match received {
            _ if count == 0 || self.failed.is_some() => {}
            Some(each) => self.note_received(each),
            None => self.failed = Some("the program did not report what it received".into()),
        }
        if let Some(first) = outputs.into_iter().next() {
            if self.loss == 0.0 {
                let sums = first.flow_packets.zip(first.flow_bytes);
                self.exact = sums.map(|sums| sums == (self.offered, self.offered_bytes));
            }
            self.output = first;
        }
    }

    fn note_received(&mut self, each: Vec<u64>) {
        let got = each.iter().sum();
        self.got = Some(got);
        self.loss = self.offered.saturating_sub(got) as f64 / self.offered.max(1) as f64;
        // A frame that an AF_XDP ring has no room for counts as dropped by the interface as well.
        let known = got + self.lost_ring + self.left_unread;
        self.lost_interface = self.lost_interface.min(self.offered.saturating_sub(known));
        self.unexplained = self.offered.cast_signed() - (known + self.lost_interface).cast_signed();
        if each.len() > 1 {
            self.each = each;
        }
    }
}
