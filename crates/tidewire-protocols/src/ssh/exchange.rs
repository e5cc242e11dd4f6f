//! Identification and key exchange of both sides.

use md5::{Digest as _, Md5};
use tidewire_types::Timestamp;

use crate::{
    fields::Ssh,
    input::{Input, Progress},
    line::Line,
    reader::Reader,
    text::{hex, text, until_nul},
    transaction::{Fields, Transaction},
    value::Service,
    work,
};

/// Most bytes of a line before the key exchange that are kept; an identification has 255 at most (RFC 4253 section 4.2).
const LINE_BYTES_MAX: usize = 1024;

/// Bytes that a server may send before its identification, in lines of any length.
const LINES_BYTES_MAX: u32 = 32 << 10;

/// Longest packet that is read; every host accepts 35000 bytes (RFC 4253 section 6.1).
const PACKET_BYTES_MAX: usize = 35_000;

const KEXINIT: u8 = 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    Lines,
    Packets,
    Done,
}

#[derive(Debug, Default)]
struct Side {
    at: At,
    /// Bytes of lines so far.
    line_bytes: u32,
    line: Line,
    /// The packet that is not complete.
    kept: Vec<u8>,
}

#[derive(Debug, Default)]
pub(crate) struct Exchange {
    sides: [Side; 2],
    ssh: Box<Ssh>,
    start_ns: Option<u64>,
    end_ns: u64,
}

type Out<'a> = &'a mut dyn FnMut(Transaction);

impl Exchange {
    pub(crate) fn data(&mut self, input: Input<'_>, out: Out<'_>) -> Progress {
        let mut side = std::mem::take(&mut self.sides[input.side]);
        if side.at != At::Done {
            self.start_ns.get_or_insert(input.ns);
            self.end_ns = input.ns;
        }
        let mut bytes = input.bytes;
        while !bytes.is_empty() && side.at != At::Done {
            match side.at {
                At::Lines => self.line(input.side, &mut side, &mut bytes),
                _ => self.packet(input.side, &mut side, &mut bytes),
            }
        }
        self.sides[input.side] = side;
        self.end_if_read(out)
    }

    pub(crate) fn gap(&mut self, side: usize, out: Out<'_>) -> Progress {
        self.sides[side] = Side { at: At::Done, ..Side::default() };
        self.end_if_read(out)
    }

    pub(crate) fn finish(&mut self, out: Out<'_>) {
        let Some(start_ns) = self.start_ns.take() else { return };
        let ssh = std::mem::take(&mut self.ssh);
        if ssh.client_version.is_some() || ssh.server_version.is_some() {
            out(Transaction {
                start: Timestamp::from_nanos(start_ns),
                end: Timestamp::from_nanos(self.end_ns),
                service: Service::Ssh,
                fields: Fields::Ssh(ssh),
            });
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.sides.iter().map(|side| side.kept.capacity() + side.line.memory_bytes()).sum::<usize>()
            + self.ssh.memory_bytes()
    }

    fn end_if_read(&mut self, out: Out<'_>) -> Progress {
        if self.sides.iter().any(|side| side.at != At::Done) {
            return Progress::More;
        }
        self.finish(out);
        Progress::Done
    }

    /// Takes bytes up to the end of a line.
    fn line(&mut self, from: usize, side: &mut Side, bytes: &mut &[u8]) {
        let before = bytes.len();
        side.line.take_empty(bytes);
        let line = side.line.take(bytes, b'\n', LINE_BYTES_MAX);
        let taken = u32::try_from(before - bytes.len()).unwrap_or(u32::MAX);
        side.line_bytes = side.line_bytes.saturating_add(taken);
        if line.is_some_and(|line| self.identification(from, &line)) {
            side.at = At::Packets;
        } else if side.line_bytes > LINES_BYTES_MAX {
            *side = Side { at: At::Done, ..Side::default() };
        }
    }

    /// `SSH-protoversion-softwareversion SP comments` (RFC 4253 section 4.2).
    fn identification(&mut self, from: usize, line: &[u8]) -> bool {
        let Some(rest) = line.strip_prefix(b"SSH-").map(until_nul) else { return false };
        let mut parts = rest.splitn(2, |&byte| byte == b'-');
        let version = parts.next().map(text);
        let software = parts.next().map(text);
        match from {
            0 => (self.ssh.client_version, self.ssh.client_software) = (version, software),
            _ => (self.ssh.server_version, self.ssh.server_software) = (version, software),
        }
        true
    }

    /// Takes bytes up to the end of a packet (RFC 4253 section 6): only the first one is read, which begins the key exchange.
    fn packet(&mut self, from: usize, side: &mut Side, bytes: &mut &[u8]) {
        let wanted = match side.kept.first_chunk::<4>() {
            None => 4,
            Some(&length) => 4 + u32::from_be_bytes(length) as usize,
        };
        if wanted > PACKET_BYTES_MAX {
            *side = Side { at: At::Done, ..Side::default() };
            return;
        }
        let part = bytes.len().min(wanted - side.kept.len());
        side.kept.extend_from_slice(&bytes[..part]);
        work::pass(part);
        *bytes = &bytes[part..];
        // The length alone is no packet yet.
        if side.kept.len() == wanted && (wanted > 4 || side.kept == [0; 4]) {
            work::pass(side.kept.len());
            let fingerprint = fingerprint(&side.kept, from);
            match from {
                0 => self.ssh.hassh = fingerprint,
                _ => self.ssh.hassh_server = fingerprint,
            }
            *side = Side { at: At::Done, ..Side::default() };
        }
    }
}

/// HASSH: MD5 over the names of key exchange, cipher, MAC and compression in the direction from this side.
fn fingerprint(packet: &[u8], from: usize) -> Option<Box<str>> {
    let mut reader = Reader::new(packet);
    reader.take(5)?;
    if reader.u8()? != KEXINIT {
        return None;
    }
    reader.take(16)?;
    let mut lists = [&[][..]; 8];
    for list in &mut lists {
        let length = reader.u32()?;
        *list = reader.take(length as usize)?;
    }
    let [kex, _, ciphers_c2s, ciphers_s2c, macs_c2s, macs_s2c, compression_c2s, compression_s2c] = lists;
    let parts = match from {
        0 => [kex, ciphers_c2s, macs_c2s, compression_c2s],
        _ => [kex, ciphers_s2c, macs_s2c, compression_s2c],
    };
    Some(hex(&Md5::digest(parts.join(&b';'))).into())
}
