//! A network of the test, the frames that arrive at its far end, and the engine's result.
#![allow(dead_code)]

use std::{io, sync::atomic::AtomicBool};

use tidewire::{Capture, ChecksumMode, Fate, Handler, Outcome};

use tidewire_gen::{
    Plan, Report,
    net::{Layout, Network, missing},
    run,
    traffic::Traffic,
};
use tidewire_live::sys::net::PacketSocket;

/// Runs a test in a network, or prints why it cannot.
pub fn inside(layout: &Layout, test: impl FnOnce(&Network) + Send) {
    if let Some(why) = missing() {
        println!("skipped: {why}");
        return;
    }
    let result: Result<(), tidewire_gen::Error> = Network::inside(layout, |network| {
        test(network);
        Ok(())
    });
    result.expect("a network");
}

/// Sends all of it.
pub fn send(traffic: &mut dyn Traffic, plan: &Plan) -> Report {
    run(traffic, plan, &AtomicBool::new(false), &mut |_| {}).expect("sending")
}

/// All frames in a socket's queue.
pub fn arrived(socket: &PacketSocket) -> Vec<Vec<u8>> {
    let next = || -> io::Result<_> { socket.receive(100) };
    std::iter::from_fn(|| next().expect("receiving")).collect()
}

/// The frames of the traffic, with numbers as they are sent.
pub fn made(traffic: &mut dyn Traffic, count: u64) -> Vec<Vec<u8>> {
    let mut room = vec![0; traffic.bytes_max()];
    let frame = |number: u64| {
        let made = traffic.next(number, &mut room)?;
        let mut frame = room[..made.bytes].to_vec();
        if traffic.numbered() {
            let at = frame.len() - tidewire_gen::number::TRAILER_BYTES;
            frame[at..].copy_from_slice(&tidewire_gen::number::trailer(number));
        }
        Some(frame)
    };
    (0..count).map_while(frame).collect()
}

/// The frames as a capture, a microsecond apart.
pub fn capture(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 262_144, 1] {
        out.extend(word.to_le_bytes());
    }
    for (number, frame) in (0_u32..).zip(frames) {
        let length = frame.len() as u32;
        for word in [1_700_000_000 + number / 1_000_000, number % 1_000_000, length, length] {
            out.extend(word.to_le_bytes());
        }
        out.extend(frame);
    }
    out
}

/// The engine's result; every checksum is verified, and anomalies are not allowed.
pub fn engine<H: Handler + Send>(frames: &[Vec<u8>], handler: H) -> Outcome<H> {
    let capture = Capture::reader(io::Cursor::new(capture(frames))).checksum(ChecksumMode::Verify);
    let outcome = capture.run_with(handler).expect("a run");
    assert!(outcome.input_errors.is_empty());
    assert_eq!(outcome.ledger.received, frames.len() as u64);
    assert_eq!(outcome.ledger.fate(Fate::BadChecksum), 0, "checksums");
    assert_eq!(outcome.ledger.gap_bytes, 0, "gaps");
    outcome
}
