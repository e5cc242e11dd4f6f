//! A part that gets its settings over a channel and reports over it: whether it is ready, figures, what happens, its end.

use std::{
    io,
    os::fd::{AsFd as _, BorrowedFd},
    process::Child,
    time::{Duration, Instant},
};

use super::{
    channel::Channel,
    hear::{Heard, Reports, Trouble},
    log::{LineKind, shown},
    part::{Part, State},
};

/// A part that says nothing for this long hangs: each reports twice a second.
const SILENCE: Duration = Duration::from_secs(60);
/// A part that says nothing for this long is named in the log.
const QUIET: Duration = Duration::from_secs(5);
/// Lines that are logged when a part is ready.
const LINES_MAX: usize = 64;

/// Which part it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    Capture,
    Events,
    Spool,
}

impl Which {
    /// Its name in the log.
    pub fn words(self) -> &'static str {
        match self {
            Self::Capture => "the capture",
            Self::Events => "the event processor",
            Self::Spool => "the spooler",
        }
    }

    /// Its name in the status, and before its lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Events => "events",
            Self::Spool => "spool",
        }
    }
}

/// A report of a part, in the words of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// It is ready; these lines say more.
    Ready(Vec<String>),
    /// Figures came.
    Figures,
    /// Something happened.
    Line(LineKind, String),
    /// The recording is to be triggered.
    Trigger,
    /// Its own work is done; it helps others to end.
    Waits,
    /// It cannot read the store.
    Damaged(String),
    /// All is done.
    Finished,
    /// It could not begin or go on.
    Failed(String),
    /// It was stopped, and did not do everything.
    Unfinished(String),
    /// It sent what is no report.
    Rubbish(String),
}

/// How long a part has said nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Silence {
    /// It reports.
    #[default]
    None,
    /// It has said nothing for some seconds.
    Quiet,
    /// It hangs.
    Hangs,
}

/// A process that was started, with what belongs to it.
pub struct Started<R> {
    pub child: Child,
    pub open: io::PipeWriter,
    pub channel: Channel<R>,
}

/// A part that reports.
pub struct Reporting<R: Reports> {
    pub part: Part,
    channel: Option<Channel<R>>,
    /// Whether it does its work.
    pub ready: bool,
    /// Whether it ever did.
    pub has_begun: bool,
    /// Whether it has done everything.
    pub finished: bool,
    /// When it said something last, and how much of its silence was reported.
    heard: (Instant, Silence),
    /// Its newest figures, and when they came; and those before.
    pub figures: R::Status,
    before: R::Status,
    /// Totals of the processes before, and whether figures came that are not among them.
    earlier: [u64; 2],
    is_new: bool,
    pub figured: Option<Instant>,
    /// Operations that fail by them, with the most that waited.
    troubles: Vec<Trouble>,
    /// It was stopped only to be started again at once; why, in words that follow "started".
    pub again: Option<&'static str>,
}

impl<R: Reports> Reporting<R> {
    pub fn new(which: Which) -> Self {
        Self {
            part: Part::new(which.name().into()),
            channel: None,
            ready: false,
            has_begun: false,
            finished: false,
            heard: (Instant::now(), Silence::None),
            figures: R::Status::default(),
            before: R::Status::default(),
            earlier: [0; 2],
            is_new: false,
            figured: None,
            troubles: Vec::new(),
            again: None,
        }
    }

    /// A process was started for it, or could not be. Then the time until the next attempt is returned, with the error.
    pub fn started(&mut self, started: io::Result<Started<R>>, now: Instant) -> Result<(), (io::Error, Duration)> {
        (self.ready, self.finished, self.heard) = (false, false, (now, Silence::None));
        self.before = R::Status::default();
        // Those of the new process begin at 0.
        (self.earlier, self.is_new) = (self.sums(), false);
        // A new process reports by itself what it cannot do either.
        self.troubles.clear();
        match started {
            Ok(Started { child, open, channel }) => {
                self.part.started(child, now);
                self.part.keep_open(open);
                self.channel = Some(channel);
                Ok(())
            }
            Err(error) => {
                let wait = self.part.not_started(&error, now);
                Err((error, wait))
            }
        }
    }
}

/// Operations that the supervisor does alike with each of them.
pub trait Watched {
    fn part(&self) -> &Part;
    fn part_mut(&mut self) -> &mut Part;
    fn is_ready(&self) -> bool;
    /// Reads what it says.
    fn hear(&mut self, now: Instant) -> Vec<Said>;
    /// Its socket for the next report, and whether there is more to send to it, as descriptors to wait for.
    fn socket(&self) -> Option<(BorrowedFd<'_>, bool)>;
    /// Whether it has said nothing for long, where that was not returned before.
    fn silence(&mut self, now: Instant) -> Option<Silence>;
    /// Its process has ended.
    fn ended(&mut self);
    /// Why it is started again at once, if it was stopped only for that.
    fn takes_again(&mut self) -> Option<&'static str>;
}

impl<R: Reports> Watched for Reporting<R> {
    fn part(&self) -> &Part {
        &self.part
    }

    fn part_mut(&mut self) -> &mut Part {
        &mut self.part
    }

    fn is_ready(&self) -> bool {
        self.ready
    }

    fn hear(&mut self, now: Instant) -> Vec<Said> {
        let Some(channel) = &mut self.channel else { return Vec::new() };
        let reports = match channel.reports() {
            Ok(reports) => reports,
            Err(what) => {
                self.channel = None;
                self.part.kill();
                return vec![Said::Rubbish(shown(&what))];
            }
        };
        let mut said = Vec::new();
        if !reports.is_empty() {
            let (since, silence) = std::mem::replace(&mut self.heard, (now, Silence::None));
            if silence == Silence::Quiet {
                let seconds = now.saturating_duration_since(since).as_secs();
                said.push(Said::Line(LineKind::Troubles, format!("it reports again, after {seconds} s")));
            }
        }
        for report in reports {
            let noted = self.note(report.heard(), now);
            let has_figures = matches!(noted, Said::Figures | Said::Waits | Said::Finished);
            said.push(noted);
            if has_figures {
                said.extend(self.changed().into_iter().map(|line| Said::Line(LineKind::Troubles, shown(&line))));
            }
        }
        said
    }

    fn socket(&self) -> Option<(BorrowedFd<'_>, bool)> {
        let channel = self.channel.as_ref().filter(|channel| channel.is_open())?;
        Some((channel.as_fd(), channel.is_sending()))
    }

    fn silence(&mut self, now: Instant) -> Option<Silence> {
        // Before it is ready, it may take long to bring queues into memory, or to check a store.
        if !self.ready || self.part.state != State::Running {
            return None;
        }
        let silence = match now.saturating_duration_since(self.heard.0) {
            long if long >= SILENCE => Silence::Hangs,
            some if some >= QUIET => Silence::Quiet,
            _ => Silence::None,
        };
        let is_news = silence > self.heard.1;
        self.heard.1 = self.heard.1.max(silence);
        is_news.then_some(silence)
    }

    fn ended(&mut self) {
        (self.ready, self.channel) = (false, None);
    }

    fn takes_again(&mut self) -> Option<&'static str> {
        self.again.take()
    }
}

impl<R: Reports> Reporting<R> {
    /// Sums over all its processes.
    pub fn sums(&self) -> [u64; 2] {
        let [first, second] = if self.is_new { R::totals(&self.figures) } else { [0; 2] };
        let [before, also] = self.earlier;
        [before.saturating_add(first), also.saturating_add(second)]
    }

    /// Totals of all its processes, where there were several that had some.
    pub fn totals(&self) -> Option<[u64; 2]> {
        (self.earlier != [0; 2]).then(|| self.sums())
    }

    /// Lines about operations that begin to fail, fail for another reason, or work again.
    fn changed(&mut self) -> Vec<String> {
        let mut now = R::troubles(&self.before, &self.figures);
        let mut lines = Vec::new();
        for trouble in &mut now {
            let before = self.troubles.iter().find(|before| before.of == trouble.of);
            trouble.waiting = trouble.waiting.max(before.map_or(0, |before| before.waiting));
            if before.is_none_or(|before| before.why != trouble.why) {
                lines.push(R::of_trouble(&trouble.of, Some(&trouble.why), trouble.waiting));
            }
        }
        let is_over = |before: &&Trouble| !now.iter().any(|trouble| trouble.of == before.of);
        for over in self.troubles.iter().filter(is_over) {
            lines.push(R::of_trouble(&over.of, None, over.waiting));
        }
        self.troubles = now;
        lines
    }

    fn note(&mut self, heard: Heard<R::Status>, now: Instant) -> Said {
        self.is_new |= matches!(heard, Heard::Status(_) | Heard::Finished(_) | Heard::Waits(_) | Heard::Unfinished(..));
        match heard {
            Heard::Ready(lines) => {
                (self.ready, self.has_begun) = (true, true);
                Said::Ready(lines.iter().take(LINES_MAX).map(|line| shown(line)).collect())
            }
            Heard::Status(status) => {
                self.before = std::mem::replace(&mut self.figures, status);
                self.figured = Some(now);
                Said::Figures
            }
            Heard::Finished(status) => {
                (self.figures, self.figured) = (status, Some(now));
                // It may have said so before.
                if std::mem::replace(&mut self.finished, true) { Said::Figures } else { Said::Finished }
            }
            Heard::Waits(status) => {
                (self.figures, self.figured, self.finished) = (status, Some(now), true);
                // It is stopped once more, later.
                if let State::Stopping(_) = self.part.state {
                    self.part.state = State::Running;
                }
                Said::Waits
            }
            Heard::Unfinished(status, text) => {
                (self.figures, self.figured) = (status, Some(now));
                Said::Unfinished(shown(&text))
            }
            Heard::Damaged(text) => Said::Damaged(shown(&text)),
            Heard::Line(kind, text) => Said::Line(kind, shown(&text)),
            Heard::Trigger => Said::Trigger,
            Heard::Failed(text, Some(hint)) => Said::Failed(format!("{}; {}", shown(&text), shown(&hint))),
            Heard::Failed(text, None) => Said::Failed(shown(&text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, io::Write as _, process::Command};

    use tidewire_testing::wait_until;

    use super::*;
    use crate::{
        events::report::EventsReport,
        report::{CaptureEvent, CaptureStatus, QueueStatus, ReaderReport},
    };

    /// A part whose process is a shell that waits, and the end over which it reports.
    fn part<R: Reports>(which: Which) -> (Reporting<R>, File) {
        let mut reporting = Reporting::new(which);
        let (channel, theirs) = Channel::pair().expect("a pair");
        let child = tidewire_live::sys::process::start(Command::new("sleep").arg("60"), 0, None).expect("a shell");
        let (_, open) = io::pipe().expect("a pipe");
        reporting.started(Ok(Started { child, open, channel }), Instant::now()).expect("it runs");
        (reporting, theirs.into())
    }

    #[test]
    fn every_kind_of_part_says_the_same_things() {
        let (mut events, mut theirs) = part::<EventsReport>(Which::Events);
        let lines = [
            r#"{"event":"ready","store":"/x","records":2,"events":9}"#,
            r#"{"event":"status","events":7}"#,
            r#"{"event":"analyzer","text":"a\u001b came"}"#,
            r#"{"event":"finished","events":8}"#,
            r#"{"event":"failed","text":"no disk","hint":"free some"}"#,
            r#"{"event":"failed","text":"2 events are not stored","hint":null,"status":{"events":9,"stored_events":7}}"#,
        ];
        for line in lines {
            writeln!(theirs, "{line}").expect("room");
        }
        let said = events.hear(Instant::now());
        let words = |kind, text: &str| Said::Line(kind, text.into());
        assert_eq!(
            said,
            [
                Said::Ready(vec!["/x: 9 events in 2 records".into()]),
                Said::Figures,
                words(LineKind::Analyzers, "a\\u{1b} came"),
                Said::Finished,
                Said::Failed("no disk; free some".into()),
                Said::Unfinished("2 events are not stored".into()),
            ]
        );
        assert!(events.ready && events.has_begun && events.finished && events.figures.events == 9);
        events.part.kill();
        wait_until("its end", || events.part.reap(Instant::now()).is_some());
        events.ended();
        assert!(!events.ready && events.has_begun && events.socket().is_none());
    }

    #[test]
    fn what_is_no_report_ends_the_part_and_silence_is_noticed_once() {
        let (mut capture, mut theirs) = part::<CaptureEvent>(Which::Capture);
        let now = Instant::now();
        assert_eq!(capture.silence(now + SILENCE), None, "it is not ready");
        writeln!(theirs, r#"{{"event":"ready","inputs":[]}}"#).expect("room");
        assert_eq!(capture.hear(now), [Said::Ready(Vec::new())]);
        let seen = [QUIET / 2, QUIET, QUIET * 2, SILENCE, SILENCE * 2].map(|after| capture.silence(now + after));
        assert_eq!(seen, [None, Some(Silence::Quiet), None, Some(Silence::Hangs), None]);
        writeln!(theirs, "rubbish").expect("room");
        assert!(matches!(&capture.hear(now)[..], [Said::Rubbish(what)] if what.starts_with("what is no report")));
        wait_until("its end", || capture.part.reap(Instant::now()).is_some());
        assert_eq!(capture.part.last_exit.as_deref(), Some("killed by signal 9 (SIGKILL)"));
    }

    #[test]
    fn a_capture_that_waits_and_a_part_that_is_quiet_are_in_the_log() {
        let (mut capture, mut theirs) = part::<CaptureEvent>(Which::Capture);
        let status = |seconds: f64, waited_ns: u64| CaptureStatus {
            seconds,
            queues: vec![QueueStatus {
                name: "web".into(),
                waited_ns,
                readers: vec![ReaderReport {
                    name: "slow".into(),
                    process: 7,
                    lag: Some(9),
                    ..ReaderReport::default()
                }],
                ..QueueStatus::default()
            }],
            ..CaptureStatus::default()
        };
        writeln!(theirs, r#"{{"event":"ready","inputs":[]}}"#).expect("room");
        for (seconds, waited_ms) in [(1.0, 0), (1.5, 10), (2.0, 500), (2.5, 1000), (3.0, 1500), (3.5, 1500)] {
            let report = CaptureEvent::Status(status(seconds, waited_ms * 1_000_000));
            writeln!(theirs, "{}", serde_json::to_string(&report).unwrap()).expect("room");
        }
        let now = Instant::now();
        let lines = |said: Vec<Said>| -> Vec<String> {
            let text = |one| if let Said::Line(LineKind::Troubles, text) = one { Some(text) } else { None };
            said.into_iter().filter_map(text).collect()
        };
        let said = lines(capture.hear(now));
        assert_eq!(
            said,
            [
                "queue web: the capture waits for slow (process 7); packets wait in the rings or are dropped",
                "queue web: the capture waits no more; at most 9 records had waited to be read",
            ]
        );
        assert_eq!(capture.silence(now + QUIET), Some(Silence::Quiet));
        writeln!(theirs, r#"{{"event":"warning","text":"x"}}"#).expect("room");
        assert_eq!(lines(capture.hear(now + QUIET * 2)), ["it reports again, after 10 s"]);
        capture.part.kill();
        wait_until("its end", || capture.part.reap(Instant::now()).is_some());
    }

    #[test]
    fn totals_add_up_over_restarts() {
        let (mut capture, mut theirs) = part::<CaptureEvent>(Which::Capture);
        let report = |theirs: &mut File, packets| {
            let status = CaptureStatus { packets, dropped: 1, ..CaptureStatus::default() };
            writeln!(theirs, "{}", serde_json::to_string(&CaptureEvent::Status(status)).unwrap()).expect("room");
        };
        [5, 70].into_iter().for_each(|packets| report(&mut theirs, packets));
        capture.hear(Instant::now());
        assert_eq!(capture.totals(), None, "there is one process");
        for (packets, totals) in [(Some(30), [100, 2]), (None, [100, 2]), (Some(1), [101, 3])] {
            capture.part.kill();
            wait_until("its end", || capture.part.reap(Instant::now()).is_some());
            capture.ended();
            let (channel, mut theirs) = Channel::pair().map(|(own, theirs)| (own, File::from(theirs))).expect("a pair");
            let child = tidewire_live::sys::process::start(Command::new("sleep").arg("60"), 0, None).expect("a shell");
            let (_, open) = io::pipe().expect("a pipe");
            capture.started(Ok(Started { child, open, channel }), Instant::now()).expect("it runs");
            packets.into_iter().for_each(|packets| report(&mut theirs, packets));
            capture.hear(Instant::now());
            assert_eq!((capture.totals(), capture.sums()), (Some(totals), totals));
        }
        capture.part.kill();
        wait_until("its end", || capture.part.reap(Instant::now()).is_some());
    }

    #[test]
    fn what_cannot_be_stored_is_said_once_and_its_end() {
        let (mut events, mut theirs) = part::<EventsReport>(Which::Events);
        let lines = [
            r#"{"event":"status","events":7,"stored_events":5,"failing":"/x: no space"}"#,
            r#"{"event":"status","events":9,"stored_events":5,"failing":"/x: no space"}"#,
            r#"{"event":"status","events":9,"stored_events":5,"failing":"/x: read-only"}"#,
            r#"{"event":"status","events":9,"stored_events":9}"#,
            r#"{"event":"status","events":9,"stored_events":9}"#,
        ];
        for line in lines {
            writeln!(theirs, "{line}").expect("room");
        }
        let mut said = Vec::new();
        wait_until("all lines", || {
            said.extend(events.hear(Instant::now()));
            said.iter().filter(|one| **one == Said::Figures).count() == lines.len()
        });
        said.retain(|one| *one != Said::Figures);
        let expected = [
            "nothing can be stored: /x: no space; what comes waits",
            "nothing can be stored: /x: read-only; what comes waits",
            "events are stored again; at most 4 had waited",
        ];
        assert_eq!(said, expected.map(|text| Said::Line(LineKind::Troubles, text.into())));
        events.part.kill();
    }
}
