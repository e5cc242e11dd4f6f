//! Describes packets that are in no flow, for the closing lines.

use tidewire::{Capture, Fate, Handler, Ledger, OtherLink, Stop, Stream};

use crate::{capture_args, options::Common, terminal, units::counted};

/// Ends the run at the first stream.
struct Any(Stop);

impl Handler for Any {
    type Data = ();

    fn open(&mut self, _: &mut Stream<'_, ()>) {
        self.0.stop();
    }
}

/// The lines after the closing one, wrapped to the terminal: packets outside of flows, or that the filter accepted none. Empty
/// if all packets are in flows.
pub fn lines(ledger: &Ledger, common: &Common, stop: &Stop) -> Vec<String> {
    let line = none_accepted(ledger, common, stop).or_else(|| outside_of_flows(ledger));
    let lines = line.into_iter().chain(outliers(ledger)).chain(sliced(ledger));
    lines.flat_map(|line| terminal::wrapped(&line, terminal::width())).collect()
}

/// The packets whose times are wrong.
fn outliers(ledger: &Ledger) -> Option<String> {
    let count = ledger.time_outliers;
    let packets = counted(count, "packet has a time", "packets have times");
    (count > 0).then(|| format!("{packets} more than an hour from those around it; it does not count in flows' times"))
}

/// Reports that the filter accepted no packet, and whether VLAN tags are the reason; not if `stop` is set before that is known.
pub fn none_accepted(ledger: &Ledger, common: &Common, stop: &Stop) -> Option<String> {
    let accepts_none = ledger.received > 0 && ledger.fate(Fate::Filtered) == ledger.received;
    let expression = common.filter_expression().ok().flatten().filter(|_| accepts_none)?;
    let packets = counted(ledger.received, "packet", "packets");
    let tagged = format!("vlan and ({expression})");
    let hint = match accepts_any(&tagged, common, stop) {
        true => format!(" ('{tagged}' reaches tagged frames)"),
        false => String::new(),
    };
    Some(format!("the filter accepted none of {packets}{hint}"))
}

/// Whether an expression accepts any packet of the captures. This reads them again, which is impossible for pipes.
fn accepts_any(expression: &str, common: &Common, stop: &Stop) -> bool {
    let Ok((files, _)) = capture_args::split(&common.files) else { return false };
    if stop.is_stopped() || common.live.is_on() || files.is_empty() || !files.iter().all(|file| file.is_file()) {
        return false;
    }
    let capture = Capture::files(files.iter().cloned()).filter(expression).stop_when(stop);
    let outcome = capture.run(|_| Any(stop.clone()));
    outcome.is_ok_and(|outcome| outcome.ledger.fate(Fate::Filtered) < outcome.ledger.received)
}

/// The number of packets read, and the kinds of those outside of flows.
fn outside_of_flows(ledger: &Ledger) -> Option<String> {
    let of = |fate: Fate| ledger.fate(fate);
    let datagrams = counted(ledger.datagrams_rebuilt, "datagram", "datagrams");
    let kinds = [
        (Fate::FragmentRebuilt, "fragment", "fragments", format!(" of {datagrams}")),
        (Fate::FragmentUnfinished, "fragment", "fragments", " of incomplete datagrams".into()),
        (Fate::FragmentRejected, "rejected fragment", "rejected fragments", String::new()),
        (Fate::Arp, "of ARP", "of ARP", String::new()),
        (Fate::OtherLink, "of", "of", other_links(ledger)),
        (Fate::UnsupportedLink, "of", "of", " an unknown link type".into()),
        (Fate::Malformed, "malformed", "malformed", String::new()),
        (Fate::AfterClose, "after the end of its connection", "after the end of their connections", String::new()),
        (Fate::NoRoom, "without room", "without room", " in the flow table".into()),
    ];
    let there: Vec<_> = kinds.iter().filter(|(fate, ..)| of(*fate) > 0).collect();
    if there.is_empty() {
        return None;
    }
    let outside: u64 = there.iter().map(|(fate, ..)| of(*fate)).sum();
    let read = ledger.received.saturating_sub(of(Fate::Filtered));
    let some = if outside < read { ", among them" } else { ":" };
    let parts: Vec<_> =
        there.iter().map(|(fate, one, many, rest)| format!("{}{rest}", counted(of(*fate), one, many))).collect();
    Some(format!("{} read{some} {}", counted(read, "packet", "packets"), parts.join(", ")))
}

/// Packets that were cut before the capture.
fn sliced(ledger: &Ledger) -> Option<String> {
    let packets = (ledger.sliced_packets > 0).then(|| counted(ledger.sliced_packets, "frame", "frames"))?;
    Some(format!("{packets} cut to one length before the capture, as a packet broker does (--sliced never: malformed)"))
}

/// Other link-layer protocols, by name if there is only one.
fn other_links(ledger: &Ledger) -> String {
    let all = ledger.fate(Fate::OtherLink);
    let alone = OtherLink::ALL.iter().find(|&&protocol| ledger.other_link(protocol) == all);
    match alone {
        Some(protocol) => format!(" another link-layer protocol ({})", protocol.name().replace('_', " ")),
        None => " other link-layer protocols".into(),
    }
}
