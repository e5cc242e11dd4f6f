//! Programs for the kernel's machines: an eBPF assembler, and translation of classic BPF to eBPF.
//!
//! Pure: programs are built here, not loaded. An [`Assembler`] takes instructions and labels and returns a [`Code`],
//! whose maps get their descriptors when it is loaded. [`classic`] checks programs of classic BPF, to which filter
//! expressions are compiled, and [`translate()`] turns them into eBPF, for packet sockets and for XDP.
//!
//! ```
//! use tidewire_ebpf::{FilterEnding, FilterHook, classic, translate};
//!
//! // ldh [12]; jeq #0x800, 0, 1; ret #-1; ret #0: IPv4 over Ethernet.
//! let program = [(0x28, 0, 0, 12), (0x15, 0, 1, 0x800), (0x06, 0, 0, u32::MAX), (0x06, 0, 0, 0)];
//! let program = program.map(|(code, jump_true, jump_false, k)| classic::Instruction { code, jump_true, jump_false, k });
//! let program = classic::Program::new(&program)?;
//! let code = translate(&program, FilterHook::Socket, FilterEnding::Return { matched: u32::MAX, refused: 0 })?;
//! assert_eq!(code.len() % 8, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod assembler;
pub mod classic;
mod hook;
pub mod instruction;
mod load;
mod translate;

pub use assembler::{Assembler, Code, JumpTooLong, Label, Value};
pub use hook::{FilterEnding, FilterHook};
pub use instruction::Instruction;
pub use translate::{TranslateError, translate};

/// The examples of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
