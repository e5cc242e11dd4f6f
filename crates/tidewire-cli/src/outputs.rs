//! The outputs of one run.

use crate::{error::CliError, shared_output::SharedOutput, write::PacketFile};

/// Outputs that get records and packets as they come.
#[derive(Clone, Copy)]
pub struct Outputs<'a> {
    pub sinks: &'a [&'a SharedOutput],
    pub packets: Option<&'a PacketFile>,
}

impl Outputs<'_> {
    /// Writes what was collected.
    pub fn flush(&self) {
        self.sinks.iter().for_each(|sink| sink.flush());
        self.packets.iter().for_each(|packets| packets.flush());
    }

    /// Completes the records; packets are completed by who opened their file.
    pub fn finish(&self) -> Result<(), CliError> {
        self.sinks.iter().try_for_each(|sink| sink.finish())
    }
}
