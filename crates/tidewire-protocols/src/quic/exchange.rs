//! A connection's beginning: the client's datagrams up to its hello, and the server's first one.

use tidewire_types::Timestamp;

use super::{
    frames::Crypto,
    packet::{self, Initial, Keys},
};
use crate::{
    fields::Quic,
    input::{Input, Progress},
    text::hex,
    tls::{ClientHello, fingerprints, version_name},
    transaction::{Fields, Transaction},
    value::Service,
    work,
};

/// Datagrams of the client that are looked at; a hello with post-quantum keys takes two or three.
const DATAGRAMS_MAX: u8 = 16;

/// Packets of one datagram that are looked at (RFC 9000 section 12.2).
const PACKETS_MAX: usize = 4;

#[derive(Debug, Default)]
pub(crate) struct Exchange {
    keys: Option<Keys>,
    crypto: Crypto,
    quic: Box<Quic>,
    datagrams: u8,
    /// Whether the hello was read, and only the server's identifier is waited for.
    is_read: bool,
    start_ns: u64,
    end_ns: u64,
}

type Out<'a> = &'a mut dyn FnMut(Transaction);

impl Exchange {
    pub(crate) fn data(&mut self, input: Input<'_>, out: Out<'_>) -> Progress {
        if !input.is_datagram {
            return Progress::More;
        }
        if input.side != 0 {
            return self.answer(input.bytes, out);
        }
        self.datagrams += 1;
        let mut rest = input.bytes;
        for _ in 0..PACKETS_MAX {
            let Some((packet, behind)) = packet::first(rest).filter(|_| !self.is_read) else { break };
            rest = behind;
            if self.packet(&packet, input.ns) && self.hello() {
                self.is_read = true;
                self.crypto = Crypto::default();
            }
        }
        if self.is_read && self.quic.server_scid.is_some() {
            self.finish(out);
            return Progress::Done;
        }
        match self.keys {
            // The first packet looked like an Initial, and was not one.
            None => Progress::Mistaken,
            Some(_) if self.datagrams >= DATAGRAMS_MAX => {
                self.finish(out);
                Progress::Done
            }
            Some(_) => Progress::More,
        }
    }

    /// Takes the server's identifier, which its first packets show.
    fn answer(&mut self, datagram: &[u8], out: Out<'_>) -> Progress {
        if self.keys.is_none() {
            return Progress::More;
        }
        let source = packet::source(datagram);
        if let Some(source) = source {
            self.quic.server_scid = Some(hex(source).into());
        }
        // Behind a short packet nothing longer comes.
        if self.is_read && (source.is_some() || packet::is_short(datagram)) {
            self.finish(out);
            return Progress::Done;
        }
        Progress::More
    }

    pub(crate) fn finish(&mut self, out: Out<'_>) {
        let quic = std::mem::take(&mut self.quic);
        if self.keys.take().is_some() {
            let (start_ns, end_ns) = (self.start_ns, self.end_ns);
            out(Transaction {
                start: Timestamp::from_nanos(start_ns),
                end: Timestamp::from_nanos(end_ns),
                service: Service::Quic,
                fields: Fields::Quic(quic),
            });
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Keys>() + self.crypto.memory_bytes() + self.quic.memory_bytes()
    }

    /// Takes the hello's parts out of a packet. Keys come from the first one, or from the first after a Retry.
    fn packet(&mut self, packet: &Initial<'_>, ns: u64) -> bool {
        let mut payload = Vec::new();
        let known = self.keys.as_ref().is_some_and(|keys| packet.open(keys, &mut payload));
        if !known {
            let Some(keys) = Keys::of(packet.version, packet.destination, 0) else { return false };
            if !packet.open(&keys, &mut payload) {
                return false;
            }
            if self.keys.is_none() {
                self.start_ns = ns;
                self.quic.version = Some(packet::version_name(packet.version));
                // Behind a Retry the client uses the identifier that the server chose.
                self.quic.client_dcid = Some(hex(packet.destination).into());
                self.quic.client_scid = Some(hex(packet.source).into());
            }
            self.crypto = Crypto::default();
            self.keys = Some(keys);
        }
        self.end_ns = ns;
        self.crypto.take(&payload);
        true
    }

    /// Reads the hello once it is complete.
    fn hello(&mut self) -> bool {
        let Some(body) = self.crypto.message(1) else { return false };
        work::add(body.len());
        if let Some(hello) = ClientHello::parse(body) {
            self.quic.client_version = Some(version_name(hello.version()));
            self.quic.sni = hello.sni();
            self.quic.client_alpn = hello.alpn();
            (self.quic.ja3, self.quic.ja4) = fingerprints(&hello, b'q').unzip();
        }
        true
    }
}
