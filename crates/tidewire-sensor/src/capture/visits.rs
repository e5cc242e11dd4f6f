//! Readers that come, go and are refused, in few events: any process that can connect causes them, as often as it likes.

use std::time::{Duration, Instant};

use tidewire_queue::ServerEvent;

use super::{events::Events, words};
use crate::report::CaptureEvent;

/// One event of each kind in this time, at most.
const TIME: Duration = Duration::from_secs(1);
/// Attached, detached, refused.
const KINDS: usize = 3;

/// Arrivals, departures and refusals of readers that are not reported yet.
#[derive(Debug, Default)]
pub(super) struct Visits {
    kinds: [Visit; KINDS],
}

#[derive(Debug, Default)]
struct Visit {
    reported: Option<Instant>,
    /// The newest, in words.
    text: String,
    /// How many since the last event.
    count: u64,
}

impl Visit {
    /// How long until it may be reported.
    fn left(&self) -> Duration {
        self.reported.map_or(Duration::ZERO, |reported| TIME.saturating_sub(reported.elapsed()))
    }

    fn report(&mut self, events: &Events) {
        if self.count == 0 {
            return;
        }
        let mut text = std::mem::take(&mut self.text);
        if let more @ 1.. = self.count - 1 {
            text.push_str(&format!(" ({more} more like this since the last line)"));
        }
        (self.reported, self.count) = (Some(Instant::now()), 0);
        events.send(CaptureEvent::Reader { text });
    }
}

impl Visits {
    /// Notes what a reader did.
    pub(super) fn note(&mut self, event: &ServerEvent) {
        let kind = match event {
            ServerEvent::Attached(_) => 0,
            ServerEvent::Detached(_) => 1,
            _ => 2,
        };
        let visit = &mut self.kinds[kind];
        visit.text = words::of_reader(event);
        visit.count += 1;
    }

    /// How long until something is to be reported.
    pub(super) fn due(&self) -> Option<Duration> {
        self.kinds.iter().filter(|visit| visit.count != 0).map(Visit::left).min()
    }

    /// Reports what may be reported now.
    pub(super) fn report(&mut self, events: &Events) {
        self.kinds.iter_mut().filter(|visit| visit.left().is_zero()).for_each(|visit| visit.report(events));
    }

    /// Reports everything: the end.
    pub(super) fn report_all(&mut self, events: &Events) {
        self.kinds.iter_mut().for_each(|visit| visit.report(events));
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead as _, BufReader},
        os::unix::net::UnixStream,
    };

    use tidewire_queue::Refusal;

    use super::{super::events::Writer, *};

    #[test]
    fn a_flood_of_refusals_is_a_line_with_a_count() {
        let (here, there) = UnixStream::pair().unwrap();
        let events = Events::default();
        let mut writer = Writer::new(here.into(), events.clone()).unwrap();
        let mut visits = Visits::default();
        let refused = |user| ServerEvent::Refused { why: Refusal::User { user }, user };
        assert_eq!(visits.due(), None);
        let begun = Instant::now();
        for user in 1..=1000 {
            visits.note(&refused(user));
            visits.report(&events);
        }
        assert!(visits.due().is_some_and(|due| due <= TIME));
        visits.report_all(&events);
        let took = begun.elapsed();
        assert_eq!(visits.due(), None);
        assert!(writer.write());
        drop(writer);
        let lines: Vec<String> = BufReader::new(there).lines().map(Result::unwrap).collect();
        // The first at once, the others in a line each second.
        assert!(lines.len() as u64 <= 2 + took.as_secs(), "{lines:?}");
        assert!(lines[0].contains("user 1 "), "{lines:?}");
        let last = lines.last().unwrap();
        assert!(last.contains("user 1000 ") && last.contains(" more like this"), "{lines:?}");
    }
}
