//! Two network namespaces joined by a veth pair: a sender of crafted frames, and a host that receives them.
//!
//! Both namespaces belong to threads and end with them.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    process::Command,
    sync::mpsc,
    thread,
};

pub use tidewire_gen::net::missing;
use tidewire_live::sys::net::{PacketSocket, own_namespace, thread_number};

/// The host's interface.
const HOST_INTERFACE: &str = "tw1";
/// The sender's interface.
const SENDER_INTERFACE: &str = "tw0";

/// The host's address.
#[must_use]
pub fn host(is_ipv6: bool) -> IpAddr {
    if is_ipv6 { Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 2).into() } else { Ipv4Addr::new(10, 77, 0, 2).into() }
}

/// A sender that the host can answer. No interface in the sender's namespace has this address, so the kernel there does not
/// answer for it.
#[must_use]
pub fn sender(is_ipv6: bool) -> IpAddr {
    if is_ipv6 { Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 0x66).into() } else { Ipv4Addr::new(10, 77, 0, 66).into() }
}

type Job = Box<dyn FnOnce() + Send>;

/// The sending end of the veth pair, and the host at its other end.
pub struct Network {
    /// Frames sent here arrive at the host.
    pub wire: PacketSocket,
    jobs: mpsc::Sender<Job>,
}

impl Network {
    /// Runs `work` with a network, on a new thread.
    ///
    /// # Errors
    /// The network cannot be built; the error of `work`.
    pub fn inside<T: Send>(work: impl FnOnce(&Self) -> io::Result<T> + Send) -> io::Result<T> {
        thread::scope(|scope| {
            let sender = scope.spawn(move || {
                own_namespace()?;
                thread::scope(|scope| {
                    let (jobs, queue) = mpsc::channel::<Job>();
                    let (number, numbered) = mpsc::channel();
                    scope.spawn(move || {
                        let _ = number.send(own_namespace().map(|()| thread_number()));
                        queue.into_iter().for_each(|job| job());
                    });
                    let host = numbered.recv().map_err(io::Error::other)??;
                    let network = Self::up(host, jobs)?;
                    work(&network)
                })
            });
            sender.join().map_err(|_| io::Error::other("the sender's thread panicked"))?
        })
    }

    fn up(host_thread: i32, jobs: mpsc::Sender<Job>) -> io::Result<Self> {
        ip(&format!("link add {SENDER_INTERFACE} type veth peer name {HOST_INTERFACE} netns {host_thread}"))?;
        ip(&format!("link set {SENDER_INTERFACE} address 02:00:00:00:00:01 mtu 65535 up"))?;
        let network = Self { wire: PacketSocket::open(SENDER_INTERFACE)?, jobs };
        network.on_host(|| {
            // No automatic addresses and no duplicate address detection: the host must send nothing unsolicited.
            setting("net/ipv6/conf/default/accept_dad", "0")?;
            setting(&format!("net/ipv6/conf/{HOST_INTERFACE}/accept_dad"), "0")?;
            setting("net/ipv4/conf/all/rp_filter", "0")?;
            setting(&format!("net/ipv4/conf/{HOST_INTERFACE}/rp_filter"), "0")?;
            // Room for all fragments that never complete a datagram.
            setting("net/ipv4/ipfrag_high_thresh", "1000000000")?;
            setting("net/ipv6/ip6frag_high_thresh", "1000000000")?;
            ip("link set lo up")?;
            ip(&format!("link set {HOST_INTERFACE} address 02:00:00:00:00:02 mtu 65535 up"))?;
            for is_ipv6 in [false, true] {
                // Without `nodad` an address is tentative, and no connection can begin from it, until the carrier is up.
                let ends = if is_ipv6 { "64 nodad" } else { "24" };
                ip(&format!("addr add {}/{ends} dev {HOST_INTERFACE}", host(is_ipv6)))?;
                let peer = sender(is_ipv6);
                ip(&format!("neigh add {peer} lladdr 02:00:00:00:00:01 dev {HOST_INTERFACE} nud permanent"))?;
            }
            Ok(())
        })?;
        // On slow machines the carrier comes up with a delay.
        thread::sleep(std::time::Duration::from_millis(50));
        while network.wire.receive(0)?.is_some() {}
        Ok(network)
    }

    /// Runs a function in the host's namespace, for example to open sockets.
    ///
    /// # Errors
    /// The error of `job`.
    pub fn on_host<T: Send + 'static>(&self, job: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
        let (done, result) = mpsc::channel();
        let job = Box::new(move || drop(done.send(job())));
        self.jobs.send(job).map_err(|_| io::ErrorKind::BrokenPipe)?;
        result.recv().map_err(io::Error::other)?
    }
}

/// Changes settings (below `/proc/sys`) of the calling thread's namespace, and runs `ip` with each line of arguments.
///
/// # Errors
/// The error of the kernel or of `ip`.
pub fn configure(settings: &[(&str, &str)], commands: &[&str]) -> io::Result<()> {
    settings.iter().try_for_each(|(name, value)| setting(name, value))?;
    commands.iter().try_for_each(|arguments| ip(arguments))
}

/// Runs `ip` in the calling thread's namespace.
fn ip(arguments: &str) -> io::Result<()> {
    let output = Command::new("ip").args(arguments.split(' ')).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("ip {arguments}: {}", String::from_utf8_lossy(&output.stderr).trim())))
}

/// Changes a setting of the calling thread's namespace.
fn setting(name: &str, value: &str) -> io::Result<()> {
    std::fs::write(format!("/proc/sys/{name}"), value).map_err(|error| io::Error::other(format!("{name}: {error}")))
}
