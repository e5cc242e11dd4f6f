use crate::flow::closing;

/// The evidence for which side of a stream is the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientBy {
    /// A SYN or SYN-ACK.
    Handshake,
    /// The content of the first packet: an answer of DNS, NTP or ICMP, a request, a response, a greeting.
    Message,
    /// One port is given to a service, the other one to clients.
    Ports,
    /// The sender of the first packet is supposed to be the client.
    FirstPacket,
}

impl ClientBy {
    pub(crate) const ALL: [Self; 4] = [Self::FirstPacket, Self::Handshake, Self::Message, Self::Ports];

    /// The name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::Message => "message",
            Self::Ports => "ports",
            Self::FirstPacket => "first_packet",
        }
    }

    /// Whether the client was inferred from payload or ports, without a handshake; records then state it.
    #[must_use]
    pub fn is_evidence(self) -> bool {
        matches!(self, Self::Message | Self::Ports)
    }

    /// As bits of a flow: see [`closing::CLIENT_BY`].
    pub(crate) fn bits(self) -> u8 {
        let place = Self::ALL.iter().position(|one| *one == self).unwrap_or(0);
        (place as u8) << closing::CLIENT_BY.trailing_zeros()
    }

    pub(crate) fn of_bits(bits: u8) -> Self {
        let place = usize::from((bits & closing::CLIENT_BY) >> closing::CLIENT_BY.trailing_zeros());
        Self::ALL.get(place).copied().unwrap_or(Self::FirstPacket)
    }
}
