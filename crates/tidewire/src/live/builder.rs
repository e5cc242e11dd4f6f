//! The builder for interfaces.

use std::{sync::Arc, time::Duration};

use tidewire_core::{DirectionCutoff, DuplicateRule, Handler};
use tidewire_live::{
    self as live, Error as LiveError, InKernel, InterfaceEvent, InterfaceReport, LiveSettings, Role, kernel::Shed,
};

use super::{Hooks, LiveReport};
use crate::{
    Capture, Error, Outcome, StreamClass,
    frames::FrameHandler,
    setup::{Duplicates, Run, Setup},
    worker::Worker,
};

/// The input of a [`Capture`] from interfaces.
pub struct Interfaces<'a> {
    settings: Box<LiveSettings>,
    hooks: Hooks<'a>,
}

/// Idle time after which a stream of a live capture ends.
pub const LIVE_INACTIVITY: Duration = Duration::from_secs(600);

/// How long a live capture waits for missing bytes that the receiver has acknowledged.
pub const LIVE_HOLE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a live capture remembers a closed connection, so that late packets open no new stream.
pub const LIVE_CLOSED: Duration = Duration::from_secs(10);

/// Idle time after which a live capture reports the end of a closed connection: longer than the first retransmission of a FIN
/// that was lost takes (RFC 6298: at most a second, with Linux 200 ms and a round trip).
pub const LIVE_REPORT: Duration = Duration::from_secs(1);

impl<'a> Capture<Interfaces<'a>> {
    /// Captures from interfaces, until [`Stop::stop`](crate::Stop::stop) is called or after a [`duration`](Self::duration) or
    /// a number of [`packets`](Self::packets).
    ///
    /// [`workers`](Self::workers) decides how many workers there are, 1 by default; [`LiveSettings::workers`] is ignored. A
    /// [`filter`](Self::filter) replaces that of `settings`. Of [`LiveSettings::kernel`], what follows from the other settings
    /// of the run is replaced: whether streams are cut off or shed, VLAN ids in keys, and tunnels.
    ///
    /// Sets timeouts that files do not have: [`LIVE_INACTIVITY`] for idle streams and
    /// [`LIVE_HOLE_TIMEOUT`] for missing bytes. Closed connections are reported after [`LIVE_REPORT`] and forgotten after
    /// [`LIVE_CLOSED`].
    pub fn live(settings: LiveSettings) -> Self {
        let mut capture = Self::new(Interfaces { settings: Box::new(settings), hooks: Hooks::default() });
        let config = &mut capture.setup.config;
        config.set_inactivity_timeout(Some(LIVE_INACTIVITY));
        config.set_hole_timeout(Some(LIVE_HOLE_TIMEOUT));
        config.set_closed_timeout(LIVE_CLOSED);
        config.set_report_closed(Some(LIVE_REPORT));
        capture
    }

    /// Counts the frames without decoding them, with as many workers as set, and spends `busy` on each. The ledger of the
    /// outcome and of reports has the frames received and their bytes on the wire.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn count(mut self, busy: Duration) -> Result<Outcome<()>, Error> {
        self.setup.check()?;
        let settings = self.input.settings(&self.setup);
        let opened = live::open(&settings)?;
        let hooks = Hooks { stop: self.setup.stop, pin: settings.pin(), ..self.input.hooks };
        crate::live::count(opened, busy, hooks)
    }
}

impl<'a, C> Capture<Interfaces<'a>, C> {
    /// Ends the capture after this time.
    pub fn duration(mut self, most: Duration) -> Self {
        self.input.hooks.duration = Some(most);
        self
    }

    /// Ends the capture after so many packets.
    pub fn packets(mut self, most: u64) -> Self {
        self.input.hooks.most = Some(most);
        self
    }

    /// Calls `call` when every ring is open and no worker has begun, with the interfaces and how their frames are captured. An
    /// error ends the run. The place to give up privileges.
    pub fn before_start(mut self, call: impl FnOnce(&[InterfaceReport]) -> Result<(), LiveError> + 'a) -> Self {
        self.input.hooks.before_start = Some(Box::new(call));
        self
    }

    /// Calls `call` about five times a second with the place of every packet, and once more at the end.
    pub fn on_report(mut self, call: impl FnMut(&LiveReport) + 'a) -> Self {
        self.input.hooks.on_report = Some(Box::new(call));
        self
    }

    /// Calls `call` with a worker's number and how full its fullest ring is, in thousandths: by that worker, after each round over its
    /// rings. The place to notice in time that frames come faster than they are processed; `call` must be quick.
    pub fn on_level(mut self, call: impl Fn(usize, u32) + Send + Sync + 'static) -> Self {
        self.input.hooks.on_level = Some(Arc::new(call));
        self
    }

    /// Calls `call` when an interface goes down, comes up, disappears, returns or is renamed. None of these ends the capture.
    pub fn on_event(mut self, call: impl FnMut(&InterfaceEvent) + 'a) -> Self {
        self.input.hooks.on_event = Some(Box::new(call));
        self
    }

    /// Calls `call` with errors of an interface that do not end the capture: it is down, or gone.
    pub fn on_trouble(mut self, call: impl FnMut(&LiveError) + 'a) -> Self {
        self.input.hooks.on_trouble = Some(Box::new(call));
        self
    }
}

impl Interfaces<'_> {
    /// The settings of the interfaces, completed by the common settings.
    fn settings(&self, setup: &Setup) -> LiveSettings {
        let mut settings = (*self.settings).clone().with_workers(setup.workers);
        if let Some(filter) = &setup.filter {
            settings.set_filter(filter.as_str());
        }
        settings
    }
}

impl Run for Interfaces<'_> {
    fn run_single<H: Handler>(self, mut setup: Setup, mut worker: Worker<H>) -> Result<Outcome<H>, Error> {
        setup.leave_out_copies(&self.settings);
        let settings = setup.in_kernel(self.settings(&setup), &mut worker.0);
        let opened = live::open(&settings.with_workers(1))?;
        let tap = setup.frame_tap(0);
        // The caller's thread is not pinned.
        let hooks = Hooks { stop: setup.stop, pin: false, ..self.hooks };
        super::run_single(opened, setup.config, worker, tap, hooks)
    }

    fn run_threads<H: Handler + Send>(
        self,
        mut setup: Setup,
        mut workers: Vec<Worker<H>>,
    ) -> Result<Outcome<H>, Error> {
        setup.leave_out_copies(&self.settings);
        let settings = self.settings(&setup);
        let settings = match workers.first_mut() {
            Some((handler, _)) => setup.in_kernel(settings, handler),
            None => settings,
        };
        let opened = live::open(&settings)?;
        let workers = workers.into_iter().enumerate().map(|(index, worker)| (worker, setup.frame_tap(index))).collect();
        let hooks = Hooks { stop: setup.stop, pin: settings.pin(), ..self.hooks };
        super::run_threads(opened, &setup.config, workers, hooks)
    }

    fn run_frames_single<F: FrameHandler>(self, setup: Setup, handler: F) -> Result<Outcome<F>, Error> {
        let opened = live::open(&self.settings(&setup))?;
        // The caller's thread is not pinned.
        let hooks = Hooks { stop: setup.stop, pin: false, ..self.hooks };
        super::run_frames_single(opened, handler, hooks)
    }

    fn run_frames<F: FrameHandler + Send>(self, setup: Setup, handlers: Vec<F>) -> Result<Outcome<F>, Error> {
        let settings = self.settings(&setup);
        let opened = live::open(&settings)?;
        let hooks = Hooks { stop: setup.stop, pin: settings.pin(), ..self.hooks };
        super::run_frames(opened, handlers, hooks)
    }
}

impl Setup {
    /// Sets which copies the engine leaves out: of a single interface none, unless they are unwanted. A tap has a direction at each of
    /// its ports.
    fn leave_out_copies(&mut self, settings: &LiveSettings) {
        let interfaces = settings.interfaces();
        let is_any = matches!(interfaces, [name] if name == "any");
        let shows_copies = is_any || interfaces.len() > 1 && settings.role() == Role::Host;
        let rule = match self.duplicates {
            Duplicates::Auto if shows_copies => DuplicateRule::Places,
            which => which.rule(None),
        };
        self.config.set_duplicates(rule);
    }

    /// Derives the in-kernel settings from the engine's settings and from those of the applications in `handler`.
    fn in_kernel<H: Handler>(&self, mut settings: LiveSettings, handler: &mut H) -> LiveSettings {
        let (config, mut needs) = (&self.config, settings.kernel().clone());
        needs.set_leaves_out_copies(config.duplicates() != DuplicateRule::Keep);
        let subscribers = handler.membership().map_or_else(Vec::new, |membership| membership.subscriptions());
        if H::PACKETS || self.frames.is_some() {
            // Handlers need packets beyond a cutoff, too.
            needs.set_offload(InKernel::Never);
        }
        let is_cut = |rule: &StreamClass| rule.cutoff.is_some();
        let (cuts, cuts_all) = if H::APPLICATIONS {
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
        let shed = config.shed().then(|| {
            let mut shed = Shed::new(config.base_threshold_permille(), priorities);
            shed.overload_cutoff_bytes = config.overload_cutoff_bytes();
            let classes = self.classes.iter().filter(|_| !H::APPLICATIONS);
            shed.ports = classes.filter_map(StreamClass::port_priority).collect();
            shed
        });
        needs.set_key_vlan(config.key_ids().vlan);
        needs.set_wire(config.wire().clone());
        settings.set_kernel(needs.with_cuts(cuts).with_cuts_all(cuts_all).with_shed(shed));
        settings
    }
}
