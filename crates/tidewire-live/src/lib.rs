//! Packets from Linux interfaces: rings shared with the kernel, eBPF programs, privileges.
//!
//! A [`Ring`] lists the frames that the kernel wrote into its memory. A [`Worker`] polls its rings fairly, merges their frames
//! by time and delivers them as one [`Batch`](tidewire_wire::Batch) that borrows the rings' memory. [`open()`] makes both from
//! [`LiveSettings`].
//!
//! # From an interface to the engine
//!
//! ```text
//!  interface ─► XDP program (--tap) ── filter, flow table, shed, steer ─┬─► AF_XDP socket of a worker ─┐
//!      │          or none            counted there: cut, shed, refused  └─► the stack                  │
//!      └─► packet sockets' hook ─► fan-out ─► socket filter (--host: the same programs) ─► TPACKET_V3 ─┤
//!                                                                                                      ▼
//!   Worker (worker.rs): polls its rings in turn, merges by time, numbers ─► Batch over the worker's arena
//!         │ one thread, one engine, Share::ALL                                                         │
//!         ▼                                                                                            ▼
//!   Shunt: cut, counted, retire ◄─────────── flow tables, mapped by both sides ◄───────────────── Engine
//! ```
//!
//! | folder | what |
//! |---|---|
//! | `open/` | opens what the settings ask for: rings, groups, programs |
//! | `filter/` | filters on their way into the kernel |
//! | `error/` | errors as enums, and hints for where they are printed |
//! | `packet/` | packet sockets (TPACKET_V3): rings, fan-out groups, socket filters |
//! | `xsk/` | AF_XDP: UMEM, rings, attachment to the interface |
//! | `kernel/` | programs in the kernel and the flow tables shared with them |
//! | `worker/` | merges the rings of one worker by time |
//! | `privilege/` | what is needed, and how it is given up |
//! | `sys/` | system calls without a safe wrapper; the only `unsafe` of the crate |
//!
//! **Rings** (`ring.rs`). A `Ring` notes frames as offsets, and gets their memory back in the same order when the engine is done with
//! them. All rings of a worker lie in one range of addresses (`sys/arena.rs`), so that a batch of frames of several rings is one borrowed
//! slice. The arena gives each ring its own place, and knows for every 64 bytes whether the kernel has handed them over: a batch reads
//! through `Memory` (`tidewire-wire/src/batch.rs`), which gives access to nothing else. A block of a packet ring is a value that owns its release, so
//! that no stale block can be read. `packet/` hands over blocks of 256 KiB when they are full or 5 ms old, and puts VLAN tags that the
//! kernel removed back in place. `xsk/` has one UMEM and fill ring for all sockets on a queue; only frames of several
//! buffers are copied in user space.
//!
//! **Interfaces that change** (`state.rs`): states, changes, how one follows from the other, and the words for them, once. `watch.rs` hears of them from
//! the kernel, `session.rs` (reports) and `split.rs` look; docs/live.md has the table.
//!
//! **Workers** (`worker.rs`, `worker/ring_merge.rs`). In each round every ring may add 512 frames, so that a busy interface does not starve a
//! quiet one. Frames are passed on in order of time, up to the time that every ring has reached; a silent ring delays the others by 10 ms at
//! most. Frames that are late all the same are counted. Numbers of several workers interleave, so that ids stay unique.
//!
//! **No frame before its filter** (`packet/group.rs`). Sockets are opened without a protocol, get their ring and a filter that accepts
//! nothing, are bound and join their group; only when every member is there are the real filters attached.
//!
//! **Programs in the kernel** (`kernel/`, `bpf/capture.bpf.c`). One source is compiled twice: for XDP, and as a socket filter for the
//! host's own traffic, which must reach the stack unchanged. Programs call each other through a program array: entry, the user's
//! expression (libpcap's program translated to eBPF, `tidewire-ebpf`), the flow table, delivery, steering. Each packet is counted at
//! exactly one final place, on its own processor. The flow tables use open addressing in array maps, with key and counts of a
//! direction in one cache line (two for IPv6). User space maps them too, so that cutting, reading and ending an entry need no system
//! call. Counting and ending race safely; `kernel/table.rs` states what is guaranteed.
//!
//! **The engine's side** (`tidewire-core/src/shunt.rs`, `engine/shunted.rs`). When a direction has reached its cutoff, the engine offers it to
//! the `Shunt`. What is counted there is added to the stream's figures when a FIN or RST comes, when the stream seems to have timed out,
//! and when it ends; the counted sequence numbers show how far the direction went. A direction whose other side is no longer seen is not doubted
//! for acknowledgments and windows. With cutoff 0 for everything the programs create entries themselves, after the first packet of a
//! direction that is no SYN. Where the tables are crowded, entries of silent streams are retired early, without losing counts. Hardware rules of a
//! network card would implement the trait of `ntuple.rs`.
//!
//! **Several applications** (`tidewire/src/applications/`). A handler that hosts others, each with its own filter, cutoff, chunks and classes. The
//! engine runs once with the union of their needs; each application gets the calls that it would get alone.
//!
//! **Privileges** (`privilege/`). A missing privilege is named with the command that grants it. Once everything is open, the command gives up
//! its capabilities, can gain no new ones, can read and write only what it needs (Landlock), and is limited to a list of system calls
//! (seccomp).
//!
//! **Generator** (`tidewire-gen`). Flows are a few bytes each; frames are made from templates, in the kernel (a program that redirects frames
//! of `BPF_PROG_TEST_RUN` to the interface) or in user space, and numbered so that a receiver can say which are missing.
#![deny(unsafe_code)]

#[cfg(not(target_os = "linux"))]
compile_error!("tidewire-live captures from interfaces of Linux");

mod any_limits;
mod counts;
mod error;
mod filter;
mod filter_spec;
mod interface;
pub mod kernel;
mod link_message;
mod memory;
pub mod ntuple;
mod open;
pub mod packet;
pub mod privilege;
mod ring;
mod session;
mod settings;
pub mod split;
mod state;
#[doc(hidden)]
pub mod sys;
mod watch;
mod worker;
pub mod xsk;

pub use counts::InterfaceCounts;
pub use error::{Error, InterfaceProblem, KernelError, Operation, SettingError, WithHint};
pub use interface::Interface;
pub use open::open;
pub use ring::{Ring, RingCounts};
pub use session::{CaptureMethod, InterfaceReport, Live, Monitor, TICK};
pub use settings::{
    BLOCK_TIMEOUT_MAX, Fanout, FanoutMode, InKernel, KernelNeeds, LiveEngine, LiveSettings, Membership, Role, Sharing,
    TimestampSource, TrafficDirection,
};
pub use state::{Change, InterfaceEvent, InterfaceState, Purpose};
pub use tidewire_filter::Instruction as ClassicInstruction;
pub use tidewire_steer as steer;
pub use watch::Watch;
pub use worker::Worker;

/// The examples of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
