use std::{
    ffi::OsString,
    os::unix::process::ExitStatusExt as _,
    process::{Command, ExitStatus},
};

use clap::{Args, Subcommand};
use tidewire_gen::net::{Layout, Named, Network};

use crate::{
    error::{self, CliError},
    generate::from_live,
    output::Out,
};

/// Cables (veth pairs) in network namespaces of their own
///
/// Cable 0 runs from tx0 to rx0, cable 1 from tx1 to rx1. What is sent into tx0 arrives at rx0. Nothing leaves the
/// namespaces, and nothing is sent unasked.
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
    /// Name the networks there are
    List,
}

/// Make a network, for a command or until it is taken down
///
/// With a COMMAND it runs inside, in a namespace without a name that ends with it, whatever happens; its exit status is
/// ours. With a NAME the network stays: namespaces tidewire-lab-NAME with the sending ends and tidewire-lab-NAME-rx with
/// the receiving ones.
#[derive(Args, Debug)]
struct Up {
    /// The network's name: letters, digits and -
    #[arg(value_name = "NAME", required_unless_present = "command", conflicts_with = "command")]
    name: Option<String>,

    /// How many cables
    #[arg(long, value_name = "N", default_value_t = 1)]
    cables: u32,

    /// Queues of each interface, each way
    #[arg(long, value_name = "N", default_value_t = 1)]
    queues: u32,

    /// Largest packet
    #[arg(long, value_name = "BYTES", default_value_t = 1500)]
    mtu: u32,

    /// Receivers do not merge segments. Without an XDP program they then lose frames that come out of the kernel
    #[arg(long)]
    no_gro: bool,

    /// Receivers work in threads of the kernel, else on the sender's CPU
    #[arg(long)]
    threaded: bool,

    /// Leave checksums and segmentation to the other end, as veths do by themselves
    #[arg(long)]
    offload: bool,

    /// Addresses: 10.77.0.1/24 and fd77::0:1/112 at tx0, .2 and :2 at rx0, 10.77.1.1 at tx1, and so on
    #[arg(long)]
    addresses: bool,

    /// Receiving ends in a namespace apart, whose file TIDEWIRE_LAB_RX names to the command
    #[arg(long, conflicts_with = "name")]
    apart: bool,

    /// What to run inside
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Take networks down, and what was left of them
#[derive(Args, Debug)]
struct Down {
    /// Networks' names
    #[arg(value_name = "NAME", required_unless_present = "all")]
    names: Vec<String>,

    /// All of them
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
        // Ctrl-C is the command's; we wait for it.
        let _ = ctrlc::set_handler(|| {});
        let inside = |network: &Network| self.command(network).map_err(Ended::CliError);
        let done = if self.apart { Network::apart(&layout, inside) } else { Network::inside(&layout, inside) };
        done.map(status).map_err(|ended| match ended {
            Ended::Network(error) => from_live(error),
            Ended::CliError(failure) => failure,
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
        command.status().map_err(|error| CliError::Usage(format!("{}: {error}", program.to_string_lossy())))
    }
}

/// Why there is no status.
enum Ended {
    Network(tidewire_gen::Error),
    CliError(CliError),
}

impl From<tidewire_gen::Error> for Ended {
    fn from(error: tidewire_gen::Error) -> Self {
        Self::Network(error)
    }
}

/// A command's status as a shell shows it.
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
