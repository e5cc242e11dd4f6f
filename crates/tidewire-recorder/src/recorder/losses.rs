//! Losses before packets that a file states: they are written with the next packet of the interface.

use std::collections::{HashMap, VecDeque};

use tidewire::{CaptureLoss, PacketLoss};
use tidewire_archive::block::{Interface, Statistics};
use tidewire_wire::Frame;

/// Losses before packets that wait to be decided about, at most: beyond, the oldest are written with the next packet of their interface.
const AHEAD_MAX: usize = 1 << 16;

/// Losses that were not written yet.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// Before packets that come, in their order.
    ahead: VecDeque<PacketLoss>,
    /// Before packets that came, by interface.
    passed: HashMap<u16, u64>,
    /// By interface, as files say at their end.
    pub of_files: Vec<CaptureLoss>,
}

impl Losses {
    pub(super) fn add(&mut self, losses: &[PacketLoss]) {
        self.ahead.extend(losses);
        while self.ahead.len() > AHEAD_MAX {
            self.pass();
        }
    }

    /// Adds what files say of interfaces to the statistics of these, which are in the same order.
    pub(super) fn complete(&mut self, interfaces: &[Interface], statistics: &mut [Statistics]) {
        for loss in std::mem::take(&mut self.of_files) {
            let place = interfaces.iter().position(|interface| interface.name == loss.interface);
            if let Some(statistics) = place.and_then(|place| statistics.get_mut(place)) {
                let add = |sum: &mut Option<u64>, packets: u64| {
                    if packets > 0 {
                        *sum = Some(sum.unwrap_or_default().saturating_add(packets));
                    }
                };
                add(&mut statistics.dropped, loss.interface_dropped);
                add(&mut statistics.system_dropped, loss.system_dropped);
            }
        }
    }

    fn pass(&mut self) {
        if let Some(PacketLoss { interface, packets, .. }) = self.ahead.pop_front() {
            let sum = self.passed.entry(interface).or_default();
            *sum = sum.saturating_add(packets);
        }
    }

    /// Packets that were lost before a frame that is written, and are written with no other.
    #[inline]
    pub(super) fn before(&mut self, frame: &Frame) -> u64 {
        if self.ahead.is_empty() && self.passed.is_empty() {
            return 0;
        }
        while self.ahead.front().is_some_and(|loss| loss.number.is_none_or(|behind| behind <= frame.number)) {
            self.pass();
        }
        self.passed.remove(&frame.interface).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use tidewire_wire::{LinkType, Timestamp};

    use super::*;

    fn frame(number: u64, interface: u16) -> Frame {
        Frame::new(LinkType::ETHERNET, Timestamp::from_nanos(number))
            .with_number(number)
            .with_place(0, 60)
            .with_interface(interface)
    }

    #[test]
    fn each_loss_is_written_once_with_a_packet_of_its_interface() {
        let loss = |number, interface, packets| {
            PacketLoss::between(interface, Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH, packets).with_number(number)
        };
        let mut losses = Losses::default();
        assert_eq!(losses.before(&frame(1, 0)), 0);
        losses.add(&[loss(3, 0, 7), loss(4, 1, 5), loss(6, 0, 1)]);
        assert_eq!(losses.before(&frame(2, 0)), 0);
        // The third was left out.
        assert_eq!((losses.before(&frame(5, 0)), losses.before(&frame(5, 0)), losses.before(&frame(6, 1))), (7, 0, 5));
        assert_eq!(losses.before(&frame(7, 0)), 1);
        for number in 0..2 * AHEAD_MAX as u64 {
            losses.add(&[loss(100 + number, 0, 1)]);
        }
        assert_eq!(losses.ahead.len(), AHEAD_MAX);
        assert_eq!(losses.before(&frame(8, 0)), AHEAD_MAX as u64);
    }
}
