//! The options that all subcommands share: their definition, and what they set.

use std::{fs::File, os::fd::AsFd as _, path::PathBuf};

use clap::Args;
use tidewire::{
    Capture, ChecksumMode, Config, DefragPolicy, Files, KeyIds, LinkAddresses, Mode, StreamClass, TargetPolicies,
};

use crate::{
    arg_types::{
        ChecksumName, ClassCutoff, ClassPriority, DirectionCutoff, LinkAddressesName, ModeName, Policy, StatsFormat,
        TargetPolicy, UrgentName, whole,
    },
    capture_args,
    error::CliError,
    live::{Interfaces, Live},
    units::{Share, Size, Span},
};

/// Headings of the help.
const INPUT: &str = "Input";
const STREAMS: &str = "Streams";
const FRAGMENTS: &str = "Fragments";
const DELIVERY: &str = "Delivery";
const MEMORY: &str = "Memory and overload";
const REPORT: &str = "Report";

/// What every subcommand takes.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// Capture files (pcap, pcapng, snoop; gzip, zstd, lz4), merged by time; `-` is standard input
    #[arg(value_name = "CAPTURE", display_order = 0, help_heading = INPUT)]
    pub files: Vec<PathBuf>,

    /// Process only packets that match this expression (libpcap's language, as in tcpdump)
    #[arg(short = 'F', long, value_name = "EXPR", display_order = 1, help_heading = INPUT)]
    pub filter: Option<String>,

    /// As --filter, behind the captures: tidewire flows a.pcap tcp port 80. With `--` before it no word of it is taken for
    /// a file's name
    #[arg(last = true, value_name = "EXPR", display_order = 2, conflicts_with = "filter", help_heading = INPUT)]
    pub expression: Vec<String>,

    /// Worker threads, 1 to 64. Results do not depend on it as long as no bound is reached: each worker has its own
    /// (--memory, --history and the tables)
    #[arg(short = 'j', visible_short_alias = 'w', long, display_order = 3, value_name = "N", default_value_t = 1, value_parser = whole::<usize>, help_heading = INPUT)]
    pub workers: usize,

    /// Read options from a TOML file: `key = value` named as here, or in a table of the subcommand's name. The
    /// command line wins; --no-NAME undoes what the file switches on
    #[arg(long, value_name = "FILE", display_order = 4, help_heading = INPUT)]
    pub config: Option<PathBuf>,

    #[command(flatten)]
    pub live: Live,

    /// strict: wait for holes as long as a receiver may get them filled; fast: only for a few packets; track:
    /// deliver nothing [default: strict; flows and datagrams: track]
    #[arg(long, value_name = "MODE", value_enum, hide_possible_values = true, help_heading = STREAMS)]
    pub mode: Option<ModeName>,

    /// Whose bytes win where segments or fragments overlap: first, last, bsd, bsd-right, linux, linux-2.6, old-linux,
    /// windows, vista, solaris, hpux10, hpux11, irix, macos, rfc5722. A name that only one of both knows sets that one. Only
    /// linux was compared with hosts: what is named after others is as published, and unverified
    #[arg(long, value_name = "POLICY", default_value = "linux", help_heading = STREAMS)]
    pub policy: Policy,

    /// The same for fragments of IPv6, which hosts treat alike since RFC 5722
    #[arg(long, value_name = "POLICY", default_value = "linux", help_heading = STREAMS)]
    pub policy_ipv6: DefragPolicy,

    /// The policy of receivers in a network, as in 10.1.0.0/16=windows; the longest prefix decides (repeatable)
    #[arg(long, value_name = "NET=POLICY", help_heading = STREAMS)]
    pub target_policy: Vec<TargetPolicy>,

    /// Wrong checksums. auto: take what the receiver took; verify: leave all of them out; ignore: take all
    #[arg(long, value_name = "HOW", value_enum, default_value = "auto", hide_possible_values = true, help_heading = STREAMS)]
    pub checksum: ChecksumName,

    /// MAC addresses that frames are sent to. compare: packets of a flow to another address are doubted; ignore: not looked at
    #[arg(long, value_name = "HOW", value_enum, default_value = "compare", hide_possible_values = true, help_heading = STREAMS)]
    pub link_addresses: LinkAddressesName,

    /// Leave out packets with a lower time to live: they do not reach the receiver
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u8>, help_heading = STREAMS)]
    pub ttl_min: u8,

    /// Urgent bytes of TCP: inline: part of the stream; out: taken out, as Linux does by default
    #[arg(long, value_name = "HOW", value_enum, default_value = "inline", hide_possible_values = true, help_heading = STREAMS)]
    pub urgent: UrgentName,

    /// End a stream that was silent for longer, by packet time; 0: never [default: never; of interfaces 10m]
    #[arg(long, value_name = "TIME", help_heading = STREAMS)]
    pub inactivity_timeout: Option<Span>,

    /// Keep a connection that is over this long for packets that come late [default: 2m; of interfaces 10s]
    #[arg(long, value_name = "TIME", help_heading = STREAMS)]
    pub closed_timeout: Option<Span>,

    /// Take the outermost IP header as the flow's, not the innermost (as --tunnel-depth 0)
    #[arg(long, help_heading = STREAMS)]
    pub outer: bool,

    /// Tunnels that are looked through
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = whole::<u8>, help_heading = STREAMS)]
    pub tunnel_depth: u8,

    /// What tells flows apart. 5tuple: innermost addresses, ports and protocol; vlan, tunnel or vlan,tunnel: also these
    /// ids, which then have to be the same in both directions
    #[arg(long, value_name = "IDS", default_value = "5tuple", help_heading = STREAMS)]
    pub key: KeyIds,

    /// Reject a datagram with a smaller fragment, in bytes of data, that is not its last
    #[arg(long, value_name = "SIZE", default_value = "8", help_heading = FRAGMENTS)]
    pub fragment_min: Size,

    /// Reject a datagram of more fragments
    #[arg(long, value_name = "N", default_value_t = 8192, value_parser = whole::<u32>, help_heading = FRAGMENTS)]
    pub fragments_max: u32,

    /// Reject a datagram of fragments that is larger, in bytes behind the IP header; IP allows 65535
    #[arg(long, value_name = "SIZE", default_value = "65535", help_heading = FRAGMENTS)]
    pub datagram_max: Size,

    /// Reject a datagram that is not complete after TIME, by packet time; 0: never
    #[arg(long, value_name = "TIME", default_value = "30s", help_heading = FRAGMENTS)]
    pub fragment_timeout: Span,

    /// Deliver at most SIZE of each direction; statistics go on. 0: statistics only
    #[arg(long, value_name = "SIZE", default_value = "all", help_heading = DELIVERY)]
    pub cutoff: Size,

    /// The same for one direction: c2s=SIZE or s2c=SIZE (repeatable)
    #[arg(long, value_name = "DIR=SIZE", help_heading = DELIVERY)]
    pub cutoff_direction: Vec<DirectionCutoff>,

    /// The same for streams whose first packet matches, as in 'port 443=16K'; the first that matches decides
    /// (repeatable)
    #[arg(long, value_name = "EXPR=SIZE", help_heading = DELIVERY)]
    pub cutoff_class: Vec<ClassCutoff>,

    /// Gather chunks of SIZE; 0: deliver bytes as they arrive
    #[arg(long, value_name = "SIZE", default_value = "0", help_heading = DELIVERY)]
    pub chunk_size: Size,

    /// Repeat the last SIZE bytes of a chunk before the next
    #[arg(long, value_name = "SIZE", default_value = "0", help_heading = DELIVERY)]
    pub overlap: Size,

    /// Deliver a chunk that is not full after TIME; 0: wait until it is
    #[arg(long, value_name = "TIME", default_value = "0", help_heading = DELIVERY)]
    pub flush_timeout: Span,

    /// Memory of all workers together for what grows with the traffic: tables of flows and fragments, out-of-order data,
    /// chunks, lists, history. At least 2M for each worker; rings of interfaces, blocks of files and the records that a
    /// command sorts (see --limit) come on top
    #[arg(long, value_name = "SIZE", default_value = "1G", help_heading = MEMORY)]
    pub memory: Size,

    /// Remember the last N delivered segments of all streams (of a direction 128), to notice retransmissions with
    /// other bytes; 0: do not compare
    #[arg(long, value_name = "N", default_value = "128K", help_heading = MEMORY)]
    pub history: Size,

    /// Priority of streams whose first packet matches, 0 (lowest, the default) to 7, as in 'port 53=3': when memory
    /// fills up, low priorities are shed first (repeatable)
    #[arg(long, value_name = "EXPR=LEVEL", help_heading = MEMORY)]
    pub priority_class: Vec<ClassPriority>,

    /// Shed by priority once this share of the memory is in use, as 50% or 0.5 [default: 50% where priorities or an
    /// overload cutoff are given, otherwise nothing is shed]
    #[arg(long, value_name = "SHARE", help_heading = MEMORY)]
    pub base_threshold: Option<Share>,

    /// Just below a priority's watermark, shed what lies beyond SIZE of its stream
    #[arg(long, value_name = "SIZE", help_heading = MEMORY)]
    pub overload_cutoff: Option<Size>,

    /// Print at most N records; 0: only the closing figures and the ledger (as --stats)
    ///
    /// The ledger then is text on standard error, or with --json the last line of standard output.
    #[arg(long, value_name = "N", value_parser = whole::<u64>, help_heading = REPORT)]
    pub limit: Option<u64>,

    /// Close with the ledger, in which every packet stands once: text on standard error, or json on standard output
    ///
    /// text, the default where it is given without a value, leaves standard output to the records; json is its last line.
    #[arg(long, value_name = "text|json", value_enum, num_args = 0..=1, require_equals = true,
        default_missing_value = "text", hide_possible_values = true, help_heading = REPORT)]
    pub stats: Option<StatsFormat>,
}

impl Common {
    /// The capture from files that these options describe. `mode` is the subcommand's own default.
    pub fn of_files<'a>(&self, mode: Mode) -> Result<Capture<Files<'a>>, CliError> {
        self.set(self.named_files()?, mode)
    }

    /// The capture from interfaces that these options describe.
    pub fn of_interfaces<'a>(&self, mode: Mode) -> Result<Capture<Interfaces<'a>>, CliError> {
        self.set(self.named_interfaces()?, mode)
    }

    /// Whether there is a capture that these options describe.
    pub fn check(&self, mode: Mode) -> Result<(), CliError> {
        if self.live.is_on() { self.of_interfaces(mode).map(drop) } else { self.of_files(mode).map(drop) }
    }

    /// What is set of either.
    fn set<I>(&self, capture: Capture<I>, mode: Mode) -> Result<Capture<I>, CliError> {
        let mut applied = Ok(());
        // What is set already are the defaults of files, or of interfaces.
        let mut capture =
            capture.workers(self.workers).memory(self.memory.0).configure(|config| applied = self.apply(config, mode));
        applied?;
        if let Some(expression) = self.filter_expression()? {
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
                "packets come from files ({file}) or from interfaces (-i {name}), not from both at once; if '{file}' begins \
                 a filter expression, write -- before it"
            )));
        }
        self.live.capture()
    }

    fn named_files<'a>(&self) -> Result<Capture<Files<'a>>, CliError> {
        self.live.need_none()?;
        let (files, expression) = capture_args::split(&self.files)?;
        if files.is_empty() {
            let before =
                expression.map_or_else(String::new, |words| format!(" before the filter expression '{words}'"));
            return Err(CliError::Usage(format!(
                "no capture file is named{before} ('-' is standard input), and no interface (-i); see --help"
            )));
        }
        capture_args::need_files(files)?;
        if files.iter().filter(|file| file.as_os_str() == "-").count() > 1 {
            return Err(CliError::Usage("'-' is named twice, but there is one standard input".into()));
        }
        Ok(Capture::files(files.iter().cloned()))
    }

    /// Whether the input may go on for ever: interfaces, or a pipe. Then records are printed as streams end.
    pub fn is_unending(&self) -> bool {
        self.live.is_on() || self.is_pipe()
    }

    /// Whether packets come from one pipe, device or terminal.
    pub fn is_pipe(&self) -> bool {
        let Ok(([path], _)) = capture_args::split(&self.files) else { return false };
        let metadata = if path.as_os_str() == "-" {
            std::io::stdin().as_fd().try_clone_to_owned().and_then(|descriptor| File::from(descriptor).metadata())
        } else {
            std::fs::metadata(path)
        };
        metadata.is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
    }

    /// Refuses a mode in which a subcommand that needs the streams' bytes gets none.
    pub fn need_bytes(&self, what: &str) -> Result<(), CliError> {
        match self.mode {
            Some(ModeName::Track) => Err(CliError::Usage(format!("--mode track delivers nothing to {what}"))),
            _ => Ok(()),
        }
    }

    /// The filter expression: of -F, after `--`, or behind the captures.
    pub fn filter_expression(&self) -> Result<Option<String>, CliError> {
        let trailing = (!self.expression.is_empty()).then(|| self.expression.join(" "));
        let given = self.filter.clone().or(trailing);
        if let Some(given) = &given {
            capture_args::refuse_display_filter(given)?;
        }
        match (capture_args::split(&self.files)?.1, given) {
            (Some(words), Some(given)) => Err(CliError::Usage(format!(
                "two filter expressions, '{given}' and '{words}': join them with 'and' or 'or'"
            ))),
            (words, given) => Ok(words.or(given)),
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
        if let Some(Span(ns)) = self.inactivity_timeout {
            config.set_inactivity_timeout_ns(ns);
        }
        if let Some(Span(ns)) = self.closed_timeout {
            config.set_closed_timeout_ns(ns);
        }
        let tunnel_depth = if self.outer { 0 } else { self.tunnel_depth };
        config.set_wire(config.wire().clone().with_tunnel_depth(tunnel_depth));
        config.set_key_ids(self.key);
        self.apply_fragments(config)?;
        self.apply_delivery(config)?;
        self.apply_memory(config)
    }

    fn apply_fragments(&self, config: &mut Config) -> Result<(), CliError> {
        if self.fragments_max == 0 {
            return Err(CliError::Usage("--fragments-max: at least 1, or no datagram could be rebuilt".into()));
        }
        // Beyond IP's own bounds any number means the same.
        config.set_fragment_bytes_min(u32::try_from(self.fragment_min.0).unwrap_or(u32::MAX));
        config.set_fragments_max(self.fragments_max);
        config.set_datagram_bytes_max(u32::try_from(self.datagram_max.0).unwrap_or(u32::MAX));
        config.set_fragment_timeout_ns(match self.fragment_timeout.0 {
            0 => u64::MAX,
            timeout_ns => timeout_ns,
        });
        Ok(())
    }

    fn apply_delivery(&self, config: &mut Config) -> Result<(), CliError> {
        let mut cutoff = tidewire::DirectionCutoff::both(self.cutoff.0);
        for DirectionCutoff(direction, bytes) in &self.cutoff_direction {
            cutoff = cutoff.with(*direction, *bytes);
        }
        config.set_cutoff(cutoff);
        config.set_chunk_bytes(small("--chunk-size", self.chunk_size)?);
        config.set_overlap_bytes(small("--overlap", self.overlap)?);
        config.set_flush_timeout_ns(self.flush_timeout.0);
        if config.flush_timeout_ns() > 0 && config.chunk_bytes() == 0 {
            let message = "--flush-timeout needs --chunk-size: without chunks, bytes are delivered as they arrive";
            return Err(CliError::Usage(message.into()));
        }
        Ok(())
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
            config.set_overload_cutoff_bytes(size.0);
        }
        Ok(())
    }
}

/// A size that the engine counts in 32 bits.
fn small(option: &str, size: Size) -> Result<u32, CliError> {
    u32::try_from(size.0).map_err(|_| CliError::Usage(format!("{option}: the limit is 4G - 1")))
}
