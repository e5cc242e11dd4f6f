//! Counters of a live capture, as text and as JSON.

use std::fmt::Write as _;

use tidewire::{
    Ledger,
    legible::legible,
    live::{
        Change, InterfaceCounts, InterfaceEvent, InterfaceProblem, InterfaceReport, InterfaceState, KernelCounters,
        LiveError, LiveReport, LostPackets, Purpose, RingCounts, WorkerReport,
    },
};
use tidewire_filter::Unseen;

use crate::{
    advice::{WithHint, described},
    error,
    output::{Object, push_number},
    units::{Bytes, Count, counted},
};

/// Reports the engine of the interfaces, and the reason: those with the same on one line.
pub fn say_engines(interfaces: &[InterfaceReport]) {
    for (names, description) in by_engine(interfaces) {
        error::notify(format_args!("{}: {description}", names.join(", ")));
    }
}

/// Reports what a filter does not see in the kernel, where it is applied to each frame by itself.
pub fn say_unseen(unseen: Unseen) {
    if let Some(notice) = unseen_words(unseen) {
        error::notify(notice);
    }
}

fn unseen_words(unseen: Unseen) -> Option<String> {
    let fragments =
        unseen.later_fragments.then_some("no ports in later fragments ('or (ip[6:2] & 0x1fff != 0)' accepts them)");
    let headers =
        unseen.behind_headers.then_some("nothing behind further headers of IPv6 (routing, the length of BIG TCP)");
    let parts: Vec<_> = [fragments, headers].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("the kernel filters each frame by itself: it sees {}", parts.join(", and ")))
}

/// Names of interfaces by how their frames are captured, in the order of the first.
fn by_engine(interfaces: &[InterfaceReport]) -> Vec<(Vec<&str>, String)> {
    let mut groups: Vec<(Vec<&str>, String)> = Vec::new();
    for interface in interfaces {
        let description = described(interface);
        match groups.iter_mut().find(|(_, known)| *known == description) {
            Some((names, _)) => names.push(&interface.name),
            None => groups.push((vec![&interface.name], description)),
        }
    }
    groups
}

/// Reports interfaces that are down at the start: no event would report them later.
pub fn say_down(interfaces: &[InterfaceReport]) {
    for interface in interfaces.iter().filter(|interface| interface.state != InterfaceState::Up) {
        error::notify(Change::Down.describe(&interface.name, Purpose::Capture));
    }
}

/// Reports an event of an interface.
pub fn say_event(event: &InterfaceEvent) {
    error::notify(event);
}

/// Reports an error that does not end the capture. Every ring of every worker notices an interface that is down or gone; events
/// report that once.
pub fn say_trouble(error: &LiveError) {
    let is_reported = matches!(
        error,
        LiveError::Interface {
            problem: InterfaceProblem::Down | InterfaceProblem::Gone | InterfaceProblem::GoneForGood,
            ..
        }
    );
    if !is_reported {
        error::notify(WithHint(error));
    }
}

/// The part of the ledger before the engine, as text: by place, starting at the wire. Counters of zero are omitted, except
/// received packets.
pub fn text(report: &LiveReport, ledger: &Ledger) -> String {
    let mut lines: Vec<(String, u64, String)> = Vec::new();
    let mut line = |name: &str, count: u64, note: String| lines.push((name.to_owned(), count, note));
    for interface in &report.interfaces {
        let name = &legible(&interface.name);
        let Some(counts) = &interface.counts else {
            line(name, 0, "the interface is gone, and its counts with it".into());
            continue;
        };
        line(&format!("{name}: received"), counts.rx_packets, Bytes(counts.rx_bytes).to_string());
        let others = [
            ("  sent", counts.tx_packets),
            ("  dropped", counts.rx_dropped),
            ("  missed", counts.rx_missed),
            ("  damaged", counts.rx_errors),
        ];
        let kernel = interface.kernel.as_ref().map(places).unwrap_or_default();
        let steered = ("  steered out", interface.steered_out);
        let program = interface.kernel.map(|kernel| ("  seen by the program", kernel.received));
        let all = others.into_iter().chain(program).chain(kernel).chain([steered]);
        all.filter(|(_, count)| *count > 0).for_each(|(name, count)| line(name, count, String::new()));
    }
    let unclaimed = report.unattributed_packets(ledger);
    if unclaimed > 0 {
        line("counted for no stream", unclaimed, String::new());
    }
    let rings = report.rings();
    line("rings: received", rings.received, String::new());
    let unread = left_unread(report, ledger);
    let lost = [("  no room", rings.dropped), ("  failed", rings.failed), ("  left unread", unread)];
    lost.iter().filter(|(_, count)| *count > 0).for_each(|(name, count)| line(name, *count, String::new()));
    line("  system calls", rings.calls, format!("{:.4} a packet", calls_per_packet(&rings)));
    let late: u64 = report.workers.iter().map(|worker| worker.late).sum();
    if late > 0 {
        line("  out of order", late, String::new());
    }
    lines.iter().fold(String::new(), |mut text, (name, count, note)| {
        let note = if note.is_empty() { String::new() } else { format!("  {note}") };
        let _ = writeln!(text, "{name:<24}{:>16}{note}", Count(*count).to_string());
        text
    })
}

/// The places at which packets were lost before they could be read, in words, starting at the wire.
pub fn lost_places(lost: &LostPackets) -> [(&'static str, u64); 6] {
    [
        ("missed by the card", lost.missed_by_card),
        ("damaged", lost.damaged),
        ("dropped by the interface", lost.dropped_by_interface),
        ("without a socket", lost.without_socket),
        ("no room in a ring", lost.without_room_in_ring),
        ("failed before a ring", lost.failed_before_ring),
    ]
}

/// The same as a list for a sentence; places without losses are omitted.
pub fn lost_list(lost: &LostPackets) -> String {
    let places = lost_places(lost).into_iter().filter(|(_, count)| *count > 0);
    places.map(|(place, count)| format!("{} {place}", Count(count))).collect::<Vec<_>>().join(", ")
}

/// Reports packets lost before they could be read: the gaps that they leave otherwise look like losses of the network.
pub fn say_lost(report: &LiveReport) {
    let lost = report.lost();
    if lost.total() > 0 {
        let hint = if lost.without_room_in_ring > 0 { "; --ring makes rings larger" } else { "" };
        let packets = counted(lost.total(), "packet was", "packets were");
        error::notify(format_args!("{packets} lost before they could be read: {}{hint}", lost_list(&lost)));
    }
}

/// Packets left in the rings when `--packets` was reached.
fn left_unread(report: &LiveReport, ledger: &Ledger) -> u64 {
    report.rings().received.saturating_sub(ledger.received)
}

fn calls_per_packet(rings: &RingCounts) -> f64 {
    if rings.received == 0 { 0.0 } else { rings.calls as f64 / rings.received as f64 }
}

/// Appends the member `live`.
pub fn push_json(object: &mut Object<'_>, report: &LiveReport, ledger: &Ledger) {
    object.object("live", |object| {
        object.array("interfaces", &report.interfaces, |out, interface| {
            let mut object = Object::open(out);
            object.text("name", &interface.name);
            match &interface.current_name {
                Some(name) => object.text("current_name", name),
                None => object.null("current_name"),
            }
            object.text("state", interface.state.name());
            object.text("engine", interface.method.name());
            object.text("engine_detail", &described(interface));
            match &interface.counts {
                Some(counts) => push_counts(&mut object, counts),
                None => object.null("received"),
            }
            match &interface.kernel {
                Some(kernel) => object.object("kernel", |object| push_kernel(object, kernel)),
                None => object.null("kernel"),
            }
            object.number("steered_out", interface.steered_out);
            object.close();
        });
        push_rings(object, &report.rings());
        object.number("left_unread", left_unread(report, ledger));
        object.number("shunted_packets", ledger.shunted_packets);
        object.number("shunted_bytes", ledger.shunted_bytes);
        object.number("unclaimed_packets", report.unattributed_packets(ledger));
        object.array("workers", report.workers.iter().enumerate(), |out, (index, worker)| {
            let mut object = Object::open(out);
            push_worker(&mut object, index, worker);
            object.close();
        });
    });
}

/// Fates of packets in the kernel program; their sum is what it received.
fn places(kernel: &KernelCounters) -> Vec<(&'static str, u64)> {
    vec![
        ("    filtered", kernel.filtered),
        ("    cut off", kernel.cut),
        ("    shed", kernel.shed.iter().sum()),
        ("    steered out", kernel.unsteered),
        ("    no socket", kernel.absent),
        ("    passed on", kernel.delivered),
    ]
}

/// Appends these counters by name.
fn push_kernel(object: &mut Object<'_>, kernel: &KernelCounters) {
    object.number("received", kernel.received);
    object.number("received_bytes", kernel.received_bytes);
    object.number("filtered", kernel.filtered);
    object.number("filtered_bytes", kernel.filtered_bytes);
    object.number("cut", kernel.cut);
    object.number("cut_bytes", kernel.cut_bytes);
    object.array("shed", kernel.shed, push_number);
    object.number("shed_bytes", kernel.shed_bytes);
    object.number("unsteered", kernel.unsteered);
    object.number("absent", kernel.absent);
    object.number("delivered", kernel.delivered);
}

fn push_counts(object: &mut Object<'_>, counts: &InterfaceCounts) {
    object.number("received", counts.rx_packets);
    object.number("received_bytes", counts.rx_bytes);
    object.number("sent", counts.tx_packets);
    object.number("sent_bytes", counts.tx_bytes);
    object.number("dropped", counts.rx_dropped);
    object.number("missed", counts.rx_missed);
    object.number("damaged", counts.rx_errors);
}

fn push_rings(object: &mut Object<'_>, rings: &RingCounts) {
    object.object("rings", |object| {
        object.number("received", rings.received);
        object.number("no_room", rings.dropped);
        object.number("failed", rings.failed);
        object.number("calls", rings.calls);
    });
}

fn push_worker(object: &mut Object<'_>, index: usize, worker: &WorkerReport) {
    object.number("worker", index as u64);
    match worker.cpu {
        Some(cpu) => object.number("cpu", cpu as u64),
        None => object.null("cpu"),
    }
    object.number("received", worker.ledger.received);
    object.number("out_of_order", worker.late);
    push_rings(object, &worker.rings);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_filter_does_not_see_in_the_kernel_is_named() {
        let words = |expression: &str| {
            unseen_words(tidewire_filter::Filter::new(expression).expect("an expression").unseen()).unwrap_or_default()
        };
        let (fragments, headers) = ("no ports in later fragments", "nothing behind further headers of IPv6");
        for expression in ["udp port 53", "vlan and tcp port 80", "not port 22"] {
            assert!(words(expression).contains(fragments) && words(expression).contains(headers), "{expression}");
        }
        assert!(!words("tcp").contains(fragments) && words("tcp").contains(headers), "{}", words("tcp"));
        assert!(words("ip and udp port 53").contains(fragments) && !words("ip and udp port 53").contains(headers));
        for expression in ["host 192.0.2.1", "net 2001:db8::/32", "arp", "greater 100", ""] {
            assert_eq!(words(expression), "", "{expression}");
        }
    }

    #[test]
    fn interfaces_with_the_same_engine_share_a_line() {
        let interface = |name: &str, description: &str| {
            let mut report = InterfaceReport::default();
            (report.name, report.description) = (name.into(), description.into());
            report
        };
        let all = [interface("lo", "packet socket"), interface("tun0", "another"), interface("eth0", "packet socket")];
        let groups = by_engine(&all);
        assert_eq!(groups, [(vec!["lo", "eth0"], "packet socket".to_owned()), (vec!["tun0"], "another".to_owned())]);
    }
}
