//! A filter that runs in the process.
//!
//! JUSTIFICATION: the system's library runs it.

use std::ffi::c_uint;

use tidewire_wire::Memory;

use super::order::{Order, Packet};
use crate::{system::system, types::BpfInstruction};

/// A filter that runs in the process, in the format of the ABI.
pub(super) struct UserFilter {
    pub(super) program: Vec<BpfInstruction>,
    /// Whether it applies to all packets; else to those that had been collected when it was set.
    pub(super) stays: bool,
    /// With a gather thread: the last batch that it applies to.
    pub(super) until: u64,
}

impl UserFilter {
    /// Removes packets that do not match; returns their number.
    pub(super) fn apply(&self, memory: Memory<'_>, packets: &[Packet], order: &mut Order) -> usize {
        order.retain(packets, |packet| {
            let bytes = memory.get(packet.at as usize, packet.captured_bytes as usize).unwrap_or_default();
            self.passes(bytes, packet.wire_bytes)
        })
    }

    /// Whether a frame matches; the program was validated before.
    fn passes(&self, bytes: &[u8], wire: u32) -> bool {
        let Some(function) = system().bpf_filter else { return true };
        // SAFETY: the program was validated, ends, and reads inside of the bytes given.
        unsafe { function(self.program.as_ptr(), bytes.as_ptr(), wire, bytes.len() as c_uint) != 0 }
    }
}
