//! The peer: receives packets from an interface with libpcap and spends some time on each.
//!
//! `pcap-loop IFACE [--work-ns N] [--buffer BYTES]`; on SIGTERM or Ctrl-C it prints its totals and those of libpcap.
#![forbid(unsafe_code)]

use std::{hint::spin_loop, process::ExitCode, time::Instant};

use clap::Parser;
use pcap::{Capture, Error};

/// libpcap in a loop
#[derive(Parser)]
struct Arguments {
    /// An interface
    interface: String,
    /// Busy time per packet, nanoseconds
    #[arg(long, default_value_t = 0)]
    work_ns: u64,
    /// The ring, bytes
    #[arg(long, default_value_t = 64 << 20)]
    buffer: i32,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pcap-loop: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let say = |error: Error| error.to_string();
    let inactive = Capture::from_device(arguments.interface.as_str()).map_err(say)?;
    let inactive = inactive.promisc(true).snaplen(65_535).buffer_size(arguments.buffer).timeout(100);
    let mut capture = inactive.open().map_err(say)?;
    let stop = capture.breakloop_handle();
    ctrlc::set_handler(move || stop.breakloop()).map_err(|error| error.to_string())?;
    let (mut packets, mut bytes) = (0_u64, 0_u64);
    let work_ns = u128::from(arguments.work_ns);
    let ended = capture.for_each(None, |packet| {
        packets += 1;
        bytes += u64::from(packet.header.len);
        if work_ns > 0 {
            let begun = Instant::now();
            while begun.elapsed().as_nanos() < work_ns {
                spin_loop();
            }
        }
    });
    match ended {
        Ok(()) | Err(Error::TimeoutExpired | Error::NoMorePackets) => {}
        // A broken loop is an error without a text.
        Err(Error::PcapError(text)) if text.is_empty() => {}
        Err(error) => return Err(error.to_string()),
    }
    let stats = capture.stats().map_err(say)?;
    println!(
        "{{\"packets\":{packets},\"bytes\":{bytes},\"received\":{},\"dropped\":{},\"if_dropped\":{}}}",
        stats.received, stats.dropped, stats.if_dropped
    );
    Ok(())
}
