//! A sensor in a folder of its own.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

use serde_json::Value;
use tidewire_testing::{Ends as _, InTime as _, Lines, Signal, signal, wait_until};

pub const TIDEWIRE: &str = env!("CARGO_BIN_EXE_tidewire");
/// Several conversations.
pub const CAPTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/checksums/capture.pcap");

/// Why interfaces cannot be captured here.
pub fn cannot_capture() -> Option<String> {
    let settings = tidewire_live::LiveSettings::new(["lo"]);
    tidewire_live::privilege::check(&settings).err().map(|error| error.to_string())
}

pub struct Sensor {
    pub folder: tempfile::TempDir,
    pub child: Child,
    pub log: Lines,
    pub output: Lines,
}

impl Sensor {
    /// The folder of the sockets.
    pub fn directory(&self) -> PathBuf {
        self.folder.path().join("sensor")
    }

    /// A sensor with a configuration. Its arguments follow the file.
    pub fn start(configuration: &str, arguments: &[&str]) -> Self {
        Self::start_with(configuration, arguments, |_, _| {})
    }

    pub fn start_with(text: &str, arguments: &[&str], prepare: impl FnOnce(&mut Command, &Path)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        // Analyzers of other users reach the sockets.
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("a mode");
        let file = folder.path().join("sensor.toml");
        fs::write(&file, completed(text, folder.path())).expect("a file");
        let mut command = Command::new(TIDEWIRE);
        command.arg("sensor").arg(&file).arg("--directory").arg(folder.path().join("sensor")).args(arguments);
        command.env_remove("NOTIFY_SOCKET").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        prepare(&mut command, folder.path());
        let mut child = command.spawn().expect("tidewire");
        let log = Lines::new(child.stderr.take().expect("a pipe"));
        let output = Lines::new(child.stdout.take().expect("a pipe"));
        Self { folder, child, log, output }
    }

    /// A live sensor over `lo` with these tables, in which `stop` is short.
    pub fn live(tables: &str) -> Self {
        let sensor = Self::start(&live(tables), &[]);
        sensor.until("it runs", |status| status["state"] == "running");
        sensor
    }

    pub fn rewrite(&self, text: &str) {
        fs::write(self.folder.path().join("sensor.toml"), completed(text, self.folder.path())).expect("a file");
    }

    /// The status, if it answers.
    pub fn answer(&self) -> Option<Value> {
        let directory = self.directory();
        let words = ["sensor", "status", "--json", "--directory", directory.to_str().expect("UTF-8")];
        let output = Command::new(TIDEWIRE).args(words).run_in_time().expect("tidewire");
        serde_json::from_slice(&output.stdout).ok()
    }

    /// The first status for which this holds.
    pub fn until(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let mut found = Value::Null;
        let mut last = String::new();
        wait_until(what, || {
            let Some(status) = self.answer() else { return false };
            last = status.to_string();
            let is = holds(&status);
            if is {
                found = status;
            }
            is
        });
        found
    }

    pub fn signal(&self, number: Signal) {
        signal(&self.child, number);
    }

    /// Waits for its end.
    pub fn ended(&mut self) -> ExitStatus {
        self.child.wait_in_time("the sensor")
    }

    /// Ends it with SIGTERM; nothing may be left.
    pub fn end(mut self) -> Vec<String> {
        let processes = self.processes();
        self.signal(Signal::TERM);
        let status = self.ended();
        let log = self.log.rest();
        assert_eq!(status.code(), Some(0), "{log:#?}");
        assert!(!self.directory().exists(), "the directory is left: {log:#?}");
        for process in processes {
            assert!(!runs(process), "process {process} is left: {log:#?}");
        }
        log
    }

    /// Its processes and all below them.
    pub fn processes(&self) -> Vec<u32> {
        descendants(self.child.id())
    }
}

impl Drop for Sensor {
    fn drop(&mut self) {
        // A test that failed leaves nothing either: what it started goes with the supervisor.
        let _ = self.child.kill();
        let _ = self.child.try_wait();
    }
}

/// A configuration whose events are stored beside the sensor's directory, of which nothing is left then.
fn completed(text: &str, folder: &Path) -> String {
    let store = folder.join("events.db");
    let has_events = text.contains("[events]") || !text.contains('[');
    if has_events { text.to_owned() } else { format!("{text}\n[events]\nstore = \"{}\"\n", store.display()) }
}

/// A configuration over `lo`, with `stop` of half a second.
pub fn live(tables: &str) -> String {
    format!(
        "[sensor]\nstop = \"500ms\"\n[capture]\ninterfaces = [\"lo\"]\nfilter = \"tcp port 4\"\n[queue.streams]\nmemory = \"1M\"\n{tables}"
    )
}

/// Whether a process runs; a zombie does not.
pub fn runs(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

/// All processes below this one.
fn descendants(process: u32) -> Vec<u32> {
    let mut found = vec![process];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        at += 1;
        let tasks = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
        let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        let numbers: Vec<u32> = lists
            .flat_map(|list| list.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<_>>())
            .collect();
        found.extend(numbers);
    }
    found
}

/// A part of a status.
pub fn part<'a>(status: &'a Value, name: &str) -> &'a Value {
    let parts = status["parts"].as_array().expect("parts");
    parts.iter().find(|part| part["name"] == name).unwrap_or(&Value::Null)
}

/// The process of a part.
pub fn process(status: &Value, name: &str) -> u32 {
    part(status, name)["process"].as_u64().unwrap_or_else(|| panic!("{name} runs: {status}")) as u32
}

pub fn kill(process: u32) {
    let process = rustix::process::Pid::from_raw(process as i32).expect("a number");
    rustix::process::kill_process(process, Signal::KILL).expect("it runs");
}

/// A short time, in which something that must not happen would happen.
pub fn a_while() {
    tidewire_testing::let_pass(Duration::from_millis(300));
}
