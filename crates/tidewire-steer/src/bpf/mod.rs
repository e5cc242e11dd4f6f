//! Kernel programs: eBPF for fan-out and filters of packet sockets, and for XDP.
//!
//! Programs only jump forwards, keep their variables on the stack, and access packets within checked bounds, so that
//! the verifier accepts them. They need Linux 5.12 (atomic additions that return a value) if they count by themselves,
//! 5.5 if dropped packets are counted ([`MapUse::Dropped`]), else 5.2.

mod emit;
mod output;
mod slots;

pub use tidewire_ebpf::Instruction;

/// Where a program runs, which decides how it accesses the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// `PACKET_FANOUT_EBPF`, or a socket filter: `BPF_PROG_TYPE_SOCKET_FILTER` over `struct __sk_buff`, bytes by helpers.
    Socket,
    /// `BPF_PROG_TYPE_XDP` over `struct xdp_md`, bytes directly.
    Xdp,
}

/// Which of the two workers of a double steering a program is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copy {
    /// The first, or the only one.
    First,
    /// The second, if it differs from the first; else the packet counts as dropped.
    Second,
}

/// How a program ends for packets that it does not give to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Returns this value (`XDP_DROP` is 1, `XDP_PASS` is 2).
    Return(u32),
    /// Continues in another program, which can count the packet.
    Jump {
        /// The program's index in [`MapUse::Programs`].
        slot: u32,
        /// Return value if there is no program at that index; as above.
        otherwise: u32,
    },
}

/// Result of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// For `PACKET_FANOUT_EBPF`: the index of the worker's socket in its group. A fan-out program cannot drop, so
    /// dropped packets have an index as well: that of one more socket, which joins the group last and has a filter that
    /// rejects everything.
    Fanout {
        /// Number of workers.
        workers: u32,
        /// Index for dropped packets.
        dropped: u32,
        /// Which copy this group delivers.
        copy: Copy,
    },
    /// For `PACKET_FANOUT_EBPF` with a varying number of members: a number that the kernel takes modulo members, 0 for
    /// dropped packets. [`Output::Kept`] drops them.
    Group {
        /// Which copy this group delivers.
        copy: Copy,
    },
    /// For the filter of a socket in a group with [`Output::Group`]: accepts the whole packet if the program steered it
    /// here, and rejects dropped packets. The filter of the first copy counts in [`MapUse::Dropped`] what the program
    /// dropped; that of the second copy counts nothing, so that a packet counts once, and one without a second worker
    /// does not count.
    Kept {
        /// Which copy this group delivers.
        copy: Copy,
        /// Number of members, if known: the second copy counts as dropped if it goes to the same one as the first. Else
        /// only if both have the same number.
        members: Option<u32>,
    },
    /// For the filter of a socket outside a group: accepts the whole packet if it goes to this worker. The kernel
    /// charges a filter to its socket's option memory (net.core.optmem_max, 128 KiB: 16,384 instructions), which is
    /// enough for a walk through two tunnels. Fan-out programs and XDP have no such limit.
    Filter {
        /// Number of workers.
        workers: u32,
        /// The worker of this filter.
        worker: u32,
    },
    /// For XDP: redirects into a map of AF_XDP sockets, at `receive queue * workers + worker`, because a socket accepts
    /// only frames of its queue.
    Redirect {
        /// Number of workers.
        workers: u32,
        /// Ending for dropped packets.
        dropped: Ending,
        /// Ending if there is no socket at that index.
        absent: Ending,
        /// Whether to write the arrival time (`bpf_ktime_get_ns`) into the 8 bytes before the frame, its metadata,
        /// which AF_XDP passes on unannounced. Not written if the driver has no room for metadata.
        stamp: bool,
    },
    /// Returns the worker's number, or `dropped`; for any hook.
    Worker {
        /// Number of workers.
        workers: u32,
        /// Return value for dropped packets.
        dropped: u32,
    },
    /// Returns [`crate::Verdict::digest`]: the whole verdict in one number, to compare engines.
    Digest,
}

/// The maps that a program may use. The loader creates them first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MapUse {
    /// `BPF_MAP_TYPE_ARRAY`: key of 4 bytes, one value of [`crate::STATE_BYTES`].
    State,
    /// `BPF_MAP_TYPE_LRU_HASH`: key of 8 bytes, value of 8, [`crate::DATAGRAMS_MAX`] entries.
    Datagrams,
    /// `BPF_MAP_TYPE_XSKMAP`: key of 4 bytes, value of 4; queues times workers entries.
    Sockets,
    /// `BPF_MAP_TYPE_PROG_ARRAY`: programs of the same kind to continue in.
    Programs,
    /// `BPF_MAP_TYPE_ARRAY`: key of 4 bytes, one value of [`DROPPED_BYTES`]. If it is created with `BPF_F_MMAPABLE`
    /// (Linux 5.5), it can be read without a system call; see [`dropped`].
    Dropped,
}

/// Bytes of the value of [`MapUse::Dropped`]: a count in a separate cache line for each of 64 processors.
pub const DROPPED_BYTES: usize = DROPPED_PLACES << DROPPED_SHIFT;

/// Counters of dropped packets: indexed by processor number modulo this. A power of two.
pub(crate) const DROPPED_PLACES: usize = 64;
/// Binary logarithm of the distance between two counters, in bytes.
pub(crate) const DROPPED_SHIFT: usize = 6;

/// The number of dropped packets, from the words of [`MapUse::Dropped`]'s value, in their order.
pub fn dropped(words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().take(DROPPED_BYTES / 8).step_by((1 << DROPPED_SHIFT) / 8).fold(0, u64::wrapping_add)
}

/// A program whose maps have no descriptors yet.
pub type Code = tidewire_ebpf::Code<MapUse>;

pub(crate) use emit::emit;
