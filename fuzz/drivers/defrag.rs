//! Any packets to a defragmenter: every fragment gets one fate, bounds hold, and a rebuilt datagram is made of bytes that
//! were sent. Used by the fuzz target and by the test that replays the seeds.

use std::time::Duration;

use std::collections::HashMap;

use super::sent::Sent;
use tidewire_core::{
    Config, DefragPolicy, Frame, Timestamp,
    internals::{Defragmenter, Outcome},
    wire::{Kind, LinkType, decode},
};

/// Bytes of the last field of an operation.
const HEAD: usize = 8;

/// One byte for the policy, then eight for each packet: flags, identification, offset (two, units of eight), length (two),
/// value, time.
pub fn run(input: &[u8]) {
    let Some((&policy, rest)) = input.split_first() else { return };
    let policy = DefragPolicy::ALL[policy as usize % DefragPolicy::ALL.len()];
    let config = Config::default()
        .with_fragments_max(64)
        .with_datagrams_max(8)
        .with_fragment_memory_bytes(64 << 10)
        .with_fragment_timeout(Duration::from_micros(1));
    let mut driver = Driver {
        policy,
        defragmenter: Defragmenter::new(&config),
        config,
        clock_ns: 0,
        settled: 0,
        sent: HashMap::new(),
    };
    let mut received = 0;
    for (number, operation) in (1..).zip(rest.chunks_exact(HEAD).take(512)) {
        received += u64::from(driver.step(number, operation));
    }
    let settled = &mut driver.settled;
    driver.defragmenter.finish(&mut |ended| *settled += u64::from(ended.unsettled));
    assert_eq!(driver.settled, received, "every fragment has one fate");
    assert_eq!((driver.defragmenter.datagrams(), driver.defragmenter.charged_bytes()), (0, 0));
}

struct Driver {
    policy: DefragPolicy,
    defragmenter: Defragmenter,
    config: Config,
    clock_ns: u64,
    settled: u64,
    /// By version and identification: what was sent.
    sent: HashMap<(bool, u32), Sent>,
}

impl Driver {
    /// Whether it was a fragment.
    fn step(&mut self, number: u64, operation: &[u8]) -> bool {
        let [flags, id, offset_low, offset_high, length_low, length_high, value, time] = operation else {
            return false;
        };
        let is_ipv6 = flags & 2 != 0;
        let offset = u16::from_le_bytes([*offset_low, *offset_high]) & 0x1fff;
        let length = usize::from(u16::from_le_bytes([*length_low, *length_high])) % 3000;
        let data: Vec<u8> = (0..length).map(|at| value.wrapping_add((at / 5) as u8)).collect();
        let mut packet = if is_ipv6 {
            ipv6(u32::from(id % 4), offset, flags & 1 != 0, &data)
        } else {
            ipv4(u16::from(id % 4), offset, flags & 1 != 0, &data)
        };
        let wire_bytes = packet.len() as u32;
        if flags & 4 != 0 {
            packet.truncate(packet.len() - length / 2);
        }
        let decoded = decode(LinkType::RAW, &packet, wire_bytes, self.config.wire());
        if decoded.kind != Kind::Fragment {
            return false;
        }
        self.clock_ns += u64::from(*time);
        let frame = Frame::new(LinkType::RAW, Timestamp::from_nanos(self.clock_ns))
            .with_number(number)
            .with_place(0, packet.len() as u32)
            .with_wire_bytes(wire_bytes);
        let versions = self.sent.entry((is_ipv6, decoded.fragment.id)).or_default();
        versions.add(u64::from(offset) * 8, &data);
        let settled = &mut self.settled;
        let mut ended = 0;
        let outcome = self.defragmenter.insert(self.policy, &frame, &packet, &decoded, &mut |end| {
            assert!(end.unsettled <= end.fragments);
            ended += u64::from(end.unsettled);
        });
        *settled += ended;
        match outcome {
            Outcome::Held => {}
            Outcome::Rejected(_) => *settled += 1,
            Outcome::Rebuilt(rebuilt) => {
                *settled += u64::from(rebuilt.fragments);
                assert!(versions.has_all(0, rebuilt.payload()), "a byte that was not sent");
                let whole = decode(LinkType::RAW, rebuilt.packet, rebuilt.packet.len() as u32, self.config.wire());
                assert_ne!(whole.kind, Kind::Fragment);
                assert_eq!(whole.ip_bytes as usize, rebuilt.packet.len());
            }
        }
        assert!(self.defragmenter.datagrams() <= self.config.datagrams_max());
        assert!(self.defragmenter.charged_bytes() <= self.config.fragment_memory_bytes());
        true
    }
}

/// A protocol for experiments (RFC 3692): it is not decoded further.
const PROTO: u8 = 253;

fn ipv4(id: u16, offset: u16, more: bool, data: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend((20 + data.len() as u16).to_be_bytes());
    packet.extend(id.to_be_bytes());
    packet.extend((offset | (u16::from(more) << 13)).to_be_bytes());
    packet.extend([64, PROTO, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend(data);
    packet
}

fn ipv6(id: u32, offset: u16, more: bool, data: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend((8 + data.len() as u16).to_be_bytes());
    packet.extend([44, 64]);
    packet.extend([[0xfd; 16], [0xfc; 16]].as_flattened());
    packet.extend([PROTO, 0]);
    packet.extend(((offset << 3) | u16::from(more)).to_be_bytes());
    packet.extend(id.to_be_bytes());
    packet.extend(data);
    packet
}
