//! Reports of the capture, as lines.

use crate::{
    report::CaptureEvent,
    reporter::{self, Report, Reporter},
};

/// Where all threads of the capture leave their events. The thread that serves readers writes them.
pub(super) type Events = Reporter<CaptureEvent>;
/// Writes them to the supervisor, without waiting.
pub(super) type Writer = reporter::Writer<CaptureEvent>;

impl Report for CaptureEvent {
    fn is_status(&self) -> bool {
        matches!(self, Self::Status(_))
    }

    fn is_last(&self) -> bool {
        matches!(self, Self::Finished(_) | Self::Failed { .. })
    }

    fn warning(text: String) -> Self {
        Self::Warning { text }
    }
}
