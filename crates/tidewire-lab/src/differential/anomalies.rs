//! Anomalies of TCP segments.

use super::{
    generator::{Agreed, Generator},
    network,
    script::{Listener, Opt, Segment, Step, Sum},
};
use crate::craft::{ACK, FIN, PSH, RST, SYN, URG};

/// Distances at which a host's reaction changes: around a byte, a window, and half the sequence space.
const DISTANCES: [i64; 19] = [
    0,
    1,
    2,
    3,
    5,
    8,
    100,
    1000,
    4600,
    14_600,
    29_200,
    64_240,
    65_535,
    65_536,
    1 << 20,
    1 << 24,
    (1 << 30) + 5,
    (1 << 31) - 1,
    1 << 31,
];

pub fn distance(make: &mut Generator) -> i64 {
    let far = make.pick(&DISTANCES);
    let near = make.below(4) as i64;
    let distance = if make.once_in(3) { far + near } else { far };
    if make.once_in(2) { distance } else { -distance }
}

/// An offset at or near an interesting one.
fn place(make: &mut Generator, agreed: &Agreed) -> i64 {
    let around = make.pick(&[0, agreed.next, agreed.next, agreed.next, agreed.end, agreed.end + 1]);
    match make.below(4) {
        0 => around,
        1 | 2 => around + make.below(9) as i64 - 4,
        _ => around + distance(make),
    }
}

pub fn version(make: &mut Generator) -> u8 {
    make.below(4) as u8
}

/// Any segment.
pub fn any(make: &mut Generator, agreed: &Agreed) -> Segment {
    let flags = match make.below(12) {
        0 => SYN,
        1 => SYN | ACK,
        2 => RST,
        3 => RST | ACK,
        4 => FIN | ACK,
        5 => make.below(256) as u8,
        6 => FIN | ACK | PSH,
        _ => ACK,
    };
    let length = if make.once_in(4) { 0 } else { 1 + make.below(12) as u16 };
    let mut segment = Segment::new(place(make, agreed), flags, length);
    segment.version = version(make);
    segment.options = make.stamped(agreed);
    if flags & SYN != 0 {
        segment.at = if make.once_in(2) { -1 } else { segment.at };
        segment.options = make.syn_options(agreed.stamp);
    }
    if make.once_in(3) {
        vary(make, agreed, &mut segment);
    }
    segment
}

/// Changes one field.
pub fn vary(make: &mut Generator, agreed: &Agreed, segment: &mut Segment) {
    match make.below(12) {
        0 | 1 => segment.ack = distance(make),
        2 | 3 => vary_stamp(make, agreed, segment),
        4 => segment.window = make.pick(&[0, 1, 10, 0x7000, 0xffff]),
        5 => segment.sum = make.pick(&[Sum::Wrong, Sum::Wrong, Sum::Zero]),
        6 => {
            segment.flags |= URG;
            segment.urgent = make.pick(&[0, 1, 2, 3, 5, 9, 100, 3000, 0x8000, 0xffff]);
        }
        7 => vary_options(make, segment),
        8 => segment.flags ^= make.pick(&[ACK, PSH, FIN, SYN, RST, URG, 0x40, 0x80]),
        9 => segment.words = Some(make.pick(&[0, 4, 5, 6, 8, 15])),
        10 => segment.at += distance(make),
        _ => segment.length = make.pick(&[0, 1, 5, 1400, 2000]),
    }
}

fn vary_stamp(make: &mut Generator, agreed: &Agreed, segment: &mut Segment) {
    let now = agreed.stamp.unwrap_or(1000);
    let value = now.wrapping_add(distance(make) as u32);
    let other = now.wrapping_add(distance(make) as u32);
    let echo = make.pick(&[None, None, None, Some(0), Some(1), Some(u32::MAX)]);
    segment.options = match make.below(6) {
        0 => Vec::new(),
        1 => vec![Opt::Stamp(value, echo), Opt::Stamp(other, echo)],
        2 => vec![Opt::Nop, Opt::Nop, Opt::Stamp(value, echo), Opt::Nop, Opt::Nop, Opt::Stamp(other, echo)],
        3 => vec![Opt::Stamp(value, echo)],
        _ => vec![Opt::Nop, Opt::Nop, Opt::Stamp(value, echo)],
    };
}

fn vary_options(make: &mut Generator, segment: &mut Segment) {
    let bytes = |make: &mut Generator, count: u64| (0..count).map(|_| make.below(256) as u8).collect::<Vec<u8>>();
    let option = match make.below(12) {
        0 => Opt::Raw(19, 18, bytes(make, 16)),
        1 => {
            let length = make.pick(&[0, 1, 2, 4, 16, 17, 19, 20]);
            Opt::Raw(19, length, bytes(make, u64::from(length.saturating_sub(2))))
        }
        2 => {
            let length = make.pick(&[0, 1, 3, 4, 16, 40]);
            Opt::Raw(29, length, bytes(make, u64::from(length.saturating_sub(2).min(30))))
        }
        3 => Opt::Raw(make.below(256) as u8, 0, Vec::new()),
        4 => Opt::Raw(make.below(256) as u8, 1, Vec::new()),
        5 => Opt::Raw(make.below(256) as u8, 255, bytes(make, 4)),
        6 => Opt::Raw(5, 10, bytes(make, 8)),
        7 => Opt::Raw(30, 4, bytes(make, 2)),
        8 => Opt::End,
        9 => Opt::Raw(34, 2, Vec::new()),
        10 => Opt::Raw(8, make.pick(&[2, 6, 9, 11]), bytes(make, 8)),
        _ => {
            let length = 2 + make.below(6);
            Opt::Raw(make.below(256) as u8, length as u8, bytes(make, length - 2))
        }
    };
    if make.once_in(2) {
        segment.options.insert(0, option);
    } else {
        segment.options.push(option);
    }
}

/// One anomaly, or several that belong together.
pub fn steps(make: &mut Generator, agreed: &mut Agreed, listener: Listener) -> Vec<Step> {
    if make.network && make.once_in(3) {
        return network::steps(make, agreed);
    }
    let length = 1 + make.below(10) as u16;
    let mut segment = make.plain(agreed, ACK | PSH, length);
    segment.version = version(make);
    match make.below(21) {
        0..=5 => {
            // The next segment, with one field changed.
            vary(make, agreed, &mut segment);
            if make.once_in(4) {
                vary(make, agreed, &mut segment);
            }
            vec![Step::Send(segment)]
        }
        6 => {
            segment.length = 0;
            segment.flags = ACK;
            vary(make, agreed, &mut segment);
            vec![Step::Send(segment)]
        }
        7 | 8 => {
            segment.at = place(make, agreed);
            vec![Step::Send(segment)]
        }
        9 => {
            segment.flags = FIN | ACK;
            segment.at = place(make, agreed);
            segment.length = if make.once_in(2) { 0 } else { segment.length };
            if make.once_in(3) {
                vary(make, agreed, &mut segment);
            }
            vec![Step::Send(segment)]
        }
        10 | 11 => {
            segment.flags = make.pick(&[RST, RST | ACK]);
            segment.length = if make.once_in(4) { segment.length } else { 0 };
            segment.at = place(make, agreed);
            if make.once_in(3) {
                vary(make, agreed, &mut segment);
            }
            vec![Step::Send(segment)]
        }
        12 | 13 => syn_again(make, agreed),
        14 => urgent(make, agreed, listener),
        15 => {
            // Time passes.
            agreed.stamp = agreed.stamp.map(|stamp| stamp.wrapping_add(make.pick(&[1, 10, 1000, 1 << 30])));
            vec![Step::Wait(make.pick(&[1, 20, 60]))]
        }
        16 => {
            let mut steps = vec![Step::Shutdown];
            if make.once_in(2) {
                let ack = Segment { ack: 0, ..make.plain(agreed, ACK, 0) };
                steps.push(Step::Send(ack));
            }
            if make.once_in(2) {
                steps.extend(syn_again(make, agreed));
            }
            steps
        }
        19 => {
            // Later segments are answered with a reset, at the latest behind the next data.
            let mut steps = vec![make.pick(&[Step::Close, Step::Close, Step::Abort])];
            if make.once_in(2) {
                steps.push(Step::Send(Segment { length: 0, flags: ACK, ..segment }));
            }
            if make.once_in(3) {
                steps.extend(syn_again(make, agreed));
            }
            steps
        }
        17 => {
            let first = any(make, agreed);
            let second = any(make, agreed);
            vec![Step::Send(first), Step::Send(second)]
        }
        18 => {
            vec![Step::Write(make.pick(&[1, 50, 1400, 6000])), Step::Send(Segment { length: 0, flags: ACK, ..segment })]
        }
        _ => vec![Step::Send(any(make, agreed))],
    }
}

/// A SYN, and often segments of the connection that it would open.
fn syn_again(make: &mut Generator, agreed: &mut Agreed) -> Vec<Step> {
    let at = match make.below(6) {
        0 => -1,
        1 => agreed.next,
        2 => agreed.next + 1,
        3 => agreed.end + 1,
        4 => agreed.next + 100_000,
        _ => agreed.next + distance(make),
    };
    let flags = make.pick(&[SYN, SYN, SYN, SYN | ACK, SYN | RST, SYN | FIN]);
    let mut syn = Segment::new(at, flags, 0);
    let stamp = agreed.stamp.map(|stamp| stamp.wrapping_add(make.pick(&[0, 1, 1000, 0x8000_0001])));
    syn.options = make.syn_options(stamp);
    if make.once_in(6) {
        vary(make, agreed, &mut syn);
    }
    let mut steps = vec![Step::Send(syn)];
    if make.once_in(2) {
        steps.push(Step::Wait(1));
        let options = make.stamped(agreed);
        steps.push(Step::Send(Segment { options: options.clone(), ..Segment::new(at + 1, ACK, 0) }));
        let version = version(make);
        steps.push(Step::Send(Segment { options, version, ..Segment::new(at + 1, ACK | PSH, 5) }));
    }
    steps
}

/// Urgent segments, one or more.
fn urgent(make: &mut Generator, agreed: &mut Agreed, listener: Listener) -> Vec<Step> {
    let count = if listener == Listener::UrgentOut { 1 + make.below(4) } else { 1 };
    let each = (0..count).map(|_| {
        let length = make.below(8) as u16;
        let mut segment = make.plain(agreed, ACK | PSH | URG, length);
        segment.at = if make.once_in(2) { agreed.next } else { place(make, agreed) };
        segment.urgent = match make.below(4) {
            0 => length,
            1 => make.below(20) as u16,
            2 => make.pick(&[0, 1, 2, 100, 0x7fff, 0xffff]),
            _ => length + 1,
        };
        Step::Send(segment)
    });
    each.collect()
}
