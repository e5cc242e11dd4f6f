//! The builder's part for interfaces.

use std::time::Duration;

use tidewire_core::{Deliver, DirectionCutoff};
use tidewire_live::{
    self as live, Error as LiveError, InKernel, InterfaceEvent, InterfaceReport, LiveSettings, kernel::Shed,
};

use super::{Hooks, LiveReport};
use crate::{
    Capture, Error, Outcome, StreamClass,
    setup::{Run, Setup, nanoseconds},
    worker::Worker,
};

/// The input of a [`Capture`] from interfaces.
pub struct Interfaces<'a> {
    settings: Box<LiveSettings>,
    hooks: Hooks<'a>,
}

/// Silence after which a stream ends.
pub const LIVE_INACTIVITY: Duration = Duration::from_secs(600);

/// How long a hole is waited for that the receiver has acknowledged.
pub const LIVE_HOLE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a connection that is over is kept, in a live capture, for packets that come late: they open no other stream.
pub const LIVE_CLOSED: Duration = Duration::from_secs(10);

/// Silence after which the end of a connection that is over is reported, in a live capture: longer than the first
/// retransmission of a FIN that was lost takes (RFC 6298: at most a second, with Linux 200 ms and a round trip).
pub const LIVE_REPORT: Duration = Duration::from_secs(1);

impl<'a> Capture<Interfaces<'a>> {
    /// Captures from interfaces, until [`Stop`](crate::Stop) is raised or after a [`duration`](Self::duration) or a number of
    /// [`packets`](Self::packets). [`workers`](Self::workers) and [`filter`](Self::filter) are taken from here, not from
    /// `settings`. Timeouts that files do not have are set: silence of [`LIVE_INACTIVITY`], holes of [`LIVE_HOLE_TIMEOUT`],
    /// and connections that are over are reported after [`LIVE_REPORT`] and forgotten after [`LIVE_CLOSED`].
    pub fn live(settings: LiveSettings) -> Self {
        let mut capture = Self::new(Interfaces { settings: Box::new(settings), hooks: Hooks::default() });
        let config = &mut capture.setup.config;
        config.set_inactivity_timeout_ns(nanoseconds(LIVE_INACTIVITY));
        config.set_hole_timeout_ns(nanoseconds(LIVE_HOLE_TIMEOUT));
        config.set_closed_timeout_ns(nanoseconds(LIVE_CLOSED));
        config.set_report_closed_ns(nanoseconds(LIVE_REPORT));
        capture
    }

    /// Ends it after this long.
    pub fn duration(mut self, most: Duration) -> Self {
        self.input.hooks.duration = Some(most);
        self
    }

    /// Ends it after so many packets.
    pub fn packets(mut self, most: u64) -> Self {
        self.input.hooks.most = Some(most);
        self
    }

    /// Called when every ring is open, before a worker begins: with the interfaces, and how their frames
    /// are got. An error ends the run there. The place to give up privileges.
    pub fn before_start(mut self, call: impl FnOnce(&[InterfaceReport]) -> Result<(), LiveError> + 'a) -> Self {
        self.input.hooks.before_start = Some(Box::new(call));
        self
    }

    /// Called about five times a second with where the packets are; last when it has ended.
    pub fn on_report(mut self, call: impl FnMut(&LiveReport) + 'a) -> Self {
        self.input.hooks.on_report = Some(Box::new(call));
        self
    }

    /// Called when an interface goes down, comes up, goes, comes back or is renamed: none of these ends
    /// the capture.
    pub fn on_event(mut self, call: impl FnMut(&InterfaceEvent) + 'a) -> Self {
        self.input.hooks.on_event = Some(Box::new(call));
        self
    }

    /// Called with what goes wrong with an interface without ending a live capture: it is down, or gone.
    pub fn on_trouble(mut self, call: impl FnMut(&LiveError) + 'a) -> Self {
        self.input.hooks.on_trouble = Some(Box::new(call));
        self
    }

    /// Counts the frames without looking into them, with as many workers as set, and spends `busy` on each. In the outcome and
    /// its reports the ledger has what was received, and bytes on the wire.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn count(self, busy: Duration) -> Result<Outcome<()>, Error> {
        self.setup.check()?;
        let settings = self.input.settings(&self.setup);
        let opened = live::open(&settings)?;
        let hooks = Hooks { stop: self.setup.stop, pin: settings.pin(), ..self.input.hooks };
        crate::live::count(opened, busy, hooks)
    }
}

impl Interfaces<'_> {
    /// The settings of the interfaces, with what is set of every capture.
    fn settings(&self, setup: &Setup) -> LiveSettings {
        let filter = setup.filter.clone().or_else(|| self.settings.filter().map(str::to_owned));
        (*self.settings).clone().with_workers(setup.workers).with_filter(filter)
    }
}

impl Run for Interfaces<'_> {
    fn run_single<H: Deliver>(self, setup: Setup, worker: Worker<H>) -> Result<Outcome<H>, Error> {
        let settings = setup.in_kernel(self.settings(&setup), &worker.0);
        let opened = live::open(&settings.with_workers(1))?;
        // The caller's thread is not ours to bind.
        let hooks = Hooks { stop: setup.stop, pin: false, ..self.hooks };
        super::run_single(opened, setup.config, worker, hooks)
    }

    fn run_threads<H: Deliver + Send>(self, setup: Setup, workers: Vec<Worker<H>>) -> Result<Outcome<H>, Error> {
        let settings = self.settings(&setup);
        let settings = match workers.first() {
            Some((handler, _)) => setup.in_kernel(settings, handler),
            None => settings,
        };
        let opened = live::open(&settings)?;
        let hooks = Hooks { stop: setup.stop, pin: settings.pin(), ..self.hooks };
        super::run_threads(opened, &setup.config, workers, hooks)
    }
}

impl Setup {
    /// What follows from the engine's settings, and from those of the applications that `handler` stands for, for
    /// programs in the kernel.
    fn in_kernel<H: Deliver>(&self, mut settings: LiveSettings, handler: &H) -> LiveSettings {
        let (config, mut needs) = (&self.config, settings.kernel().clone());
        let subscribers = if H::SUBSCRIBERS { handler.subscribers() } else { Vec::new() };
        if H::PACKETS {
            // Packets beyond a cutoff are wanted, too.
            needs.set_use_it(InKernel::Never);
        }
        let is_cut = |rule: &StreamClass| rule.cutoff.is_some();
        let (cuts, cuts_all) = if H::SUBSCRIBERS {
            (
                subscribers
                    .iter()
                    .any(|subscriber| subscriber.cutoff != DirectionCutoff::UNLIMITED || subscriber.exceptions),
                subscribers
                    .iter()
                    .all(|subscriber| subscriber.cutoff == DirectionCutoff::both(0) && !subscriber.exceptions),
            )
        } else {
            let cuts_some = self.classes.iter().any(is_cut);
            let cutoff = config.cutoff();
            (cutoff != DirectionCutoff::UNLIMITED || cuts_some, cutoff == DirectionCutoff::both(0) && !cuts_some)
        };
        let priorities = subscribers.iter().map(|subscriber| subscriber.priorities).fold(config.priorities(), u8::max);
        let shed = config.shed().then(|| Shed {
            base_threshold_permille: config.base_threshold_permille(),
            priorities,
            overload_cutoff_bytes: config.overload_cutoff_bytes(),
            priority: 0,
            ports: self.classes.iter().filter(|_| !H::SUBSCRIBERS).filter_map(StreamClass::port_priority).collect(),
        });
        needs.set_key_vlan(config.key_ids().vlan);
        needs.set_wire(config.wire().clone());
        settings.set_kernel(needs.with_cuts(cuts).with_cuts_all(cuts_all).with_shed(shed));
        settings
    }
}
