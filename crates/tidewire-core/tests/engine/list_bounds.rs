//! Lists and indexes beside the tables: they stay as long as what is open, however many connections came and went, and though
//! the input lets no time pass.

use std::time::Duration;

use crate::common::{ACK, FIN, Feed, Seg, config, handshake};
use tidewire_core::Handler;

struct Silent;

impl Handler for Silent {
    type Data = ();
}

/// A connection with a pending chunk (an entry in the list of flushes, and among the holders of memory) that is closed by both
/// sides (a place among ends to be reported); all at one time.
fn come_and_gone(client_port: u16) -> Vec<Seg> {
    let mut segments = handshake(100, 500);
    segments.push(Seg::new(true, 101, 501, ACK, b"a request"));
    segments.push(Seg::new(false, 501, 110, ACK, b"an answer"));
    segments.push(Seg::new(true, 110, 510, FIN | ACK, b""));
    segments.push(Seg::new(false, 510, 111, FIN | ACK, b""));
    segments.push(Seg::new(true, 111, 511, ACK, b""));
    segments.into_iter().map(|segment| Seg { client_port, ..segment }).collect()
}

#[test]
fn lists_do_not_grow_with_what_has_ended() {
    let config = config()
        .with_flows_max(Some(64))
        .with_chunk_bytes(4000)
        .with_flush_timeout(Some(Duration::from_nanos(u64::MAX / 4)))
        .with_report_closed(Some(Duration::from_secs(1)))
        .with_closed_timeout(Duration::from_secs(10));
    let mut feed = Feed::new(&config, Silent);
    let mut after = |ports: std::ops::Range<u16>| {
        ports.for_each(|port| feed.segments(&come_and_gone(port)));
        feed.engine.charged_bytes()
    };
    let (few, many) = (after(1..10_000), after(10_000..60_000));
    assert!(many <= few + few / 20, "{many} bytes after 60,000 connections, {few} after 10,000");
    assert!(feed.engine.ledger().evicted + feed.engine.ledger().streams_closed > 59_000);
}
