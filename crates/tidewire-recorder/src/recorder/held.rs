//! Packets that wait for a trigger.

use std::time::{Duration, Instant};

use tidewire_wire::Frame;

use super::Recorder;
use crate::{
    flows::{Found, Key, Walk},
    ledger::Fate,
    look_back::Turn,
};

/// From this level of the buffers on, packets wait where they are.
const LEVEL_PERMILLE: u32 = 900;
/// Packets between two looks at the clock.
const STEP: usize = 64;

impl Recorder {
    /// Keeps a packet in memory.
    pub(super) fn hold(&mut self, frame: &Frame, bytes: &[u8]) {
        if self.is_filtered(frame, bytes) {
            return;
        }
        if let Some(look_back) = &mut self.look_back {
            let walk = &mut self.walk;
            look_back.push(frame, bytes, || conversation(walk, frame, bytes));
        }
    }

    /// Decides about packets that waited, for so long at most. `is_last`: about all of them.
    pub(super) fn release(&mut self, most: Duration, is_last: bool) {
        let Some(mut look_back) = self.look_back.take() else { return };
        look_back.look(self.clock_ns);
        let (begun, mut done) = (Instant::now(), 0_usize);
        while is_last || done % STEP != 0 || done == 0 || begun.elapsed() < most {
            let walk = &mut self.walk;
            let turn = look_back.turn(self.clock_ns, is_last, |frame, bytes| conversation(walk, frame, bytes));
            // What waits in memory need not be shed for its low priority.
            let level = self.watermarks.first().map_or(LEVEL_PERMILLE, |mark| LEVEL_PERMILLE.min(*mark));
            let is_waiting = turn == Some(Turn::Record) && self.level_permille >= level && !is_last;
            if is_waiting {
                self.level_permille = self.pool.level_permille();
            }
            let Some((turn, (frame, bytes))) = turn.filter(|_| !is_waiting).zip(look_back.front()) else { break };
            match turn {
                Turn::Record => self.admit(&frame, bytes),
                Turn::Leave => self.count(0, Fate::Filtered, 1, frame.wire_bytes.into()),
                Turn::Shed => self.count(0, Fate::Shed, 1, frame.wire_bytes.into()),
            }
            look_back.pop();
            done += 1;
        }
        self.look_back = Some(look_back);
    }
}

fn conversation(walk: &mut Walk, frame: &Frame, bytes: &[u8]) -> Option<Key> {
    match walk.find(frame, bytes) {
        Found::Flow(keyed, _) if keyed.key.is_stream() => Some(keyed.key.conversation()),
        _ => None,
    }
}
