use std::{
    io,
    os::fd::{AsFd, AsRawFd},
    sync::Arc,
};

use tidewire_steer::{
    Compiled, DATAGRAMS_MAX, Engine, Program as Steering, STATE_BYTES, Settings,
    bpf::{Ending, Hook, MapUse, Output},
};

use super::{XdpAttachment, XskPlan, XskRing, attachment::AttachedProgram, probe, slot::FilterSlot};
use crate::{
    Error, Interface, InterfaceCounts, LiveEngine, LiveSettings, Role, SettingError, TrafficDirection,
    filter_spec::FilterSpec,
    kernel::{Jump, KernelSettings, KernelXdp},
    packet::flow_steering,
    session::CaptureMethod,
    sys::{
        arena::ArenaRegion,
        bpf::{ARRAY, LRU_HASH, Load, Map, Program, XDP, XdpMode},
    },
};

/// `XDP_DROP`
const DROP: u32 = 1;
/// `BPF_XDP` of `enum bpf_attach_type`: what all the programs are loaded for.
const ATTACH_XDP: u32 = 37;

/// AF_XDP on one interface, chosen and planned; nothing is opened yet.
#[derive(Clone, Debug)]
pub struct XdpEngine {
    interface: Interface,
    plan: XskPlan,
    mode: XdpMode,
    reason: String,
    /// Chooses the worker, or always a queue's only one; notes when a frame arrived.
    steering: Compiled,
    filter: FilterSpec,
    replaceable_filter: bool,
    promiscuous: bool,
}

/// AF_XDP on one interface, attached.
#[derive(Debug)]
#[non_exhaustive]
pub struct XdpCapture {
    /// Programs and counters.
    pub kernel: KernelXdp,
    /// By worker.
    pub rings: Vec<Vec<XskRing>>,
    /// The attachment, which ends with the capture.
    pub attachment: XdpAttachment,
    /// How frames are captured, and the reason.
    pub description: String,
    /// The interface's counters before frames were accepted.
    pub before: InterfaceCounts,
}

impl XdpEngine {
    /// Chooses where the program runs, as the settings' engine says. [`LiveEngine::Auto`] takes the driver, and only where
    /// it shows whole frames: packet sockets restore VLAN tags that a card took out, which here are lost.
    ///
    /// # Errors
    /// What the interface, the kernel or these settings lack for AF_XDP, and what to do: the reason to take packet sockets.
    pub fn choose(settings: &LiveSettings, interface: &Interface) -> Result<Self, Error> {
        let name = &interface.name;
        if settings.role == Role::Host {
            return Err(SettingError::XdpOnHost { interface: name.clone() }.into());
        }
        if settings.direction == TrafficDirection::Out {
            return Err(SettingError::XdpOutgoing { interface: name.clone() }.into());
        }
        let plan = XskPlan::new(settings, interface)?.stamped(true);
        let steering = steering(settings, &plan)?;
        let support = probe(interface);
        if settings.engine == LiveEngine::Auto && support.native && support.tags_lost {
            return Err(SettingError::XdpLosesTags { interface: name.clone() }.into());
        }
        let (mode, can) = match settings.engine {
            LiveEngine::XdpGeneric => (XdpMode::Generic, support.generic),
            _ => (XdpMode::Native, support.native),
        };
        if !can {
            let (interface, generic) = (name.clone(), support.generic);
            return Err(SettingError::XdpUnavailable { interface, reason: support.reason, generic }.into());
        }
        let outgoing = settings.direction == TrafficDirection::Both && settings.engine != LiveEngine::Auto;
        let reason = if outgoing {
            [support.reason.as_str(), "frames that the machine sends are not seen"].join("; ")
        } else {
            support.reason
        };
        Ok(Self {
            interface: interface.clone(),
            plan,
            mode,
            reason: reason.trim_start_matches("; ").to_owned(),
            steering,
            filter: FilterSpec::of(settings)?,
            replaceable_filter: settings.replaceable_filter,
            promiscuous: settings.promiscuous,
        })
    }

    /// How many rings, and how large.
    #[must_use]
    pub fn plan(&self) -> &XskPlan {
        &self.plan
    }

    pub(crate) fn method(&self) -> CaptureMethod {
        match self.mode {
            XdpMode::Native => CaptureMethod::Xdp,
            XdpMode::Generic => CaptureMethod::XdpGeneric,
        }
    }

    /// Loads the programs as `kernel` says (what this engine decides itself is set here: filter, steering, sockets), opens
    /// the sockets of all workers, and attaches. No frame is delivered that the filter did not see.
    ///
    /// `number` and `places` as [`XskPlan::open`] has them.
    ///
    /// # Errors
    /// A missing capability, another program on the interface, a filter or a steering program that the kernel refuses, no
    /// memory for rings or tables.
    pub fn open(
        &self,
        kernel: KernelSettings,
        number: u16,
        places: Vec<Vec<ArenaRegion>>,
    ) -> Result<XdpCapture, Error> {
        let workers = self.plan.workers() as u32;
        // A driver hands the frames of one queue to one processor at a time.
        let several = self.plan.slots() > workers || self.mode == XdpMode::Generic;
        let kernel = KernelXdp::load(&KernelSettings {
            has_filter: self.filter.is_some() || self.replaceable_filter,
            has_steering: true,
            sockets: self.plan.slots(),
            workers,
            passes_rest: false,
            is_shared: kernel.is_shared && several,
            ..kernel
        })?;
        let programs = kernel.jump().as_fd().as_raw_fd();
        let has_filter = self.filter.is_some() || self.replaceable_filter;
        let slot = has_filter.then(|| FilterSlot::new(kernel.kernel(), &self.filter)).transpose()?.map(Arc::new);
        let sockets = kernel.sockets().ok_or_else(|| self.failed("finding the map of sockets", missing()))?;
        let sockets = Map::from_descriptor(sockets.as_fd());
        let sockets = Arc::new(sockets.map_err(|source| self.failed("using the map of sockets", source))?);
        kernel.set_jump(Jump::Steer, self.steer(workers, &sockets, programs)?.as_fd())?;
        let mut rings = self.plan.open(number, self.mode, places, &sockets)?;
        rings.iter_mut().flatten().for_each(|ring| ring.slot.clone_from(&slot));
        let before = self.interface.counts_now();
        let attachment = AttachedProgram::attach(&self.plan, self.mode, &kernel, self.promiscuous)?;
        if !self.plan.is_shared() {
            rings.iter_mut().flatten().for_each(|ring| ring.attachment = Some(Arc::clone(attachment.attachment())));
        }
        let description = self.describe(&rings)?;
        Ok(XdpCapture { kernel, rings, attachment, description, before })
    }

    /// The steering program in eBPF; what it drops, or has no socket for, is counted.
    fn steer(&self, workers: u32, sockets: &Map, programs: i32) -> Result<Program, Error> {
        let rest = Ending::Jump { slot: Jump::Unsteered as u32, otherwise: DROP };
        let output = Output::Redirect { workers, dropped: rest, absent: rest, stamp: true };
        let code = self.steering.code(Hook::Xdp, output)?;
        let failed = |source| self.failed("making the steering program's maps", source);
        let state = Map::new(ARRAY, 4, STATE_BYTES as u32, 1).map_err(failed)?;
        let datagrams = Map::new(LRU_HASH, 8, 8, DATAGRAMS_MAX as u32).map_err(failed)?;
        let code = code.bytes(|map| match map {
            MapUse::State => state.number(),
            MapUse::Datagrams => datagrams.number(),
            MapUse::Sockets => sockets.number(),
            MapUse::Programs => programs,
            // The program that follows counts it.
            MapUse::Dropped => -1,
        });
        Program::load_with(XDP, &code, Load { frags: true, attach: ATTACH_XDP })
            .map_err(|source| self.failed("loading the steering program", source))
    }

    fn describe(&self, rings: &[Vec<XskRing>]) -> Result<String, Error> {
        let zero_copy = rings.iter().flatten().next().map_or(Ok(false), XskRing::is_zero_copy)?;
        let place = match (self.mode, zero_copy) {
            (XdpMode::Native, true) => "native, zero-copy",
            (XdpMode::Native, false) => "native, copied",
            (XdpMode::Generic, _) => "generic, copied",
        };
        let why = if self.reason.is_empty() { String::new() } else { format!(" ({})", self.reason) };
        Ok(format!("AF_XDP, {place}{why}"))
    }

    fn failed(&self, what: &str, source: io::Error) -> Error {
        Error::kernel(format!("{}: {what}", self.interface.name), source)
    }
}

fn missing() -> io::Error {
    io::ErrorKind::NotFound.into()
}

/// The user's steering program, or, where workers share queues, ours: both directions and all fragments of a flow to one.
/// Else a queue's only worker.
fn steering(settings: &LiveSettings, plan: &XskPlan) -> Result<Compiled, Error> {
    if let Some(steering) = &settings.steering {
        steering.check(Engine::Xdp, plan.workers() as u32)?;
        return Ok(steering.clone());
    }
    if !plan.is_steered() {
        return Ok(Compiled::new(&Steering::parse("steer_to 0")?, &Settings::default())?);
    }
    flow_steering()
}
