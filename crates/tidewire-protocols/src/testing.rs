//! For tests: conversations out of pieces, cut anywhere.

use std::time::Duration;

use tidewire_core::{Direction, Timestamp};

use crate::{
    Answer, App, Budget, Certificate, Conversation, Dhcp, Dns, DnsQuestion, Fields, Ftp, Http, Ntp, Piece, Ports, Quic,
    Report, Service, Smtp, Socks, Ssh, Tls, Transaction,
};

/// An event of a stream.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Bytes(Direction, Vec<u8>, bool),
    /// More bytes of the same packet.
    More(Direction, Vec<u8>),
    Gap(Direction, u64),
}

/// When the first packet came, and how long behind each the next one.
pub(crate) const FIRST_NS: u64 = 1000;
pub(crate) const STEP_NS: u64 = 10;

/// When a transaction began and ended: of packets by their number.
pub(crate) fn packets(transaction: &Transaction) -> (u64, u64) {
    let packet = |ns: u64| (ns - FIRST_NS) / STEP_NS;
    (packet(transaction.start.as_nanos()), packet(transaction.end.as_nanos()))
}

/// A conversation's events in order.
#[derive(Clone, Debug)]
pub(crate) struct Sent(pub(crate) Vec<Event>);

impl Sent {
    pub(crate) fn of(pieces: &[(Direction, Vec<u8>)]) -> Self {
        Self(pieces.iter().map(|(direction, bytes)| Event::Bytes(*direction, bytes.clone(), false)).collect())
    }

    pub(crate) fn datagrams(pieces: &[(Direction, Vec<u8>)]) -> Self {
        Self(pieces.iter().map(|(direction, bytes)| Event::Bytes(*direction, bytes.clone(), true)).collect())
    }

    /// Cuts a piece in two.
    pub(crate) fn cut(mut self, index: usize, at: usize) -> Self {
        let (Event::Bytes(direction, bytes, _) | Event::More(direction, bytes)) = &mut self.0[index] else {
            panic!("a gap")
        };
        let (direction, rest) = (*direction, bytes.split_off(at));
        self.0.insert(index + 1, Event::More(direction, rest));
        self
    }

    /// Cuts all pieces into bytes.
    pub(crate) fn bytewise(self) -> Self {
        let each = |event| match event {
            Event::Bytes(direction, bytes, false) if !bytes.is_empty() => {
                let each = |(index, byte)| match index {
                    0 => Event::Bytes(direction, vec![byte], false),
                    _ => Event::More(direction, vec![byte]),
                };
                bytes.into_iter().enumerate().map(each).collect()
            }
            other => vec![other],
        };
        Self(self.0.into_iter().flat_map(each).collect())
    }

    /// The same with a gap of one byte before a piece.
    pub(crate) fn gap_before(mut self, index: usize) -> Self {
        let Event::Bytes(direction, ..) = &self.0[index] else { panic!("a gap") };
        let direction = *direction;
        self.0.insert(index, Event::Gap(direction, 1));
        self
    }
}

/// All transactions of a conversation with a server's port. Nothing stays charged at the end.
pub(crate) fn transactions(sent: &Sent, server: u16) -> Vec<Transaction> {
    transactions_of(sent, Ports { client: 40_000, server })
}

/// The same with both ports. Where bytes of bodies are only counted, and only the first transaction is kept, they are as many, and
/// the first is the same.
pub(crate) fn transactions_of(sent: &Sent, ports: Ports) -> Vec<Transaction> {
    let mut found = Vec::new();
    pass(sent, ports, false, &mut Report::Each(&mut |transaction| found.push(transaction)));
    let app = pass(sent, ports, true, &mut Report::First);
    let (count, first) = app.map_or((0, None), |app| (app.transactions as usize, app.first));
    assert_eq!((count, first.as_ref()), (found.len(), found.first()));
    found
}

fn pass(sent: &Sent, ports: Ports, counts_bodies: bool, report: &mut Report<'_>) -> Option<Box<App>> {
    let (mut conversation, mut budget) = (Conversation::default(), Budget::default());
    let mut timestamp_ns = FIRST_NS - STEP_NS;
    for event in &sent.0 {
        let (direction, bytes, is_datagram) = match event {
            Event::Bytes(direction, bytes, is_datagram) => {
                timestamp_ns += STEP_NS;
                (*direction, bytes, *is_datagram)
            }
            Event::More(direction, bytes) => (*direction, bytes, false),
            Event::Gap(direction, bytes) => {
                conversation.gap(*direction, *bytes, &mut budget, report);
                continue;
            }
        };
        if counts_bodies
            && conversation.take_body(direction, bytes.len(), Timestamp::from_nanos(timestamp_ns), &mut budget)
        {
            continue;
        }
        let piece = Piece { direction, bytes, is_datagram, timestamp: Timestamp::from_nanos(timestamp_ns) };
        conversation.data(&piece, ports, &mut budget, report);
    }
    let app = conversation.close(&mut budget, report);
    assert_eq!((budget.used_bytes(), budget.refused()), (0, 0));
    app
}

/// A transaction of each protocol with every field.
pub(crate) fn complete() -> Vec<Transaction> {
    fn text<T: From<&'static str>>() -> Option<T> {
        Some("x".into())
    }
    let list = || vec![Box::<str>::from("x")];
    let tls = Tls {
        version: text(),
        client_version: text(),
        sni: text(),
        client_alpn: list(),
        alpn: text(),
        cipher: text(),
        ja3: text(),
        ja4: text(),
        resumed: Some(true),
        established: true,
        alert: Some(1),
        certificates: 1,
        certificates_repeated: 1,
        certificate: Some(Certificate {
            subject: Some("x".to_owned().into()),
            issuer: Some("x".to_owned().into()),
            serial: text(),
            not_before: Some(1),
            not_after: Some(2),
            san: list(),
            san_left_out: 1,
            sha256: "x".into(),
            sha1: [1; 20],
        }),
        chains: [vec![[1; 32]], vec![[2; 32]]],
    };
    let answer = Answer { name: "x".into(), kind: "A".into(), ttl: 1, data: "x".into() };
    let dns = Dns {
        opcode: 1,
        query: text(),
        kind: text(),
        class: Some(3),
        questions: 2,
        is_asked: true,
        is_answered: true,
        rcode: text(),
        answers: vec![answer],
        answers_left_out: 1,
        latency: Some(Duration::from_nanos(1)),
        more: vec![DnsQuestion { name: "x".into(), kind: "A".into(), class: Some(3) }],
        conflicting: true,
        ..Dns::default()
    };
    let http = Http {
        method: text(),
        host: text(),
        path: text(),
        version: text(),
        status: Some(200),
        reason: text(),
        user_agent: text(),
        referrer: text(),
        request_type: text(),
        content_type: text(),
        server: text(),
        location: text(),
        port: Some(1),
        response_version: text(),
        request_bytes: Some(1),
        response_bytes: Some(1),
        request_announced_bytes: Some(1),
        response_announced_bytes: Some(2),
        request_missing_bytes: 1,
        response_missing_bytes: 1,
        request_complete: Some(true),
        response_complete: Some(false),
        host_field: text(),
    };
    let ssh = Ssh {
        client_version: text(),
        client_software: text(),
        server_version: text(),
        server_software: text(),
        hassh: text(),
        hassh_server: text(),
    };
    let quic = Quic {
        version: text(),
        client_version: text(),
        sni: text(),
        client_alpn: list(),
        ja3: text(),
        ja4: text(),
        client_dcid: text(),
        client_scid: text(),
        server_scid: text(),
    };
    let smtp = Smtp { server: text(), client: text(), mail_from: text(), rcpt_to: list(), starttls: true };
    let ftp = Ftp { server: text(), user: text(), commands: list(), starttls: true };
    let dhcp = Dhcp {
        message: text(),
        id: 1,
        client_mac: text(),
        host_name: text(),
        vendor_class: text(),
        requested: text(),
        assigned: text(),
        server: text(),
        domain: text(),
        lease: Some(1),
    };
    let ntp = Ntp { reference: text(), latency: Some(Duration::from_nanos(1)), ..Ntp::default() };
    let socks = Socks { version: 5, command: Some(1), host: text(), port: Some(1), user: text(), reply: Some(0) };
    let of = |service, fields| Transaction {
        start: Timestamp::from_nanos(0),
        end: Timestamp::from_nanos(0),
        service,
        fields,
    };
    vec![
        of(Service::Tls, Fields::Tls(tls.into())),
        of(Service::Dns, Fields::Dns(dns.into())),
        of(Service::Http, Fields::Http(http.into())),
        of(Service::Quic, Fields::Quic(quic.into())),
        of(Service::Smtp, Fields::Smtp(smtp.into())),
        of(Service::Ftp, Fields::Ftp(ftp.into())),
        of(Service::Dhcp, Fields::Dhcp(dhcp.into())),
        of(Service::Ntp, Fields::Ntp(ntp.into())),
        of(Service::Socks, Fields::Socks(socks.into())),
        of(Service::Ssh, Fields::Ssh(ssh.into())),
    ]
}
