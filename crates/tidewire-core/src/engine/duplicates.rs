//! Leaves out copies of packets, before anything else is done with them.

use super::{Engine, GROUP, OTHER_WORKER, Prepared};
use crate::{Batch, Fate, Frame, Handler, duplicates::Fingerprint, wire::Kind};

impl<H: Handler> Engine<H> {
    /// Counts the copies in a group, and marks them so that nothing processes them.
    ///
    /// Both directions of a flow, and with them all copies of a packet, belong to one worker. Fragments are seen by every worker,
    /// and counted by the first.
    pub(super) fn leave_out_copies(&mut self, batch: &Batch<'_>, group: &[Frame], prepared: &mut [Prepared; GROUP]) {
        let Some(table) = &mut self.duplicates else { return };
        let mut seen: [Option<Fingerprint>; GROUP] = [None; GROUP];
        for ((frame, one), seen) in group.iter().zip(prepared.iter()).zip(&mut seen) {
            let is_mine = one.hash != 0 && one.slot != OTHER_WORKER;
            if is_mine || one.hash == 0 && one.decoded.kind == Kind::Fragment {
                *seen = Fingerprint::of(frame, batch.bytes(frame), &one.decoded, &self.secrets);
                seen.iter().for_each(|seen| table.prefetch(seen));
            }
        }
        for ((frame, one), seen) in group.iter().zip(prepared.iter_mut()).zip(&seen) {
            let Some(seen) = seen else { continue };
            if !table.is_copy(seen, frame.timestamp.as_nanos()) {
                continue;
            }
            let counts = one.hash != 0 || self.share.index == 0;
            (one.hash, one.slot) = (1, OTHER_WORKER);
            if counts {
                let ledger = &mut self.shared.ledger;
                ledger.received += 1;
                ledger.received_bytes += u64::from(frame.captured_bytes);
                ledger.settle(Fate::Duplicate);
                ledger.duplicate(frame.interface);
            }
        }
    }
}
