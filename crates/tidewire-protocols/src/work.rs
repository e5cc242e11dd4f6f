//! The work of parsers, counted by themselves: in tests only, where it is compared with the bytes that they read.
//!
//! A step is a look at a byte, a line, a field or an item of a list, or a copy of [`COPIED_BYTES`]. What a parser does again for bytes that it has
//! read already, or for a text that it made before, counts again.

/// Bytes that are copied, searched or hashed in one step: such loops are many times as fast as a look at each byte.
const COPIED_BYTES: usize = 16;

#[cfg(test)]
std::thread_local! {
    static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Counts steps.
#[inline(always)]
pub(crate) fn add(steps: usize) {
    #[cfg(test)]
    STEPS.set(STEPS.get() + steps as u64);
    #[cfg(not(test))]
    let _ = steps;
}

/// Counts a loop over bytes that copies, searches or hashes them.
#[inline(always)]
pub(crate) fn pass(bytes: usize) {
    add(1 + bytes / COPIED_BYTES);
}

/// Runs something; the steps that it took.
#[cfg(test)]
pub(crate) fn of<T>(run: impl FnOnce() -> T) -> (T, u64) {
    let before = STEPS.get();
    let result = run();
    (result, STEPS.get() - before)
}
