use std::{
    ffi::OsString,
    os::unix::process::ExitStatusExt as _,
    process::{Command, ExitStatus},
};

use clap::{Args, Subcommand};
use tidewire_gen::net::{Layout, Named, Network};

use crate::{
    error::{self, CliError},
    file_limit,
    generate::from_live,
    output::Out,
};

/// Cables (veth pairs) in private network namespaces
///
/// Cable 0 runs from tx0 to rx0, cable 1 from tx1 to rx1. Frames sent into tx0 arrive at rx0. Nothing leaves the namespaces,
/// and the kernel sends nothing by itself.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    #[command(subcommand)]
    action: Action,
}

const EXAMPLES: &str = "\
Examples:
  A shell with a cable in it; all is gone when it ends, however it ends:
    tidewire lab net up -- bash
  Real programs at both ends:
    tidewire lab net up --addresses --apart -- sh -c 'nsenter --net=$TIDEWIRE_LAB_RX iperf3 -s -1 & iperf3 -c 10.77.0.2'
  A network that stays:
    tidewire lab net up test; ip netns exec tidewire-lab-test-rx tcpdump -i rx0; tidewire lab net down test

Capabilities: cap_sys_admin and cap_net_admin.";

#[derive(Subcommand, Debug)]
enum Action {
    Up(Up),
    Down(Down),
    /// List the networks
    List,
}

/// Make a network, for a command or until it is removed
///
/// COMMAND runs in an unnamed namespace that is removed with it; its exit status is returned. With a NAME the network stays:
/// namespaces tidewire-lab-NAME with the sending ends and tidewire-lab-NAME-rx with the receiving ones.
#[derive(Args, Debug)]
struct Up {
    /// Name of the network: letters, digits and -
    #[arg(value_name = "NAME", required_unless_present = "command", conflicts_with = "command")]
    name: Option<String>,

    /// Number of cables
    #[arg(long, value_name = "N", default_value_t = 1)]
    cables: u32,

    /// Queues of each interface in each direction
    #[arg(long, value_name = "N", default_value_t = 1)]
    queues: u32,

    /// MTU: largest packet
    #[arg(long, value_name = "BYTES", default_value_t = 1500)]
    mtu: u32,

    /// Receivers do not merge segments; without an XDP program they then lose frames that the kernel sends
    #[arg(long)]
    no_gro: bool,

    /// Receive in kernel threads [default: on the sender's CPU]
    #[arg(long)]
    threaded: bool,

    /// Leave checksums and segmentation to the other end, the default of veths
    #[arg(long)]
    offload: bool,

    /// Set addresses: 10.77.0.1/24 and fd77::0:1/112 at tx0, .2 and :2 at rx0, 10.77.1.1 at tx1, and so on
    #[arg(long)]
    addresses: bool,

    /// Put receiving ends into a separate namespace; the command finds its file in TIDEWIRE_LAB_RX
    #[arg(long, conflicts_with = "name")]
    apart: bool,

    /// The command to run inside
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Remove networks, and remains of them
#[derive(Args, Debug)]
struct Down {
    /// Names of the networks
    #[arg(value_name = "NAME", required_unless_present = "all")]
    names: Vec<String>,

    /// Remove all networks
    #[arg(long, conflicts_with = "names")]
    all: bool,
}

pub fn run(options: &Options) -> Result<u8, CliError> {
    match &options.action {
        Action::Up(up) => up.run(),
        Action::Down(down) => down.run(),
        Action::List => list(),
    }
}

impl Up {
    fn layout(&self) -> Layout {
        Layout {
            cables: self.cables,
            queues: self.queues,
            mtu: self.mtu,
            gro: !self.no_gro,
            threaded: self.threaded,
            offload: self.offload,
            addresses: self.addresses,
        }
    }

    fn run(&self) -> Result<u8, CliError> {
        let layout = self.layout();
        if let Some(name) = &self.name {
            let named = Named::new(name).map_err(from_live)?;
            let cables = named.up(&layout).map_err(from_live)?;
            let [sender, receiver] = named.namespaces();
            let mut out = Out::stdout();
            for cable in cables {
                out.line(&format!("{} in {sender} to {} in {receiver}", cable.tx, cable.rx))?;
            }
            out.flush()?;
            return Ok(error::OK);
        }
        // Ctrl-C is for the command, which is waited for.
        let _ = ctrlc::set_handler(|| {});
        let inside = |network: &Network| self.command(network).map_err(LaunchError::CliError);
        let done = if self.apart { Network::apart(&layout, inside) } else { Network::inside(&layout, inside) };
        done.map(status).map_err(|ended| match ended {
            LaunchError::Network(error) => from_live(error),
            LaunchError::CliError(failure) => failure,
        })
    }

    fn command(&self, network: &Network) -> Result<ExitStatus, CliError> {
        let Some((program, arguments)) = self.command.split_first() else {
            return Err(CliError::Usage("no command".into()));
        };
        let mut command = Command::new(program);
        command.args(arguments);
        if let Some(receiver) = network.receiver() {
            command.env("TIDEWIRE_LAB_RX", receiver);
        }
        file_limit::without(|| command.status())
            .map_err(|error| CliError::Usage(format!("{}: {error}", program.to_string_lossy())))
    }
}

/// The reason for a missing status.
enum LaunchError {
    Network(tidewire_gen::Error),
    CliError(CliError),
}

impl From<tidewire_gen::Error> for LaunchError {
    fn from(error: tidewire_gen::Error) -> Self {
        Self::Network(error)
    }
}

/// A command's status as an exit code.
fn status(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(u8::MAX)
}

impl Down {
    fn run(&self) -> Result<u8, CliError> {
        let networks = if self.all { Named::all() } else { self.names.iter().map(|name| Named::new(name)).collect() };
        for network in networks.map_err(from_live)? {
            if !network.down().map_err(from_live)? {
                let name = network.name();
                return Err(CliError::Usage(format!("there is no network {name}; see 'tidewire lab net list'")));
            }
        }
        Ok(error::OK)
    }
}

fn list() -> Result<u8, CliError> {
    let mut out = Out::stdout();
    for network in Named::all().map_err(from_live)? {
        out.line(network.name())?;
    }
    out.flush()?;
    Ok(error::OK)
}
