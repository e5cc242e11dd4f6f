//! `--to FORMAT:PLACE`: what is written, and where.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    str::FromStr,
};

use rustix::fs::fstat;
use tidewire_exports::zeek::Log;

use crate::place::links::{self, Missing};

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

    /// Why records of a table have no place in it, and which formats have one; `None`: it has one.
    pub fn lacks(self, table: &str) -> Option<[String; 2]> {
        let is_lacking = !self.has_place_for(table);
        is_lacking.then(|| {
            let others = Self::with_place_for(table);
            [format!("{} has no place for {table}", self.name()), format!("{others} have")]
        })
    }

    /// Whether the format is binary.
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

    /// Whether it is IPFIX, which may have elements of our own.
    #[must_use]
    pub fn is_ipfix(self) -> bool {
        matches!(self, Self::Ipfix | Self::IpfixUniflow)
    }

    /// Whether rows are gathered in memory for its columns.
    #[must_use]
    pub fn has_columns(self) -> bool {
        matches!(self, Self::Parquet | Self::Arrow)
    }

    /// Whether its place is a folder.
    #[must_use]
    pub fn is_folder(self) -> bool {
        self.is_logs() || self == Self::Parquet
    }

    /// Whether it is a folder of logs.
    pub fn is_logs(self) -> bool {
        matches!(self, Self::Zeek | Self::ZeekJson)
    }
}

/// Where records go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputDestination {
    /// Standard output.
    Stdout,
    /// A file or a folder.
    Path(PathBuf),
    /// A collector over UDP: `HOST:PORT`.
    Udp(String),
    /// A collector over TCP: `HOST:PORT`.
    Tcp(String),
}

impl OutputDestination {
    /// Whether both name the same destination, after resolving links.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Path(one), Self::Path(other)) => {
                location(one).is_some_and(|one| Some(one) == location(other)) || located(one) == located(other)
            }
            _ => self == other,
        }
    }
}

/// A folder's device and inode, and a name in it; `None`: the folder itself.
type Location = ((u64, u64), Option<OsString>);

/// Where a path leads, also by links to what is not there yet; `None`: its folder is not there either.
fn location(path: &Path) -> Option<Location> {
    let found = links::find(path, Missing::Refuse).ok()?;
    let stat = fstat(&found.folder).ok()?;
    Some(((stat.st_dev, stat.st_ino), found.name))
}

/// Whether a name is that of one of Zeek's logs.
fn is_log(name: &OsStr) -> bool {
    Log::ALL.iter().any(|log| name.to_str() == Some(&format!("{}.log", log.name())))
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
    pub place: OutputDestination,
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
    /// Whether both would write to the same file, which may be a log in the folder of one.
    pub fn collides(&self, other: &Self) -> bool {
        self.place.is_same(&other.place) || self.has_log_at(other) || other.has_log_at(self)
    }

    /// Whether the other's file is one of this one's logs.
    fn has_log_at(&self, other: &Self) -> bool {
        let (OutputDestination::Path(folder), OutputDestination::Path(path)) = (&self.place, &other.place) else {
            return false;
        };
        let Some(logs) = location(folder).filter(|_| self.format.is_logs()) else { return false };
        let is_in = |place: Location| place.1.is_some_and(|name| is_log(&name)) && logs == (place.0, None);
        // The folder may not be there yet.
        let is_below =
            || path.file_name().is_some_and(is_log) && path.parent().and_then(location) == Some(logs.clone());
        location(path).is_some_and(is_in) || is_below()
    }

    /// On standard output.
    ///
    /// # Errors
    /// Why the format has no place there.
    pub fn on_stdout(format: Format) -> Result<Self, String> {
        Self { format, place: OutputDestination::Stdout }.checked()
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
        Self { format, place: OutputDestination::Path(path.into()) }.checked()
    }

    /// If the format fits the place.
    fn checked(self) -> Result<Self, String> {
        let Self { format, place } = self;
        match place {
            OutputDestination::Udp(_) | OutputDestination::Tcp(_) if !format.is_messages() => {
                Err("only ipfix, ipfix-uniflow and netflow9 are sent; name a file".into())
            }
            OutputDestination::Tcp(_) if format == Format::Netflow9 => {
                Err("netflow9 is sent over UDP: udp://HOST:PORT".into())
            }
            OutputDestination::Path(_) | OutputDestination::Stdout if format == Format::Netflow9 => {
                Err("netflow9 is sent: udp://HOST:PORT; files are written in ipfix (RFC 5655)".into())
            }
            OutputDestination::Stdout if format == Format::Sqlite => Err("a database needs a file: sqlite:FILE".into()),
            OutputDestination::Stdout if format == Format::Parquet => {
                Err("parquet is written to a folder: parquet:DIR".into())
            }
            OutputDestination::Stdout if format.is_logs() => Err("Zeek's logs are several files: name a folder".into()),
            place => Ok(Self { format, place }),
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.format.name();
        match &self.place {
            OutputDestination::Stdout => write!(f, "{name}:-"),
            OutputDestination::Path(path) => write!(f, "{name}:{}", path.display()),
            OutputDestination::Udp(address) => write!(f, "{name}:udp://{address}"),
            OutputDestination::Tcp(address) => write!(f, "{name}:tcp://{address}"),
        }
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (format, place) = text.split_once(':').ok_or_else(expected)?;
        let format: Format = format.parse()?;
        let place = if place == "-" {
            OutputDestination::Stdout
        } else if let Some(address) = place.strip_prefix("udp://") {
            OutputDestination::Udp(with_port(address, format.port())?)
        } else if let Some(address) = place.strip_prefix("tcp://") {
            OutputDestination::Tcp(with_port(address, format.port())?)
        } else if let Some((scheme, _)) = place.split_once("://") {
            return Err(format!("'{scheme}://' is unknown; expected udp://HOST:PORT, tcp://HOST:PORT or a file"));
        } else if place.is_empty() {
            return Err(expected());
        } else {
            OutputDestination::Path(place.into())
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
        let path = |name: &str| OutputDestination::Path(folder.path().join(name));
        fs::create_dir(folder.path().join("logs")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("logs"), folder.path().join("link")).unwrap();
        for (one, other) in [("new", "./new"), ("new", "logs/../new"), ("logs", "link"), ("logs/new", "link/./new")] {
            assert!(path(one).is_same(&path(other)), "{one} {other}");
        }
        assert!(OutputDestination::Path("new".into()).is_same(&OutputDestination::Path("./new".into())));
        assert!(!path("new").is_same(&path("logs/new")) && !OutputDestination::Stdout.is_same(&path("new")));
    }

    #[test]
    fn outputs_that_would_write_one_file_collide() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("z")).unwrap();
        std::os::unix::fs::symlink("later", path("dangling")).unwrap();
        std::os::unix::fs::symlink("z/dns.log", path("log")).unwrap();
        let target = |text: &str| {
            let (format, name) = text.split_once(':').unwrap();
            Target { format: format.parse().unwrap(), place: OutputDestination::Path(path(name)) }
        };
        for (one, other, collide) in [
            ("json:dangling", "eve:later", true),
            ("json:dangling", "eve:dangling", true),
            ("json:dangling", "eve:other", false),
            ("zeek:z", "json:z/conn.log", true),
            ("zeek:new", "json:new/conn.log", true),
            ("zeek-json:z", "eve:log", true),
            ("zeek:z", "json:z/eve.json", false),
            ("zeek:z", "json:conn.log", false),
            ("parquet:z", "json:z/conn.log", false),
        ] {
            let [one, other] = [one, other].map(target);
            assert_eq!((one.collides(&other), other.collides(&one)), (collide, collide), "{one} {other}");
        }
    }

    #[test]
    fn formats_with_a_place_are_named() {
        assert_eq!(Format::with_place_for("events"), "json, csv, sqlite, parquet and arrow");
        assert_eq!(Format::with_place_for("matches"), "eve, json, csv, sqlite, parquet and arrow");
    }

    #[test]
    fn targets_have_a_format_and_a_place() {
        let of = |format, place| Ok(Target { format, place });
        assert_eq!(target("eve:-"), of(Format::Eve, OutputDestination::Stdout));
        assert_eq!(target("eve:a:b.json"), of(Format::Eve, OutputDestination::Path("a:b.json".into())));
        assert_eq!(target("zeek:logs"), of(Format::Zeek, OutputDestination::Path("logs".into())));
        assert_eq!(target("ipfix:udp://192.0.2.1"), of(Format::Ipfix, OutputDestination::Udp("192.0.2.1:4739".into())));
        assert_eq!(
            target("netflow9:udp://192.0.2.1"),
            of(Format::Netflow9, OutputDestination::Udp("192.0.2.1:2055".into()))
        );
        assert_eq!(target("ipfix:tcp://[::1]:9/"), of(Format::Ipfix, OutputDestination::Tcp("[::1]:9".into())));
        assert_eq!(target("ipfix:udp://[::1]"), of(Format::Ipfix, OutputDestination::Udp("[::1]:4739".into())));
        for wrong in
            ["eve", "eve:", "evil:x", "eve:udp://a:1", "zeek:-", "netflow9:x", "ipfix:udp://:1", "ipfix:udp://a:0"]
        {
            assert!(target(wrong).is_err(), "{wrong}");
        }
    }
}
