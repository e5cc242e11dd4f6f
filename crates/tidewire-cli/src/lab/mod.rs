//! `tidewire lab`: networks to try things in.

mod net;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Make private networks to try things in
#[derive(Args, Debug)]
pub struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    Net(net::Options),
}

pub fn run(options: &Options) -> Result<u8, Failure> {
    match &options.what {
        What::Net(options) => net::run(options),
    }
}
