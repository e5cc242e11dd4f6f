use clap::Args;
use tidewire_gen::{
    Sizes,
    traffic::{Class, Connections, Link, Order, TcpSettings},
};

use super::{
    sending::{self, Sending, count},
    udp::{OrderName, class},
};
use crate::error::CliError;

/// TCP connections from handshake to FIN, many at once
///
/// Each connection: SYN, SYN-ACK, ACK, a request of 200 to 400 bytes, data from the server with an ACK for every second
/// segment, both FINs, ACK. Both directions are sent as a tap between the two ends sees them; with two interfaces, the clients'
/// from the first and the servers' from the second, as the two legs of a full-duplex tap. No segment is lost, late or repeated.
///
/// A connection takes 16 bytes of memory. Connection n runs from 10.x.y.z to 192.168.0.(n modulo 256); checksums are valid.
#[derive(Args, Debug)]
pub struct Options {
    #[command(flatten)]
    sending: Sending,

    /// Connections open at once, 1 to 67108864
    #[arg(short = 'n', long, value_name = "N", default_value = "10", value_parser = count)]
    concurrent: u64,

    /// Number of connections [default: as many as are open at once; with --packets or --duration unlimited]
    #[arg(long, value_name = "N", value_parser = count)]
    connections: Option<u64>,

    /// Segments of data from each server
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    segments: u32,

    /// Sizes of the servers' data frames: 512; 64,1518; 64:7,594:4,1518:1 with shares; 64-1518, 16 sizes in between; imix
    #[arg(short, long, value_name = "SIZES", default_value = "512")]
    size: Sizes,

    /// Order of packets: one of each connection in turn, or connections at random
    #[arg(long, value_name = "ORDER", value_enum, default_value = "turn")]
    order: OrderName,

    /// A class of connections: its share, the server's port and DSCP, as in 10:443 or 10:443:46; up to 8
    #[arg(long = "class", value_name = "SHARE:PORT[:DSCP]", value_parser = class)]
    classes: Vec<Class>,

    #[command(flatten)]
    link: LinkOptions,

    /// Seed of the random traffic
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

#[derive(Args, Clone, Copy, Debug)]
pub struct LinkOptions {
    /// Use IPv6 [default: IPv4]
    #[arg(short = '6', long)]
    ipv6: bool,

    /// Tag frames (802.1Q) with this VLAN id
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u16).range(0..=4095))]
    vlan: Option<u16>,
}

impl LinkOptions {
    pub fn link(self) -> Link {
        Link { ipv6: self.ipv6, vlan: self.vlan }
    }
}

pub fn run(options: &Options) -> Result<u8, CliError> {
    let mut settings = TcpSettings::new().map_err(CliError::usage)?;
    settings.concurrent = options.concurrent;
    settings.connections = match options.connections {
        None if options.sending.is_limited() => None,
        None => Some(options.concurrent),
        some => some,
    };
    settings.segments = options.segments;
    settings.sizes = options.size.clone();
    settings.order = if options.order == OrderName::Random { Order::Random } else { Order::InTurn };
    (settings.link, settings.seed, settings.numbered) = (options.link.link(), options.seed, options.sending.numbered());
    if !options.classes.is_empty() {
        settings.classes = options.classes.clone();
    }
    let mut connections = Connections::new(settings).map_err(CliError::usage)?;
    sending::run(&mut connections, &options.sending)
}
