//! The peer: receives packets from an interface with libpcap and does something with each.
//!
//! `pcap-loop IFACE [--work-ns N] [--copies N] [--compress] [--filter EXPR] [--write FILE] [--buffer BYTES]`; on SIGTERM or Ctrl-C it prints its totals and those of libpcap.
#![forbid(unsafe_code)]

use std::{
    hint::{black_box, spin_loop},
    io::Write as _,
    path::PathBuf,
    process::ExitCode,
    time::Instant,
};

use clap::Parser;
use flate2::{Compression, write::ZlibEncoder};
use pcap::{Capture, Error};

/// libpcap in a loop
#[derive(Parser)]
struct Arguments {
    /// An interface
    interface: String,
    /// Busy time per packet, nanoseconds
    #[arg(long, default_value_t = 0)]
    work_ns: u64,
    /// Copies of each packet's bytes to make
    #[arg(long, default_value_t = 0)]
    copies: u32,
    /// Compress each packet (zlib, the fastest level)
    #[arg(long)]
    compress: bool,
    /// A filter expression
    #[arg(long)]
    filter: Option<String>,
    /// Write packets to this file
    #[arg(long)]
    write: Option<PathBuf>,
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
    if let Some(filter) = &arguments.filter {
        capture.filter(filter, true).map_err(say)?;
    }
    let mut file = arguments.write.as_ref().map(|path| capture.savefile(path)).transpose().map_err(say)?;
    let mut place = vec![0; 1 << 16];
    let mut compressed = Vec::new();
    let stop = capture.breakloop_handle();
    ctrlc::set_handler(move || stop.breakloop()).map_err(|error| error.to_string())?;
    let (mut packets, mut bytes) = (0_u64, 0_u64);
    let work_ns = u128::from(arguments.work_ns);
    let ended = capture.for_each(None, |packet| {
        packets += 1;
        bytes += u64::from(packet.header.len);
        for _ in 0..arguments.copies {
            let most = packet.data.len().min(place.len());
            place[..most].copy_from_slice(&packet.data[..most]);
            // An unread copy would not be made.
            black_box(&mut place);
        }
        if arguments.compress {
            compressed.clear();
            let mut encoder = ZlibEncoder::new(&mut compressed, Compression::fast());
            let _ = encoder.write_all(packet.data).and_then(|()| encoder.finish().map(drop));
            black_box(&mut compressed);
        }
        if let Some(file) = &mut file {
            file.write(&packet);
        }
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
