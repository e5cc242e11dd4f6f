//! Complete datagrams are reassembled, with correct checksums; flawed ones are not.

use super::common::{arrived, engine, inside, made, send};
use tidewire::{Fate, Handler};
use tidewire_gen::{
    Plan, Rate, Sender,
    net::Layout,
    traffic::{FragmentOrder, FragmentSettings, Fragments, Link, Traffic},
};
use tidewire_live::sys::net::PacketSocket;

/// Receives everything and keeps nothing.
struct Discarding;

impl Handler for Discarding {
    type Data = ();
}

fn variants() -> Vec<FragmentSettings> {
    let base = FragmentSettings { datagrams: Some(400), ..FragmentSettings::default() };
    let ipv6 = Link { ipv6: true, vlan: None };
    let tagged = Link { ipv6: false, vlan: Some(7) };
    vec![
        base.clone(),
        FragmentSettings { order: FragmentOrder::Reverse, open: 9, link: ipv6, ..base.clone() },
        FragmentSettings {
            order: FragmentOrder::Random,
            fragment_bytes: 64,
            datagram_bytes: 999,
            link: tagged,
            ..base.clone()
        },
        FragmentSettings { datagram_bytes: 65_507, fragment_bytes: 8960, datagrams: Some(20), ..base.clone() },
        FragmentSettings { holes: 300, out_of_bounds: 200, repeats: 200, open: 3, ..base.clone() },
        FragmentSettings {
            holes: 100,
            out_of_bounds: 300,
            repeats: 300,
            link: ipv6,
            order: FragmentOrder::Random,
            ..base
        },
    ]
}

fn of(fragments: &Fragments, name: &str) -> u64 {
    fragments.tally().iter().find(|entry| entry.0 == name).map_or(0, |entry| entry.1)
}

#[test]
fn whole_datagrams_are_put_together_and_no_others() {
    for settings in variants() {
        let mut fragments = Fragments::new(settings.clone()).unwrap();
        let frames = made(&mut fragments, u64::MAX);
        let all: u64 = fragments.tally().iter().map(|entry| entry.1).sum();
        assert_eq!(Some(all), settings.datagrams);
        let good = of(&fragments, "datagrams_whole") + of(&fragments, "datagrams_with_repeat");
        let ledger = engine(&frames, Discarding).ledger;
        assert_eq!(ledger.datagrams_rebuilt, good, "{settings:?}");
        for (share, name) in [
            (settings.holes, "datagrams_with_hole"),
            (settings.out_of_bounds, "datagrams_out_of_bounds"),
            (settings.repeats, "datagrams_with_repeat"),
        ] {
            let expected = f64::from(share) / 1000.0 * all as f64;
            assert!(
                (of(&fragments, name) as f64 - expected).abs() <= expected * 0.35,
                "{name}: {}",
                of(&fragments, name)
            );
        }
        fragments.rewind();
        assert!(made(&mut fragments, u64::MAX) == frames, "the same again");
    }
}

#[test]
fn overlaps_are_overlaps() {
    let base = FragmentSettings { datagrams: Some(300), ..FragmentSettings::default() };
    let mut same = Fragments::new(FragmentSettings { overlaps: 1000, ..base.clone() }).unwrap();
    let frames = made(&mut same, u64::MAX);
    // Every overlap policy reassembles the same bytes: no checksum is wrong.
    let _ = engine(&frames, Discarding);
    assert!(frames.len() > 300 * 3);
    let mut other = Fragments::new(FragmentSettings { conflicts: 1000, ..base }).unwrap();
    let frames = made(&mut other, u64::MAX);
    let outcome =
        tidewire::Capture::reader(std::io::Cursor::new(super::common::capture(&frames))).run_with(Discarding).unwrap();
    let conflicts: u64 = tidewire::AnomalyKind::ALL
        .iter()
        .filter(|kind| kind.name().contains("overlap") || kind.name().contains("conflict"))
        .map(|kind| outcome.ledger.anomaly(*kind))
        .sum();
    assert!(conflicts + outcome.ledger.datagrams_rejected >= 300, "{:?}", outcome.ledger);
    assert_eq!(outcome.ledger.fate(Fate::Tracked) + outcome.ledger.datagrams_rebuilt, 0, "{:?}", outcome.ledger);
}

#[test]
fn fragments_arrive_as_they_were_made() {
    inside(&Layout { mtu: 9100, ..Layout::default() }, |_| {
        for settings in variants() {
            let tagged = settings.link.vlan.is_some();
            let mut fragments = Fragments::new(settings).unwrap();
            let wanted = made(&mut fragments, u64::MAX);
            for sender in [Sender::Kernel, Sender::Socket] {
                if sender == Sender::Kernel && fragments.bytes_max() > 3328 {
                    continue;
                }
                fragments.rewind();
                let socket = PacketSocket::open("rx0").unwrap();
                let mut plan = Plan::new(["tx0"]);
                (plan.sender, plan.rate) = (sender, Rate::Packets(200_000.0));
                let report = send(&mut fragments, &plan);
                assert_eq!((report.packets, report.arrived()), (wanted.len() as u64, wanted.len() as u64));
                let frames = arrived(&socket);
                assert_eq!(frames.len(), wanted.len());
                for (frame, wanted) in frames.iter().zip(&wanted) {
                    // A packet socket's data lack the tag.
                    let untagged = [&wanted[..12], &wanted[if tagged { 16 } else { 12 }..]].concat();
                    assert!(*frame == untagged);
                }
            }
        }
    });
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |settings: FragmentSettings| Fragments::new(settings).expect_err("refused").to_string();
    let base = FragmentSettings::default();
    assert!(refused(FragmentSettings { fragment_bytes: 100, ..base.clone() }).contains("multiple of 8"));
    assert!(refused(FragmentSettings { datagram_bytes: 1000, ..base.clone() }).contains("fit one fragment"));
    assert!(refused(FragmentSettings { datagram_bytes: 70_000, ..base.clone() }).contains("65507"));
    assert!(refused(FragmentSettings { open: 0, ..base.clone() }).contains("at once"));
    assert!(refused(FragmentSettings { holes: 600, repeats: 600, ..base }).contains("thousand"));
}
