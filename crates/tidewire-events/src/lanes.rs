//! The values of a message side by side: numbers and blobs, in the order of its bytes, and the message of them again.

use crate::{
    cursor::Cursor,
    error::DecodeError,
    event::Value,
    json::protocol_text,
    message::{FieldType, Shape},
};

use smallvec::SmallVec;

/// Name of a lane's values, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    Protocol,
    Field(FieldType),
}

/// Where in a message a lane's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A number of 1, 2 or 8 bytes, little-endian.
    Number(u8),
    /// An IPv4 address.
    Ipv4,
    /// The upper half of an IPv6 address; the lower half is the next lane.
    Ipv6High,
    Ipv6Low,
    /// A length of 4 bytes, and so many.
    Blob,
}

/// One lane: a part of a message that may vary.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub name: String,
    form: Form,
    pub meaning: Meaning,
}

impl Lane {
    pub(crate) fn is_blob(&self) -> bool {
        self.form == Form::Blob
    }

    /// Whether it is the first half of a value, whose second half is the next lane.
    pub(crate) fn is_high(&self) -> bool {
        self.form == Form::Ipv6High
    }
}

/// The lanes of a shape. The first is the time.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub lanes: Vec<Lane>,
}

/// Values of a message by lane: of numbers and of blobs, each in the order of the lanes.
#[derive(Default)]
pub(crate) struct Values<'a> {
    pub ints: SmallVec<[u64; 24]>,
    pub blobs: SmallVec<[&'a [u8]; 8]>,
}

impl Plan {
    pub(crate) fn new(shape: &Shape<'_>) -> Self {
        let mut plan = Self { lanes: Vec::new() };
        plan.add("time_ns", FieldType::Time);
        if let Some(bytes) = shape.key_bytes() {
            let address = if bytes == 4 { FieldType::Ipv4 } else { FieldType::Ipv6 };
            plan.lanes.push(Lane { name: "proto".into(), form: Form::Number(1), meaning: Meaning::Protocol });
            for name in ["client_port", "server_port"] {
                let meaning = Meaning::Field(FieldType::U64);
                plan.lanes.push(Lane { name: name.into(), form: Form::Number(2), meaning });
            }
            plan.add("client_addr", address);
            plan.add("server_addr", address);
        }
        if shape.has_stream() {
            plan.add("stream", FieldType::U64);
        }
        if shape.direction().is_some() {
            plan.add("offset", FieldType::U64);
        }
        for (kind, name) in &shape.fields {
            plan.add(name, *kind);
        }
        if shape.has_excerpt() {
            plan.add("excerpt", FieldType::Bytes);
        }
        plan
    }

    fn add(&mut self, name: &str, kind: FieldType) {
        let forms: &[Form] = match kind {
            FieldType::Bool => &[Form::Number(1)],
            FieldType::I64 | FieldType::U64 | FieldType::F64 | FieldType::Time => &[Form::Number(8)],
            FieldType::Text | FieldType::Bytes => &[Form::Blob],
            FieldType::Ipv4 => &[Form::Ipv4],
            FieldType::Ipv6 => &[Form::Ipv6High, Form::Ipv6Low],
        };
        let lane = |form: &Form| Lane { name: name.to_owned(), form: *form, meaning: Meaning::Field(kind) };
        self.lanes.extend(forms.iter().map(lane));
    }

    /// The values of a message of this shape. Fails only if it is not of this shape.
    pub(crate) fn split<'a>(&self, time_ns: u64, bytes: &'a [u8], out: &mut Values<'a>) -> Result<(), DecodeError> {
        out.ints.clear();
        out.blobs.clear();
        out.ints.push(time_ns);
        let mut cursor = Cursor::new(bytes);
        for lane in &self.lanes[1..] {
            let int = match lane.form {
                Form::Number(1) => u64::from(cursor.byte("a value")?),
                Form::Number(2) => cursor.array("a value").map(u16::from_le_bytes)?.into(),
                Form::Number(_) => cursor.u64("a value")?,
                Form::Ipv4 => cursor.array("a value").map(u32::from_be_bytes)?.into(),
                Form::Ipv6High | Form::Ipv6Low => cursor.array("a value").map(u64::from_be_bytes)?,
                Form::Blob => {
                    let bytes = cursor.u32("a value")?;
                    out.blobs.push(cursor.bytes(bytes as usize, "a value")?);
                    continue;
                }
            };
            out.ints.push(int);
        }
        cursor.end()
    }

    /// Appends the values of a message but its time. `int` and `blob` give the next value of a lane.
    pub(crate) fn join(
        &self,
        mut int: impl FnMut() -> Result<u64, DecodeError>,
        mut blob: impl FnMut(&mut Vec<u8>) -> Result<(), DecodeError>,
        out: &mut Vec<u8>,
    ) -> Result<(), DecodeError> {
        for lane in &self.lanes[1..] {
            match lane.form {
                Form::Number(bytes) => out.extend_from_slice(&int()?.to_le_bytes()[..usize::from(bytes)]),
                Form::Ipv4 => out.extend_from_slice(&(int()? as u32).to_be_bytes()),
                Form::Ipv6High | Form::Ipv6Low => out.extend_from_slice(&int()?.to_be_bytes()),
                Form::Blob => {
                    let begun = out.len();
                    out.extend_from_slice(&[0; 4]);
                    blob(out)?;
                    let bytes = (out.len() - begun - 4) as u32;
                    out[begun..begun + 4].copy_from_slice(&bytes.to_le_bytes());
                }
            }
        }
        Ok(())
    }
}

/// A lane's number as a value; `low`: the next lane's, of an IPv6 address.
pub(crate) fn int_value(meaning: Meaning, int: u64, low: u64) -> Value {
    match meaning {
        Meaning::Protocol => Value::Text(protocol_text(int as u8)),
        Meaning::Field(kind) => match kind {
            FieldType::Bool => Value::Bool(int != 0),
            FieldType::I64 => Value::I64(int.cast_signed()),
            FieldType::F64 => Value::F64(f64::from_bits(int)),
            FieldType::Time => Value::Time(int),
            FieldType::Ipv4 => Value::Addr(std::net::Ipv4Addr::from(int as u32).into()),
            FieldType::Ipv6 => Value::Addr(std::net::Ipv6Addr::from(u128::from(int) << 64 | u128::from(low)).into()),
            FieldType::U64 | FieldType::Text | FieldType::Bytes => Value::U64(int),
        },
    }
}

/// A lane's blob as a value.
pub(crate) fn blob_value(meaning: Meaning, bytes: &[u8]) -> Value {
    match (meaning, std::str::from_utf8(bytes)) {
        (Meaning::Field(FieldType::Text), Ok(text)) => Value::Text(text.to_owned()),
        _ => Value::Bytes(bytes.to_vec()),
    }
}
