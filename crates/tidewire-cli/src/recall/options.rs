//! The options of `tidewire recall`, and the query that they are.

use std::{
    io::{IsTerminal as _, stdout},
    net::IpAddr,
    path::PathBuf,
    str::FromStr,
};

use clap::Args;
use tidewire_archive::{Network, Query};

use crate::{arg_types::whole, error::CliError, own_input, times};

const SEARCH: &str = "Search";
const OUTPUT: &str = "Output";

const EXAMPLES: &str = "\
Examples:
  tidewire recall /var/packets host 192.0.2.7 -w found.pcapng
  tidewire recall /var/packets --from 3h --to 1h --port 53 --flows
  tidewire recall /var/packets --stream 4711 --follow
  tidewire recall /var/packets --overview
  tidewire recall /srv/a /srv/b --net 10.1.0.0/16 tcp > found.pcapng";

/// Find packets in archives: by time, address, stream, expression
///
/// Reads the parts of an archive that hold what is looked for: its index says where they lie. Packets have to fulfil all that is
/// given; the expression is applied to each packet. Several directories are merged by time. A recorder may be writing meanwhile: what
/// it has written is found.
///
/// Ids of streams are those that `tidewire flows DIR` prints, whatever its expression; of several directories, those of the same
/// directories in the same order. Times are how long ago (3h, '1h ago'), dates and times (2026-11-23T06:00:00Z, '2026-11-23 06:00'),
/// times of today (06:00), or seconds or nanoseconds since 1970.
///
/// Without an option for output, packets go to standard output as pcapng; on a terminal, DIR alone prints what --overview
/// prints anywhere. Exit status 1 if nothing was found.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Directories of archives, and a filter expression after them (libpcap's language, as in tcpdump)
    #[arg(value_name = "DIR", required = true, help_heading = "Input")]
    pub directories: Vec<PathBuf>,

    /// The filter expression, where one of its words could be a directory
    #[arg(last = true, value_name = "EXPR", help_heading = "Input")]
    pub expression: Vec<String>,

    /// Read encrypted archives with the identity in FILE, as `tidewire keys identity` makes it (repeatable)
    #[arg(long, value_name = "FILE", value_parser = own_input::noted(), help_heading = "Input")]
    pub identity: Vec<PathBuf>,

    /// Packets from this time on
    #[arg(long, value_name = "TIME", help_heading = SEARCH)]
    from: Option<String>,

    /// Packets before this time; --until is the same
    #[arg(long, alias = "until", value_name = "TIME", help_heading = SEARCH)]
    to: Option<String>,

    /// The packets of the stream with this id; the number of any packet of it will do
    #[arg(long, value_name = "ID", value_parser = whole::<u64>, help_heading = SEARCH)]
    pub stream: Option<u64>,

    /// The packets of streams with this Community ID (seed 0)
    #[arg(long, value_name = "1:TEXT", help_heading = SEARCH)]
    pub community_id: Option<String>,

    /// IP packets from or to this address, inside of tunnels too (repeatable: any of them)
    #[arg(long, value_name = "ADDRESS", help_heading = SEARCH)]
    host: Vec<IpAddr>,

    /// Packets from or to this port of TCP, UDP or SCTP, inside of tunnels too (repeatable: any of them)
    #[arg(long, value_name = "N", value_parser = whole::<u16>, help_heading = SEARCH)]
    port: Vec<u16>,

    /// IP packets from or to an address of this network, as in 10.1.0.0/16, inside of tunnels too
    #[arg(long, value_name = "NET", value_parser = network, help_heading = SEARCH)]
    net: Option<Network>,

    /// Packets with this VLAN id
    #[arg(long, value_name = "ID", value_parser = whole::<u16>, help_heading = SEARCH)]
    vlan: Option<u16>,

    /// IP packets of this protocol: its name (tcp, udp, icmp, icmp6, sctp, gre, esp, ah) or number
    #[arg(long, value_name = "NAME", help_heading = SEARCH)]
    protocol: Option<Protocol>,

    /// Write the packets to FILE, as pcapng; `-` is standard output
    #[arg(short = 'w', long, value_name = "FILE", conflicts_with_all = ["extract", "flows", "follow"], help_heading = OUTPUT)]
    write: Option<PathBuf>,

    /// Write each direction's bytes of the streams to files in DIR, with an index, as tidewire extract
    #[arg(long, value_name = "DIR", conflicts_with_all = ["flows", "follow"], help_heading = OUTPUT)]
    extract: Option<PathBuf>,

    /// List flows, as tidewire flows
    #[arg(long, conflicts_with = "follow", help_heading = OUTPUT)]
    flows: bool,

    /// Print the conversation of --stream, or the first one of --community-id, as tidewire follow
    #[arg(long, help_heading = OUTPUT)]
    pub follow: bool,

    /// Print the contents of the archive: times, packets, losses, pauses, encryption; indexes are read, no packets
    #[arg(long, conflicts_with_all = ["write", "extract", "flows", "follow"], help_heading = OUTPUT)]
    overview: bool,

    /// Print JSON: records, and what was read as the last line of standard output; of standard error where that has packets
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
}

/// Use of the packets found.
pub enum Output {
    /// Packets are written to a file; `-` is standard output.
    Packets(PathBuf),
    /// The bytes of streams are written to files.
    Extract(PathBuf),
    Flows,
    Follow,
    /// The contents of the archive as a whole.
    Overview,
}

impl Options {
    /// The output; `is_search`: an expression was given beside the options.
    pub fn output(&self, is_search: bool) -> Result<Output, CliError> {
        let is_search = is_search || self.is_search();
        if self.overview && is_search {
            return Err(CliError::Usage("--overview is of the whole archive; leave out what is searched for".into()));
        }
        if self.overview {
            return Ok(Output::Overview);
        }
        if self.follow {
            return match (self.stream, &self.community_id) {
                (None, None) => Err(CliError::Usage(
                    "--follow needs --stream ID or --community-id; tidewire recall DIR --flows lists them".into(),
                )),
                _ => Ok(Output::Follow),
            };
        }
        if let Some(path) = &self.extract {
            return Ok(Output::Extract(path.clone()));
        }
        if self.flows {
            return Ok(Output::Flows);
        }
        let path = self.write.clone().unwrap_or_else(|| "-".into());
        if path.as_os_str() == "-" && stdout().is_terminal() {
            if self.write.is_none() && !is_search {
                return Ok(Output::Overview);
            }
            return Err(CliError::Usage(
                "packets do not go to a terminal: name a file (-w FILE) or a program behind a pipe (| tshark -r -), or list flows \
                 (--flows)"
                    .into(),
            ));
        }
        Ok(Output::Packets(path))
    }

    /// Whether an option searches for something.
    fn is_search(&self) -> bool {
        let Self { from, to, stream, community_id, host, port, net, vlan, protocol, .. } = self;
        from.is_some()
            || to.is_some()
            || stream.is_some()
            || community_id.is_some()
            || !host.is_empty()
            || !port.is_empty()
            || net.is_some()
            || vlan.is_some()
            || protocol.is_some()
    }

    /// The query without the expression.
    pub fn query(&self, now_ns: u64) -> Result<Query, CliError> {
        let time = |option: &str, text: &Option<String>| {
            let parsed = text.as_ref().map(|text| times::parse(text, now_ns)).transpose();
            parsed.map_err(|error| CliError::Usage(format!("{option}: {error}")))
        };
        let query = Query {
            from_ns: time("--from", &self.from)?,
            to_ns: time("--to", &self.to)?,
            stream: self.stream,
            community_id: self.community_id.clone(),
            hosts: self.host.clone(),
            ports: self.port.clone(),
            net: self.net,
            vlan: self.vlan,
            protocol: self.protocol.map(|protocol| protocol.0),
            ..Query::default()
        };
        query.check()?;
        Ok(query)
    }
}

/// An IP protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Protocol(u8);

impl FromStr for Protocol {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        if name.bytes().all(|byte| byte.is_ascii_digit()) {
            return whole::<u8>(name).map(Self);
        }
        let known = (0..=u8::MAX).find(|&number| crate::record::proto_name(number) == name);
        known.map(Self).ok_or_else(|| "expected tcp, udp, icmp, icmp6, sctp, gre, esp, ah, ospf or a number".into())
    }
}

fn network(text: &str) -> Result<Network, String> {
    let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
    let address: IpAddr =
        address.parse().map_err(|_| format!("invalid IP address '{address}'; expected a network as 10.1.0.0/16"))?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let wrong = || format!("the length of a prefix is 0 to {bits}");
    let prefix = prefix.map_or(Ok(bits), |prefix| whole::<u8>(prefix).map_err(|_| wrong()))?;
    Network::new(address, prefix).ok_or_else(wrong)
}
