//! `tidewire count`.

use std::{net::UdpSocket, time::Duration};

use crate::{
    common::lines,
    rig::{self, HERE, HERE_ADDRESS, THERE_ADDRESS, settle},
};

/// Datagrams of so many bytes of payload, from a few ports.
fn send(count: usize, bytes: usize) {
    let sockets: Vec<_> = (0..8).map(|_| UdpSocket::bind((HERE_ADDRESS, 0)).expect("a socket")).collect();
    for number in 0..count {
        let _ = sockets[number % 8].send_to(&vec![0; bytes], (THERE_ADDRESS, 9));
    }
}

#[test]
fn every_packet_is_counted_once() {
    rig::run(&[], |rig| {
        let words =
            ["count", "-i", HERE, "--fanout", "any", "hash", "-w", "2", "--json", "--interval", "300ms", "-F", "udp"];
        let running = rig.tidewire(&words);
        send(5000, 958);
        settle();
        running.wait_for_out("packets_per_second");
        let ended = running.interrupt();
        assert_eq!(ended.code(), 0, "{}", ended.said);
        let notice = "the kernel filters each frame by itself: it sees nothing behind further headers of IPv6";
        assert_eq!(ended.said.matches(notice).count(), 1, "{}", ended.said);
        let all = lines(ended.out.as_bytes());
        let (total, intervals) = all.split_last().expect("lines");
        assert_eq!((&total["packets"], &total["bytes"], &total["drops"]), (&5000.into(), &5_000_000.into(), &0.into()));
        let workers = total["live"]["workers"].as_array().expect("workers");
        let by_worker: Vec<u64> = workers.iter().map(|worker| worker["received"].as_u64().expect("a number")).collect();
        assert_eq!(by_worker.len(), 2);
        assert_eq!(by_worker.iter().sum::<u64>(), 5000);
        assert!(intervals.iter().any(|interval| interval["packets_per_second"].as_u64() > Some(100)), "{all:?}");
        for interval in intervals {
            let sum: u64 = interval["workers"]
                .as_array()
                .expect("workers")
                .iter()
                .map(|worker| worker["packets_per_second"].as_u64().expect("a rate"))
                .sum();
            assert!(sum.abs_diff(interval["packets_per_second"].as_u64().expect("a rate")) <= 1, "{interval}");
        }
    });
}

/// Work on each packet is time that passes: a ring of a megabyte overflows, and losses are reported by place.
#[test]
fn losses_are_reported_by_their_place() {
    rig::run(&[], |rig| {
        let words = ["count", "-i", HERE, "--work", "1ms", "--ring", "1M", "-F", "udp", "--engine", "packet"];
        let running = rig.tidewire(&words);
        send(4000, 1400);
        std::thread::sleep(Duration::from_millis(1200));
        let ended = running.interrupt();
        assert_eq!(ended.code(), 0, "{}", ended.said);
        let figure = |text: &str, before: &str| -> u64 {
            let at = text.find(before).unwrap_or_else(|| panic!("no '{before}' in {text}"));
            let digits: String =
                text[at + before.len()..].chars().take_while(|c| c.is_ascii_digit() || *c == ',').collect();
            digits.replace(',', "").parse().expect("a number")
        };
        let received = figure(&ended.out, "worker 0 on CPU 0: ");
        let lost = figure(&ended.out, "lost ");
        assert!(
            ended.out.contains(&format!(
                "{} no room in a ring",
                ended.out.split("%): ").nth(1).expect("places").split(' ').next().expect("a figure")
            )),
            "{}",
            ended.out
        );
        assert!(lost > 100, "{}", ended.out);
        assert_eq!(received + lost, 4000, "{}", ended.out);
        assert!(ended.out.contains(" packets/s  "), "{}", ended.out);
    });
}
