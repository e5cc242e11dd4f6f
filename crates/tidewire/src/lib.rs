//! Transport streams from packets.
//!
//! Tidewire reads packets from capture files or interfaces, reassembles IP fragments and TCP segments, and delivers what
//! the receiving host would have received: the bytes of each direction in order, gaps with their cause, and anomalies.
//! The unit is the stream, not the packet.
//!
//! | to | use |
//! |---|---|
//! | read capture files | `Capture::file`, `files`, `reader`, `source` (feature `files`) |
//! | capture from interfaces | `Capture::live` with `live::LiveSettings` (feature `live`) |
//! | iterate over finished streams | [`Capture::streams`], [`Capture::for_each_stream`] |
//! | iterate over packets, with views of their headers | `Capture::packets`, [`Capture::for_each_packet`] |
//! | react to bytes with closures | [`Capture::on_data`] and [`Closures`] |
//! | keep state for each stream, see packets and datagrams | [`Handler`] with [`Capture::run_with`] or [`Capture::run`] |
//! | get typed transactions: HTTP requests, TLS handshakes, DNS queries | `Capture::transactions` and the module `protocols` (feature `protocols`) |
//! | run several handlers over one input | [`Applications`] |
//! | keep the frames themselves | [`FrameHandler`] with [`Capture::run_frames`] |
//! | process batches of frames without input or threads | [`Engine`] |
//!
//! # Quick start: files
//!
//! Streams that have ended, without callbacks:
//!
//! ```
//! use tidewire::{Capture, Direction};
//!
//! # fn main() -> Result<(), tidewire::Error> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/hello/hello.pcap");
//! for stream in Capture::file(path).streams()? {
//!     assert_eq!(stream.bytes(Direction::ServerToClient), b"good day");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Closures that receive bytes as they arrive ([`Closures`]):
//!
//! ```
//! use tidewire::Capture;
//!
//! # fn main() -> Result<(), tidewire::Error> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/hello/hello.pcap");
//! let mut chunks = Vec::new();
//! Capture::file(path).on_data(|stream, chunk| chunks.push((stream.key().to_string(), chunk.bytes.to_vec()))).run()?;
//! assert_eq!(chunks[0].1, b"hello");
//! # Ok(())
//! # }
//! ```
//!
//! A [`Handler`], with state for each stream. [`Capture`] reads packets and calls its methods when a stream opens, when
//! bytes or gaps are known, and when it ends:
//!
//! ```
//! use tidewire::{Capture, Chunk, EndReason, Handler, Stream};
//!
//! #[derive(Default)]
//! struct Conversations(Vec<String>);
//!
//! impl Handler for Conversations {
//!     type Data = [Vec<u8>; 2]; // for each stream: the bytes of both directions
//!
//!     fn data(&mut self, stream: &mut Stream<'_, Self::Data>, chunk: Chunk<'_>) {
//!         stream.data()[chunk.direction as usize].extend_from_slice(chunk.bytes);
//!     }
//!
//!     fn close(&mut self, stream: &mut Stream<'_, Self::Data>, reason: EndReason) {
//!         let [request, response] = std::mem::take(stream.data());
//!         let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
//!         self.0.push(format!("{} | {} | {}", text(request), text(response), reason.name()));
//!     }
//! }
//!
//! # fn main() -> Result<(), tidewire::Error> {
//! let capture: &[u8] = include_bytes!("../tests/corpus/hello/hello.pcap");
//! let outcome = Capture::reader(capture).run_with(Conversations::default())?;
//! assert_eq!(outcome.handler().0, ["hello | good day | fin"]);
//! assert!(outcome.ledger.closes()); // every packet has one fate
//! # Ok(())
//! # }
//! ```
//!
//! # Quick start: interfaces
//!
#![cfg_attr(feature = "live", doc = "```no_run")]
#![cfg_attr(not(feature = "live"), doc = "```ignore")]
//! use std::time::Duration;
//! use tidewire::{Capture, Direction, live::LiveSettings};
//!
//! # fn main() -> Result<(), tidewire::Error> {
//! Capture::live(LiveSettings::new(["eth0"])).duration(Duration::from_secs(10)).for_each_stream(|stream| {
//!     println!("{}: {} bytes", stream.key(), stream.bytes(Direction::ServerToClient).len());
//! })?;
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees for handlers
//!
//! - Within a direction [`Handler::data`] and [`Handler::gap`] together cover the stream in order:
//!   offsets only grow. In-order bytes are borrowed from the reader's buffer and are valid until the call returns.
//! - [`Handler::Data`] is the program's state for each stream. It is stored with the flow and dropped with it.
//! - Within a call a handler may control the stream: [`Stream::set_cutoff`], [`Stream::set_priority`],
//!   [`Stream::discard`], [`Stream::keep_chunk`].
//! - [`Handler::PACKETS`] adds original packets in the order of capture, [`Handler::DATAGRAMS`] rebuilt and rejected
//!   datagrams. UDP and other protocols are streams too; each datagram is one chunk.
//! - Time is packet time: the same input gives the same calls.
//!
//! # Controlling a stream
//!
//! A cutoff is exact to the byte, and statistics continue beyond it.
//!
//! ```
//! use tidewire::{Capture, Chunk, Direction, EndReason, Handler, Stream, StreamPacket};
//!
//! #[derive(Default)]
//! struct Curious {
//!     seen: Vec<u8>,
//!     packets: Vec<u64>,
//!     answered: u64,
//! }
//!
//! impl Handler for Curious {
//!     type Data = ();
//!     const PACKETS: bool = true; // original packets, too
//!
//!     fn open(&mut self, stream: &mut Stream<'_, ()>) {
//!         stream.set_cutoff(Direction::ServerToClient, 4);
//!     }
//!
//!     fn data(&mut self, _: &mut Stream<'_, ()>, chunk: Chunk<'_>) {
//!         self.seen.extend_from_slice(chunk.bytes);
//!     }
//!
//!     fn packet(&mut self, _: &mut Stream<'_, ()>, packet: StreamPacket<'_>) {
//!         self.packets.push(packet.number);
//!     }
//!
//!     fn close(&mut self, stream: &mut Stream<'_, ()>, _: EndReason) {
//!         self.answered = stream.stats(Direction::ServerToClient).payload_wire_bytes;
//!     }
//! }
//!
//! # fn main() -> Result<(), tidewire::Error> {
//! # let capture: &[u8] = include_bytes!("../tests/corpus/hello/hello.pcap");
//! let outcome = Capture::reader(capture).run_with(Curious::default())?;
//! let curious = outcome.handler();
//! assert_eq!(curious.seen, b"hellogood");
//! assert_eq!(curious.packets, [1, 2, 3, 4, 5, 6, 7, 8]);
//! assert_eq!(curious.answered, 8); // "good day"
//! # Ok(())
//! # }
//! ```
//!
//! # Settings
//!
//! [`Capture`] has a method for each common setting; [`Capture::configure`] reaches every setting of [`Config`], each
//! documented with its unit and default. Cutoffs for all streams and for a class of streams:
//!
#![cfg_attr(feature = "filter", doc = "```")]
#![cfg_attr(not(feature = "filter"), doc = "```ignore")]
//! # use tidewire::{Capture, Handler, StreamClass};
//! # struct Quiet;
//! # impl Handler for Quiet { type Data = (); }
//! # fn main() -> Result<(), tidewire::Error> {
//! # let capture: &[u8] = include_bytes!("../tests/corpus/hello/hello.pcap");
//! let outcome = Capture::reader(capture)
//!     .filter("tcp")
//!     .class(StreamClass::matching("port 80").cutoff(4))
//!     .cutoff(1 << 20)
//!     .run_with(Quiet)?;
//! assert_eq!(outcome.ledger.delivered_bytes, 4 + 4);
//! # Ok(())
//! # }
//! ```
//!
//! # Limits
//!
//! Everything that grows with the traffic has a limit in [`Config`]; [`Capture::memory`] bounds their sum (default 1 GiB,
//! all workers together). Reaching a limit is counted, and reported as the stream's [`EndReason`] or a gap's [`GapCause`].
//! [`WORKERS_MAX`], [`CHUNK_BYTES_MAX`], [`APPLICATIONS_MAX`] and [`STREAM_BYTES_KEPT`] are limits of this crate.
//!
//! # Errors
//!
//! [`Error`] says why a run is impossible: an input, an expression, an interface, or a setting ([`SettingError`]).
//! Damage in an input ends that input only and is listed in [`Outcome::input_errors`]. [`Error::hint`] is advice for
//! people. Every packet has exactly one [`Fate`], which the [`Ledger`] of the [`Outcome`] counts.
//!
//! # Several applications
//!
//! [`Applications`] holds several handlers, each with its own filter, cutoffs, chunks and priorities. It is a handler
//! itself: packets are read, tracked and reassembled once for all applications.
//!
//! # Several workers
//!
//! [`Capture::workers`] and [`Capture::run`]: each worker has its own handler and its share of the flows; both
//! directions of a stream belong to one worker. Workers share nothing on the packet path, and the calls for a stream do
//! not depend on the number of workers, as long as no limit of a worker is reached. [`Outcome::handlers`] returns the
//! handlers.
//!
//! ```
//! # use tidewire::{Capture, EndReason, Handler, Stream};
//! #[derive(Default)]
//! struct Count(u64);
//!
//! impl Handler for Count {
//!     type Data = ();
//!     fn close(&mut self, _: &mut Stream<'_, ()>, _: EndReason) {
//!         self.0 += 1;
//!     }
//! }
//!
//! # fn main() -> Result<(), tidewire::Error> {
//! # let capture: &[u8] = include_bytes!("../tests/corpus/hello/hello.pcap");
//! let outcome = Capture::reader(capture).workers(2).run(|_worker| Count::default())?;
//! assert_eq!(outcome.handlers.iter().map(|count| count.0).sum::<u64>(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! | feature | adds | needs |
//! |---|---|---|
//! | `files` (on by default) | `Capture::files`, `reader`, `source` | |
//! | `zstd` (on by default) | files in Zstandard | a C compiler |
//! | `filter` | `Capture::filter`, `class`, the same of [`Application`] | the system's libpcap |
//! | `live` | `Capture::live` and the module `live`; includes `filter` | Linux |
//! | `protocols` | `Capture::transactions` and the module `protocols` | |
//! | `certificates` | fields of X.509 certificates in transactions | |
//! | `quic` | transactions of QUIC | a C compiler |
//! | `serde` | `Serialize` of keys, statistics, ledgers, outcomes and transactions; `Deserialize` of those that are values | |
//! | `tracing` | events at control points: runs, workers, overload, interfaces, bounds | |
//!
//! A call that needs a feature that is off does not compile, and the compiler names the feature (for `serde`, the missing trait).
//!
//! # Where to go next
//!
//! [`Capture`] for all settings of a run, [`Handler`] for all calls, [`Stream`] for what a call can read and control,
//! [`Config`] for every limit, [`Ledger`] and [`Fate`] for the counts. `docs/library.md` in the repository is a guide with
//! the same examples. Headers, readers, filters and interfaces are crates that can be used alone: `tidewire-wire`,
//! `tidewire-files`, `tidewire-filter`, `tidewire-live`.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(all(feature = "files", feature = "filter", feature = "live")),
    allow(dead_code, reason = "each feature uses more of each part")
)]

#[cfg(not(any(feature = "files", feature = "live")))]
compile_error!("nothing to capture from: switch on the feature `files` or `live` of tidewire, or both");

mod applications;
mod capture;
mod classes;
mod closures;
mod community;
mod control;
mod error;
mod explained;
#[cfg(feature = "files")]
mod files;
mod filter;
mod finished;
mod frames;
#[cfg(feature = "live")]
pub mod live;
#[cfg(not(all(feature = "files", feature = "filter", feature = "live", feature = "protocols")))]
mod missing;
mod outcome;
mod packet;
#[cfg(feature = "protocols")]
pub mod protocols;
#[cfg(feature = "live")]
mod report;
#[cfg(feature = "serde")]
mod serial;
mod setup;
mod timed;
mod trace;
mod worker;

pub use applications::{APPLICATIONS_MAX, Application, ApplicationId, Applications, Delivered};
pub use capture::Capture;
pub use classes::StreamClass;
pub use closures::Closures;
pub use community::community_id;
pub use control::{Progress, Stop};
pub use error::{Error, SettingError, WORKERS_MAX};
pub use explained::{Explanation, StreamEvidence};
#[cfg(feature = "files")]
pub use files::{Files, Packets, Streams};
pub use finished::{FinishedStream, STREAM_BYTES_KEPT};
pub use frames::FrameHandler;
#[cfg(feature = "live")]
pub use live::{LIVE_CLOSED, LIVE_HOLE_TIMEOUT, LIVE_INACTIVITY, LIVE_REPORT};
pub use outcome::Outcome;
pub use packet::Packet;
pub use setup::{Duplicates, Input};
#[doc(hidden)]
pub use tidewire_core::prefetch;
pub use tidewire_core::{
    Anomaly, AnomalyKind, Batch, CHUNK_BYTES_MAX, ChecksumMode, ChecksumStatus, Chunk, Class, Classify, ClientBy,
    Config, ConfigError, Conflict, Counted, Datagram, DefragPolicy, Direction, DirectionCutoff, DirectionStats,
    DuplicateRule, EndReason, Endpoint, Engine, Fate, FlowKey, Frame, Gap, GapCause, HISTORY_NEAR_BYTES,
    HISTORY_WINDOW_BYTES, Handler, History, HistoryAge, KeyIds, Ledger, LinkAddresses, MEMORY_BYTES_DEFAULT, Memory,
    MemoryError, Mode, Mptcp, Outside, OutsidePacket, PacketChecksum, PacketLoss, Parts, Pattern, Rejection, Share,
    Shunt, Stream, StreamPacket, TargetPolicies, TcpPolicy, TcpState, Timestamp, TimestampOutOfRange, Unfinished,
    UnknownKeyId, UnknownPolicy, Vlans, WORKER_MEMORY_BYTES_MIN, protocol_name,
    wire::{
        Checksum, EthernetHeader, Headers, IcmpHeader, Ipv4Header, Ipv6Header, LinkType, Malformation, OtherLink,
        SctpHeader, Settings as WireSettings, Slicing, TcpHeader, TcpOption, TcpOptions, Tunnel, TunnelKind, UdpHeader,
        VlanTag, VlanTags, ip_protocol, legible, tcp_flag,
    },
};
#[cfg(feature = "files")]
pub use tidewire_files::{Block, BlockFull, CaptureLoss, Damage, Error as FileError, FrameCounter, Source, Supplement};
#[cfg(feature = "filter")]
pub use tidewire_filter::Error as FilterError;
pub use timed::{Clocked, Timed};

/// The examples of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
