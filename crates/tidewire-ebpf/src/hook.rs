//! Hooks of translated filters, and what they share.

use crate::instruction::register::{R6, R7, R8};

/// The type of maps: their descriptors.
pub(crate) type Assembler = crate::Assembler<i32>;

/// Where a filter runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterHook {
    /// The filter of a packet socket, or a program that it calls.
    Socket,
    /// XDP, for frames of any number of buffers (Linux 5.18). A tag that the card removed from the frame is not
    /// visible.
    Xdp,
}

/// How a filter ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterEnding {
    /// Returns a number: how many bytes to accept for sockets (`u32::MAX` and 0), an action for XDP.
    Return {
        /// For frames that match.
        matched: u32,
        /// For other frames.
        refused: u32,
    },
    /// Continues in another program.
    Jump {
        /// The descriptor of a map of programs (`BPF_MAP_TYPE_PROG_ARRAY`).
        programs: i32,
        /// Index of the program for frames that match.
        matched: u32,
        /// Index of the program for other frames.
        refused: u32,
        /// Return value if there is no program at the index.
        otherwise: u32,
    },
}

/// The registers of the classic machine, which calls preserve, and the program's argument.
pub(crate) const CONTEXT: u8 = R6;
pub(crate) const A: u8 = R7;
pub(crate) const X: u8 = R8;
