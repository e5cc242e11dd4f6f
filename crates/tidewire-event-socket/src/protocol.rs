//! Protocol between analyzers and the event processor: packets (`SOCK_SEQPACKET`), texts of `key value` lines or, where there are
//! many, binary ones. Numbers are little-endian.
//!
//! | from | packet | content |
//! |---|---|---|
//! | client | `tidewire-events 1` | text: `name`, further `analyzer` lines, `session` (hexadecimal), `first`: the number of the first event that it will send |
//! | client | byte 1 | number of the first event (8), then frames as [`tidewire_events::message`] has them |
//! | client | `goodbye` | text: the session is over |
//! | client | `tidewire-control 1` | text: nothing else |
//! | client | `register` | text: `destination` lines: all there are |
//! | client | `severity` | text: `destination`, `least`: what is less severe is not for it |
//! | client | `delivered` | text: `destination`, `id`: it has everything up to this record |
//! | server | `welcome` | text: `session`, `durable`: the number of the last event that is stored; `events`, `bytes`: how much may wait |
//! | server | `refused` | text: `reason` |
//! | server | `again` | text: a new event processor requests the first packet |
//! | server | byte 2 | session (8), number of the last event that is stored (8) |
//!
//! Events of a session are numbered from 1, without gaps. What is sent again keeps its number.

use std::fmt::Write as _;

use tidewire_events::{DecodeError, Message, Severity, is_name, limits::MESSAGE_BYTES_MAX};

use crate::OWN_NAME;

/// The first lines of clients.
const HELLO: &str = "tidewire-events 1";
const CONTROL: &str = "tidewire-control 1";
/// The first bytes of binary packets.
const EVENTS: u8 = 1;
const ACKNOWLEDGED: u8 = 2;
/// The key of a destination's name.
const DESTINATION: &str = "destination";
/// Bytes before the frames of a packet of events.
pub(crate) const HEAD_BYTES: usize = 9;
/// Bytes of a packet at most: one event of the greatest size. Packets of several events are smaller.
pub const PACKET_BYTES_MAX: usize = HEAD_BYTES + 4 + MESSAGE_BYTES_MAX;
/// Bytes of a packet to which further events are added. Three of them fit into a socket's usual room.
pub(crate) const FULL_BYTES: usize = 48 << 10;
/// Bytes of a text.
const TEXT_BYTES_MAX: usize = 4096;
/// Names of analyzers that a client may have besides its own, and destinations that a spooler may register.
pub const NAMES_MAX: usize = 32;
/// Sequence numbers at most: what a store can hold.
const NUMBER_MAX: u64 = i64::MAX as u64;

/// How much a client may send before it is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Events. Default 65,536: at 250,000 a second, a quarter of a second.
    pub events: u64,
    /// Bytes, which the client keeps until they are acknowledged. Default 8 MiB.
    pub bytes: u64,
}

impl Default for Window {
    fn default() -> Self {
        Self { events: 65_536, bytes: 8 << 20 }
    }
}

/// Why a client was turned away.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The user may not send events.
    #[error("user {user} may not send events; the sensor's setting 'users' says who may")]
    User {
        /// The user.
        user: u32,
    },
    /// Only the sensor's own processes may say what was delivered.
    #[error("user {user} may not say what was delivered")]
    Control {
        /// The user.
        user: u32,
    },
    /// As many clients as there may be are connected.
    #[error("{max} clients are connected, which is as many as may be")]
    Full {
        /// How many.
        max: usize,
    },
    /// The user has as many clients as one may have.
    #[error("user {user} has {max} clients connected, which is as many as one user may have")]
    UserFull {
        /// The user.
        user: u32,
        /// How many.
        max: usize,
    },
    /// It said nothing for too long.
    #[error("it did not say who it is in time")]
    Silent,
    /// An invalid name, or the event processor's own.
    #[error("'{}' cannot be the name of an analyzer or a destination", .0.escape_debug())]
    Name(String),
    /// A name that belongs to another user.
    #[error(
        "user {user} may not send events as '{name}', which is the name of another user's analyzer or of a part of the sensor"
    )]
    Owner {
        /// The user.
        user: u32,
        /// The name.
        name: String,
    },
    /// Not the first packet of this version.
    #[error("its packet is not understood: {0}")]
    Packet(&'static str),
    /// An event is broken.
    #[error("event {number}: {error}")]
    Event {
        /// Its number in the session.
        number: u64,
        /// The error in it.
        error: DecodeError,
    },
    /// An event of an analyzer that the client did not name.
    #[error("event {number} is of the analyzer '{analyzer}', which the client did not name")]
    Analyzer {
        /// Its number in the session.
        number: u64,
        /// Its analyzer.
        analyzer: String,
    },
    /// Events between are missing.
    #[error("event {found} does not follow event {last}")]
    Gap {
        /// The number that it sent.
        found: u64,
        /// The last one there was.
        last: u64,
    },
}

/// Who an analyzer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    pub name: String,
    /// Further analyzers whose events it sends.
    pub analyzers: Vec<String>,
    pub session: u64,
    pub first: u64,
}

/// Packets of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ClientPacket<'a> {
    Hello(Hello),
    Control,
    Events { first: u64, frames: &'a [u8] },
    Goodbye,
    Register(Vec<String>),
    Severity { destination: String, severity: Severity },
    Delivered { destination: String, id: u64 },
}

/// Packets of the event processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServerPacket {
    Welcome { session: u64, durable: u64, window: Window },
    Refused(String),
    Again,
    Acknowledged { session: u64, number: u64 },
}

/// The lines of a text behind its first one, by their key. Keys that are not known are of later versions.
fn values<'a>(text: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().skip(1).filter_map(move |line| line.strip_prefix(key)?.strip_prefix(' '))
}

fn number(text: &str, key: &'static str, radix: u32) -> Result<u64, Refusal> {
    let value = values(text, key).next().and_then(|value| u64::from_str_radix(value, radix).ok());
    value.ok_or(Refusal::Packet("a line with a number is missing"))
}

/// Names of analyzers or destinations. The event processor's own is no analyzer's; a destination may be called so.
fn names(text: &str, key: &str) -> Result<Vec<String>, Refusal> {
    let names: Vec<String> = values(text, key).map(str::to_owned).take(NAMES_MAX + 1).collect();
    if names.len() > NAMES_MAX {
        return Err(Refusal::Packet("too many names"));
    }
    match names.iter().find(|name| !is_name(name) || (*name == OWN_NAME && key != DESTINATION)) {
        Some(name) => Err(Refusal::Name(name.chars().take(80).collect())),
        None => Ok(names),
    }
}

/// A reason on one line, cut where it is too long.
fn line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(400).collect()
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes))
}

impl<'a> ClientPacket<'a> {
    pub(crate) fn parse(packet: &'a [u8]) -> Result<Self, Refusal> {
        if packet.first() == Some(&EVENTS) {
            let first = word(packet, 1).filter(|first| (1..NUMBER_MAX).contains(first));
            let first = first.ok_or(Refusal::Packet("a packet of events without a number"))?;
            return Ok(Self::Events { first, frames: packet.get(HEAD_BYTES..).unwrap_or_default() });
        }
        let text = std::str::from_utf8(packet).ok().filter(|text| text.len() <= TEXT_BYTES_MAX);
        let text = text.ok_or(Refusal::Packet("neither events nor a text of at most 4 KiB"))?;
        let name = |key: &'static str| {
            names(text, key)?.into_iter().next().ok_or(Refusal::Packet("a line with a name is missing"))
        };
        match text.lines().next().unwrap_or_default() {
            HELLO => {
                let (session, first) = (number(text, "session", 16)?, number(text, "first", 10)?);
                if !(1..NUMBER_MAX).contains(&first) {
                    return Err(Refusal::Packet("'first' is no number of an event"));
                }
                Ok(Self::Hello(Hello { name: name("name")?, analyzers: names(text, "analyzer")?, session, first }))
            }
            CONTROL => Ok(Self::Control),
            "goodbye" => Ok(Self::Goodbye),
            "register" => Ok(Self::Register(names(text, DESTINATION)?)),
            "severity" => {
                let least = values(text, "least").next().and_then(Severity::by_name);
                let severity = least.ok_or(Refusal::Packet("'least' is no severity"))?;
                Ok(Self::Severity { destination: name(DESTINATION)?, severity })
            }
            "delivered" => {
                let id = number(text, "id", 10)?;
                if id > NUMBER_MAX {
                    return Err(Refusal::Packet("'id' is no number of a record"));
                }
                Ok(Self::Delivered { destination: name(DESTINATION)?, id })
            }
            _ => Err(Refusal::Packet("its first line is not known; is it of another version?")),
        }
    }
}

impl Hello {
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = format!("{HELLO}\nname {}\nsession {:x}\nfirst {}\n", self.name, self.session, self.first);
        for analyzer in &self.analyzers {
            let _ = writeln!(out, "analyzer {analyzer}");
        }
        out.into_bytes()
    }
}

/// A packet of events that begins with this one.
pub(crate) fn begin_events(first: u64) -> Vec<u8> {
    let mut packet = Vec::with_capacity(1024);
    packet.push(EVENTS);
    packet.extend_from_slice(&first.to_le_bytes());
    packet
}

/// A first packet of a spooler.
pub(crate) fn control() -> Vec<u8> {
    format!("{CONTROL}\n").into_bytes()
}

/// The end of a session.
pub(crate) fn goodbye() -> Vec<u8> {
    b"goodbye\n".to_vec()
}

/// All destinations there are.
pub(crate) fn register(destinations: &[String]) -> Vec<u8> {
    let mut out = "register\n".to_owned();
    for destination in destinations {
        let _ = writeln!(out, "destination {destination}");
    }
    out.into_bytes()
}

/// Records that are less severe are not for this destination.
pub(crate) fn severity(destination: &str, least: Severity) -> Vec<u8> {
    format!("severity\ndestination {destination}\nleast {}\n", least.name()).into_bytes()
}

/// A destination has everything up to this record.
pub(crate) fn delivered(destination: &str, id: u64) -> Vec<u8> {
    format!("delivered\ndestination {destination}\nid {id}\n").into_bytes()
}

impl ServerPacket {
    pub(crate) fn write(&self) -> Vec<u8> {
        match self {
            Self::Welcome { session, durable, window } => {
                let Window { events, bytes } = window;
                let text = format!("welcome\nsession {session:x}\ndurable {durable}\nevents {events}\nbytes {bytes}\n");
                text.into_bytes()
            }
            Self::Refused(reason) => format!("refused\nreason {}\n", line(reason)).into_bytes(),
            Self::Again => b"again\n".to_vec(),
            Self::Acknowledged { session, number } => {
                let mut packet = vec![ACKNOWLEDGED];
                packet.extend_from_slice(&session.to_le_bytes());
                packet.extend_from_slice(&number.to_le_bytes());
                packet
            }
        }
    }

    /// `None`: it is of another version, or none.
    pub(crate) fn parse(packet: &[u8]) -> Option<Self> {
        if packet.first() == Some(&ACKNOWLEDGED) {
            return Some(Self::Acknowledged { session: word(packet, 1)?, number: word(packet, HEAD_BYTES)? });
        }
        let text = std::str::from_utf8(packet).ok().filter(|text| text.len() <= TEXT_BYTES_MAX)?;
        match text.lines().next()? {
            "welcome" => {
                let window =
                    Window { events: number(text, "events", 10).ok()?, bytes: number(text, "bytes", 10).ok()? };
                let (session, durable) = (number(text, "session", 16).ok()?, number(text, "durable", 10).ok()?);
                Some(Self::Welcome { session, durable, window })
            }
            "refused" => Some(Self::Refused(line(values(text, "reason").next()?))),
            "again" => Some(Self::Again),
            _ => None,
        }
    }
}

/// Looks at any bytes as both sides do: what is accepted comes back the same. For fuzzing.
#[doc(hidden)]
pub fn check_packets(bytes: &[u8]) {
    if let Some(packet) = ServerPacket::parse(bytes) {
        assert_eq!(ServerPacket::parse(&packet.write()), Some(packet));
    }
    match ClientPacket::parse(bytes) {
        Err(refusal) => {
            let refused = ServerPacket::Refused(refusal.to_string());
            assert!(matches!(ServerPacket::parse(&refused.write()), Some(ServerPacket::Refused(_))));
        }
        Ok(ClientPacket::Hello(hello)) => {
            assert_eq!(ClientPacket::parse(&hello.write()), Ok(ClientPacket::Hello(hello.clone())))
        }
        Ok(ClientPacket::Events { mut frames, .. }) => {
            while let Ok(Some((_, bytes))) = Message::first(frames) {
                frames = &frames[bytes..];
            }
        }
        Ok(ClientPacket::Register(names)) => {
            assert_eq!(ClientPacket::parse(&register(&names)), Ok(ClientPacket::Register(names.clone())));
        }
        Ok(ClientPacket::Severity { destination, severity: least }) => {
            let again = ClientPacket::Severity { destination: destination.clone(), severity: least };
            assert_eq!(ClientPacket::parse(&severity(&destination, least)), Ok(again));
        }
        Ok(ClientPacket::Delivered { destination, id }) => {
            let again = ClientPacket::Delivered { destination: destination.clone(), id };
            assert_eq!(ClientPacket::parse(&delivered(&destination, id)), Ok(again));
        }
        Ok(ClientPacket::Control | ClientPacket::Goodbye) => {}
    }
}
