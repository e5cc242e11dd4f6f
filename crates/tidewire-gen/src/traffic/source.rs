use super::{flows::Flows, made::Made};

/// A generator of frames.
pub trait Traffic {
    /// Writes the next frame to the beginning of `frame`, which has room for [`bytes_max`](Self::bytes_max). `number` is the
    /// frame's, counted from 0. `None`: there are no more.
    fn next(&mut self, number: u64, frame: &mut [u8]) -> Option<Made>;

    /// Restarts: the same frames follow again.
    fn rewind(&mut self);

    /// Bytes of the longest frame, with its number.
    fn bytes_max(&self) -> usize;

    /// The same traffic as flows that a kernel program can generate, if that is possible.
    fn flows(&self) -> Option<&Flows> {
        None
    }

    /// Whether frames are numbered: then [`Made::bytes`] includes the trailer.
    fn numbered(&self) -> bool;

    /// Further counts so far, by name.
    fn tally(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

impl Traffic for Flows {
    fn next(&mut self, number: u64, frame: &mut [u8]) -> Option<Made> {
        self.write(number, frame)
    }

    fn rewind(&mut self) {
        self.restart();
    }

    fn bytes_max(&self) -> usize {
        self.longest()
    }

    fn flows(&self) -> Option<&Flows> {
        Some(self)
    }

    fn numbered(&self) -> bool {
        self.is_numbered()
    }
}
