//! Helpers that the tests of the drop-in library share: the library itself, ways to put it under a program, a link in a
//! namespace of the test's own, and programs that end in time.
#![allow(dead_code)]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use tidewire_live::{Interface, sys::net::own_namespace};
use tidewire_testing::InTime as _;

/// The link's ends: what is sent at the far end arrives at the near one.
pub const NEAR: &str = "tw0";
pub const FAR: &str = "tw1";

/// How a program gets its libpcap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The system's.
    System,
    /// Ours, by LD_PRELOAD.
    Preloaded,
    /// Ours, under the system library's names in a directory of its own.
    InItsPlace,
}

/// The library as this build makes it: no test links it, so that cargo does not build it for them.
pub fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        if let Some(path) = env::var_os("TIDEWIRE_PCAP_LIBRARY") {
            return path.into();
        }
        let own = env::current_exe().expect("a path");
        // target/PROFILE/deps/NAME
        let profile_folder = own.parent().and_then(Path::parent).expect("a folder");
        let profile = profile_folder.file_name().and_then(|name| name.to_str()).expect("a name");
        let profile = if profile == "debug" { "dev" } else { profile };
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--locked", "--offline", "-p", "tidewire-pcap", "--lib", "--profile", profile]);
        cargo.arg("--target-dir").arg(profile_folder.parent().expect("a folder"));
        let built = cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
        let built = built.run_within(Duration::from_secs(1200)).expect("cargo runs");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let path = profile_folder.join("libtidewire_pcap.so");
        assert!(path.exists(), "{}: it was built, but is not there", path.display());
        path
    })
}

/// A directory that holds the library under the system library's names.
fn place() -> &'static Path {
    static MADE: OnceLock<tempfile::TempDir> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a directory");
        for name in ["libpcap.so.0.8", "libpcap.so.1"] {
            std::os::unix::fs::symlink(library(), folder.path().join(name)).expect("a link");
        }
        folder
    });
    made.path()
}

impl Over {
    /// Puts it under a command.
    pub fn put_under(self, command: &mut Command) {
        for (name, _) in env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if ["TIDEWIRE_", "PCAP_", "PFQ_"].iter().any(|prefix| name.starts_with(prefix)) {
                command.env_remove(name);
            }
        }
        match self {
            Self::System => {}
            Self::Preloaded => drop(command.env("LD_PRELOAD", library())),
            Self::InItsPlace => drop(command.env("LD_LIBRARY_PATH", place())),
        }
    }
}

/// Why there can be no link, or one of `programs` is not there.
pub fn missing(programs: &[&str]) -> Option<String> {
    static NAMESPACE: OnceLock<Option<String>> = OnceLock::new();
    if let Some(reason) = tidewire_testing::missing(&[&["ip"], programs].concat()) {
        return Some(reason);
    }
    let tried = NAMESPACE.get_or_init(|| match thread::spawn(|| tidewire_testing::privileged(own_namespace)).join() {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(format!("no network namespace of our own: {error}")),
        Err(_) => Some("no thread".into()),
    });
    tried.clone()
}

pub use tidewire_testing::Signal;

/// Runs `work` in a namespace of its own with a link that is up, where nothing is sent unasked.
pub fn on_a_link<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let inside = scope.spawn(|| {
            own_namespace().expect("a namespace");
            for what in ["default", "all"] {
                let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{what}/disable_ipv6"), "1");
            }
            ip("link set lo up");
            ip(&format!("link add {NEAR} type veth peer name {FAR}"));
            ip(&format!("link set {NEAR} up"));
            ip(&format!("link set {FAR} up"));
            // Frames sent before the carrier is there are lost without an error.
            let carries = |name: &str| Interface::find(name).is_ok_and(|link| link.running);
            assert!(wait_until(Duration::from_secs(10), || carries(NEAR) && carries(FAR)), "the link has no carrier");
            work()
        });
        inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Runs `ip` in the calling thread's namespace.
pub fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).run_in_time().expect("ip");
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A program that ended, and its output.
#[derive(Debug)]
pub struct FinishedProgram {
    /// `None`: it took too long and was killed.
    pub status: Option<ExitStatus>,
    pub out: String,
    pub said: String,
}

impl FinishedProgram {
    pub fn is_success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

/// A program that runs. It is killed when this is dropped.
pub struct Running {
    child: Child,
    files: [fs::File; 2],
    ended: Option<ExitStatus>,
}

impl Running {
    /// Starts a command in the calling thread's namespace; what it prints goes to files, so that it never waits for us.
    pub fn start(mut command: Command) -> Self {
        let files = [tempfile::tempfile().expect("a file"), tempfile::tempfile().expect("a file")];
        let copy = |file: &fs::File| file.try_clone().expect("a descriptor");
        command.stdin(Stdio::null()).stdout(copy(&files[0])).stderr(copy(&files[1]));
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Self { child, files, ended: None }
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its output so far, and that on standard error.
    pub fn printed(&self) -> [String; 2] {
        self.files.each_ref().map(|file| {
            let bytes = std::os::unix::fs::FileExt::read_at;
            let mut text = vec![0; file.metadata().map_or(0, |data| data.len() as usize)];
            let read = bytes(file, &mut text, 0).unwrap_or(0);
            text.truncate(read);
            String::from_utf8_lossy(&text).into_owned()
        })
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        if self.ended.is_none() {
            tidewire_testing::signal(&self.child, signal);
        }
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().expect("a status");
        }
        self.ended.is_some()
    }

    /// Waits for its end, so long at most.
    pub fn wait(mut self, most: Duration) -> FinishedProgram {
        let begun = Instant::now();
        while !self.has_ended() && begun.elapsed() < most {
            thread::sleep(Duration::from_millis(3));
        }
        let status = self.ended;
        if status.is_none() {
            self.kill();
        }
        let [out, said] = self.printed();
        FinishedProgram { status, out, said }
    }

    fn kill(&mut self) {
        if self.ended.is_none() {
            let _ = self.child.kill();
            self.ended = self.child.wait().ok();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits until something holds; whether it did in time.
pub fn wait_until(most: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while !holds() {
        if begun.elapsed() > most {
            return false;
        }
        thread::sleep(Duration::from_millis(5));
    }
    true
}
