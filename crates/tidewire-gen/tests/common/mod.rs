//! A network of the test's own, and what arrives at its far end.
#![allow(dead_code)]

use std::{io, sync::atomic::AtomicBool};

use tidewire_capture::{Error, sys::net::PacketSocket};
use tidewire_gen::{
    Plan, Report,
    net::{Layout, Network, missing},
    run,
    traffic::Traffic,
};

/// Runs a test in a network, or says why it cannot.
pub fn inside(layout: &Layout, test: impl FnOnce(&Network) + Send) {
    if let Some(why) = missing() {
        println!("skipped: {why}");
        return;
    }
    let result: Result<(), Error> = Network::inside(layout, |network| {
        test(network);
        Ok(())
    });
    result.expect("a network");
}

/// Sends all of it.
pub fn send(traffic: &mut dyn Traffic, plan: &Plan) -> Report {
    run(traffic, plan, &AtomicBool::new(false), &mut |_| {}).expect("sending")
}

/// All frames that wait at a socket.
pub fn arrived(socket: &PacketSocket) -> Vec<Vec<u8>> {
    let next = || -> io::Result<_> { socket.receive(100) };
    std::iter::from_fn(|| next().expect("receiving")).collect()
}

/// The frames that the traffic makes, numbered as they are sent.
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
