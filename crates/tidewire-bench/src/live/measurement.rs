//! One measurement: a load offered for a few seconds, and where its packets went.

use std::{sync::atomic::AtomicBool, time::Duration};

use serde::Serialize;
use tidewire_gen::{
    Plan, Rate, Report, Sender, Sizes, run,
    traffic::{Class, Connections, Flows, Order, TcpSettings, Traffic},
};

use super::{
    cpu,
    program::{Program, Running, Trace},
    said::Said,
    stage::{RECEIVING_CORE, SENDING_CORE, Stage},
    sweep::Verdict,
};

/// What packets are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// UDP, each packet of any flow.
    Udp,
    /// TCP connections from SYN to FIN, as many at once as there are flows, one packet of each after the other.
    Tcp {
        /// Connections in all.
        connections: u64,
        /// Segments of data from each server.
        segments: u32,
    },
}

/// What is offered.
#[derive(Clone, Debug)]
pub struct Load {
    /// What packets are.
    pub kind: Kind,
    /// Flows at once.
    pub flows: u64,
    /// Bytes on the cable, FCS included.
    pub size: u32,
    /// Packets a second; infinite: flat out.
    pub rate: f64,
    /// How long.
    pub seconds: f64,
    /// Classes of flows, by port; empty: all the same.
    pub classes: Vec<Class>,
    /// UDP: a packet of each flow before, at this rate, so that all flows are known when measuring begins; 0: none.
    pub greeting: f64,
}

impl Load {
    /// UDP of this many flows, all alike.
    #[must_use]
    pub fn udp(flows: u64, size: u32, rate: f64, seconds: f64) -> Self {
        Self { kind: Kind::Udp, flows, size, rate, seconds, classes: Vec::new(), greeting: 0.0 }
    }

    /// The packets.
    ///
    /// # Errors
    /// What the generator says of the settings.
    pub(crate) fn traffic(&self) -> Result<Box<dyn Traffic>, String> {
        let sizes = Sizes::fixed(self.size)?;
        match self.kind {
            Kind::Udp => {
                let mut flows = Flows::udp(self.flows, sizes)?;
                flows.order = Order::Random;
                if !self.classes.is_empty() {
                    flows.set_classes(self.classes.clone())?;
                }
                Ok(Box::new(flows))
            }
            Kind::Tcp { connections, segments } => {
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
            duration: (self.kind == Kind::Udp).then(|| Duration::from_secs_f64(self.seconds)),
            cpu: Some(SENDING_CORE),
            // A veth's ring holds 256 frames: a sender that was held up must not fill it at once.
            burst: 128,
            ..Plan::new([interface])
        }
    }
}

/// What a measurement showed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Point {
    /// Whose.
    pub program: String,
    /// Flows offered.
    pub flows: u64,
    /// Bytes of a frame on the cable.
    pub size: u32,
    /// Packets a second that were asked for; `None`: flat out.
    pub wanted_pps: Option<f64>,
    /// Packets offered, by the generator's account.
    pub offered: u64,
    /// Their bytes without FCS, as programs count them.
    pub offered_bytes: u64,
    /// TCP connections offered, and their payload in both directions.
    pub connections: Option<u64>,
    /// See `connections`.
    pub payload_bytes: Option<u64>,
    /// Packets offered a second.
    pub offered_pps: f64,
    /// Bits offered a second, on the cable.
    pub offered_bps: f64,
    /// How long it took to offer them.
    pub seconds: f64,
    /// Times that the generator was held up and gave up what it had missed.
    pub held_up: u64,
    /// Packets for which the interface had no room.
    pub lost_interface: u64,
    /// Packets for which the program's ring had no room, by its statement.
    pub lost_ring: u64,
    /// Packets that were in the program's ring when it ended, by its statement: it never looked at them.
    pub left_unread: u64,
    /// Packets that the program got, by its statement.
    pub got: Option<u64>,
    /// Offered packets that the program did not get, as a share of all.
    pub loss: f64,
    /// Of these, packets that nobody accounts for.
    pub unexplained: i64,
    /// The program's CPU time while packets were offered, and until it was idle, as a share of the time of offering.
    pub cpu: f64,
    /// Of these, the share in user mode.
    pub cpu_user: f64,
    /// The same of receiving before programs get anything: soft interrupts on the generator's core, or the NAPI thread.
    pub softirq: f64,
    /// How busy the receiving core was.
    pub core: f64,
    /// How long the program went on after the last packet, seconds.
    pub backlog_s: f64,
    /// CPU seconds of the program from start to end, as the kernel accounts for them.
    pub total_cpu_s: f64,
    /// Greatest resident memory, bytes.
    pub peak_bytes: u64,
    /// Whether the flows' packets and bytes add up to what was offered; `None` where there is nothing to compare, or loss.
    pub exact: Option<bool>,
    /// What the program said.
    pub said: Said,
    /// System calls while packets were offered, where strace counted them.
    pub traced_calls: Option<u64>,
    /// What failed.
    pub failed: Option<String>,
}

impl Point {
    /// Whether all that was offered was received, as it came: nothing is lost, and nothing was left in the ring for
    /// longer than a tenth of the time (rings would hide overload else).
    #[must_use]
    pub fn holds(&self) -> bool {
        self.failed.is_none() && self.loss == 0.0 && self.backlog_s <= (self.seconds / 10.0).max(0.1)
    }

    /// The same with what the generator could do.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let is_less = self.wanted_pps.is_none_or(|wanted| self.offered_pps < wanted * 0.9);
        match (self.holds(), is_less) {
            (false, _) => Verdict::Lost,
            (true, true) => Verdict::HeldLess,
            (true, false) => Verdict::Held,
        }
    }

    /// CPU time of program and soft interrupts together, nanoseconds a packet offered.
    #[must_use]
    pub fn ns_per_packet(&self) -> f64 {
        (self.cpu + self.softirq) * self.seconds * 1e9 / self.offered.max(1) as f64
    }
}

/// What is read before and after.
struct Reading {
    process: u64,
    split: [u64; 2],
    softirq: u64,
    core: cpu::Core,
    dropped: u64,
}

impl Reading {
    fn take(stage: &Stage<'_>, running: Option<&Running>) -> Result<Self, String> {
        Ok(Self {
            process: running.map_or(0, Running::cpu_ns),
            split: running.map_or([0; 2], Running::user_and_system_ns),
            softirq: if stage.napi.is_empty() {
                cpu::core(SENDING_CORE).softirq_ns
            } else {
                stage.napi.iter().map(|thread| cpu::process_ns(*thread)).sum()
            },
            core: cpu::core(RECEIVING_CORE),
            dropped: stage.received()?.rx_dropped,
        })
    }
}

/// Offers a load to a program (or to nobody) and measures.
///
/// # Errors
/// The stage or the generator fails; a program that fails is a point that says so.
pub fn measure(stage: &Stage<'_>, program: Option<&Program>, load: &Load) -> Result<Point, String> {
    let mut point = Point {
        program: program.map_or("nobody", |program| &program.name).to_owned(),
        flows: load.flows,
        size: load.size,
        wanted_pps: load.rate.is_finite().then_some(load.rate),
        ..Point::default()
    };
    let running = match program.map(|program| program.start(stage)).transpose() {
        Ok(running) => running,
        Err(why) => {
            point.failed = Some(why);
            return Ok(point);
        }
    };
    let trace = match (&running, program.is_some_and(|program| program.traced)) {
        (Some(running), true) => Some(Trace::begin(running)?),
        _ => None,
    };
    let dropped = stage.received()?.rx_dropped;
    let greeted = greet(stage, load)?;
    let before = Reading { dropped, ..Reading::take(stage, running.as_ref())? };
    let mut traffic = load.traffic()?;
    let report = offer(stage, traffic.as_mut(), load)?;
    let backlog = match &running {
        Some(running) => running.wait_until_idle(Duration::from_secs(5)),
        None => Duration::ZERO,
    };
    let after = Reading::take(stage, running.as_ref())?;
    point.traced_calls = trace.and_then(Trace::end);
    point.note(&report, &before, &after);
    if let Some(greeted) = greeted {
        point.offered += greeted.packets;
        point.offered_bytes += greeted.bytes.saturating_sub(4 * greeted.packets);
    }
    point.backlog_s = backlog.as_secs_f64();
    if let Some(running) = running {
        match running.end(stage) {
            Ok((said, usage)) => {
                point.total_cpu_s = usage.user_s + usage.system_s;
                point.peak_bytes = usage.peak_bytes;
                point.hear(said);
            }
            Err(why) => point.failed = Some(why),
        }
    }
    Ok(point)
}

/// Sends one packet of each flow.
fn greet(stage: &Stage<'_>, load: &Load) -> Result<Option<Report>, String> {
    if load.greeting == 0.0 {
        return Ok(None);
    }
    let mut flows = Flows::udp(load.flows, Sizes::fixed(load.size)?)?;
    let slow = Load { rate: load.greeting, ..load.clone() };
    let plan = Plan { packets: Some(load.flows), duration: None, ..slow.plan(&stage.sender) };
    let report = send(&mut flows, &plan)?;
    std::thread::sleep(Duration::from_millis(100));
    Ok(Some(report))
}

pub(crate) fn offer(stage: &Stage<'_>, traffic: &mut dyn Traffic, load: &Load) -> Result<Report, String> {
    send(traffic, &load.plan(&stage.sender))
}

fn send(traffic: &mut dyn Traffic, plan: &Plan) -> Result<Report, String> {
    let never = AtomicBool::new(false);
    run(traffic, plan, &never, &mut |_| {}).map_err(|error| error.to_string())
}

impl Point {
    fn note(&mut self, report: &Report, before: &Reading, after: &Reading) {
        let seconds = report.elapsed.as_secs_f64().max(1e-6);
        self.seconds = seconds;
        self.offered = report.packets;
        self.held_up = report.late;
        let told = |name: &str| report.tally.iter().find(|(told, _)| *told == name).map(|(_, count)| *count);
        self.connections = told("connections_closed");
        self.payload_bytes = told("client_payload_bytes").zip(told("server_payload_bytes")).map(|(a, b)| a + b);
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

    fn hear(&mut self, said: Said) {
        self.got = said.packets;
        self.lost_ring = said.ring_lost.unwrap_or(0);
        self.left_unread = said.left_unread.unwrap_or(0);
        if let Some(got) = said.packets {
            self.loss = self.offered.saturating_sub(got) as f64 / self.offered.max(1) as f64;
            // A frame that an AF_XDP ring has no room for counts as dropped by the interface as well.
            let known = got + self.lost_ring + self.left_unread;
            self.lost_interface = self.lost_interface.min(self.offered.saturating_sub(known));
            let explained = known + self.lost_interface;
            self.unexplained = self.offered.cast_signed() - explained.cast_signed();
        } else {
            self.failed = Some("said nothing of what it received".into());
        }
        if self.loss == 0.0 {
            let sums = said.flow_packets.zip(said.flow_bytes);
            self.exact = sums.map(|sums| sums == (self.offered, self.offered_bytes));
        }
        self.said = said;
    }
}
