//! The kernel program generates the same frames as user space, and all frames that were sent arrive.

use super::common::{arrived, inside, made, send};
use tidewire_gen::{
    Plan, Rate, RunEnd, Sender, Sink,
    net::Layout,
    number::{self, Numbers},
    traffic::{Class, Flows, Order, Traffic},
};
use tidewire_live::sys::net::PacketSocket;

fn variants() -> Vec<(&'static str, Flows)> {
    let udp = |flows: u64, sizes: &str| Flows::udp(flows, sizes.parse().unwrap()).unwrap();
    let mut random = udp(1000, "imix");
    (random.order, random.both, random.seed) = (Order::Random, true, 77);
    let classes = [(5001, 0, 90), (53, 46, 10)].map(|(port, dscp, share)| Class { port, dscp, share });
    random.set_classes(classes.to_vec()).unwrap();
    let mut bare = udp(10, "64-1518");
    bare.numbered = false;
    let mut both = udp(7, "128");
    both.both = true;
    vec![
        ("smallest", udp(3, "64")),
        ("largest", udp(300, "1518")),
        ("mixed", udp(5, "64,65,66,67,68,90,1518")),
        ("random, both directions, classes", random),
        ("without numbers", bare),
        ("both directions in turn", both),
        ("flood", Flows::syn_flood().unwrap()),
    ]
}

#[test]
fn the_kernel_makes_what_user_space_makes() {
    const FRAMES: u64 = 3000;
    inside(&Layout::default(), |_| {
        for (name, mut flows) in variants() {
            for sender in [Sender::Kernel, Sender::Socket] {
                flows.rewind();
                let socket = PacketSocket::open("rx0").unwrap();
                let mut plan = Plan::new(["tx0"]);
                // Slow enough for the socket's reader.
                (plan.sender, plan.packets, plan.rate) = (sender, Some(FRAMES), Rate::Packets(400_000.0));
                let report = send(&mut flows, &plan);
                assert_eq!((report.sender, report.packets, report.ended), (sender, FRAMES, RunEnd::Done), "{name}");
                assert_eq!((report.failed, report.arrived(), report.dropped()), (0, FRAMES, 0), "{name}");
                let got = arrived(&socket);
                flows.rewind();
                let wanted = made(&mut flows, FRAMES);
                assert_eq!(got.len(), wanted.len(), "{name} by {}", sender.name());
                for (number, (got, wanted)) in got.iter().zip(&wanted).enumerate() {
                    assert!(got == wanted, "{name} by {}, frame {number}:\n{got:x?}\n{wanted:x?}", sender.name());
                }
                assert_eq!(report.bytes, wanted.iter().map(|frame| frame.len() as u64 + 4).sum::<u64>(), "{name}");
            }
        }
    });
}

#[test]
fn what_was_sent_is_what_arrived_and_what_was_dropped() {
    inside(&Layout::default(), |_| {
        let sink = Sink::attach("rx0").unwrap();
        let mut flows = Flows::udp(1024, "64".parse().unwrap()).unwrap();
        flows.order = Order::Random;
        let mut plan = Plan::new(["tx0"]);
        (plan.sender, plan.packets) = (Sender::Kernel, Some(2_000_000));
        let report = send(&mut flows, &plan);
        println!("{:.2} Mpps from the kernel, flat out", report.packets_per_s() / 1e6);
        assert_eq!(report.packets, 2_000_000);
        assert_eq!(report.interfaces[0].unaccounted(), 0);
        assert_eq!(sink.counted().unwrap(), (report.arrived(), 60 * report.arrived()));
    });
}

#[test]
fn numbers_say_which_frames_were_lost() {
    inside(&Layout::default(), |_| {
        let socket = PacketSocket::open("rx0").unwrap();
        let mut flows = Flows::udp(1, "64".parse().unwrap()).unwrap();
        let mut plan = Plan::new(["tx0"]);
        (plan.packets, plan.rate) = (Some(5000), Rate::Packets(300_000.0));
        send(&mut flows, &plan);
        let mut numbers = Numbers::default();
        for frame in arrived(&socket).iter().filter(|frame| number::of(frame).is_none_or(|number| number % 1000 != 7)) {
            numbers.add(number::of(frame).expect("a number"));
        }
        let missing: Vec<_> = numbers.missing(5000).collect();
        assert_eq!(missing, [7..8, 1007..1008, 2007..2008, 3007..3008, 4007..4008]);
        assert_eq!((numbers.repeated, numbers.late), (0, 0));
    });
}

#[test]
fn the_rate_is_kept() {
    inside(&Layout::default(), |_| {
        let _sink = Sink::attach("rx0").unwrap();
        for sender in [Sender::Kernel, Sender::Socket] {
            for rate in [Rate::Packets(2_000.0), Rate::Packets(60_000.0), Rate::Bits(400e6)] {
                let mut flows = Flows::udp(1, "64".parse().unwrap()).unwrap();
                let mut plan = Plan::new(["tx0"]);
                (plan.sender, plan.rate) = (sender, rate);
                plan.duration = Some(std::time::Duration::from_millis(300));
                let report = send(&mut flows, &plan);
                assert_eq!(report.ended, RunEnd::Duration);
                let wanted = match rate {
                    Rate::Bits(bits) => bits / (84.0 * 8.0),
                    Rate::Packets(packets) => packets,
                    _ => unreachable!(),
                };
                let share = report.packets as f64 / 0.3 / wanted;
                println!("{} at {rate:?}: {share:.3}, late {}", sender.name(), report.late);
                // Other programs may delay the sender, which reports that. It must never be faster, except for the last
                // batch, which may be sent after the time is over.
                let least = if report.late == 0 { 0.8 } else { 0.0 };
                assert!((least..1.25).contains(&share), "{} at {rate:?}: {share}", sender.name());
            }
        }
    });
}
