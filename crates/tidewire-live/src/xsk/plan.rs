use tidewire_wire::LinkType;

use crate::{
    Error, FanoutMode, Interface, LiveSettings, SettingError, TimestampSource, memory, sys::arena::page_bytes,
};

/// Bytes that the kernel keeps free before each frame (`XDP_PACKET_HEADROOM`).
const HEADROOM_BYTES: u32 = 256;
/// Bytes of a frame beyond its interface's MTU: an Ethernet header and two tags.
const LINK_BYTES: u32 = 14 + 2 * 4;
/// Sizes of a buffer; the kernel knows powers of 2 up to a page.
const CHUNK_SMALL: u32 = 2048;
const CHUNK_LARGE: u32 = 4096;
/// Fewest buffers of a ring: what a driver takes in one round.
const BUFFERS_MIN: usize = 64;
/// Most entries of a receive ring.
const ENTRIES_MAX: usize = 1 << 20;
/// Room for frames of several buffers: a part of the ring's memory, and never less than four of the largest that the kernel
/// makes (64 KiB).
const SIDE_PART: usize = 4;
const SIDE_BYTES_MIN: usize = 4 << 16;
/// A plan derived from settings, for AF_XDP sockets on one interface.
#[derive(Clone, Debug)]
pub struct XskPlan {
    pub(super) interface: Interface,
    pub(super) workers: usize,
    is_steered: bool,
    pub(super) chunk_bytes: u32,
    /// Whether frames need several buffers.
    pub(super) needs_frags: bool,
    /// Buffers of one ring.
    buffers: usize,
    pub(super) snap_bytes: u32,
    pub(super) busy_poll_us: u32,
    pub(super) stamped: bool,
}

impl XskPlan {
    /// Checks the settings.
    ///
    /// # Errors
    /// Frames that are not Ethernet's, a fan-out mode that XDP has not, rings that are too small.
    pub fn new(settings: &LiveSettings, interface: &Interface) -> Result<Self, Error> {
        let workers = settings.workers.max(1);
        let name = &interface.name;
        if interface.link()? != LinkType::ETHERNET {
            return Err(SettingError::XdpNeedsEthernet { interface: name.clone() }.into());
        }
        if settings.stamp != TimestampSource::Host {
            return Err(SettingError::XdpStamps { interface: name.clone() }.into());
        }
        if settings.sharing.is_some() {
            return Err(SettingError::XdpSharing { interface: name.clone() }.into());
        }
        let mode = settings.fanout.map(|fanout| fanout.mode);
        let by_queue = match mode {
            None | Some(FanoutMode::Hash | FanoutMode::Ebpf) => false,
            Some(FanoutMode::Queue) => true,
            Some(other) => {
                let text = FanoutMode::ALL.iter().find(|entry| entry.1 == other).map_or("this mode", |entry| entry.0);
                return Err(SettingError::XdpFanoutMode { mode: text }.into());
            }
        };
        if by_queue && settings.steering.is_some() {
            return Err(SettingError::SteeringWithQueues.into());
        }
        let frame_bytes = interface.mtu.saturating_add(LINK_BYTES);
        let chunk_bytes = if frame_bytes <= CHUNK_SMALL - HEADROOM_BYTES { CHUNK_SMALL } else { CHUNK_LARGE };
        let mut plan = Self {
            interface: interface.clone(),
            workers,
            is_steered: settings.steering.is_some() || (workers > 1 && !by_queue),
            chunk_bytes,
            needs_frags: frame_bytes > chunk_bytes - HEADROOM_BYTES,
            buffers: 0,
            snap_bytes: settings.snap_bytes.max(1),
            busy_poll_us: settings.busy_poll_us,
            stamped: false,
        };
        let rings = plan.rings(0).max(1);
        plan.buffers = settings.ring_bytes / rings / chunk_bytes as usize;
        // Whole pages, and whole buffers.
        plan.buffers -= plan.buffers % (CHUNK_LARGE / CHUNK_SMALL) as usize;
        if plan.buffers < BUFFERS_MIN {
            return Err(SettingError::XdpRingTooSmall {
                interface: name.clone(),
                bytes: settings.ring_bytes,
                queues: rings,
                buffers: BUFFERS_MIN,
                buffer_bytes: chunk_bytes as usize,
            }
            .into());
        }
        plan.check_memory(settings)?;
        Ok(plan)
    }

    /// Refuses more memory than is available: the kernel locks it, and would evict other programs.
    fn check_memory(&self, settings: &LiveSettings) -> Result<(), Error> {
        let interfaces = settings.interfaces.len().max(1) as u64;
        let rings: usize = (0..self.workers).map(|worker| self.rings(worker)).sum();
        let bytes = self.memory_bytes() as u64 * u64::from(self.queues()) + (self.side_bytes() * rings) as u64;
        let (wanted, available) = (bytes.saturating_mul(interfaces), memory::available_bytes().unwrap_or(u64::MAX));
        // The rest is for the readers of the rings.
        let room = available / 4 * 3;
        if wanted <= room {
            return Ok(());
        }
        let fits = settings.ring_bytes as u128 * u128::from(room) / u128::from(wanted);
        Err(SettingError::XdpMemory { bytes: wanted, available_bytes: available, fits_bytes: fits as u64 }.into())
    }

    /// The XDP program writes the time of arrival (`bpf_ktime_get_ns`) into the 8 bytes before each frame
    /// (`bpf_xdp_adjust_meta`): timestamps are those, in the clock of other engines'. Else they are the time at which a
    /// batch of frames was collected.
    #[must_use]
    pub fn stamped(self, stamped: bool) -> Self {
        Self { stamped, ..self }
    }

    /// Whether a steering program has to choose the worker of each frame; else the map's first entry of each queue is its
    /// worker's.
    #[must_use]
    pub fn is_steered(&self) -> bool {
        self.is_steered
    }

    /// How many workers.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Rings of a worker: one for each receive queue that it has frames of.
    #[must_use]
    pub fn rings(&self, worker: usize) -> usize {
        (0..self.queues()).filter(|queue| self.owners(*queue).contains(&worker)).count()
    }

    /// Length of each ring's place, bytes. The places of one queue show the same memory.
    #[must_use]
    pub fn place_bytes(&self) -> usize {
        self.memory_bytes() + self.side_bytes()
    }

    /// Entries of the map of sockets (`BPF_MAP_TYPE_XSKMAP`): a queue's begin at its number times workers.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.interface.rx_queues.saturating_mul(self.workers as u32)
    }

    /// Whether several workers share a queue's memory.
    pub(super) fn is_shared(&self) -> bool {
        self.is_steered && self.workers > 1
    }

    /// Queues that a worker has a ring on.
    pub(super) fn queues(&self) -> u32 {
        self.interface.rx_queues.max(1)
    }

    /// The workers that have a ring on this queue, in the order of their entries in the map.
    pub(super) fn owners(&self, queue: u32) -> Vec<usize> {
        if self.is_steered { (0..self.workers).collect() } else { vec![queue as usize % self.workers] }
    }

    /// Each socket's share, so that one that does not keep up leaves the others theirs; where several share, an eighth of
    /// one is for buffers that are under way.
    pub(super) fn memory_bytes(&self) -> usize {
        let sharing = if self.is_steered { self.workers } else { 1 };
        let spare = if sharing > 1 { self.buffers / 8 } else { 0 };
        let bytes = (self.buffers * sharing + spare) * self.chunk_bytes as usize;
        bytes.next_multiple_of(page_bytes())
    }

    fn side_bytes(&self) -> usize {
        (self.buffers * self.chunk_bytes as usize / SIDE_PART).max(SIDE_BYTES_MIN).next_multiple_of(page_bytes())
    }

    /// A power of 2, not more than a ring's share of the buffers.
    pub(super) fn entries(&self) -> usize {
        let entries = self.buffers.clamp(BUFFERS_MIN, ENTRIES_MAX);
        1 << entries.ilog2()
    }
}

/// The largest MTU whose frames fit one buffer.
pub(super) fn single_buffer_max() -> u32 {
    CHUNK_LARGE - HEADROOM_BYTES - LINK_BYTES
}
