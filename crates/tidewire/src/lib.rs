//! Transport streams from packets.
//!
//! Tidewire reads captures, puts fragments together, follows connections and hands out what a receiving host would
//! have got: the bytes of each direction in order, what is missing and why, and what was odd. The unit is the stream,
//! not the packet.
//!
//! # A first program
//!
//! Streams that have ended, one after the other ([`Capture::streams`], and [`Capture::for_each_stream`] with a closure):
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
//! Closures that are told of bytes as they come are enough for a few lines, too ([`Closures`]):
//!
//! ```
//! use tidewire::Capture;
//!
//! # fn main() -> Result<(), tidewire::Error> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/hello/hello.pcap");
//! let mut said = Vec::new();
//! Capture::file(path).on_data(|stream, chunk| said.push((stream.key().to_string(), chunk.bytes.to_vec()))).run()?;
//! assert_eq!(said[0].1, b"hello");
//! # Ok(())
//! # }
//! ```
//!
//! A [`Handler`] is told when a stream opens, of its bytes, of its gaps, and when it ends. [`Capture`] reads packets
//! and calls it.
//!
//! ```
//! use tidewire::{Capture, Chunk, EndReason, Handler, Stream};
//!
//! #[derive(Default)]
//! struct Conversations(Vec<String>);
//!
//! impl Handler for Conversations {
//!     type Data = [Vec<u8>; 2]; // for each stream: what either side said
//!
//!     fn data(&mut self, stream: &mut Stream<'_, Self::Data>, chunk: Chunk<'_>) {
//!         stream.data()[chunk.direction as usize].extend_from_slice(chunk.bytes);
//!     }
//!
//!     fn close(&mut self, stream: &mut Stream<'_, Self::Data>, reason: EndReason) {
//!         let [question, answer] = std::mem::take(stream.data());
//!         let said = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
//!         self.0.push(format!("{} | {} | {}", said(question), said(answer), reason.name()));
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
//! # What a handler can rely on
//!
//! - Within a direction [`Handler::data`] and [`Handler::gap`] together cover the stream in order, without holes:
//!   offsets only grow. In-order bytes are borrowed from the reader's buffer and are valid until the call returns.
//! - [`Handler::Data`] is the program's own state for each stream; it lives in the flow table and is dropped with it.
//! - Within a call a program may change the stream: [`Stream::set_cutoff`], [`Stream::set_priority`],
//!   [`Stream::discard`], [`Stream::keep_chunk`].
//! - Original packets in the order of capture come with [`Handler::PACKETS`], rebuilt and rejected datagrams with
//!   [`Handler::DATAGRAMS`]. UDP and other protocols are streams too; each datagram is one chunk.
//! - Time is the packets' own: the same input gives the same calls.
//!
//! # Changing a stream from within
//!
//! A program that has seen enough says so; a cutoff is exact to the byte, and the figures go on beyond it.
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
//! [`Capture`] has a method for what is set often; [`Capture::configure`] reaches every field of [`Config`], each
//! documented with its unit and default. Cutoffs, also by class of streams:
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
//! # Several applications
//!
//! [`Applications`] holds several handlers, each with a filter, cutoffs, chunks and priorities of its own, and is a
//! handler itself: packets are read, tracked and reassembled once for all of them.
//!
//! # Several workers
//!
//! [`Capture::workers`] and [`Capture::run`]: each worker has a handler of its own and keeps its share of the flows,
//! both directions of a conversation always with the same one. Nothing is shared while packets flow, and the calls for
//! a stream do not depend on the number of workers, as long as no bound of a worker is reached. The handlers come back
//! in [`Outcome::handlers`].
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
//! Each is a part of [`Capture`], and of the crates that are built:
//!
//! | feature | what | needs |
//! |---|---|---|
//! | `files` (on by default) | `Capture::files`, `reader`, `source` | |
//! | `zstd` (on by default) | files in Zstandard | a C compiler |
//! | `filter` | `Capture::filter`, `class`, the same of [`Application`] | the system's libpcap |
//! | `live` | `Capture::live` and the module `live`; includes `filter` | Linux |
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
#[cfg(feature = "files")]
mod files;
mod filter;
mod finished;
#[cfg(feature = "live")]
pub mod live;
mod outcome;
mod setup;
mod timed;
mod worker;

pub use applications::{APPLICATIONS_MAX, Application, Applications, Delivered, Id};
pub use capture::Capture;
pub use classes::StreamClass;
pub use closures::Closures;
pub use community::community_id;
pub use control::{Progress, Stop};
pub use error::{CHUNK_BYTES_MAX, Error, SettingError, WORKERS_MAX};
#[cfg(feature = "files")]
pub use files::{Files, Streams};
pub use finished::{FinishedStream, STREAM_BYTES_KEPT};
#[cfg(feature = "live")]
pub use live::{LIVE_CLOSED, LIVE_HOLE_TIMEOUT, LIVE_INACTIVITY, LIVE_REPORT};
pub use outcome::Outcome;
pub use setup::Input;
pub use tidewire_core::{
    Anomaly, AnomalyKind, Batch, ChecksumMode, ChecksumStatus, Chunk, Class, Classify, Config, Conflict, Datagram,
    DefragPolicy, Deliver, Direction, DirectionCutoff, DirectionStats, EndReason, Endpoint, Engine, Fate, FlowKey,
    Frame, Gap, GapCause, Handler, KeyIds, Ledger, LinkAddresses, MemoryError, Mode, Share, Stream, StreamPacket,
    TargetPolicies, TcpPolicy, TcpState, UnknownKeyId, UnknownPolicy,
    defrag::Rejection,
    wire::{LinkType, Malformation, OtherLink, Settings as WireSettings, Tunnel, TunnelKind, legible},
};
#[cfg(feature = "files")]
pub use tidewire_files::{Block, Damage, Error as FileError, Source};
pub use timed::{Clocked, Timed};

/// The examples of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
