//! Helpers of the tests of the kernel's programs: both builds (XDP and socket filter), run over frames by `BPF_PROG_TEST_RUN`.
#![allow(dead_code)]

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
};

use tidewire_core::{Endpoint, FlowKey, Vlans};
use tidewire_lab::craft::{ACK, Ip, Tcp, frame, tcp_segment, udp_datagram};
use tidewire_live::{
    kernel::{Kernel, KernelSettings, KernelSocketFilter, KernelXdp},
    sys::bpf::{ARRAY, Map, Program},
};

pub const XDP_DROP: u32 = 1;
pub const XDP_PASS: u32 = 2;

/// Whether bpf(2) is allowed here; says so where it is not.
pub fn allowed() -> bool {
    let map = Map::new(ARRAY, 4, 8, 1);
    if let Err(error) = &map {
        println!("skipped: bpf(2) is not allowed here ({error}); needs CAP_BPF and CAP_NET_ADMIN");
    }
    map.is_ok()
}

/// The programs, in one of their two builds.
pub struct Loaded {
    pub kernel: Arc<Kernel>,
    pub program: Program,
    pub is_xdp: bool,
}

impl Loaded {
    pub fn new(is_xdp: bool, settings: &KernelSettings) -> Self {
        let kernel = if is_xdp {
            Arc::clone(KernelXdp::load(settings).expect("loads").kernel())
        } else {
            Arc::clone(KernelSocketFilter::load(settings).expect("loads").kernel())
        };
        let program = Program::from_descriptor(kernel.entry().unwrap().try_clone_to_owned().unwrap());
        Self { kernel, program, is_xdp }
    }

    pub fn both(settings: &KernelSettings) -> [Self; 2] {
        [true, false].map(|is_xdp| Self::new(is_xdp, settings))
    }

    /// Whether the packet is delivered.
    pub fn passes(&self, frame: &[u8]) -> bool {
        // A test run passes a socket filter the bytes behind an Ethernet header, so the frame gets a second one.
        let before: &[u8] = if self.is_xdp { &[] } else { &[0; 14] };
        let returned = self.program.run(&[before, frame].concat()).unwrap();
        match (self.is_xdp, returned) {
            (true, XDP_PASS) | (false, u32::MAX) => true,
            (true, XDP_DROP) | (false, 0) => false,
            _ => panic!("returned {returned}"),
        }
    }

    /// Checks that every packet is counted in exactly one place.
    pub fn conserves(&self) {
        let counters = self.kernel.counters();
        assert_eq!(counters.received, counters.accounted(), "{counters:?}");
    }
}

pub fn small() -> KernelSettings {
    KernelSettings::default().with_flows_v4(1024).with_flows_v6(1024)
}

/// Address `host` of one side.
pub fn address(is_v6: bool, host: u32) -> IpAddr {
    if is_v6 {
        Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, (host >> 16) as u16, host as u16).into()
    } else {
        Ipv4Addr::from_bits(0x0a4d_0000 + host).into()
    }
}

/// A flow from host 1 to host 2.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    pub is_v6: bool,
    pub proto: u8,
    pub ports: (u16, u16),
    pub vlan: [u16; 2],
}

impl Flow {
    pub fn tcp(is_v6: bool, port: u16) -> Self {
        Self { is_v6, proto: 6, ports: (port, 80), vlan: [0xffff; 2] }
    }

    pub fn key(&self) -> FlowKey {
        let client = Endpoint { address: address(self.is_v6, 1), port: self.ports.0 };
        let server = Endpoint { address: address(self.is_v6, 2), port: self.ports.1 };
        let mut key = FlowKey::new(client, server, self.proto);
        key.vlans = Vlans::from_raw(self.vlan);
        key
    }

    /// A packet of the client.
    pub fn packet(&self, flags: u8, seq: u32, payload: &[u8]) -> Vec<u8> {
        let ip = Ip::new(address(self.is_v6, 1), address(self.is_v6, 2));
        let data = match self.proto {
            6 => {
                let (source_port, destination_port) = self.ports;
                let tcp = Tcp { source_port, destination_port, seq, flags, ..Tcp::default() };
                tcp_segment(&ip, &tcp, payload)
            }
            17 => udp_datagram(&ip, self.ports, payload),
            _ => {
                let [[a, b], [c, d]] = [self.ports.0, self.ports.1].map(u16::to_be_bytes);
                [&[a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0], payload].concat()
            }
        };
        let mut frame = frame(&ip, self.proto, &data, None);
        for id in self.vlan.iter().rev().filter(|id| **id != 0xffff) {
            let [high, low] = id.to_be_bytes();
            frame.splice(12..12, [0x81, 0, high, low]);
        }
        frame
    }

    pub fn data(&self, seq: u32, payload: &[u8]) -> Vec<u8> {
        self.packet(ACK, seq, payload)
    }
}
