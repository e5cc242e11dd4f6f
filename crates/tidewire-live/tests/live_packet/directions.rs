//! Which frames of an interface there are: of either direction, of the loopback interface, merged ones.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream, UdpSocket},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use tidewire_live::{
    TrafficDirection,
    sys::net::{PacketSocket, own_namespace, thread_number},
};
use tidewire_wire::LinkType;

use super::craft::{conversations, frame};
use super::rig::{Delivered, FAR, NEAR, PATIENCE, Rig, bytes, cable, inside, ip, settings, wire};

#[test]
fn frames_that_leave_are_captured_or_left_out_as_the_setting_says() {
    inside(|| {
        cable();
        for workers in [1, 3] {
            let flows = conversations(30, 8);
            let mut both = Rig::open(&settings(workers)).unwrap();
            let mut incoming = Rig::open(&settings(workers).with_direction(TrafficDirection::In)).unwrap();
            let (come, leave) = (wire(), PacketSocket::open(FAR).unwrap());
            for (at, (_, frame)) in flows.iter().enumerate() {
                if at % 2 == 0 { come.send(frame).unwrap() } else { leave.send(frame).unwrap() }
            }
            let got = both.collect(flows.len());
            assert_eq!(got.concat().len(), flows.len());
            // The steering programs see frames that leave as those that come.
            for (flow, frame) in &flows {
                let home = got.iter().position(|mine| mine.iter().any(|one| one.bytes == *frame));
                let first = flows.iter().find(|one| one.0 == *flow).unwrap();
                assert_eq!(home, got.iter().position(|mine| mine.iter().any(|one| one.bytes == first.1)), "{flow}");
            }
            let mut got: Vec<_> = incoming.collect(flows.len() / 2).concat().into_iter().map(|one| one.bytes).collect();
            let mut wanted: Vec<_> = flows.iter().step_by(2).map(|one| one.1.clone()).collect();
            got.sort_unstable();
            wanted.sort_unstable();
            assert!(got == wanted, "{} of {}", got.len(), wanted.len());
        }
    });
}

#[test]
fn frames_of_the_loopback_interface_are_there_once() {
    inside(|| {
        ip("link set lo up");
        for workers in [1, 2] {
            let settings = settings(workers).with_interfaces(["lo"]);
            let mut rig = Rig::open(&settings).unwrap();
            let (one, other) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
            for number in 0..50_u8 {
                one.send_to(&[number; 40], other.local_addr().unwrap()).unwrap();
            }
            let got = rig.collect(50).concat();
            assert_eq!(got.len(), 50);
            for (number, one) in (0..50_u8).zip(&got) {
                assert_eq!(one.frame.link, LinkType::ETHERNET);
                assert_eq!((&one.bytes[12..14], one.bytes.get(42..)), (&[8, 0][..], Some(&[number; 40][..])));
            }
            assert_eq!(rig.counts(), (50, 0));
        }
    });
}

/// Sends `payload` over TCP to a host in another namespace, and captures there.
fn transfer(mtu: usize, payload: &[u8]) -> Vec<Delivered> {
    ip(&format!("link add {NEAR} type veth peer name {FAR}"));
    let (number, namespace) = mpsc::channel();
    let (ready, go) = mpsc::channel();
    let (moved, may_begin) = mpsc::channel();
    let wanted = payload.len();
    let host = thread::spawn(move || {
        own_namespace().unwrap();
        number.send(thread_number()).unwrap();
        may_begin.recv().unwrap();
        ip(&format!("link set {FAR} addrgenmode none mtu {mtu} up"));
        ip(&format!("addr add 10.9.0.2/24 dev {FAR}"));
        let mut rig = Rig::open(&settings(1)).unwrap();
        let listener = TcpListener::bind("10.9.0.2:7777").unwrap();
        ready.send(()).unwrap();
        let reader = thread::spawn(move || {
            let mut bytes = vec![0; wanted];
            listener.accept().unwrap().0.read_exact(&mut bytes).unwrap();
        });
        let start = Instant::now();
        let mut got = Vec::new();
        while !reader.is_finished() && start.elapsed() < PATIENCE {
            got.extend(rig.collect(0).concat());
        }
        reader.join().unwrap();
        got.extend(rig.collect(0).concat());
        assert_eq!(rig.counts(), (got.len() as u64, 0));
        got
    });
    ip(&format!("link set {FAR} netns {}", namespace.recv().unwrap()));
    ip(&format!("link set {NEAR} addrgenmode none mtu {mtu} up"));
    ip(&format!("addr add 10.9.0.1/24 dev {NEAR}"));
    moved.send(()).unwrap();
    go.recv().unwrap();
    let mut stream = TcpStream::connect("10.9.0.2:7777").unwrap();
    stream.write_all(payload).unwrap();
    let _ = stream.shutdown(std::net::Shutdown::Write);
    host.join().unwrap()
}

#[test]
fn merged_segments_arrive_whole() {
    inside(|| {
        let payload: Vec<u8> = (0..4 << 20).map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let got = transfer(1500, &payload);
        let longest = got.iter().map(|one| one.bytes.len()).max().unwrap();
        println!("{} frames, the longest of {longest} bytes", got.len());
        assert!(longest > 9014, "nothing was merged");
        let mut found = vec![None; payload.len()];
        let mut first = None;
        for one in &got {
            let packet = &one.bytes[14..];
            if one.bytes[12..14] != [8, 0] || packet[12..16] != [10, 9, 0, 1] {
                continue;
            }
            assert_eq!(one.frame.wire_bytes as usize, one.bytes.len());
            let total = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
            assert!(total == packet.len() || packet.len() < 46, "{total} {}", packet.len());
            let tcp = &packet[20..total];
            let sequence = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
            let data = &tcp[usize::from(tcp[12] >> 4) * 4..];
            if tcp[13] & 2 != 0 {
                first = Some(sequence.wrapping_add(1));
            }
            let at = sequence.wrapping_sub(first.unwrap()) as usize;
            for (to, from) in found.iter_mut().skip(at).zip(data) {
                *to = Some(*from);
            }
        }
        assert!(found.iter().zip(&payload).all(|(found, sent)| *found == Some(*sent)));
    });
}

#[test]
fn two_interfaces_are_one_stream_in_order_of_time() {
    inside(|| {
        cable();
        super::rig::cable_between("tw2", "tw3");
        let both = settings(1).with_interfaces([FAR, "tw3"]);
        let mut rig = Rig::open(&both).unwrap();
        let wires = [wire(), PacketSocket::open("tw2").unwrap()];
        let sent: Vec<_> = (0..400).map(|salt| frame(100, 0x88b5, salt)).collect();
        for (at, frame) in sent.iter().enumerate() {
            wires[at % 2].send(frame).unwrap();
            if at % 50 == 0 {
                thread::sleep(Duration::from_millis(2));
            }
        }
        let got = rig.collect(sent.len()).remove(0);
        let late = rig.workers[0].late();
        if late == 0 {
            assert_eq!(bytes(&got), sent);
            assert!(got.iter().enumerate().all(|(at, one)| usize::from(one.frame.interface) == at % 2));
        }
        // On a machine with much else to do the kernel may hand a block over later than the window.
        assert!(got.len() == sent.len() && late < sent.len() as u64 / 4, "{late} late of {}", got.len());
    });
}

#[test]
fn frames_held_back_to_be_merged_do_not_keep_the_worker_busy() {
    inside(|| {
        cable();
        super::rig::cable_between("tw2", "tw3");
        let both = settings(1).with_interfaces([FAR, "tw3"]);
        let mut rig = Rig::open(&both).unwrap();
        let wires = [wire(), PacketSocket::open("tw2").unwrap()];
        let mut got = 0;
        for at in 0..100 {
            wires[at % 2].send(&frame(100, 0x88b5, at)).unwrap();
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(5) {
                got += rig.workers[0].poll(Duration::from_millis(5), |_| ());
            }
        }
        let calls = rig.workers[0].counts().unwrap().calls;
        println!("{calls} system calls for {got} frames");
        // One a millisecond at most, and some more.
        assert!(got > 50 && calls < 2000, "{calls}");
    });
}
