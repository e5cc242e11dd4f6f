//! The options that all subcommands share, and the configuration that they set.

use std::{
    fs::File,
    os::fd::AsFd as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use clap::Args;
use tidewire::{
    Capture, ChecksumMode, Config, DefragPolicy, Files, KeyIds, LinkAddresses, Mode, StreamClass, TargetPolicies,
};
use tidewire_outputs::{CutOffs, ENGINE_BYTES_MIN, KeptState, MemoryParts};

use crate::{
    archive::ArchiveOptions,
    arg_types::{
        ChecksumName, ClassCutoff, ClassPriority, DirectionCutoff, DuplicatesName, LinkAddressesName, ModeName, Policy,
        Sliced, StatsFormat, TargetPolicy, UrgentName, whole,
    },
    capture_args,
    error::CliError,
    live::{Interfaces, Live},
    own_input,
    units::{Binary, Share, Size, Span, counted},
};

/// Headings of the help.
const INPUT: &str = "Input";
const STREAMS: &str = "Streams";
const FRAGMENTS: &str = "Fragments";
const DELIVERY: &str = "Delivery";
const MEMORY: &str = "Memory and overload";
const REPORT: &str = "Report";

/// Options of every subcommand that reads captures.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// Capture files or archives' directories, merged by time; `-` is standard input
    ///
    /// pcap, pcapng, snoop, ERF and Microsoft Network Monitor; gzip, zstd, lz4, xz and bzip2. Of a directory only what the filter
    /// expression may match is read (tidewire recall).
    #[arg(value_name = "CAPTURE", display_order = 0, help_heading = INPUT)]
    pub files: Vec<PathBuf>,

    /// Process only packets that match this expression (libpcap's language, as in tcpdump)
    #[arg(short = 'F', long, value_name = "EXPR", display_order = 1, help_heading = INPUT)]
    pub filter: Option<String>,

    /// As --filter, after the captures: tidewire flows a.pcap tcp port 80. Write `--` before it if one of its words could be
    /// a file name
    #[arg(last = true, value_name = "EXPR", display_order = 2, conflicts_with = "filter", help_heading = INPUT)]
    pub expression: Vec<String>,

    /// Worker threads, 1 to 64. The results are the same for any number unless a limit is reached: --memory, --history and the
    /// tables are divided among workers
    #[arg(short = 'j', long, display_order = 3, value_name = "N", default_value_t = 1, value_parser = whole::<usize>, help_heading = INPUT)]
    pub workers: usize,

    /// Read options from a TOML file: `key = value` with the names of these options, at the top or in a table named after the
    /// subcommand. The command line overrides the file; --no-NAME turns off a switch that the file turns on
    #[arg(long, value_name = "FILE", display_order = 4, help_heading = INPUT)]
    pub config: Option<PathBuf>,

    #[command(flatten)]
    pub archive: ArchiveOptions,

    #[command(flatten)]
    pub live: Live,

    /// strict: wait for missing segments as long as the receiver could still get them; fast: wait for a few packets only; track:
    /// deliver no data [default: strict; datagrams: track]
    #[arg(long, value_name = "MODE", value_enum, hide_possible_values = true, help_heading = STREAMS)]
    pub mode: Option<ModeName>,

    /// Which bytes win where segments or fragments overlap: first, last, bsd, bsd-right, linux, linux-2.6, old-linux,
    /// windows, vista, solaris, hpux10, hpux11, irix, macos, rfc5722. A name that exists only for TCP or only
    /// for fragments sets that one. Only linux was compared with real hosts; the others follow publications
    #[arg(long, value_name = "POLICY", default_value = "linux", help_heading = STREAMS)]
    pub policy: Policy,

    /// The policy for fragments of IPv6, which all hosts treat alike since RFC 5722
    #[arg(long, value_name = "POLICY", default_value = "linux", help_heading = STREAMS)]
    pub policy_ipv6: DefragPolicy,

    /// The policy of receivers in a network, as in 10.1.0.0/16=windows; the longest prefix wins (repeatable)
    #[arg(long, value_name = "NET=POLICY", help_heading = STREAMS)]
    pub target_policy: Vec<TargetPolicy>,

    /// Packets with a wrong checksum. auto: keep those that the receiver accepted; verify: drop all; ignore: keep all
    #[arg(long, value_name = "HOW", value_enum, default_value = "auto", hide_possible_values = true, help_heading = STREAMS)]
    pub checksum: ChecksumName,

    /// Destination MAC addresses. compare: report packets of a flow that are sent to another address; ignore: do not compare
    #[arg(long, value_name = "HOW", value_enum, default_value = "compare", hide_possible_values = true, help_heading = STREAMS)]
    pub link_addresses: LinkAddressesName,

    /// Copies of packets, seen at another interface or twice at a mirror port. auto: leave them out where there are several interfaces,
    /// or the first packets of a file show them; keep: process them; drop: leave them out
    #[arg(long, value_name = "HOW", value_enum, default_value = "auto", hide_possible_values = true, help_heading = STREAMS)]
    pub duplicates: DuplicatesName,

    /// Drop packets with a lower time to live: they do not reach the receiver
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u8>, help_heading = STREAMS)]
    pub ttl_min: u8,

    /// TCP urgent data. inline: part of the stream; out: removed from the stream, as Linux does by default
    #[arg(long, value_name = "HOW", value_enum, default_value = "inline", hide_possible_values = true, help_heading = STREAMS)]
    pub urgent: UrgentName,

    /// End a stream without packets for TIME, by packet time; 0: never [default: never; interfaces: 10m]
    #[arg(long, value_name = "TIME", help_heading = STREAMS)]
    pub inactivity_timeout: Option<Span>,

    /// Keep a closed connection for TIME to recognise late packets [default: 2m; interfaces: 10s]
    #[arg(long, value_name = "TIME", help_heading = STREAMS)]
    pub closed_timeout: Option<Span>,

    /// Frames that were cut before the capture, which has the cut length as theirs. auto: recognise a packet broker by the
    /// beginning of the input; never: such packets are malformed; BYTES: all frames of this length
    #[arg(long, value_name = "BYTES", default_value = "auto", help_heading = STREAMS)]
    pub sliced: Sliced,

    /// Use the outermost IP header, not the innermost (as --tunnel-depth 0)
    #[arg(long, help_heading = STREAMS)]
    pub outer: bool,

    /// Most nested tunnels to decode
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = whole::<u8>, help_heading = STREAMS)]
    pub tunnel_depth: u8,

    /// Fields that identify a flow. 5tuple: innermost addresses, ports and protocol; vlan, tunnel or vlan,tunnel: these ids
    /// as well, which then must be the same in both directions
    #[arg(long, value_name = "IDS", default_value = "5tuple", help_heading = STREAMS)]
    pub key: KeyIds,

    /// Reject a datagram with a fragment of fewer bytes of data, unless it is the last
    #[arg(long, value_name = "SIZE", default_value = "8", help_heading = FRAGMENTS)]
    pub fragment_min: Size,

    /// Reject a datagram of more than N fragments
    #[arg(long, value_name = "N", default_value_t = 8192, value_parser = whole::<u32>, help_heading = FRAGMENTS)]
    pub fragments_max: u32,

    /// Reject a fragmented datagram of more than SIZE bytes after the IP header; IP allows 65535
    #[arg(long, value_name = "SIZE", default_value = "65535", help_heading = FRAGMENTS)]
    pub datagram_max: Size,

    /// Reject a datagram that is incomplete after TIME, by packet time; 0: never [default: 30s; of IPv6 60s]
    #[arg(long, value_name = "TIME", help_heading = FRAGMENTS)]
    pub fragment_timeout: Option<Span>,

    /// Deliver at most the first SIZE bytes of each direction; statistics stay exact. 0: statistics only [default: all; flows: 16K or all]
    ///
    /// flows delivers all of files where --where names fields of protocols, or --to writes transactions; else 16K.
    #[arg(long, value_name = "SIZE", help_heading = DELIVERY)]
    pub cutoff: Option<Size>,

    /// The cutoff of one direction: c2s=SIZE or s2c=SIZE (repeatable)
    #[arg(long, value_name = "DIR=SIZE", help_heading = DELIVERY)]
    pub cutoff_direction: Vec<DirectionCutoff>,

    /// The cutoff of streams whose first packet matches EXPR, as in 'port 443=16K'; the first match wins (repeatable)
    #[arg(long, value_name = "EXPR=SIZE", help_heading = DELIVERY)]
    pub cutoff_class: Vec<ClassCutoff>,

    /// Collect bytes into chunks of SIZE; 0: deliver bytes as they arrive
    #[arg(long, value_name = "SIZE", default_value = "0", help_heading = DELIVERY)]
    pub chunk_size: Size,

    /// Repeat the last SIZE bytes of a chunk at the start of the next
    #[arg(long, value_name = "SIZE", default_value = "0", help_heading = DELIVERY)]
    pub overlap: Size,

    /// Deliver an incomplete chunk after TIME; 0: wait until it is full
    #[arg(long, value_name = "TIME", default_value = "0", help_heading = DELIVERY)]
    pub flush_timeout: Span,

    /// Memory for all workers together: flow and fragment tables, out-of-order data, chunks, gap lists, history, protocol fields of
    /// streams (three eighths), records that are sorted or encoded (an eighth). At least 2M for each worker. Rings of interfaces and file
    /// buffers are not included. Further records that are sorted lie in a temporary file (in TMPDIR, else /var/tmp) until they are
    /// printed
    #[arg(long, value_name = "SIZE", default_value = "1G", help_heading = MEMORY)]
    pub memory: Size,

    /// Remember the last N delivered segments of all streams (at most 128 for a direction) to detect retransmissions with
    /// different bytes; 0: do not compare
    #[arg(long, value_name = "N", default_value = "128K", help_heading = MEMORY)]
    pub history: Size,

    /// Priority of streams whose first packet matches EXPR, 0 (lowest, the default) to 7, as in 'port 53=3': under memory
    /// pressure low priorities are shed first (repeatable)
    #[arg(long, value_name = "EXPR=LEVEL", help_heading = MEMORY)]
    pub priority_class: Vec<ClassPriority>,

    /// Shed packets by priority once SHARE of the memory is in use, as 50% or 0.5 [default: 50% with priorities or an
    /// overload cutoff, otherwise nothing is shed]
    #[arg(long, value_name = "SHARE", help_heading = MEMORY)]
    pub base_threshold: Option<Share>,

    /// Just below a priority's watermark, shed bytes after the first SIZE of a stream
    #[arg(long, value_name = "SIZE", help_heading = MEMORY)]
    pub overload_cutoff: Option<Size>,

    /// Print at most N records; 0: only the totals and the ledger (as --stats)
    ///
    /// With 0, the ledger is text on standard error, or with --json the last line of standard output.
    #[arg(long, value_name = "N", value_parser = whole::<u64>, help_heading = REPORT)]
    pub limit: Option<u64>,

    /// End with the ledger, which counts every packet once: text on standard error, or json on standard output
    ///
    /// text is the default value and keeps standard output for records; json is the last line of standard output.
    #[arg(long, value_name = "text|json", value_enum, num_args = 0..=1, require_equals = true,
        default_missing_value = "text", hide_possible_values = true, help_heading = REPORT)]
    pub stats: Option<StatsFormat>,
}

impl Common {
    /// The capture from files that these options describe. `mode`: the subcommand's default.
    pub fn of_files<'a>(&self, mode: Mode) -> Result<Capture<Files<'a>>, CliError> {
        self.set(self.named_files()?, mode)
    }

    /// The capture from interfaces that these options describe.
    pub fn of_interfaces<'a>(&self, mode: Mode) -> Result<Capture<Interfaces<'a>>, CliError> {
        self.set(self.named_interfaces()?, mode)
    }

    /// The parts of the memory for a command that keeps `kept`.
    pub fn parts(&self, kept: KeptState) -> MemoryParts {
        MemoryParts::of(self.memory.0, self.workers, kept)
    }

    /// Checks the options without running a capture.
    pub fn check(&self, mode: Mode) -> Result<(), CliError> {
        if self.live.is_on() { self.of_interfaces(mode).map(drop) } else { self.of_files(mode).map(drop) }
    }

    /// Applies the options that both kinds of input have.
    fn set<I>(&self, capture: Capture<I>, mode: Mode) -> Result<Capture<I>, CliError> {
        self.check_memory()?;
        let mut applied = Ok(());
        // The capture already has the defaults of its kind of input.
        let mut capture =
            capture.workers(self.workers).memory(self.memory.0).configure(|config| applied = self.apply(config, mode));
        applied?;
        capture = capture.duplicates(self.duplicates.into());
        // Of an archive only packets that match are read.
        if let Some(expression) = self.filter_expression()?.filter(|_| !self.is_archive()) {
            capture = capture.filter(expression);
        }
        for ClassCutoff(expression, bytes) in &self.cutoff_class {
            capture = capture.class(StreamClass::matching(expression).cutoff(*bytes));
        }
        for ClassPriority(expression, level) in &self.priority_class {
            capture = capture.class(StreamClass::matching(expression).priority(*level));
        }
        Ok(capture)
    }

    fn named_interfaces<'a>(&self) -> Result<Capture<Interfaces<'a>>, CliError> {
        if let Some(file) = capture_args::split(&self.files)?.0.first() {
            let (file, name) = (file.display(), self.live.interface.join(", "));
            return Err(CliError::Usage(format!(
                "cannot read a file ({file}) and capture from interfaces (-i {name}) in one run; if '{file}' begins a filter \
                 expression, write -- before it"
            )));
        }
        self.archive.need_none()?;
        self.live.capture()
    }

    fn named_files<'a>(&self) -> Result<Capture<Files<'a>>, CliError> {
        self.live.need_none()?;
        let (files, expression) = capture_args::split(&self.files)?;
        if files.is_empty() {
            let before =
                expression.map_or_else(String::new, |words| format!(" before the filter expression '{words}'"));
            return Err(CliError::Usage(format!(
                "no input{before}: name capture files ('-' is standard input) or an interface (-i eth0); see --help"
            )));
        }
        capture_args::need_files(files)?;
        // The shell appends to what standard output is, which may be what is read.
        own_input::refuse_over(files, Path::new("-"))?;
        if let Some(recall) = self.archive.open(files, self.filter_expression()?)? {
            return Ok(Capture::source(recall));
        }
        if files.iter().filter(|file| file.as_os_str() == "-").count() > 1 {
            return Err(CliError::Usage("standard input ('-') is named twice; name it once".into()));
        }
        Ok(Capture::files(files.iter().cloned()))
    }

    /// Parts of the streams of archives that were cut off when they were recorded.
    pub fn cut_off(&self) -> Result<Option<Arc<CutOffs>>, CliError> {
        if !self.is_archive() {
            return Ok(None);
        }
        let (files, _) = capture_args::split(&self.files)?;
        Ok(self.archive.cut_off(files)?.map(Arc::new))
    }

    /// Whether the input is an archive.
    fn is_archive(&self) -> bool {
        let Ok((files, _)) = capture_args::split(&self.files) else { return false };
        !self.live.is_on() && ArchiveOptions::are(files)
    }

    /// Whether the input may never end (interfaces, pipes): records are then printed as streams end.
    pub fn is_unending(&self) -> bool {
        self.live.is_on() || self.is_pipe()
    }

    /// The captures that are named; `None`: the arguments are wrong.
    pub fn captures(&self) -> Option<Vec<PathBuf>> {
        capture_args::split(&self.files).ok().map(|(files, _)| files.to_vec())
    }

    /// Whether the input is a single pipe, device or terminal.
    pub fn is_pipe(&self) -> bool {
        let Ok(([path], _)) = capture_args::split(&self.files) else { return false };
        let metadata = if path.as_os_str() == "-" {
            std::io::stdin().as_fd().try_clone_to_owned().and_then(|descriptor| File::from(descriptor).metadata())
        } else {
            std::fs::metadata(path)
        };
        metadata.is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
    }

    /// Whether the input can be read a second time: files only, no pipe.
    pub fn is_rereadable(&self) -> bool {
        let Ok((files, _)) = capture_args::split(&self.files) else { return false };
        let is_file = |path: &PathBuf| {
            let metadata = std::fs::metadata(path);
            path.as_os_str() != "-" && metadata.is_ok_and(|metadata| metadata.is_file() || metadata.is_dir())
        };
        !self.live.is_on() && files.iter().all(is_file)
    }

    /// Refuses options that deliver nothing, for a purpose that needs the streams' bytes.
    pub fn need_delivery(&self, what: &str) -> Result<(), CliError> {
        match self.delivers_nothing() {
            Some(option) => Err(CliError::Usage(format!(
                "{what} needs the streams' bytes, of which {option} delivers none; leave it out"
            ))),
            None => Ok(()),
        }
    }

    /// Refuses mode `track` for a subcommand that needs the streams' bytes.
    pub fn need_bytes(&self, what: &str) -> Result<(), CliError> {
        match self.mode {
            Some(ModeName::Track) => {
                Err(CliError::Usage(format!("--mode track delivers no data, which {what} needs; use strict or fast")))
            }
            _ => Ok(()),
        }
    }

    /// The filter expression: from -F, after `--`, or after the captures.
    pub fn filter_expression(&self) -> Result<Option<String>, CliError> {
        let trailing = (!self.expression.is_empty()).then(|| self.expression.join(" "));
        let given = self.filter.clone().or(trailing);
        if let Some(given) = &given {
            capture_args::refuse_display_filter(given)?;
        }
        match (capture_args::split(&self.files)?.1, given) {
            (Some(words), Some(given)) => Err(CliError::Usage(format!(
                "two filter expressions: '{given}' and '{words}'; join them with 'and' or 'or'"
            ))),
            (words, given) => {
                words.iter().try_for_each(|words| capture_args::refuse_display_filter(words))?;
                Ok(words.or(given))
            }
        }
    }

    fn apply(&self, config: &mut Config, mode: Mode) -> Result<(), CliError> {
        config.set_mode(match self.mode {
            None => mode,
            Some(ModeName::Strict) => Mode::Strict,
            Some(ModeName::Fast) => Mode::Fast,
            Some(ModeName::Track) => Mode::Track,
        });
        config.set_checksum(match self.checksum {
            ChecksumName::Auto => ChecksumMode::Auto,
            ChecksumName::Verify => ChecksumMode::Verify,
            ChecksumName::Ignore => ChecksumMode::Ignore,
        });
        config.set_link_addresses(match self.link_addresses {
            LinkAddressesName::Compare => LinkAddresses::Compare,
            LinkAddressesName::Ignore => LinkAddresses::Ignore,
        });
        config.set_tcp_policy(self.policy.tcp.unwrap_or_default());
        config.set_defrag_policy(self.policy.defrag.unwrap_or_default());
        config.set_defrag_policy_v6(self.policy_ipv6);
        let mut targets = TargetPolicies::default();
        for target in &self.target_policy {
            let tcp = target.policy.tcp.unwrap_or(config.tcp_policy());
            let default = if target.network.is_ipv4() { config.defrag_policy() } else { config.defrag_policy_v6() };
            let defrag = target.policy.defrag.unwrap_or(default);
            targets.add(target.network, target.prefix, tcp, defrag);
        }
        config.set_targets(targets);
        config.set_ttl_min(self.ttl_min);
        config.set_urgent_inline(self.urgent == UrgentName::Inline);
        if let Some(span) = self.inactivity_timeout {
            config.set_inactivity_timeout(span.unless_zero());
        }
        if let Some(span) = self.closed_timeout {
            config.set_closed_timeout(span.duration());
        }
        let tunnel_depth = if self.outer { 0 } else { self.tunnel_depth };
        config.set_wire(config.wire().clone().with_tunnel_depth(tunnel_depth).with_slicing(self.sliced.0));
        config.set_key_ids(self.key);
        self.apply_fragments(config)?;
        self.apply_delivery(config)?;
        self.apply_memory(config)
    }

    fn apply_fragments(&self, config: &mut Config) -> Result<(), CliError> {
        if self.fragments_max == 0 {
            return Err(CliError::Usage("--fragments-max must be at least 1, got 0".into()));
        }
        // Above the limits of IP all numbers mean the same.
        config.set_fragment_bytes_min(u32::try_from(self.fragment_min.0).unwrap_or(u32::MAX));
        config.set_fragments_max(self.fragments_max);
        config.set_datagram_bytes_max(u32::try_from(self.datagram_max.0).unwrap_or(u32::MAX));
        if let Some(span) = self.fragment_timeout {
            let timeout = span.unless_zero().unwrap_or(Duration::MAX);
            config.set_fragment_timeout(timeout);
            config.set_fragment_timeout_v6(timeout);
        }
        Ok(())
    }

    fn apply_delivery(&self, config: &mut Config) -> Result<(), CliError> {
        config.set_cutoff(self.direction_cutoff());
        config.set_chunk_bytes(small("--chunk-size", self.chunk_size)?);
        config.set_overlap_bytes(small("--overlap", self.overlap)?);
        config.set_flush_timeout(self.flush_timeout.unless_zero());
        if config.flush_timeout().is_some() && config.chunk_bytes() == 0 {
            let message = "--flush-timeout needs --chunk-size: without chunks bytes are delivered as they arrive";
            return Err(CliError::Usage(message.into()));
        }
        Ok(())
    }

    /// The cutoff of streams that no class has another one for.
    fn direction_cutoff(&self) -> tidewire::DirectionCutoff {
        let all = tidewire::DirectionCutoff::both(self.cutoff.map_or(u64::MAX, |cutoff| cutoff.0));
        let of_directions = self.cutoff_direction.iter();
        of_directions.fold(all, |cutoff, DirectionCutoff(direction, bytes)| cutoff.with(*direction, *bytes))
    }

    /// The option because of which no byte of any stream is delivered.
    pub fn delivers_nothing(&self) -> Option<&'static str> {
        if self.mode == Some(ModeName::Track) {
            return Some("--mode track");
        }
        let cuts_all = self.direction_cutoff() == tidewire::DirectionCutoff::both(0);
        (cuts_all && self.cutoff_class.iter().all(|ClassCutoff(_, bytes)| *bytes == 0)).then_some("--cutoff 0")
    }

    /// Refuses a `--memory` that is too small for the workers. The engine checks it, too, but knows only bytes.
    fn check_memory(&self) -> Result<(), CliError> {
        let (least, workers) = (ENGINE_BYTES_MIN.saturating_mul(self.workers as u64), self.workers as u64);
        // A wrong number of workers has its own message.
        if self.memory.0 >= least || !(1..=64).contains(&workers) {
            return Ok(());
        }
        let workers = counted(workers, "worker", "workers");
        Err(CliError::Usage(format!(
            "--memory must be at least {} for {workers}, got {}",
            Binary(least),
            Binary(self.memory.0)
        )))
    }

    fn apply_memory(&self, config: &mut Config) -> Result<(), CliError> {
        config.set_history_segments(small("--history", self.history)?.min(1 << 28));
        config.set_shed(
            self.base_threshold.is_some() || self.overload_cutoff.is_some() || !self.priority_class.is_empty(),
        );
        if let Some(share) = self.base_threshold {
            config.set_base_threshold_permille(share.0);
        }
        if let Some(size) = self.overload_cutoff {
            config.set_overload_cutoff_bytes(Some(size.0));
        }
        Ok(())
    }
}

/// A size that the engine counts in 32 bits.
fn small(option: &str, size: Size) -> Result<u32, CliError> {
    u32::try_from(size.0).map_err(|_| CliError::Usage(format!("{option} must be less than 4G, got {}", Binary(size.0))))
}
