//! The analyzers of one worker, as a handler.

use tidewire::Handler;

/// The analyzers of one worker.
#[derive(Debug, Default)]
pub struct Inline {}

/// What they keep of a stream.
#[derive(Debug, Default)]
pub struct InlineState {}

impl Inline {
    /// Reports what is left: the input has ended.
    pub fn finish(self) {}
}

impl Handler for Inline {
    type Data = InlineState;
}
