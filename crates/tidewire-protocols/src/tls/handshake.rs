//! A handshake in progress.

#[cfg(feature = "certificates")]
use sha2::{Digest as _, Sha256};
use tidewire_types::Timestamp;

#[cfg(feature = "certificates")]
use super::certificate::{self, Chain};
use super::{
    ciphers,
    fingerprint::fingerprints,
    hello::{self, ClientHello, ServerHello},
    old,
    record::{Message, Side},
};
use crate::{
    fields::Tls,
    input::{Input, Progress},
    transaction::{Fields, Transaction},
    value::Service,
    work,
};

/// Most hellos of a server that are read: one that asks for another hello of the client (RFC 8446 section 4.1.4), and its answer to that.
const SERVER_HELLOS_MAX: u8 = 2;

/// Both sides of a handshake in progress.
#[derive(Debug, Default)]
pub(crate) struct Handshake {
    sides: [Side; 2],
    tls: Box<Tls>,
    session: Box<[u8]>,
    /// Whether the server requested another hello of the client.
    is_retried: bool,
    /// Whether the server chose TLS 1.2 or an older version.
    is_old: bool,
    /// Hellos of the server that were read.
    server_hellos: u8,
    /// Whether a side has sent its certificates.
    has_certificates: [bool; 2],
    start_ns: Option<u64>,
    end_ns: u64,
    is_over: bool,
}

type Out<'a> = &'a mut dyn FnMut(Transaction);

impl Handshake {
    pub(crate) fn data(&mut self, input: Input<'_>, out: Out<'_>) -> Progress {
        if !self.sides[input.side].is_reading() {
            return Progress::More;
        }
        self.start_ns.get_or_insert(input.ns);
        self.end_ns = input.ns;
        let mut side = std::mem::take(&mut self.sides[input.side]);
        side.data(input.bytes, &mut |side, message| self.take(input.side, side, message));
        let is_mistaken = side.is_mistaken();
        self.sides[input.side] = side;
        if is_mistaken && self.tls.client_version.is_none() && self.tls.version.is_none() {
            self.is_over = true;
            return Progress::Mistaken;
        }
        self.end_if_read(out)
    }

    pub(crate) fn gap(&mut self, side: usize, out: Out<'_>) -> Progress {
        self.sides[side].lose();
        self.end_if_read(out)
    }

    pub(crate) fn finish(&mut self, out: Out<'_>) {
        let has_hello = self.tls.client_version.is_some() || self.tls.version.is_some();
        if std::mem::replace(&mut self.is_over, true) || !has_hello {
            return;
        }
        if self.is_old {
            self.tls.resumed = self.tls.resumed.map(|is_same_session| self.is_resumed(is_same_session));
        }
        self.tls.established = self.sides.iter().all(Side::is_encrypted);
        let (start_ns, tls) = (self.start_ns.unwrap_or(self.end_ns), std::mem::take(&mut self.tls));
        out(Transaction {
            start: Timestamp::from_nanos(start_ns),
            end: Timestamp::from_nanos(self.end_ns),
            service: Service::Tls,
            fields: Fields::Tls(tls),
        });
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let sides: usize = self.sides.iter().map(Side::memory_bytes).sum();
        size_of::<Self>() + sides + self.tls.memory_bytes() + self.session.len()
    }

    /// Whether a handshake of TLS 1.2 or older is an abbreviated one (RFC 5246 section 7.3, RFC 5077 section 3.1): behind its hello the server
    /// sends nothing that only a full one has. The session's number says it only where the rest is not seen: a ticket may be accepted without
    /// one, and a server may repeat one and send its certificate all the same.
    fn is_resumed(&self, is_same_session: bool) -> bool {
        // Certificate, ServerKeyExchange, CertificateRequest, ServerHelloDone.
        let is_full = self.sides[1].has_seen(&[11, 12, 13, 14]);
        !is_full && (is_same_session || self.sides[1].is_changed())
    }

    fn end_if_read(&mut self, out: Out<'_>) -> Progress {
        if self.sides.iter().any(Side::is_reading) {
            return Progress::More;
        }
        self.finish(out);
        Progress::Done
    }

    /// A message of the handshake, or an alert.
    fn take(&mut self, from: usize, side: &mut Side, message: Message<'_>) {
        match message {
            // The first hello is the one that shows the client.
            Message::Handshake(1, body) if from == 0 && self.tls.client_version.is_none() => {
                work::add(body.len());
                if let Some(hello) = ClientHello::parse(body) {
                    self.session = hello.session.into();
                    take_client(&mut self.tls, &hello);
                }
            }
            Message::Handshake(2, body) if from == 1 && self.server_hellos < SERVER_HELLOS_MAX => {
                work::add(body.len());
                self.server_hellos += 1;
                if let Some(hello) = ServerHello::parse(body) {
                    take_server(&mut self.tls, &hello, &self.session);
                    self.is_old = hello.version < 0x0304;
                    if hello.is_retry {
                        self.is_retried = true;
                        self.sides[0].expect_more();
                        side.expect_more();
                    }
                }
            }
            Message::Handshake(11, body) => self.certificates(from, body),
            Message::Handshake(..) => {}
            Message::Old(kind, body) => self.take_old(from, kind, body),
            Message::Alert(description) => {
                self.tls.alert.get_or_insert(description);
            }
        }
    }

    /// Reads the first message of certificates of a side; a handshake has no other one. Further ones are counted: to read them costs much,
    /// and a side that sends them again and again loses nothing.
    fn certificates(&mut self, from: usize, body: &[u8]) {
        if std::mem::replace(&mut self.has_certificates[from], true) {
            self.tls.certificates_repeated = self.tls.certificates_repeated.saturating_add(1);
            return;
        }
        work::add(body.len());
        self.take_certificates(from, body);
    }

    /// A hello of SSL 2.0.
    fn take_old(&mut self, from: usize, kind: u8, body: &[u8]) {
        match (from, kind) {
            (0, old::CLIENT_HELLO) => {
                // Fingerprints are of later hellos only.
                let version = old::client_version(body).map(hello::version_name);
                self.tls.client_version = self.tls.client_version.take().or(version);
            }
            (1, old::SERVER_HELLO) => {
                self.tls.version = Some(hello::version_name(0x0002));
                self.take_old_certificate(body);
            }
            _ => {}
        }
    }

    #[cfg(feature = "certificates")]
    fn take_old_certificate(&mut self, body: &[u8]) {
        if let Some(der) = old::server_certificate(body) {
            self.tls.certificates = 1;
            let sha256 = Sha256::digest(der).into();
            self.tls.certificate = Some(certificate::read(der, Some(&sha256)));
            self.tls.chains[1] = vec![sha256];
        }
    }

    #[cfg(not(feature = "certificates"))]
    fn take_old_certificate(&mut self, _: &[u8]) {}

    #[cfg(feature = "certificates")]
    fn take_certificates(&mut self, from: usize, body: &[u8]) {
        let Some(chain) = Chain::read(body) else { return };
        if from == 1 {
            self.tls.certificates = chain.count;
            self.tls.certificate = chain.first.map(|der| certificate::read(der, chain.sha256.first()));
        }
        self.tls.chains[from] = chain.sha256;
    }

    #[cfg(not(feature = "certificates"))]
    fn take_certificates(&mut self, _: usize, _: &[u8]) {}
}

/// Fields of a client's hello.
fn take_client(tls: &mut Tls, hello: &ClientHello<'_>) {
    tls.client_version = Some(hello::version_name(hello.version()));
    tls.sni = hello.sni();
    tls.client_alpn = hello.alpn();
    (tls.ja3, tls.ja4) = fingerprints(hello, b't').unzip();
}

/// Fields of a server's hello.
fn take_server(tls: &mut Tls, hello: &ServerHello<'_>, client_session: &[u8]) {
    tls.version = Some(hello::version_name(hello.version));
    tls.cipher = Some(match ciphers::name(hello.cipher) {
        Some(name) => name.into(),
        None => format!("0x{:04x}", hello.cipher).into(),
    });
    tls.alpn = hello.alpn();
    let is_same = !client_session.is_empty() && client_session == hello.session;
    tls.resumed = Some(if hello.version >= 0x0304 { hello.has_psk } else { is_same });
}
