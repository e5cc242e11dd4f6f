use std::time::Duration;

use tidewire_steer::Compiled;
use tidewire_wire::Settings as Wire;

use super::kernel::{KernelSettings, Shed};

use crate::ClassicInstruction;

/// Defines a structure of settings that can grow: private fields, and for each a getter with the documentation, a setter
/// (`set_…`), and a setter for method chains (`with_…`). `getter[.conversion | (&)], setter, chained setter: field type as the
/// getter's type, the setters' type`. Fields that have methods of another form are in `private`.
macro_rules! settings {
    ($(#[$attribute:meta])* pub struct $owner:ident {
        $($(#[doc = $doc:literal])+
        $name:ident $(.$convert:ident)? $(($borrow:tt))?, $set:ident, $with:ident: $type:ty as $got:ty, $given:ty;)+
        $(private { $($private:ident: $private_type:ty,)+ })?
    }) => {
        $(#[$attribute])*
        pub struct $owner {
            $(pub(crate) $name: $type,)+
            $($(pub(crate) $private: $private_type,)+)?
        }

        impl $owner {
            $(
                $(#[doc = $doc])+
                #[must_use]
                pub fn $name(&self) -> $got {
                    $($borrow)? self.$name $(.$convert())?
                }

                #[doc = concat!("Sets [`", stringify!($name), "`](Self::", stringify!($name), ").")]
                pub fn $set(&mut self, $name: $given) {
                    self.$name = $name.into();
                }

                #[doc = concat!("Sets [`", stringify!($name), "`](Self::", stringify!($name), "), in a method chain.")]
                #[must_use]
                pub fn $with(mut self, $name: $given) -> Self {
                    self.$name = $name.into();
                    self
                }
            )+
        }
    };
}

/// How frames get from the kernel to this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LiveEngine {
    /// The fastest that works: AF_XDP on a mirror port ([`Role::Tap`]), else a packet socket.
    #[default]
    Auto,
    /// A packet socket's ring, TPACKET_V3.
    Packet,
    /// AF_XDP in the driver, without a copy where the driver can.
    Xdp,
    /// AF_XDP through the generic hook, for any driver.
    XdpGeneric,
}

/// The role of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// The host's own traffic: the network stack gets all of it, unchanged. Cutoffs apply to the copy only.
    #[default]
    Host,
    /// A mirror port: every frame is dropped once it was captured, cut off or filtered out.
    Tap,
}

/// Which frames of an interface are captured. AF_XDP sees incoming frames only. On the loopback interface every frame is seen
/// as it leaves and as it arrives: only arriving frames are captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrafficDirection {
    /// Incoming and outgoing frames; on the loopback interface, incoming frames.
    #[default]
    Both,
    /// Incoming frames.
    In,
    /// Outgoing frames; packet sockets only. On the loopback interface, none.
    Out,
}

/// How the kernel chooses among the sockets of a group (packet(7), `PACKET_FANOUT`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FanoutMode {
    /// By flow hash.
    Hash,
    /// Round robin.
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
    /// By a steering program, or by the program that another member of the group set with `PACKET_FANOUT_DATA`.
    Ebpf,
}

impl FanoutMode {
    /// Every mode and its name on the command line.
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

settings! {
    /// A fan-out group of packet sockets (packet(7), `PACKET_FANOUT`).
    ///
    /// ```
    /// use tidewire_live::{Fanout, FanoutMode};
    ///
    /// let fanout = Fanout::new(FanoutMode::Hash).with_group(7).with_defrag(true);
    /// assert_eq!((fanout.group(), fanout.rollover()), (Some(7), false));
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Fanout {
        /// The group's number. Processes that name the same number share its frames. `None`: a number that is free
        /// (`PACKET_FANOUT_FLAG_UNIQUEID`).
        group, set_group, with_group: Option<u16> as Option<u16>, impl Into<Option<u16>>;
        /// How the kernel chooses a socket.
        mode, set_mode, with_mode: FanoutMode as FanoutMode, FanoutMode;
        /// Whether IPv4 fragments are reassembled first (`PACKET_FANOUT_FLAG_DEFRAG`), so that the whole datagram is
        /// delivered.
        defrag, set_defrag, with_defrag: bool as bool, bool;
        /// Whether the next socket gets a frame where the chosen one is full (`PACKET_FANOUT_FLAG_ROLLOVER`).
        rollover, set_rollover, with_rollover: bool as bool, bool;
    }
}

impl Fanout {
    /// A group with a free number, without flags.
    #[must_use]
    pub fn new(mode: FanoutMode) -> Self {
        Self { group: None, mode, defrag: false, rollover: false }
    }
}

settings! {
    /// A fan-out group with members in several processes, which know nothing of each other but the group's number.
    ///
    /// That number, [`Fanout::group`], is 0 to 255. The kernel's number is (interface number mod 256) * 256 + group, so that
    /// one number serves several interfaces. A steering program that names two workers takes the group 255 - number as well.
    /// All members have the same mode, flags and program. The last member to join sets the program, whose hash key all members
    /// derive from the machine's boot id and the group's number; processes on other machines cannot know it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Sharing {
        /// How many members there are, where that is known. With it, a steering program that names two workers delivers a
        /// packet once to a member that is both; without it twice, unless both hashes are the same.
        members, set_members, with_members: Option<u32> as Option<u32>, impl Into<Option<u32>>;
    }
}

settings! {
    /// How a capture that is open joins a group ([`Worker::join`](super::Worker::join)); see [`LiveSettings`].
    #[derive(Clone, Debug)]
    pub struct Membership {
        /// See [`LiveSettings::fanout`].
        fanout, set_fanout, with_fanout: Fanout as Fanout, Fanout;
        /// See [`LiveSettings::fanout_program`].
        program.as_slice, set_program, with_program: Vec<ClassicInstruction> as &[ClassicInstruction], Vec<ClassicInstruction>;
        /// See [`LiveSettings::steering`]. A program that names two workers takes two rings and must be known when the
        /// capture is opened.
        steering.as_ref, set_steering, with_steering: Option<Compiled> as Option<&Compiled>, impl Into<Option<Compiled>>;
        /// See [`LiveSettings::sharing`].
        sharing, set_sharing, with_sharing: Option<Sharing> as Option<Sharing>, impl Into<Option<Sharing>>;
    }
}

impl Membership {
    /// Joins this group, without a program, in this process only.
    #[must_use]
    pub fn new(fanout: Fanout) -> Self {
        Self { fanout, program: Vec::new(), steering: None, sharing: None }
    }
}

/// The clock of the frames' timestamps (pcap-tstamp(7)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimestampSource {
    /// The machine's clock, read when the kernel receives a frame.
    #[default]
    Host,
    /// The network card's clock, converted by the driver to the machine's time.
    Adapter,
    /// The network card's clock, unconverted.
    AdapterUnsynced,
}

/// Whether programs in the kernel drop packets that the engine does not need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum InKernel {
    /// If streams may be cut off or shed.
    #[default]
    Auto,
    /// Always, so that a handler can cut streams off while the capture runs.
    Always,
    /// Never: the engine does everything.
    Never,
}

settings! {
    /// Tasks of the programs in the kernel. [`tidewire::Capture`](https://docs.rs/tidewire) replaces `cuts`, `cuts_all`, `shed`,
    /// `key_vlan` and `wire` by values derived from its engine's settings.
    #[derive(Clone, Debug)]
    pub struct KernelNeeds {
        /// Whether the programs are used.
        offload, set_offload, with_offload: InKernel as InKernel, InKernel;
        /// Whether directions may be cut off.
        cuts, set_cuts, with_cuts: bool as bool, bool;
        /// Whether every direction is cut off after its first packet (cutoff 0 for all).
        cuts_all, set_cuts_all, with_cuts_all: bool as bool, bool;
        /// Whether the engine leaves out copies of packets, which the programs of each interface would count: then it cuts off itself.
        leaves_out_copies, set_leaves_out_copies, with_leaves_out_copies: bool as bool, bool;
        /// Whether frames that the filter leaves out are counted, where a program can be loaded for that (Ethernet; not as a tap):
        /// see [`tidewire_core::Shunt::filtered`]. Elsewhere they are not.
        counts, set_counts, with_counts: bool as bool, bool;
        /// Prioritized packet loss.
        shed.as_ref, set_shed, with_shed: Option<Shed> as Option<&Shed>, impl Into<Option<Shed>>;
        /// Whether VLAN ids are part of a flow's key. Default: no.
        key_vlan, set_key_vlan, with_key_vlan: bool as bool, bool;
        /// Where the engine looks for tunnels.
        wire (&), set_wire, with_wire: Wire as &Wire, Wire;
        /// Capacity of an interface's IPv4 table, in directions of flows. Default 262,144, which is 32 MiB.
        flows_v4, set_flows_v4, with_flows_v4: u32 as u32, u32;
        /// Capacity of an interface's IPv6 table, in directions of flows. Default 65,536, which is 16 MiB.
        flows_v6, set_flows_v6, with_flows_v6: u32 as u32, u32;
    }
}

impl Default for KernelNeeds {
    fn default() -> Self {
        let defaults = KernelSettings::default();
        Self {
            offload: InKernel::default(),
            cuts: false,
            cuts_all: false,
            leaves_out_copies: false,
            counts: false,
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
        !self.leaves_out_copies && self.would_need_flows()
    }

    /// Whether copies of packets are why the engine cuts off.
    #[must_use]
    pub(crate) fn is_left_to_engine(&self) -> bool {
        self.leaves_out_copies && self.would_need_flows()
    }

    fn would_need_flows(&self) -> bool {
        match self.offload {
            InKernel::Auto => self.cuts || self.shed.is_some(),
            InKernel::Always => true,
            InKernel::Never => false,
        }
    }
}

/// Limit of [`LiveSettings::block_timeout`].
pub const BLOCK_TIMEOUT_MAX: Duration = Duration::from_secs(60);

settings! {
    /// Settings of a live capture.
    ///
    /// ```
    /// use tidewire_live::{LiveEngine, LiveSettings};
    ///
    /// let settings = LiveSettings::new(["eth0"]).with_engine(LiveEngine::Packet).with_ring_bytes(16 << 20);
    /// assert_eq!((settings.workers(), settings.ring_bytes()), (1, 16 << 20));
    /// ```
    #[derive(Clone, Debug)]
    pub struct LiveSettings {
        /// How frames get from the kernel to this process.
        engine, set_engine, with_engine: LiveEngine as LiveEngine, LiveEngine;
        /// The role of the interfaces.
        role, set_role, with_role: Role as Role, Role;
        /// Which frames are captured.
        direction, set_direction, with_direction: TrafficDirection as TrafficDirection, TrafficDirection;
        /// Workers, each with a ring on every interface. Default 1. `tidewire::Capture` ignores it: there
        /// `Capture::workers` decides.
        workers, set_workers, with_workers: usize as usize, usize;
        /// Whether worker i is pinned to the i-th CPU that the process may use. Default: yes.
        pin, set_pin, with_pin: bool as bool, bool;
        /// Memory of one ring, bytes. Default 64 MiB.
        ring_bytes, set_ring_bytes, with_ring_bytes: usize as usize, usize;
        /// Captured bytes of a frame; the rest is cut. Default 262,144, more than any frame has.
        snap_bytes, set_snap_bytes, with_snap_bytes: u32 as u32, u32;
        /// Whether frames for other machines are captured. Default: yes.
        promiscuous, set_promiscuous, with_promiscuous: bool as bool, bool;
        /// The fan-out group of the sockets, for several workers or several processes. Default: a private group that steers
        /// by flow.
        fanout, set_fanout, with_fanout: Option<Fanout> as Option<Fanout>, impl Into<Option<Fanout>>;
        /// For each interface its own group; `None`: no group. Where this is empty, [`fanout`](Self::fanout),
        /// [`fanout_program`](Self::fanout_program), [`steering`](Self::steering) and [`sharing`](Self::sharing) hold for
        /// all interfaces.
        memberships.as_slice, set_memberships, with_memberships: Vec<Option<Membership>> as &[Option<Membership>], Vec<Option<Membership>>;
        /// Whether the group has members in other processes. If so, each member's filter selects the direction, not the
        /// group. Default: no.
        sharing, set_sharing, with_sharing: Option<Sharing> as Option<Sharing>, impl Into<Option<Sharing>>;
        /// The program of a group of the mode `cbpf`. Its offsets count from the network header of frames that arrive; from
        /// the frame's beginning with `SKF_LL_OFF` added. Default: the program that another member set.
        fanout_program.as_slice, set_fanout_program, with_fanout_program: Vec<ClassicInstruction> as &[ClassicInstruction], Vec<ClassicInstruction>;
        /// A steering program; with packet sockets it needs the mode `ebpf`.
        steering.as_ref, set_steering, with_steering: Option<Compiled> as Option<&Compiled>, impl Into<Option<Compiled>>;
        /// The filter as a program instead of an expression, for frames as they are on the wire. It may read what the kernel
        /// knows of a packet (`SKF_AD_PKTTYPE`, `…_PROTOCOL`, `…_IFINDEX`). A program that reads VLAN tags
        /// (`SKF_AD_VLAN_TAG`, `…_TAG_PRESENT`, `…_TPID`) must be made for frames without their outermost tag.
        program.as_deref, set_program, with_program: Option<Vec<ClassicInstruction>> as Option<&[ClassicInstruction]>, impl Into<Option<Vec<ClassicInstruction>>>;
        /// Whether the filter may be replaced while the capture runs ([`Worker::set_filter`](super::Worker::set_filter)).
        /// With AF_XDP this costs a tail call for every frame. Default: no; packet sockets can always.
        replaceable_filter, set_replaceable_filter, with_replaceable_filter: bool as bool, bool;
        /// Age at which packet sockets hand over a block of frames that is not full, 1 ms to [`BLOCK_TIMEOUT_MAX`]. Default 5 ms: a
        /// frame is delivered within 10 ms. Kernels with a timer wheel round up to their tick: 5 ms become 5, 8 and 10 ms at
        /// 1000, 250 and 100 Hz; Linux 6.18 and later keep to it.
        block_timeout, set_block_timeout, with_block_timeout: Duration as Duration, Duration;
        /// Whether packet sockets hand over every frame at once, by a ring of slots (TPACKET_V2) instead of blocks. A slot
        /// has room for the interface's longest frame, or for the snap length: 64 KiB where segments are coalesced, so that a
        /// ring of 64 MiB has 960 slots. A frame that is longer than its interface announced is cut. Default: no. AF_XDP
        /// always does.
        immediate, set_immediate, with_immediate: bool as bool, bool;
        /// Which clock stamps the frames. Hardware time stamps need packet sockets and one interface, since clocks of several
        /// cards differ. Frames that the card did not stamp have the machine's time. The card continues to stamp after the
        /// capture, as other programs may need it.
        stamp, set_stamp, with_stamp: TimestampSource as TimestampSource, TimestampSource;
        /// Busy polling of AF_XDP sockets, microseconds; 0: none.
        busy_poll_us, set_busy_poll_us, with_busy_poll_us: u32 as u32, u32;
        /// Tasks of the programs in the kernel.
        kernel (&), set_kernel, with_kernel: KernelNeeds as &KernelNeeds, KernelNeeds;
        /// How long frames of several interfaces are held back to be put in order of time. Default 10 ms.
        merge_window, set_merge_window, with_merge_window: Duration as Duration, Duration;
        private {
            interfaces: Vec<String>,
            filter: Option<String>,
        }
    }
}

impl LiveSettings {
    /// The interfaces' names, without repetition; `any` alone names every interface that is switched on, also
    /// while the capture runs.
    #[must_use]
    pub fn interfaces(&self) -> &[String] {
        &self.interfaces
    }

    /// Sets [`interfaces`](Self::interfaces).
    pub fn set_interfaces(&mut self, interfaces: impl IntoIterator<Item = impl Into<String>>) {
        self.interfaces = interfaces.into_iter().map(Into::into).collect();
    }

    /// Sets [`interfaces`](Self::interfaces), in a method chain.
    #[must_use]
    pub fn with_interfaces(mut self, interfaces: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.set_interfaces(interfaces);
        self
    }

    /// A filter expression in libpcap's language; it runs in the kernel.
    #[must_use]
    pub fn filter(&self) -> Option<&str> {
        self.filter.as_deref()
    }

    /// Sets [`filter`](Self::filter).
    pub fn set_filter(&mut self, filter: impl Into<String>) {
        self.filter = Some(filter.into());
    }

    /// Sets [`filter`](Self::filter), in a method chain.
    #[must_use]
    pub fn with_filter(mut self, filter: impl Into<String>) -> Self {
        self.set_filter(filter);
        self
    }

    /// Removes [`filter`](Self::filter), in a method chain.
    #[must_use]
    pub fn without_filter(mut self) -> Self {
        self.filter = None;
        self
    }

    /// Sets the group of all interfaces, or none.
    pub fn share(&mut self, membership: Option<Membership>) {
        match membership {
            Some(Membership { fanout, program, steering, sharing }) => {
                (self.fanout, self.fanout_program) = (Some(fanout), program);
                (self.steering, self.sharing) = (steering, sharing);
            }
            None => (self.fanout, self.fanout_program, self.steering, self.sharing) = (None, Vec::new(), None, None),
        }
    }

    /// [`kernel`](Self::kernel), to be changed in place.
    pub fn kernel_mut(&mut self) -> &mut KernelNeeds {
        &mut self.kernel
    }

    /// The settings of the interface of this number.
    pub(super) fn on(&self, number: usize) -> Self {
        let mut settings = self.clone();
        if let Some(membership) = self.memberships.get(number) {
            settings.share(membership.clone());
        }
        settings
    }

    /// The defaults for these interfaces.
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
            replaceable_filter: false,
            block_timeout: Duration::from_millis(5),
            immediate: false,
            stamp: TimestampSource::default(),
            busy_poll_us: 0,
            kernel: KernelNeeds::default(),
            merge_window: Duration::from_millis(10),
        }
    }
}
