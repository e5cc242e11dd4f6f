//! Where translated filters run, and what is the same in all of them.

use crate::instruction::register::{R6, R7, R8};

/// Maps are named by their descriptors.
pub(crate) type Assembler = crate::Assembler<i32>;

/// Where a filter runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterHook {
    /// A packet socket's filter, or what it calls.
    Socket,
    /// XDP, for frames of any number of buffers (Linux 5.18). A tag that the card took out of the frame is not seen.
    Xdp,
}

/// How a filter ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterEnding {
    /// It returns a number: how many bytes to take for sockets (`u32::MAX` and 0), an action for XDP.
    Return {
        /// For frames that match.
        matched: u32,
        /// For the others.
        refused: u32,
    },
    /// It goes on in another program.
    Jump {
        /// The descriptor of a map of programs (`BPF_MAP_TYPE_PROG_ARRAY`).
        programs: i32,
        /// The place of the program for frames that match.
        matched: u32,
        /// The place of the one for the others.
        refused: u32,
        /// What is returned where no program is there.
        otherwise: u32,
    },
}

/// The registers of the classic machine, which stay in calls, and the program's argument.
pub(crate) const CONTEXT: u8 = R6;
pub(crate) const A: u8 = R7;
pub(crate) const X: u8 = R8;
