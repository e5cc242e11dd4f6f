//! A machine for the eBPF that the code generator writes: every access is checked, and anything else it does not know.

use std::collections::HashMap;

use tidewire_steer::STATE_BYTES;
use tidewire_steer::bpf::{Code, DROPPED_BYTES, Hook, Instruction, MapUse, dropped};

use super::packets::Made;

const CONTEXT: u64 = 1 << 40;
const STACK: u64 = 2 << 40;
const PACKET: u64 = 3 << 40;
const STATE: u64 = 4 << 40;
const REMEMBERED: u64 = 5 << 40;
const DROPPED: u64 = 6 << 40;
/// 8 bytes before the packet.
const META: u64 = PACKET - 8;
/// The clock's time.
pub const TIME: u64 = 0x0123_4567_89ab_cdef;
const STACK_BYTES: usize = 512;
/// As a socket's fan-out program gets a frame: its data begins behind the Ethernet header.
const ETHERNET_BYTES: u64 = 14;

/// A loaded program with its maps.
pub struct Machine {
    hook: Hook,
    instructions: Vec<Instruction>,
    pub state: Vec<u8>,
    pub datagrams: HashMap<u64, u64>,
    dropped: Vec<u8>,
    /// The processor that it runs on.
    pub processor: u32,
    /// The last lookup's value.
    remembered: [u8; 8],
    /// The last redirect: index and flags.
    pub redirected: Option<(u64, u64)>,
    /// Whether there is room for metadata, and what was written there.
    pub has_metadata: bool,
    pub stamp: Option<u64>,
    /// Whether a redirect finds a socket.
    pub has_socket: bool,
    /// The place of the program that was gone on in; nothing is there, so the jump comes back.
    pub jumped: Option<u64>,
    /// The packet's bytes that lie in its linear part; the others only one helper reaches.
    pub linear_bytes: usize,
    /// Where the packet's data begins: behind the Ethernet header, but not for a socket's filter.
    pub data_at: u64,
    /// A tag that was taken out.
    pub vlan_tag: Option<u16>,
    /// Instructions run so far.
    pub steps: u64,
}

impl Machine {
    pub fn new(hook: Hook, code: &Code) -> Self {
        let instructions = code.instructions(|map| match map {
            MapUse::State => 3,
            MapUse::Datagrams => 4,
            MapUse::Sockets => 5,
            MapUse::Programs => 6,
            MapUse::Dropped => 7,
        });
        Self {
            hook,
            instructions,
            state: vec![0; STATE_BYTES],
            datagrams: HashMap::new(),
            dropped: vec![0; DROPPED_BYTES],
            processor: 0,
            remembered: [0; 8],
            redirected: None,
            has_metadata: true,
            stamp: None,
            has_socket: true,
            jumped: None,
            linear_bytes: usize::MAX,
            data_at: ETHERNET_BYTES,
            vlan_tag: None,
            steps: 0,
        }
    }

    /// Runs it over one packet.
    pub fn run(&mut self, packet: &Made) -> u32 {
        let mut stack = [0xee_u8; STACK_BYTES];
        let mut r = [0_u64; 11];
        (r[1], r[10]) = (CONTEXT, STACK + STACK_BYTES as u64);
        let mut next = 0;
        loop {
            let i = self.instructions[next];
            self.steps += 1;
            next += 1;
            let (to, from) = (usize::from(i.to), usize::from(i.from));
            let number = i64::from(i.number) as u64;
            let right = if i.code & 8 != 0 { r[from] } else { number };
            match i.code & 7 {
                0 if i.code == 0x18 => {
                    let high = self.instructions[next].number as u32;
                    next += 1;
                    r[to] = match i.from {
                        0 => u64::from(i.number as u32) | u64::from(high) << 32,
                        1 => number,
                        2 => match i.number {
                            3 => STATE + u64::from(high),
                            7 => DROPPED + u64::from(high),
                            other => panic!("map {other} has not one value"),
                        },
                        kind => panic!("a load of kind {kind}"),
                    };
                }
                1 => r[to] = self.load(r[from].wrapping_add(i.offset as u64), size(i.code), packet, &stack),
                3 if i.code == 0xdb => {
                    let address = r[to].wrapping_add(i.offset as u64);
                    let (map, base) =
                        if address >= DROPPED { (&mut self.dropped, DROPPED) } else { (&mut self.state, STATE) };
                    let at = usize::try_from(address - base).unwrap();
                    let cell: [u8; 8] = map[at..at + 8].try_into().unwrap();
                    let was = u64::from_ne_bytes(cell);
                    map[at..at + 8].copy_from_slice(&was.wrapping_add(r[from]).to_ne_bytes());
                    match i.number {
                        0 => {}
                        1 => r[from] = was,
                        other => panic!("atomic {other}"),
                    }
                }
                3 if r[to] == META => {
                    assert_eq!((i.offset, size(i.code)), (0, 8));
                    self.stamp = Some(r[from]);
                }
                3 => {
                    let at = r[to].wrapping_add(i.offset as u64) - STACK;
                    let (at, bytes) = (at as usize, size(i.code));
                    assert_eq!(bytes, 8, "slots have 8 bytes");
                    stack[at..at + 8].copy_from_slice(&r[from].to_ne_bytes());
                }
                4 if i.code == 0xdc => {
                    r[to] = match i.number {
                        16 => u64::from((r[to] as u16).to_be()),
                        32 => u64::from((r[to] as u32).to_be()),
                        64 => r[to].to_be(),
                        other => panic!("{other} bits"),
                    }
                }
                4 => {
                    let (left, right) = (r[to] as u32, right as u32);
                    r[to] = u64::from(match i.code & 0xf0 {
                        0x90 => left.checked_rem(right).unwrap_or(left),
                        0xb0 => right,
                        other => panic!("32-bit operation {other:#x}"),
                    });
                }
                7 => r[to] = alu(i.code & 0xf0, r[to], right),
                5 if i.code == 0x95 => return r[0] as u32,
                5 if i.code == 0x85 => {
                    r[0] = self.call(i.number, &r, packet, &mut stack);
                    r[1..6].fill(0xdead_dead_dead_dead);
                }
                5 => {
                    assert!(i.offset >= 0, "jumps lead forwards");
                    if holds(i.code & 0xf0, r[to], right) {
                        next += i.offset as usize;
                    }
                }
                other => panic!("class {other}"),
            }
        }
    }

    /// Frames that the program counted as dropped.
    pub fn dropped(&self) -> u64 {
        dropped(self.dropped.chunks(8).map(number))
    }

    fn load(&self, address: u64, bytes: usize, packet: &Made, stack: &[u8; STACK_BYTES]) -> u64 {
        let at = (address & ((1 << 40) - 1)) as usize;
        match address >> 40 << 40 {
            CONTEXT => self.context(at, bytes, packet),
            STACK => number(&stack[at..at + bytes]),
            PACKET => number(&packet.frame[at..at + bytes]),
            REMEMBERED => number(&self.remembered[at..at + bytes]),
            _ => panic!("a load at {address:#x}"),
        }
    }

    fn context(&self, at: usize, bytes: usize, packet: &Made) -> u64 {
        assert_eq!(bytes, 4);
        match (self.hook, at) {
            (Hook::Xdp, 0) => PACKET,
            (Hook::Xdp, 4) => PACKET + packet.frame.len() as u64,
            (Hook::Xdp, 8) => META,
            (Hook::Xdp, 16) => packet.rx_queue.unwrap_or(0).into(),
            (Hook::Socket, 0) => packet.frame.len() as u64,
            (Hook::Socket, 4) => 0,
            (Hook::Socket, 12) => packet.rx_queue.map_or(0, |queue| queue + 1).into(),
            (Hook::Socket, 20) => self.vlan_tag.is_some().into(),
            (Hook::Socket, 24) => self.vlan_tag.unwrap_or(0).into(),
            (Hook::Socket, 68) => packet.rss_hash.unwrap_or(0).into(),
            (hook, at) => panic!("{hook:?} reads {at} of its context"),
        }
    }

    fn call(&mut self, helper: i32, r: &[u64; 11], packet: &Made, stack: &mut [u8; STACK_BYTES]) -> u64 {
        let stack_at = |address: u64| (address - STACK) as usize;
        let key = |address: u64, stack: &[u8; STACK_BYTES]| number(&stack[stack_at(address)..stack_at(address) + 8]);
        match (helper, self.hook) {
            (1, _) => match self.datagrams.get(&key(r[2], stack)) {
                Some(value) if r[1] == 4 => {
                    self.remembered = value.to_ne_bytes();
                    REMEMBERED
                }
                _ => 0,
            },
            (2, _) => {
                assert_eq!((r[1], r[4]), (4, 0));
                self.datagrams.insert(key(r[2], stack), key(r[3], stack));
                0
            }
            (26 | 68, Hook::Socket) => {
                assert_eq!(r[1], CONTEXT);
                let linear = self.linear_bytes.min(packet.frame.len());
                let (end, base) = if helper == 68 { (linear, 0) } else { (packet.frame.len(), self.data_at) };
                let (from, bytes) = ((r[2] as u32 as u64 + base) as usize, r[4] as usize);
                let to = stack_at(r[3]);
                stack[to..to + bytes].fill(0);
                if from + bytes > end {
                    return u64::MAX;
                }
                stack[to..to + bytes].copy_from_slice(&packet.frame[from..from + bytes]);
                0
            }
            (51, Hook::Xdp) => {
                assert_eq!(r[1], 5);
                self.redirected = Some((r[2], r[3]));
                if self.has_socket { 4 } else { r[3] }
            }
            (5, Hook::Xdp) => TIME,
            (8, Hook::Socket) => self.processor.into(),
            (54, Hook::Xdp) => {
                assert_eq!((r[1], r[2] as i64), (CONTEXT, -8));
                if self.has_metadata { 0 } else { u64::MAX }
            }
            (12, _) => {
                assert_eq!((r[1], r[2]), (CONTEXT, 6));
                self.jumped = Some(r[3]);
                u64::MAX
            }
            (helper, hook) => panic!("{hook:?} calls helper {helper}"),
        }
    }
}

fn size(code: u8) -> usize {
    match code & 0x18 {
        0x10 => 1,
        0x08 => 2,
        0x00 => 4,
        _ => 8,
    }
}

/// A number in the machine's byte order.
fn number(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => a.into(),
        [a, b] => u16::from_ne_bytes([a, b]).into(),
        [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
        _ => u64::from_ne_bytes(bytes.try_into().unwrap()),
    }
}

fn alu(operation: u8, left: u64, right: u64) -> u64 {
    match operation {
        0x00 => left.wrapping_add(right),
        0x10 => left.wrapping_sub(right),
        0x20 => left.wrapping_mul(right),
        0x40 => left | right,
        0x50 => left & right,
        0x60 => left << (right & 63),
        0x70 => left >> (right & 63),
        0x90 => left.checked_rem(right).unwrap_or(left),
        0xa0 => left ^ right,
        0xb0 => right,
        other => panic!("operation {other:#x}"),
    }
}

fn holds(condition: u8, left: u64, right: u64) -> bool {
    match condition {
        0x00 => true,
        0x10 => left == right,
        0x20 => left > right,
        0x30 => left >= right,
        0x40 => left & right != 0,
        0x50 => left != right,
        0xa0 => left < right,
        0xb0 => left <= right,
        other => panic!("condition {other:#x}"),
    }
}
