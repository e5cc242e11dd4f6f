use clap::{Args, ValueEnum};
use tidewire_gen::traffic::{FragmentOrder, FragmentSettings, Fragments};

use super::{
    sending::{self, Sending, count},
    tcp::LinkOptions,
};
use crate::error::CliError;

/// UDP datagrams in fragments, as they should be and as they should not
///
/// Shares of datagrams with a flaw are given in thousandths and add up; a datagram has one flaw at most. Datagrams without
/// one, or with a repeated fragment, can be put together.
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

    /// Datagrams in all; else 1000, or, with --packets or --duration, one after the other
    #[arg(long, value_name = "N", value_parser = count)]
    datagrams: Option<u64>,

    /// Of 1000 datagrams so many lack a fragment
    #[arg(long, value_name = "N", default_value_t = 0)]
    holes: u32,

    /// Of 1000 datagrams so many have a fragment that overlaps others, with the same bytes
    #[arg(long, value_name = "N", default_value_t = 0)]
    overlaps: u32,

    /// Of 1000 datagrams so many have a fragment that overlaps others, with other bytes
    #[arg(long, value_name = "N", default_value_t = 0)]
    conflicts: u32,

    /// Of 1000 datagrams so many have a last fragment that ends beyond 65535 bytes
    #[arg(long, value_name = "N", default_value_t = 0)]
    out_of_bounds: u32,

    /// Of 1000 datagrams so many have a fragment that is sent twice
    #[arg(long, value_name = "N", default_value_t = 0)]
    repeats: u32,

    #[command(flatten)]
    link: LinkOptions,

    /// Another seed gives other flaws
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
    let mut fragments = Fragments::new(settings).map_err(CliError::Usage)?;
    sending::run(&mut fragments, &options.sending)
}
