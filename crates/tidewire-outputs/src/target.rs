//! `--to FORMAT:PLACE`: what is written, and where.

use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    str::FromStr,
};

/// The formats of `--to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Suricata's EVE JSON.
    Eve,
    /// Zeek's logs, with tabs.
    Zeek,
    /// Zeek's logs, as JSON.
    ZeekJson,
    /// IPFIX, one record for both directions (RFC 5103).
    Ipfix,
    /// IPFIX, a record for each direction.
    IpfixUniflow,
    /// NetFlow version 9 (RFC 3954).
    Netflow9,
    /// JSON lines.
    Json,
    /// Comma-separated values.
    Csv,
    /// A database of SQLite.
    Sqlite,
    /// Files of Parquet by hour.
    Parquet,
    /// Arrow IPC.
    Arrow,
}

impl Format {
    const ALL: [(&'static str, Self); 11] = [
        ("eve", Self::Eve),
        ("zeek", Self::Zeek),
        ("zeek-json", Self::ZeekJson),
        ("ipfix", Self::Ipfix),
        ("ipfix-uniflow", Self::IpfixUniflow),
        ("netflow9", Self::Netflow9),
        ("json", Self::Json),
        ("csv", Self::Csv),
        ("sqlite", Self::Sqlite),
        ("parquet", Self::Parquet),
        ("arrow", Self::Arrow),
    ];

    /// Its name in `--to`.
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }

    /// The feature of the build that it needs.
    pub fn feature(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => Some("sqlite"),
            Self::Parquet | Self::Arrow => Some("parquet"),
            _ => None,
        }
    }

    /// Whether records of a table have a place in it.
    pub fn has_place_for(self, table: &str) -> bool {
        match table {
            "transactions" => !self.is_messages(),
            "matches" => !self.is_messages() && !self.is_logs(),
            "events" => !self.is_messages() && !self.is_logs() && self != Self::Eve,
            _ => true,
        }
    }

    /// Names of those with a place for records of a table.
    pub fn names_for(table: &str) -> Vec<&'static str> {
        Self::ALL.into_iter().filter(|(_, format)| format.has_place_for(table)).map(|(name, _)| name).collect()
    }

    /// Those with a place for records of a table, as a list in words.
    pub fn with_place_for(table: &str) -> String {
        let names = Self::names_for(table);
        match names.split_last() {
            Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
            _ => names.concat(),
        }
    }

    /// Whether it is no text.
    pub fn is_binary(self) -> bool {
        self.is_messages() || matches!(self, Self::Sqlite | Self::Parquet | Self::Arrow)
    }

    /// The port of collectors where none is named: IPFIX's own (RFC 7011 section 10.3), and the usual one of NetFlow, which has none.
    fn port(self) -> u16 {
        if self == Self::Netflow9 { 2055 } else { 4739 }
    }

    /// Whether transactions are written beside the streams that they belong to.
    pub fn has_both(self) -> bool {
        matches!(self, Self::Eve | Self::Zeek | Self::ZeekJson | Self::Sqlite | Self::Parquet)
    }

    /// Whether it is messages of records, which can be sent.
    pub fn is_messages(self) -> bool {
        matches!(self, Self::Ipfix | Self::IpfixUniflow | Self::Netflow9)
    }

    /// Whether it is a folder of logs.
    pub fn is_logs(self) -> bool {
        matches!(self, Self::Zeek | Self::ZeekJson)
    }
}

/// Where records go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Standard output.
    Stdout,
    /// A file or a folder.
    Path(PathBuf),
    /// A collector over UDP: `HOST:PORT`.
    Udp(String),
    /// A collector over TCP: `HOST:PORT`.
    Tcp(String),
}

impl Place {
    /// Whether both are one, by whatever name.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Path(one), Self::Path(other)) => located(one) == located(other),
            _ => self == other,
        }
    }
}

/// A path by its folder's own name, whether it is there or not.
fn located(path: &Path) -> PathBuf {
    let folder = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    };
    let beside = || Some(fs::canonicalize(folder).ok()?.join(path.file_name()?));
    fs::canonicalize(path).ok().or_else(beside).unwrap_or_else(|| path.to_path_buf())
}

/// A format with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The format.
    pub format: Format,
    /// The place.
    pub place: Place,
}

fn names() -> String {
    Format::ALL.map(|(name, _)| name).join(", ")
}

/// The form of a target, for messages.
#[must_use]
pub fn expected() -> String {
    format!("expected FORMAT:PLACE, as in eve:eve.json; FORMAT is one of {}", names())
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|(name, _)| *name == text);
        found.map(|(_, format)| format).ok_or_else(|| format!("unknown format '{text}'; expected one of {}", names()))
    }
}

impl Target {
    /// On standard output.
    ///
    /// # Errors
    /// Why the format has no place there.
    pub fn on_stdout(format: Format) -> Result<Self, String> {
        Self { format, place: Place::Stdout }.checked()
    }

    /// Parses the value of `--to`. A path may have any bytes.
    ///
    /// # Errors
    /// What is expected.
    pub fn parse(words: &OsStr) -> Result<Self, String> {
        if let Some(text) = words.to_str() {
            return text.parse();
        }
        let bytes = words.as_bytes();
        let colon = bytes.iter().position(|&byte| byte == b':').ok_or_else(expected)?;
        let format = str::from_utf8(&bytes[..colon]).map_err(|_| expected())?.parse()?;
        let path = OsStr::from_bytes(&bytes[colon + 1..]);
        if bytes[colon + 1..].windows(3).any(|part| part == b"://") {
            return Err("a host has a name in UTF-8".into());
        }
        Self { format, place: Place::Path(path.into()) }.checked()
    }

    /// If the format fits the place.
    fn checked(self) -> Result<Self, String> {
        let Self { format, place } = self;
        match place {
            Place::Udp(_) | Place::Tcp(_) if !format.is_messages() => {
                Err("only ipfix, ipfix-uniflow and netflow9 are sent; name a file".into())
            }
            Place::Tcp(_) if format == Format::Netflow9 => Err("netflow9 is sent over UDP: udp://HOST:PORT".into()),
            Place::Path(_) | Place::Stdout if format == Format::Netflow9 => {
                Err("netflow9 is sent: udp://HOST:PORT; files are written in ipfix (RFC 5655)".into())
            }
            Place::Stdout if format == Format::Sqlite => Err("a database needs a file: sqlite:FILE".into()),
            Place::Stdout if format == Format::Parquet => Err("parquet is written to a folder: parquet:DIR".into()),
            Place::Stdout if format.is_logs() => Err("Zeek's logs are several files: name a folder".into()),
            place => Ok(Self { format, place }),
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.format.name();
        match &self.place {
            Place::Stdout => write!(f, "{name}:-"),
            Place::Path(path) => write!(f, "{name}:{}", path.display()),
            Place::Udp(address) => write!(f, "{name}:udp://{address}"),
            Place::Tcp(address) => write!(f, "{name}:tcp://{address}"),
        }
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (format, place) = text.split_once(':').ok_or_else(expected)?;
        let format: Format = format.parse()?;
        let place = if place == "-" {
            Place::Stdout
        } else if let Some(address) = place.strip_prefix("udp://") {
            Place::Udp(with_port(address, format.port())?)
        } else if let Some(address) = place.strip_prefix("tcp://") {
            Place::Tcp(with_port(address, format.port())?)
        } else if let Some((scheme, _)) = place.split_once("://") {
            return Err(format!("'{scheme}://' is unknown; expected udp://HOST:PORT, tcp://HOST:PORT or a file"));
        } else if place.is_empty() {
            return Err(expected());
        } else {
            Place::Path(place.into())
        };
        Self { format, place }.checked()
    }
}

/// A host and a port; the usual one if none is named.
fn with_port(address: &str, usual: u16) -> Result<String, String> {
    let address = address.trim_end_matches('/');
    let host = address
        .rsplit_once(':')
        .filter(|(host, _)| !host.ends_with(':') && (!host.contains(':') || host.ends_with(']')));
    match host {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0) => Ok(address.into()),
        None if !address.is_empty() => Ok(format!("{address}:{usual}")),
        _ => Err(format!("'{address}' names no host and port, as in udp://192.0.2.1:{usual}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Result<Target, String> {
        text.parse()
    }

    #[test]
    fn a_place_is_the_same_by_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| Place::Path(folder.path().join(name));
        fs::create_dir(folder.path().join("logs")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("logs"), folder.path().join("link")).unwrap();
        for (one, other) in [("new", "./new"), ("new", "logs/../new"), ("logs", "link"), ("logs/new", "link/./new")] {
            assert!(path(one).is_same(&path(other)), "{one} {other}");
        }
        assert!(Place::Path("new".into()).is_same(&Place::Path("./new".into())));
        assert!(!path("new").is_same(&path("logs/new")) && !Place::Stdout.is_same(&path("new")));
    }

    #[test]
    fn formats_with_a_place_are_named() {
        assert_eq!(Format::with_place_for("events"), "json, csv, sqlite, parquet and arrow");
        assert_eq!(Format::with_place_for("matches"), "eve, json, csv, sqlite, parquet and arrow");
    }

    #[test]
    fn targets_have_a_format_and_a_place() {
        let of = |format, place| Ok(Target { format, place });
        assert_eq!(target("eve:-"), of(Format::Eve, Place::Stdout));
        assert_eq!(target("eve:a:b.json"), of(Format::Eve, Place::Path("a:b.json".into())));
        assert_eq!(target("zeek:logs"), of(Format::Zeek, Place::Path("logs".into())));
        assert_eq!(target("ipfix:udp://192.0.2.1"), of(Format::Ipfix, Place::Udp("192.0.2.1:4739".into())));
        assert_eq!(target("netflow9:udp://192.0.2.1"), of(Format::Netflow9, Place::Udp("192.0.2.1:2055".into())));
        assert_eq!(target("ipfix:tcp://[::1]:9/"), of(Format::Ipfix, Place::Tcp("[::1]:9".into())));
        assert_eq!(target("ipfix:udp://[::1]"), of(Format::Ipfix, Place::Udp("[::1]:4739".into())));
        for wrong in
            ["eve", "eve:", "evil:x", "eve:udp://a:1", "zeek:-", "netflow9:x", "ipfix:udp://:1", "ipfix:udp://a:0"]
        {
            assert!(target(wrong).is_err(), "{wrong}");
        }
    }
}
