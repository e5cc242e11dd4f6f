use std::time::{Duration, Instant};

use clap::Args;
use tidewire_gen::Sink;

use super::sending::{from_live, on_signal, stopped};
use crate::{
    error::{self, CliError},
    output::{Object, Out},
    units::{Bytes, Count, Span},
};

/// The other end of a cable: count frames and drop them, as early as the kernel can
///
/// An XDP program in the interface's driver, removed when this command ends. Ends on Ctrl-C.
#[derive(Args, Debug)]
pub struct Options {
    /// The receiving interface
    #[arg(short, long, value_name = "IF")]
    interface: String,

    /// Stop after TIME [default: until Ctrl-C]
    #[arg(short, long, value_name = "TIME")]
    duration: Option<Span>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(options: &Options) -> Result<u8, CliError> {
    on_signal();
    let sink = Sink::attach(&options.interface).map_err(from_live)?;
    let began = Instant::now();
    let most = options.duration.map_or(Duration::MAX, |span| Duration::from_nanos(span.0));
    while !stopped() && began.elapsed() < most {
        std::thread::sleep(Duration::from_millis(20).min(most));
    }
    let (packets, bytes) = sink.counted().map_err(from_live)?;
    let mut out = Out::stdout();
    if options.json {
        let mut object = Object::open(out.buffer());
        object.number("packets", packets);
        object.number("bytes", bytes);
        object.close();
        out.line("")?;
    } else {
        out.line(&format!("{} frames, {} in memory", Count(packets), Bytes(bytes)))?;
    }
    out.flush()?;
    Ok(error::OK)
}
