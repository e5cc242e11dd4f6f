use std::time::Duration;

use crate::{BLOCK_TIMEOUT_MAX, TimestampSource};

/// Settings that contradict each other, exceed a limit, or cannot be met on this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// No interface is named.
    #[error("no interface is named")]
    NoInterfaces,
    /// `any` is named, and no interface is switched on.
    #[error("any: no interface is switched on")]
    NoInterfaceUp,
    /// More interfaces than one capture can have.
    #[error("{given} interfaces: the limit is {limit}")]
    TooManyInterfaces {
        /// How many were named, or are switched on.
        given: usize,
        /// The most that are possible.
        limit: usize,
    },
    /// An interface is named twice.
    #[error("{interface} is named twice")]
    DuplicateInterface {
        /// The interface's name.
        interface: String,
    },
    /// Frames of this kind of hardware cannot be captured.
    #[error("{interface}: frames of this kind of interface (ARPHRD {hardware}) cannot be captured")]
    UnsupportedHardware {
        /// The interface's name.
        interface: String,
        /// The kind of hardware (`ARPHRD_…`, linux/if_arp.h).
        hardware: u16,
    },
    /// A filter is given both as an expression and as a program.
    #[error("a filter is given both as an expression and as a program")]
    FilterTwice,
    /// The filter is too long for a packet socket once VLAN tags are accounted for.
    #[error("{interface}: the filter is too long for a packet socket")]
    FilterTooLong {
        /// The interface's name.
        interface: String,
    },
    /// This kind of ring has a fixed filter.
    #[error("the filter of this ring cannot be replaced")]
    FilterFixed,
    /// The filter is part of the programs in the kernel that cut streams off.
    #[error("{interface}: the filter is part of programs in the kernel that cut streams off, and cannot be replaced")]
    FilterInPrograms {
        /// The interface's name.
        interface: String,
    },
    /// The AF_XDP capture was opened without a filter and without [`replaceable_filter`](crate::LiveSettings::replaceable_filter).
    #[error("{interface}: the capture was opened without a filter, and cannot get one now")]
    FilterNotPlanned {
        /// The interface's name.
        interface: String,
    },
    /// This kind of ring has a fixed direction.
    #[error("the direction of this ring cannot be chosen")]
    DirectionFixed,
    /// The fan-out group was made for incoming frames only.
    #[error("{interface}: its fan-out group was made for incoming frames only")]
    GroupIncomingOnly {
        /// The interface's name.
        interface: String,
    },
    /// This kind of ring cannot join a fan-out group.
    #[error("this ring cannot join a fan-out group")]
    GroupUnsupported,
    /// A ring of this number does not exist.
    #[error("{interface}: no such ring")]
    NoSuchRing {
        /// The interface's name.
        interface: String,
    },
    /// The ring has no socket that could join a group: its interface is gone.
    #[error("{interface}: the ring has no socket to join a group with")]
    RingWithoutSocket {
        /// The interface's name.
        interface: String,
    },
    /// A worker of this number does not exist.
    #[error("there is no worker {worker}")]
    NoSuchWorker {
        /// The number, from 0.
        worker: usize,
    },
    /// The number of memory places differs from the number of rings.
    #[error("{interface}: another number of places than of rings")]
    PlaceCount {
        /// The interface's name.
        interface: String,
    },
    /// Cutoffs in the kernel cannot be combined with a steering program that delivers frames twice.
    #[error("cutoffs in the kernel count each frame once, and this steering program delivers some twice")]
    CutoffsWithDuplicates,
    /// More workers than a fan-out group has members.
    #[error("{given} workers: a fan-out group has {limit} at most")]
    Workers {
        /// The configured number of workers.
        given: usize,
        /// The most that are possible.
        limit: usize,
    },
    /// A cross-process group without mode or number.
    #[error("a group of several processes needs a fan-out mode and a number")]
    GroupIncomplete,
    /// A cross-process group without a number, or with one above 255.
    #[error("{}", group_number(*group))]
    GroupNumber {
        /// The number given.
        group: Option<u16>,
    },
    /// Numbers of fan-out groups, one more for each interface, exceed 65,535.
    #[error("fan-out group {first}: every interface takes a number more, up to 65535")]
    GroupNumbers {
        /// The first interface's group.
        first: u16,
    },
    /// Steering programs need Ethernet frames.
    #[error("{interface}: steering programs need Ethernet frames, and this interface has none")]
    SteeringNeedsEthernet {
        /// The interface's name.
        interface: String,
    },
    /// A steering program with a fan-out mode other than `ebpf`.
    #[error("a steering program runs in a fan-out group of the mode ebpf")]
    SteeringMode,
    /// Rollover with a steering program that drops frames: a full worker's frames would be dropped as well.
    #[error(
        "rollover cannot be used with a steering program that drops frames: a full worker's frames would be dropped as well"
    )]
    RolloverWithDrops,
    /// A classic program with a fan-out mode other than `cbpf`.
    #[error("a classic program for fan-out needs the mode cbpf")]
    ClassicMode,
    /// A steering program cannot be set later in a group of one process.
    #[error("a steering program must be known when a capture is opened, except in groups of several processes")]
    JoinWithSteering,
    /// A steering program that names two workers needs two rings, which a capture has only from its start.
    #[error("this steering program names two workers for a packet, which takes two rings")]
    JoinWithTwoRings,
    /// The ring's memory is too small.
    #[error("a ring of {bytes} bytes is too small: it needs {needed_bytes} bytes")]
    RingTooSmall {
        /// Configured bytes.
        bytes: usize,
        /// Bytes of the smallest ring.
        needed_bytes: usize,
    },
    /// The ring's memory is too small for frames of this length in slots ([`immediate`](crate::LiveSettings::immediate)).
    #[error("a ring of {bytes} bytes is too small for frames of {frame_bytes} bytes that are handed over at once")]
    SlotRingTooSmall {
        /// Configured bytes.
        bytes: usize,
        /// Bytes of the longest frame.
        frame_bytes: usize,
    },
    /// The ring's memory is too large.
    #[error("a ring of {bytes} bytes is too large: it can have less than 4 GiB")]
    RingTooLarge {
        /// Configured bytes.
        bytes: usize,
    },
    /// Rings exceed three quarters of the available memory.
    #[error(
        "rings of {} MiB ({rings} of {} MiB each) do not fit into memory: {} MiB are available, of which rings may have {}",
        bytes >> 20, ring_bytes >> 20, available_bytes >> 20, (available_bytes / 4 * 3) >> 20
    )]
    RingMemory {
        /// Bytes of all rings.
        bytes: u64,
        /// How many rings.
        rings: u64,
        /// Bytes of one ring.
        ring_bytes: u64,
        /// Bytes that the machine has free.
        available_bytes: u64,
        /// Bytes of a ring that would fit.
        fits_bytes: u64,
    },
    /// [`block_timeout`](crate::LiveSettings::block_timeout) is out of range.
    #[error("blocks of frames cannot be handed over at an age of {given:?}: it can be 1 ms to {BLOCK_TIMEOUT_MAX:?}")]
    BlockTimeout {
        /// The age given.
        given: Duration,
    },
    /// Hardware time stamps with several interfaces, whose clocks differ.
    #[error("hardware time stamps are for one interface: frames of several could not be put in order by them")]
    StampInterfaces,
    /// The network card does not stamp all frames in this way.
    #[error("{interface}: the card gives no time stamps {} to all frames", clock(*stamp))]
    StampUnsupported {
        /// The interface's name.
        interface: String,
        /// The configured source.
        stamp: TimestampSource,
    },
    /// AF_XDP would divert the host's own traffic.
    #[error("{interface}: AF_XDP would divert host traffic")]
    XdpOnHost {
        /// The interface's name.
        interface: String,
    },
    /// AF_XDP does not see outgoing frames.
    #[error("{interface}: AF_XDP does not see what the machine sends")]
    XdpOutgoing {
        /// The interface's name.
        interface: String,
    },
    /// AF_XDP is for Ethernet frames.
    #[error("{interface}: AF_XDP needs Ethernet frames, and this interface has none")]
    XdpNeedsEthernet {
        /// The interface's name.
        interface: String,
    },
    /// The network card removes VLAN tags before AF_XDP sees the frames.
    #[error("{interface}: AF_XDP would not see VLAN tags, which the card takes out of frames")]
    XdpLosesTags {
        /// The interface's name.
        interface: String,
    },
    /// The kernel or the driver lacks AF_XDP.
    #[error("{interface}: no AF_XDP: {reason}")]
    XdpUnavailable {
        /// The interface's name.
        interface: String,
        /// The obstacle ([`Support::reason`](crate::xsk::Support::reason)).
        reason: String,
        /// Whether the generic hook is available.
        generic: bool,
    },
    /// AF_XDP does not see hardware time stamps.
    #[error("{interface}: AF_XDP does not see the card's time stamps")]
    XdpStamps {
        /// The interface's name.
        interface: String,
    },
    /// Processes cannot share an interface by AF_XDP.
    #[error("{interface}: AF_XDP gives an interface's frames to one process")]
    XdpSharing {
        /// The interface's name.
        interface: String,
    },
    /// AF_XDP has no such fan-out mode.
    #[error("AF_XDP has no fan-out groups: the mode {mode} is not available")]
    XdpFanoutMode {
        /// The mode's name.
        mode: &'static str,
    },
    /// A steering program and the fan-out mode `qm` both choose the worker.
    #[error("a steering program chooses the worker, and so does the fan-out mode qm")]
    SteeringWithQueues,
    /// The ring's memory is too small for AF_XDP.
    #[error(
        "{interface}: a ring of {bytes} bytes is too small for AF_XDP, which here needs {} KiB ({queues} receive queues, {buffers} \
         buffers of {buffer_bytes} bytes each)",
        (queues * buffers * buffer_bytes) >> 10
    )]
    XdpRingTooSmall {
        /// The interface's name.
        interface: String,
        /// Configured bytes.
        bytes: usize,
        /// Receive queues of a worker.
        queues: usize,
        /// Fewest buffers of a queue.
        buffers: usize,
        /// Bytes of a buffer.
        buffer_bytes: usize,
    },
    /// AF_XDP rings exceed three quarters of the available memory.
    #[error(
        "AF_XDP rings of {} MiB do not fit into memory, of which {} MiB are available",
        bytes >> 20, available_bytes >> 20
    )]
    XdpMemory {
        /// Bytes of all rings.
        bytes: u64,
        /// Bytes that the machine has free.
        available_bytes: u64,
        /// Bytes of a ring that would fit.
        fits_bytes: u64,
    },
    /// Too few or too many outputs of [`split`](crate::split).
    #[error("{given} outputs: 1 to {limit} are possible")]
    Outputs {
        /// How many were named.
        given: usize,
        /// The most that are possible.
        limit: usize,
    },
    /// An output of [`split`](crate::split) would lose long frames.
    #[error("{output} has an MTU of {output_mtu}, which is less than {input}'s, and would lose long frames")]
    OutputMtu {
        /// The output's name.
        output: String,
        /// Its MTU, bytes.
        output_mtu: u32,
        /// The input's name.
        input: String,
        /// Its MTU, bytes.
        input_mtu: u32,
    },
}

fn group_number(group: Option<u16>) -> String {
    match group {
        Some(group) => format!("fan-out group {group}: groups of several processes have numbers from 0 to 255"),
        None => "a fan-out group of several processes needs a number, 0 to 255".into(),
    }
}

fn clock(stamp: TimestampSource) -> &'static str {
    if stamp == TimestampSource::Adapter { "in the machine's time" } else { "of its own clock" }
}
