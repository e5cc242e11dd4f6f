use clap::{Args, ValueEnum};
use tidewire_gen::{
    Sizes,
    traffic::{Class, Flows, Order},
};

use super::sending::{self, Sending, count};
use crate::error::CliError;

/// UDP datagrams of many flows
///
/// Flow f runs from 10.x.y.z, where x.y.z is f, to 192.168.0.(f modulo 256), port 5001 or that of its class. Frame n depends
/// only on n and the seed. The payload repeats the word 'tidewire'; checksums are valid.
#[derive(Args, Debug)]
pub struct Options {
    #[command(flatten)]
    sending: Sending,

    /// Number of flows, 1 to 16777216
    #[arg(short = 'n', long, value_name = "N", default_value = "1", value_parser = count)]
    flows: u64,

    /// Order of flows: in turn, or at random
    #[arg(long, value_name = "ORDER", value_enum, default_value = "turn")]
    order: OrderName,

    /// Sizes on the cable: 512; 64,1518; 64:7,594:4,1518:1 with shares; 64-1518, 16 sizes in between; imix
    #[arg(short, long, value_name = "SIZES", default_value = "64")]
    size: Sizes,

    /// Send replies of the servers as well: with two interfaces, from the second
    #[arg(long)]
    both: bool,

    /// A class of flows: its share, the server's port and DSCP, as in 10:53 or 10:53:46; up to 8
    #[arg(long = "class", value_name = "SHARE:PORT[:DSCP]", value_parser = class)]
    classes: Vec<Class>,

    /// Seed of the random traffic
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// A flood of TCP SYNs, each from another address
///
/// Source addresses are random; the target is port 80 of 192.168.0.0. Frames have 64 bytes.
#[derive(Args, Debug)]
pub struct FloodOptions {
    #[command(flatten)]
    sending: Sending,

    /// Seed of the random addresses
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OrderName {
    Turn,
    Random,
}

pub fn run(options: &Options) -> Result<u8, CliError> {
    let mut flows = Flows::udp(options.flows, options.size.clone()).map_err(CliError::usage)?;
    flows.order = if options.order == OrderName::Random { Order::Random } else { Order::InTurn };
    (flows.both, flows.seed, flows.numbered) = (options.both, options.seed, options.sending.numbered());
    if !options.classes.is_empty() {
        flows.set_classes(options.classes.clone()).map_err(CliError::usage)?;
    }
    sending::run(&mut flows, &options.sending)
}

pub fn flood(options: &FloodOptions) -> Result<u8, CliError> {
    let mut flows = Flows::syn_flood().map_err(CliError::usage)?;
    (flows.seed, flows.numbered) = (options.seed, options.sending.numbered());
    sending::run(&mut flows, &options.sending)
}

/// Parses a class, `SHARE:PORT[:DSCP]`.
pub fn class(text: &str) -> Result<Class, String> {
    let mut parts = text.split(':');
    let mut number = |most: u32| -> Option<u32> { parts.next()?.trim().parse().ok().filter(|value| *value <= most) };
    let form = || format!("'{text}' is not SHARE:PORT[:DSCP], as in 10:53:46 (DSCP 0 to 63)");
    let (share, port) = (number(1_000_000).ok_or_else(form)?, number(65_535).ok_or_else(form)?);
    let dscp = if text.split(':').count() > 2 { number(63).ok_or_else(form)? } else { 0 };
    if text.split(':').count() > 3 {
        return Err(form());
    }
    Ok(Class { port: port as u16, dscp: dscp as u8, share })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes() {
        assert_eq!(class("90:80"), Ok(Class { port: 80, dscp: 0, share: 90 }));
        assert_eq!(class("10:53:46"), Ok(Class { port: 53, dscp: 46, share: 10 }));
        for wrong in ["", "1", "1:70000", "1:80:64", "1:80:1:1", "x:80"] {
            assert!(class(wrong).is_err(), "{wrong}");
        }
    }
}
