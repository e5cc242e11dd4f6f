//! The peer for locality: an application with large tables that gets its packets from libpcap, from an interface or a file.
//!
//! `locality-loop rules 300 (--file FILE | --interface IFACE)`; at the end of the file, on SIGTERM or Ctrl-C it prints its
//! findings and their cost. Run it with LD_PRELOAD and TIDEWIRE_LOCALITY to have its packets sorted.
#![forbid(unsafe_code)]

use std::{path::PathBuf, process::ExitCode, time::Instant};

use clap::Parser;
use pcap::{Activated, Capture, Error};
use tidewire_bench::locality::apps::{Application, Kinds};
use tidewire_core::{Frame, Timestamp, wire::LinkType};
use tidewire_lab::sys::thread_cpu_ns;

/// An application with large tables over libpcap
#[derive(Parser)]
struct Arguments {
    /// rules, flows or ngrams
    application: String,
    /// Patterns of a service, flows already in the table, or KiB of a service's filter
    size: u64,
    /// A capture
    #[arg(long, required_unless_present = "interface")]
    file: Option<PathBuf>,
    /// An interface
    #[arg(long, conflicts_with = "file")]
    interface: Option<String>,
    /// The ring, bytes
    #[arg(long, default_value_t = 16 << 20)]
    buffer: i32,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("locality-loop: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let say = |error: Error| error.to_string();
    let kind = Kinds::ALL.into_iter().find(|kind| kind.name() == arguments.application);
    let mut application = kind.ok_or("the application is rules, flows or ngrams")?.build(arguments.size);
    let mut capture: Capture<dyn Activated> = match (&arguments.file, &arguments.interface) {
        (Some(file), _) => Capture::from_file(file).map_err(say)?.into(),
        (None, interface) => {
            let inactive = Capture::from_device(interface.as_deref().unwrap_or_default()).map_err(say)?;
            let inactive = inactive.promisc(true).snaplen(65_535).buffer_size(arguments.buffer).timeout(100);
            inactive.open().map_err(say)?.into()
        }
    };
    let stop = capture.breakloop_handle();
    ctrlc::set_handler(move || stop.breakloop()).map_err(|error| error.to_string())?;
    eprintln!("locality-loop: ready");
    let (begun, cpu) = (Instant::now(), thread_cpu_ns());
    let (ended, packets) = deliver(&mut capture, &mut *application);
    let cpu_ns = thread_cpu_ns() - cpu;
    match ended {
        Ok(()) | Err(Error::TimeoutExpired | Error::NoMorePackets) => {}
        // A broken loop is an error without a text.
        Err(Error::PcapError(text)) if text.is_empty() => {}
        Err(error) => return Err(error.to_string()),
    }
    let stats = capture.stats().ok().map_or([0; 2], |stats| [stats.received, stats.dropped]);
    println!(
        "{{\"packets\":{packets},\"found\":{},\"table_bytes\":{},\"cpu_ns\":{cpu_ns},\"ns_per_packet\":{:.1},\"wall_s\":{:.3},\"received\":{},\"dropped\":{}}}",
        application.found(),
        application.table_bytes(),
        cpu_ns as f64 / packets.max(1) as f64,
        begun.elapsed().as_secs_f64(),
        stats[0],
        stats[1]
    );
    Ok(())
}

fn deliver(capture: &mut Capture<dyn Activated>, application: &mut dyn Application) -> (Result<(), Error>, u64) {
    let mut packets = 0_u64;
    let ended = capture.for_each(None, |packet| {
        packets += 1;
        let time = packet.header.ts;
        let time_ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
        let frame = Frame::new(LinkType::ETHERNET, Timestamp::from_nanos(time_ns))
            .with_number(packets)
            .with_place(0, packet.header.caplen)
            .with_wire_bytes(packet.header.len);
        application.packet(&frame, packet.data);
    });
    (ended, packets)
}
