//! Resource records (RFC 1035 section 4.1.3) and what they say.

use std::{
    fmt::Write as _,
    net::{Ipv4Addr, Ipv6Addr},
};

use super::{
    name::{self, Names},
    names, security, service,
};
use crate::{
    fields::Answer,
    reader::Reader,
    text::{hex, push_character_string},
    work,
};

/// Longest data of a record in hexadecimal that is kept, bytes of the record.
const HEX_BYTES_MAX: usize = 64;

/// Longest text of a record that is kept, bytes.
const DATA_BYTES_MAX: usize = 1024;

/// A record of a message, with its place.
pub(super) struct Record<'a> {
    name_at: usize,
    pub(super) kind: u16,
    pub(super) ttl: u32,
    data_at: usize,
    pub(super) data: &'a [u8],
    pub(super) end: usize,
}

impl<'a> Record<'a> {
    /// The record at `at`.
    pub(super) fn read(message: &'a [u8], at: usize) -> Option<Self> {
        let fixed = name::skip(message, at)?;
        let mut reader = Reader::new(message.get(fixed..)?);
        let (kind, _class, ttl) = (reader.u16()?, reader.u16()?, reader.u32()?);
        let data = reader.block16()?.rest();
        let data_at = fixed + 10;
        work::add(data_at - at);
        Some(Self { name_at: at, kind, ttl, data_at, data, end: data_at + data.len() })
    }

    /// The record as an answer. `names`: of its message.
    pub(super) fn answer(&self, names: &mut Names<'_>) -> Option<Answer> {
        let (name, _) = names.read(self.name_at)?;
        let data = self.say(names).unwrap_or_else(|| self.say_unknown());
        Some(Answer { name, kind: names::kind(self.kind), ttl: self.ttl, data: data.into() })
    }

    /// The data in its presentation format; `None`: not known here, or malformed.
    fn say(&self, names: &mut Names<'_>) -> Option<String> {
        let mut word_behind = |skipped: usize| {
            self.data.get(skipped..)?;
            names.word(self.data_at + skipped).map(|(name, _)| name)
        };
        let mut reader = Reader::new(self.data);
        Some(match self.kind {
            1 => Ipv4Addr::from(<[u8; 4]>::try_from(self.data).ok()?).to_string(),
            28 => Ipv6Addr::from(<[u8; 16]>::try_from(self.data).ok()?).to_string(),
            // NS, CNAME, PTR, DNAME
            2 | 5 | 12 | 39 => names.read(self.data_at)?.0.into(),
            // MX, AFSDB
            15 | 18 => format!("{} {}", reader.u16()?, word_behind(2)?),
            33 => format!("{} {} {} {}", reader.u16()?, reader.u16()?, reader.u16()?, word_behind(6)?),
            // SVCB, HTTPS
            64 | 65 => self.say_service(reader.u16()?, names)?,
            // DS, CDS, DLV
            43 | 59 | 32769 => security::say_digest(self.data)?,
            44 => security::say_fingerprint(self.data)?,
            46 => self.say_signature(names)?,
            47 => self.say_next(names)?,
            // DNSKEY, CDNSKEY
            48 | 60 => security::say_key(self.data)?,
            // TXT, SPF
            16 | 99 => self.say_texts()?,
            6 => self.say_authority(names)?,
            _ => return None,
        })
    }

    fn say_texts(&self) -> Option<String> {
        let (mut reader, mut shown) = (Reader::new(self.data), String::new());
        while !reader.is_empty() && shown.len() < DATA_BYTES_MAX {
            let text = reader.block8()?.rest();
            shown += if shown.is_empty() { "\"" } else { " \"" };
            push_character_string(&mut shown, text);
            shown.push('"');
        }
        Some(shown)
    }

    /// A signature of records.
    fn say_signature(&self, names: &mut Names<'_>) -> Option<String> {
        let (mut said, fixed_bytes) = security::say_signature(self.data)?;
        let (signer, end) = names.word(self.data_at + fixed_bytes)?;
        let _ = write!(said, " {signer} ");
        security::push_signature(&mut said, names.message().get(end..self.end)?)?;
        Some(said)
    }

    /// The next name of a zone, and the types that this one has.
    fn say_next(&self, names: &mut Names<'_>) -> Option<String> {
        let (next, end) = names.word(self.data_at)?;
        let mut said = next.into_string();
        security::push_types(&mut said, names.message().get(end..self.end)?)?;
        Some(said)
    }

    /// A service binding: priority, target and parameters.
    fn say_service(&self, priority: u16, names: &mut Names<'_>) -> Option<String> {
        let (target, end) = self.data.get(2..).and_then(|_| names.word(self.data_at + 2))?;
        let mut shown = format!("{priority} {target}");
        service::push_parameters(&mut shown, names.message().get(end..self.end)?)?;
        Some(shown)
    }

    /// The start of a zone of authority: both names and five numbers.
    fn say_authority(&self, names: &mut Names<'_>) -> Option<String> {
        let (server, end) = names.word(self.data_at)?;
        let (mail, end) = names.word(end)?;
        let mut reader = Reader::new(names.message().get(end..self.end)?);
        let mut shown = format!("{server} {mail}");
        for _ in 0..5 {
            let _ = write!(shown, " {}", reader.u32()?);
        }
        Some(shown)
    }

    /// RFC 3597 section 5.
    fn say_unknown(&self) -> String {
        let kept = &self.data[..self.data.len().min(HEX_BYTES_MAX)];
        let more = if kept.len() < self.data.len() { "..." } else { "" };
        format!("\\# {} {}{more}", self.data.len(), hex(kept)).trim_end().to_owned()
    }
}
