//! The result of a program for a packet.

/// The destination of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// Dropped by a filter, or by a steering function whose property the packet does not have.
    Drop,
    /// Passed without having been steered: to the first worker.
    Pass,
    /// To the worker `hash % workers`.
    Hash(u32),
    /// To this worker.
    Worker(u32),
    /// To the workers of both hashes; once if they are the same.
    Both(u32, u32),
}

/// The result of a program for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// Where it goes.
    pub target: Target,
    /// Set by `class`, else 0.
    pub class: u8,
    /// Set by `mark`, else 0.
    pub mark: u32,
    /// Set by `put_state`, else 0.
    pub state: u32,
}

impl Verdict {
    /// The first worker that gets the packet; `None` if it is dropped or there is no worker.
    #[must_use]
    pub fn first(&self, workers: u32) -> Option<u32> {
        match self.target {
            Target::Drop => None,
            Target::Pass => Some(0),
            Target::Hash(hash) | Target::Both(hash, _) => hash.checked_rem(workers),
            Target::Worker(worker) => Some(worker),
        }
        .filter(|worker| *worker < workers)
    }

    /// The second worker, if it differs from the first.
    #[must_use]
    pub fn second(&self, workers: u32) -> Option<u32> {
        let Target::Both(_, hash) = self.target else { return None };
        hash.checked_rem(workers).filter(|worker| Some(*worker) != self.first(workers))
    }

    /// The workers that get the packet: none, one or two different ones.
    pub fn workers(&self, workers: u32) -> impl Iterator<Item = u32> {
        self.first(workers).into_iter().chain(self.second(workers))
    }

    /// The whole verdict in one number, as [`crate::bpf::Output::Digest`] returns it.
    #[must_use]
    pub fn digest(&self) -> u32 {
        let (target, first, second) = match self.target {
            Target::Drop => (crate::lower::target::DROP, 0, 0),
            Target::Pass => (crate::lower::target::PASS, 0, 0),
            Target::Hash(hash) => (crate::lower::target::HASH, hash, 0),
            Target::Worker(worker) => (crate::lower::target::WORKER, worker, 0),
            Target::Both(first, second) => (crate::lower::target::BOTH, first, second),
        };
        let numbers = [target, first.into(), second.into(), self.class.into(), self.mark.into(), self.state.into()];
        numbers.into_iter().fold(0, |sum, number| crate::ir::mix(sum ^ number)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workers(target: Target, count: u32) -> Vec<u32> {
        Verdict { target, class: 0, mark: 0, state: 0 }.workers(count).collect()
    }

    #[test]
    fn both_workers_once_where_they_are_the_same() {
        assert_eq!(workers(Target::Both(5, 6), 4), [1, 2]);
        assert_eq!(workers(Target::Both(5, 9), 4), [1]);
        assert_eq!(workers(Target::Drop, 4), []);
        assert_eq!(workers(Target::Pass, 4), [0]);
        assert_eq!(workers(Target::Worker(3), 4), [3]);
        assert_eq!(workers(Target::Worker(4), 4), []);
        assert_eq!(workers(Target::Hash(7), 0), []);
    }
}
