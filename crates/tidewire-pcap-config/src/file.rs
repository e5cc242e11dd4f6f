//! The configuration file: `key[@attribute] = value[, value]`, `#` for comments, `>` for a steering program.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use super::{
    device::{Engine, engine},
    error::{Error, Source, word},
    fanout::{GROUP_MAX, Level},
    locality::LocalityOptions,
    read::{CONFIGURATION, PROGRAM, read},
    text::{At, Text, suggestion},
};

/// Most captured bytes of a packet (`MAXIMUM_SNAPLEN`, libpcap's pcap-int.h).
pub const CAPLEN_MAX: u64 = 262_144;
/// Most slots of a ring: with slots of 2 KiB, just below 4 GiB.
pub const SLOTS_MAX: u64 = (4 << 30) / 2048 - 1;
/// Most channels of an interface; more than any driver has.
pub const CHANNELS_MAX: u64 = 1024;

/// Mistakes of a file that are kept.
const MISTAKES_MAX: usize = 100;

/// All keys, for suggestions; keys with a device or a group as their prefix.
const KEYS: &[&str] = &[
    "group",
    "def_group",
    "group_",
    "fanout",
    "steering",
    "lang",
    "cbpf",
    "vlan",
    "caplen",
    "rx_slots",
    "tx_slots",
    "tx_sync",
    "tx_hw_queue",
    "tx_idx_thread",
    "rx_channels",
    "combined_channels",
    "engine",
    "locality",
    "locality_key",
    "locality_batch",
    "locality_timeout",
    "locality_thread",
];

/// The parsed file.
#[derive(Clone, Debug, Default)]
pub struct File {
    pub group: Option<At<u8>>,
    pub def_group: Option<At<u8>>,
    pub groups: BTreeMap<String, At<u8>>,
    /// Fan-out settings by group; `None`: for all other groups.
    pub levels: BTreeMap<Option<u8>, Level>,
    pub caplen: Option<u32>,
    pub rx_slots: Option<u64>,
    pub engine: Option<At<Engine>>,
    pub engines: BTreeMap<String, At<Engine>>,
    pub rx_channels: BTreeMap<String, u32>,
    pub combined_channels: BTreeMap<String, u32>,
    pub locality: LocalityOptions,
}

impl File {
    /// Reads and parses a file; an error anywhere discards all of it.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let (source, text) = read(path, &CONFIGURATION)?;
        Self::parse(source, &text)
    }

    /// Parses its text.
    pub fn parse(source: Arc<Source>, text: &str) -> Result<Self, Error> {
        let (file, mistakes) = Self::examine(source, text);
        mistakes.into_iter().next().map_or(Ok(file), Err)
    }

    /// Parses its text: what is right, and every mistake in the order of the lines, at most [`MISTAKES_MAX`].
    pub fn examine(source: Arc<Source>, text: &str) -> (Self, Vec<Error>) {
        let mut file = Self::default();
        let mut mistakes = Vec::new();
        let mut seen = BTreeMap::new();
        // The program's lines, with empty lines for all others, so that positions in errors are those in the file.
        let mut program = String::new();
        let mut program_from = None;
        for (line, number) in text.lines().zip(1_u32..) {
            let trimmed = line.trim();
            if trimmed.starts_with('>') {
                program_from.get_or_insert(number);
                program.push_str(line);
            } else if !trimmed.is_empty() && !trimmed.starts_with('#') {
                mistakes.extend(file.entry(&Text::new(Arc::clone(&source), number, 1, line), &mut seen).err());
            }
            if program_from.is_some() {
                program.push('\n');
            }
        }
        if let Some(line) = program_from {
            let text = Text { source, line, column: 1, text: program.trim_end().to_owned() };
            mistakes.extend(file.set_lines(&text).err());
        }
        if mistakes.is_empty() {
            mistakes.extend(file.levels.values().filter_map(|level| level.check().err()));
        }
        mistakes.sort_by_key(|mistake| (mistake.line, mistake.column));
        mistakes.truncate(MISTAKES_MAX);
        (file, mistakes)
    }

    /// The steering program of the lines with `>`.
    fn set_lines(&mut self, program: &Text) -> Result<(), Error> {
        let level = self.levels.entry(None).or_default();
        if let Some(other) = level.program_text() {
            return Err(other.error("a steering program beside the lines with >", "leave one of them out"));
        }
        level.set_program(program)
    }

    /// `key[@attribute] = value`
    fn entry(&mut self, line: &Text, seen: &mut BTreeMap<String, u32>) -> Result<(), Error> {
        let Some((key, rest)) = line.text.split_once('=') else {
            return Err(line.error(
                format!("expected a setting, got '{}'", line.shown()),
                "write key = value, or # before a comment",
            ));
        };
        let behind = line.column + key.chars().count() as u32 + 1;
        let comment = rest.char_indices().find(|(at, c)| *c == '#' && rest[..*at].ends_with([' ', '\t']));
        let value = comment.and_then(|(at, _)| rest.get(..at)).unwrap_or(rest);
        let value = Text::new(Arc::clone(&line.source), line.line, behind, value);
        let key = Text::new(Arc::clone(&line.source), line.line, line.column, key);
        let name = Key::of(&key)?;
        if let Some(earlier) = seen.insert(name.identity(), line.line) {
            return Err(
                key.error(format!("'{}' is already set in line {earlier}", key.shown()), "leave one of them out")
            );
        }
        if value.text.is_empty() {
            return Err(value.error(format!("'{}' has no value", key.shown()), "write one, or leave the line out"));
        }
        self.set(&name, &key, &value)
    }

    fn set(&mut self, name: &Key, key: &Text, value: &Text) -> Result<(), Error> {
        let device = || name.device(key);
        match name.name.as_str() {
            "group_" => {
                self.groups.insert(device()?, value.at(group(value)?));
            }
            "group" => self.group = Some(value.at(name.plain(key, || group(value))?)),
            "def_group" => self.def_group = Some(value.at(name.plain(key, || group(value))?)),
            "fanout" | "steering" | "lang" | "cbpf" | "vlan" => {
                let level = self.levels.entry(name.group(key)?).or_default();
                match name.name.as_str() {
                    "fanout" => level.set_mode(value)?,
                    "cbpf" => level.set_classic(value)?,
                    "vlan" => level.set_vlan(value)?,
                    _ if level.program_text().is_some() => {
                        return Err(value.error("a second steering program", "leave one of them out"));
                    }
                    "steering" => level.set_program(value)?,
                    _ => level.set_program(&program_file(value)?)?,
                }
            }
            "caplen" => self.caplen = Some(name.plain(key, || caplen(value))?),
            "rx_slots" => self.rx_slots = Some(name.plain(key, || slots(value))?),
            // Without effect, but checked.
            "tx_slots" => drop(name.plain(key, || slots(value))?),
            "tx_sync" => drop(name.plain(key, || value.number("tx_sync", 0..=1 << 20))?),
            "tx_hw_queue" | "tx_idx_thread" => {
                let minus_one = |part: &Text| if part.text == "-1" { Ok(0) } else { part.number(&name.name, 0..=1024) };
                name.plain(key, || value.split(&[',']).iter().try_for_each(|part| minus_one(part).map(drop)))?;
            }
            "rx_channels" => drop(self.rx_channels.insert(device()?, channels(value)?)),
            "combined_channels" => drop(self.combined_channels.insert(device()?, channels(value)?)),
            "engine" if name.attribute.is_some() => drop(self.engines.insert(device()?, value.at(engine(value)?))),
            "engine" => self.engine = Some(value.at(engine(value)?)),
            other => match other.strip_prefix("locality") {
                Some(what) => name.plain(key, || self.locality.set(what.trim_start_matches('_'), value))?,
                None => return Err(unknown(key, other)),
            },
        }
        Ok(())
    }
}

/// A parsed key.
struct Key {
    /// In lower case; `group_` for keys with a device.
    name: String,
    attribute: Option<Text>,
}

impl Key {
    fn of(key: &Text) -> Result<Self, Error> {
        let small = key.text.to_ascii_lowercase();
        if small.starts_with("group_") {
            // Device names keep their case and may contain an @ (VLAN devices are shown with one).
            let device = key.text.get("group_".len()..).unwrap_or_default();
            let column = key.column + "group_".len() as u32;
            let device = Text::new(Arc::clone(&key.source), key.line, column, device);
            return Ok(Self { name: "group_".into(), attribute: Some(device) });
        }
        let (name, attribute) = match key.text.split_once('@') {
            Some((name, attribute)) => {
                let column = key.column + name.chars().count() as u32 + 1;
                (name, Some(Text::new(Arc::clone(&key.source), key.line, column, attribute)))
            }
            None => (key.text.as_str(), None),
        };
        let name = name.trim().to_ascii_lowercase();
        // The prefix of the fan-out paper.
        let name = name.strip_prefix("pfq_").unwrap_or(&name).to_owned();
        if name.ends_with('_') || !KEYS.contains(&name.as_str()) {
            return Err(unknown(key, &name));
        }
        Ok(Self { name, attribute })
    }

    /// The full key, which must be unique.
    fn identity(&self) -> String {
        format!("{}@{}", self.name, self.attribute.as_ref().map_or("", |attribute| &attribute.text))
    }

    /// Requires a key without an attribute.
    fn plain<T>(&self, key: &Text, value: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        match &self.attribute {
            Some(attribute) if self.name == "group" => {
                Err(attribute.error("'group' takes no @", format!("write group_{} = ...", word(&attribute.text))))
            }
            Some(attribute) => Err(attribute.error(format!("'{}' takes no @", self.name), "leave it out")),
            None => value().inspect_err(|error| debug_assert!(error.line >= key.line)),
        }
    }

    /// The group after the `@`, if any.
    fn group(&self, _key: &Text) -> Result<Option<u8>, Error> {
        self.attribute.as_ref().map(group).transpose()
    }

    /// The device after the `@` or `group_`.
    fn device(&self, key: &Text) -> Result<String, Error> {
        match &self.attribute {
            Some(device) if !device.text.is_empty() => Ok(device.text.clone()),
            _ => Err(key.error(format!("'{}' lacks the name of a device", key.shown()), "append it, as in eth0")),
        }
    }
}

fn unknown(key: &Text, name: &str) -> Error {
    let hint = suggestion(name, KEYS.iter().copied().filter(|known| !known.ends_with('_')));
    let hint = if hint.is_empty() { "see tidewire-pcap(7) for the keys".into() } else { hint };
    key.error(format!("unknown key '{}'", key.shown()), hint)
}

/// Parses a group number.
pub fn group(text: &Text) -> Result<u8, Error> {
    text.number("group", 0..=GROUP_MAX.into()).map(|group| group as u8)
}

/// Parses a capture length.
pub fn caplen(text: &Text) -> Result<u32, Error> {
    text.number("caplen", 1..=CAPLEN_MAX).map(|bytes| bytes as u32)
}

/// Parses a number of slots.
pub fn slots(text: &Text) -> Result<u64, Error> {
    text.number("slots", 1..=SLOTS_MAX)
}

fn channels(text: &Text) -> Result<u32, Error> {
    text.number("channels", 1..=CHANNELS_MAX).map(|channels| channels as u32)
}

/// Reads the program in the named file.
pub fn program_file(path: &Text) -> Result<Text, Error> {
    let named = Path::new(&path.text);
    if !named.is_absolute() {
        let hint = "write it from the root on, without ~ and variables";
        return Err(path.error(format!("'{}' is not an absolute path", path.shown()), hint));
    }
    let (source, text) = read(named, &PROGRAM).map_err(|error| {
        if error.line == 0 { path.error(format!("{}: {}", path.shown(), error.message), error.hint) } else { error }
    })?;
    Ok(Text { source, line: 1, column: 1, text })
}
