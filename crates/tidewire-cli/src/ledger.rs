//! The ledger, which counts every packet once, as JSON and as text.

use std::{fmt::Write, time::Duration};

use tidewire::{AnomalyKind, CaptureLoss, Fate, Ledger, Malformation, OtherLink};

use crate::{
    capture_losses,
    live::{self, LiveReport},
    output::{Object, push_number},
    units::{Bytes, Count},
};

/// Appends the ledger as one JSON object: `received` and all fates, which add up to it; everything else is in `detail`.
pub fn push_json(
    out: &mut Vec<u8>,
    ledger: &Ledger,
    live: Option<&LiveReport>,
    losses: &[CaptureLoss],
    elapsed: Duration,
) {
    let mut object = Object::open(out);
    object.number("received", ledger.received);
    for &fate in Fate::ALL {
        // Most captures have none.
        if fate == Fate::Duplicate && ledger.fate(fate) == 0 {
            continue;
        }
        object.number(fate.name(), ledger.fate(fate));
    }
    object.object("detail", |detail| {
        detail.number("received_bytes", ledger.received_bytes);
        detail.number("delivered_bytes", ledger.delivered_bytes);
        detail.number("gap_bytes", ledger.gap_bytes);
        detail.number("uncompared_bytes", ledger.uncompared_bytes);
        detail.number("buffered_bytes_max", ledger.buffered_bytes_max);
        detail.number("streams_opened", ledger.streams_opened);
        detail.number("streams_closed", ledger.streams_closed);
        detail.number("streams_open_max", ledger.streams_open_max);
        detail.number("evicted", ledger.evicted);
        detail.number("evicted_half_open", ledger.evicted_half_open);
        if ledger.sliced_packets > 0 {
            detail.number("sliced_packets", ledger.sliced_packets);
        }
        detail.number("datagrams_rebuilt", ledger.datagrams_rebuilt);
        detail.number("datagrams_rejected", ledger.datagrams_rejected);
        if ledger.time_outliers > 0 {
            detail.number("time_outliers", ledger.time_outliers);
        }
        detail.array("shed_by_priority", ledger.shed_by_priority().map(|(_, count)| count), push_number);
        detail.object("anomalies", |anomalies| {
            for &kind in AnomalyKind::ALL {
                anomalies.number(kind.name(), ledger.anomaly(kind));
            }
        });
        detail.object("malformations", |malformations| {
            for (name, count) in malformations_of(ledger) {
                malformations.number(name, count);
            }
        });
        detail.object("other_links", |links| {
            for (name, count) in other_links_of(ledger) {
                links.number(name, count);
            }
        });
        if ledger.fate(Fate::Duplicate) > 0 {
            detail.array("duplicates", ledger.duplicates(), |out, (interface, packets)| {
                let mut object = Object::open(out);
                object.number("interface", u64::from(interface));
                object.number("packets", packets);
                object.close();
            });
        }
        capture_losses::push_json(detail, losses);
        if let Some(report) = live {
            live::push_json(detail, report, ledger);
        }
        detail.number("elapsed_ns", u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX));
    });
    object.close();
}

/// Reasons of malformed packets that occurred, by name.
fn malformations_of(ledger: &Ledger) -> impl Iterator<Item = (&'static str, u64)> {
    let all = Malformation::ALL.iter().map(|&why| (why.name(), ledger.malformation(why)));
    all.filter(|(_, count)| *count > 0)
}

/// Other link-layer protocols that occurred, by name.
fn other_links_of(ledger: &Ledger) -> impl Iterator<Item = (&'static str, u64)> {
    let all = OtherLink::ALL.iter().map(|&protocol| (protocol.name(), ledger.other_link(protocol)));
    all.filter(|(_, count)| *count > 0)
}

/// The ledger as text: only counters that are not zero.
pub fn text(ledger: &Ledger, elapsed: Duration) -> String {
    let mut text = String::new();
    let mut line = |name: &str, count: u64, note: &str| {
        let note = if note.is_empty() { String::new() } else { format!("  {note}") };
        let _ = writeln!(text, "{name:<24}{:>16}{note}", Count(count).to_string());
    };
    let seconds = elapsed.as_secs_f64();
    line("received", ledger.received, &format!("{} in {seconds:.2} s", Bytes(ledger.received_bytes)));
    for &fate in Fate::ALL {
        let count = ledger.fate(fate);
        if count > 0 {
            line(&format!("  {}", fate.name().replace('_', " ")), count, "");
        }
    }
    for (interface, count) in ledger.duplicates() {
        line(&format!("    at interface {interface}"), count, "");
    }
    if ledger.shunted_packets > 0 {
        line("counted by the kernel", ledger.shunted_packets, &Bytes(ledger.shunted_bytes).to_string());
    }
    let most = format!("{} open at once", Count(ledger.streams_open_max));
    line("streams", ledger.streams_closed, &most);
    line("delivered bytes", ledger.delivered_bytes, "");
    if ledger.gap_bytes > 0 {
        line("gap bytes", ledger.gap_bytes, "");
    }
    if ledger.buffered_bytes_max > 0 {
        line("buffered bytes, at most", ledger.buffered_bytes_max, "");
    }
    if ledger.uncompared_bytes > 0 {
        line("uncompared bytes", ledger.uncompared_bytes, "");
    }
    if ledger.evicted + ledger.evicted_half_open > 0 {
        line("evicted", ledger.evicted, &format!("and {} half-open", Count(ledger.evicted_half_open)));
    }
    if ledger.sliced_packets > 0 {
        line("cut before the capture", ledger.sliced_packets, "");
    }
    if ledger.datagrams_rebuilt + ledger.datagrams_rejected > 0 {
        let rejected = format!("and {} rejected", Count(ledger.datagrams_rejected));
        line("datagrams rebuilt", ledger.datagrams_rebuilt, &rejected);
    }
    if ledger.time_outliers > 0 {
        line("outliers of time", ledger.time_outliers, "");
    }
    for (level, count) in ledger.shed_by_priority().filter(|(_, count)| *count > 0) {
        line(&format!("shed of priority {level}"), count, "");
    }
    let anomalies = ledger.anomalies().map(|(_, count)| count).sum();
    if anomalies > 0 {
        line("anomalies", anomalies, "");
    }
    for &kind in AnomalyKind::ALL {
        let count = ledger.anomaly(kind);
        if count > 0 {
            line(&format!("  {}", kind.name().replace('_', " ")), count, "");
        }
    }
    for (name, count) in other_links_of(ledger) {
        line(&format!("other link: {}", name.replace('_', " ")), count, "");
    }
    for (name, count) in malformations_of(ledger) {
        line(&format!("malformed: {}", name.replace('_', " ")), count, "");
    }
    text
}
