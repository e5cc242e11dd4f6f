//! Streams: their directions, their ends and their figures.

use std::{
    fmt::{self, Debug, Display, Formatter},
    net::{IpAddr, Ipv4Addr},
};

use crate::Timestamp;

/// Most priorities of streams: 0, the lowest, to 7.
pub const PRIORITIES_MAX: u8 = 8;

/// One of a stream's two directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Direction {
    /// From the client (the sender of the SYN, or inferred) to the server.
    #[default]
    ClientToServer = 0,
    /// From the server to the client.
    ServerToClient = 1,
}

impl Direction {
    /// Both, in the order of their numbers.
    pub const BOTH: [Self; 2] = [Self::ClientToServer, Self::ServerToClient];

    /// The opposite direction.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::ClientToServer => Self::ServerToClient,
            Self::ServerToClient => Self::ClientToServer,
        }
    }

    /// `c2s` or `s2c`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ClientToServer => "c2s",
            Self::ServerToClient => "s2c",
        }
    }

    /// The direction of this [name](Self::name).
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::BOTH.into_iter().find(|direction| direction.name() == name)
    }
}

/// An address and a port (0 for protocols without ports).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Endpoint {
    /// The IP address.
    #[cfg_attr(feature = "serde", serde(rename = "addr"))]
    pub address: IpAddr,
    /// The port, or 0.
    pub port: u16,
}

impl Endpoint {
    /// 0.0.0.0:0.
    pub const UNSPECIFIED: Self = Self { address: IpAddr::V4(Ipv4Addr::UNSPECIFIED), port: 0 };

    /// The address in sixteen bytes; that of IPv4 in the first four, the others are 0.
    #[must_use]
    pub fn octets(&self) -> [u8; 16] {
        match self.address {
            IpAddr::V6(address) => address.octets(),
            IpAddr::V4(address) => {
                let mut octets = [0; 16];
                octets[..4].copy_from_slice(&address.octets());
                octets
            }
        }
    }

    /// Formats address and port, even port 0, in the form of URIs (RFC 3986 section 3.2): `10.0.0.1:80`, `[2001:db8::1]:80`.
    #[must_use]
    pub fn with_port(&self) -> impl Display + use<> {
        let Self { address, port } = *self;
        fmt::from_fn(move |f| match address {
            IpAddr::V4(address) => write!(f, "{address}:{port}"),
            IpAddr::V6(address) => write!(f, "[{address}]:{port}"),
        })
    }
}

/// `10.0.0.1:80`, `[2001:db8::1]:80`; the address alone if the port is 0.
impl Display for Endpoint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.port {
            0 => Display::fmt(&self.address, f),
            _ if f.width().is_some() => f.pad(&self.with_port().to_string()),
            _ => Display::fmt(&self.with_port(), f),
        }
    }
}

/// As [`Display`].
impl Debug for Endpoint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

/// Figures of one direction. Payload is that of the transport protocol; packets are transport packets (a rebuilt
/// datagram is one).
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct DirectionStats {
    /// Transport packets seen.
    pub packets: u64,
    /// Frames seen: as `packets`, but each fragment of a datagram counts.
    pub frames: u64,
    /// Bytes of these frames on the wire, including link layer and padding.
    pub frame_bytes: u64,
    /// Bytes from the network layer up, as sent, without padding.
    #[cfg_attr(feature = "serde", serde(rename = "bytes"))]
    pub ip_bytes: u64,
    /// Transport payload as sent, retransmissions included.
    #[cfg_attr(feature = "serde", serde(rename = "payload_bytes_on_wire"))]
    pub payload_wire_bytes: u64,
    /// Bytes delivered to the handler, and bytes that the mode `Track` or a cutoff kept from it.
    pub reassembled_bytes: u64,
    /// Bytes delivered to the handler.
    pub delivered_bytes: u64,
    /// Payload that repeats earlier payload.
    pub retransmitted_bytes: u64,
    /// Packets with payload that begins beyond the next expected byte.
    pub out_of_order_packets: u64,
    /// Missing bytes: the sum of the gaps.
    pub missing_bytes: u64,
    /// Payload that was neither delivered nor sent before, and that is in no gap: as far as the capture shows, the
    /// receiver ignored it. The anomalies say why (data after a reset or a FIN, outside the window, never acknowledged
    /// where the acknowledgment decides). Final when the stream ends.
    ///
    /// `payload_wire_bytes` = `reassembled_bytes` + `retransmitted_bytes` + `ignored_bytes` + the bytes of gaps whose
    /// cause is in a packet (snapped, shed, urgent, bad checksum). Not so of subflows of Multipath TCP that are put together: the
    /// stream of the first one has the bytes of all, and the others have none.
    pub ignored_bytes: u64,
    /// Payload not delivered because it lies beyond the cutoff or the application discarded the stream.
    pub cutoff_bytes: u64,
    /// Packets whose payload was shed by the watermark rule.
    pub shed_packets: u64,
    /// Payload bytes shed.
    pub shed_bytes: u64,
    /// Chunks delivered.
    pub chunks: u64,
    /// The least timestamp of a packet; `None`: no packet was seen.
    #[cfg_attr(feature = "serde", serde(rename = "start_ns", with = "nanoseconds"))]
    pub start: Option<Timestamp>,
    /// The greatest timestamp of a packet; `None`: no packet was seen.
    #[cfg_attr(feature = "serde", serde(rename = "end_ns", with = "nanoseconds"))]
    pub end: Option<Timestamp>,
    /// Union of all TCP flags seen: twelve bits, of which 0x100 is AE (RFC 9768) and those above are reserved.
    pub tcp_flags: u16,
}

impl DirectionStats {
    /// Number of figures.
    pub const COUNT: usize = 18;

    /// The figures in the order of the fields; times are nanoseconds since 1970, 0 where no packet was seen.
    #[must_use]
    pub fn words(&self) -> [u64; Self::COUNT] {
        [
            self.packets,
            self.frames,
            self.frame_bytes,
            self.ip_bytes,
            self.payload_wire_bytes,
            self.reassembled_bytes,
            self.delivered_bytes,
            self.retransmitted_bytes,
            self.out_of_order_packets,
            self.missing_bytes,
            self.ignored_bytes,
            self.cutoff_bytes,
            self.shed_packets,
            self.shed_bytes,
            self.chunks,
            self.start.map_or(0, Timestamp::as_nanos),
            self.end.map_or(0, Timestamp::as_nanos),
            self.tcp_flags.into(),
        ]
    }

    /// Figures out of their [`words`](Self::words); of the flags the low 16 bits.
    #[must_use]
    pub fn from_words(words: [u64; Self::COUNT]) -> Self {
        let time = |word| (words[0] > 0).then_some(Timestamp::from_nanos(word));
        Self {
            packets: words[0],
            frames: words[1],
            frame_bytes: words[2],
            ip_bytes: words[3],
            payload_wire_bytes: words[4],
            reassembled_bytes: words[5],
            delivered_bytes: words[6],
            retransmitted_bytes: words[7],
            out_of_order_packets: words[8],
            missing_bytes: words[9],
            ignored_bytes: words[10],
            cutoff_bytes: words[11],
            shed_packets: words[12],
            shed_bytes: words[13],
            chunks: words[14],
            start: time(words[15]),
            end: time(words[16]),
            tcp_flags: words[17] as u16,
        }
    }
}

impl Debug for DirectionStats {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("DirectionStats")
            .field("packets", &self.packets)
            .field("frames", &self.frames)
            .field("frame_bytes", &self.frame_bytes)
            .field("ip_bytes", &self.ip_bytes)
            .field("payload_wire_bytes", &self.payload_wire_bytes)
            .field("reassembled_bytes", &self.reassembled_bytes)
            .field("delivered_bytes", &self.delivered_bytes)
            .field("retransmitted_bytes", &self.retransmitted_bytes)
            .field("out_of_order_packets", &self.out_of_order_packets)
            .field("missing_bytes", &self.missing_bytes)
            .field("ignored_bytes", &self.ignored_bytes)
            .field("cutoff_bytes", &self.cutoff_bytes)
            .field("shed_packets", &self.shed_packets)
            .field("shed_bytes", &self.shed_bytes)
            .field("chunks", &self.chunks)
            .field("start", &self.start)
            .field("end", &self.end)
            .field("tcp_flags", &self.tcp_flags)
            .finish()
    }
}

/// Times as records have them: nanoseconds since 1970, 0 where there is none.
#[cfg(feature = "serde")]
mod nanoseconds {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use crate::Timestamp;

    pub fn serialize<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(time.map_or(0, Timestamp::as_nanos))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
        Ok(Some(u64::deserialize(deserializer)?).filter(|nanoseconds| *nanoseconds > 0).map(Timestamp::from_nanos))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_as_people_write_them() {
        let end = |text: &str, port| Endpoint { address: text.parse().unwrap(), port };
        let (four, six) = (end("10.0.0.1", 40_000), end("2001:db8::2", 0));
        assert_eq!((four.to_string(), six.to_string()), ("10.0.0.1:40000".into(), "2001:db8::2".into()));
        assert_eq!((six.with_port().to_string(), format!("{six:?}")), ("[2001:db8::2]:0".into(), "2001:db8::2".into()));
        assert_eq!(format!("{:>16}|", Endpoint { port: 0, ..four }), "        10.0.0.1|");
        assert_eq!(format!("{four:<16}|"), "10.0.0.1:40000  |");
    }

    #[test]
    fn figures_come_back_from_their_words() {
        let words: [u64; DirectionStats::COUNT] = std::array::from_fn(|at| 1 + at as u64);
        let stats = DirectionStats::from_words(words);
        assert_eq!(
            (stats.words(), stats.packets, stats.end, stats.tcp_flags),
            (words, 1, Some(Timestamp::from_nanos(17)), 18)
        );
        let shown = format!("{:?}", DirectionStats::default());
        assert!(shown.contains("start: None, end: None"), "{shown}");
    }

    #[test]
    fn directions_have_names() {
        assert!(Direction::BOTH.iter().all(|direction| Direction::by_name(direction.name()) == Some(*direction)));
        assert_eq!((Direction::by_name("client"), Direction::default()), (None, Direction::ClientToServer));
        assert_eq!(Direction::BOTH.map(Direction::opposite), [Direction::ServerToClient, Direction::ClientToServer]);
    }
}
