use std::time::Duration;

use tidewire_core::{Counted, Direction, FlowKey, Shunt};

use super::KernelShunt;

/// Slots that are looked at each time: the whole of a table of usual size in half a minute.
const TIDIED_AT_ONCE: u32 = 1 << 16;

/// One engine's way to the flow tables of several interfaces, each with programs of its own: a direction's packets may come
/// on any of them.
#[derive(Debug)]
pub struct Shunts(Vec<KernelShunt>);

impl Shunts {
    /// Of these.
    pub fn new(shunts: impl IntoIterator<Item = KernelShunt>) -> Self {
        Self(shunts.into_iter().collect())
    }

    fn sum(&mut self, counted: impl FnMut(&mut KernelShunt) -> Option<Counted>) -> Option<Counted> {
        self.0.iter_mut().filter_map(counted).reduce(Counted::with)
    }
}

impl Shunt for Shunts {
    /// Where one of them has no room, packets of its interface still come.
    fn cut(&mut self, key: &FlowKey, direction: Direction) -> bool {
        self.0.iter_mut().filter_map(|shunt| shunt.cut(key, direction).then_some(())).count() > 0
    }

    fn counted(&mut self, key: &FlowKey, direction: Direction) -> Option<Counted> {
        self.sum(|shunt| shunt.counted(key, direction))
    }

    fn retire(&mut self, key: &FlowKey, direction: Direction) -> Option<Counted> {
        self.sum(|shunt| shunt.retire(key, direction))
    }

    fn cuts_by_itself(&self) -> bool {
        self.0.iter().any(Shunt::cuts_by_itself)
    }

    fn counts_by_itself(&self) -> bool {
        self.0.iter().any(Shunt::counts_by_itself)
    }

    fn tidy(&mut self, idle: Duration) {
        // The counts of these entries are in the programs' counters, and no stream's.
        self.0.iter_mut().for_each(|shunt| shunt.sweep(idle, TIDIED_AT_ONCE, |_, _| ()));
    }

    fn is_crowded(&self) -> bool {
        self.0.iter().any(Shunt::is_crowded)
    }

    fn prioritize(&mut self, key: &FlowKey, direction: Direction, priority: u8) {
        self.0.iter_mut().for_each(|shunt| shunt.prioritize(key, direction, priority));
    }

    fn filtered(&self) -> (u64, u64) {
        self.0.iter().map(Shunt::filtered).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    fn level(&mut self, permille: u32) {
        self.0.iter_mut().for_each(|shunt| shunt.level(permille));
    }
}
