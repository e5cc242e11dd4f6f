//! The kinds of a connection's packets, in their order: letters as Zeek's script `base/protocols/quic` writes them.
//!
//! Capitals are the client's: `I` Initial, `H` Handshake, `Z` 0-RTT, `R` Retry, `S` a hello of TLS, `C` CONNECTION_CLOSE in clear text, `U` a
//! version that is not known, `X` no packet of QUIC behind an Initial that was read, `O` short packets at the first, second, fourth, eighth.

use tidewire_types::Timestamp;

use super::{
    frames::Crypto,
    packet::{Initial, Keys, Long, LongPacketKind},
};
use crate::{fields::QuicEntry, tls::ClientHello, work};

/// Most letters of an entry.
const LETTERS_MAX: usize = 100;

/// Most entries of a stream: a peer could send a Retry in each datagram.
const ENTRIES_MAX: usize = 16;

/// Packets of one datagram that are looked at.
const PACKETS_MAX: usize = 16;

/// Most letters `X` of a stream.
const DISCARDED_MAX: u64 = 100;

/// The letters of a stream, fed with its datagrams in their order.
#[derive(Debug, Default)]
pub struct QuicHistory {
    entry: Option<QuicEntry>,
    ended: Vec<QuicEntry>,
    /// Both sides' keys for Initial packets, from the first one of the client on.
    keys: Option<Box<[Keys; 2]>>,
    crypto: [Crypto; 2],
    /// Whether a side's hello was read, or is not to be.
    is_read: [bool; 2],
    short: [u64; 2],
    opened: u64,
    discarded: u64,
    /// A packet could not be read: nothing more is looked at.
    is_over: bool,
}

impl QuicHistory {
    /// Whether the history of a stream may begin with a datagram to a port: by the port, as Zeek decides, or by its first bytes.
    #[must_use]
    pub fn begins(datagram: &[u8], port: u16) -> bool {
        let is_long = datagram.first().is_some_and(|first| first & 0xc0 == 0xc0);
        is_long && (matches!(port, 443 | 784 | 853) || super::packet::is_initial(datagram))
    }

    /// A datagram of the client (0) or the server.
    pub fn datagram(&mut self, side: usize, datagram: &[u8], ns: u64) {
        let mut rest = datagram;
        for _ in 0..PACKETS_MAX {
            let Some(&first) = rest.first().filter(|_| !self.is_over) else { return };
            if first & 0x40 == 0 {
                self.discarded += 1;
                if self.opened > 0 && self.discarded <= DISCARDED_MAX {
                    self.write(side, 'X');
                }
                return;
            }
            if first & 0x80 == 0 {
                self.short[side] += 1;
                if self.short[side].is_power_of_two() {
                    self.write(side, 'O');
                }
                return;
            }
            let Some(packet) = Long::first(rest) else {
                self.is_over = true;
                return;
            };
            rest = packet.behind;
            self.long(side, &packet, ns);
        }
    }

    /// Ends the history: its entries, in their order.
    #[must_use]
    pub fn finish(mut self) -> Vec<QuicEntry> {
        self.end();
        self.ended
    }

    /// Bytes that it holds.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let text = |entry: &QuicEntry| {
            let ids = [&entry.client_dcid, &entry.client_scid, &entry.server_scid];
            let names = [&entry.server_name, &entry.client_protocol];
            size_of::<QuicEntry>()
                + entry.history.capacity()
                + ids.into_iter().flatten().map(|id| id.len()).sum::<usize>()
                + names.into_iter().flatten().map(|name| name.len()).sum::<usize>()
        };
        size_of::<Self>()
            + self.entry.iter().chain(&self.ended).map(text).sum::<usize>()
            + self.crypto.iter().map(Crypto::memory_bytes).sum::<usize>()
            + self.keys.as_ref().map_or(0, |keys| size_of_val(&**keys))
    }

    /// Gives back what hellos that are not complete take: their letters will not be there.
    pub fn release(&mut self) {
        self.is_read = [true; 2];
        self.crypto = Default::default();
        self.keys = None;
    }

    fn write(&mut self, side: usize, letter: char) {
        if let Some(entry) = &mut self.entry
            && entry.history.len() < LETTERS_MAX
        {
            entry.history.push(if side == 0 { letter } else { letter.to_ascii_lowercase() });
        }
    }

    /// Completes the entry.
    fn end(&mut self) {
        self.ended.extend(self.entry.take());
        self.is_over |= self.ended.len() >= ENTRIES_MAX;
    }

    /// The entry, which a packet of most kinds begins and continues.
    fn note(&mut self, side: usize, packet: &Long<'_>, ns: u64) {
        let entry = self.entry.get_or_insert_with(|| QuicEntry {
            start: Timestamp::from_nanos(ns),
            version: packet.version,
            ..QuicEntry::default()
        });
        if side == 0 {
            if !packet.destination.is_empty() {
                entry.client_dcid.get_or_insert_with(|| packet.destination.into());
            }
            entry.client_scid = Some(packet.source.into());
        } else {
            entry.server_scid = Some(packet.source.into());
        }
    }

    fn long(&mut self, side: usize, packet: &Long<'_>, ns: u64) {
        match &packet.kind {
            LongPacketKind::Initial(initial) => {
                self.note(side, packet, ns);
                self.write(side, 'I');
                self.initial(side, initial);
            }
            LongPacketKind::ZeroRtt => {
                self.note(side, packet, ns);
                self.write(side, 'Z');
            }
            LongPacketKind::Handshake => {
                self.note(side, packet, ns);
                self.write(side, 'H');
            }
            LongPacketKind::Retry | LongPacketKind::Unknown => {
                if self.entry.is_none() {
                    self.note(side, packet, ns);
                }
                let is_retry = matches!(packet.kind, LongPacketKind::Retry);
                self.write(side, if is_retry { 'R' } else { 'U' });
                self.end();
                // Keys come from the identifier that the client uses next.
                self.release();
                self.is_read = [false; 2];
                self.is_over |= !is_retry;
            }
        }
    }

    /// Reads an Initial as long as its sender's hello is not complete.
    fn initial(&mut self, side: usize, packet: &Initial<'_>) {
        if self.is_read[side] || side == 1 && self.keys.is_none() {
            return;
        }
        if self.keys.is_none() {
            let keys = [0, 1].map(|side| Keys::of(packet.version, packet.destination, side));
            let [Some(client), Some(server)] = keys else {
                self.is_over = true;
                return;
            };
            self.keys = Some(Box::new([client, server]));
        }
        let mut payload = Vec::new();
        if !self.keys.as_ref().is_some_and(|keys| packet.open(&keys[side], &mut payload)) {
            self.is_over = true;
            return;
        }
        self.opened += 1;
        let frames = self.crypto[side].take(&payload);
        self.hello(side);
        if frames.is_closed {
            self.write(side, 'C');
            self.end();
        }
        self.is_over |= !frames.is_whole;
    }

    /// Reads a side's hello once it is complete.
    fn hello(&mut self, side: usize) {
        let Some(body) = self.crypto[side].message(if side == 0 { 1 } else { 2 }) else { return };
        work::add(body.len());
        if side == 0
            && let (Some(hello), Some(entry)) = (ClientHello::parse(body), &mut self.entry)
        {
            entry.server_name = hello.sni();
            entry.client_protocol = hello.alpn().into_iter().next();
        }
        self.write(side, 'S');
        self.is_read[side] = true;
        self.crypto[side] = Crypto::default();
        if self.is_read == [true; 2] {
            self.keys = None;
        }
    }
}
