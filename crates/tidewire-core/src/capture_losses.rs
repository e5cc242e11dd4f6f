//! When the capture lost packets by its own account: the cause of holes of that time.

use std::collections::VecDeque;

use tidewire_wire::PacketLoss;

/// Times of losses that are remembered, of all interfaces together; then the oldest are forgotten.
const SPANS_MAX: usize = 256;

/// Losses of an interface with less between them are one, nanoseconds: 50 ms.
const TOGETHER_NS: u64 = 50_000_000;

/// How long behind a loss a capture may state it, nanoseconds: 200 ms. Counters of the kernel are read a few times a second, and the
/// recorder, which reads them each 100 ms, states what they say with its next packet.
const LATE_NS: u64 = 200_000_000;

/// The times at which a capture said that it had lost packets.
#[derive(Debug, Default)]
pub(crate) struct CaptureLosses {
    /// Of frames that were not processed yet.
    ahead: VecDeque<PacketLoss>,
    spans: VecDeque<Span>,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    interface: u16,
    first_ns: u64,
    last_ns: u64,
}

impl Span {
    /// Whether losses between two times are one with these.
    fn is_near(&self, first_ns: u64, last_ns: u64) -> bool {
        first_ns <= self.last_ns.saturating_add(TOGETHER_NS) && last_ns.saturating_add(TOGETHER_NS) >= self.first_ns
    }
}

impl CaptureLosses {
    /// Notes losses of the frames that are processed next, in their order: those before were processed.
    pub(crate) fn announce(&mut self, losses: &[PacketLoss]) {
        self.pass(u64::MAX);
        self.ahead.extend(losses);
    }

    /// Notes losses by their times, however far frames were processed.
    pub(crate) fn note(&mut self, losses: &[PacketLoss]) {
        self.announce(losses);
        self.pass(u64::MAX);
    }

    /// Passes the losses until a time of the packets' clock.
    fn pass(&mut self, clock_ns: u64) {
        while let Some(&PacketLoss { interface, timestamp, since, .. }) =
            self.ahead.front().filter(|loss| loss.timestamp.as_nanos() <= clock_ns)
        {
            self.ahead.pop_front();
            let (first_ns, last_ns) = (since.min(timestamp).as_nanos(), timestamp.as_nanos());
            let last = self.spans.iter_mut().rev().find(|span| span.interface == interface);
            match last.filter(|span| span.is_near(first_ns, last_ns)) {
                Some(span) => {
                    (span.first_ns, span.last_ns) = (span.first_ns.min(first_ns), span.last_ns.max(last_ns));
                }
                None => self.spans.push_back(Span { interface, first_ns, last_ns }),
            }
            if self.spans.len() > SPANS_MAX {
                self.spans.pop_front();
            }
        }
    }

    /// Whether an interface (`None`: any) lost packets between two times. `clock_ns`: of the packet that is processed.
    pub(crate) fn is_any(&mut self, interface: Option<u16>, (from_ns, until_ns): (u64, u64), clock_ns: u64) -> bool {
        if self.ahead.is_empty() && self.spans.is_empty() {
            return false;
        }
        self.pass(clock_ns);
        let is_of = |span: &&Span| interface.is_none_or(|interface| interface == span.interface);
        let is_then = |span: &Span| span.last_ns >= from_ns && span.first_ns <= until_ns.saturating_add(LATE_NS);
        self.spans.iter().filter(is_of).any(is_then)
    }
}

#[cfg(test)]
mod tests {
    use tidewire_types::Timestamp;

    use super::*;

    const MS: u64 = 1_000_000;

    fn loss(number: u64, interface: u16, at_ms: u64) -> PacketLoss {
        let at = Timestamp::from_nanos(at_ms * MS);
        PacketLoss::between(interface, at, at, 3).with_number(number)
    }

    #[test]
    fn a_loss_counts_from_its_frame_on_and_at_its_interface() {
        let mut losses = CaptureLosses::default();
        losses.announce(&[loss(5, 1, 1000)]);
        let at = |ms: u64| (ms * MS, ms * MS + MS);
        assert!(!losses.is_any(Some(1), at(1000), 999 * MS), "its frame was not processed");
        let mut is_any = |interface, ms: u64| losses.is_any(interface, at(ms), 1000 * MS);
        assert!(is_any(Some(1), 1000) && is_any(None, 1000));
        assert!(!is_any(Some(0), 1000), "another interface");
        assert!(is_any(Some(1), 850), "stated late");
        assert!(!is_any(Some(1), 700) && !is_any(Some(1), 1001));
    }

    #[test]
    fn losses_of_an_interface_are_known_before_its_frames() {
        let mut losses = CaptureLosses::default();
        losses.note(&[loss(0, 1, 1000)]);
        assert!(losses.is_any(Some(1), (990 * MS, 1001 * MS), 995 * MS), "its counter is ahead of the clock");
        assert!(!losses.is_any(Some(1), (700 * MS, 701 * MS), 995 * MS));
    }

    #[test]
    fn a_loss_counts_since_the_reading_before() {
        let mut losses = CaptureLosses::default();
        losses.note(&[PacketLoss::between(1, Timestamp::from_nanos(500 * MS), Timestamp::from_nanos(1000 * MS), 3)]);
        let mut is_any = |from_ms: u64, until_ms: u64| losses.is_any(Some(1), (from_ms * MS, until_ms * MS), 2000 * MS);
        assert!(is_any(400, 410) && is_any(700, 710) && is_any(990, 1100));
        assert!(!is_any(200, 210) && !is_any(1001, 1100), "all before, or all behind");
    }

    #[test]
    fn losses_are_bounded_and_those_of_a_moment_are_one() {
        let mut losses = CaptureLosses::default();
        for number in 1..2000 {
            losses.announce(&[loss(number, 0, number), loss(number, 1, 100 * number)]);
        }
        assert!(losses.spans.len() <= SPANS_MAX && losses.ahead.len() <= 2);
        assert!(losses.is_any(Some(0), (1990 * MS, 1991 * MS), u64::MAX));
        assert!(!losses.is_any(Some(1), (5000 * MS, 5001 * MS), u64::MAX), "the oldest are forgotten");
        assert!(losses.is_any(Some(1), (190_000 * MS, 190_001 * MS), u64::MAX));
    }
}
