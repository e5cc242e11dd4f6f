//! Which worker a packet belongs to: the steering language, its evaluator, and its code generator for the kernel.
//!
//! A program is text ([`Program::parse`]), checked and compiled ([`Compiled::new`]) to operations that only jump forwards.
//! [`Compiled::evaluate`] runs them over a packet; [`Compiled::code`] translates the same operations to eBPF, for the
//! fan-out of packet sockets and for XDP. The two agree packet by packet.
//!
//! The language is that of PFQ, which the pcap fan-out paper uses; [`BUILTINS`](language::BUILTINS) defines each name.
//! Guarantees beyond the original: both directions of a conversation go to one worker unless the name says otherwise,
//! IPv6 works wherever IPv4 does, VLAN tags and configured tunnels are skipped, and ports are never read from a
//! fragment that has none.
//!
//! ```
//! use tidewire_steer::{Compiled, Packet, Program, Settings, State};
//! use tidewire_wire::LinkType;
//!
//! let program = Program::parse("when (has_port 53) (steer_to 0) >-> steer_p2p")?;
//! let steering = Compiled::new(&program, &Settings::default())?;
//! let verdict = steering.evaluate(&Packet::new(LinkType::ETHERNET, &[0; 60]), &mut State::default());
//! assert_eq!(verdict.first(4), None, "not IP: steer_p2p drops it");
//! # Ok::<(), tidewire_steer::Error>(())
//! ```
//!
//! The operations define the meaning. The evaluator and the kernel's programs both interpret the same list, so only a
//! mistake in one of them can make them differ, and tests compare them: with an interpreter of eBPF in the tests, with
//! the kernel by `BPF_PROG_TEST_RUN`, and with frames that pass through fan-out groups. What `walk/` finds is compared
//! with `tidewire-wire`'s decoder, which was written independently.
//!
//! ```text
//!  text ─► lexer ─► parser ─► check (names, types) ─► Program
//!                                                       │  lower/: the steps, behind walk/: the headers
//!                               operations (ir.rs): 64-bit slots, loads, forward jumps
//!                                     │                                │
//!                      evaluate.rs: runs them                bpf/: translates them to eBPF
//! ```
#![forbid(unsafe_code)]

pub mod bpf;
mod compiled;
mod error;
mod evaluate;
mod ir;
pub mod language;
mod lower;
mod settings;
mod state;
mod verdict;
mod walk;

pub use compiled::{Compiled, Engine};
pub use error::{Error, Position};
pub use evaluate::{Found, Packet};
pub use ir::HEADERS_BYTES_MAX;
pub use language::Program;
pub use settings::{Fragments, Settings, Unsteered};
pub use state::{DATAGRAMS_MAX, STATE_BYTES, State};
pub use verdict::{Target, Verdict};
pub use walk::TUNNELS_MAX;

/// The examples of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
