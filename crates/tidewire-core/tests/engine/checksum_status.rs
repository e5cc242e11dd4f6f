//! What a frame's source knows of its checksum: what a host would accept is no anomaly and is delivered, in every mode.

use crate::common::{ACK, Feed, InvariantChecker, Seg, StreamLog, config, fate, handshake, udp};
use tidewire_core::{
    AnomalyKind, ChecksumMode, ChecksumStatus, Config, Fate, Ledger,
    wire::{LinkType, Settings},
};

const MODES: [ChecksumMode; 2] = [ChecksumMode::Auto, ChecksumMode::Verify];

fn with(checksum: ChecksumMode) -> Config {
    config().with_checksum(checksum)
}

/// The only stream of packets that have a status each.
fn only(config: &Config, packets: &[(ChecksumStatus, Vec<u8>)]) -> (Option<StreamLog>, Ledger) {
    let mut feed = Feed::new(config, InvariantChecker::default());
    for (status, bytes) in packets {
        feed.checksum = *status;
        feed.packet(LinkType::RAW, bytes, 0, 1_000_000_000);
    }
    let (checker, ledger) = feed.finish();
    assert!(checker.streams.len() <= 1);
    (checker.streams.into_values().next(), ledger)
}

fn tcp_payload() -> Vec<Seg> {
    let mut segments = handshake(100, 500);
    segments.push(Seg::new(true, 101, 501, ACK, b"request"));
    segments.push(Seg::new(false, 501, 108, ACK, b"answer"));
    segments
}

/// The segments' checksums are all zero, which is wrong.
fn tcp(status: ChecksumStatus) -> Vec<(ChecksumStatus, Vec<u8>)> {
    tcp_payload().iter().map(|segment| (status, segment.bytes())).collect()
}

#[test]
fn checksums_that_are_not_ready_or_verified_are_no_anomaly() {
    for mode in MODES {
        for status in [ChecksumStatus::NotReady, ChecksumStatus::Verified] {
            let (log, ledger) = only(&with(mode), &tcp(status));
            let log = log.expect("a stream");
            assert_eq!(log.bytes, [b"request".to_vec(), b"answer".to_vec()], "{mode:?} {status:?}");
            assert_eq!(log.anomalies, Vec::<String>::new(), "{mode:?} {status:?}");
            assert_eq!(fate(&ledger, Fate::BadChecksum), 0);
        }
    }
    // The bytes alone say that they are wrong.
    let (log, ledger) = only(&with(ChecksumMode::Auto), &tcp(ChecksumStatus::Unknown));
    let log = log.expect("a stream");
    assert_eq!(log.anomalies, ["bad_checksum"]);
    assert_eq!(log.bytes, [b"request".to_vec(), b"answer".to_vec()]);
    assert_eq!(fate(&ledger, Fate::BadChecksum), 0, "the receiver acknowledged them, or none was ever right");
    let (log, ledger) = only(&with(ChecksumMode::Verify), &tcp(ChecksumStatus::Unknown));
    let log = log.expect("a stream");
    assert_eq!((log.anomalies.len(), log.bytes), (5, [Vec::new(), Vec::new()]));
    assert_eq!(fate(&ledger, Fate::BadChecksum), 5);
}

#[test]
fn merged_segments_behind_verified_ones_are_delivered() {
    for mode in MODES {
        let mut packets = tcp(ChecksumStatus::Verified);
        packets.push((ChecksumStatus::NotReady, Seg::new(true, 108, 507, ACK, &[b'm'; 4000]).bytes()));
        let (log, _) = only(&with(mode), &packets);
        let log = log.expect("a stream");
        assert_eq!(log.bytes[0].len(), 7 + 4000);
        assert!(log.anomalies.is_empty() && log.gaps.iter().all(Vec::is_empty), "{log:?}");
    }
}

#[test]
fn a_wrong_ipv4_header_stays_wrong() {
    for status in [ChecksumStatus::NotReady, ChecksumStatus::Verified] {
        let mut packets = tcp(status);
        // (Zero stands for one that the card fills in.)
        packets[3].1[10..12].copy_from_slice(&[0xde, 0xad]);
        let (log, ledger) = only(&with(ChecksumMode::Verify), &packets);
        assert_eq!(fate(&ledger, Fate::BadChecksum), 1, "{status:?}");
        assert_eq!(log.expect("a stream").bytes[0], b"");
    }
}

/// IPv4 with GRE before a packet.
fn in_gre(inner: &[u8]) -> Vec<u8> {
    let total = (24 + inner.len()) as u16;
    let mut bytes = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 47, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 0, 0, 8, 0];
    bytes[2..4].copy_from_slice(&total.to_be_bytes());
    bytes.extend(inner);
    bytes
}

#[test]
fn in_a_tunnel_the_status_may_be_the_outer_checksums() {
    for status in [ChecksumStatus::NotReady, ChecksumStatus::Verified] {
        let packets: Vec<_> = tcp(status).into_iter().map(|(status, bytes)| (status, in_gre(&bytes))).collect();
        let (_, ledger) = only(&with(ChecksumMode::Verify), &packets);
        assert_eq!(fate(&ledger, Fate::BadChecksum), 5, "{status:?}");
    }
    // What only an unfinished checksum looks like: the sum of the pseudo-header.
    let partial = |segment: &Seg| {
        let mut bytes = segment.bytes();
        let length = bytes.len() - 20;
        let mut sum = bytes[12..20].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum::<u32>();
        sum += 6 + length as u32;
        sum = (sum & 0xffff) + (sum >> 16);
        bytes[36..38].copy_from_slice(&(sum as u16).to_be_bytes());
        (ChecksumStatus::NotReady, in_gre(&bytes))
    };
    let packets: Vec<_> = tcp_payload().iter().map(partial).collect();
    let (log, ledger) = only(&with(ChecksumMode::Verify), &packets);
    assert_eq!(fate(&ledger, Fate::BadChecksum), 0);
    assert_eq!(log.expect("a stream").bytes[1], b"answer");
}

#[test]
fn outer_checksums_are_verified_unless_a_setting_says_no() {
    let wrong = |(status, bytes): (ChecksumStatus, Vec<u8>)| {
        let mut packet = in_gre(&bytes);
        packet[10..12].copy_from_slice(&[0x12, 0x34]);
        (status, packet)
    };
    let packets: Vec<_> = tcp(ChecksumStatus::Unknown).into_iter().map(wrong).collect();
    let mut ignored = Settings::default();
    ignored.verify_outer = false;
    let auto = with(ChecksumMode::Auto);
    for (config, is_doubted) in
        [(auto.clone(), true), (auto.with_wire(ignored), false), (with(ChecksumMode::Ignore), false)]
    {
        let (_, ledger) = only(&config, &packets);
        assert_eq!(ledger.anomaly(AnomalyKind::OuterChecksum) > 0, is_doubted);
    }
}

#[test]
fn a_datagram_is_not_ready_where_all_fragments_are() {
    use ChecksumStatus::{NotReady, Unknown, Verified};
    let mut whole = udp(4000, &[b'u'; 40]);
    whole[26..28].copy_from_slice(&[0xde, 0xad]);
    let fragment = |from: usize, to: usize, more: bool| {
        let mut bytes = whole[..20].to_vec();
        bytes[2..4].copy_from_slice(&((20 + to - from) as u16).to_be_bytes());
        let place = (from / 8) as u16 | if more { 0x2000 } else { 0 };
        bytes[6..8].copy_from_slice(&place.to_be_bytes());
        bytes.extend(&whole[20 + from..20 + to]);
        bytes
    };
    let cases = [([NotReady; 2], true), ([NotReady, Unknown], false), ([Unknown, NotReady], false)];
    for (statuses, is_taken) in cases.into_iter().chain([([Verified; 2], false), ([Unknown; 2], false)]) {
        let fragments = [fragment(24, 48, false), fragment(0, 24, true)];
        let packets: Vec<_> = statuses.into_iter().zip(fragments).collect();
        let (log, _) = only(&with(ChecksumMode::Verify), &packets);
        let delivered = log.map_or(0, |log| log.bytes[0].len());
        assert_eq!(delivered, if is_taken { 40 } else { 0 }, "{statuses:?}");
    }
}
