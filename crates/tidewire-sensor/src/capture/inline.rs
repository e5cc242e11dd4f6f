//! Analyzers within the capture, and the way of their events.

use std::{
    io,
    os::fd::AsFd as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tidewire::Stop;
use tidewire_analyzers::{ANALYZERS, Analyzers, AnalyzersError, Emit, Settings};
use tidewire_event_socket::{Emitted, Events};
use tidewire_events::{Event, Severity};

use super::failure::{CONFIGURATION, ENVIRONMENT, Failure};
use crate::report::InlineStatus;

/// The capture's name at the event processor.
const NAME: &str = "capture";
/// How long one wait for room takes before a stop is looked for.
const PIECE: Duration = Duration::from_millis(200);

/// Events over a socket whose other end is the event processor's.
struct Socket {
    events: Events,
    /// Over files: events wait for room, as the files can.
    is_patient: AtomicBool,
    stop: Stop,
}

impl Emit for Socket {
    fn try_emit(&self, event: &Event) -> bool {
        while self.is_patient.load(Ordering::Relaxed) && !self.stop.is_stopped() {
            match self.events.emit(event) {
                Ok(()) => return true,
                Err(tidewire_event_socket::EventsError::Timeout { .. }) => {}
                Err(_) => return false,
            }
        }
        let counts = self.events.counts();
        if counts.emitted.saturating_sub(counts.acknowledged) >= waiting_max(event) {
            return false;
        }
        matches!(self.events.try_emit(event), Ok(Emitted::Sent))
    }
}

/// How many events may wait for their acknowledgment when this one comes: a flood of anomalies, which anybody can send, leaves room
/// for what is more important. (1,536 of the largest events are 6.6 MB of the 8 MiB that may wait; a commit takes some 20 ms.)
fn waiting_max(event: &Event) -> u64 {
    match event.severity {
        severity if severity >= Severity::High => u64::MAX,
        _ if event.analyzer == ANALYZERS[0] => 1024,
        _ => 1536,
    }
}

/// The analyzers of a capture.
pub(super) struct InlineAnalyzers {
    pub analyzers: Arc<Analyzers>,
    socket: Option<Arc<Socket>>,
}

impl InlineAnalyzers {
    /// Analyzers whose events go to `to`.
    pub(super) fn to(settings: &Settings, to: Arc<dyn Emit>) -> Result<Self, Failure> {
        Ok(Self { analyzers: Arc::new(Analyzers::new(settings, to)?), socket: None })
    }

    /// Analyzers whose events go over the standard output. Nothing runs before the first event or [`start`](Self::start).
    pub(super) fn over_output(settings: &Settings, is_patient: bool, stop: &Stop) -> Result<Self, Failure> {
        let failed = |error: &dyn std::fmt::Display| {
            Failure::new(ENVIRONMENT, format_args!("events cannot be sent over the standard output: {error}"))
                .hint("the supervisor passes a socket; without one leave out the setting 'inline'")
        };
        let output = io::stdout().as_fd().try_clone_to_owned().map_err(|error| failed(&error))?;
        rustix::net::sockopt::socket_type(&output).map_err(|error| failed(&error))?;
        let events = Events::over(output, NAME, &ANALYZERS).map_err(|error| failed(&error))?;
        events.set_wait_limit(PIECE);
        let socket = Arc::new(Socket { events, is_patient: is_patient.into(), stop: stop.clone() });
        let analyzers = Analyzers::new(settings, Arc::clone(&socket) as Arc<dyn Emit>)?;
        Ok(Self { analyzers: Arc::new(analyzers), socket: Some(socket) })
    }

    /// Starts the thread that sends: after privileges were given up.
    pub(super) fn start(&self) -> Result<(), Failure> {
        let Some(socket) = &self.socket else { return Ok(()) };
        socket.events.start().map_err(|error| Failure::new(ENVIRONMENT, error))
    }

    /// Reports what is left, and waits until all of it is durable, at most this time. What is not is said in words.
    pub(super) fn finish(&self, most: Duration) -> Option<String> {
        let begun = Instant::now();
        let socket = self.socket.as_ref();
        // The rest of a scan is little; the wait for it is bounded.
        self.analyzers.finish();
        let failed = socket?.events.flush(most.saturating_sub(begun.elapsed())).err()?;
        let counts = socket?.events.counts();
        let left = counts.emitted.saturating_sub(counts.acknowledged);
        Some(format!("{left} events of the capture may be lost: {failed}"))
    }
}

/// Figures of each analyzer.
pub(super) fn status(analyzers: Option<&Arc<Analyzers>>) -> Vec<InlineStatus> {
    let counts = analyzers.into_iter().flat_map(|analyzers| analyzers.counts());
    let one = |(analyzer, counts): (&str, tidewire_analyzers::Counts)| InlineStatus {
        analyzer: analyzer.to_owned(),
        emitted: counts.emitted,
        refused: counts.refused,
    };
    counts.map(one).collect()
}

impl From<AnalyzersError> for Failure {
    fn from(error: AnalyzersError) -> Self {
        let (code, hint) = match &error {
            AnalyzersError::File { .. } => (ENVIRONMENT, "name a file of patterns that the sensor may read"),
            _ => (CONFIGURATION, "see 'Pattern files' in docs/events.md"),
        };
        Self::new(code, error).hint(hint)
    }
}

#[cfg(test)]
mod tests {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    use super::*;

    /// No acknowledgment arrives: the event processor stands still.
    #[test]
    fn a_flood_of_anomalies_leaves_room_for_matches() {
        let (_here, there) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        let events = Events::over(there, NAME, &ANALYZERS).unwrap();
        let socket = Socket { events, is_patient: false.into(), stop: Stop::new() };
        let event = |analyzer: &str, severity| Event {
            analyzer: analyzer.into(),
            kind: "flood".into(),
            severity,
            ..Event::default()
        };
        let accepted = |event: Event| (0..5000).filter(|_| socket.try_emit(&event)).count();
        assert_eq!(accepted(event("anomaly", Severity::Medium)), 1024);
        assert_eq!(accepted(event("scan", Severity::Medium)), 512);
        assert_eq!(accepted(event("match", Severity::High)), 5000);
    }
}
