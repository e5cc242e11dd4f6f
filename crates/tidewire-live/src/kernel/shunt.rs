use std::{collections::HashMap, sync::Arc, time::Duration};

use tidewire_core::{Counted, Direction, FlowKey, Shunt, Timestamp};
use tidewire_types::{ip_protocol::TCP, saturating_nanos};

use super::{
    layout::Key,
    load::Kernel,
    table::{Figures, Table},
};

/// One engine's way to the flow tables ([`Shunt`]). Several engines use the same tables, each for flows of its own.
///
/// Everything is done by reading and writing memory; there are no system calls.
#[derive(Debug)]
pub struct KernelShunt {
    kernel: Arc<Kernel>,
    /// Whose level it is that is published.
    index: usize,
    /// Figures already returned of entries that were read before their end (by table and slot).
    given: HashMap<(bool, u32), Figures>,
    /// Tables and slots of the entries found; reused, so that no memory is allocated.
    found: Vec<u32>,
    /// Where the next sweep of each table begins.
    swept: [u32; 2],
}

impl Kernel {
    /// An engine's way to the tables. Engines are numbered from 0.
    #[must_use]
    pub fn shunt(self: &Arc<Self>, engine: usize) -> KernelShunt {
        KernelShunt::new(Arc::clone(self), engine)
    }
}

impl KernelShunt {
    pub(super) fn new(kernel: Arc<Kernel>, index: usize) -> Self {
        Self { kernel, index, given: HashMap::new(), found: Vec::with_capacity(4), swept: [0; 2] }
    }

    fn counted_since(&self, figures: Figures, before: Figures, is_tcp: bool) -> Counted {
        let packets = figures.packets.saturating_sub(before.packets);
        let mut counted = Counted::default();
        counted.packets = packets;
        counted.wire_bytes = figures.wire_bytes.saturating_sub(before.wire_bytes);
        counted.ip_bytes = figures.ip_bytes.saturating_sub(before.ip_bytes);
        counted.payload_bytes = figures.payload_bytes.saturating_sub(before.payload_bytes);
        counted.last = (packets > 0).then(|| Timestamp::from_nanos(self.kernel.clock().epoch_ns(figures.last)));
        counted.tcp_flags = figures.tcp_flags;
        counted.end = (is_tcp && packets > 0 && figures.end != 0).then_some(figures.end);
        counted
    }

    /// Counts since the last call, by `read` of each of the direction's entries.
    fn take(
        &mut self,
        key: &FlowKey,
        direction: Direction,
        read: impl Fn(&Table, u32) -> Option<Figures>,
        ends: bool,
    ) -> Option<Counted> {
        let is_tcp = key.proto == TCP;
        let key = Key::of(key, direction)?;
        let kernel = Arc::clone(&self.kernel);
        let table = kernel.table(&key)?;
        let _shared = table.shared();
        let mut found = std::mem::take(&mut self.found);
        found.extend(table.find(&key));
        let mut sum: Option<Counted> = None;
        for index in found.drain(..) {
            let place = (key.address.is_some(), index);
            let Some(figures) = read(table, index) else { continue };
            let before = self.given.get(&place).copied().unwrap_or_default();
            if ends {
                self.given.remove(&place);
            } else if figures.packets > 0 {
                self.given.insert(place, figures);
            }
            let counted = self.counted_since(figures, before, is_tcp);
            sum = Some(sum.map_or(counted, |sum| sum.with(counted)));
        }
        self.found = found;
        sum
    }
}

impl KernelShunt {
    /// Ends entries of directions that were silent for `idle`, of the next `most` slots of each table; `each` is called for
    /// entries with unread packets. Such entries remain where the programs cut by themselves and the engine never saw, or has
    /// forgotten, the direction: its first packet found no room in a ring, or it went on after its end. Repeated calls cover
    /// the whole table; `idle` must exceed the engine's timeout of idle flows.
    pub fn sweep(&mut self, idle: Duration, most: u32, mut each: impl FnMut(FlowKey, Counted)) {
        let (kernel, idle_ns) = (Arc::clone(&self.kernel), saturating_nanos(idle));
        for (table, from) in kernel.tables().zip([0, 1]) {
            let begin = self.swept[from];
            for index in begin..begin.saturating_add(most.min(table.slots())) {
                let index = index % table.slots();
                if table.key(index).is_none() {
                    continue;
                }
                let _alone = table.alone();
                let Some(key) = table.key(index) else { continue };
                if kernel.clock().age_ns(table.read(index).last) < idle_ns {
                    continue;
                }
                if let Some(figures) = table.end(index) {
                    let before = self.given.remove(&(key.address.is_some(), index)).unwrap_or_default();
                    let key = key.describe();
                    let counted = self.counted_since(figures, before, key.proto == TCP);
                    if counted.packets > 0 {
                        each(key, counted);
                    }
                }
            }
            self.swept[from] = begin.wrapping_add(most) % table.slots();
        }
    }
}

impl Shunt for KernelShunt {
    fn cut(&mut self, key: &FlowKey, direction: Direction) -> bool {
        let Some(key) = Key::of(key, direction).filter(|key| !self.kernel.may_be_tunnel(key)) else { return false };
        let tick = self.kernel.clock().tick();
        self.kernel.table(&key).is_some_and(|table| self.kernel.note(table.set(&key, true, None, tick)))
    }

    fn counted(&mut self, key: &FlowKey, direction: Direction) -> Option<Counted> {
        self.take(key, direction, |table, index| Some(table.read(index)), false)
    }

    fn retire(&mut self, key: &FlowKey, direction: Direction) -> Option<Counted> {
        self.take(key, direction, Table::end, true)
    }

    fn cuts_by_itself(&self) -> bool {
        self.kernel.is_auto()
    }

    fn counts_by_itself(&self) -> bool {
        self.kernel.counts_by_itself()
    }

    fn is_crowded(&self) -> bool {
        // Half of the slots are meant to be used.
        self.kernel.occupancy().iter().any(|table| table.entries * 16 >= table.slots * 7 && table.slots > 0)
    }

    fn prioritize(&mut self, key: &FlowKey, direction: Direction, priority: u8) {
        if let Some(key) = Key::of(key, direction)
            && let Some(table) = self.kernel.table(&key)
        {
            let tick = self.kernel.clock().tick();
            self.kernel.note(table.set(&key, false, Some(priority), tick));
        }
    }

    fn filtered(&self) -> (u64, u64) {
        if self.index != 0 {
            return (0, 0);
        }
        let counters = self.kernel.counters();
        (counters.filtered, counters.filtered_bytes)
    }

    fn level(&mut self, permille: u32) {
        self.kernel.publish(self.index, permille);
    }
}
