//! Values of serde: the names and forms of the command's JSON.

use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::{Service, Transaction, Value};

tidewire_types::serde_by_name!(Service);

/// Members of an object.
struct Members<'a>(&'a [(&'static str, Value<'a>)]);

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_u64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Seconds(seconds) => serializer.serialize_i64(*seconds),
            Self::Truth(truth) => serializer.serialize_bool(*truth),
            Self::Texts(texts) => serializer.collect_seq(texts),
            Self::Objects(objects) => serializer.collect_seq(objects.iter().map(|members| Members(members))),
            Self::Object(members) => Members(members).serialize(serializer),
        }
    }
}

impl Transaction {
    /// Serializes the members of a transaction into an object that may have others.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize_members<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("start_ns", &self.start.as_nanos())?;
        map.serialize_entry("end_ns", &self.end.as_nanos())?;
        map.serialize_entry("service", &self.service)?;
        if let Some(name) = self.name() {
            map.serialize_entry("name", name)?;
        }
        map.serialize_entry(self.service.name(), &Members(&self.values()))
    }
}

/// Times, protocol and name, and the fields in an object with the protocol's name.
impl Serialize for Transaction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.serialize_members(&mut map)?;
        map.end()
    }
}
