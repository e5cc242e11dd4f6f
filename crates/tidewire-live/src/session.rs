//! An open capture: its workers, and the monitor of its interfaces.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    Change, Interface, InterfaceCounts, InterfaceEvent, InterfaceState, Watch, Worker,
    any_limits::APPEARING_MAX,
    kernel::{Kernel, KernelCounters},
    link_message::Link as LinkState,
    packet::{Slot, SteeredOut},
    state::Followed,
    xsk::XdpAttachment,
};
use crate::{Error, sys::bpf::Link};

/// Interfaces that cannot be captured and are remembered, so that each is reported once.
const LEFT_OUT_MAX: usize = 1024;

/// An open capture: its workers, each to be run by one thread, and the monitor of its interfaces.
#[non_exhaustive]
pub struct Live {
    /// The workers.
    pub workers: Vec<Worker>,
    /// State of the interfaces, polled now and then.
    pub monitor: Monitor,
}

/// How an interface's frames are captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CaptureMethod {
    /// A packet socket's ring.
    #[default]
    Packet,
    /// AF_XDP in the driver.
    Xdp,
    /// AF_XDP through the generic hook.
    XdpGeneric,
}

impl CaptureMethod {
    /// Its name: `packet`, `af_xdp`, or `af_xdp_generic`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Packet => "packet",
            Self::Xdp => "af_xdp",
            Self::XdpGeneric => "af_xdp_generic",
        }
    }
}

/// The counters of an interface, and how its frames are captured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InterfaceReport {
    /// Its name when the capture began.
    pub name: String,
    /// Its name now, if it was renamed.
    pub current_name: Option<String>,
    /// Whether frames can come.
    pub state: InterfaceState,
    /// How long ago the kernel counted its last frame, seen from report to report; `None`: none since it is captured.
    pub idle: Option<Duration>,
    /// How its frames are captured.
    pub method: CaptureMethod,
    /// The same in words, with details and the reason: `packet socket, TPACKET_V3 (AF_XDP would divert host traffic)`.
    pub description: String,
    /// The interface's counters since it is captured; of one that is gone those of the last report. `None` if none saw it.
    pub counts: Option<InterfaceCounts>,
    /// Counters of the programs in the kernel, if there are any.
    pub kernel: Option<KernelCounters>,
    /// Frames that a steering program dropped among packet sockets, as [`Monitor::steered_out`] says; those of AF_XDP are in
    /// `kernel`.
    pub steered_out: u64,
}

/// Monitors the interfaces of a capture, apart from the packet path.
pub struct Monitor {
    /// `None` if the kernel refuses notifications.
    watch: Option<Watch>,
    interfaces: Vec<Watched>,
    /// The interfaces when it was stopped.
    last: Option<Vec<Interface>>,
    /// Places for interfaces that appear, and how their frames are captured.
    slots: Vec<Arc<Slot>>,
    description: String,
    /// Numbers of interfaces that cannot be captured, which was reported.
    left_out: Vec<u32>,
}

struct Watched {
    interface: Followed,
    method: CaptureMethod,
    description: String,
    before: InterfaceCounts,
    /// Since then, as of the last report.
    counts: Option<InterfaceCounts>,
    /// Frames in both directions by the report in which they were more than before, and when that was.
    moved: Option<(u64, Instant)>,
    kernel: Option<Arc<Kernel>>,
    attached: Option<Attached>,
    steered_out: Option<SteeredOut>,
}

/// A program on an interface, detached on drop.
pub(super) enum Attached {
    /// With AF_XDP sockets.
    Xdp { _attachment: XdpAttachment },
    /// Before packet sockets.
    Link { _link: Link },
}

/// How an interface's frames are captured.
pub(super) struct Connected {
    pub interface: Interface,
    pub method: CaptureMethod,
    /// In words, with the reason.
    pub description: String,
    pub kernel: Option<Arc<Kernel>>,
    pub attached: Option<Attached>,
    pub steered_out: Option<SteeredOut>,
}

impl Monitor {
    pub(super) fn new(interfaces: Vec<Connected>) -> Self {
        let watched = |connected: Connected| Watched {
            interface: Followed::new(&connected.interface),
            method: connected.method,
            description: connected.description,
            before: connected.interface.counts,
            counts: None,
            moved: None,
            kernel: connected.kernel,
            attached: connected.attached,
            steered_out: connected.steered_out,
        };
        let looked_up: Vec<_> = interfaces.iter().map(|connected| connected.interface.clone()).collect();
        Self {
            watch: Watch::new(&looked_up).ok(),
            interfaces: interfaces.into_iter().map(watched).collect(),
            last: None,
            slots: Vec::new(),
            description: String::new(),
            left_out: Vec::new(),
        }
    }

    /// Captures interfaces that appear, too.
    pub(super) fn following(mut self, slots: Vec<Arc<Slot>>, description: String) -> Self {
        if !slots.is_empty() {
            // Without notifications only known interfaces are captured.
            let _ = self.watch.as_mut().map(Watch::follow);
            (self.slots, self.description) = (slots, description);
        }
        self
    }

    /// Changes of the interfaces since the last call.
    ///
    /// # Errors
    /// The kernel refuses the request.
    pub fn events(&mut self) -> Result<Vec<InterfaceEvent>, Error> {
        let Some(watch) = &mut self.watch else { return Ok(Vec::new()) };
        let mut events = watch.events()?;
        for link in watch.appeared() {
            events.extend(self.join(link));
        }
        Ok(events)
    }

    /// Captures an interface that appeared.
    fn join(&mut self, link: LinkState) -> Option<InterfaceEvent> {
        if self.left_out.contains(&link.index) || self.last.is_some() {
            return None;
        }
        let number = self.interfaces.len();
        let interface = Interface::new(link.clone(), None);
        let vacant = |slot: &&Arc<Slot>| !slot.is_occupied();
        let joined = interface.link().map_err(|error| error.to_string()).and_then(|kind| {
            let slot = self.slots.iter().find(vacant);
            let slot = slot.ok_or_else(|| format!("{APPEARING_MAX} others have appeared before"))?;
            if !slot.takes(kind) {
                return Err("the filter or the steering program does not apply to its frames".into());
            }
            slot.occupy(&interface, kind, u16::try_from(number).map_err(|error| error.to_string())?);
            Ok(())
        });
        let change = match joined {
            Ok(()) => Change::Joined,
            Err(reason) => {
                if self.left_out.len() < LEFT_OUT_MAX {
                    self.left_out.push(link.index);
                }
                Change::LeftOut(reason)
            }
        };
        let event = InterfaceEvent { interface: number, name: interface.name.clone(), change };
        if event.change == Change::Joined {
            self.watch.iter_mut().for_each(|watch| watch.add(&link));
            self.interfaces.push(Watched {
                interface: Followed::new(&interface),
                method: CaptureMethod::Packet,
                description: self.description.clone(),
                before: interface.counts,
                counts: None,
                moved: None,
                kernel: None,
                attached: None,
                steered_out: None,
            });
        }
        Some(event)
    }

    /// Detaches the programs from the interfaces, which ends their counting. Their counters can still be read.
    pub fn stop(&mut self) {
        self.interfaces.iter_mut().for_each(|watched| watched.attached = None);
        if self.last.is_none() {
            // Frames that the interfaces count from now on belong to no capture.
            self.last = Interface::all().ok();
        }
    }

    /// Frames that a steering program dropped among packet sockets, on all interfaces, since the capture was opened: those
    /// that had passed the filter and the direction. They are in no ring, and in no ring's counts.
    ///
    /// In a cross-process group, each frame that the program drops comes to an arbitrary member, whose direction and filter
    /// apply first: frames that they reject are counted nowhere, as always. If all members have the same filter, the frames
    /// that arrived are those that the members received, dropped for want of room, and counted here. A member that joins later
    /// counts from just before it joins, when it still gets all frames. Frames that arrive in the microseconds until a new
    /// member's filter accepts frames are lost and not counted.
    ///
    /// # Errors
    /// The kernel refuses the request.
    pub fn steered_out(&self) -> Result<u64, Error> {
        let of = |watched: &Watched| watched.steered_out.as_ref().map_or(Ok(0), SteeredOut::frames);
        self.interfaces.iter().map(of).sum()
    }

    /// The counters of each interface so far.
    ///
    /// # Errors
    /// The kernel refuses the request.
    pub fn report(&mut self) -> Result<Vec<InterfaceReport>, Error> {
        let all = match &self.last {
            Some(last) => last.clone(),
            None => Interface::all()?,
        };
        let report = |watched: &mut Watched| {
            let changes = watched.interface.look(&all);
            if changes.contains(&Change::Back) {
                // Made again: its counters start from zero, and it has had no frame yet.
                watched.before = InterfaceCounts::default();
                watched.moved = watched.moved.map(|(_, at)| (0, at));
            }
            let now = watched.interface.among(&all);
            watched.counts = now.map(|interface| interface.counts.since(&watched.before)).or(watched.counts.take());
            let frames = watched.counts.map_or(0, |counts| counts.rx_packets.saturating_add(counts.tx_packets));
            if watched.moved.map_or(0, |moved| moved.0) != frames {
                watched.moved = Some((frames, Instant::now()));
            }
            Ok(InterfaceReport {
                name: watched.interface.name().to_owned(),
                current_name: watched.interface.current_name().map(str::to_owned),
                state: watched.interface.state(),
                idle: watched.moved.map(|moved| moved.1.elapsed()),
                method: watched.method,
                description: watched.description.clone(),
                counts: watched.counts,
                kernel: watched.kernel.as_ref().map(|kernel| kernel.counters()),
                steered_out: watched.steered_out.as_ref().map_or(Ok(0), SteeredOut::frames)?,
            })
        };
        self.interfaces.iter_mut().map(report).collect()
    }
}

/// How long an idle worker waits before it checks its clocks again.
pub const TICK: Duration = Duration::from_millis(50);
