//! The testbed: a veth pair between two network namespaces, the generator on one core, programs on another.

use std::{
    process::{Child, Command},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use tidewire_gen::net::{Layout, Network};
use tidewire_live::{Interface, InterfaceCounts, sys::namespace::Sysfs};

use super::cpu::kernel_threads;
use crate::program::CORE;

/// The generator's core. The program under test has [`CORE`].
pub const SENDING_CORE: usize = 0;

/// The NAPI thread's real-time priority: it preempts programs, as a soft interrupt would.
const NAPI_PRIORITY: &str = "50";

/// A veth pair, seen from the sending end. Its namespaces belong to threads and end with them, together with the processes
/// inside: nothing is left behind.
pub struct Testbed<'n> {
    network: &'n Network,
    /// The sending end.
    pub sender: String,
    /// The receiving end.
    pub receiver: String,
    /// NAPI threads of the receiving end, if it has any.
    pub napi: Vec<u32>,
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Runs a command; its standard error is the error.
fn command(line: &str) -> Result<(), String> {
    let mut parts = line.split(' ');
    let mut command = Command::new(parts.next().unwrap_or_default());
    let output = command.args(parts).output().map_err(|error| format!("{line}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{line}: {}", said.trim())) }
}

/// An interface name that no other testbed has: kernel threads are found by it, and those of the previous testbed may still
/// run.
fn unique_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("tb{}x{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Where the kernel receives frames, before it hands them to programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiving {
    /// In soft interrupts on the generator's core, while the generator waits: only the program loses frames.
    Sender,
    /// In a kernel thread on the program's core, with higher priority: the interface's ring (256 frames) can overflow.
    Thread,
}

/// Prepares the receiving end.
fn prepare(name: &str, receiving: Receiving) -> Result<(), String> {
    for step in
        ["link set rx0 down", &format!("link set rx0 name {name}"), &format!("link set {name} up"), "link set lo up"]
    {
        command(&format!("ip {step}"))?;
    }
    if receiving == Receiving::Thread {
        let sysfs = Sysfs::mount().map_err(words)?;
        std::fs::write(sysfs.path(&format!("class/net/{name}/threaded")), "1").map_err(words)?;
    }
    Ok(())
}

impl Testbed<'_> {
    /// Builds a testbed and runs `work` in its sending namespace.
    ///
    /// # Errors
    /// The testbed cannot be built; the error of `work`.
    pub fn inside<T: Send>(
        receiving: Receiving,
        work: impl FnOnce(&Testbed<'_>) -> Result<T, String> + Send,
    ) -> Result<T, String> {
        let layout = Layout::default();
        let inside = |network: &Network| {
            let name = unique_name();
            let given = name.clone();
            network.on_receiver(move || prepare(&given, receiving)).map_err(words)?.map_err(Failed)?;
            let napi = if receiving == Receiving::Thread { napi_threads(&name)? } else { Vec::new() };
            for thread in &napi {
                command(&format!("taskset -pc {CORE} {thread}"))?;
                command(&format!("chrt -f -p {NAPI_PRIORITY} {thread}"))?;
            }
            let sender = network.cables.first().map(|cable| cable.tx.clone()).unwrap_or_default();
            let _priority = HighPriority::raise();
            work(&Testbed { network, sender, receiver: name, napi }).map_err(Failed)
        };
        Network::apart(&layout, inside).map_err(|Failed(text)| text)
    }

    /// Runs a function in the receiving namespace.
    ///
    /// # Errors
    /// The error of `job`.
    pub fn on_receiver<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        self.network.on_receiver(job).map_err(words)?
    }

    /// Starts a program in the receiving namespace. It is killed when the testbed ends.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn spawn(&self, mut command: Command) -> Result<Child, String> {
        self.on_receiver(move || command.spawn().map_err(|error| format!("{command:?}: {error}")))
    }

    /// The counters of the receiving interface.
    ///
    /// # Errors
    /// The interface is gone.
    pub fn received(&self) -> Result<InterfaceCounts, String> {
        let name = self.receiver.clone();
        self.on_receiver(move || Interface::find(&name).map(|interface| interface.counts).map_err(words))
    }

    /// Whether a packet socket is open in the receiving namespace, or an XDP program attached.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn is_listened_to(&self) -> Result<bool, String> {
        let name = self.receiver.clone();
        self.on_receiver(move || {
            let sockets = std::fs::read_to_string("/proc/thread-self/net/packet").map_err(words)?;
            let link = Command::new("ip").args(["-o", "link", "show", "dev", &name]).output().map_err(words)?;
            let link = String::from_utf8_lossy(&link.stdout).into_owned();
            Ok(sockets.lines().count() > 1 || link.split(' ').any(|word| word.starts_with("xdp") || word == "prog/xdp"))
        })
    }

    /// Waits until a program listens, for `most` at most; whether one does.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn wait_for_listener(&self, most: Duration) -> Result<bool, String> {
        let begun = Instant::now();
        while begun.elapsed() < most {
            if self.is_listened_to()? {
                return Ok(true);
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(false)
    }
}

/// High scheduling priority for this thread, and for its session among all (sched(7), autogroup), as long as it lives.
struct HighPriority;

impl HighPriority {
    const SESSION: &str = "/proc/self/autogroup";

    fn raise() -> Self {
        // Errors are ignored: without it figures are noisier, not wrong.
        let _ = rustix::process::nice(-20);
        let _ = std::fs::write(Self::SESSION, "-20");
        Self
    }
}

impl Drop for HighPriority {
    fn drop(&mut self) {
        let _ = std::fs::write(Self::SESSION, "0");
    }
}

/// An error inside the network.
struct Failed(String);

impl From<tidewire_gen::Error> for Failed {
    fn from(error: tidewire_gen::Error) -> Self {
        Self(error.text())
    }
}

impl From<String> for Failed {
    fn from(text: String) -> Self {
        Self(text)
    }
}

fn napi_threads(name: &str) -> Result<Vec<u32>, String> {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(1) {
        let found = kernel_threads(&format!("napi/{name}-"));
        if !found.is_empty() {
            return Ok(found);
        }
        thread::sleep(Duration::from_millis(10));
    }
    Err(format!("{name}: no NAPI thread appeared"))
}
