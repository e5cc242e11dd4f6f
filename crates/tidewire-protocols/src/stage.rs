//! The stage of a stream: the protocol that reads its bytes.

#[cfg(feature = "quic")]
use crate::quic;
use crate::{
    dns, early::Early, http, joined::Joined, leads, lines, ntp, recognise::Unanswered, socks, ssh, tls, value::Service,
};

#[derive(Debug)]
pub(crate) enum Stage {
    /// The first bytes of each direction, and the number of unknown datagrams.
    Unknown([Vec<u8>; 2], u8),
    /// The client's bytes are of no known protocol.
    Unanswered(Unanswered),
    /// The stream began before it was seen, and its first bytes are of no known protocol.
    Joined(Box<Joined>),
    Dns(dns::Exchange),
    Http(http::Exchange),
    #[cfg(feature = "quic")]
    Quic(Box<quic::Exchange>),
    Dhcp,
    Leads(leads::Exchange),
    Lines(lines::Exchange),
    Ntp(ntp::Exchange),
    Socks(socks::Exchange),
    Ssh(ssh::Exchange),
    Tls(Box<tls::Handshake>),
    Done,
}

impl Default for Stage {
    fn default() -> Self {
        Self::Unknown(Default::default(), 0)
    }
}

impl Stage {
    /// The beginning of a protocol.
    pub(crate) fn of(service: Service) -> Self {
        match service {
            Service::Dns | Service::Mdns | Service::Llmnr => Self::Dns(dns::Exchange::new(service)),
            Service::Http => Self::Http(http::Exchange::default()),
            #[cfg(feature = "quic")]
            Service::Quic => Self::Quic(Box::default()),
            #[cfg(not(feature = "quic"))]
            Service::Quic => Self::Done,
            Service::Smtp => Self::Lines(lines::Exchange::new(lines::LineProtocol::Smtp)),
            Service::Ftp => Self::Lines(lines::Exchange::new(lines::LineProtocol::Ftp)),
            Service::Dhcp => Self::Dhcp,
            Service::Ntp => Self::Ntp(ntp::Exchange::default()),
            Service::Socks => Self::Socks(socks::Exchange::default()),
            Service::Ssh => Self::Ssh(ssh::Exchange::default()),
            Service::Tls => Self::Tls(Box::default()),
        }
    }

    /// Bytes that the client sent for the protocol behind this one, before that began.
    pub(crate) fn take_early(&mut self) -> Option<Box<Early>> {
        match self {
            Self::Http(exchange) => exchange.take_early(),
            Self::Socks(exchange) => exchange.take_early(),
            _ => None,
        }
    }

    /// Memory that it holds, bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Self::Unknown(kept, _) => kept[0].capacity() + kept[1].capacity(),
            Self::Joined(joined) => joined.memory_bytes(),
            Self::Dns(exchange) => exchange.memory_bytes(),
            Self::Http(exchange) => exchange.memory_bytes(),
            Self::Leads(exchange) => exchange.memory_bytes(),
            #[cfg(feature = "quic")]
            Self::Quic(exchange) => exchange.memory_bytes(),
            Self::Lines(exchange) => exchange.memory_bytes(),
            Self::Ntp(exchange) => exchange.memory_bytes(),
            Self::Socks(exchange) => exchange.memory_bytes(),
            Self::Ssh(exchange) => exchange.memory_bytes(),
            Self::Tls(handshake) => handshake.memory_bytes(),
            Self::Done | Self::Dhcp | Self::Unanswered(_) => 0,
        }
    }
}
