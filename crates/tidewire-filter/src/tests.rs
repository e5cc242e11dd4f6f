//! Our machine against libpcap's own, on the same programs.

use pcap::{Capture, Linktype};
use tidewire_ebpf::classic::Program;
use tidewire_testing::filters::{EXPRESSIONS, Numbers, random_packet};

use crate::{expression::instructions, matches};

#[test]
fn our_machine_agrees_with_libpcaps() {
    let mut numbers = Numbers(3);
    let packets: Vec<Vec<u8>> = (0..3000).map(|_| random_packet(&mut numbers)).collect();
    let dead = Capture::dead(Linktype::ETHERNET).unwrap();
    for &expression in EXPRESSIONS {
        // A program that is not optimised uses more kinds of instructions, and loads more of a packet.
        for optimize in [true, false] {
            let theirs = dead.compile(expression, optimize).unwrap();
            let ours = Program::new(&instructions(&theirs).unwrap()).unwrap();
            let matching = packets.iter().filter(|packet| {
                let does = matches(&ours, packet, packet.len() as u32);
                assert_eq!(does, theirs.filter(packet), "{expression} on {packet:02x?}");
                does
            });
            println!("{expression}: {}", matching.count());
        }
    }
}
