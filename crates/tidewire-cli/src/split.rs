//! `tidewire split`: splits one link over several.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::{Args, ValueEnum};
use tidewire::legible::legible;
use tidewire_gen::net::has_address;
use tidewire_live::{
    Change, Interface, InterfaceCounts, InterfaceState, Purpose,
    split::{Split, SplitCounts, SplitSettings},
    sys::bpf::XdpMode,
};
use tidewire_steer::{Compiled, Fragments, Program, Settings};

use crate::{
    check_steering,
    error::{self, CliError, notify},
    generate::{from_live, on_signal, stopped},
    output::{Object, Out},
    units::{Bytes, Count, Span},
};

/// Split one link over several, keeping conversations together
///
/// An XDP program redirects every frame that arrives at IN to one of the OUTs; the machine itself does not receive it. By
/// default the (outermost) IP addresses decide, so that all traffic between two hosts stays together, fragments included;
/// frames without IP are divided by MAC addresses. The program is removed when this command ends, however it ends.
///
/// The slower generic hook is used if the driver of IN has no native XDP, or if the driver of an output accepts no redirected
/// frames (a veth whose other end has neither GRO nor an XDP program). Receive offloads must then be off (ethtool -K IN gro
/// off lro off): merged frames that are too long for an output are lost.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// The interface to split
    #[arg(value_name = "IN")]
    input: String,

    /// The interfaces to send to
    #[arg(value_name = "OUT", required = true)]
    outputs: Vec<String>,

    /// Fields that select the output: addresses; or ports: addresses and ports, but fragments by addresses only, so that they may
    /// leave another way than the rest of their flow
    #[arg(long, value_name = "WHAT", value_enum, default_value = "addresses", hide_possible_values = true)]
    by: By,

    /// Select the output by a steering program (docs/steering.md) whose workers are the outputs; @FILE reads it from a file
    #[arg(long, value_name = "PROGRAM", conflicts_with = "by")]
    steering: Option<String>,

    /// Most nested tunnels to decode
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=i64::from(tidewire_steer::TUNNELS_MAX)))]
    tunnels: u8,

    /// Where the program runs: native (in the driver), generic (after it), or auto (native if possible)
    #[arg(long, value_name = "MODE", value_enum, default_value = "auto", hide_possible_values = true)]
    mode: ModeName,

    /// Only report the conversations of a capture file that would be divided; exit status 1 if there are any
    #[arg(long, value_name = "CAPTURE")]
    check: Option<PathBuf>,

    /// Stop after TIME [default: until Ctrl-C]
    #[arg(short, long, value_name = "TIME")]
    duration: Option<Span>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Print no progress
    #[arg(short, long)]
    quiet: bool,

    /// Allow an IN with an IP address: this machine no longer receives traffic there
    #[arg(long)]
    i_own_this_network: bool,
}

const EXAMPLES: &str = "\
Examples:
  tidewire split eth0 eth1 eth2 eth3
  tidewire split eth0 eth1 eth2 --check trace.pcap

Capabilities: cap_bpf, cap_net_admin, cap_net_raw.";

/// Why redirected frames are lost, and what to do.
fn redirected(mode: XdpMode) -> &'static str {
    match mode {
        XdpMode::Native => {
            "an output accepted no redirected frames; use --mode generic, or for a veth: ethtool -K PEER gro on"
        }
        XdpMode::Generic => "an output accepted no redirected frames; its counters may say why: ip -s link show OUT",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    Addresses,
    Ports,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ModeName {
    Auto,
    Native,
    Generic,
}

impl Options {
    fn program(&self) -> Result<String, CliError> {
        match (&self.steering, self.by) {
            (Some(text), _) => check_steering::program_text(text),
            (None, By::Addresses) => Ok("conditional (is_ip .||. is_ip6) steer_p2p steer_link".into()),
            (None, By::Ports) => Ok("conditional (is_ip .||. is_ip6) steer_flow steer_link".into()),
        }
    }

    fn settings(&self) -> Result<SplitSettings, CliError> {
        let usage = |error: tidewire_steer::Error| CliError::Usage(error.to_string());
        let mut settings = Settings::default();
        settings.fragments = Fragments::Addresses;
        settings.wire.tunnel_depth = self.tunnels;
        let program = Program::parse(&self.program()?).map_err(usage)?;
        let mode = match self.mode {
            ModeName::Auto => None,
            ModeName::Native => Some(XdpMode::Native),
            ModeName::Generic => Some(XdpMode::Generic),
        };
        let steering = Compiled::new(&program, &settings).map_err(usage)?;
        Ok(SplitSettings { input: self.input.clone(), outputs: self.outputs.clone(), steering, mode })
    }
}

/// Counts of an output's own counters since it was seen first; of one that is gone, its last counts.
#[derive(Default)]
struct Sent {
    counts: InterfaceCounts,
    /// The index that it had last, and what it had counted.
    last: Option<(u32, InterfaceCounts)>,
}

impl Sent {
    fn of(name: &str) -> Result<Self, CliError> {
        let found = Interface::find(name).map_err(from_live)?;
        Ok(Self { last: Some((found.index, found.counts)), ..Self::default() })
    }

    fn look(&mut self, found: &Interface) {
        // Those of an interface that was made again begin at 0.
        let since = match &self.last {
            Some((index, last)) if *index == found.index => found.counts.since(last),
            _ => found.counts,
        };
        self.counts.tx_packets += since.tx_packets;
        self.counts.tx_dropped += since.tx_dropped;
        self.last = Some((found.index, found.counts));
    }
}

fn look(outputs: &mut [Sent], split: &Split) -> Result<(), CliError> {
    let found = split.outputs().map_err(from_live)?;
    let both = outputs.iter_mut().zip(&found).filter_map(|(output, found)| Some((output, found.as_ref()?)));
    both.for_each(|(output, found)| output.look(found));
    Ok(())
}

/// Says what an interface is: the input is 0, the outputs follow.
fn say(interface: usize, name: &str, change: &Change) {
    let purpose = if interface == 0 { Purpose::SplitInput } else { Purpose::SplitOutput };
    notify(change.describe(name, purpose));
}

/// Says what cannot be used at the start.
fn say_down(options: &Options) {
    let names = std::iter::once(&options.input).chain(&options.outputs).enumerate();
    let works = |name: &str| Interface::find(name).is_ok_and(|found| found.up && found.carrier);
    names.filter(|(_, name)| !works(name)).for_each(|(number, name)| say(number, name, &Change::Down));
}

pub fn run(options: &Options) -> Result<u8, CliError> {
    if let Some(capture) = &options.check {
        let (program, tunnels) = (options.program()?, options.tunnels);
        let check = check_steering::Options::of(capture, program, &options.outputs, tunnels, options.json);
        return check_steering::run(&check);
    }
    on_signal();
    let settings = options.settings()?;
    let input = Interface::find(&options.input).map_err(from_live)?;
    if !options.i_own_this_network && has_address(&input).map_err(from_live)? {
        return Err(CliError::Usage(format!(
            "{} has an IP address, and this machine would lose its traffic there; to allow that, add --i-own-this-network",
            input.name
        )));
    }
    let mut outputs = options.outputs.iter().map(|name| Sent::of(name)).collect::<Result<Vec<_>, _>>()?;
    let mut split = Split::start(&settings).map_err(from_live)?;
    let watched = watch(options, &mut split, &mut outputs);
    // Lets frames in flight arrive.
    std::thread::sleep(Duration::from_millis(10));
    let counts = split.counts().map_err(from_live)?;
    split.look();
    look(&mut outputs, &split)?;
    let mut out = Out::stdout();
    if options.json {
        push_json(out.buffer(), options, &split, &counts, &outputs);
        out.line("")?;
    } else {
        print(&mut out, options, &split, &counts, &outputs)?;
    }
    drop(split);
    out.flush()?;
    watched?;
    Ok(if stopped() && options.duration.is_some() { error::INTERRUPTED } else { error::OK })
}

/// Waits for the end; reports progress, and outputs that accept no frames.
fn watch(options: &Options, split: &mut Split, outputs: &mut [Sent]) -> Result<(), CliError> {
    /// Drivers update their counters periodically.
    const PATIENCE: u32 = 3;
    /// How often interfaces are looked at.
    const LOOK: Duration = Duration::from_millis(250);
    if !options.quiet {
        notify(format!("splitting {} over {}, {}", options.input, options.outputs.join(", "), mode_name(split.mode())));
    }
    if let Some(why) = split.advice() {
        let what = if split.mode() == XdpMode::Native { "frames may be lost" } else { "not in the driver" };
        notify(format!("{what}: {why}"));
    }
    say_down(options);
    let began = Instant::now();
    let most = options.duration.map_or(Duration::MAX, |span| Duration::from_nanos(span.0));
    let (mut reported, mut looked, mut last) = (Instant::now(), Instant::now(), 0);
    let mut silent = vec![0; options.outputs.len()];
    let (mut lost, mut losing) = (0, 0);
    let mut refused = None;
    while !stopped() && began.elapsed() < most {
        std::thread::sleep(Duration::from_millis(20).min(most));
        if looked.elapsed() < LOOK {
            continue;
        }
        looked = Instant::now();
        let seen = split.look();
        seen.changes.iter().for_each(|event| say(event.interface, &event.name, &event.change));
        let failure = seen.failure.map(|error| from_live(error).to_string());
        match (&failure, &refused) {
            (Some(error), before) if before.as_ref() != Some(error) => notify(error),
            (None, Some(_)) => notify("every interface that is there is used again"),
            _ => {}
        }
        refused = failure;
        if reported.elapsed() < Duration::from_secs(1) {
            continue;
        }
        reported = Instant::now();
        let counts = split.counts().map_err(from_live)?;
        if !options.quiet {
            let rate = counts.received.packets - last;
            notify(format!("{} frames, {} a second", Count(counts.received.packets), Count(rate)));
        }
        last = counts.received.packets;
        // Redirected frames that no output accepted have no other counter.
        let are_up = (0..options.outputs.len()).all(|number| split.output_state(number) == InterfaceState::Up);
        losing = if counts.lost() > lost && are_up { losing + 1 } else { 0 };
        lost = counts.lost();
        if losing == PATIENCE {
            notify(format!("{} frames lost: {}", Count(lost), redirected(split.mode())));
        }
        look(outputs, split)?;
        for (index, silent) in silent.iter_mut().enumerate() {
            let (Some(count), Some(since)) = (counts.outputs.get(index), outputs.get(index)) else { continue };
            let has_sent = since.counts.tx_packets + since.counts.tx_dropped > 0;
            *silent = if count.packets > 0 && !has_sent { *silent + 1 } else { 0 };
            if *silent == PATIENCE {
                let name = options.outputs.get(index).map_or("", String::as_str);
                notify(format!("{name} does not send its share: {}", redirected(split.mode())));
            }
        }
    }
    Ok(())
}

fn mode_name(mode: XdpMode) -> &'static str {
    match mode {
        XdpMode::Native => "in the driver",
        XdpMode::Generic => "behind the driver",
    }
}

fn push_json(out: &mut Vec<u8>, options: &Options, split: &Split, counts: &SplitCounts, sent: &[Sent]) {
    let mut object = Object::open(out);
    object.text("state", split.input_state().name());
    object.number("received", counts.received.packets);
    object.number("received_bytes", counts.received.bytes);
    object.number("unsteered", counts.unsteered.packets);
    object.number("lost", counts.lost());
    let rows = options.outputs.iter().zip(&counts.outputs).zip(sent).enumerate();
    object.array("outputs", rows, |out, (number, ((name, count), sent))| {
        let mut object = Object::open(out);
        object.text("name", name);
        object.text("state", split.output_state(number).name());
        object.number("packets", count.packets);
        object.number("bytes", count.bytes);
        object.number("tx_packets", sent.counts.tx_packets);
        object.number("tx_dropped", sent.counts.tx_dropped);
        object.close();
    });
    object.close();
}

fn print(out: &mut Out, options: &Options, split: &Split, counts: &SplitCounts, sent: &[Sent]) -> Result<(), CliError> {
    let away =
        |state: InterfaceState| if state == InterfaceState::Up { String::new() } else { format!(", {}", state.name()) };
    let mut line = |name: &str, count: u64, note: String| {
        out.line(format!("{name:<24}{:>16}  {note}", Count(count).to_string()).trim_end())
    };
    let note = format!("{}{}", Bytes(counts.received.bytes), away(split.input_state()));
    line("received", counts.received.packets, note)?;
    let whole = counts.received.packets.max(1) as f64;
    let rows = options.outputs.iter().zip(&counts.outputs).zip(sent);
    for (number, ((name, count), sent)) in rows.enumerate() {
        let share = 100.0 * count.packets as f64 / whole;
        let dropped = match sent.counts.tx_dropped {
            0 => String::new(),
            dropped => format!(", {} dropped there", Count(dropped)),
        };
        let away = away(split.output_state(number));
        let note = format!("{share:.1} %, {}{dropped}{away}", Bytes(count.bytes));
        line(&format!("  {}", legible(name)), count.packets, note)?;
    }
    if counts.unsteered.packets > 0 {
        line("  dropped by the program", counts.unsteered.packets, String::new())?;
    }
    if counts.lost() > 0 {
        line("  lost", counts.lost(), redirected(split.mode()).into())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_that_is_used_is_not_advised() {
        assert!(redirected(XdpMode::Native).contains("--mode generic"));
        assert!(!redirected(XdpMode::Generic).contains("--mode"));
    }
}
