//! Packets that wait for a trigger.

use std::time::{Duration, Instant};

use tidewire_wire::Frame;

use super::Recorder;
use crate::{
    flows::{Found, Key, Walk},
    ledger::Fate,
    look_back::{Backlog, Turn},
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
            // Its flow is looked for once it is recorded.
            let priority = if look_back.has_priorities() { self.classes.keep(frame, bytes).priority } else { 0 };
            let walk = &mut self.walk;
            look_back.push(frame, bytes, priority, || conversation(walk, frame, bytes));
        }
    }

    /// Decides about packets that waited, for so long at most, or until memory has room. `is_last`: about all of them.
    pub(super) fn release(&mut self, most: Duration, is_last: bool) {
        let Some(mut look_back) = self.look_back.take() else { return };
        look_back.look(self.clock_ns);
        // Packets that wait in memory need not be shed for its low priority.
        let level = self.watermarks.first().map_or(LEVEL_PERMILLE, |mark| LEVEL_PERMILLE.min(*mark));
        let (begun, mut done) = (Instant::now(), 0_usize);
        self.backlog = Backlog::None;
        while let Some(first) = look_back.first() {
            let is_full = look_back.is_full();
            if !is_last && !is_full && done % STEP == 0 && done > 0 && begun.elapsed() >= most {
                self.backlog = Backlog::ForTime;
                break;
            }
            let walk = &mut self.walk;
            let turn = look_back.turn(first, self.clock_ns, is_last, |frame, bytes| conversation(walk, frame, bytes));
            let mut has_room = is_last || self.level_permille < level;
            if !has_room && (turn == Some(Turn::Record) || is_full) {
                self.level_permille = self.pool.level_permille();
                has_room = self.level_permille < level;
            }
            let (lane, turn) = match turn {
                Some(turn) if has_room || turn != Turn::Record => (first, turn),
                _ if is_full => {
                    // The lowest priority makes room, its oldest packet first.
                    let lane = look_back.lowest();
                    let walk = &mut self.walk;
                    match look_back.is_wanted(lane, |frame, bytes| conversation(walk, frame, bytes)) {
                        true if has_room => (lane, Turn::Record),
                        true => (lane, Turn::Shed),
                        false => (lane, Turn::Leave),
                    }
                }
                Some(_) => {
                    self.backlog = Backlog::ForBuffers;
                    break;
                }
                None => break,
            };
            let Some((frame, bytes)) = look_back.front(lane) else { break };
            match turn {
                Turn::Record => self.admit(&frame, bytes),
                Turn::Leave => self.count(lane as u8, Fate::Filtered, 1, frame.wire_bytes.into()),
                Turn::Shed => self.count(lane as u8, Fate::Shed, 1, frame.wire_bytes.into()),
            }
            look_back.pop(lane, lane == first);
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
