//! Directions beyond their cutoff are counted and dropped by the kernel.

use tidewire::{Direction, Timestamp};

use super::Recorder;
use crate::ledger::Fate;

impl Recorder {
    /// Asks the kernel to drop a direction that has reached its cutoff.
    pub(super) fn offload(&mut self, slot: u32, direction: usize) {
        let Some(shunt) = &mut self.shunt else { return };
        let account = self.flows.account(slot);
        let is_past = self.flows.get(account).is_some_and(|lane| {
            lane.payload.get(direction).zip(lane.keep.cutoff.get(direction)).is_some_and(|(bytes, most)| bytes >= most)
        });
        let Some(lane) = self.flows.get_mut(slot) else { return };
        if !is_past
            || lane.shunted.get(direction) != Some(&false)
            || lane.details.is_in_tunnel()
            || !lane.key.is_stream()
        {
            return;
        }
        let Some(way) = Direction::BOTH.get(direction) else { return };
        // Requested once: where it is refused, packets are cut off here.
        lane.shunted[direction] = true;
        if shunt.cut(&lane.key.flow(lane.client_is_lower), *way) {
            self.shunted.push((slot, lane.serial));
        }
    }

    /// Adds what the kernel counted: of directions, and by the filter.
    pub(super) fn count_shunted(&mut self) {
        if let Some(shunt) = &self.shunt {
            let (packets, bytes) = shunt.filtered();
            let new = (packets.saturating_sub(self.kernel_filtered.0), bytes.saturating_sub(self.kernel_filtered.1));
            self.kernel_filtered = (packets, bytes);
            if new.0 > 0 {
                self.count(0, Fate::Filtered, new.0, new.1);
            }
        }
        let mut all = std::mem::take(&mut self.shunted);
        all.retain(|&(slot, serial)| {
            self.flows.get(slot).is_some_and(|lane| lane.serial == serial && lane.shunted != [false; 2])
        });
        for &(slot, _) in &all {
            self.count_lane(slot, false);
        }
        self.shunted = all;
    }

    /// The kernel no longer drops anything of a flow.
    pub(super) fn retire(&mut self, slot: u32) {
        self.count_lane(slot, true);
        if let Some(lane) = self.flows.get_mut(slot) {
            lane.shunted = [false; 2];
        }
    }

    pub(super) fn count_one(&mut self, slot: u32) {
        self.count_lane(slot, false);
    }

    fn count_lane(&mut self, slot: u32, is_last: bool) {
        for (direction, way) in Direction::BOTH.into_iter().enumerate() {
            let (Some(lane), Some(shunt)) = (self.flows.get_mut(slot), &mut self.shunt) else { return };
            if lane.shunted.get(direction) != Some(&true) {
                continue;
            }
            let key = lane.key.flow(lane.client_is_lower);
            let counted = if is_last { shunt.retire(&key, way) } else { shunt.counted(&key, way) };
            let Some(counted) = counted.filter(|counted| counted.packets > 0) else { continue };
            let last_ns = counted.last.map_or(0, Timestamp::as_nanos);
            lane.last_ns = lane.last_ns.max(last_ns);
            let priority = lane.keep.priority;
            self.note_cut(slot, direction, (counted.packets, counted.wire_bytes), last_ns);
            self.count(priority, Fate::CutOff, counted.packets, counted.wire_bytes);
        }
    }
}
