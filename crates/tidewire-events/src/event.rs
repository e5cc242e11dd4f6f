//! An event of an analyzer, with its values.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr},
};

use tidewire_types::Direction;

use crate::{
    error::EventError,
    limits::{EXCERPT_BYTES_MAX, FIELDS_MAX, NAME_BYTES_MAX, VALUE_BYTES_MAX},
};

/// How bad it is, from the least. The order is the one in which a full store removes events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    #[default]
    Info,
    /// Unusual.
    Low,
    /// It deserves attention.
    Medium,
    /// Most likely an attack or a failure.
    High,
    /// An attack that succeeded, or a failure that goes on.
    Critical,
}

impl Severity {
    /// All of them, the least first: the place of each is its number in messages.
    pub const ALL: [Self; 5] = [Self::Info, Self::Low, Self::Medium, Self::High, Self::Critical];

    /// Its name in JSON and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

    /// By its name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.name() == name)
    }

    /// Its number in messages and in the store: 0 to 4.
    #[must_use]
    pub fn number(self) -> u8 {
        self as u8
    }

    /// By its number.
    #[must_use]
    pub fn by_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A place in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamPosition {
    /// Which of its directions.
    pub direction: Direction,
    /// Bytes from the beginning of that direction.
    pub offset: u64,
}

/// Between whom: addresses of one family, ports (0 where the protocol has none) and the IP protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowKey {
    /// Number of the IP protocol.
    pub protocol: u8,
    /// The client's address.
    pub client_addr: IpAddr,
    /// The client's port.
    pub client_port: u16,
    /// The server's address.
    pub server_addr: IpAddr,
    /// The server's port.
    pub server_port: u16,
}

impl Default for FlowKey {
    fn default() -> Self {
        let unspecified = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        Self { protocol: 0, client_addr: unspecified, client_port: 0, server_addr: unspecified, server_port: 0 }
    }
}

/// A value of a field.
#[derive(Clone, Debug)]
pub enum Value {
    /// A truth value.
    Bool(bool),
    /// A number that may be negative.
    I64(i64),
    /// A number.
    U64(u64),
    /// A floating-point number. Two are equal if their bits are.
    F64(f64),
    /// A text, at most [`VALUE_BYTES_MAX`] bytes.
    Text(String),
    /// Bytes, at most [`VALUE_BYTES_MAX`].
    Bytes(Vec<u8>),
    /// An IP address.
    Addr(IpAddr),
    /// A time in nanoseconds since 1970-01-01 UTC.
    Time(u64),
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::I64(a), Self::I64(b)) => a == b,
            (Self::U64(a), Self::U64(b)) | (Self::Time(a), Self::Time(b)) => a == b,
            (Self::F64(a), Self::F64(b)) => a.to_bits() == b.to_bits(),
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::Addr(a), Self::Addr(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Value {}

/// A field that an analyzer adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name, as for a kind.
    pub name: String,
    /// Its value.
    pub value: Value,
}

/// An event. [`check`](Self::check) says whether it keeps within the limits; encoding asks it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Nanoseconds since 1970-01-01 UTC, of the packet where there is one.
    pub time_ns: u64,
    /// Who found it: 1 to [`NAME_BYTES_MAX`] letters, digits, `.`, `-` and `_`.
    pub analyzer: String,
    /// Its kind, as in `scan.horizontal`: a name of the same form.
    pub kind: String,
    /// How bad it is.
    pub severity: Severity,
    /// Between whom.
    pub key: Option<FlowKey>,
    /// The stream's id (the number of its first packet).
    pub stream: Option<u64>,
    /// Where in the stream.
    pub place: Option<StreamPosition>,
    /// Further values, in the analyzer's order; at most [`FIELDS_MAX`], each name once.
    pub fields: Vec<Field>,
    /// The bytes that it is about, at most [`EXCERPT_BYTES_MAX`].
    pub excerpt: Option<Vec<u8>>,
}

/// Members that every event has: no field can be called so.
pub(crate) const MEMBERS: [&str; 15] = [
    "time_ns",
    "analyzer",
    "kind",
    "severity",
    "proto",
    "client",
    "server",
    "client_addr",
    "client_port",
    "server_addr",
    "server_port",
    "stream",
    "direction",
    "offset",
    "excerpt",
];

/// Whether it can be the name of an analyzer, a kind or a field: 1 to [`NAME_BYTES_MAX`] ASCII letters, digits, `.`, `-`, `_`.
#[must_use]
pub fn is_name(text: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
}

/// Whether it chooses names: a name, or the beginning of names (which may be empty) and a `*`.
#[must_use]
pub fn is_name_pattern(text: &str) -> bool {
    let is_beginning = |beginning: &str| beginning.is_empty() || is_name(beginning);
    is_name(text) || text.strip_suffix('*').is_some_and(is_beginning)
}

/// The text as a name, or the error that says what it should have been.
pub(crate) fn check_name(what: &'static str, name: &str) -> Result<(), EventError> {
    if is_name(name) { Ok(()) } else { Err(EventError::Name { what, name: name.chars().take(80).collect() }) }
}

/// Names of fields: each once, none of an event's own members.
pub(crate) fn check_field_names<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Result<(), EventError> {
    let count = names.clone().count();
    if count > FIELDS_MAX {
        return Err(EventError::Fields { count });
    }
    for (at, name) in names.clone().enumerate() {
        check_name("a field", name)?;
        if MEMBERS.contains(&name) {
            return Err(EventError::Reserved { name: name.to_owned() });
        }
        if names.clone().take(at).any(|earlier| earlier == name) {
            return Err(EventError::Twice { name: name.to_owned() });
        }
    }
    Ok(())
}

pub(crate) fn check_value_bytes(name: &str, bytes: usize) -> Result<(), EventError> {
    if bytes > VALUE_BYTES_MAX { Err(EventError::Value { name: name.to_owned(), bytes }) } else { Ok(()) }
}

pub(crate) fn check_excerpt_bytes(bytes: usize) -> Result<(), EventError> {
    if bytes > EXCERPT_BYTES_MAX { Err(EventError::Excerpt { bytes }) } else { Ok(()) }
}

impl Event {
    /// Adds a field.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.fields.push(Field { name: name.to_owned(), value });
        self
    }

    /// Whether it keeps within the limits, apart from the sum of its bytes, which encoding checks.
    ///
    /// # Errors
    /// The first limit or rule that it breaks.
    pub fn check(&self) -> Result<(), EventError> {
        check_name("an analyzer", &self.analyzer)?;
        check_name("a kind", &self.kind)?;
        check_field_names(self.fields.iter().map(|field| field.name.as_str()))?;
        for field in &self.fields {
            let bytes = match &field.value {
                Value::Text(text) => text.len(),
                Value::Bytes(bytes) => bytes.len(),
                _ => 0,
            };
            check_value_bytes(&field.name, bytes)?;
        }
        check_excerpt_bytes(self.excerpt.as_ref().map_or(0, Vec::len))?;
        match &self.key {
            Some(key) if key.client_addr.is_ipv4() != key.server_addr.is_ipv4() => Err(EventError::Families),
            _ => Ok(()),
        }
    }
}
