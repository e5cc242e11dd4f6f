use clap::{Args, ValueEnum};
use tidewire_gen::traffic::{FragmentOrder, FragmentSettings, Fragments};

use super::{
    sending::{self, Sending, count},
    tcp::LinkOptions,
};
use crate::error::CliError;

/// UDP datagrams in fragments, valid and invalid ones
///
/// Shares of invalid datagrams are in thousandths and add up; a datagram has at most one flaw. Datagrams without a flaw, or
/// with a repeated fragment, can be rebuilt.
#[derive(Args, Debug)]
pub struct Options {
    #[command(flatten)]
    sending: Sending,

    /// Payload of a datagram, 16 to 65507 bytes
    #[arg(short, long, value_name = "BYTES", default_value_t = 4000)]
    size: u32,

    /// Bytes of a datagram in each fragment: a multiple of 8
    #[arg(short, long, value_name = "BYTES", default_value_t = 1440)]
    fragment: u32,

    /// Order of a datagram's fragments
    #[arg(long, value_name = "ORDER", value_enum, default_value = "forward")]
    order: OrderName,

    /// Datagrams pending at once, a fragment of each after the other
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1)]
    open: u32,

    /// Number of datagrams [default: 1000; with --packets or --duration unlimited]
    #[arg(long, value_name = "N", value_parser = count)]
    datagrams: Option<u64>,

    /// Thousandths of datagrams that lack a fragment
    #[arg(long, value_name = "N", default_value_t = 0)]
    holes: u32,

    /// Thousandths of datagrams with a fragment that overlaps others, with the same bytes
    #[arg(long, value_name = "N", default_value_t = 0)]
    overlaps: u32,

    /// Thousandths of datagrams with a fragment that overlaps others, with different bytes
    #[arg(long, value_name = "N", default_value_t = 0)]
    conflicts: u32,

    /// Thousandths of datagrams with a last fragment that ends beyond 65535 bytes
    #[arg(long, value_name = "N", default_value_t = 0)]
    out_of_bounds: u32,

    /// Thousandths of datagrams with a fragment that is sent twice
    #[arg(long, value_name = "N", default_value_t = 0)]
    repeats: u32,

    #[command(flatten)]
    link: LinkOptions,

    /// Seed of the random flaws
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OrderName {
    Forward,
    Reverse,
    Random,
}

pub fn run(options: &Options) -> Result<u8, CliError> {
    let settings = FragmentSettings {
        datagram_bytes: options.size,
        fragment_bytes: options.fragment,
        order: match options.order {
            OrderName::Forward => FragmentOrder::Forward,
            OrderName::Reverse => FragmentOrder::Reverse,
            OrderName::Random => FragmentOrder::Random,
        },
        open: options.open,
        datagrams: match options.datagrams {
            None if options.sending.is_limited() => None,
            None => Some(1000),
            some => some,
        },
        holes: options.holes,
        overlaps: options.overlaps,
        conflicts: options.conflicts,
        out_of_bounds: options.out_of_bounds,
        repeats: options.repeats,
        link: options.link.link(),
        seed: options.seed,
        numbered: options.sending.numbered(),
    };
    let mut fragments = Fragments::new(settings).map_err(CliError::usage)?;
    sending::run(&mut fragments, &options.sending)
}
