//! System calls per packet at full load.

use crate::live::series::{available, single};
use crate::{
    live::{
        measurement::Load,
        settings::Settings,
        testbed::Testbed,
        tools::{RING_BYTES, tcpdump},
    },
    report::{Goal, Section, Table, percent, rate},
};

/// NCAP's goal: system calls per delivered packet.
const GOAL: f64 = 0.001;
/// A rate that all programs hold, packets per second.
const RATE: f64 = 800_000.0;

pub(super) fn run(settings: &Settings) -> Result<Section, String> {
    let mut section = Section {
        title: "System calls a packet at full load".into(),
        text: format!(
            "64-byte frames of 1,000 flows at {}, which all of them hold. Calls are counted by the program where it \
             does so, and by strace for the whole process.",
            rate(RATE)
        ),
        ..Section::default()
    };
    let programs = vec![
        settings.tools.tidewire("tidewire, packet socket", "count", &["--engine", "packet", "--json"]),
        settings.tools.tidewire("tidewire, AF_XDP", "count", &["--engine", "xdp", "--tap", "--json"]),
        settings.tools.pcap_loop("libpcap loop", 0, RING_BYTES),
        tcpdump(),
    ];
    let programs = available(programs, &mut section);
    let columns = ["program", "offered", "lost %", "own count", "own count, a packet", "strace", "strace, a packet"];
    let mut table = Table::new("", &columns);
    let load = Load::udp(1000, 64, RATE, settings.seconds());
    Testbed::inside(settings.receiving, |testbed| {
        for program in &programs {
            let Some(plain) = single(testbed, program, &load, &mut section)? else { continue };
            let Some(traced) = single(testbed, &program.clone().traced(), &load, &mut section)? else { continue };
            let each = |calls: Option<u64>, packets: Option<u64>| {
                calls.zip(packets).map(|(calls, packets)| calls as f64 / packets.max(1) as f64)
            };
            let (own, strace) = (each(plain.output.calls, plain.got), each(traced.traced_calls, traced.got));
            let count = |calls: Option<u64>| calls.map_or("–".into(), |calls| calls.to_string());
            let share = |each: Option<f64>| each.map_or("–".into(), |each| format!("{each:.6}"));
            table.lines.push(vec![
                program.name.clone(),
                rate(plain.offered_pps),
                percent(plain.loss),
                count(plain.output.calls),
                share(own),
                count(traced.traced_calls),
                share(strace),
            ]);
            if program.name.starts_with("tidewire") {
                section.goals.push(Goal {
                    work: None,
                    wanted: format!("{}: at most {GOAL} system calls a packet", program.name),
                    figure: format!("{} by its own count, {} by strace", share(own), share(strace)),
                    met: own.into_iter().chain(strace).reduce(f64::max).map(|each| each <= GOAL),
                });
            }
        }
        Ok(())
    })?;
    section.tables.push(table);
    Ok(section)
}
