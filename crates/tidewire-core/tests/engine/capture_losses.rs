//! Bytes that are missing at a stream's end, beside what the capture says that it lost.

use tidewire_core::PacketLoss;
use tidewire_types::Timestamp;

use crate::common::{Feed, InvariantChecker, Seg, config, handshake};

const ACK: u8 = 0x10;
const FIN_ACK: u8 = 0x11;

/// The causes of the client's gaps in a connection whose bytes 100 to 200 are missing since 20 s, and end at 60 s. The capture lost a packet
/// at `lost_s` seconds. `last`: the client's last packets.
fn causes(lost_s: u64, last: &[Seg]) -> Vec<(u64, u64, String)> {
    let mut segments = handshake(1000, 5000);
    segments.push(Seg { time_ms: 20_000, ..Seg::new(true, 1001, 5001, ACK, &[b'x'; 100]) });
    segments.extend_from_slice(last);
    segments.push(Seg { time_ms: 60_000, ..Seg::new(false, 5001, 1201, ACK, &[]) });
    let mut feed = Feed::new(&config(), InvariantChecker::default());
    let timestamp_ns = (1 + lost_s) * 1_000_000_000;
    feed.engine.note_past_losses(&[PacketLoss::between(
        0,
        Timestamp::from_nanos(timestamp_ns),
        Timestamp::from_nanos(timestamp_ns),
        1,
    )]);
    feed.segments(&segments);
    let (checker, _) = feed.finish();
    let stream = checker.streams.values().next().expect("a stream");
    stream.gaps[0].clone()
}

#[test]
fn a_loss_before_an_empty_segment_is_the_cause() {
    let [by_capture, by_network] = ["lost_by_capture", "not_captured"].map(|cause| vec![(100, 100, cause.to_owned())]);
    let fin = Seg { time_ms: 40_000, ..Seg::new(true, 1201, 5001, FIN_ACK, &[]) };
    let empty = |time_ms| Seg { time_ms, ..Seg::new(true, 1201, 5001, ACK, &[]) };
    for last in
        [vec![], vec![fin.clone()], vec![empty(40_000)], vec![empty(40_000), fin], vec![empty(40_000), empty(50_000)]]
    {
        assert_eq!(causes(30, &last), by_capture, "{last:?}");
        assert_eq!(causes(10, &last), by_network, "{last:?}: before bytes that came");
        assert_eq!(causes(70, &last), by_network, "{last:?}: behind the end");
    }
}
