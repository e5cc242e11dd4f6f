//! Packet filters: expressions of libpcap, and an interpreter for classic BPF programs.
//!
//! An expression ([`Filter`], feature `libpcap`) is compiled by libpcap's own compiler, because no other implementation
//! reproduces its language exactly. The programs run in our interpreter ([`matches()`]): safe code, which knows the
//! length on the wire. [`Filter::ebpf`] and [`translate`] make the same programs ready for the kernel.
//!
//! Without the feature, programs of classic BPF that were compiled elsewhere can be checked and run.
#![cfg_attr(
    feature = "libpcap",
    doc = r#"
```
use tidewire_filter::Filter;
use tidewire_wire::LinkType;

let mut filter = Filter::new("udp port 53")?;
let frame = [&[0; 12][..], &[8, 0, 0x45], &[0; 8], &[17], &[0; 12], &[0, 53]].concat();
assert!(filter.matches(LinkType::ETHERNET, &frame, frame.len() as u32)?);
# Ok::<(), tidewire_filter::Error>(())
```
"#
)]
#![forbid(unsafe_code)]

mod error;
#[cfg(feature = "libpcap")]
mod expression;
mod fragments;
#[cfg(feature = "libpcap")]
mod jumbo;
mod machine;
#[cfg(all(test, feature = "libpcap"))]
mod tests;

pub use error::Error;
#[cfg(feature = "libpcap")]
pub use expression::{Filter, Unseen};
pub use fragments::Fragments;
pub use machine::{matches, returned};
pub use tidewire_ebpf::{
    FilterEnding, FilterHook,
    classic::{Facts, Instruction, Program},
};

/// Checks a program that was made elsewhere, for frames of interfaces: it may ask for what the kernel knows of them beside
/// their bytes (`SKF_AD_PKTTYPE`, `…_IFINDEX`, `…_PROTOCOL`, `…_VLAN_TAG` and the like).
///
/// # Errors
/// [`Error::Program`] if the program is invalid.
pub fn check(program: &[Instruction]) -> Result<Program, Error> {
    Ok(Program::live(program)?)
}

/// The same as a program for the kernel, as `bpf(BPF_PROG_LOAD)` takes it.
///
/// # Errors
/// [`Error::Program`] if the program is invalid, [`Error::Kernel`] if it cannot run in the kernel: it jumps back.
pub fn translate(program: &[Instruction], hook: FilterHook, ending: FilterEnding) -> Result<Vec<u8>, Error> {
    Ok(tidewire_ebpf::translate(&check(program)?, hook, ending)?)
}

/// The examples of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
