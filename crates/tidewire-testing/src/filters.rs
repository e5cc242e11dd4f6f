//! Filter expressions and packets that match them.

/// Expressions that together use every kind of instruction.
pub const EXPRESSIONS: &[&str] = &[
    "",
    "ip",
    "ip6",
    "arp",
    "tcp",
    "udp port 53",
    "tcp port 80 or tcp port 443",
    "not tcp",
    "host 10.0.0.1",
    "src net 10.0.0.0/8",
    "net 2001:db8::/32",
    "host 2001:db8::1 and tcp",
    "portrange 1000-2000",
    "vlan",
    "vlan 100 and ip",
    "vlan and vlan and tcp port 80",
    "mpls",
    "mpls 1000 and ip",
    "pppoes and ip",
    "geneve",
    "ether host 00:01:02:03:04:05",
    "ether multicast",
    "ip broadcast",
    "ip multicast",
    "ip6 multicast",
    "less 100",
    "greater 200",
    "len > 64 and len < 300",
    "ip[0] & 0xf != 5",
    "ip[6:2] & 0x1fff != 0",
    "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0",
    "tcp[tcpflags] & tcp-ack = tcp-ack and tcp[13] != 16",
    "tcp port 80 and (((ip[2:2] - ((ip[0]&0xf)<<2)) - ((tcp[12]&0xf0)>>2)) != 0)",
    "icmp[icmptype] = icmp-echo",
    "icmp6 and ip6[40] == 128",
    "ip proto 47",
    "ip6 protochain 6",
    "ip protochain 17",
    "sctp or esp or ah",
    "ether[0] * 3 + ether[1] / 2 > 100",
    "ether[0] % 7 = 3",
    "ether[2] ^ ether[3] = 0",
    "(ether[0] | ether[1]) << 2 >= 128",
    "ether[0:4] >> ether[4] = 1",
    "ether[0] << ether[1] > 9",
    "ether[0] / ether[1] = 2",
    "-ether[0] < 10",
    "ether[len - 4] = 7",
    "ether[12:2] = 0x86dd",
    "ether proto 0x88cc",
    "llc",
    "ether[ether[14] & 31] = 0",
];

/// A random number generator with a seed, to repeat failures.
#[derive(Clone)]
pub struct Numbers(pub u64);

impl Numbers {
    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    /// Random bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.below(256) as u8).collect()
    }
}

/// Headers that the expressions test, in random combinations, lengths and offsets.
pub fn random_packet(numbers: &mut Numbers) -> Vec<u8> {
    let length = numbers.below(120) as usize;
    let mut packet = numbers.bytes(length);
    if numbers.below(4) == 0 {
        packet.iter_mut().for_each(|byte| *byte &= 7);
    }
    let mut set = |at: usize, bytes: &[u8]| {
        if let Some(slot) = packet.get_mut(at..at + bytes.len()) {
            slot.copy_from_slice(bytes);
        }
    };
    let types = [[8, 0], [0x86, 0xdd], [0x81, 0], [0x88, 0x47], [0x88, 0x64], [8, 6], [0, 60], [0x88, 0xa8]];
    set(12, &types[numbers.below(8) as usize]);
    set(16, &types[numbers.below(3) as usize]);
    set(14, &[[0x45], [0x46], [0x60], [0x4f]][numbers.below(4) as usize]);
    set(23, &[[6], [17], [1], [47], [58], [132]][numbers.below(6) as usize]);
    set(20, &[[0, 0], [0x40, 0], [0x20, 1]][numbers.below(3) as usize]);
    if numbers.below(2) == 0 {
        set(26, &[10, 0, 0, 1]);
        set(34, &[0, [53, 80, 255][numbers.below(3) as usize], 0, 80]);
        set(22, &[0x20, 1, 0x0d, 0xb8]);
    }
    packet
}
