//! Sending: out of the kernel, or through packet sockets; paced or flat out; with an account of what was sent.

mod account;
mod kernel;
mod layout;
mod socket;

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use tidewire_live::{Error, Interface, sys::wait::pin};

use crate::{Rate, net::is_ours, traffic::Traffic};
use account::Account;
pub use account::{Report, Sent};
pub use kernel::Sink;
use kernel::{Kernel, Refusal};

/// How frames get to an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sender {
    /// Out of the kernel where that works, else through a packet socket.
    #[default]
    Auto,
    /// Out of the kernel itself: XDP live frames, redirected to the interface. Frames of at most 3,328 bytes.
    Kernel,
    /// A packet socket, past the queueing discipline.
    Socket,
}

impl Sender {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Kernel => "kernel",
            Self::Socket => "socket",
        }
    }
}

/// Where, how fast and how long.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Interfaces: the clients' end, and the servers' where it is another; 1 or 2.
    pub interfaces: Vec<String>,
    /// See [`Sender`].
    pub sender: Sender,
    /// See [`Rate`].
    pub rate: Rate,
    /// Frames to send at most.
    pub packets: Option<u64>,
    /// How long to send at most.
    pub duration: Option<Duration>,
    /// Frames that a sender that was held up makes up for at once. Default 256: what a veth's ring holds.
    pub burst: u32,
    /// Frames between two hand-overs to the interface, 1 to 256. Default 64.
    pub batch: u32,
    /// The CPU to send from, counted among those that may be used.
    pub cpu: Option<usize>,
    /// Sends on interfaces that were not made for it.
    pub own_network: bool,
    /// Time between two reports of progress. Default one second.
    pub progress: Duration,
}

impl Plan {
    /// The defaults, for these interfaces: flat out, until the traffic ends.
    pub fn new<S: Into<String>>(interfaces: impl IntoIterator<Item = S>) -> Self {
        Self {
            interfaces: interfaces.into_iter().map(Into::into).collect(),
            sender: Sender::Auto,
            rate: Rate::Flat,
            packets: None,
            duration: None,
            burst: 256,
            batch: 64,
            cpu: None,
            own_network: false,
            progress: Duration::from_secs(1),
        }
    }
}

/// Why sending ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The traffic came to its end, or as many frames as asked were sent.
    Done,
    /// The time was over.
    Duration,
    /// Somebody asked.
    Stopped,
}

/// How far it is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Frames sent so far.
    pub packets: u64,
    /// Their bytes, with FCS.
    pub bytes: u64,
    /// Since the first.
    pub elapsed: Duration,
}

/// Sends traffic until it ends, the plan is fulfilled, or `stop` is set; says now and then how far it is.
///
/// # Errors
/// There is no such interface, it is down, not made for this or too narrow; privileges are missing; the kernel refuses.
/// What was sent before an error is lost to the account, not to the network.
pub fn run(
    traffic: &mut dyn Traffic,
    plan: &Plan,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Report, Error> {
    let links = checked(traffic, plan)?;
    if let Some(cpu) = plan.cpu {
        let refused = |source| Error::Kernel { what: format!("pinning to CPU {cpu}"), source, hint: String::new() };
        pin(cpu).map_err(refused)?;
    }
    let mut work = Work { plan, stop, progress, account: Account::new(&links)?, told: Instant::now() };
    if plan.sender != Sender::Socket {
        match Kernel::open(traffic, plan, &links).and_then(|mut kernel| kernel.send(traffic, &mut work)) {
            Ok(ended) => return work.account.finish(ended, Sender::Kernel, None, traffic),
            Err(Refusal::Fatal(error)) => return Err(error),
            Err(Refusal::Cannot(error)) if plan.sender == Sender::Kernel => return Err(error),
            Err(Refusal::Cannot(error)) => {
                traffic.rewind();
                work.account = Account::new(&links)?;
                let ended = socket::send(traffic, &links, &mut work)?;
                return work.account.finish(ended, Sender::Socket, Some(error.to_string()), traffic);
            }
        }
    }
    let ended = socket::send(traffic, &links, &mut work)?;
    work.account.finish(ended, Sender::Socket, None, traffic)
}

/// The plan's interfaces, if frames may be sent there.
fn checked(traffic: &dyn Traffic, plan: &Plan) -> Result<Vec<Interface>, Error> {
    if !(1..=2).contains(&plan.interfaces.len()) {
        return Err(Error::Setting(format!("{} interfaces: give one, or one for each end", plan.interfaces.len())));
    }
    if plan.interfaces.first() == plan.interfaces.get(1) {
        return Err(Error::Setting("the two ends' interfaces are the same: give it once".into()));
    }
    plan.interfaces.iter().map(|name| fit(Interface::find(name)?, traffic, plan)).collect()
}

fn fit(link: Interface, traffic: &dyn Traffic, plan: &Plan) -> Result<Interface, Error> {
    let name = &link.name;
    if !is_ours(&link) && !plan.own_network {
        return Err(Error::Setting(format!(
            "{name} was not made by 'tidewire lab net': frames sent there may reach others; if nobody is in the way, say \
             --i-own-this-network"
        )));
    }
    let failed = |what: String| Err(Error::Interface { interface: name.clone(), what });
    if !link.up {
        return failed(format!("is down; switch it on: ip link set {name} up"));
    }
    if !link.running {
        return failed("has no carrier; is the other end up?".into());
    }
    /// Ethernet's header, and a tag, which no MTU counts.
    const HEADERS: usize = 18;
    let longest = traffic.bytes_max();
    if longest > link.mtu as usize + HEADERS {
        let needed = longest - HEADERS;
        return Err(Error::Setting(format!(
            "frames of {longest} bytes do not fit {name}, whose MTU is {}; widen it at both ends: ip link set {name} mtu {needed}",
            link.mtu
        )));
    }
    Ok(link)
}

/// A run under way.
struct Work<'a> {
    plan: &'a Plan,
    stop: &'a AtomicBool,
    progress: &'a mut dyn FnMut(&Progress),
    account: Account,
    told: Instant,
}

impl Work<'_> {
    /// Whether to go on; says how far it is where it is time to.
    fn check(&mut self) -> Option<Ended> {
        if self.stop.load(Ordering::Relaxed) {
            return Some(Ended::Stopped);
        }
        if self.told.elapsed() >= self.plan.progress {
            self.told = Instant::now();
            (self.progress)(&self.account.progress());
        }
        let over = self.plan.duration.is_some_and(|most| self.account.elapsed() >= most);
        over.then_some(Ended::Duration)
    }

    /// How long may still be waited: until the end, or progress is due.
    fn patience(&self) -> Duration {
        /// So that a signal is heeded soon.
        const MOST: Duration = Duration::from_millis(50);
        self.plan.duration.map_or(MOST, |most| most.saturating_sub(self.account.elapsed()).min(MOST))
    }

    fn packets_max(&self) -> u64 {
        self.plan.packets.unwrap_or(u64::MAX)
    }
}
