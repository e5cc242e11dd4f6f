use super::{flows::Flows, made::Made};

/// What makes frames.
pub trait Traffic {
    /// Writes the next frame to the beginning of `frame`, which has room for [`bytes_max`](Self::bytes_max). `number` is the
    /// frame's, counted from 0. `None`: there are no more.
    fn next(&mut self, number: u64, frame: &mut [u8]) -> Option<Made>;

    /// Begins anew: the same frames follow as at first.
    fn rewind(&mut self);

    /// Bytes of the longest frame, with its number.
    fn bytes_max(&self) -> usize;

    /// The same as flows that a kernel program can make up, where they are no more than that.
    fn flows(&self) -> Option<&Flows> {
        None
    }

    /// Whether frames are to be numbered: then [`Made::bytes`] includes the number's.
    fn numbered(&self) -> bool;

    /// What was made so far, by name, besides frames and bytes.
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
