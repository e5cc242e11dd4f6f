//! The options of `tidewire record`.

use std::{path::PathBuf, str::FromStr};

use clap::{Args, Subcommand, ValueEnum};
use tidewire_archive::Compression;
use tidewire_recorder::snap_bytes;

use crate::{
    arg_types::{ClassCutoff, ClassPriority, DirectionCutoff, whole},
    live::Live,
    own_input,
    units::{Share, Size, Span},
};

const ARCHIVE: &str = "Archive";
const SEGMENTS: &str = "Segments";
const KEEP: &str = "What is kept";
const LOOK_BACK: &str = "Look-back";
const MEMORY: &str = "Memory and overload";
const UPKEEP: &str = "Archives that are there";

const EXAMPLES: &str = "\
Examples:
  tidewire record -i eth0 -o /var/packets --size 500G --age 14d
  tidewire record -i eth0 -o /var/packets --cutoff 1M --cutoff-class 'udp port 53=all'
  tidewire record -i eth0 -o /disk1 -o /disk2 --compress zstd not port 22
  tidewire record -r capture.pcap -o archive
  tidewire record --verify /var/packets";

/// Record packets into an archive, to be found again
///
/// Writes pcapng segments that Wireshark and tcpdump open as they are, each with an index of its flows beside it. A segment has a
/// hidden name until it is complete. With --keep-last, packets wait in memory until a trigger; `tidewire record trigger SOCKET` is one. `tidewire recall` finds packets again. Each packet is accounted for: received = written + cut off + shed + filtered.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub struct Options {
    #[command(subcommand)]
    pub command: Option<Commands>,

    /// Record capture files, merged by time; `-` is standard input (a filter expression may follow)
    #[arg(short = 'r', long, value_name = "FILE", num_args = 1.., help_heading = "Input")]
    pub read: Vec<PathBuf>,

    /// Record only packets that match this expression (libpcap's language, as in tcpdump)
    #[arg(short = 'F', long, value_name = "EXPR", help_heading = "Input")]
    pub filter: Option<String>,

    /// As --filter: tidewire record -i eth0 -o DIR tcp port 80
    #[arg(value_name = "EXPR", conflicts_with = "filter", help_heading = "Input")]
    pub expression: Vec<String>,

    /// Worker threads of interfaces, 1 to 64: each writes segments of its own
    #[arg(short = 'j', long, value_name = "N", default_value_t = 1, value_parser = whole::<u16>, help_heading = "Input")]
    pub workers: u16,

    /// Read options from a TOML file, as the other commands do
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub config: Option<PathBuf>,

    #[command(flatten)]
    pub live: Live,

    /// The archive's directory, made if it is not there (repeatable: segments go to them in turn)
    #[arg(short = 'o', long, value_name = "DIR", help_heading = ARCHIVE)]
    pub output: Vec<PathBuf>,

    /// Keep the newest SIZE in each directory, as in 500G
    #[arg(long, value_name = "SIZE", help_heading = ARCHIVE)]
    pub size: Option<Size>,

    /// Keep packets for TIME, as in 14d
    #[arg(long, value_name = "TIME", help_heading = ARCHIVE)]
    pub age: Option<Span>,

    /// Remove the oldest segments while the file system has less than SIZE free
    #[arg(long, value_name = "SIZE", help_heading = SEGMENTS)]
    pub free: Option<Size>,

    /// Complete a segment at SIZE, at most 64G [default: 1G, or a sixteenth of --size if that is less]
    #[arg(long, value_name = "SIZE", help_heading = SEGMENTS)]
    pub segment_size: Option<Size>,

    /// Complete a segment after TIME: of interfaces by the clock, of files by packet time [default: 1m; files: no limit]
    #[arg(long, value_name = "TIME", help_heading = SEGMENTS)]
    pub segment_time: Option<Span>,

    /// Compress segments: lz4 or zstd, which any program reads
    #[arg(long, value_name = "HOW", value_enum, hide_possible_values = true, help_heading = ARCHIVE)]
    pub compress: Option<CompressName>,

    /// Encrypt segments and indexes for this recipient of age, as `tidewire keys identity` prints it (repeatable)
    #[arg(long, value_name = "RECIPIENT", help_heading = SEGMENTS)]
    pub encrypt_to: Vec<String>,

    /// Captured packets are on the disk after TIME at most, even if the power fails
    #[arg(long, value_name = "TIME", default_value = "1s", help_heading = SEGMENTS)]
    pub durable: Span,

    /// Write at most the first SIZE of payload of each direction of a stream; the rest is counted
    #[arg(long, value_name = "SIZE", default_value = "all", help_heading = KEEP)]
    pub cutoff: Size,

    /// The cutoff of one direction: c2s=SIZE or s2c=SIZE (repeatable)
    #[arg(long, value_name = "DIR=SIZE", help_heading = KEEP)]
    pub cutoff_direction: Vec<DirectionCutoff>,

    /// The cutoff of streams whose first packet matches EXPR, as in 'udp port 53=all'; the first match wins (repeatable)
    #[arg(long, value_name = "EXPR=SIZE", help_heading = KEEP)]
    pub cutoff_class: Vec<ClassCutoff>,

    /// Write at most SIZE of each packet of streams whose first packet matches EXPR, as in 'tcp port 443=96'; 0 is all of it
    /// (repeatable)
    #[arg(long, value_name = "EXPR=SIZE", help_heading = KEEP)]
    pub snaplen_class: Vec<ClassSnaplen>,

    /// Most nested tunnels to look into
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = whole::<u8>, help_heading = KEEP)]
    pub tunnel_depth: u8,

    /// Keep packets in memory, and record the last TIME before a trigger: --trigger, --trigger-pattern, SIGUSR1 or --control
    #[arg(long, value_name = "TIME", help_heading = LOOK_BACK)]
    pub keep_last: Option<Span>,

    /// Record TIME after a trigger as well
    #[arg(long, value_name = "TIME", default_value = "30s", requires = "keep_last", help_heading = LOOK_BACK)]
    pub keep_after: Span,

    /// Memory of each worker for packets that wait
    #[arg(long, value_name = "SIZE", default_value = "1G", requires = "keep_last", help_heading = LOOK_BACK)]
    pub keep_memory: Size,

    /// A packet that matches EXPR is a trigger (repeatable)
    #[arg(long, value_name = "EXPR", requires = "keep_last", help_heading = LOOK_BACK)]
    pub trigger: Vec<String>,

    /// A packet with these bytes is a trigger, written as for `tidewire match -e` (repeatable)
    #[arg(long, value_name = "PATTERN", requires = "keep_last", help_heading = LOOK_BACK)]
    pub trigger_pattern: Vec<String>,

    /// A packet that is a trigger records its stream, not the whole link
    #[arg(long, requires = "keep_last", help_heading = LOOK_BACK)]
    pub trigger_streams: bool,

    /// Listen at this Unix socket for `tidewire record trigger SOCKET`; with `-` behind it, each line of its standard input is a
    /// trigger (of `tidewire events --follow`, say)
    #[arg(long, value_name = "SOCKET", requires = "keep_last", help_heading = LOOK_BACK)]
    pub control: Option<PathBuf>,

    /// Memory of each worker between capture and disk: 64M bear a disk that stalls for 50 ms at 10 Gbit/s
    #[arg(long, value_name = "SIZE", default_value = "64M", help_heading = MEMORY)]
    pub buffer: Size,

    /// Nice value of the threads that record from interfaces, -20 (before all others) to 19; the default is -10 where that is
    /// permitted, so that those who send and receive wait before packets are lost
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(i8).range(-20..=19), help_heading = MEMORY)]
    pub nice: Option<i8>,

    /// Priority of streams whose first packet matches EXPR, 0 (lowest, the default) to 7, as in 'port 53=3': where the disk is
    /// too slow, low priorities are shed first (repeatable)
    #[arg(long, value_name = "EXPR=LEVEL", help_heading = MEMORY)]
    pub priority_class: Vec<ClassPriority>,

    /// Shed low priorities once SHARE of the buffers is in use, as 50% or 0.5
    #[arg(long, value_name = "SHARE", default_value = "50%", help_heading = MEMORY)]
    pub base_threshold: Share,

    /// Flows to remember for each worker, about 250 bytes each
    #[arg(long, value_name = "N", default_value_t = 262_144, value_parser = whole::<u32>, help_heading = MEMORY)]
    pub flows: u32,

    /// Check archives: every segment and index against the digests that were noted when it was written
    #[arg(long, value_name = "DIR", num_args = 0.., conflicts_with_all = ["output", "read", "interface", "index_only"], help_heading = UPKEEP)]
    pub verify: Option<Vec<PathBuf>>,

    /// Index captures in DIR, which becomes an archive
    #[arg(long, value_name = "DIR", num_args = 0.., conflicts_with_all = ["output", "read", "interface"], help_heading = UPKEEP)]
    pub index_only: Option<Vec<PathBuf>>,

    /// Read encrypted archives with the identity in FILE: --verify, and segments that need a new index (repeatable)
    #[arg(long, value_name = "FILE", value_parser = own_input::noted(), help_heading = SEGMENTS)]
    pub identity: Vec<PathBuf>,

    /// Print the summary as a JSON object; key names are stable
    #[arg(long, help_heading = "Report")]
    pub json: bool,
}

/// Subcommands that do not record.
#[derive(Subcommand, Debug)]
pub enum Commands {
    Trigger(TriggerOptions),
}

const TRIGGER: &str = "\
Examples:
  tidewire record trigger /run/record.sock
  tidewire events --follow --json | tidewire record trigger /run/record.sock -";

/// Fire the trigger of a recorder that looks back (--keep-last)
///
/// The recorder listens at a socket (--control SOCKET). It records what it has kept in memory, and what comes in the time of
/// --keep-after. Exit status 3 if no recorder answers.
#[derive(Args, Debug)]
#[command(after_help = TRIGGER)]
pub struct TriggerOptions {
    /// The recorder's socket
    #[arg(value_name = "SOCKET")]
    pub socket: String,

    /// `-`: fire for each line of standard input
    #[arg(value_name = "-", value_parser = ["-"], hide_possible_values = true)]
    pub lines: Option<String>,
}

/// See [`Compression`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompressName {
    Lz4,
    Zstd,
}

impl From<CompressName> for Compression {
    fn from(name: CompressName) -> Self {
        match name {
            CompressName::Lz4 => Self::Lz4,
            CompressName::Zstd => Self::Zstd,
        }
    }
}

/// A class and the length of its packets.
#[derive(Clone, Debug)]
pub struct ClassSnaplen(pub String, pub u32);

impl FromStr for ClassSnaplen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ClassCutoff(expression, bytes) = text.parse()?;
        Ok(Self(expression, snap_bytes(bytes)))
    }
}
