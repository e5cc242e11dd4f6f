//! Where the threads behind a capture run.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The processors that a thread may use.
#[derive(Clone, Copy)]
pub(crate) struct Cores(Option<CpuSet>);

impl Cores {
    /// Those of the calling thread.
    pub fn of_caller() -> Self {
        Self(sched_getaffinity(None).ok())
    }

    /// Whether two threads run at the same time.
    pub fn are_several(self) -> bool {
        self.0.is_none_or(|all| all.count() > 1)
    }

    /// Lets the calling thread use them. A capture thread stays on one processor, and those that it starts would with it: the disk
    /// would have what the capture leaves.
    pub fn allow(self) {
        if let Some(all) = self.0 {
            // Where it is refused the thread stays where it is.
            let _ = sched_setaffinity(None, &all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(set: &CpuSet) -> u32 {
        set.count()
    }

    #[test]
    fn a_thread_leaves_the_processor_of_the_one_that_started_it() {
        std::thread::spawn(|| {
            let cores = Cores::of_caller();
            let all = sched_getaffinity(None).expect("an affinity");
            let first = (0..CpuSet::MAX_CPU).find(|cpu| all.is_set(*cpu)).expect("a processor");
            let mut one = CpuSet::new();
            one.set(first);
            sched_setaffinity(None, &one).expect("pinned");
            let child = std::thread::spawn(move || {
                let before = count(&sched_getaffinity(None).expect("an affinity"));
                cores.allow();
                (before, count(&sched_getaffinity(None).expect("an affinity")))
            });
            assert_eq!(child.join().expect("no panic"), (1, count(&all)));
        })
        .join()
        .expect("no panic");
    }
}
