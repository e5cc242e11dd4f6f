//! Opens a live handle from the plan of a device.
//!
//! JUSTIFICATION: see [`super`].

use std::{
    cell::{Cell, OnceCell, UnsafeCell},
    ffi::c_int,
    os::fd::AsRawFd,
    sync::{Arc, Mutex},
    time::Duration,
};

use libc::timeval;
use tidewire_live::{
    self as live, Error, Fanout, Interface, LiveEngine, LiveSettings, Membership, Role, Sharing, TimestampSource,
};
use tidewire_wire::LinkType;

use super::{
    GatherThread, Live, Locality, Reader, Rings, Settings, dead_handle::DeadHandle, getters, order::Order,
    sender::Sender, stats_publisher,
};
use crate::{
    event::Event,
    inactive::Options,
    report::Report,
    resolve::FanoutRequest,
    types::{PacketHeader, status},
};
use tidewire_pcap_config::{self as config, Device, Engine, Plan};

/// Default size of a ring, bytes. With the 2 MiB of the system's library busy links lose packets in the pauses of every
/// program.
const RING_BYTES: usize = 32 << 20;
/// Smallest size of a ring, bytes.
const RING_BYTES_MIN: usize = 1 << 20;

/// Age at which an incomplete block of packets is delivered: the program's timeout, within limits that a person does not
/// notice.
const BLOCK_TIMEOUT_MIN: Duration = Duration::from_millis(5);
const BLOCK_TIMEOUT_MAX: Duration = Duration::from_millis(100);
/// The age in immediate mode with blocks: the shortest possible.
const BLOCK_TIMEOUT_IMMEDIATE: Duration = Duration::from_millis(1);

/// Fewest slots of a ring to deliver packets one by one in immediate mode. With fewer, as when slots hold 64 KiB, bursts would
/// be lost: blocks of one millisecond are used instead.
const SLOTS_MIN: usize = 2048;
/// Approximate bytes of a slot in addition to its packet.
const SLOT_HEADER_BYTES: usize = 256;

/// Bytes of a whole packet (`MAXIMUM_SNAPLEN` of the system's library).
const SNAP_MAX: u32 = 262_144;

/// `PCAP_TSTAMP_…`
mod stamp {
    pub const ADAPTER: i32 = 3;
    pub const ADAPTER_UNSYNCED: i32 = 4;
}

/// The reason why a handle was not activated.
pub struct Refusal {
    /// Return value of `pcap_activate`.
    pub status: c_int,
    /// Message of `pcap_geterr`.
    pub message: String,
}

impl Refusal {
    fn new(message: impl Into<String>) -> Self {
        Self { status: status::ERROR, message: message.into() }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::NoInterface { .. } => status::NO_SUCH_DEVICE,
            Error::Privilege { .. } => status::PERMISSION,
            _ => status::ERROR,
        };
        let message = match &error {
            Error::Privilege { what, capabilities } => forbidden(what, capabilities),
            _ => error.with_hint().to_string(),
        };
        Self { status, message }
    }
}

/// Describes the missing capabilities of the program within 256 bytes. `setcap` on the program, the usual advice, would prevent
/// this library from being loaded (ld.so(8), secure-execution mode).
fn forbidden(what: &str, capabilities: &str) -> String {
    format!(
        "{what} needs {capabilities}: start tidewire run as root, or with setpriv as it says when it starts; setcap on the \
         program itself would keep this library out of it"
    )
}

impl Live {
    /// Opens the devices of a plan.
    ///
    /// # Errors
    /// The return value of `pcap_activate`, and a message.
    pub fn open(plan: &Plan, options: &Options, request: Option<&FanoutRequest>) -> Result<Self, Refusal> {
        refuse(options)?;
        for device in &plan.devices {
            if device.rx_channels.is_some() || device.combined_channels.is_some() {
                Interface::set_channels(&device.name, device.rx_channels, device.combined_channels)?;
            }
        }
        let devices = plan.devices.iter().map(|device| Interface::find(&device.name));
        let devices = devices.collect::<Result<Vec<_>, _>>()?;
        if let Some(down) = devices.iter().find(|device| !device.up) {
            return Err(Refusal { status: status::NOT_UP, message: format!("{} is not up", down.name) });
        }
        let settings = settings(plan, options, request, &devices);
        let snap = settings.snap_bytes();
        let link = one_link(&devices)?;
        let live::Live { mut workers, monitor, .. } = live::open(&settings)?;
        let Some(worker) = workers.pop() else { return Err(Refusal::new("the capture has no ring")) };
        let dead_handle =
            DeadHandle::new(getters::datalink(link), c_int::try_from(snap).unwrap_or(c_int::MAX), options.nanoseconds);
        let sender = match devices.first().filter(|_| settings.engine() != LiveEngine::Packet) {
            Some(device) => Some(sender(device)?),
            None => None,
        };
        let report = Report::open(plan.instance.as_ref());
        let left = Event::new().map_err(|source| Refusal::new(format!("making a descriptor: {source}")))?;
        let arena = worker.arena();
        let descriptors: Vec<_> = worker.descriptors().map(|descriptor| descriptor.as_raw_fd()).collect();
        let rings = Rings {
            worker,
            monitor,
            has_filter: false,
            left_out: 0,
            delivered: 0,
            is_promiscuous: options.promiscuous,
            missed: 0,
            report,
        };
        let publishes = rings.report.is_some();
        let rings = Arc::new(Mutex::new(rings));
        if publishes {
            stats_publisher::register(&rings);
        }
        let with_thread = plan.locality.as_ref().filter(|locality| locality.thread);
        let gather_thread =
            with_thread.map(|locality| GatherThread::new(Arc::clone(&rings), descriptors.clone(), locality));
        let gather_thread =
            gather_thread.transpose().map_err(|source| Refusal::new(format!("making a descriptor: {source}")))?;
        Ok(Self {
            sender,
            process: std::process::id(),
            arena,
            gather_thread,
            descriptors,
            rings,
            reader: UnsafeCell::new(Reader {
                packets: Vec::new(),
                order: Order::default(),
                header: PacketHeader { ts: timeval { tv_sec: 0, tv_usec: 0 }, caplen: 0, len: 0 },
                locality: plan.locality.clone().map(Locality::new),
                user_filter: None,
                trouble: None,
            }),
            dead_handle: dead_handle.map_err(Refusal::new)?,
            settings: Settings {
                snap,
                timeout: options.timeout(),
                nanoseconds: options.nanoseconds,
                publishes,
                is_immediate: options.immediate,
                is_silent: settings.engine() != LiveEngine::Packet,
                members: plan.instance.as_ref().map(|instance| instance.count),
                devices,
            },
            nonblocking: Cell::new(options.nonblocking),
            left,
            marked: Cell::new(false),
            selectable: OnceCell::new(),
        })
    }

    /// Joins a group after the handle was activated.
    ///
    /// # Errors
    /// What is wrong.
    pub fn join(&self, request: &FanoutRequest) -> Result<(), String> {
        let joined = self.rings()?.worker.join(&membership(request.group, &request.fanout, self.settings.members));
        joined.map_err(|error| format!("pcap_fanout: {}", error.with_hint()))
    }
}

fn sender(device: &Interface) -> Result<Sender, Refusal> {
    Sender::open(device.index)
        .map_err(|source| Refusal::new(format!("{}: a socket to send with: {source}", device.name)))
}

/// Refuses options that only the system's library supports.
fn refuse(options: &Options) -> Result<(), Refusal> {
    let only = |what: &str| {
        Err(Refusal::new(format!(
            "{what} is the system libpcap's: leave out fan-out, locality and engine, or set the engine to system"
        )))
    };
    if options.monitor {
        return only("monitor mode").map_err(|refusal| Refusal { status: status::NO_MONITOR_MODE, ..refusal });
    }
    if options.protocol != 0 {
        return only("capturing one protocol");
    }
    Ok(())
}

/// The link type of all devices: a handle has one.
fn one_link(devices: &[Interface]) -> Result<LinkType, Refusal> {
    let mut links = devices.iter().map(Interface::link);
    let first = links.next().ok_or_else(|| Refusal::new("no device is named"))??;
    for link in links {
        if link? != first {
            return Err(Refusal::new("the devices have different link types, of which a handle can have one"));
        }
    }
    Ok(first)
}

fn settings(plan: &Plan, options: &Options, request: Option<&FanoutRequest>, devices: &[Interface]) -> LiveSettings {
    let mut settings = LiveSettings::new(devices.iter().map(|device| device.name.clone()));
    let (engine, role) = match plan.engine {
        // AF_XDP diverts host traffic and must be requested explicitly.
        Some(Engine::Live(engine @ (LiveEngine::Xdp | LiveEngine::XdpGeneric))) => (engine, Role::Tap),
        _ => (LiveEngine::Packet, Role::Host),
    };
    settings.set_engine(engine);
    settings.set_role(role);
    settings.set_pin(false);
    settings.set_replaceable_filter(true);
    settings.set_promiscuous(options.promiscuous);
    settings.set_snap_bytes(snap(plan, options));
    settings.set_ring_bytes(ring_bytes(plan, options));
    let mut memberships = memberships(plan, request);
    if are_alike(plan, request)
        && let Some(membership) = memberships.first_mut().map(Option::take)
    {
        // One program for all devices.
        settings.share(membership);
    } else {
        settings.set_memberships(memberships);
    }
    let slots = settings.ring_bytes() / (settings.snap_bytes() as usize + SLOT_HEADER_BYTES);
    settings.set_immediate(options.immediate && plan.locality.is_none() && slots >= SLOTS_MIN);
    settings.set_stamp(match options.stamp {
        stamp::ADAPTER => TimestampSource::Adapter,
        stamp::ADAPTER_UNSYNCED => TimestampSource::AdapterUnsynced,
        _ => TimestampSource::Host,
    });
    settings.set_block_timeout(match options.immediate {
        true => BLOCK_TIMEOUT_IMMEDIATE,
        false => options.timeout().unwrap_or(BLOCK_TIMEOUT_MAX).clamp(BLOCK_TIMEOUT_MIN, BLOCK_TIMEOUT_MAX),
    });
    settings
}

/// Captured bytes of a packet: from a variable, else the program, else the configuration file, else all.
fn snap(plan: &Plan, options: &Options) -> u32 {
    let program = u32::try_from(options.snap).ok().filter(|snap| (1..=SNAP_MAX).contains(snap)).unwrap_or(SNAP_MAX);
    match plan.caplen {
        Some(caplen) if caplen.overrides || options.snap <= 0 => caplen.bytes.clamp(1, SNAP_MAX),
        _ => program,
    }
}

fn ring_bytes(plan: &Plan, options: &Options) -> usize {
    let program = usize::try_from(options.buffer_bytes).ok().filter(|bytes| *bytes > 0);
    plan.ring_bytes.or(program).unwrap_or(RING_BYTES).max(RING_BYTES_MIN)
}

/// The groups of the devices: the requested one, or each device's own.
fn memberships(plan: &Plan, request: Option<&FanoutRequest>) -> Vec<Option<Membership>> {
    let members = plan.instance.as_ref().map(|instance| instance.count);
    let of = |device: &Device| match request {
        Some(request) => Some(membership(request.group, &request.fanout, members)),
        None => Some(membership(device.group?, device.fanout.as_ref()?, members)),
    };
    plan.devices.iter().map(of).collect()
}

/// Whether all devices share packets in the same way.
fn are_alike(plan: &Plan, request: Option<&FanoutRequest>) -> bool {
    let program = |device: &Device| {
        let fanout = device.fanout.as_ref();
        fanout.map(|fanout| (fanout.mode, fanout.steering.as_ref().map(Arc::as_ptr), fanout.classic.len()))
    };
    let mut others = plan.devices.iter().map(|device| (device.group, program(device)));
    let first = others.next();
    request.is_some() || others.all(|other| Some(other) == first)
}

fn membership(group: u8, fanout: &config::Fanout, members: Option<u32>) -> Membership {
    let config::Fanout { mode, defrag, rollover, .. } = *fanout;
    Membership::new(Fanout::new(mode).with_group(u16::from(group)).with_defrag(defrag).with_rollover(rollover))
        .with_program(fanout.classic.clone())
        .with_steering(fanout.steering.as_ref().map(|steering| (**steering).clone()))
        .with_sharing(Sharing::default().with_members(members))
}
