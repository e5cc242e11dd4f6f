//! Clients that are broken or hostile are refused with a reason, and cost the others nothing.

use std::os::fd::OwnedFd;

use rustix::net::{RecvFlags, SendFlags, recv, send};
use tidewire_event_socket::{Events, PACKET_BYTES_MAX, ServerEvent, ServerSettings};
use tidewire_testing::{PATIENCE, wait_until};

use crate::common::{Rig, event, raw};

const HELLO: &[u8] = b"tidewire-events 1\nname a\nsession 1\nfirst 1\n";

fn answer(socket: &OwnedFd) -> String {
    let time = Some(PATIENCE);
    rustix::net::sockopt::set_socket_timeout(socket, rustix::net::sockopt::Timeout::Recv, time).unwrap();
    let mut packet = [0; 4096];
    let (bytes, _) = recv(socket, &mut packet, RecvFlags::empty()).unwrap();
    String::from_utf8_lossy(&packet[..bytes]).into_owned()
}

fn events(first: u64, numbers: std::ops::Range<u64>) -> Vec<u8> {
    let mut packet = [&[1][..], &first.to_le_bytes()].concat();
    numbers.for_each(|number| event("a", number).encode(&mut packet).unwrap());
    packet
}

#[test]
fn every_refusal_has_a_reason() {
    let rig = Rig::new();
    let _server = rig.start();
    let good = Events::connect(&rig.path(), "good").unwrap();
    let cut = {
        let mut cut = events(1, 0..3);
        cut.truncate(cut.len() - 1);
        cut
    };
    let mut broken = events(1, 0..1);
    *broken.get_mut(13).unwrap() = 9;
    let other = {
        let mut packet = [&[1][..], &1_u64.to_le_bytes()].concat();
        event("b", 1).encode(&mut packet).unwrap();
        packet
    };
    let cases: &[(&str, &[&[u8]])] = &[
        ("of another version", &[b"tidewire-events 2\nname a\nsession 1\nfirst 1\n"]),
        ("neither events nor a text", &[&[0xff; 100]]),
        ("cannot be the name", &[b"tidewire-events 1\nname tidewire\nsession 1\nfirst 1\n"]),
        ("cannot be the name", &[b"tidewire-events 1\nname a/b\nsession 1\nfirst 1\n"]),
        ("'first' is no number", &[b"tidewire-events 1\nname a\nsession 1\nfirst 18446744073709551615\n"]),
        ("not expected here", &[&events(1, 0..1)]),
        ("not expected here", &[HELLO, HELLO]),
        ("not expected here", &[HELLO, b"delivered\ndestination x\nid 1\n"]),
        ("event 3 does not follow event 0", &[HELLO, &events(3, 0..1)]),
        ("ends within an event", &[HELLO, &cut]),
        ("event 1: it has the version 9", &[HELLO, &broken]),
        ("is of the analyzer 'b'", &[HELLO, &other]),
        ("longer than any packet", &[HELLO, &vec![1; PACKET_BYTES_MAX + 1]]),
    ];
    for (expected, packets) in cases {
        let socket = raw(&rig.path());
        packets.iter().for_each(|packet| {
            send(&socket, packet, SendFlags::NOSIGNAL).unwrap();
        });
        let mut said = answer(&socket);
        if said.starts_with("welcome") {
            said = answer(&socket);
        }
        // The events before were received and acknowledged.
        while !said.starts_with("refused") {
            said = answer(&socket);
        }
        assert!(said.contains(expected), "{expected}: {said}");
    }
    let refused =
        || rig.disk.lock().unwrap().happened.iter().filter(|one| matches!(one, ServerEvent::Refused { .. })).count();
    wait_until("the server's log has them as well", || refused() == cases.len());
    good.emit(&event("good", 1)).unwrap();
    good.flush(PATIENCE).unwrap();
}

#[test]
fn clients_are_bounded_and_the_silent_ones_go() {
    let rig = Rig::new();
    let hello_time = std::time::Duration::from_millis(300);
    let settings = ServerSettings { clients_max: 3, hello_time, ..ServerSettings::default() };
    let _server = rig.start_with(settings, None);
    let good = Events::connect(&rig.path(), "good").unwrap();
    let silent = [raw(&rig.path()), raw(&rig.path())];
    let one_more = raw(&rig.path());
    assert!(answer(&one_more).contains("3 clients are connected"));
    for socket in &silent {
        assert!(answer(socket).contains("did not say who it is"));
    }
    let again = raw(&rig.path());
    send(&again, HELLO, SendFlags::NOSIGNAL).unwrap();
    assert!(answer(&again).starts_with("welcome"));
    good.emit(&event("good", 1)).unwrap();
    good.flush(PATIENCE).unwrap();
    drop(again);
    wait_until("its end is noticed", || {
        rig.disk
            .lock()
            .unwrap()
            .happened
            .iter()
            .any(|one| matches!(one, ServerEvent::Gone { analyzer } if analyzer == "a"))
    });
}
