use std::time::Duration;

use tidewire_steer::Compiled;
use tidewire_wire::Settings as Wire;

use super::kernel::{KernelSettings, Shed};

use crate::ClassicInstruction;

/// How frames get from the kernel to us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LiveEngine {
    /// The best that works: AF_XDP where frames only come to be captured ([`Role::Tap`]), else a packet socket.
    #[default]
    Auto,
    /// A packet socket's ring, TPACKET_V3.
    Packet,
    /// AF_XDP in the driver, without a copy where the driver can.
    Xdp,
    /// AF_XDP through the generic hook, for any driver.
    XdpGeneric,
}

/// What the interface is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// The machine's own traffic: the stack gets all of it, untouched. Only what is copied to us can be cut off.
    #[default]
    Host,
    /// The interface only mirrors: whatever was captured, cut off or not wanted is dropped there.
    Tap,
}

/// Which frames of an interface. AF_XDP sees incoming ones only. Of the loopback interface, where every frame is seen as it
/// leaves and as it arrives, the first are never taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrafficDirection {
    /// Both; of the loopback interface, incoming ones.
    #[default]
    Both,
    /// Incoming ones.
    In,
    /// Those that the machine sends; packet sockets only. Of the loopback interface, none.
    Out,
}

/// How the kernel chooses among the sockets of a group (packet(7), `PACKET_FANOUT`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FanoutMode {
    /// By flow hash.
    Hash,
    /// In turn.
    RoundRobin,
    /// By the CPU on which the frame arrived.
    Cpu,
    /// The first one until it is full, then the next.
    Rollover,
    /// At random.
    Random,
    /// By the receive queue.
    Queue,
    /// By a classic BPF program whose result is the worker's number, modulo workers.
    Cbpf,
    /// By a steering program, or the one set with `PACKET_FANOUT_DATA` by whoever made the group.
    Ebpf,
}

impl FanoutMode {
    /// Every mode and its name in the interface.
    pub const ALL: &'static [(&'static str, Self)] = &[
        ("hash", Self::Hash),
        ("lb", Self::RoundRobin),
        ("cpu", Self::Cpu),
        ("rollover", Self::Rollover),
        ("rnd", Self::Random),
        ("qm", Self::Queue),
        ("cbpf", Self::Cbpf),
        ("ebpf", Self::Ebpf),
    ];

    /// Its number in the kernel (`PACKET_FANOUT_…`).
    #[must_use]
    pub fn number(self) -> u16 {
        let number = match self {
            Self::Hash => libc::PACKET_FANOUT_HASH,
            Self::RoundRobin => libc::PACKET_FANOUT_LB,
            Self::Cpu => libc::PACKET_FANOUT_CPU,
            Self::Rollover => libc::PACKET_FANOUT_ROLLOVER,
            Self::Random => libc::PACKET_FANOUT_RND,
            Self::Queue => libc::PACKET_FANOUT_QM,
            Self::Cbpf => libc::PACKET_FANOUT_CBPF,
            Self::Ebpf => libc::PACKET_FANOUT_EBPF,
        };
        number as u16
    }
}

/// A fan-out group of packet sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fanout {
    /// The group's number, 0 to 65,535; several processes that name the same one share its frames. `None`: one that is
    /// free (`PACKET_FANOUT_FLAG_UNIQUEID`).
    pub group: Option<u16>,
    /// How frames are shared.
    pub mode: FanoutMode,
    /// Put IPv4 fragments together first (`PACKET_FANOUT_FLAG_DEFRAG`): the datagram is delivered whole.
    pub defrag: bool,
    /// Go on to the next socket where the chosen one is full (`PACKET_FANOUT_FLAG_ROLLOVER`).
    pub rollover: bool,
}

/// A fan-out group whose members belong to several processes, which know nothing of each other but the group's number.
///
/// That number, [`Fanout::group`], is 0 to 255 then; the kernel's is (interface's number mod 256) * 256 + group, so that one
/// number can be used on several interfaces. A steering program that names two workers takes the group 255 - number besides.
/// All members have the same mode, flags and program; the last one who joins sets the program, which hashes with a key that
/// they all find (the machine's boot id and the group's number) and nobody outside does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// How many members there are, where that is known. A steering program that names two workers gives a packet once to a
    /// member that is both; without this number, twice, unless both hashes are the same.
    pub members: Option<u32>,
}

/// What is needed to join a group after a capture was opened ([`Worker::join`](super::Worker::join)); see [`LiveSettings`].
#[derive(Clone, Debug)]
pub struct Membership {
    /// See [`LiveSettings::fanout`].
    pub fanout: Fanout,
    /// See [`LiveSettings::fanout_program`].
    pub program: Vec<ClassicInstruction>,
    /// See [`LiveSettings::steering`]. One that names two workers takes two rings, and has to be known when the capture is
    /// opened.
    pub steering: Option<Compiled>,
    /// See [`LiveSettings::sharing`].
    pub sharing: Option<Sharing>,
}

/// Whose clock frames' timestamps are from (pcap-tstamp(7)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stamp {
    /// The machine's, where the kernel gets a frame.
    #[default]
    Host,
    /// The card's, which the driver turns into the machine's time.
    Adapter,
    /// The card's, as it is.
    AdapterUnsynced,
}

/// Whether programs in the kernel decide which packets come to us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InKernel {
    /// Where something is to be cut off or shed.
    #[default]
    Auto,
    /// Always: a handler may cut streams off while it runs.
    Always,
    /// Never: everything is done by the engine.
    Never,
}

/// What programs in the kernel are to do. [`tidewire::Capture`](https://docs.rs/tidewire) fills in what follows from an
/// engine's settings.
#[derive(Clone, Debug)]
pub struct KernelNeeds {
    /// See [`InKernel`].
    pub use_it: InKernel,
    /// Whether directions may be cut off.
    pub cuts: bool,
    /// Whether every direction is cut off after its first packet (cutoff 0 for all).
    pub cuts_all: bool,
    /// Prioritized loss.
    pub shed: Option<Shed>,
    /// Whether VLAN ids are part of a flow's key. Default: no.
    pub key_vlan: bool,
    /// Where the engine looks for tunnels.
    pub wire: Wire,
    /// Directions of flows that the kernel can know at once on an interface, IPv4. Default 262,144, which is 32 MiB.
    pub flows_v4: u32,
    /// The same for IPv6. Default 65,536, which is 16 MiB.
    pub flows_v6: u32,
}

impl Default for KernelNeeds {
    fn default() -> Self {
        let defaults = KernelSettings::default();
        Self {
            use_it: InKernel::default(),
            cuts: false,
            cuts_all: false,
            shed: None,
            key_vlan: false,
            wire: defaults.wire,
            flows_v4: defaults.flows_v4,
            flows_v6: defaults.flows_v6,
        }
    }
}

impl KernelNeeds {
    /// Whether flow tables are needed.
    #[must_use]
    pub fn needs_flows(&self) -> bool {
        match self.use_it {
            InKernel::Auto => self.cuts || self.shed.is_some(),
            InKernel::Always => true,
            InKernel::Never => false,
        }
    }
}

/// The greatest [`LiveSettings::retire`].
pub const RETIRE_MAX: Duration = Duration::from_secs(60);

/// What is captured, and how.
#[derive(Clone, Debug)]
pub struct LiveSettings {
    /// Interfaces' names, without repetition.
    pub interfaces: Vec<String>,
    /// See [`LiveEngine`].
    pub engine: LiveEngine,
    /// See [`Role`].
    pub role: Role,
    /// See [`TrafficDirection`].
    pub direction: TrafficDirection,
    /// Workers, each with a ring on every interface.
    pub workers: usize,
    /// Pin worker i to the i-th CPU that the process may use.
    pub pin: bool,
    /// Memory of one ring, bytes. Default 64 MiB.
    pub ring_bytes: usize,
    /// Captured bytes of a frame; the rest is cut. Default 262,144, which is more than any frame has.
    pub snap_bytes: u32,
    /// Whether frames for other machines are wanted. Default: yes.
    pub promiscuous: bool,
    /// The sockets' group where there are several workers, or other processes. Default: our own steering, by flow.
    pub fanout: Option<Fanout>,
    /// By interface, the group of its own that it shares frames in; `None`: none. Where this is empty, what stands in the
    /// fields before is for all interfaces.
    pub memberships: Vec<Option<Membership>>,
    /// Whether the group has members in other processes. With it, directions are chosen by each member's filter and not by
    /// the group. Default: no, but for those who give a number to several processes.
    pub sharing: Option<Sharing>,
    /// The program of a group of the mode `cbpf`. Its offsets count from the network header of frames that arrive; from
    /// the frame's beginning with `SKF_LL_OFF` added. Default: the one set by whoever made the group.
    pub fanout_program: Vec<ClassicInstruction>,
    /// A steering program; needs the mode `ebpf` with packet sockets.
    pub steering: Option<Compiled>,
    /// Expression in libpcap's language; runs in the kernel.
    pub filter: Option<String>,
    /// The filter as a program, for frames as they are on the wire, in place of an expression. It may ask for what the
    /// kernel knows of a packet (`SKF_AD_PKTTYPE`, `…_PROTOCOL`, `…_IFINDEX`); one that asks for VLAN tags
    /// (`SKF_AD_VLAN_TAG`, `…_TAG_PRESENT`, `…_TPID`) is made for frames whose outermost tag was taken out.
    pub program: Option<Vec<ClassicInstruction>>,
    /// Whether the filter may be replaced while the capture runs ([`Worker::set_filter`](super::Worker::set_filter)). With
    /// AF_XDP this costs a call of one program by another for every frame. Default: no; packet sockets can always.
    pub refilter: bool,
    /// Age at which packet sockets hand over a block of frames that is not full, 1 ms to [`RETIRE_MAX`]. Default 5 ms: the
    /// promise is 10 ms from a frame to its delivery. Kernels with a timer wheel round up to their tick: 5 becomes 5, 8 and
    /// 10 ms at 1000, 250 and 100 Hz; kernels since 6.18 keep to it.
    pub retire: Duration,
    /// Whether packet sockets hand every frame over at once, by a ring of slots (TPACKET_V2) instead of blocks. A slot has room
    /// for the interface's longest frame, or for the snap length: where segments are put together that is 64 KiB, so that a
    /// ring of 64 MiB has 960. A frame that is longer than its interface said is cut. Default: no. AF_XDP always does.
    pub immediate: bool,
    /// See [`Stamp`]. Those of a card take packet sockets and one interface: its clock is not the others'. Frames that it did
    /// not stamp have the machine's time. The card goes on stamping when the capture ends, as other programs may want it.
    pub stamp: Stamp,
    /// Busy polling of AF_XDP sockets, microseconds; 0: none.
    pub busy_poll_us: u32,
    /// What programs in the kernel are to do.
    pub kernel: KernelNeeds,
    /// How long frames of several interfaces are held back to be put in order of time. Default 10 ms.
    pub merge_window: Duration,
}

impl LiveSettings {
    /// Shares the frames of all interfaces in this way, or not at all.
    pub fn share(&mut self, membership: Option<Membership>) {
        match membership {
            Some(Membership { fanout, program, steering, sharing }) => {
                (self.fanout, self.fanout_program) = (Some(fanout), program);
                (self.steering, self.sharing) = (steering, sharing);
            }
            None => (self.fanout, self.fanout_program, self.steering, self.sharing) = (None, Vec::new(), None, None),
        }
    }

    /// What holds for the interface of this number.
    pub(super) fn on(&self, number: usize) -> Self {
        let mut settings = self.clone();
        if let Some(membership) = self.memberships.get(number) {
            settings.share(membership.clone());
        }
        settings
    }

    /// The defaults, for these interfaces.
    pub fn new<S: Into<String>>(interfaces: impl IntoIterator<Item = S>) -> Self {
        Self {
            interfaces: interfaces.into_iter().map(Into::into).collect(),
            engine: LiveEngine::default(),
            role: Role::default(),
            direction: TrafficDirection::default(),
            workers: 1,
            pin: true,
            ring_bytes: 64 << 20,
            snap_bytes: 262_144,
            promiscuous: true,
            fanout: None,
            sharing: None,
            memberships: Vec::new(),
            fanout_program: Vec::new(),
            steering: None,
            filter: None,
            program: None,
            refilter: false,
            retire: Duration::from_millis(5),
            immediate: false,
            stamp: Stamp::default(),
            busy_poll_us: 0,
            kernel: KernelNeeds::default(),
            merge_window: Duration::from_millis(10),
        }
    }
}
