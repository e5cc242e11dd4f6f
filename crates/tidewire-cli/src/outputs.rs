//! The outputs of one run.

use std::time::Duration;

use tidewire_outputs::Exports;

use crate::{error::CliError, packet_file::PacketFile, shared_output::SharedOutput};

/// Outputs that get records and packets as they come.
#[derive(Clone, Copy)]
pub struct Outputs<'a> {
    pub sinks: &'a [&'a SharedOutput],
    pub packets: Option<&'a PacketFile>,
    pub exports: Option<&'a Exports>,
}

impl Outputs<'_> {
    /// Writes what was collected.
    pub fn flush(&self) {
        self.sinks.iter().for_each(|sink| sink.flush());
        self.packets.iter().for_each(|packets| packets.flush());
        self.exports.iter().for_each(|exports| exports.flush());
    }

    /// Writes the counters of a capture from interfaces, where they are due.
    #[cfg(feature = "live")]
    pub fn report(&self, report: &tidewire::live::LiveReport) {
        let Some(exports) = self.exports else { return };
        exports.report_counters(report.elapsed, None, || (report.ledger(), Some(report.lost_packets())));
    }

    /// Writes the counters of a capture from a pipe, where they are due.
    pub fn report_pipe(&self, ledger: &tidewire::Ledger, elapsed: Duration, clock: Option<tidewire::Timestamp>) {
        if let Some(exports) = self.exports {
            exports.report_counters(elapsed, clock, || (ledger.clone(), None));
        }
    }

    /// Completes the records; packets and exports are completed by who opened their files. A reader that went away ended the run
    /// already, and whatever else failed is still to be said.
    pub fn finish(&self) -> Result<(), CliError> {
        let finished = self.sinks.iter().map(|sink| sink.finish());
        finished.filter(|finished| !matches!(finished, Err(CliError::ClosedPipe))).collect()
    }
}
