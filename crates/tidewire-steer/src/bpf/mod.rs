//! The program for the kernel: eBPF for packet sockets' fan-out and filters, and for XDP.
//!
//! Programs only jump forwards, keep their variables on the stack, and touch packets within checked bounds, so that the
//! verifier takes them. They need a kernel of 5.12 (atomic additions that return) where they count for themselves, of 5.5 where
//! what they drop is counted ([`MapUse::Dropped`]), else of 5.2.

mod emit;
mod output;
mod slots;

pub use tidewire_ebpf::Instruction;

/// Where a program runs, which decides how it reaches the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// `PACKET_FANOUT_EBPF`, or a socket filter: `BPF_PROG_TYPE_SOCKET_FILTER` over `struct __sk_buff`, bytes by helpers.
    Socket,
    /// `BPF_PROG_TYPE_XDP` over `struct xdp_md`, bytes directly.
    Xdp,
}

/// Which of the two workers of a double steering a program speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copy {
    /// The first, or the only one.
    First,
    /// The second, where it is another than the first; else the packet counts as dropped.
    Second,
}

/// How a program ends for what it does not give to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It returns this (`XDP_DROP` is 1, `XDP_PASS` is 2).
    Return(u32),
    /// It goes on in another program, which can count the packet.
    Jump {
        /// The program's place in [`MapUse::Programs`].
        slot: u32,
        /// What is returned where no program is there; as above.
        otherwise: u32,
    },
}

/// What a program returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// For `PACKET_FANOUT_EBPF`: the index of the worker's socket in its group. A fan-out program cannot drop, so
    /// dropped packets get an index as well: that of one more socket, which joins the group last and has a filter that
    /// takes nothing.
    Fanout {
        /// How many workers there are.
        workers: u32,
        /// Index for what is dropped.
        dropped: u32,
        /// Which copy this group delivers.
        copy: Copy,
    },
    /// For `PACKET_FANOUT_EBPF` where members come and go, so that nobody knows how many there are: a number that the
    /// kernel takes modulo members, 0 for what is dropped. [`Output::Kept`] drops it.
    Group {
        /// Which copy this group delivers.
        copy: Copy,
    },
    /// For the filter of a socket in a group with [`Output::Group`]: takes the whole packet where that means what it says,
    /// and nothing of what is dropped. The first copy's counts what the program dropped in [`MapUse::Dropped`]; the second
    /// copy's counts nothing, so that a packet counts once, and one for which no second worker is named does not.
    Kept {
        /// Which copy this group delivers.
        copy: Copy,
        /// How many members there are, where that is known: the second copy counts as dropped where it goes to the same
        /// one as the first. Else only where both have the same number.
        members: Option<u32>,
    },
    /// For a socket's filter outside of a group: takes the whole packet where it goes to this worker, else nothing. The
    /// kernel charges a filter to its socket's option memory (net.core.optmem_max, 128 KiB: 16,384 instructions), which is
    /// enough for a walk through two tunnels. Fan-out programs and XDP have no such limit.
    Filter {
        /// How many workers there are.
        workers: u32,
        /// Whose filter this is.
        worker: u32,
    },
    /// For XDP: redirects into a map of AF_XDP sockets, at `receive queue * workers + worker`, because a socket takes
    /// frames of its own queue only.
    Redirect {
        /// How many workers there are.
        workers: u32,
        /// For what is dropped.
        dropped: Ending,
        /// Where no socket is at that place.
        absent: Ending,
        /// Write when the frame arrived (`bpf_ktime_get_ns`) into the 8 bytes before it, its metadata, which AF_XDP hands on
        /// without saying so. Not where the driver has no room for metadata.
        stamp: bool,
    },
    /// The worker's number, or `dropped`; for any hook.
    Worker {
        /// How many workers there are.
        workers: u32,
        /// For what is dropped.
        dropped: u32,
    },
    /// [`crate::Verdict::digest`]: all of the verdict in one number, to compare engines.
    Digest,
}

/// The maps that a program may use. Whoever loads it creates them first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MapUse {
    /// `BPF_MAP_TYPE_ARRAY`: key of 4 bytes, one value of [`crate::STATE_BYTES`].
    State,
    /// `BPF_MAP_TYPE_LRU_HASH`: key of 8 bytes, value of 8, [`crate::DATAGRAMS_MAX`] entries.
    Datagrams,
    /// `BPF_MAP_TYPE_XSKMAP`: key of 4 bytes, value of 4; queues times workers entries.
    Sockets,
    /// `BPF_MAP_TYPE_PROG_ARRAY`: programs of the same kind to go on in.
    Programs,
    /// `BPF_MAP_TYPE_ARRAY`: key of 4 bytes, one value of [`DROPPED_BYTES`]. Where it is made with `BPF_F_MMAPABLE`
    /// (Linux 5.5), it can be read without a system call; see [`dropped`].
    Dropped,
}

/// Bytes of the value of [`MapUse::Dropped`]: a count in a cache line of its own for each of 64 processors.
pub const DROPPED_BYTES: usize = DROPPED_PLACES << DROPPED_SHIFT;

/// Places that count what is dropped: a processor's number, modulo this. A power of two.
pub(crate) const DROPPED_PLACES: usize = 64;
/// Bytes from one to the next are 2 to the power of this.
pub(crate) const DROPPED_SHIFT: usize = 6;

/// How many packets were dropped, by the words of [`MapUse::Dropped`]'s value, in their order.
pub fn dropped(words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().take(DROPPED_BYTES / 8).step_by((1 << DROPPED_SHIFT) / 8).fold(0, u64::wrapping_add)
}

/// A program whose maps have no descriptors yet.
pub type Code = tidewire_ebpf::Code<MapUse>;

pub(crate) use emit::emit;
