//! Events as JSON, as `docs/output.md` has it: integers, times in nanoseconds, addresses as text.
//!
//! The names are stable: each keeps its meaning and type. Names may be added; programs should ignore those that they do not know.
//!
//! | name | type | meaning |
//! |---|---|---|
//! | `time_ns` | number | the event's time, nanoseconds since 1970-01-01 UTC |
//! | `analyzer`, `kind` | text | who found it, and what it is |
//! | `severity` | text | `info`, `low`, `medium`, `high`, `critical` |
//! | `proto` | text | as for `flows`: `tcp`, `udp`, `icmp` …, or the IP protocol's number as text; only with a key |
//! | `client`, `server` | object | `{"addr": text, "port": number}`; only with a key |
//! | `stream` | number | the stream's id |
//! | `community_id` | text | Community ID version 1, seed 0; only with a key of one flow whose ports are known |
//! | `direction`, `offset` | text, number | `c2s` or `s2c`, and the offset in it; both or none |
//! | `fields` | object | what the analyzer adds, in its order. Bytes are hexadecimal text; floating-point numbers that JSON does not have are `NaN`, `inf`, `-inf` |
//! | `types` | object | types that the values do not show, by field: `bytes`, `addr`, `time`, `f64`, `i64` (of a number that is not negative). Left out where there is none |
//! | `excerpt` | text | hexadecimal |
//!
//! Members that an event does not have are left out. With `types` an event comes back as it was; without, texts are texts, and
//! numbers that are not negative are `u64`. (Of a NaN the payload is lost.)

use std::{fmt, net::IpAddr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Number, Value as Json};
use tidewire_types::{Direction, hex, protocol_name, protocol_number};

use crate::{
    error::EventError,
    event::{Event, Field, FlowKey, Severity, StreamPosition, Value},
};

/// The sender's: a text that is no event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// No JSON, or other members than those of an event.
    #[error("{0}")]
    Json(String),
    /// A member with a value that has no meaning.
    #[error("'{}': expected {expected}", name.escape_debug())]
    Member {
        /// The member, or the field.
        name: String,
        /// The expected value.
        expected: &'static str,
    },
    /// It is an event beyond a limit.
    #[error(transparent)]
    Event(#[from] EventError),
}

/// The name of an IP protocol, or its number.
pub(crate) fn protocol_text(protocol: u8) -> String {
    protocol_name(protocol).map_or_else(|| protocol.to_string(), str::to_owned)
}

/// An object whose members keep their order.
#[derive(Default)]
pub(crate) struct Members(pub Vec<(String, Json)>);

impl Members {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    addr: IpAddr,
    port: u16,
}

/// An event's members, in the order in which they are written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "event")]
struct Written {
    #[serde(skip_serializing_if = "Option::is_none")]
    time_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    analyzer: Option<String>,
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proto: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<End>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<End>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<u64>,
    /// Follows from the key: it is written, and ignored where it is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    community_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    direction: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(default)]
    fields: Members,
    #[serde(default, skip_serializing_if = "Members::is_empty")]
    types: Members,
    #[serde(skip_serializing_if = "Option::is_none")]
    excerpt: Option<String>,
}

/// A value, and its type where JSON does not show it.
pub(crate) fn value_to_json(value: &Value) -> (Json, Option<&'static str>) {
    match value {
        Value::Bool(value) => (Json::Bool(*value), None),
        Value::I64(value) => (Json::from(*value), (*value >= 0).then_some("i64")),
        Value::U64(value) => (Json::from(*value), None),
        Value::F64(value) => {
            // Readers may round the last digit of some: these are texts.
            let back = |number: &Number| serde_json::from_str::<f64>(&number.to_string()).map(f64::to_bits).ok();
            match Number::from_f64(*value).filter(|number| back(number) == Some(value.to_bits())) {
                Some(number) => (Json::Number(number), None),
                None => (Json::String(value.to_string()), Some("f64")),
            }
        }
        Value::Text(text) => (Json::String(text.clone()), None),
        Value::Bytes(bytes) => (Json::String(hex::encode(bytes)), Some("bytes")),
        Value::Addr(addr) => (Json::String(addr.to_string()), Some("addr")),
        Value::Time(time) => (Json::from(*time), Some("time")),
    }
}

impl Event {
    /// The event as a JSON object on one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        let (mut fields, mut types) = (Members::default(), Members::default());
        for field in &self.fields {
            let (value, hidden) = value_to_json(&field.value);
            fields.0.push((field.name.clone(), value));
            types.0.extend(hidden.map(|hidden| (field.name.clone(), hidden.into())));
        }
        let key = self.key.as_ref();
        let written = Written {
            time_ns: Some(self.time_ns),
            analyzer: Some(self.analyzer.clone()),
            kind: self.kind.clone(),
            severity: Some(self.severity.name().to_owned()),
            proto: key.map(|key| protocol_text(key.protocol)),
            client: key.map(|key| End { addr: key.client_addr, port: key.client_port }),
            server: key.map(|key| End { addr: key.server_addr, port: key.server_port }),
            stream: self.stream,
            community_id: key.and_then(FlowKey::community_id),
            direction: self.place.map(|place| place.direction.name().to_owned()),
            offset: self.place.map(|place| place.offset),
            fields,
            types,
            excerpt: self.excerpt.as_deref().map(hex::encode),
        };
        // Texts and numbers can always be written.
        serde_json::to_string(&written).unwrap_or_default()
    }

    /// An event of a JSON text. `time_ns` may be left out: `now_ns` stands in for it; without `severity` it is `info`.
    ///
    /// # Errors
    /// It is no JSON, has members that events do not have, or of another type, or the event breaks a limit.
    pub fn from_json(text: &str, now_ns: u64) -> Result<Self, JsonError> {
        Self::read_json(text, None, now_ns)
    }

    /// An event of a JSON text, from `analyzer` if the text does not name another one.
    ///
    /// # Errors
    /// As [`from_json`](Self::from_json).
    pub fn from_json_of(text: &str, analyzer: &str, now_ns: u64) -> Result<Self, JsonError> {
        Self::read_json(text, Some(analyzer), now_ns)
    }

    fn read_json(text: &str, analyzer: Option<&str>, now_ns: u64) -> Result<Self, JsonError> {
        if !text.trim_start().starts_with('{') {
            return Err(JsonError::Json("expected an object".into()));
        }
        let written: Written = serde_json::from_str(text).map_err(|error| JsonError::Json(error.to_string()))?;
        let analyzer = written.analyzer.or_else(|| analyzer.map(str::to_owned));
        let severity = written.severity.as_deref().map_or(Some(Severity::Info), Severity::by_name);
        let place = match (written.direction.as_deref(), written.offset) {
            (None, None) => None,
            (Some(direction), Some(offset)) => {
                let direction = Direction::by_name(direction).ok_or_else(|| wrong("direction", "c2s or s2c"))?;
                Some(StreamPosition { direction, offset })
            }
            _ => return Err(wrong("offset", "'direction' and 'offset' together")),
        };
        let excerpt = written
            .excerpt
            .as_deref()
            .map(|text| hex::decode(text).ok_or_else(|| wrong("excerpt", "hexadecimal text")));
        let event = Self {
            time_ns: written.time_ns.unwrap_or(now_ns),
            analyzer: analyzer.ok_or_else(|| JsonError::Json("missing field `analyzer`".into()))?,
            kind: written.kind,
            severity: severity.ok_or_else(|| wrong("severity", "info, low, medium, high or critical"))?,
            key: key_of(written.proto.as_deref(), written.client, written.server)?,
            stream: written.stream,
            place,
            fields: fields_of(written.fields, &written.types)?,
            excerpt: excerpt.transpose()?,
        };
        event.check()?;
        Ok(event)
    }
}

fn wrong(name: &str, expected: &'static str) -> JsonError {
    JsonError::Member { name: name.chars().take(80).collect(), expected }
}

fn key_of(proto: Option<&str>, client: Option<End>, server: Option<End>) -> Result<Option<FlowKey>, JsonError> {
    let (proto, client, server) = match (proto, client, server) {
        (None, None, None) => return Ok(None),
        (Some(proto), Some(client), Some(server)) => (proto, client, server),
        _ => return Err(wrong("client", "'proto', 'client' and 'server' together")),
    };
    let protocol = protocol_number(proto);
    let protocol = protocol.ok_or_else(|| wrong("proto", "a protocol's name, or its number as text"))?;
    let (client_addr, client_port) = (client.addr, client.port);
    Ok(Some(FlowKey { protocol, client_addr, client_port, server_addr: server.addr, server_port: server.port }))
}

fn fields_of(fields: Members, types: &Members) -> Result<Vec<Field>, JsonError> {
    if let Some((name, _)) = types.0.iter().find(|(name, _)| fields.0.iter().all(|field| field.0 != *name)) {
        return Err(wrong(name, "a field of that name, as it has a type"));
    }
    let field = |(name, json): (String, Json)| {
        let hidden = types.0.iter().find(|hidden| hidden.0 == name).map(|hidden| hidden.1.as_str().unwrap_or("?"));
        let value = value_of(&json, hidden).map_err(|expected| wrong(&name, expected))?;
        Ok(Field { name, value })
    };
    fields.0.into_iter().map(field).collect()
}

fn value_of(json: &Json, hidden: Option<&str>) -> Result<Value, &'static str> {
    let text = json.as_str();
    match hidden {
        Some("bytes") => text.and_then(hex::decode).map(Value::Bytes).ok_or("hexadecimal text"),
        Some("addr") => text.and_then(|text| text.parse().ok()).map(Value::Addr).ok_or("an IP address"),
        Some("time") => json.as_u64().map(Value::Time).ok_or("nanoseconds since 1970"),
        Some("i64") => json.as_i64().map(Value::I64).ok_or("a whole number"),
        Some("f64") => {
            let number = json.as_f64().or_else(|| text.and_then(|text| text.parse().ok()));
            number.map(Value::F64).ok_or("a number, 'NaN', 'inf' or '-inf'")
        }
        Some(_) => Err("a type that is 'bytes', 'addr', 'time', 'i64' or 'f64'"),
        None => match json {
            Json::Bool(value) => Ok(Value::Bool(*value)),
            Json::String(text) => Ok(Value::Text(text.clone())),
            Json::Number(number) => {
                let whole = number.as_u64().map(Value::U64).or_else(|| number.as_i64().map(Value::I64));
                whole.or_else(|| number.as_f64().map(Value::F64)).ok_or("a number of 64 bits")
            }
            _ => Err("a truth value, a number or a text"),
        },
    }
}
