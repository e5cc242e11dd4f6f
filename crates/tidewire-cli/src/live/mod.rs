//! Interfaces: the options that say what is captured there and how, and what they set.

mod arg_types;
mod report;
mod runner;

use std::{path::PathBuf, time::Duration};

use clap::Args;
use tidewire::{
    Capture,
    live::{InKernel, Interface, LiveSettings, Role, TrafficDirection},
};
use tidewire_live::{privilege::Confinement, sys::net::first_capturing_number};
use tidewire_steer::{Compiled, Program, Settings};

use crate::{
    arg_types::whole,
    error::CliError,
    units::{Size, Span},
};
use arg_types::{EngineName, fanout};
pub use report::{lost, push_json, say_lost, text};
pub use runner::{report_of, run, watched};
pub use tidewire::live::{Interfaces, LiveReport};

/// Heading of the help.
const LIVE: &str = "Live";

/// Smallest ring, bytes: a few blocks of the largest frames.
const RING_BYTES_MIN: u64 = 1 << 20;

/// Most directions of flows that tables in the kernel are made for: 2 GiB.
const KERNEL_FLOWS_MAX: u32 = 1 << 24;

/// What a capture from interfaces takes.
#[derive(Args, Clone, Debug, Default)]
pub struct Live {
    /// Capture from this interface, until Ctrl-C, --duration or --packets (repeatable; eth1:eth3 names two, any all that are on)
    #[arg(short = 'i', long, value_name = "NAME", display_order = 10, help_heading = LIVE)]
    pub interface: Vec<String>,

    /// End after TIME
    #[arg(long, value_name = "TIME", display_order = 11, help_heading = LIVE)]
    pub duration: Option<Span>,

    /// End after N packets, as many as pass the filter
    #[arg(short = 'c', long, value_name = "N", display_order = 12, value_parser = whole::<u64>, help_heading = LIVE)]
    pub packets: Option<u64>,

    /// How packets come from the kernel: auto, packet (a packet socket's ring), xdp (AF_XDP in the driver) or
    /// xdp-generic [default: auto]
    #[arg(long, value_name = "ENGINE", value_enum, display_order = 13, hide_possible_values = true, help_heading = LIVE)]
    pub engine: Option<EngineName>,

    /// The interface only mirrors traffic: what was captured, or is not wanted, is dropped there
    #[arg(long, display_order = 14, conflicts_with = "host", help_heading = LIVE)]
    pub tap: bool,

    /// The interface carries the machine's own traffic, which is left untouched (the default)
    #[arg(long, display_order = 15, help_heading = LIVE)]
    pub host: bool,

    /// Divide packets among workers as a fan-out group does (packet(7)). GROUP: its number, which other processes may
    /// share, or any; MODE: hash, lb, cpu, rollover, rnd, qm, cbpf or ebpf, and after it ,defrag and ,rollover
    /// [default: both directions of a flow to one worker]
    #[arg(long, num_args = 2, value_names = ["GROUP", "MODE"], display_order = 16, help_heading = LIVE)]
    pub fanout: Option<Vec<String>>,

    /// Divide packets among workers by a steering program; @FILE reads it from a file
    #[arg(long, value_name = "PROGRAM", display_order = 17, conflicts_with = "fanout", help_heading = LIVE)]
    pub steer: Option<String>,

    /// Memory of one ring; each worker has one on each interface [default: 64M]
    #[arg(long, value_name = "SIZE", display_order = 18, help_heading = LIVE)]
    pub ring: Option<Size>,

    /// Capture at most SIZE of each packet [default: all]
    #[arg(long, value_name = "SIZE", display_order = 19, help_heading = LIVE)]
    pub snaplen: Option<Size>,

    /// Only packets that come in, none that this machine sends
    #[arg(long, display_order = 20, help_heading = LIVE)]
    pub incoming: bool,

    /// Leave the interface as it is: only packets that the machine would receive anyway
    #[arg(long, display_order = 21, help_heading = LIVE)]
    pub no_promiscuous: bool,

    /// Let AF_XDP sockets ask the driver for packets, up to TIME at once, as in 50us
    #[arg(long, value_name = "TIME", display_order = 22, help_heading = LIVE)]
    pub busy_poll: Option<Span>,

    /// Do not bind worker N to the Nth CPU
    #[arg(long, display_order = 23, help_heading = LIVE)]
    pub no_pin: bool,

    /// How long packets of several interfaces wait for each other to be put in order of time [default: 10ms]
    #[arg(long, value_name = "TIME", display_order = 24, help_heading = LIVE)]
    pub merge_window: Option<Span>,

    /// Serve OpenMetrics at http://ADDR/metrics, as 127.0.0.1:9600: where packets are, and where they are lost
    #[arg(long, value_name = "ADDR", display_order = 26, help_heading = LIVE)]
    pub metrics: Option<String>,

    /// Keep privileges, files and system calls; by default they are given up once the capture is open
    #[arg(long, display_order = 27, help_heading = LIVE)]
    pub no_sandbox: bool,

    /// Directions of flows over IPv4 that programs in the kernel can know at once, and a quarter as many over IPv6; 0:
    /// cut nothing off in the kernel [default: 262144, in 48 MiB]
    #[arg(long, value_name = "N", display_order = 28, value_parser = whole::<u32>, help_heading = LIVE)]
    pub kernel_flows: Option<u32>,

    /// Do not say at the start how packets are got
    #[arg(short = 'q', long, display_order = 25, help_heading = LIVE)]
    pub quiet: bool,
}

impl Live {
    /// Whether packets come from interfaces.
    pub fn is_on(&self) -> bool {
        !self.interface.is_empty()
    }

    /// Of so many descriptors that the process may have, those below the capture's own: no file gets one of theirs.
    pub fn numbers_for_files(&self, allowed: u64) -> u64 {
        if self.is_on() { first_capturing_number(allowed) } else { allowed }
    }

    /// Refuses options of this group where no interface is named.
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
            Some((name, _)) => Err(CliError::Usage(format!("{name} is for interfaces: name one with -i"))),
            None => Ok(()),
        }
    }

    /// The capture that these options describe.
    pub fn capture<'a>(&self) -> Result<Capture<Interfaces<'a>>, CliError> {
        if self.packets == Some(0) {
            return Err(CliError::Usage("--packets: at least 1".into()));
        }
        let mut capture = Capture::live(self.settings()?);
        if let Some(Span(ns)) = self.duration {
            capture = capture.duration(Duration::from_nanos(ns));
        }
        if let Some(most) = self.packets {
            capture = capture.packets(most);
        }
        Ok(capture)
    }

    /// What the process keeps once packets can come: nothing but files below `writable`. `None`: everything.
    pub fn confinement(&self, writable: &[PathBuf]) -> Option<Confinement> {
        let confinement = writable.iter().fold(Confinement::new(), |all, path| all.writable(path));
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
            settings
                .set_ring_bytes(room.ok_or_else(|| CliError::Usage("--ring: a size of 1M or more, as in 64M".into()))?);
        }
        if let Some(Size(bytes)) = self.snaplen {
            if bytes == 0 {
                return Err(CliError::Usage("--snaplen: at least 1 byte; 64 keeps most headers".into()));
            }
            settings.set_snap_bytes(settings.snap_bytes().min(u32::try_from(bytes).unwrap_or(u32::MAX)));
        }
        if let Some(Span(ns)) = self.busy_poll {
            let microseconds = u32::try_from(ns.div_ceil(1000));
            settings.set_busy_poll_us(
                microseconds.map_err(|_| CliError::Usage("--busy-poll: microseconds are meant, as in 50us".into()))?,
            );
        }
        match self.kernel_flows {
            None => {}
            Some(0) => settings.kernel_mut().set_use_it(InKernel::Never),
            Some(count @ 1..=KERNEL_FLOWS_MAX) => {
                settings.kernel_mut().set_flows_v4(count);
                settings.kernel_mut().set_flows_v6(count.div_ceil(4));
            }
            Some(_) => return Err(CliError::Usage(format!("--kernel-flows: at most {KERNEL_FLOWS_MAX}"))),
        }
        if let Some(Span(ns)) = self.merge_window {
            settings.set_merge_window(Duration::from_nanos(ns));
        }
        Ok(settings)
    }

    /// The names, those that colons join taken apart.
    fn interfaces(&self) -> Result<Vec<String>, CliError> {
        let mut names = Vec::new();
        for given in &self.interface {
            // A name may hold a comma, and a colon, itself.
            if given.contains(',') && Interface::find(given).is_err() {
                let joined = given.replace(',', ":");
                return Err(CliError::Usage(format!("-i {given}: names are joined by colons: -i {joined}")));
            }
            let is_whole = !given.contains(':') || Interface::find(given).is_ok();
            let parts: Vec<&str> = if is_whole { vec![given] } else { given.split(':').collect() };
            if parts.iter().any(|part| part.is_empty()) {
                return Err(CliError::Usage(format!("'{given}' names no interface: as in eth0, or eth1:eth3")));
            }
            names.extend(parts.into_iter().map(str::to_owned));
        }
        Ok(names)
    }
}

/// A steering program, from the command line or the file that it names.
fn steering(argument: &str) -> Result<Compiled, CliError> {
    let wrong = |error: tidewire_steer::Error| CliError::Usage(format!("--steer: {error}"));
    let program = Program::parse(&crate::check_steering::program_text(argument)?).map_err(wrong)?;
    Compiled::new(&program, &Settings::default()).map_err(wrong)
}
