//! Options for captures from interfaces, and the settings that they become.

mod arg_types;
mod runner;
mod status;

use std::{path::PathBuf, time::Duration};

use clap::Args;
use tidewire::{
    Capture,
    live::{InKernel, Interface, LiveSettings, Role, TrafficDirection},
};
use tidewire_live::{
    privilege::{Confinement, Connections},
    sys::net::first_capturing_number,
};
use tidewire_steer::{Compiled, Program, Settings};

pub use crate::live_report::{push_json, say_lost, text};
use crate::{
    arg_types::whole,
    error::CliError,
    units::{Size, Span},
};
use arg_types::{EngineName, fanout};
pub use runner::{Watching, report_of, run, watched, watched_with};
pub use tidewire::live::{Interfaces, LiveReport};

/// Heading of the help.
const LIVE: &str = "Live";

/// Smallest ring, bytes: a few blocks of the largest frames.
const RING_BYTES_MIN: u64 = 1 << 20;

/// Most flow directions in tables of the kernel: 2 GiB.
const KERNEL_FLOWS_MAX: u32 = 1 << 24;

/// Options of a capture from interfaces.
#[derive(Args, Clone, Debug, Default)]
pub struct Live {
    /// Capture from interface NAME until Ctrl-C, --duration or --packets (repeatable; eth1:eth3 is two interfaces, any all
    /// that are up)
    #[arg(short = 'i', long, value_name = "NAME", display_order = 10, help_heading = LIVE)]
    pub interface: Vec<String>,

    /// Stop after TIME
    #[arg(long, value_name = "TIME", display_order = 11, help_heading = LIVE)]
    pub duration: Option<Span>,

    /// Stop after N packets that match the filter
    #[arg(short = 'c', long, value_name = "N", display_order = 12, value_parser = whole::<u64>, help_heading = LIVE)]
    pub packets: Option<u64>,

    /// Capture engine: auto, packet (packet socket), xdp (AF_XDP in the driver) or xdp-generic [default: auto]
    #[arg(long, value_name = "ENGINE", value_enum, display_order = 13, hide_possible_values = true, help_heading = LIVE)]
    pub engine: Option<EngineName>,

    /// The interface only receives mirrored traffic: drop packets after capture, and unwanted ones in the driver
    #[arg(long, display_order = 14, conflicts_with = "host", help_heading = LIVE)]
    pub tap: bool,

    /// The interface carries this host's traffic: leave it untouched (the default)
    #[arg(long, display_order = 15, help_heading = LIVE)]
    pub host: bool,

    /// Divide packets among workers by a fan-out group (packet(7)). GROUP: its number, which other processes may share,
    /// or any; MODE: hash, lb, cpu, rollover, rnd, qm, cbpf or ebpf, optionally with ,defrag and ,rollover [default: both
    /// directions of a flow to one worker]
    #[arg(long, num_args = 2, value_names = ["GROUP", "MODE"], display_order = 16, help_heading = LIVE)]
    pub fanout: Option<Vec<String>>,

    /// Divide packets among workers by a steering program; @FILE reads it from a file
    #[arg(long, value_name = "PROGRAM", display_order = 17, conflicts_with = "fanout", help_heading = LIVE)]
    pub steer: Option<String>,

    /// Size of a ring; each worker has one for each interface [default: 64M]
    #[arg(long, value_name = "SIZE", display_order = 18, help_heading = LIVE)]
    pub ring: Option<Size>,

    /// Capture at most SIZE of each packet; 0 is all of it [default: all]
    #[arg(long, value_name = "SIZE", display_order = 19, help_heading = LIVE)]
    pub snaplen: Option<Size>,

    /// Capture incoming packets only, none that this host sends
    #[arg(long, display_order = 20, help_heading = LIVE)]
    pub incoming: bool,

    /// Do not set promiscuous mode: capture only packets that this host receives
    #[arg(long, display_order = 21, help_heading = LIVE)]
    pub no_promiscuous: bool,

    /// Let AF_XDP sockets poll the driver, for up to TIME at a time, as in 50us
    #[arg(long, value_name = "TIME", display_order = 22, help_heading = LIVE)]
    pub busy_poll: Option<Span>,

    /// Do not bind worker N to the Nth CPU
    #[arg(long, display_order = 23, help_heading = LIVE)]
    pub no_pin: bool,

    /// How long to hold packets to merge several interfaces in order of time [default: 10ms]
    #[arg(long, value_name = "TIME", display_order = 24, help_heading = LIVE)]
    pub merge_window: Option<Span>,

    /// Serve OpenMetrics at http://ADDR/metrics, as in 127.0.0.1:9600
    #[arg(long, value_name = "ADDR", display_order = 26, help_heading = LIVE)]
    pub metrics: Option<String>,

    /// Keep privileges and access to files and system calls; by default they are dropped once the capture is open
    #[arg(long, display_order = 27, help_heading = LIVE)]
    pub no_sandbox: bool,

    /// Most flow directions that the kernel programs track for IPv4, and a quarter as many for IPv6; 0: no cutoffs in the
    /// kernel [default: 262144, in 48 MiB]
    #[arg(long, value_name = "N", display_order = 28, value_parser = whole::<u32>, help_heading = LIVE)]
    pub kernel_flows: Option<u32>,

    /// Do not print the capture engine at the start
    #[arg(short = 'q', long, display_order = 25, help_heading = LIVE)]
    pub quiet: bool,
}

impl Live {
    /// Whether packets come from interfaces.
    pub fn is_on(&self) -> bool {
        !self.interface.is_empty()
    }

    /// Number of descriptors for files: those below the capture's own, out of all that the process may have.
    pub fn numbers_for_files(&self, allowed: u64) -> u64 {
        if self.is_on() { first_capturing_number(allowed) } else { allowed }
    }

    /// Refuses options of this group without an interface.
    pub fn need_none(&self) -> Result<(), CliError> {
        let given = [
            ("--duration", self.duration.is_some()),
            ("--packets", self.packets.is_some()),
            ("--engine", self.engine.is_some()),
            ("--tap", self.tap),
            ("--host", self.host),
            ("--fanout", self.fanout.is_some()),
            ("--steer", self.steer.is_some()),
            ("--ring", self.ring.is_some()),
            ("--snaplen", self.snaplen.is_some()),
            ("--incoming", self.incoming),
            ("--no-promiscuous", self.no_promiscuous),
            ("--busy-poll", self.busy_poll.is_some()),
            ("--no-pin", self.no_pin),
            ("--merge-window", self.merge_window.is_some()),
            ("--metrics", self.metrics.is_some()),
            ("--no-sandbox", self.no_sandbox),
            ("--kernel-flows", self.kernel_flows.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((name, _)) => Err(CliError::Usage(format!("{name} needs an interface: name one with -i"))),
            None => Ok(()),
        }
    }

    /// The capture that these options describe.
    pub fn capture<'a>(&self) -> Result<Capture<Interfaces<'a>>, CliError> {
        self.capture_with(|_| {})
    }

    /// The same, with other settings changed by `tune`.
    pub fn capture_with<'a>(&self, tune: impl FnOnce(&mut LiveSettings)) -> Result<Capture<Interfaces<'a>>, CliError> {
        if self.packets == Some(0) {
            return Err(CliError::Usage("--packets must be at least 1, got 0".into()));
        }
        let mut settings = self.settings()?;
        tune(&mut settings);
        let mut capture = Capture::live(settings);
        if let Some(Span(ns)) = self.duration {
            capture = capture.duration(Duration::from_nanos(ns));
        }
        if let Some(most) = self.packets {
            capture = capture.packets(most);
        }
        Ok(capture)
    }

    /// Restricts the process before packets arrive: no file access except below `writable`. `None`: no restriction.
    pub fn confinement(&self, writable: &[PathBuf], ports: Vec<u16>) -> Option<Confinement> {
        let mut confinement = writable.iter().fold(Confinement::new(), |all, path| all.writable(path));
        if !ports.is_empty() {
            confinement = confinement.connect(Connections::To { ports: Some(ports), names: false });
        }
        (!self.no_sandbox).then_some(confinement)
    }

    fn settings(&self) -> Result<LiveSettings, CliError> {
        let mut settings = LiveSettings::new(self.interfaces()?);
        settings.set_engine(self.engine.unwrap_or(EngineName::Auto).into());
        settings.set_role(if self.tap { Role::Tap } else { Role::Host });
        settings.set_direction(if self.incoming { TrafficDirection::In } else { TrafficDirection::Both });
        settings.set_fanout(self.fanout.as_deref().map(fanout).transpose()?);
        settings.set_steering(self.steer.as_deref().map(steering).transpose()?);
        settings.set_promiscuous(!self.no_promiscuous);
        settings.set_pin(!self.no_pin);
        if let Some(Size(bytes)) = self.ring {
            let room = usize::try_from(bytes).ok().filter(|_| (RING_BYTES_MIN..1 << 40).contains(&bytes));
            settings.set_ring_bytes(
                room.ok_or_else(|| CliError::Usage("--ring must be at least 1 MiB, as in 64M".into()))?,
            );
        }
        // As in tcpdump and dumpcap, 0 is all.
        if let Some(Size(bytes)) = self.snaplen.filter(|size| size.0 > 0) {
            settings.set_snap_bytes(settings.snap_bytes().min(u32::try_from(bytes).unwrap_or(u32::MAX)));
        }
        if let Some(Span(ns)) = self.busy_poll {
            let microseconds = u32::try_from(ns.div_ceil(1000));
            settings.set_busy_poll_us(
                microseconds.map_err(|_| {
                    CliError::Usage("--busy-poll is too long; expected microseconds, as in 50us".into())
                })?,
            );
        }
        match self.kernel_flows {
            None => {}
            Some(0) => settings.kernel_mut().set_offload(InKernel::Never),
            Some(count @ 1..=KERNEL_FLOWS_MAX) => {
                settings.kernel_mut().set_flows_v4(count);
                settings.kernel_mut().set_flows_v6(count.div_ceil(4));
            }
            Some(_) => return Err(CliError::Usage(format!("--kernel-flows must be at most {KERNEL_FLOWS_MAX}"))),
        }
        if let Some(Span(ns)) = self.merge_window {
            settings.set_merge_window(Duration::from_nanos(ns));
        }
        Ok(settings)
    }

    fn interfaces(&self) -> Result<Vec<String>, CliError> {
        interface_names(&self.interface)
    }
}

/// The interface names of `-i`, with joined names split.
pub fn interface_names(all: &[String]) -> Result<Vec<String>, CliError> {
    let mut names = Vec::new();
    for given in all {
        // An interface name may contain a comma or a colon.
        if given.contains(',') && Interface::find(given).is_err() {
            let joined = given.replace(',', ":");
            return Err(CliError::Usage(format!("-i {given}: join names by colons: -i {joined}")));
        }
        let is_whole = !given.contains(':') || Interface::find(given).is_ok();
        let parts: Vec<&str> = if is_whole { vec![given] } else { given.split(':').collect() };
        if parts.iter().any(|part| part.is_empty()) {
            return Err(CliError::Usage(format!(
                "invalid interface '{given}'; expected a name, or names joined by colons, as in eth0 or eth1:eth3"
            )));
        }
        names.extend(parts.into_iter().map(str::to_owned));
    }
    Ok(names)
}

/// Reads a steering program from the command line or the file that it names.
fn steering(argument: &str) -> Result<Compiled, CliError> {
    let wrong = |error: tidewire_steer::Error| CliError::Usage(format!("--steer: {error}"));
    let program = Program::parse(&crate::check_steering::program_text(argument)?).map_err(wrong)?;
    Compiled::new(&program, &Settings::default()).map_err(wrong)
}
