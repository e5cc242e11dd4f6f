//! pcapng: sections of blocks, each with its byte order and its interfaces.
//!
//! Source: draft-ietf-opsawg-pcapng. Blocks that hold no packet and describe no interface are skipped: systemd journal
//! entries, custom and unknown ones. Of statistics only losses are read. Names and decryption secrets are passed on as they are.

mod comments;
mod interface;
mod losses;

pub(crate) use crate::signature::is_pcapng as recognised;
use crate::{
    described::described,
    encode::Interface as Description,
    limits::{INTERFACES_MAX, PCAPNG_BLOCK_BYTES_MAX, captured_bytes_max},
    pcap::too_long,
    record_cursor::{Count, RawRecord, Walk, u16_at, u32_at},
    signature::{SECTION_HEADER, begins_pcap, byte_order, is_magic},
    supplement::{NAMES, SECRETS, Supplement, Supplements, supplement},
};
use comments::comments;
use interface::Interface;
use losses::Losses;
pub use losses::{CaptureLoss, StatedLoss, lost_before, stated_loss};
use tidewire_wire::{Frame, PacketLoss};

const INTERFACE_DESCRIPTION: u32 = 1;
/// Obsolete; written by Wireshark until 1.2.
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
/// Fields of an enhanced packet block before the packet, in bytes.
const ENHANCED_FIXED_BYTES: usize = 20;

/// Type and two lengths: the shortest block.
const BLOCK_BYTES_MIN: u32 = 12;
/// Bytes of a packet's block beside its packet in libpcap's reckoning: header, trailer and options.
const BLOCK_OVERHEAD_BYTES: u32 = 128 << 10;

/// Where the walk over a pcapng stream stands.
#[derive(Clone, Debug)]
pub(crate) struct Pcapng {
    big_endian: bool,
    /// The interfaces of the current section.
    interfaces: Vec<Interface>,
    /// Interfaces of all sections so far.
    interfaces_seen: usize,
    block_bytes_max: u32,
    /// Interfaces that were described since they were taken.
    described: Vec<(u16, Description)>,
    /// Comments of packets since they were taken, by frame number; `None`: not requested.
    comments: Option<Vec<(u64, Vec<u8>)>>,
    /// Texts of sections, secrets and names since they were taken.
    supplements: Supplements,
    losses: Box<Losses>,
    /// Simple packets carry no time; they get that of the packet before them.
    timestamp_ns: u64,
}

/// A block whose two lengths agree.
#[derive(Clone, Copy)]
struct Block<'a> {
    /// Between the first length and the second.
    body: &'a [u8],
    /// Offset of `body` in the bytes at hand.
    at: usize,
    origin: u64,
}

impl Pcapng {
    pub(crate) fn new() -> Self {
        Self::behind(0)
    }

    /// A file behind others in one input, which had so many interfaces.
    pub(crate) fn behind(interfaces_seen: u16) -> Self {
        let interfaces_seen = usize::from(interfaces_seen);
        Self {
            big_endian: false,
            interfaces: Vec::new(),
            interfaces_seen,
            block_bytes_max: PCAPNG_BLOCK_BYTES_MAX,
            described: Vec::new(),
            comments: None,
            supplements: Supplements::default(),
            losses: Box::new(Losses::behind(interfaces_seen)),
            timestamp_ns: 0,
        }
    }

    /// Takes the whole blocks in `bytes`. `origin`: see `Pcap::walk`.
    pub(crate) fn walk(&mut self, bytes: &[u8], origin: u64, count: &mut Count, frames: &mut Vec<Frame>) -> Walk {
        let mut at = 0;
        loop {
            let Some(rest) = bytes.get(at..).filter(|rest| rest.len() >= BLOCK_BYTES_MIN as usize) else {
                return Walk::Taken(at);
            };
            let (kind, length) = match self.header(rest) {
                Ok((kind, length)) if !is_magic(kind) || !begins_pcap(rest) => (kind, length),
                Err(what) if !begins_pcap(rest) => return Walk::Damaged(at, what),
                _ => return Walk::Another(at),
            };
            let Some(block) = rest.get(..length) else { return Walk::Taken(at) };
            let trailer = u32_at(block, length - 4, self.big_endian).unwrap_or_default();
            if trailer as usize != length {
                return Walk::Damaged(
                    at,
                    format!("a block of type {kind:#x} begins with length {length} and ends with length {trailer}"),
                );
            }
            let body = block.get(8..length - 4).unwrap_or_default();
            match self.block(kind, Block { body, at: at + 8, origin }, count) {
                Ok(None) => {}
                Ok(Some(place)) => {
                    let mut frame = count.frame(place);
                    let options_at = ENHANCED_FIXED_BYTES + (place.captured_bytes as usize).next_multiple_of(4);
                    if kind == ENHANCED_PACKET && body.len() > options_at {
                        let options = body.get(options_at..).unwrap_or_default();
                        let lost = losses::of_packet(options, self.big_endian, &mut frame);
                        if lost > 0 {
                            self.note_lost(lost, &frame);
                        }
                    }
                    frames.push(frame);
                    if self.comments.is_some() {
                        self.note_comments(kind, body, frame.number);
                    }
                }
                Err(what) => return Walk::Damaged(at, what),
            }
            at += length;
        }
    }

    #[cold]
    fn note_lost(&mut self, packets: u64, frame: &Frame) {
        self.losses.packets.push(PacketLoss::before(frame, packets));
        if let Some(loss) = self.losses.interfaces.get_mut(usize::from(frame.interface)) {
            loss.between_packets = loss.between_packets.saturating_add(packets);
        }
    }

    /// Losses before packets since the last call.
    pub(crate) fn take_packet_losses(&mut self) -> Vec<PacketLoss> {
        std::mem::take(&mut self.losses.packets)
    }

    /// Interfaces of all sections so far.
    pub(crate) fn interfaces_seen(&self) -> u16 {
        // At most `INTERFACES_MAX`.
        self.interfaces_seen as u16
    }

    /// Type and length of the block that `rest` begins; a section header also sets the byte order.
    fn header(&mut self, rest: &[u8]) -> Result<(u32, usize), String> {
        let kind = u32_at(rest, 0, self.big_endian).unwrap_or_default();
        if kind == SECTION_HEADER {
            match byte_order(rest) {
                Some(Ok(big_endian)) => self.big_endian = big_endian,
                Some(Err(magic)) => return Err(format!("a section header has byte-order magic {magic:#010x}")),
                None => {}
            }
        }
        let length = u32_at(rest, 4, self.big_endian).unwrap_or_default();
        let bound = self.block_bytes_max;
        if length < BLOCK_BYTES_MIN || !length.is_multiple_of(4) || length > bound {
            return Err(format!(
                "a block of type {kind:#x} has length {length}; a multiple of 4 from {BLOCK_BYTES_MIN} to {bound} is possible"
            ));
        }
        Ok((kind, length as usize))
    }

    /// The length of the block that `rest` begins, which may be more than is there; none if too little of it is there.
    pub(crate) fn block_bytes(&mut self, rest: &[u8]) -> Result<Option<usize>, String> {
        if rest.len() < BLOCK_BYTES_MIN as usize {
            return Ok(None);
        }
        self.header(rest).map(|(_, length)| Some(length))
    }

    /// Whether a block begins a section, describes an interface, or has secrets or names: packets behind it are not to be read without it.
    pub(crate) fn describes(&self, block: &[u8]) -> bool {
        let kind = u32_at(block, 0, self.big_endian);
        matches!(kind, Some(SECTION_HEADER | INTERFACE_DESCRIPTION | SECRETS | NAMES))
    }

    fn block(&mut self, kind: u32, block: Block<'_>, count: &mut Count) -> Result<Option<RawRecord>, String> {
        match kind {
            ENHANCED_PACKET => self.enhanced(block, count).map(Some),
            SIMPLE_PACKET => self.simple(block).map(Some),
            PACKET => self.obsolete(block, count).map(Some),
            INTERFACE_DESCRIPTION => self.interface(block.body).map(|()| None),
            SECTION_HEADER => {
                self.section(block.body)?;
                self.supplement(kind, block.body);
                Ok(None)
            }
            INTERFACE_STATISTICS => {
                self.statistics(block.body);
                Ok(None)
            }
            SECRETS | NAMES => {
                self.supplement(kind, block.body);
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// A damaged one concerns no packet: it is left out.
    fn supplement(&mut self, kind: u32, body: &[u8]) {
        if let Some(supplement) = supplement(kind, body, self.big_endian) {
            self.supplements.add(&supplement);
        }
    }

    /// Texts of sections, secrets and names since the last call.
    pub(crate) fn take_supplements(&mut self) -> Vec<Supplement> {
        self.supplements.take()
    }

    fn section(&mut self, body: &[u8]) -> Result<(), String> {
        let too_short = "a section header is too short";
        let major = u16_at(body, 4, self.big_endian).ok_or(too_short)?;
        let minor = u16_at(body, 6, self.big_endian).ok_or(too_short)?;
        // 1.2 differs in nothing, and some wrote it (draft-ietf-opsawg-pcapng, 4.1).
        if major != 1 || !matches!(minor, 0 | 2) {
            return Err(format!("a section of pcapng version {major}.{minor} begins; versions 1.0 and 1.2 are read"));
        }
        // The section's length is not needed: the next section's header is a block like any other.
        self.interfaces.clear();
        Ok(())
    }

    fn interface(&mut self, body: &[u8]) -> Result<(), String> {
        if self.interfaces_seen >= INTERFACES_MAX {
            return Err(format!("the input describes more than {INTERFACES_MAX} interfaces"));
        }
        let interface = Interface::parse(body, self.big_endian, self.interfaces_seen as u16)?;
        let longest = captured_bytes_max(interface.link).saturating_add(BLOCK_OVERHEAD_BYTES);
        self.block_bytes_max = self.block_bytes_max.max(longest);
        let name = described(body, self.big_endian).map(|found| found.name).unwrap_or_default();
        self.losses.interfaces.push(CaptureLoss { interface: name, ..CaptureLoss::default() });
        self.described.extend(described(body, self.big_endian).map(|found| (interface.index, found)));
        self.interfaces_seen += 1;
        self.interfaces.push(interface);
        Ok(())
    }

    /// Statistics of an interface that is not described concern no packet: they are left out.
    fn statistics(&mut self, body: &[u8]) {
        let Some(stated) = stated_loss(body, self.big_endian) else { return };
        let interface = self.interfaces.get(stated.interface as usize);
        if let Some(loss) = interface.and_then(|interface| self.losses.interfaces.get_mut(usize::from(interface.index)))
        {
            loss.interface_dropped = stated.interface_dropped.unwrap_or(loss.interface_dropped);
            loss.system_dropped = stated.system_dropped.unwrap_or(loss.system_dropped);
        }
    }

    /// Packets that interfaces lost so far by the file's own account, by their place among all of the input.
    pub(crate) fn losses(&self) -> Vec<CaptureLoss> {
        self.losses.interfaces.iter().filter(|loss| !loss.is_none()).cloned().collect()
    }

    /// The interfaces that were described since the last call, by their place among all of the input.
    pub(crate) fn take_described(&mut self) -> Vec<(u16, Description)> {
        std::mem::take(&mut self.described)
    }

    /// Gathers comments of packets from now on.
    pub(crate) fn keep_comments(&mut self) {
        self.comments.get_or_insert_default();
    }

    /// The comments of packets since the last call, by frame number: as options in little-endian, without their end.
    pub(crate) fn take_comments(&mut self) -> Vec<(u64, Vec<u8>)> {
        self.comments.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn note_comments(&mut self, kind: u32, body: &[u8], number: u64) {
        if !matches!(kind, ENHANCED_PACKET | PACKET) {
            return;
        }
        // Both have the captured length there.
        let found = comments(body, 20, 12, self.big_endian);
        if let Some(comments) = self.comments.as_mut().filter(|_| !found.is_empty()) {
            comments.push((number, found));
        }
    }

    fn enhanced(&mut self, block: Block<'_>, count: &mut Count) -> Result<RawRecord, String> {
        let fixed = block.body.first_chunk::<20>().ok_or("an enhanced packet block is too short")?;
        let index = u32_at(fixed, 0, self.big_endian).unwrap_or_default();
        self.timed(block, index, fixed, count)
    }

    fn obsolete(&mut self, block: Block<'_>, count: &mut Count) -> Result<RawRecord, String> {
        let fixed = block.body.first_chunk::<20>().ok_or("a packet block is too short")?;
        let index = u32::from(u16_at(fixed, 0, self.big_endian).unwrap_or_default());
        self.timed(block, index, fixed, count)
    }

    /// The two packet blocks that carry a time have it and the lengths in the same places.
    fn timed(
        &mut self,
        block: Block<'_>,
        index: u32,
        fixed: &[u8; 20],
        count: &mut Count,
    ) -> Result<RawRecord, String> {
        let word = |at| u32_at(fixed, at, self.big_endian).unwrap_or_default();
        let units = u64::from(word(4)) << 32 | u64::from(word(8));
        let (captured_bytes, wire_bytes) = (word(12), word(16));
        let interface = self.interface_of(index)?;
        let own_ns = interface.nanoseconds(units);
        // As a simple packet, which has none either.
        let before_ns = Some(self.timestamp_ns).filter(|&before_ns| before_ns > 0);
        let timestamp_ns = own_ns.or(before_ns).ok_or_else(|| count.no_time())?;
        let place = interface.place(block, fixed.len(), captured_bytes, wire_bytes, timestamp_ns)?;
        if own_ns.is_none() {
            count.note_untimed();
        }
        self.timestamp_ns = timestamp_ns;
        Ok(place)
    }

    fn simple(&mut self, block: Block<'_>) -> Result<RawRecord, String> {
        let wire_bytes = u32_at(block.body, 0, self.big_endian).ok_or("a simple packet block is too short")?;
        let interface = self.interface_of(0)?;
        // The captured length is not stated: the packet's, cut at the snap length, and never more than the block has.
        let room = (block.body.len() - 4) as u32;
        let captured_bytes = wire_bytes.min(interface.snap_bytes).min(room);
        interface.place(block, 4, captured_bytes, wire_bytes, self.timestamp_ns)
    }

    fn interface_of(&self, index: u32) -> Result<&Interface, String> {
        self.interfaces.get(index as usize).ok_or_else(|| {
            let known = self.interfaces.len();
            format!("a packet names interface {index}; {known} were described in this section")
        })
    }

    /// The missing part where the file ends with `tail`, the beginning of a block.
    pub(crate) fn cut(&self, tail: &[u8]) -> String {
        if tail.len() < BLOCK_BYTES_MIN as usize {
            return format!("the file ends after {} bytes of a block", tail.len());
        }
        let word = |at| u32_at(tail, at, self.big_endian).unwrap_or_default();
        format!("the file ends after {} of the {} bytes of a block of type {:#x}", tail.len(), word(4), word(0))
    }
}

impl Interface {
    /// Where a packet of this interface lies, its fixed fields taking `fixed_bytes` of the block's body.
    fn place(
        &self,
        block: Block<'_>,
        fixed_bytes: usize,
        captured_bytes: u32,
        wire_bytes: u32,
        timestamp_ns: u64,
    ) -> Result<RawRecord, String> {
        let bound = captured_bytes_max(self.link);
        if captured_bytes > bound {
            return Err(too_long(captured_bytes, bound));
        }
        let room = block.body.len().saturating_sub(fixed_bytes);
        if captured_bytes as usize > room {
            return Err(format!("a packet claims {captured_bytes} captured bytes in a block with room for {room}"));
        }
        let at = block.at + fixed_bytes;
        let origin = if block.origin == 0 { 0 } else { block.origin + at as u64 };
        Ok(RawRecord { at, captured_bytes, wire_bytes, link: self.link, interface: self.index, timestamp_ns, origin })
    }
}
