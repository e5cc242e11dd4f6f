//! Where it is measured: a cable between two namespaces, the generator on one core, programs on another.

use std::{
    process::{Child, Command},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use tidewire_gen::net::{Layout, Network};
use tidewire_live::{Error, Interface, InterfaceCounts, sys::namespace::Sysfs};

use super::cpu::kernel_threads;

/// The generator's core.
pub const SENDING_CORE: usize = 0;
/// The core of the program under test.
pub const RECEIVING_CORE: usize = 1;

/// The NAPI thread's priority: it interrupts programs, as a soft interrupt would.
const NAPI_PRIORITY: &str = "50";

/// The cable, as the generator's end sees it. Namespaces belong to threads, and what runs in them dies with those: nothing
/// stays, whatever happens.
pub struct Stage<'n> {
    network: &'n Network,
    /// The sending end.
    pub sender: String,
    /// The receiving end.
    pub receiver: String,
    /// Threads of the receiving end's NAPI, where it has some.
    pub napi: Vec<u32>,
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Runs a command; what it says is the error.
fn command(line: &str) -> Result<(), String> {
    let mut parts = line.split(' ');
    let mut command = Command::new(parts.next().unwrap_or_default());
    let output = command.args(parts).output().map_err(|error| format!("{line}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{line}: {}", said.trim())) }
}

/// An interface's name that is used once: its kernel threads are found by it, and those of the last stage need not have
/// ended yet.
fn own_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("tb{}x{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Where frames are received, before programs get them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiving {
    /// In soft interrupts on the generator's core, which then waits: frames are only lost by the program.
    Sender,
    /// In a thread of the kernel on the program's core, ahead of the program: the interface's ring (256 frames) can overflow.
    Thread,
}

/// What is done at the receiving end before measuring.
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

impl Stage<'_> {
    /// Builds one and runs `work` on it, in the sending namespace.
    ///
    /// # Errors
    /// What keeps it from coming up, and what `work` returns.
    pub fn inside<T: Send>(
        receiving: Receiving,
        work: impl FnOnce(&Stage<'_>) -> Result<T, String> + Send,
    ) -> Result<T, String> {
        let layout = Layout::default();
        let inside = |network: &Network| {
            let name = own_name();
            let given = name.clone();
            network.on_receiver(move || prepare(&given, receiving)).map_err(words)?.map_err(Failed)?;
            let napi = if receiving == Receiving::Thread { napi_threads(&name)? } else { Vec::new() };
            for thread in &napi {
                command(&format!("taskset -pc {RECEIVING_CORE} {thread}"))?;
                command(&format!("chrt -f -p {NAPI_PRIORITY} {thread}"))?;
            }
            let sender = network.cables.first().map(|cable| cable.tx.clone()).unwrap_or_default();
            let _ahead = Ahead::of_others();
            work(&Stage { network, sender, receiver: name, napi }).map_err(Failed)
        };
        Network::apart(&layout, inside).map_err(|Failed(text)| text)
    }

    /// Runs something in the receiving namespace.
    ///
    /// # Errors
    /// What `job` returns.
    pub fn on_receiver<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        self.network.on_receiver(job).map_err(words)?
    }

    /// Starts a program in the receiving namespace. It dies with the stage.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn spawn(&self, mut command: Command) -> Result<Child, String> {
        self.on_receiver(move || command.spawn().map_err(|error| format!("{command:?}: {error}")))
    }

    /// What the receiving end counted so far.
    ///
    /// # Errors
    /// It is gone.
    pub fn received(&self) -> Result<InterfaceCounts, String> {
        let name = self.receiver.clone();
        self.on_receiver(move || Interface::find(&name).map(|interface| interface.counts).map_err(words))
    }

    /// Whether a packet socket is open in the receiving namespace, or an XDP program attached.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn is_listened_to(&self) -> Result<bool, String> {
        let name = self.receiver.clone();
        self.on_receiver(move || {
            let sockets = std::fs::read_to_string("/proc/thread-self/net/packet").map_err(words)?;
            let link = Command::new("ip").args(["-o", "link", "show", "dev", &name]).output().map_err(words)?;
            let link = String::from_utf8_lossy(&link.stdout).into_owned();
            Ok(sockets.lines().count() > 1 || link.split(' ').any(|word| word.starts_with("xdp") || word == "prog/xdp"))
        })
    }

    /// Waits until somebody listens, or the time is over.
    ///
    /// # Errors
    /// The kernel does not tell.
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

/// Where others work on this machine, they wait: this thread, and its session among all (see sched(7), autogroup).
struct Ahead;

impl Ahead {
    const SESSION: &str = "/proc/self/autogroup";

    fn of_others() -> Self {
        // Neither is needed for anything else than undisturbed figures.
        let _ = rustix::process::nice(-20);
        let _ = std::fs::write(Self::SESSION, "-20");
        Self
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        let _ = std::fs::write(Self::SESSION, "0");
    }
}

/// An error inside of a network.
struct Failed(String);

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self(error.to_string())
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
    Err(format!("{name}: no thread of its NAPI appeared"))
}
