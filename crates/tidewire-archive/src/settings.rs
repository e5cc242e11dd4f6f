use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{block::Writer, seal::Recipients};

/// How the bytes of a segment are compressed: in independent frames, with a table of them at the end that other programs skip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// Zstandard (RFC 8878).
    Zstd,
    /// LZ4 frames.
    Lz4,
}

impl Compression {
    /// Every way.
    pub const ALL: &'static [Self] = &[Self::None, Self::Zstd, Self::Lz4];

    /// The ending that it adds to the name of a file.
    #[must_use]
    pub fn ending(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Zstd => ".zst",
            Self::Lz4 => ".lz4",
        }
    }
}

/// How segments are written.
#[derive(Clone, Debug)]
pub struct Settings {
    /// A segment with so many bytes of blocks is complete. Default 1 GiB.
    pub segment_bytes: u64,
    /// A segment is complete after this time, by the recorder's clock. Default 60 s.
    pub segment_time: Duration,
    /// Longest time between two syncs of written bytes. Default 1 s.
    pub durable: Duration,
    /// How blocks are compressed. Default: not.
    pub compression: Compression,
    /// Who can read segments and indexes; `None`: everybody. Default: `None`.
    pub recipients: Option<Recipients>,
    /// The writer's description in the section header.
    pub writer: Writer,
    /// How the index is built.
    pub index: IndexSettings,
}

impl Settings {
    /// Whether segments hold their blocks as they are: neither compressed nor encrypted.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.compression == Compression::None && self.recipients.is_none()
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            segment_bytes: 1 << 30,
            segment_time: Duration::from_secs(60),
            durable: Duration::from_secs(1),
            compression: Compression::None,
            recipients: None,
            writer: Writer::default(),
            index: IndexSettings::default(),
        }
    }
}

/// How an index is built, and its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexSettings {
    /// Flows in a segment at most; with more it is complete early. About 130 bytes of memory each. Default 262,144.
    pub flows_max: u32,
    /// An extent of a flow ends where this many bytes hold no packet of it. Default 256 KiB.
    pub extent_gap_bytes: u64,
    /// How deep the engine follows tunnels: see `tidewire::WireSettings`. Default 8.
    pub tunnel_depth: u8,
    /// Whether VLAN ids distinguish flows. Default: no.
    pub key_vlan: bool,
    /// Whether tunnels distinguish flows. Default: no.
    pub key_tunnel: bool,
}

impl Default for IndexSettings {
    fn default() -> Self {
        Self { flows_max: 1 << 18, extent_gap_bytes: 256 << 10, tunnel_depth: 8, key_vlan: false, key_tunnel: false }
    }
}
