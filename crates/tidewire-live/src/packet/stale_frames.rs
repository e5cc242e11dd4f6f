//! Filters frames that were in a ring when its filter or direction was replaced.

use tidewire_filter::{Facts, Instruction, Program, matches};
use tidewire_wire::LinkType;

use crate::{
    Error, TrafficDirection,
    sys::packet::{Block, Blocks, Header},
};

/// `PACKET_OUTGOING`
const OUTGOING: u8 = 4;
/// `ETH_P_8021Q`, where the kernel does not say which tag it took out.
pub(super) const VLAN_TPID: u16 = 0x8100;

/// The filter for frames that the old filter may have accepted. Filtering twice is harmless.
#[derive(Debug, Default)]
pub(super) struct StaleFrames {
    program: Option<Program>,
    direction: TrafficDirection,
    /// Blocks that may still hold such frames.
    blocks: u32,
}

impl StaleFrames {
    /// The filter was replaced, in a ring of so many blocks.
    pub fn set_filter(&mut self, program: Option<&[Instruction]>, blocks: u32) -> Result<(), Error> {
        self.program = program.map(tidewire_filter::check).transpose()?;
        self.blocks = blocks + 1;
        Ok(())
    }

    /// The direction was.
    pub fn set_direction(&mut self, direction: TrafficDirection, blocks: u32) {
        (self.direction, self.blocks) = (direction, blocks + 1);
    }

    /// Another block begins.
    #[inline]
    pub fn begin_block(&mut self) {
        self.blocks = self.blocks.saturating_sub(1);
    }

    #[inline]
    pub fn is_over(&self) -> bool {
        self.blocks == 0
    }

    /// Whether a frame is wanted that lies in its block without the tag that the kernel took out.
    #[cold]
    pub fn takes(&self, blocks: &Blocks, block: &Block, at: u32, header: &Header, link: LinkType) -> bool {
        let Some(address) = blocks.address(block, at) else { return true };
        let tpid = match header.tp_status & libc::TP_STATUS_VLAN_TPID_VALID {
            0 => VLAN_TPID,
            _ => header.hv1.tp_vlan_tpid,
        };
        let has_tag = header.tp_status & libc::TP_STATUS_VLAN_VALID != 0;
        let facts = Facts {
            protocol: u16::from_be(address.sll_protocol),
            packet_type: address.sll_pkttype,
            interface: u32::try_from(address.sll_ifindex).unwrap_or(0),
            tag: has_tag.then_some((tpid, header.hv1.tp_vlan_tci as u16)),
        };
        let is_side = match self.direction {
            TrafficDirection::Both => true,
            TrafficDirection::In => facts.packet_type != OUTGOING,
            TrafficDirection::Out => facts.packet_type == OUTGOING,
        };
        let Some(program) = self.program.as_ref().filter(|_| is_side) else { return is_side };
        let Some(bytes) = blocks.bytes(block, at, header) else { return true };
        let answered = program.answered(&facts);
        match (facts.tag, bytes.split_at_checked(12)) {
            (Some((tpid, tci)), Some((addresses, rest))) if link == LinkType::ETHERNET && !program.knows_tags() => {
                let whole = [addresses, &tpid.to_be_bytes(), &tci.to_be_bytes(), rest].concat();
                matches(&answered, &whole, header.tp_len.saturating_add(4))
            }
            _ => matches(&answered, bytes, header.tp_len),
        }
    }
}
