//! Every setting and bound of the engine: name, unit, default and reason, in one place.

mod check;
mod choices;
pub(crate) mod stored;
mod targets;

use std::time::Duration;

pub(crate) use check::check_delivery;
pub use check::{CHUNK_BYTES_MAX, ConfigError};
pub use choices::{ChecksumMode, DirectionCutoff, DuplicateRule, KeyIds, LinkAddresses, Mode, Share, UnknownKeyId};
pub use targets::TargetPolicies;

use crate::{DefragPolicy, TcpPolicy, wire};

/// `Config::flows_max` within the crate: as many flows as their part of the memory holds.
pub(crate) const FLOWS_BY_MEMORY: u32 = u32::MAX;

/// Defines [`Config`], its `Default`, and three methods for each setting: a getter with the documentation, a setter, and a
/// setter that can be chained. A setting is stated once: `getter, setter, chained setter: type = default`; `(&)` marks a
/// getter that borrows. A setting that the engine has in another form (nanoseconds, a number for "none") is stated behind `stored`, with
/// its field and the module of [`stored`] that converts it. Groups become `impl` blocks of their own, which rustdoc shows in this order.
macro_rules! settings {
    ($($(#[doc = $group:literal])+ {
        $($(#[doc = $doc:literal])+ $name:ident $(($borrow:tt))?, $set:ident, $with:ident: $type:ty = $default:expr;)*
        $(stored $($(#[doc = $doc_:literal])+ $field:ident as $form:ident: $name_:ident, $set_:ident, $with_:ident: $type_:ty = $default_:expr;)+)?
    })+) => {
        /// The engine's settings.
        ///
        /// Start from [`Config::default`] and change what differs. Each setting has a getter, which documents it, a setter
        /// (`set_…`), and a setter for method chains (`with_…`):
        ///
        /// ```
        /// use tidewire_core::{Config, Mode};
        ///
        /// let mut config = Config::default().with_mode(Mode::Fast).with_chunk_bytes(64 << 10);
        /// config.set_ttl_min(2);
        /// assert_eq!((config.chunk_bytes(), config.ttl_min()), (65_536, 2));
        /// ```
        ///
        /// All bounds are for one engine. Several workers have an engine each; [`share_out`](Self::share_out) divides the
        /// memory of a process among them. Setters accept every value: [`check`](Self::check) finds values out of range, and `share_out`
        /// lowers what exceeds the memory. [`Engine::new`](crate::Engine::new) does neither: without `share_out` it allocates the history
        /// that the settings ask for.
        #[derive(Clone, Debug)]
        pub struct Config {
            $($(pub(crate) $name: $type,)*)+
            $($($(pub(crate) $field: stored::$form::Stored,)+)?)+
        }

        impl Default for Config {
            fn default() -> Self {
                Self {
                    $($($name: $default,)*)+
                    $($($($field: stored::$form::store($default_),)+)?)+
                }
            }
        }

        $($(#[doc = $group])+
        impl Config {
            $(
                $(#[doc = $doc])+
                #[doc = concat!("\nDefault: `", stringify!($default), "`.")]
                #[must_use]
                pub fn $name(&self) -> $($borrow)? $type {
                    $($borrow)? self.$name
                }

                #[doc = concat!("Sets [`", stringify!($name), "`](Self::", stringify!($name), ").")]
                pub fn $set(&mut self, $name: $type) {
                    self.$name = $name;
                }

                #[doc = concat!("Sets [`", stringify!($name), "`](Self::", stringify!($name), "), in a method chain.")]
                #[must_use]
                pub fn $with(mut self, $name: $type) -> Self {
                    self.$name = $name;
                    self
                }
            )*
            $($(
                $(#[doc = $doc_])+
                #[doc = concat!("\nDefault: `", stringify!($default_), "`.")]
                #[must_use]
                pub fn $name_(&self) -> $type_ {
                    stored::$form::load(self.$field)
                }

                #[doc = concat!("Sets [`", stringify!($name_), "`](Self::", stringify!($name_), ").")]
                pub fn $set_(&mut self, $name_: $type_) {
                    self.$field = stored::$form::store($name_);
                }

                #[doc = concat!("Sets [`", stringify!($name_), "`](Self::", stringify!($name_), "), in a method chain.")]
                #[must_use]
                pub fn $with_(mut self, $name_: $type_) -> Self {
                    self.$set_($name_);
                    self
                }
            )+)?
        })+
    };
}

settings! {
    /// # Decoding and flow keys
    {
        /// Which tunnels the decoder looks through, and by which ports it recognises them.
        wire(&), set_wire, with_wire: wire::Settings = wire::Settings::default();
        /// Key of the hashes over everything that a sender chooses (SipHash-1-3). Set it from a random source: a sender who
        /// knows it can fill single buckets. The same key gives the same run.
        hash_key, set_hash_key, with_hash_key: [u64; 2] = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        /// Ids that are part of a flow's key, beside the innermost addresses, ports and protocol.
        key_ids, set_key_ids, with_key_ids: KeyIds = KeyIds::default();
    }

    /// # Reassembly
    {
        /// How TCP streams are reassembled.
        mode, set_mode, with_mode: Mode = Mode::Strict;
        /// Policy for overlapping TCP segments, for receivers without one in [`targets`](Self::targets).
        tcp_policy, set_tcp_policy, with_tcp_policy: TcpPolicy = TcpPolicy::Linux;
        /// Policy for overlapping IPv4 fragments, for receivers without one in [`targets`](Self::targets).
        defrag_policy, set_defrag_policy, with_defrag_policy: DefragPolicy = DefragPolicy::Linux;
        /// Policy for overlapping IPv6 fragments, for receivers without one in [`targets`](Self::targets). Linux follows
        /// RFC 5722.
        defrag_policy_v6, set_defrag_policy_v6, with_defrag_policy_v6: DefragPolicy = DefragPolicy::Linux;
        /// Overlap policies by receiver's network.
        targets(&), set_targets, with_targets: TargetPolicies = TargetPolicies::default();
        /// The treatment of packets with wrong checksums.
        checksum, set_checksum, with_checksum: ChecksumMode = ChecksumMode::Auto;
        /// Whether link addresses and encapsulation are compared within a direction.
        link_addresses, set_link_addresses, with_link_addresses: LinkAddresses = LinkAddresses::Compare;
        /// Which packets are copies of others and are left out. Packets of a moment ago are remembered in a table of 2 MiB beside the
        /// other memory.
        duplicates, set_duplicates, with_duplicates: DuplicateRule = DuplicateRule::Keep;
        /// Least time to live (hop limit) of a packet whose payload enters a stream; 0: any.
        ttl_min, set_ttl_min, with_ttl_min: u8 = 0;
        /// Whether urgent data stays in the stream (`SO_OOBINLINE`). If not, the urgent byte is removed and reported as a gap,
        /// as Linux removes it by default.
        urgent_inline, set_urgent_inline, with_urgent_inline: bool = true;
    }

    /// # Delivery
    {
        /// Bytes of each direction that are delivered. Statistics stay exact beyond the cutoff.
        cutoff, set_cutoff, with_cutoff: DirectionCutoff = DirectionCutoff::UNLIMITED;
        /// Size of the chunks that bytes are gathered into; 0: bytes are delivered as they arrive, without a copy. At most
        /// [`CHUNK_BYTES_MAX`], see [`check`](Self::check).
        chunk_bytes, set_chunk_bytes, with_chunk_bytes: u32 = 0;
        /// Bytes at the end of a chunk that are repeated at the beginning of the next one. Less than
        /// [`chunk_bytes`](Self::chunk_bytes), see [`check`](Self::check).
        overlap_bytes, set_overlap_bytes, with_overlap_bytes: u32 = 0;
        stored
        /// Packet time after which an incomplete chunk is delivered; `None`: only when it is full.
        flush_timeout_ns as optional_span: flush_timeout, set_flush_timeout, with_flush_timeout: Option<Duration> = None;
    }

    /// # Timeouts
    {
        stored
        /// Silence that ends a flow; `None`: no limit, so that a conversation in a file stays one stream.
        inactivity_timeout_ns as optional_span: inactivity_timeout, set_inactivity_timeout, with_inactivity_timeout: Option<Duration> = None;
        /// Time for which a closed or reset connection stays in the table, so that late packets find it. 120 s: RFC 9293
        /// asks for 2 MSL (240 s), hosts use 60 s.
        closed_timeout_ns as span: closed_timeout, set_closed_timeout, with_closed_timeout: Duration = Duration::from_secs(120);
        /// Silence after which the end of a closed or reset connection is reported (`close`), before
        /// [`closed_timeout`](Self::closed_timeout) removes it. Packets that come later have the fate
        /// [`AfterClose`](crate::Fate::AfterClose). `None`: the end is reported at removal, and late packets count in the stream.
        report_closed_ns as optional_span: report_closed, set_report_closed, with_report_closed: Option<Duration> = None;
        /// Time after which a connection ends of which only a SYN was seen. 120 s: Linux stops retrying a SYN after 127 s.
        half_open_timeout_ns as span: half_open_timeout, set_half_open_timeout, with_half_open_timeout: Duration = Duration::from_secs(120);
        /// Time after its first packet at which a conversation without an answer is reported to handlers that want to know
        /// ([`Handler::UNFINISHED`](crate::Handler::UNFINISHED)). 5 s: three SYNs of a usual host, and what Zeek waits
        /// (`tcp_attempt_delay`).
        unfinished_ns as span: unfinished_after, set_unfinished_after, with_unfinished_after: Duration = Duration::from_secs(5);
    }

    /// # Tables and memory
    {
        /// Half-open connections, which have their own table.
        half_open_max, set_half_open_max, with_half_open_max: u32 = 1 << 18;
        /// Bytes for first packets of connections joined midway, which become flows when a second packet follows. When they are
        /// used up, the oldest become streams of one packet. 0: each first packet opens a flow.
        midstream_bytes, set_midstream_bytes, with_midstream_bytes: u64 = 16 << 20;
        /// Bytes of everything that flows hold beyond their table entry (segments out of order, chunks, lists, other
        /// bookkeeping) and of fragments.
        memory_bytes, set_memory_bytes, with_memory_bytes: u64 = 64 << 20;
        /// Of [`memory_bytes`](Self::memory_bytes), out-of-order bytes of one direction. 4 MiB is more than the largest default
        /// receive window of Linux holds unread in practice.
        stream_buffer_bytes, set_stream_buffer_bytes, with_stream_buffer_bytes: u64 = 4 << 20;
        /// Entries of each of a stream's lists (gaps, conflicts, anomalies). Counters continue beyond.
        list_max, set_list_max, with_list_max: u32 = 256;
        /// Delivered segments that are remembered, over all streams, so that a retransmission with different bytes is noticed:
        /// the last 128 of a direction, none older than this many packets. 32 bytes each; rounded up to a power of two; 0: none.
        history_segments, set_history_segments, with_history_segments: u32 = 1 << 17;
        /// Bytes of delivered segments that are copied for that comparison where the input cannot be read again (a pipe, a
        /// compressed file, an interface); none older than this many bytes of the whole input.
        history_copy_bytes, set_history_copy_bytes, with_history_copy_bytes: u32 = 8 << 20;
        stored
        /// Flows in the table, which grows on demand. `None`: as many as their part of the memory holds, see
        /// [`share_out`](Self::share_out).
        flows_max as flows: flows_max, set_flows_max, with_flows_max: Option<u32> = None;
        /// Of [`memory_bytes`](Self::memory_bytes), bytes held for packets of one source address; flows that have delivered more
        /// than they hold are exempt. `None`: a quarter of what fragments leave of `memory_bytes`.
        source_buffer_bytes as optional_bytes: source_buffer_bytes, set_source_buffer_bytes, with_source_buffer_bytes: Option<u64> = None;
    }

    /// # Holes
    {
        /// Holes (gaps between runs of out-of-order bytes) of one direction, at most. Few bytes are not worth the bookkeeping
        /// of many holes: 128 holes (a quarter of this setting, if that is more) are free, each further one needs 128 bytes
        /// that wait.
        stream_holes_max, set_stream_holes_max, with_stream_holes_max: u32 = 512;
        /// Holes of all streams.
        holes_max, set_holes_max, with_holes_max: u32 = 1 << 20;
        /// Packets with payload behind an acknowledged hole after which [`Mode::Strict`] reports it as a gap, provided that
        /// [`hole_bytes_strict`](Self::hole_bytes_strict) are waiting, too: a capture may show packets in another order than
        /// they were sent in.
        hole_segments_strict, set_hole_segments_strict, with_hole_segments_strict: u32 = 64;
        /// See [`hole_segments_strict`](Self::hole_segments_strict). 64 segments of usual size: holes in short streams wait
        /// until the end, those in long streams cost little.
        hole_bytes_strict, set_hole_bytes_strict, with_hole_bytes_strict: u64 = 96 << 10;
        /// Packets with payload behind a hole, acknowledged or not, after which [`Mode::Fast`] reports it as a gap.
        hole_segments_fast, set_hole_segments_fast, with_hole_segments_fast: u32 = 16;
        stored
        /// Time after which an acknowledged hole becomes a gap; `None`: only the rules above, which suits files.
        hole_timeout_ns as optional_span: hole_timeout, set_hole_timeout, with_hole_timeout: Option<Duration> = None;
    }

    /// # Fragments
    {
        /// Least bytes of data in a fragment that is not its datagram's last.
        fragment_bytes_min, set_fragment_bytes_min, with_fragment_bytes_min: u32 = 8;
        /// Fragments of one datagram. 8192: 65,535 bytes in fragments of 8 bytes.
        fragments_max, set_fragments_max, with_fragments_max: u32 = 8192;
        /// Bytes of one datagram.
        datagram_bytes_max, set_datagram_bytes_max, with_datagram_bytes_max: u32 = 65_535;
        /// Of [`memory_bytes`](Self::memory_bytes), bytes of fragments, at most half of it.
        fragment_memory_bytes, set_fragment_memory_bytes, with_fragment_memory_bytes: u64 = 16 << 20;
        /// Pending datagrams.
        datagrams_max, set_datagrams_max, with_datagrams_max: u32 = 1 << 16;
        stored
        /// Time after which an incomplete datagram of IPv4 is given up. 30 s as Linux (`ipfrag_time`).
        fragment_timeout_ns as span: fragment_timeout, set_fragment_timeout, with_fragment_timeout: Duration = Duration::from_secs(30);
        /// The same of IPv6. 60 s as Linux (`ip6frag_time`) and RFC 8200 section 4.5.
        fragment_timeout_v6_ns as span: fragment_timeout_v6, set_fragment_timeout_v6, with_fragment_timeout_v6: Duration = Duration::from_secs(60);
    }

    /// # Overload
    {
        /// Priorities, 1 to 8, see [`check`](Self::check). A stream's priority is 0 (lowest) to `priorities - 1`.
        priorities, set_priorities, with_priorities: u8 = 1;
        /// Whether packets are shed by priority when memory runs short. If not, eviction alone bounds the memory.
        shed, set_shed, with_shed: bool = false;
        /// Share of the memory below which no packet is shed, in thousandths, at most 1000.
        base_threshold_permille, set_base_threshold_permille, with_base_threshold_permille: u32 = 500;
        stored
        /// Bytes of a stream beyond which its packets are shed when the memory in use approaches the watermark of the stream's
        /// priority; `None`: no packet is shed for the length of its stream.
        overload_cutoff_bytes as unlimited: overload_cutoff_bytes, set_overload_cutoff_bytes, with_overload_cutoff_bytes: Option<u64> = None;
    }
}
