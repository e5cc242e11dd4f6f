//! Sending: from the kernel or through packet sockets, paced or as fast as possible, with an account of sent frames.

mod account;
mod kernel;
mod layout;
mod plan;
mod socket;
mod work;

use std::{sync::atomic::AtomicBool, time::Instant};

use crate::Error;
use tidewire_live::{Interface, sys::wait::pin};

use crate::{net::is_ours, traffic::Traffic};
use account::Account;
pub use account::{Report, Sent};
pub use kernel::Sink;
use kernel::{Kernel, Refusal};
pub use plan::{Plan, Progress, RunEnd, Sender};
use work::Work;

/// Sends traffic until it ends, the plan is fulfilled, or `stop` is set; reports progress.
///
/// # Errors
/// The interface does not exist, is down, was not made for this, or its MTU is too small; privileges are missing; the kernel
/// refuses. Frames sent before an error are not reported.
pub fn run(
    traffic: &mut dyn Traffic,
    plan: &Plan,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Report, Error> {
    let links = checked(traffic, plan)?;
    if let Some(cpu) = plan.cpu {
        let refused = |source| Error::System { what: format!("pinning to CPU {cpu}"), source, hint: String::new() };
        pin(cpu).map_err(refused)?;
    }
    let mut work = Work { plan, stop, progress, account: Account::new(&links)?, reported: Instant::now() };
    if plan.sender != Sender::Socket {
        match Kernel::open(traffic, plan, &links).and_then(|mut kernel| kernel.send(traffic, &mut work)) {
            Ok(ended) => return work.account.finish(ended, Sender::Kernel, None, traffic),
            Err(Refusal::Fatal(error)) => return Err(error),
            Err(Refusal::Cannot(error)) if plan.sender == Sender::Kernel => return Err(error),
            Err(Refusal::Cannot(error)) => {
                traffic.rewind();
                work.account = Account::new(&links)?;
                let ended = socket::send(traffic, &links, &mut work)?;
                return work.account.finish(ended, Sender::Socket, Some(error.text()), traffic);
            }
        }
    }
    let ended = socket::send(traffic, &links, &mut work)?;
    work.account.finish(ended, Sender::Socket, None, traffic)
}

/// The plan's interfaces, if sending is allowed there.
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
            "{name} was not made by 'tidewire lab net': frames sent there may reach other hosts; if the network is \
             yours alone, give --i-own-this-network"
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
