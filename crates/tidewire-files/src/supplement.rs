//! Contents of a pcapng file beside packets and interfaces: texts of its sections, secrets, names.

use std::{
    collections::HashSet,
    hash::{BuildHasher as _, RandomState},
};

use crate::{
    limits::{OPTIONS_MAX, SUPPLEMENT_BYTES_MAX},
    record_cursor::{u16_at, u32_at},
};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
/// Type of a Name Resolution Block.
pub(crate) const NAMES: u32 = 4;
/// Type of a Decryption Secrets Block.
pub(crate) const SECRETS: u32 = 10;

const COMMENT: u16 = 1;
const HARDWARE: u16 = 2;
const SYSTEM: u16 = 3;
const APPLICATION: u16 = 4;

/// Who writes a file. Empty texts are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Writer {
    /// The machine's hardware.
    pub hardware: String,
    /// The operating system.
    pub system: String,
    /// The program.
    pub application: String,
    /// A comment; several are lines of it.
    pub comment: String,
}

impl Writer {
    /// This one, which writes what another one wrote before: with the machine and the comment of that one, and its program behind the own.
    #[must_use]
    pub fn again(&self, before: &Self) -> Self {
        let or = |text: &String, other: &String| if text.is_empty() { other.clone() } else { text.clone() };
        let application = match &*before.application {
            "" => self.application.clone(),
            // Written by itself.
            other if other.starts_with(&*self.application) => other.to_owned(),
            other => format!("{} ({other})", self.application),
        };
        let mut comment = self.comment.clone();
        if !before.comment.is_empty() && !comment.lines().any(|line| line == before.comment) {
            comment =
                if comment.is_empty() { before.comment.clone() } else { format!("{comment}\n{}", before.comment) };
        }
        Self {
            hardware: or(&before.hardware, &self.hardware),
            system: or(&before.system, &self.system),
            application,
            comment,
        }
    }
}

/// Blocks that go with the packets of a pcapng section where they are written again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Supplement {
    /// The writer named by the section's header, and its comment.
    Section(Writer),
    /// The body of a Decryption Secrets Block, in little-endian and without options: it has to lie before the packets that it
    /// decrypts.
    Secrets(Vec<u8>),
    /// The body of a Name Resolution Block, in little-endian and without options.
    Names(Vec<u8>),
}

impl Supplement {
    /// Bytes of its texts or block.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Section(writer) => {
                [&writer.hardware, &writer.system, &writer.application, &writer.comment].map(String::len).iter().sum()
            }
            Self::Secrets(body) | Self::Names(body) => body.len() + 12,
        }
    }
}

/// Reads the body of a block of this type: what is between its two lengths. `None`: it is of another type, says nothing, or is
/// damaged. Texts that are no UTF-8 are repaired.
#[must_use]
pub fn supplement(kind: u32, body: &[u8], big_endian: bool) -> Option<Supplement> {
    match kind {
        SECTION_HEADER => section(body.get(16..)?, big_endian).map(Supplement::Section),
        SECRETS => secrets(body, big_endian).map(Supplement::Secrets),
        NAMES => names(body, big_endian).map(Supplement::Names),
        _ => None,
    }
}

fn section(mut options: &[u8], big_endian: bool) -> Option<Writer> {
    let mut writer = Writer::default();
    for _ in 0..OPTIONS_MAX {
        let (Some(code), Some(length)) = (u16_at(options, 0, big_endian), u16_at(options, 2, big_endian)) else {
            break;
        };
        let length = usize::from(length);
        let Some(value) = options.get(4..4 + length).filter(|_| code != 0) else { break };
        let text = String::from_utf8_lossy(value).trim_end_matches('\0').to_owned();
        match code {
            COMMENT if writer.comment.is_empty() => writer.comment = text,
            COMMENT => writer.comment = format!("{}\n{text}", writer.comment),
            HARDWARE => writer.hardware = text,
            SYSTEM => writer.system = text,
            APPLICATION => writer.application = text,
            _ => {}
        }
        options = options.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
    }
    (writer != Writer::default()).then_some(writer)
}

/// Type and length of the secrets, and themselves (draft-ietf-opsawg-pcapng section 4.7).
fn secrets(body: &[u8], big_endian: bool) -> Option<Vec<u8>> {
    let (kind, length) = (u32_at(body, 0, big_endian)?, u32_at(body, 4, big_endian)?);
    let secrets = body.get(8..)?.get(..usize::try_from(length).ok()?)?;
    let mut own = Vec::with_capacity(8 + secrets.len().next_multiple_of(4));
    own.extend_from_slice(&kind.to_le_bytes());
    own.extend_from_slice(&length.to_le_bytes());
    own.extend_from_slice(secrets);
    own.resize(own.len().next_multiple_of(4), 0);
    Some(own)
}

/// Records of addresses with their names, which have no byte order (section 4.5), and the record that ends them.
fn names(body: &[u8], big_endian: bool) -> Option<Vec<u8>> {
    let (mut own, mut rest) = (Vec::with_capacity(body.len()), body);
    loop {
        let (kind, length) = (u16_at(rest, 0, big_endian)?, u16_at(rest, 2, big_endian)?);
        if kind == 0 {
            break;
        }
        let value = rest.get(4..)?.get(..usize::from(length))?;
        own.extend_from_slice(&kind.to_le_bytes());
        own.extend_from_slice(&length.to_le_bytes());
        own.extend_from_slice(value);
        own.resize(own.len().next_multiple_of(4), 0);
        rest = rest.get(4 + value.len().next_multiple_of(4)..)?;
    }
    own.extend_from_slice(&[0; 4]);
    (own.len() > 4).then_some(own)
}

/// Supplements of an input or a file: each once, 1 MiB of them at most.
#[derive(Clone, Debug, Default)]
pub struct Supplements {
    list: Vec<Supplement>,
    known: HashSet<u64>,
    hasher: RandomState,
    bytes: usize,
    left_out: u64,
}

impl Supplements {
    /// Adds one that is new, if there is room. Returns whether it was added.
    pub fn add(&mut self, supplement: &Supplement) -> bool {
        let bytes = supplement.bytes();
        if self.bytes + bytes > SUPPLEMENT_BYTES_MAX {
            self.left_out += 1;
            return false;
        }
        // A keyed hash of 64 bits: equal values cannot be found on purpose.
        if !self.known.insert(self.hasher.hash_one(supplement)) {
            return false;
        }
        self.bytes += bytes;
        self.list.push(supplement.clone());
        true
    }

    /// Adds all of these that are new, as far as there is room.
    pub fn add_all(&mut self, supplements: &[Supplement]) {
        for supplement in supplements {
            self.add(supplement);
        }
    }

    /// Those that were added, in their order.
    #[must_use]
    pub fn list(&self) -> &[Supplement] {
        &self.list
    }

    /// How many had no room.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Takes all of them, and forgets which they were.
    pub fn take(&mut self) -> Vec<Supplement> {
        (self.bytes, self.left_out) = (0, 0);
        self.known.clear();
        std::mem::take(&mut self.list)
    }
}

#[cfg(test)]
mod tests;
