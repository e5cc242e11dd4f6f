//! The line below the records of a capture: what it is doing while no stream ends.

use std::time::Duration;

use tidewire::{Ledger, live::LiveReport};

use crate::{
    status_line::{Item, StatusLine},
    units::{Bytes, Count, counted},
};

/// Updates the line, if it is due.
pub fn show(line: &mut StatusLine, report: &LiveReport) {
    if line.is_due_or_removed() {
        line.draw(items(report.elapsed, &report.ledger(), report.lost_packets()));
    }
}

fn items(elapsed: Duration, ledger: &Ledger, lost: u64) -> Vec<Item> {
    let open = ledger.streams_opened.saturating_sub(ledger.streams_closed);
    vec![
        (0, format!("{} s", elapsed.as_secs())),
        (0, counted(ledger.received, "packet", "packets")),
        (2, Bytes(ledger.received_bytes).to_string()),
        (1, format!("{} open", counted(open, "flow", "flows"))),
        (0, format!("{} lost", Count(lost))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status_line::fitted;

    #[test]
    fn the_line_has_whole_items() {
        let mut ledger = Ledger::default();
        (ledger.received, ledger.received_bytes, ledger.streams_opened, ledger.streams_closed) = (1234, 99_000, 7, 6);
        let of = |columns| fitted(items(Duration::from_millis(12_900), &ledger, 5), columns);
        assert_eq!(of(74), "12 s, 1,234 packets, 99.0 kB, 1 flow open, 5 lost");
        assert_eq!(of(42), "12 s, 1,234 packets, 1 flow open, 5 lost");
        assert_eq!(of(30), "12 s, 1,234 packets, 5 lost");
        assert_eq!(of(4), "12 s");
    }
}
