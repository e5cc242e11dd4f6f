//! `tidewire lab`: private networks for experiments.

mod net;

use clap::{Args, Subcommand};

use crate::error::CliError;

/// Make private networks for experiments
#[derive(Args, Debug)]
pub struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    Net(net::Options),
}

pub fn run(options: &Options) -> Result<u8, CliError> {
    match &options.what {
        What::Net(options) => net::run(options),
    }
}
