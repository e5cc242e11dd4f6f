//! Overload: more packets than the worker can process, and the loss of the high-priority class.

use crate::live::series::{available, single};
use crate::{
    live::{
        measurement::{Load, Measurement},
        settings::Settings,
        testbed::Testbed,
        tools::Maybe,
    },
    report::{Goal, Section, Table, percent, rate},
};
use tidewire_gen::traffic::Class;

/// Work per delivery, nanoseconds: at most 20,000 deliveries a second, so that receiving the excess leaves CPU to the worker.
const WORK_NS: u64 = 50_000;
/// Capacity of the worker, packets per second.
const CAPACITY: f64 = 1e9 / WORK_NS as f64;
/// The class that must not lose packets: its port, and its share of the flows in 128.
const HIGH: Class = Class { port: 443, dscp: 0, share: 16 };
const LOW: Class = Class { port: 80, dscp: 0, share: 112 };
/// A small ring, which fills soon.
const RING_BYTES: u64 = 16 << 20;

fn programs(settings: &Settings) -> Vec<Maybe> {
    let work = WORK_NS.to_string();
    let port = HIGH.port.to_string();
    let ring = RING_BYTES.to_string();
    let slow = ["--work-ns", work.as_str(), "--ring", ring.as_str()];
    let classed = [&slow[..], &["--high-port", &port]].concat();
    vec![
        settings.tools.streams("packet socket, classes", "count", &classed),
        settings.tools.streams("AF_XDP, classes", "count", &[&classed[..], &["--xdp"]].concat()),
        settings.tools.pcap_loop("libpcap loop (no classes)", WORK_NS, RING_BYTES),
    ]
}

pub(super) fn run(settings: &Settings) -> Result<Section, String> {
    let mut section = Section {
        title: "Overload: what the high-priority class loses".into(),
        text: format!(
            "128-byte frames of 1,000 flows of UDP; each delivery keeps the worker busy for {} µs, so that it can do {}. One \
             flow in eight is of the class of high priority. The kernel sheds packets of low priority before they are copied, by \
             the level that the worker publishes. libpcap has no classes: what it loses, all lose.",
            WORK_NS / 1000,
            rate(CAPACITY)
        ),
        ..Section::default()
    };
    let programs = available(programs(settings), &mut section);
    let columns = [
        "overload",
        "program",
        "offered",
        "lost or shed %",
        "high offered",
        "high received",
        "high lost",
        "high lost, %",
        "ring %",
        "shed %",
    ];
    let mut table = Table::new("", &columns);
    // Long enough for the ring to fill: shedding begins then.
    let seconds = if settings.quick { 3.0 } else { 6.0 };
    Testbed::inside(settings.receiving, |testbed| {
        for factor in [2.0, 5.0] {
            for program in &programs {
                let load = Load { classes: vec![HIGH, LOW], ..Load::udp(1000, 128, CAPACITY * factor, seconds) };
                let Some(point) = single(testbed, program, &load, &mut section)? else { continue };
                let offered = high_offered(&load, point.offered)?;
                let got = point.output.high_packets.map(|got| got.saturating_sub(high_shed(&point)));
                let lost = got.map(|got| offered.saturating_sub(got));
                let count = |count: Option<u64>| count.map_or("–".into(), |count| count.to_string());
                let share = |lost: u64| percent(lost as f64 / offered.max(1) as f64);
                let of_all = |count: u64| percent(count as f64 / point.offered.max(1) as f64);
                table.lines.push(vec![
                    format!("{factor:.0} ×"),
                    program.name.clone(),
                    rate(point.offered_pps),
                    percent(point.loss.max(shed(&point) as f64 / point.offered.max(1) as f64)),
                    offered.to_string(),
                    count(got),
                    count(lost),
                    lost.map_or("–".into(), share),
                    of_all(point.lost_ring),
                    of_all(shed(&point)),
                ]);
                if program.name.contains(", classes") {
                    section.goals.push(Goal {
                        work: None,
                        wanted: format!("{factor:.0} × overload, {}: the high class loses nothing", program.name),
                        figure: format!("{} of {offered} packets lost", count(lost)),
                        met: lost.map(|lost| lost == 0),
                    });
                }
            }
        }
        Ok(())
    })?;
    section.tables.push(table);
    Ok(section)
}

/// Packets shed, by the engine or before it.
fn shed(point: &Measurement) -> u64 {
    levels(point, "shed_by_priority").iter().chain(&levels(point, "kernel_shed")).sum()
}

/// High-priority packets shed, by the engine or before it, even if they were counted.
fn high_shed(point: &Measurement) -> u64 {
    ["shed_by_priority", "kernel_shed"].iter().filter_map(|name| levels(point, name).last().copied()).sum()
}

fn levels(point: &Measurement, name: &str) -> Vec<u64> {
    let all = point.output.all.get(name).and_then(|levels| levels.as_array());
    all.map_or_else(Vec::new, |levels| levels.iter().filter_map(serde_json::Value::as_u64).collect())
}

/// How many of the first `offered` packets have high priority: a packet's number determines the packet.
fn high_offered(load: &Load, offered: u64) -> Result<u64, String> {
    let mut traffic = load.traffic()?;
    let mut frame = vec![0; traffic.bytes_max()];
    let mut high = 0;
    for number in 0..offered {
        if traffic.next(number, &mut frame).is_none() {
            break;
        }
        // Ethernet and IPv4 without options: the destination's port is at 36.
        let port = frame.get(36..38).and_then(|port| port.try_into().ok()).map(u16::from_be_bytes);
        high += u64::from(port == Some(HIGH.port));
    }
    Ok(high)
}
