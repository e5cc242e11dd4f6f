//! Which streams' packets are written: what a command's handler says.

use tidewire::Handler;

use super::comment::Comment;

/// Whether packets are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Want {
    /// No.
    No,
    /// Not known yet.
    #[default]
    Later,
    /// Yes.
    Yes,
}

impl From<bool> for Want {
    fn from(is_printed: bool) -> Self {
        if is_printed { Self::Yes } else { Self::No }
    }
}

/// A handler that chooses the streams whose packets are written.
pub trait Choose: Handler {
    /// Whether it chooses streams; otherwise datagrams.
    const STREAMS: bool = true;

    /// Whether the stream with this id and state is chosen, as far as is known.
    fn want(&self, id: u64, data: &Self::Data) -> Want {
        let _ = (id, data);
        Want::Later
    }

    /// Whether the stream or datagram that ended last was printed. `Later`: that is known when the input has ended.
    fn printed(&self) -> Want {
        Want::Later
    }

    /// How many facts there are about a stream.
    fn facts(&self, data: &Self::Data) -> usize {
        let _ = data;
        0
    }

    /// Adds these facts from index `from` on.
    fn describe(&self, data: &Self::Data, from: usize, comment: &mut Comment) {
        let _ = (data, from, comment);
    }

    /// The ids that can still be printed, if they are known.
    fn candidates(&self) -> Option<Vec<u64>> {
        None
    }
}
