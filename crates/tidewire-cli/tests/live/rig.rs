//! Two network namespaces with a cable between them, programs in both, and the command in one.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read},
    os::unix::process::ExitStatusExt as _,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, mpsc},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;
use tidewire_live::sys::net::{own_namespace, thread_number};
use tidewire_testing::{Ends as _, InTime as _, PATIENCE, Signal, signal};

/// The capturing side's end of the cable, and its address.
pub const HERE: &str = "tw0";
pub const HERE_ADDRESS: &str = "10.9.0.1";
/// The other side's.
pub const THERE_ADDRESS: &str = "10.9.0.2";

type Job = Box<dyn FnOnce() + Send>;

/// The near end of the cable, in the calling thread's namespace, and what runs at the far end.
pub struct Rig {
    jobs: mpsc::Sender<Job>,
    pub directory: TempDir,
    children: Mutex<Vec<Child>>,
}

/// Runs `work` in private namespaces, or reports why not: a missing privilege, or one of `programs` that is missing.
/// there.
pub fn run(programs: &[&str], work: impl FnOnce(&Rig) + Send) {
    if let Some(reason) = missing(programs) {
        println!("skipped: {reason}");
        return;
    }
    thread::scope(|scope| {
        let near = scope.spawn(|| {
            own_namespace().expect("a namespace");
            thread::scope(|scope| {
                let (jobs, queue) = mpsc::channel::<Job>();
                let (sender, number) = mpsc::channel();
                scope.spawn(move || {
                    own_namespace().expect("a namespace");
                    sender.send(thread_number()).expect("a receiver");
                    queue.into_iter().for_each(|job| job());
                });
                let rig =
                    Rig { jobs, directory: tempfile::tempdir().expect("a directory"), children: Mutex::default() };
                rig.up(number.recv().expect("a number"));
                work(&rig);
            });
        });
        near.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

/// The reason.
fn missing(programs: &[&str]) -> Option<String> {
    if let Some(reason) = tidewire_testing::missing(&[&["ip"], programs].concat()) {
        return Some(reason);
    }
    match thread::spawn(|| tidewire_testing::privileged(own_namespace)).join() {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(format!("no network namespace of our own: {error}")),
        Err(_) => Some("no thread".into()),
    }
}

impl Rig {
    fn up(&self, far: i32) {
        let quiet = || {
            // Only tests send packets on the cable.
            let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
            ip("link set lo up");
        };
        quiet();
        self.there(quiet);
        ip(&format!("link add {HERE} type veth peer name tw1 netns {far}"));
        ip(&format!("addr add {HERE_ADDRESS}/24 dev {HERE}"));
        ip(&format!("link set {HERE} up"));
        self.there(|| {
            ip(&format!("addr add {THERE_ADDRESS}/24 dev tw1"));
            ip("link set tw1 up");
        });
    }

    /// Runs a command at the far end.
    pub fn there<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, result) = mpsc::channel();
        self.jobs.send(Box::new(move || drop(done.send(job())))).expect("the far end");
        result.recv().expect("a result")
    }

    /// Starts a program at the far end, which ends with the test.
    pub fn serve(&self, words: &[&str]) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let child = self.there(move || {
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().unwrap_or_else(|error| panic!("{words:?}: {error}"))
        });
        self.children.lock().expect("children").push(child);
    }

    /// nginx at the far end, port 80: `/` is a short text, `/big` a megabyte.
    pub fn nginx(&self) {
        let folder = self.directory.path();
        let root = folder.join("www");
        fs::create_dir_all(&root).expect("a folder");
        fs::write(root.join("index.html"), "the tide is high\n").expect("a page");
        fs::write(root.join("big"), vec![b'x'; 1 << 20]).expect("a page");
        // Its workers are another user.
        for path in [folder, &root] {
            let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(path, open).expect("permissions");
        }
        let configuration = format!(
            "daemon off; worker_processes 1; pid {0}/pid; error_log {0}/errors;\nevents {{}}\nhttp {{ access_log off; \
             client_body_temp_path {0}/a; proxy_temp_path {0}/b; fastcgi_temp_path {0}/c; uwsgi_temp_path {0}/d; \
             scgi_temp_path {0}/e; server {{ listen {THERE_ADDRESS}:80; root {1}; }} }}\n",
            folder.display(),
            root.display()
        );
        let path = folder.join("nginx.conf");
        fs::write(&path, configuration).expect("a configuration");
        // Before it has read that, it would write to the machine's log.
        let errors = folder.join("errors");
        self.serve(&["nginx", "-e", errors.to_str().expect("a path"), "-c", path.to_str().expect("a path")]);
        wait_for("nginx", || std::net::TcpStream::connect((THERE_ADDRESS, 80)).is_ok());
    }

    /// Waits until no TCP connection is open at either end: on a busy machine a server closes its side late, and its last packet would
    /// belong to the next capture.
    pub fn wait_for_closed(&self) {
        wait_for("closed connections", || !has_connections() && !self.there(has_connections));
    }

    /// Runs a program at this end, which must succeed.
    pub fn here(&self, words: &[&str]) -> String {
        let output = Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).run_in_time();
        let output = output.unwrap_or_else(|error| panic!("{words:?}: {error}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Starts the command; returns when its rings are open.
    pub fn tidewire(&self, words: &[&str]) -> Running {
        let running = Running::start(crate::common::command(words));
        running.wait_for_said("packet socket");
        running
    }

    /// tcpdump on the near end, begun; it writes `name` until it is interrupted.
    pub fn tcpdump(&self, name: &str, filter: &str) -> (Running, String) {
        let path = self.directory.path().join(name).to_str().expect("a path").to_owned();
        let mut command = Command::new("tcpdump");
        // Names of users are looked up when it gives up privileges; it may as well keep them here.
        command.args([
            "-i",
            HERE,
            "-U",
            "-Z",
            "root",
            "--time-stamp-precision=nano",
            "-s",
            "0",
            "-B",
            "16384",
            "-w",
            &path,
        ]);
        command.arg(filter).stdin(Stdio::null());
        let running = Running::start(command);
        running.wait_for_said("listening on");
        (running, path)
    }
}

/// A test that fails leaves no server behind.
impl Drop for Rig {
    fn drop(&mut self) {
        let children = self.children.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        for mut child in children.drain(..) {
            signal(&child, Signal::TERM);
            child.wait_in_time("a program at the far end");
        }
    }
}

/// A finished program with its output.
pub struct FinishedProgram {
    pub status: ExitStatus,
    pub out: String,
    pub said: String,
}

impl FinishedProgram {
    /// The exit code; a signal has none, and panics.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("ended by signal {:?}: {}", self.status.signal(), self.said))
    }

    /// The last line of standard output: the ledger.
    pub fn ledger(&self) -> serde_json::Value {
        let last = self.out.lines().last().unwrap_or_else(|| panic!("no ledger: {}", self.said));
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {last}"))
    }

    /// All lines but the ledger.
    pub fn records(&self) -> Vec<serde_json::Value> {
        let mut lines = crate::common::lines(self.out.as_bytes());
        lines.pop();
        lines
    }
}

/// A running program with its output so far.
pub struct Running {
    child: Option<Child>,
    out: Arc<Mutex<String>>,
    said: Arc<Mutex<String>>,
    readers: Vec<thread::JoinHandle<()>>,
    feeder: Option<Child>,
}

impl Running {
    pub fn start(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (out, said) = (Arc::default(), Arc::default());
        let readers = vec![
            gather(child.stdout.take().expect("a pipe"), Arc::clone(&out)),
            gather(child.stderr.take().expect("a pipe"), Arc::clone(&said)),
        ];
        Self { child: Some(child), out, said, readers, feeder: None }
    }

    /// Starts a program that reads what another one prints, which ends with it.
    pub fn fed_by(mut feeder: Command, mut command: Command) -> Self {
        let mut fed = feeder.stdout(Stdio::piped()).spawn().unwrap_or_else(|error| panic!("{feeder:?}: {error}"));
        command.stdin(fed.stdout.take().expect("a pipe"));
        let mut running = Self::start(command);
        running.feeder = Some(fed);
        running
    }

    pub fn out(&self) -> String {
        self.out.lock().expect("what was printed").clone()
    }

    pub fn said(&self) -> String {
        self.said.lock().expect("what was said").clone()
    }

    pub fn wait_for_said(&self, text: &str) {
        wait_for(text, || self.said().contains(text));
    }

    pub fn wait_for_out(&self, text: &str) {
        wait_for(text, || self.out().contains(text));
    }

    /// Sends a signal.
    pub fn signal(&self, which: Signal) {
        signal(self.child.as_ref().expect("it runs"), which);
    }

    /// Waits for its end.
    pub fn wait(mut self) -> FinishedProgram {
        let mut child = self.child.take().expect("it runs");
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("a status") {
                break status;
            }
            if begun.elapsed() > PATIENCE {
                let _ = child.kill();
                panic!("it does not end; it said: {}", self.said());
            }
            thread::sleep(Duration::from_millis(5));
        };
        self.readers.drain(..).for_each(|reader| reader.join().expect("a reader"));
        FinishedProgram { status, out: self.out(), said: self.said() }
    }

    /// Ends it as a terminal would, and waits for its end.
    pub fn interrupt(self) -> FinishedProgram {
        self.signal(Signal::INT);
        self.wait()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for mut child in [self.child.take(), self.feeder.take()].into_iter().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Whether the calling thread's namespace has a TCP socket other than in the states LISTEN and TIME_WAIT (Linux,
/// include/net/tcp_states.h).
fn has_connections() -> bool {
    let sockets = fs::read_to_string("/proc/thread-self/net/tcp").expect("sockets");
    let mut states = sockets.lines().skip(1).filter_map(|line| line.split_whitespace().nth(3));
    states.any(|state| !matches!(state, "0A" | "06"))
}

fn gather(from: impl Read + Send + 'static, into: Arc<Mutex<String>>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        while matches!(from.read_until(b'\n', &mut line), Ok(count) if count > 0) {
            into.lock().expect("what was printed").push_str(&String::from_utf8_lossy(&line));
            line.clear();
        }
    })
}

pub use tidewire_testing::wait_until as wait_for;

/// Sent packets are in every ring after this.
pub fn settle() {
    thread::sleep(Duration::from_millis(300));
}

/// Runs `ip` in the calling thread's namespace.
pub fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).run_in_time().expect("ip");
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}
