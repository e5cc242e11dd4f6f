//! Events as bytes: what analyzers send over a Unix socket, and what folds hold.
//!
//! A frame is a length (4 bytes) and a message of that many bytes. Numbers are little-endian, addresses in network order.
//!
//! | part | bytes |
//! |---|---|
//! | version (1), severity | 1, 1 |
//! | time, nanoseconds since 1970 | 8 |
//! | *shape*: presence | 1: bit 0 stream, bits 1–2 place (1 c2s, 2 s2c), bit 3 excerpt, bits 4–5 key (1 IPv4, 2 IPv6) |
//! | count of fields | 1 |
//! | analyzer, kind | each 1 for its length, and its bytes |
//! | each field: type, name | 1; 1 for its length, and its bytes |
//! | *values*: key | protocol 1, client's port 2, server's port 2, client's address, server's address (4 or 16) |
//! | stream, offset | 8 each |
//! | each field's value | bool 1; i64, u64, f64, time 8; IPv4 4; IPv6 16; text, bytes 4 for the length, and the bytes |
//! | excerpt | 4 for its length, and its bytes |
//!
//! Types: 1 bool, 2 i64, 3 u64, 4 f64, 5 text (UTF-8), 6 bytes, 7 IPv4, 8 IPv6, 9 time. Each event has one encoding only.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tidewire_types::Direction;

use crate::{
    cursor::Cursor,
    error::{DecodeError, EventError},
    event::{
        Event, Field, FlowKey, Severity, StreamPosition, Value, check_excerpt_bytes, check_field_names, check_name,
        check_value_bytes,
    },
    limits::MESSAGE_BYTES_MAX,
};

/// The version of messages.
const VERSION: u8 = 1;
/// Where the shape begins.
const SHAPE_AT: usize = 10;

const STREAM: u8 = 1;
const C2S: u8 = 1 << 1;
const S2C: u8 = 2 << 1;
const PLACE: u8 = 3 << 1;
const EXCERPT: u8 = 1 << 3;
const IPV4_KEY: u8 = 1 << 4;
const IPV6_KEY: u8 = 2 << 4;
const KEY: u8 = 3 << 4;

/// A field's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldType {
    Bool = 1,
    I64,
    U64,
    F64,
    Text,
    Bytes,
    Ipv4,
    Ipv6,
    Time,
}

impl FieldType {
    fn by_number(number: u8) -> Option<Self> {
        use FieldType::{Bool, Bytes, F64, I64, Ipv4, Ipv6, Text, Time, U64};
        [Bool, I64, U64, F64, Text, Bytes, Ipv4, Ipv6, Time].into_iter().find(|kind| *kind as u8 == number)
    }

    fn of(value: &Value) -> Self {
        match value {
            Value::Bool(_) => Self::Bool,
            Value::I64(_) => Self::I64,
            Value::U64(_) => Self::U64,
            Value::F64(_) => Self::F64,
            Value::Text(_) => Self::Text,
            Value::Bytes(_) => Self::Bytes,
            Value::Addr(IpAddr::V4(_)) => Self::Ipv4,
            Value::Addr(IpAddr::V6(_)) => Self::Ipv6,
            Value::Time(_) => Self::Time,
        }
    }
}

/// The shape that events of one fold share: names, types, and which members there are.
pub(crate) struct Shape<'a> {
    pub analyzer: &'a str,
    pub kind: &'a str,
    pub fields: Vec<(FieldType, &'a str)>,
    presence: u8,
}

impl<'a> Shape<'a> {
    /// Reads a shape, which ends where the cursor then is.
    pub(crate) fn read(cursor: &mut Cursor<'a>) -> Result<Self, DecodeError> {
        let presence = cursor.byte("the presence")?;
        if presence & !(STREAM | PLACE | EXCERPT | KEY) != 0 || presence & PLACE == PLACE || presence & KEY == KEY {
            return Err(DecodeError::Value("the presence"));
        }
        let count = usize::from(cursor.byte("the count of fields")?);
        let analyzer = name(cursor, "an analyzer")?;
        let kind = name(cursor, "a kind")?;
        let mut fields = Vec::with_capacity(count.min(cursor.remaining()));
        for _ in 0..count {
            let kind = FieldType::by_number(cursor.byte("a type")?).ok_or(DecodeError::Value("a type"))?;
            fields.push((kind, name(cursor, "a field")?));
        }
        check_field_names(fields.iter().map(|field| field.1))?;
        Ok(Self { analyzer, kind, fields, presence })
    }

    pub(crate) fn has_stream(&self) -> bool {
        self.presence & STREAM != 0
    }

    pub(crate) fn direction(&self) -> Option<Direction> {
        match self.presence & PLACE {
            C2S => Some(Direction::ClientToServer),
            S2C => Some(Direction::ServerToClient),
            _ => None,
        }
    }

    pub(crate) fn has_excerpt(&self) -> bool {
        self.presence & EXCERPT != 0
    }

    /// Bytes of each address of the key; `None` without a key.
    pub(crate) fn key_bytes(&self) -> Option<usize> {
        match self.presence & KEY {
            IPV4_KEY => Some(4),
            IPV6_KEY => Some(16),
            _ => None,
        }
    }
}

fn name<'a>(cursor: &mut Cursor<'a>, what: &'static str) -> Result<&'a str, DecodeError> {
    let bytes = usize::from(cursor.byte(what)?);
    let name = cursor.bytes(bytes, what)?;
    let name = std::str::from_utf8(name).map_err(|_| DecodeError::Value(what))?;
    check_name(what, name)?;
    Ok(name)
}

/// An encoded event that was checked: it can be decoded and folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    bytes: &'a [u8],
    values_at: usize,
}

impl<'a> Message<'a> {
    /// Checks a message, without its frame.
    ///
    /// # Errors
    /// It is invalid, or breaks a limit.
    pub fn new(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        if bytes.len() > MESSAGE_BYTES_MAX {
            return Err(DecodeError::TooLong(bytes.len() as u64));
        }
        let mut cursor = Cursor::new(bytes);
        let version = cursor.byte("the version")?;
        if version != VERSION {
            return Err(DecodeError::Version { found: version, known: VERSION });
        }
        let severity = cursor.byte("the severity")?;
        Severity::by_number(severity).ok_or(DecodeError::Value("the severity"))?;
        cursor.u64("the time")?;
        let shape = Shape::read(&mut cursor)?;
        let values_at = bytes.len() - cursor.remaining();
        check_values(&shape, &mut cursor)?;
        Ok(Self { bytes, values_at })
    }

    /// Takes the first frame of what has arrived: its message, checked, and how many bytes the frame has. `None`: more has to
    /// arrive.
    ///
    /// # Errors
    /// The frame states too many bytes, or its message is invalid. What follows cannot be trusted to be a frame then.
    pub fn first(arrived: &'a [u8]) -> Result<Option<(Self, usize)>, DecodeError> {
        let Some((length, rest)) = arrived.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length > MESSAGE_BYTES_MAX {
            return Err(DecodeError::TooLong(length as u64));
        }
        let Some(bytes) = rest.get(..length) else { return Ok(None) };
        Ok(Some((Self::new(bytes)?, 4 + length)))
    }

    /// Its bytes, without a frame.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Its time in nanoseconds since 1970.
    #[must_use]
    pub fn time_ns(&self) -> u64 {
        self.bytes[2..SHAPE_AT].try_into().map_or(0, u64::from_le_bytes)
    }

    /// Its severity.
    #[must_use]
    pub fn severity(&self) -> Severity {
        Severity::by_number(self.bytes[1]).unwrap_or_default()
    }

    /// Its analyzer and its kind.
    #[must_use]
    pub fn names(&self) -> (&'a str, &'a str) {
        let text = |at: usize| {
            let bytes = self.bytes.get(at..).and_then(|rest| rest.split_first());
            let bytes = bytes.and_then(|(length, rest)| rest.get(..usize::from(*length))).unwrap_or_default();
            std::str::from_utf8(bytes).unwrap_or_default()
        };
        let analyzer = text(SHAPE_AT + 2);
        (analyzer, text(SHAPE_AT + 3 + analyzer.len()))
    }

    pub(crate) fn shape_bytes(&self) -> &'a [u8] {
        &self.bytes[SHAPE_AT..self.values_at]
    }

    pub(crate) fn values(&self) -> &'a [u8] {
        &self.bytes[self.values_at..]
    }

    /// The event.
    ///
    /// # Errors
    /// None, as it was checked.
    pub fn event(&self) -> Result<Event, DecodeError> {
        let shape = Shape::read(&mut Cursor::new(self.shape_bytes()))?;
        let mut cursor = Cursor::new(self.values());
        let key = match shape.key_bytes() {
            Some(bytes) => Some(read_key(&mut cursor, bytes)?),
            None => None,
        };
        let stream = if shape.has_stream() { Some(cursor.u64("the stream")?) } else { None };
        let place = match shape.direction() {
            Some(direction) => Some(StreamPosition { direction, offset: cursor.u64("the offset")? }),
            None => None,
        };
        let mut fields = Vec::with_capacity(shape.fields.len());
        for (kind, name) in &shape.fields {
            fields.push(Field { name: (*name).to_owned(), value: read_value(&mut cursor, *kind)? });
        }
        let excerpt = if shape.has_excerpt() { Some(read_bytes(&mut cursor)?.to_vec()) } else { None };
        let (analyzer, kind) = (shape.analyzer.to_owned(), shape.kind.to_owned());
        let (time_ns, severity) = (self.time_ns(), self.severity());
        Ok(Event { time_ns, analyzer, kind, severity, key, stream, place, fields, excerpt })
    }
}

/// Walks over the values, which end with the message.
fn check_values(shape: &Shape<'_>, cursor: &mut Cursor<'_>) -> Result<(), DecodeError> {
    if let Some(bytes) = shape.key_bytes() {
        cursor.bytes(5 + 2 * bytes, "the key")?;
    }
    let numbers = usize::from(shape.has_stream()) + usize::from(shape.direction().is_some());
    cursor.bytes(8 * numbers, "the place")?;
    for (kind, name) in &shape.fields {
        match kind {
            FieldType::Bool => {
                let byte = cursor.byte("a truth value")?;
                if byte > 1 {
                    return Err(DecodeError::Value("a truth value"));
                }
            }
            FieldType::Ipv4 => drop(cursor.bytes(4, "an address")?),
            FieldType::Ipv6 => drop(cursor.bytes(16, "an address")?),
            FieldType::I64 | FieldType::U64 | FieldType::F64 | FieldType::Time => drop(cursor.bytes(8, "a number")?),
            FieldType::Text | FieldType::Bytes => {
                let bytes = read_bytes(cursor)?;
                check_value_bytes(name, bytes.len())?;
                if *kind == FieldType::Text && std::str::from_utf8(bytes).is_err() {
                    return Err(DecodeError::Value("a text"));
                }
            }
        }
    }
    if shape.has_excerpt() {
        check_excerpt_bytes(read_bytes(cursor)?.len())?;
    }
    cursor.end()
}

fn read_bytes<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], DecodeError> {
    let bytes = cursor.u32("a length")?;
    cursor.bytes(bytes as usize, "bytes of a field")
}

fn read_address(cursor: &mut Cursor<'_>, bytes: usize) -> Result<IpAddr, DecodeError> {
    match bytes {
        4 => Ok(Ipv4Addr::from(cursor.array::<4>("an address")?).into()),
        _ => Ok(Ipv6Addr::from(cursor.array::<16>("an address")?).into()),
    }
}

fn read_key(cursor: &mut Cursor<'_>, bytes: usize) -> Result<FlowKey, DecodeError> {
    let protocol = cursor.byte("the key")?;
    let client_port = cursor.array("the key").map(u16::from_le_bytes)?;
    let server_port = cursor.array("the key").map(u16::from_le_bytes)?;
    let client_addr = read_address(cursor, bytes)?;
    let server_addr = read_address(cursor, bytes)?;
    Ok(FlowKey { protocol, client_addr, client_port, server_addr, server_port })
}

fn read_value(cursor: &mut Cursor<'_>, kind: FieldType) -> Result<Value, DecodeError> {
    Ok(match kind {
        FieldType::Bool => Value::Bool(cursor.byte("a truth value")? != 0),
        FieldType::I64 => Value::I64(cursor.u64("a number")?.cast_signed()),
        FieldType::U64 => Value::U64(cursor.u64("a number")?),
        FieldType::F64 => Value::F64(f64::from_bits(cursor.u64("a number")?)),
        FieldType::Time => Value::Time(cursor.u64("a time")?),
        FieldType::Ipv4 => Value::Addr(read_address(cursor, 4)?),
        FieldType::Ipv6 => Value::Addr(read_address(cursor, 16)?),
        FieldType::Bytes => Value::Bytes(read_bytes(cursor)?.to_vec()),
        FieldType::Text => {
            let text = std::str::from_utf8(read_bytes(cursor)?);
            Value::Text(text.map_err(|_| DecodeError::Value("a text"))?.to_owned())
        }
    })
}

impl Event {
    /// Appends the event as a message with its frame. If it cannot be, nothing is appended.
    ///
    /// # Errors
    /// The event breaks a limit.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EventError> {
        self.check()?;
        let begun = out.len();
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&[VERSION, self.severity.number()]);
        out.extend_from_slice(&self.time_ns.to_le_bytes());
        self.put_shape(out);
        self.put_values(out);
        let bytes = out.len() - begun - 4;
        if bytes > MESSAGE_BYTES_MAX {
            out.truncate(begun);
            return Err(EventError::Message { bytes });
        }
        out[begun..begun + 4].copy_from_slice(&(bytes as u32).to_le_bytes());
        Ok(())
    }

    fn put_shape(&self, out: &mut Vec<u8>) {
        let mut presence = 0;
        let mut set = |condition: bool, bits: u8| presence |= if condition { bits } else { 0 };
        set(self.stream.is_some(), STREAM);
        set(self.place.is_some_and(|place| place.direction == Direction::ClientToServer), C2S);
        set(self.place.is_some_and(|place| place.direction == Direction::ServerToClient), S2C);
        set(self.excerpt.is_some(), EXCERPT);
        set(self.key.is_some_and(|key| key.client_addr.is_ipv4()), IPV4_KEY);
        set(self.key.is_some_and(|key| key.client_addr.is_ipv6()), IPV6_KEY);
        // Counts and lengths were checked.
        out.extend_from_slice(&[presence, self.fields.len() as u8]);
        let mut put_name = |kind: Option<FieldType>, name: &str| {
            out.extend(kind.map(|kind| kind as u8));
            out.push(name.len() as u8);
            out.extend_from_slice(name.as_bytes());
        };
        put_name(None, &self.analyzer);
        put_name(None, &self.kind);
        for field in &self.fields {
            put_name(Some(FieldType::of(&field.value)), &field.name);
        }
    }

    fn put_values(&self, out: &mut Vec<u8>) {
        let put_bytes = |out: &mut Vec<u8>, bytes: &[u8]| {
            out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            out.extend_from_slice(bytes);
        };
        if let Some(key) = &self.key {
            out.push(key.protocol);
            out.extend_from_slice(&key.client_port.to_le_bytes());
            out.extend_from_slice(&key.server_port.to_le_bytes());
            put_address(out, key.client_addr);
            put_address(out, key.server_addr);
        }
        let numbers = self.stream.into_iter().chain(self.place.map(|place| place.offset));
        out.extend(numbers.flat_map(u64::to_le_bytes));
        for field in &self.fields {
            match &field.value {
                Value::Bool(value) => out.push(u8::from(*value)),
                Value::I64(value) => out.extend_from_slice(&value.to_le_bytes()),
                Value::U64(value) | Value::Time(value) => out.extend_from_slice(&value.to_le_bytes()),
                Value::F64(value) => out.extend_from_slice(&value.to_bits().to_le_bytes()),
                Value::Text(text) => put_bytes(out, text.as_bytes()),
                Value::Bytes(bytes) => put_bytes(out, bytes),
                Value::Addr(addr) => put_address(out, *addr),
            }
        }
        if let Some(excerpt) = &self.excerpt {
            put_bytes(out, excerpt);
        }
    }
}

fn put_address(out: &mut Vec<u8>, addr: IpAddr) {
    match addr {
        IpAddr::V4(addr) => out.extend_from_slice(&addr.octets()),
        IpAddr::V6(addr) => out.extend_from_slice(&addr.octets()),
    }
}
