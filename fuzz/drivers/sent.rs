//! What was put in, by its place: whatever comes out has to be made of it.

/// Runs of bytes, each with the offset of its first.
#[derive(Default)]
pub struct Sent(Vec<(u64, Vec<u8>)>);

impl Sent {
    pub fn add(&mut self, start: u64, bytes: &[u8]) {
        self.0.push((start, bytes.to_vec()));
    }

    /// Whether each of the bytes was in one of the runs, at its place.
    pub fn has_all(&self, start: u64, bytes: &[u8]) -> bool {
        let end = start + bytes.len() as u64;
        let mut known = vec![false; bytes.len()];
        for (from, run) in &self.0 {
            let (low, high) = (start.max(*from), end.min(from + run.len() as u64));
            if low < high {
                let mine = (low - start) as usize..(high - start) as usize;
                let theirs = &run[(low - from) as usize..(high - from) as usize];
                let pairs = bytes[mine.clone()].iter().zip(theirs);
                known[mine].iter_mut().zip(pairs).for_each(|(known, (mine, theirs))| *known |= mine == theirs);
            }
        }
        known.iter().all(|&known| known)
    }
}
