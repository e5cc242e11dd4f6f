//! Frames that were cut before they reached the capture and have the cut length as their length on the wire: by a packet
//! broker, by a mirror, or by a program that wrote them again.

use crate::decoded::{Decoded, Kind};
use crate::malformation::Malformation::{Ipv4TotalLong, Ipv6PayloadLong, PppoeLength};
use crate::{Batch, Frame, Settings, Slicing, decode, dispatch};

/// Frames at the beginning of an input that may show how it was cut. Later ones change nothing: a sender could choose
/// their lengths after those of others were seen.
const FRAMES_EXAMINED_MAX: u64 = 4096;
/// Cut frames of the greatest length that are enough. An application that sends few such frames is no broker.
const CUT_FRAMES_MIN: u32 = 8;
/// Frames of the greatest length that are decoded, at most: the cut ones among them must be that many times as many as the
/// whole ones.
const DECODED_MAX: u32 = 64;
const CUT_TO_WHOLE_MIN: u32 = 8;
/// Interfaces that are examined; frames of others are not.
const INTERFACES_MAX: usize = 64;

/// State of the frames of an interface.
#[derive(Clone, Copy, Debug)]
struct Evidence {
    interface: u16,
    /// The greatest length so far.
    longest: u32,
    /// Frames of that length whose packet is longer than the frame, and others.
    cut: u32,
    whole: u32,
}

impl Evidence {
    /// All frames up to this length are whole, and those of this length end inside their packets.
    fn is_cut(&self) -> bool {
        self.cut >= CUT_FRAMES_MIN && self.cut >= self.whole.saturating_mul(CUT_TO_WHOLE_MIN)
    }
}

/// The frames of an input that were cut.
#[derive(Debug)]
pub struct Slices {
    slicing: Slicing,
    /// Frames that may still be examined.
    left: u64,
    interfaces: Vec<Evidence>,
}

impl Slices {
    /// Nothing is known of the input yet.
    #[must_use]
    pub fn new(slicing: Slicing) -> Self {
        let left = if slicing == Slicing::Auto { FRAMES_EXAMINED_MAX } else { 0 };
        Self { slicing, left, interfaces: Vec::new() }
    }

    /// Whether [`examine`](Self::examine) is still of use.
    #[inline]
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.left > 0
    }

    /// Examines a batch, before any of its frames is decoded: so no frame of a file's beginning is judged too early.
    #[cold]
    pub fn examine(&mut self, batch: &Batch<'_>, settings: &Settings) {
        let count = usize::try_from(self.left).unwrap_or(usize::MAX).min(batch.frames.len());
        self.left -= count as u64;
        for frame in batch.frames.iter().take(count) {
            let Some(evidence) = self.evidence(frame.interface) else { continue };
            if frame.wire_bytes > evidence.longest {
                (evidence.longest, evidence.cut, evidence.whole) = (frame.wire_bytes, 0, 0);
            }
            if frame.wire_bytes < evidence.longest || evidence.cut + evidence.whole >= DECODED_MAX {
                continue;
            }
            let decoded = decode(frame.link, batch.bytes(frame), frame.wire_bytes, settings);
            match frame.captured_bytes == frame.wire_bytes && is_longer_than_frame(&decoded) {
                true => evidence.cut += 1,
                false => evidence.whole += 1,
            }
        }
    }

    fn evidence(&mut self, interface: u16) -> Option<&mut Evidence> {
        let at = match self.interfaces.iter().position(|evidence| evidence.interface == interface) {
            Some(at) => at,
            None if self.interfaces.len() == INTERFACES_MAX => return None,
            None => {
                self.interfaces.push(Evidence { interface, longest: 0, cut: 0, whole: 0 });
                self.interfaces.len() - 1
            }
        };
        self.interfaces.get_mut(at)
    }

    /// Decodes a frame again that is malformed as its length says, if it was cut. `Some`: its length on the wire.
    #[cold]
    pub fn decode(&self, frame: &Frame, bytes: &[u8], settings: &Settings, decoded: &mut Decoded) -> Option<u32> {
        let is_cut = frame.captured_bytes == frame.wire_bytes
            && match self.slicing {
                Slicing::Never => false,
                Slicing::At(length) => frame.wire_bytes == length,
                Slicing::Auto => self.interfaces.iter().any(|evidence| {
                    evidence.interface == frame.interface && evidence.longest == frame.wire_bytes && evidence.is_cut()
                }),
            };
        if !is_cut || !is_longer_than_frame(decoded) {
            return None;
        }
        let missing_bytes = dispatch::decode_cut(frame.link, bytes, settings, decoded);
        Some(frame.wire_bytes.saturating_add(missing_bytes))
    }
}

/// Whether a packet states more bytes than its frame has.
fn is_longer_than_frame(decoded: &Decoded) -> bool {
    decoded.kind == Kind::Malformed && matches!(decoded.malformed, Some(Ipv4TotalLong | Ipv6PayloadLong | PppoeLength))
}

#[cfg(test)]
mod tests {
    use super::{CUT_FRAMES_MIN, Slices, Slicing};
    use crate::testing::{ethernet, ipv4, ipv6, join, tcp};
    use crate::{Batch, Decoded, Frame, Kind, LinkType, Settings, Timestamp, decode};

    /// Frames one after the other, each of an interface and as long as it was captured.
    fn block(frames: &[(u16, &[u8])]) -> (Vec<u8>, Vec<Frame>) {
        let mut memory = Vec::new();
        let mut found = Vec::new();
        for (interface, bytes) in frames {
            let frame = Frame::new(LinkType::ETHERNET, Timestamp::UNIX_EPOCH)
                .with_place(memory.len() as u32, bytes.len() as u32)
                .with_interface(*interface)
                .with_number(found.len() as u64 + 1);
            found.push(frame);
            memory.extend_from_slice(bytes);
        }
        (memory, found)
    }

    /// Result for each frame: its kind, and its length on the wire.
    fn judged(slicing: Slicing, frames: &[(u16, &[u8])]) -> Vec<(Kind, u32)> {
        let settings = Settings::default();
        let (memory, frames) = block(frames);
        let batch = Batch { memory: memory.as_slice().into(), frames: &frames };
        let mut slices = Slices::new(slicing);
        if slices.is_open() {
            slices.examine(&batch, &settings);
        }
        let judge = |frame: &Frame| {
            let bytes = batch.bytes(frame);
            let mut decoded = decode(frame.link, bytes, frame.wire_bytes, &settings);
            let wire_bytes = slices.decode(frame, bytes, &settings, &mut decoded);
            assert_eq!(decoded.broken_promise(bytes), None);
            (decoded.kind, wire_bytes.unwrap_or(frame.wire_bytes))
        };
        frames.iter().map(judge).collect()
    }

    fn whole(bytes: usize) -> Vec<u8> {
        ethernet(0x0800, &ipv4(6, &tcp(&vec![7; bytes])))
    }

    #[test]
    fn frames_that_end_at_one_length_were_cut() {
        let (long, small) = (whole(1000), whole(10));
        let long6 = ethernet(0x86dd, &ipv6(6, &tcp(&[7; 900])));
        let session = [0x11, 0, 0, 1, (1042_u16 >> 8) as u8, 1042_u16 as u8, 0, 0x21];
        let pppoe = ethernet(0x8864, &join(&[&session, &ipv4(6, &tcp(&[7; 1000]))]));
        let gre = ethernet(0x0800, &ipv4(47, &join(&[&[0, 0, 0x65, 0x58], &long[..90]])));
        let mut frames = vec![(0, &small[..]); 20];
        frames.extend(vec![(0, &long[..128]); CUT_FRAMES_MIN as usize]);
        frames.extend([(0, &long6[..128]), (0, &pppoe[..128]), (0, &gre[..128])]);
        let found = judged(Slicing::Auto, &frames);
        assert!(found.iter().all(|(kind, _)| *kind == Kind::Tcp), "{found:?}");
        let lengths = [long.len(), long6.len(), pppoe.len(), long.len() + 38].map(|bytes| bytes as u32);
        assert_eq!(found.iter().skip(27).map(|(_, bytes)| *bytes).collect::<Vec<_>>(), lengths);
        assert!(judged(Slicing::Never, &frames).iter().skip(20).all(|(kind, _)| *kind == Kind::Malformed));
    }

    #[test]
    fn a_sender_s_frames_stay_malformed() {
        let (long, longer) = (whole(1000), whole(1001));
        let few = vec![(0, &long[..128]); CUT_FRAMES_MIN as usize - 1];
        assert!(judged(Slicing::Auto, &few).iter().all(|(kind, _)| *kind == Kind::Malformed), "few");
        let mut beside = vec![(0, &long[..128]); 100];
        beside.push((0, &long[..]));
        assert!(judged(Slicing::Auto, &beside)[..100].iter().all(|(kind, _)| *kind == Kind::Malformed), "a longer one");
        let mut whole_ones = vec![(0, &longer[..long.len()]); 20];
        whole_ones.extend(vec![(0, &long[..]); 20]);
        let found = judged(Slicing::Auto, &whole_ones);
        assert!(found[..20].iter().all(|(kind, _)| *kind == Kind::Malformed), "whole ones of that length");
        let mut others = vec![(1, &long[..128]); 20];
        others.push((2, &long[..128]));
        assert_eq!(judged(Slicing::Auto, &others)[20].0, Kind::Malformed, "another interface");
    }

    #[test]
    fn a_stated_length_needs_no_evidence() {
        let long = whole(1000);
        let frames = [(0, &long[..]), (0, &long[..128]), (0, &long[..127])];
        let found = judged(Slicing::At(128), &frames);
        let kinds = [Kind::Tcp, Kind::Tcp, Kind::Malformed];
        assert_eq!(found.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), kinds);
        let header = judged(Slicing::At(50), &[(0, &long[..50])]);
        assert_eq!(header, [(Kind::HeaderCut, long.len() as u32)]);
        let mut decoded = Decoded::EMPTY;
        assert_eq!(
            Slices::new(Slicing::At(128)).decode(&block(&frames).1[0], &long, &Settings::default(), &mut decoded),
            None
        );
    }
}
