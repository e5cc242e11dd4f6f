//! The builder's part for interfaces.

use std::time::Duration;

use tidewire_core::{Config, Handler};
use tidewire_live::{
    self as live, Error as LiveError, InKernel, InterfaceEvent, InterfaceReport, LiveSettings, kernel::Shed,
};

use super::{Beside, LiveReport};
use crate::{
    Capture, Error, Outcome,
    capture::{Input, nanoseconds},
    classes::Rule,
    worker::Worker,
};

/// Silence after which a stream of a live capture ends.
pub const LIVE_INACTIVITY: Duration = Duration::from_secs(600);

/// How long a hole of a live capture is waited for that the receiver has acknowledged.
pub const LIVE_HOLE: Duration = Duration::from_secs(5);

/// How long a connection that is over is kept, in a live capture, for packets that come late: they open no other stream.
pub const LIVE_CLOSED: Duration = Duration::from_secs(10);

/// Silence after which the end of a connection that is over is reported, in a live capture: longer than the first
/// retransmission of a FIN that was lost takes (RFC 6298: at most a second, with Linux 200 ms and a round trip).
pub const LIVE_REPORT: Duration = Duration::from_secs(1);

impl<'a> Capture<'a> {
    /// Captures from interfaces, until [`Stop`](crate::Stop) is raised or after a [`duration`](Self::duration) or a number of
    /// [`packets`](Self::packets). [`workers`](Self::workers) and [`filter`](Self::filter) are taken from here, not from
    /// `settings`. Timeouts that files do not have are set: silence of [`LIVE_INACTIVITY`], holes of [`LIVE_HOLE`],
    /// and connections that are over are reported after [`LIVE_REPORT`] and forgotten after [`LIVE_CLOSED`].
    #[must_use]
    pub fn live(settings: LiveSettings) -> Self {
        let mut capture = Self::new(Input::Live(Box::new(settings)));
        capture.config.inactivity_timeout_ns = nanoseconds(LIVE_INACTIVITY);
        capture.config.hole_timeout_ns = nanoseconds(LIVE_HOLE);
        capture.config.closed_timeout_ns = nanoseconds(LIVE_CLOSED);
        capture.config.report_closed_ns = nanoseconds(LIVE_REPORT);
        capture
    }

    /// Ends a live capture after this long.
    #[must_use]
    pub fn duration(mut self, most: Duration) -> Self {
        self.beside.duration = Some(most);
        self
    }

    /// Ends a live capture after so many packets.
    #[must_use]
    pub fn packets(mut self, most: u64) -> Self {
        self.beside.most = Some(most);
        self
    }

    /// Called when every ring of a live capture is open, before a worker begins: with the interfaces, and how their frames
    /// are got. An error ends the run there. The place to give up privileges.
    #[must_use]
    pub fn before_start(mut self, call: impl FnOnce(&[InterfaceReport]) -> Result<(), LiveError> + 'a) -> Self {
        self.beside.before_start = Some(Box::new(call));
        self
    }

    /// Called about five times a second with where the packets of a live capture are; last when it has ended.
    #[must_use]
    pub fn on_report(mut self, call: impl FnMut(&LiveReport) + 'a) -> Self {
        self.beside.on_report = Some(Box::new(call));
        self
    }

    /// Called when an interface of a live capture goes down, comes up, goes, comes back or is renamed: none of these ends
    /// the capture.
    #[must_use]
    pub fn on_event(mut self, call: impl FnMut(&InterfaceEvent) + 'a) -> Self {
        self.beside.on_event = Some(Box::new(call));
        self
    }

    /// Called with what goes wrong with an interface without ending a live capture: it is down, or gone.
    #[must_use]
    pub fn on_trouble(mut self, call: impl FnMut(&LiveError) + 'a) -> Self {
        self.beside.on_trouble = Some(Box::new(call));
        self
    }

    /// Counts the frames of a live capture without looking into them, with as many workers as set, and spends `busy` on
    /// each. In the outcome and its reports the ledger has what was received, and bytes on the wire.
    ///
    /// # Errors
    /// As [`run`](Self::run); [`Error::Setting`] where this is no live capture.
    pub fn count(self, busy: Duration) -> Result<Outcome<()>, Error> {
        self.check()?;
        let settings = self.live_settings()?;
        let opened = live::open(&settings)?;
        let (_, beside) = self.beside(settings.pin);
        crate::live::count(opened, busy, beside)
    }

    /// Runs one worker over interfaces, on this thread.
    pub(crate) fn run_live_alone<H: Handler>(self, worker: Worker<H>) -> Result<Outcome<H>, Error> {
        let settings = self.in_kernel(self.live_settings()?, &worker.0);
        let opened = live::open(&LiveSettings { workers: 1, ..settings })?;
        let (config, beside) = self.beside(false);
        super::alone(opened, config, worker, beside)
    }

    /// Runs several workers over interfaces, each on a thread of its own.
    pub(crate) fn run_live_together<H: Handler + Send>(self, workers: Vec<Worker<H>>) -> Result<Outcome<H>, Error> {
        let settings = self.live_settings()?;
        let settings = match workers.first() {
            Some((handler, _)) => self.in_kernel(settings, handler),
            None => settings,
        };
        let opened = live::open(&settings)?;
        let (config, beside) = self.beside(settings.pin);
        super::together(opened, &config, workers, beside)
    }

    /// The settings of a live capture, with what is set here.
    fn live_settings(&self) -> Result<LiveSettings, Error> {
        #[cfg_attr(not(feature = "files"), expect(irrefutable_let_patterns, reason = "there are no other inputs then"))]
        let Input::Live(settings) = &self.input else {
            return Err(Error::Setting { what: "only frames of interfaces are counted".into() });
        };
        let filter = self.filter.clone().or_else(|| settings.filter.clone());
        Ok(LiveSettings { workers: self.workers, filter, ..(**settings).clone() })
    }

    /// What follows from the engine's settings, and from those of the applications that `handler` stands for, for
    /// programs in the kernel.
    fn in_kernel<H: Handler>(&self, mut settings: LiveSettings, handler: &H) -> LiveSettings {
        let (config, needs) = (&self.config, &mut settings.kernel);
        let outlets = if H::OUTLETS { handler.outlets() } else { Vec::new() };
        if H::PACKETS {
            // Packets beyond a cutoff are wanted, too.
            needs.use_it = InKernel::Never;
        }
        let is_cut = |rule: &Rule| rule.cutoff.is_some();
        needs.cuts = config.cutoff.0 != [u64::MAX; 2] || self.rules.iter().any(is_cut);
        needs.cuts_all = config.cutoff.0 == [0; 2] && !self.rules.iter().any(is_cut);
        if H::OUTLETS {
            needs.cuts = outlets.iter().any(|outlet| outlet.cutoff.0 != [u64::MAX; 2] || outlet.exceptions);
            needs.cuts_all = outlets.iter().all(|outlet| outlet.cutoff.0 == [0; 2] && !outlet.exceptions);
        }
        let priorities = outlets.iter().map(|outlet| outlet.priorities).fold(config.priorities, u8::max);
        (needs.key_vlan, needs.wire) = (config.key_ids.vlan, config.wire.clone());
        needs.shed = config.shed.then(|| Shed {
            base_threshold_permille: config.base_threshold_permille,
            priorities,
            overload_cutoff_bytes: config.overload_cutoff_bytes,
            priority: 0,
            ports: self.rules.iter().filter(|_| !H::OUTLETS).filter_map(Rule::port_priority).collect(),
        });
        settings
    }

    fn beside(self, pin: bool) -> (Config, Beside<'a>) {
        (self.config, Beside { stop: self.stop, pin, ..self.beside })
    }
}
