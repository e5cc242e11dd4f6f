//! Small synthetic captures, and runs of the command over them.
#![allow(dead_code)]

use std::{
    io::Write as _,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
};

use serde_json::Value;
use tempfile::TempDir;
use tidewire_live::sys::net::own_namespace;
use tidewire_testing::{Ends as _, InTime as _, missing};
pub use tidewire_types::tcp_flag::{ACK, FIN, PSH, SYN};

/// Runs `test` in a private network namespace with the loopback interface up; skips it without privileges.
pub fn alone(test: fn()) {
    if let Some(reason) = missing(&["ip"]) {
        return println!("skipped: {reason}");
    }
    let run = move || {
        if let Err(error) = tidewire_testing::privileged(own_namespace) {
            println!("skipped: no network namespace of our own: {error}");
            return;
        }
        let up = Command::new("ip").args(["link", "set", "lo", "up"]).status_in_time();
        assert!(up.expect("ip runs").success());
        test();
    };
    if let Err(panic) = thread::spawn(run).join() {
        std::panic::resume_unwind(panic);
    }
}

/// A directory of captures for one test.
pub struct Bench {
    pub directory: TempDir,
}

impl Bench {
    pub fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file and gives its path as text.
    pub fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

/// The command, with a private environment.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidewire"));
    command.args(arguments).env_remove("COLUMNS").env("TZ", "UTC").stdin(Stdio::null());
    command
}

pub fn run(arguments: &[&str]) -> Output {
    command(arguments).run_in_time().unwrap()
}

/// Standard output and exit code.
pub fn text(arguments: &[&str]) -> (String, i32) {
    let output = run(arguments);
    (String::from_utf8(output.stdout).unwrap(), output.status.code().unwrap())
}

/// Standard error and exit code.
pub fn complaint(arguments: &[&str]) -> (String, i32) {
    let output = run(arguments);
    (String::from_utf8(output.stderr).unwrap(), output.status.code().unwrap())
}

/// Every line of standard output as JSON; the run must succeed.
pub fn json(arguments: &[&str]) -> Vec<Value> {
    let output = run(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    lines(&output.stdout)
}

pub fn lines(text: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// Runs with `input` on standard input.
pub fn piped(arguments: &[&str], input: &[u8]) -> Output {
    let mut child =
        command(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.output_in_time("the command")
}

/// A pcap file under construction: Ethernet, microseconds, a packet each millisecond.
pub struct Pcap {
    bytes: Vec<u8>,
    pub packets: u32,
}

impl Pcap {
    pub fn new() -> Self {
        let mut bytes = Vec::new();
        for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 262_144, 1] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        Self { bytes, packets: 0 }
    }

    pub fn frame(&mut self, frame: &[u8]) {
        self.frame_at(1_700_000_000_000_000 + u64::from(self.packets) * 1000, frame);
    }

    pub fn frame_at(&mut self, microseconds: u64, frame: &[u8]) {
        let length = frame.len() as u32;
        for word in [(microseconds / 1_000_000) as u32, (microseconds % 1_000_000) as u32, length, length] {
            self.bytes.extend_from_slice(&word.to_le_bytes());
        }
        self.bytes.extend_from_slice(frame);
        self.packets += 1;
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

fn sum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0_u32;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// An Ethernet frame with an IPv4 packet; `fragment` is the field of flags and offset.
pub fn ipv4(source: Ipv4Addr, destination: Ipv4Addr, proto: u8, id: u16, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let mut header = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, proto, 0, 0];
    header[2..4].copy_from_slice(&(20 + payload.len() as u16).to_be_bytes());
    header[4..6].copy_from_slice(&id.to_be_bytes());
    header[6..8].copy_from_slice(&fragment.to_be_bytes());
    header.extend_from_slice(&source.octets());
    header.extend_from_slice(&destination.octets());
    let checksum = sum(&[&header]);
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    frame.extend_from_slice(&header);
    frame.extend_from_slice(payload);
    frame
}

fn pseudo(source: Ipv4Addr, destination: Ipv4Addr, proto: u8, length: usize) -> Vec<u8> {
    let mut pseudo = [source.octets(), destination.octets()].concat();
    pseudo.extend_from_slice(&[0, proto]);
    pseudo.extend_from_slice(&(length as u16).to_be_bytes());
    pseudo
}

/// A UDP packet's bytes from its header on.
pub fn udp(source: Ipv4Addr, destination: Ipv4Addr, ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let mut packet = [ports.0.to_be_bytes(), ports.1.to_be_bytes(), (8 + payload.len() as u16).to_be_bytes()].concat();
    packet.extend_from_slice(&[0, 0]);
    packet.extend_from_slice(payload);
    let checksum = sum(&[&pseudo(source, destination, 17, packet.len()), &packet]);
    packet[6..8].copy_from_slice(&checksum.to_be_bytes());
    packet
}

/// An ICMP message's bytes.
pub fn icmp(kind: u8, code: u8, rest: &[u8]) -> Vec<u8> {
    let mut packet = vec![kind, code, 0, 0];
    packet.extend_from_slice(rest);
    let checksum = sum(&[&packet]);
    packet[2..4].copy_from_slice(&checksum.to_be_bytes());
    packet
}

/// Two hosts of a TCP connection: sequence numbers follow from their data.
pub struct Talk {
    pub client: (Ipv4Addr, u16),
    pub server: (Ipv4Addr, u16),
    next: [u32; 2],
    vlan: Option<u16>,
}

impl Talk {
    pub fn new(port: u16) -> Self {
        let client = (Ipv4Addr::new(192, 0, 2, 1), port);
        Self { client, server: (Ipv4Addr::new(198, 51, 100, 2), 80), next: [1000, 0xffff_fff0], vlan: None }
    }

    pub fn vlan(mut self, id: u16) -> Self {
        self.vlan = Some(id);
        self
    }

    /// One segment, wherever it is in the sequence.
    pub fn segment(&self, pcap: &mut Pcap, from_server: bool, sequence: u32, flags: u8, payload: &[u8]) {
        let (from, to) = if from_server { (self.server, self.client) } else { (self.client, self.server) };
        let acknowledged = if flags & ACK != 0 { self.next[usize::from(!from_server)] } else { 0 };
        let mut segment = [from.1.to_be_bytes(), to.1.to_be_bytes()].concat();
        segment.extend_from_slice(&sequence.to_be_bytes());
        segment.extend_from_slice(&acknowledged.to_be_bytes());
        segment.extend_from_slice(&[5 << 4, flags, 0xfa, 0xf0, 0, 0, 0, 0]);
        segment.extend_from_slice(payload);
        let checksum = sum(&[&pseudo(from.0, to.0, 6, segment.len()), &segment]);
        segment[16..18].copy_from_slice(&checksum.to_be_bytes());
        let mut frame = ipv4(from.0, to.0, 6, 1, 0x4000, &segment);
        if let Some(id) = self.vlan {
            frame.splice(12..12, [0x81, 0, (id >> 8) as u8, id as u8]);
        }
        pcap.frame(&frame);
    }

    pub fn handshake(&mut self, pcap: &mut Pcap) {
        self.segment(pcap, false, self.next[0], SYN, b"");
        self.next[0] = self.next[0].wrapping_add(1);
        self.segment(pcap, true, self.next[1], SYN | ACK, b"");
        self.next[1] = self.next[1].wrapping_add(1);
        self.segment(pcap, false, self.next[0], ACK, b"");
    }

    pub fn say(&mut self, pcap: &mut Pcap, from_server: bool, payload: &[u8]) {
        self.segment(pcap, from_server, self.next[usize::from(from_server)], PSH | ACK, payload);
        self.skip(from_server, payload.len());
    }

    /// Bytes that were sent but not captured.
    pub fn skip(&mut self, from_server: bool, bytes: usize) {
        let next = &mut self.next[usize::from(from_server)];
        *next = next.wrapping_add(bytes as u32);
    }

    /// The next sequence number of a side.
    pub fn sequence(&self, from_server: bool) -> u32 {
        self.next[usize::from(from_server)]
    }

    pub fn goodbye(&mut self, pcap: &mut Pcap) {
        self.segment(pcap, false, self.next[0], FIN | ACK, b"");
        self.skip(false, 1);
        self.segment(pcap, true, self.next[1], FIN | ACK, b"");
        self.skip(true, 1);
        self.segment(pcap, false, self.next[0], ACK, b"");
    }
}

/// One conversation from handshake to end.
pub fn conversation(pcap: &mut Pcap, port: u16, said: &[(bool, &[u8])]) {
    let mut talk = Talk::new(port);
    talk.handshake(pcap);
    for (from_server, payload) in said {
        talk.say(pcap, *from_server, payload);
    }
    talk.goodbye(pcap);
}

/// A capture with something of everything: TCP with a gap and a conflict, VLAN, UDP, ICMP, fragments, ARP.
pub fn mixed() -> Pcap {
    let mut pcap = Pcap::new();
    let (a, b) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(198, 51, 100, 2));
    conversation(&mut pcap, 40_000, &[(false, b"GET / HTTP/1.0\r\n\r\n"), (true, b"HTTP/1.0 200 OK\r\n\r\nhello")]);
    let mut talk = Talk::new(40_001).vlan(100);
    talk.handshake(&mut pcap);
    talk.say(&mut pcap, false, b"one ");
    talk.skip(false, 4);
    talk.say(&mut pcap, false, b"three");
    talk.say(&mut pcap, true, b"fine");
    talk.goodbye(&mut pcap);
    pcap.frame(&ipv4(a, b, 17, 2, 0, &udp(a, b, (5000, 53), b"question")));
    pcap.frame(&ipv4(b, a, 17, 3, 0, &udp(b, a, (53, 5000), b"answer")));
    pcap.frame(&ipv4(a, b, 1, 4, 0, &icmp(8, 0, &[0, 7, 0, 1, 1, 2, 3, 4])));
    pcap.frame(&ipv4(b, a, 1, 5, 0, &icmp(0, 0, &[0, 7, 0, 1, 1, 2, 3, 4])));
    let datagram = udp(a, b, (6000, 7), &[b'x'; 40]);
    pcap.frame(&ipv4(a, b, 17, 77, 0x2000, &datagram[..24]));
    pcap.frame(&ipv4(a, b, 17, 77, 3, &datagram[24..]));
    pcap.frame(&ipv4(a, b, 17, 78, 0x2000, &datagram[..24]));
    pcap.frame(&[&[0xff; 6][..], &[2, 0, 0, 0, 0, 1, 8, 6], &[0, 1, 8, 0, 6, 4, 0, 1], &[0; 20]].concat());
    pcap
}

/// Names of an object's members, in order.
pub fn names(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// The lines of a file as JSON.
pub fn file_lines(path: &Path) -> Vec<Value> {
    lines(&std::fs::read(path).unwrap())
}
