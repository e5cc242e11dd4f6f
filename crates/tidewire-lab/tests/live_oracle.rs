//! The policy `linux` against the running kernel; see `tidewire_lab::oracle`. Needs root and `ip`; says so otherwise.

use tidewire_core::{
    Config, DefragPolicy, Frame, TcpPolicy,
    defrag::{Defragmenter, Outcome},
    tcp::queue::{Incoming, Queue},
    wire,
};
use tidewire_lab::{
    oracle::{
        Report,
        arrange::{all, random},
        fragments,
        network::{Network, missing},
        tcp::{Case, Player},
    },
    random::Random,
};

/// What the queue alone makes of a case.
fn queue_says(case: &Case) -> Vec<u8> {
    let (mut queue, mut out, mut expected) = (Queue::default(), Vec::new(), 0);
    for (offset, bytes) in &case.segments {
        let incoming = Incoming {
            start: u64::from(*offset),
            bytes,
            length: bytes.len() as u64,
            weak: false,
            timestamp_ns: 0,
            number: 0,
        };
        queue.insert(TcpPolicy::Linux, expected, &incoming, &mut |_, _| ());
        while let Some(piece) = queue.take(expected, u64::MAX, 0) {
            out.extend(&piece.data);
            expected += piece.length;
        }
    }
    out
}

fn tcp_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for count in 1..=3 {
        for chunks in all(count) {
            for (unit, isn) in [(1, 1000), (8, u32::MAX - 20)] {
                cases.push(Case::new(&chunks, unit, isn, None));
                for at in 0..=count {
                    cases.push(Case::new(&chunks, unit, isn, Some((at, 1))));
                }
                cases.push(Case::new(&chunks, unit, isn, Some((count, 3))));
            }
        }
    }
    let mut seed = Random::new(1);
    for round in 0..4000 {
        let chunks = random(&mut seed, 4 + round % 9, 6 + round as u32 % 24);
        cases.push(Case::new(&chunks, 1 + round as u32 % 4, 7, Some((chunks.len(), 1))));
    }
    cases
}

#[test]
fn tcp_segments() {
    if let Some(why) = missing() {
        eprintln!("skipped: {why}");
        return;
    }
    let cases = tcp_cases();
    let report = Network::inside(|network| {
        let mut report = Report::default();
        let mut player = Player::new(network, false)?;
        for (case, played) in cases.iter().zip(player.play(&cases)?) {
            let wanted = played.received.unwrap_or_default();
            let found = queue_says(case);
            report.compare(!wanted.is_empty(), wanted == found, || {
                let places: Vec<_> = case.segments.iter().map(|(at, bytes)| (at, at + bytes.len() as u32)).collect();
                format!("{places:?}: the kernel gave {wanted:x?}, we {found:x?}")
            });
        }
        report.packets = player.trace.len() as u64;
        Ok(report)
    })
    .unwrap();
    println!("{report}");
    assert_eq!(report.differing, 0, "{:#?}", report.differences);
}

/// What the defragmenter alone makes of a case.
fn defragmenter_says(case: &fragments::Case) -> Vec<Vec<u8>> {
    let config = Config::default();
    let mut defragmenter = Defragmenter::new(&config);
    let mut out = Vec::new();
    for (number, bytes) in (1..).zip(case.frames()) {
        let length = bytes.len() as u32;
        let decoded = wire::decode(wire::LinkType::ETHERNET, &bytes, length, &config.wire);
        if decoded.kind != wire::Kind::Fragment {
            let payload = &bytes[decoded.transport_at as usize..];
            out.extend(case.application_gets(payload));
            continue;
        }
        let frame = Frame {
            at: 0,
            captured_bytes: length,
            wire_bytes: length,
            link: wire::LinkType::ETHERNET,
            interface: 0,
            timestamp_ns: number,
            clock_ns: number,
            number,
            origin: 0,
        };
        if let Outcome::Rebuilt(rebuilt) =
            defragmenter.insert(DefragPolicy::Linux, &frame, &bytes, &decoded, &mut |_| ())
        {
            out.extend(case.application_gets(rebuilt.payload()));
        }
    }
    out
}

fn fragments_of(is_ipv6: bool) {
    if let Some(why) = missing() {
        eprintln!("skipped: {why}");
        return;
    }
    let cases = fragments::cases(is_ipv6);
    let received = Network::inside(|network| fragments::play(network, &cases)).unwrap();
    let mut report = Report::default();
    for (case, wanted) in cases.iter().zip(received) {
        report.packets += case.fragments.len() as u64;
        let found = defragmenter_says(case);
        report.compare(!wanted.is_empty(), wanted == found, || {
            let of = |fragment: &fragments::Fragment| {
                (fragment.0 / 8, (fragment.0 + fragment.1.len() as u32) / 8, fragment.2)
            };
            let places: Vec<_> = case.fragments.iter().map(of).collect();
            format!("protocol {} {places:?}: the kernel gave {wanted:x?}, we {found:x?}", case.proto)
        });
    }
    println!("{report}");
    assert_eq!(report.differing, 0, "{:#?}", report.differences);
}

#[test]
fn ipv4_fragments() {
    fragments_of(false);
}

#[test]
fn ipv6_fragments() {
    fragments_of(true);
}
