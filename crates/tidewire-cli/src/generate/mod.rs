//! `tidewire gen`: synthetic traffic.

mod fragments;
mod missing;
mod replay;
mod report;
mod sending;
mod sink;
mod tcp;
mod udp;

use clap::{Args, Subcommand};

use crate::error::CliError;
pub use sending::{from_live, on_signal, on_signal_within, stopped};

/// Send synthetic traffic, and report what was sent
///
/// The kernel itself sends frames (XDP live frames) where possible, else a packet socket, at a given rate or as fast as
/// possible. The last six bytes of every frame, after the IP packet, are its number, so that 'tidewire gen missing' can find
/// lost frames.
///
/// Frames are only sent on cables of 'tidewire lab net', unless --i-own-this-network is given.
///
/// Sizes are those on the wire, FCS included: the smallest frame has 64 bytes, 60 of them in memory. Rates in bits include
/// preamble and interframe gap, so that 10Gbit of 64-byte frames are 14.88 million frames a second.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    #[command(subcommand)]
    traffic: Traffic,
}

const EXAMPLES: &str = "\
Examples:
  A cable, and a million frames of a thousand flows over it at 10 Gbit/s line rate:
    tidewire lab net up -- tidewire gen udp -i tx0 --flows 1000 --rate 10Gbit --packets 1000000

  A hundred thousand connections at once, a full-duplex tap's two legs, and who is missing in a capture of one:
    tidewire lab net up --cables 2 -- sh -c 'tcpdump -i rx0 -w 0.pcap & sleep 1
      tidewire gen tcp -i tx0 -i tx1 -n 100k --rate 1Mpps; sleep 1; kill $!'
    tidewire gen missing 0.pcap

  A capture ten times, ten times as fast:
    tidewire lab net up --mtu 9000 -- tidewire gen replay -i tx0 --speed 10 --loops 10 capture.pcap

Capabilities: cap_bpf and cap_net_admin to send from the kernel, cap_net_raw for a packet socket.";

#[derive(Subcommand, Debug)]
enum Traffic {
    Udp(udp::Options),
    Tcp(tcp::Options),
    Replay(replay::Options),
    SynFlood(udp::FloodOptions),
    Fragments(fragments::Options),
    Missing(missing::Options),
    Sink(sink::Options),
}

pub fn run(options: &Options) -> Result<u8, CliError> {
    match &options.traffic {
        Traffic::Udp(options) => udp::run(options),
        Traffic::Tcp(options) => tcp::run(options),
        Traffic::SynFlood(options) => udp::flood(options),
        Traffic::Replay(options) => replay::run(options),
        Traffic::Fragments(options) => fragments::run(options),
        Traffic::Missing(options) => missing::run(options),
        Traffic::Sink(options) => sink::run(options),
    }
}
