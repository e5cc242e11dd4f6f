use std::path::PathBuf;

use clap::Args;
use tidewire_gen::{
    Rate,
    traffic::{Replay, ReplayError, ReplaySettings},
};

use super::sending::{self, Sending};
use crate::{error::CliError, units::Size};

/// Replay captures from memory, at their own pace, faster, or at a rate
///
/// Frames are sent at their recorded pace unless --speed or --rate is given. Each loop after the first changes all IP addresses
/// (their lower 24 bits, in IPv6 those of the network; in tunnels the outer ones), so that conversations do not repeat;
/// checksums stay valid. With two interfaces, the two directions of a conversation are sent from different ones.
///
/// Bytes that were not captured are sent as zeroes. Frames that are too long are skipped and counted.
#[derive(Args, Debug)]
pub struct Options {
    /// Captures, merged by time
    #[arg(value_name = "CAPTURE", required = true)]
    captures: Vec<PathBuf>,

    #[command(flatten)]
    sending: Sending,

    /// Multiple of the recorded pace; not with --rate
    #[arg(long, value_name = "TIMES", conflicts_with = "rate")]
    speed: Option<f64>,

    /// Number of loops [default: 1; with --packets or --duration unlimited]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    loops: Option<u64>,

    /// Most memory for frames
    #[arg(short, long, value_name = "SIZE", default_value = "1G")]
    memory: Size,

    /// Skip frames longer than this on the wire, numbers and FCS included
    #[arg(long, value_name = "BYTES", default_value_t = 9018, value_parser = clap::value_parser!(u32).range(64..=9018))]
    longest: u32,
}

pub fn run(options: &Options) -> Result<u8, CliError> {
    let mut settings = ReplaySettings::new(options.captures.clone());
    settings.loops = match options.loops {
        None if options.sending.is_limited() => None,
        None => Some(1),
        some => some,
    };
    settings.speed = options.speed.unwrap_or(1.0);
    settings.memory_bytes = usize::try_from(options.memory.0).unwrap_or(usize::MAX);
    settings.frame_bytes_max = options.longest as usize - 4;
    settings.numbered = options.sending.numbered();
    let mut replay = Replay::load(settings).map_err(refused)?;
    sending::run_at(&mut replay, &options.sending, Rate::Timed)
}

/// An error of a capture, or of the options.
fn refused(error: ReplayError) -> CliError {
    match error {
        ReplayError::File(error) => CliError::Input(error.to_string()),
        other => CliError::Usage(other.to_string()),
    }
}
