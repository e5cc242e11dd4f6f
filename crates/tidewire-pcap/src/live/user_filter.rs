//! A filter that packets are held against here.
//!
//! JUSTIFICATION: the system's library runs it.

use std::ffi::c_uint;

use tidewire_wire::Memory;

use super::order::{Order, Packet};
use crate::{abi::types::BpfInstruction, system::system};

/// A filter that packets are held against here, in the words of the ABI.
pub(super) struct UserFilter {
    pub(super) program: Vec<BpfInstruction>,
    /// For all packets; else for those that were gathered when it was set.
    pub(super) stays: bool,
    /// The last batch that it is for, where a thread gathers them.
    pub(super) until: u64,
}

impl UserFilter {
    /// Leaves out what does not pass; how many packets.
    pub(super) fn apply(&self, memory: Memory<'_>, packets: &[Packet], order: &mut Order) -> usize {
        order.retain(packets, |packet| {
            let bytes = memory.get(packet.at as usize, packet.captured_bytes as usize).unwrap_or_default();
            self.passes(bytes, packet.wire_bytes)
        })
    }

    /// Whether a frame passes; the program was checked before.
    fn passes(&self, bytes: &[u8], wire: u32) -> bool {
        let Some(function) = system().bpf_filter else { return true };
        // SAFETY: the program was validated, ends, and reads inside of the bytes given.
        unsafe { function(self.program.as_ptr(), bytes.as_ptr(), wire, bytes.len() as c_uint) != 0 }
    }
}
