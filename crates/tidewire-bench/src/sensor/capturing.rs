//! The capture of a sensor as a process that is measured, and its analyzers.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process, setpriority_process};
use tidewire_sensor::{
    QUEUES_SOCKET,
    config::{CaptureInput, Machine, Overrides, SensorConfig, Unit, examine},
    report::{CaptureEvent, CaptureStatus},
};

use super::ends::Figures;
use crate::{
    live::testbed::Testbed,
    sys::{self, Usage},
};

/// How long a process may take to begin or to end.
const PATIENCE: Duration = Duration::from_secs(120);

/// The queue of every sensor here.
pub(super) const QUEUE: &str = "load";

/// A sensor with one queue, as it is by default.
pub(super) fn config(directory: &Path, input: CaptureInput, unit: Unit) -> SensorConfig {
    let (interfaces, files) = match input {
        CaptureInput::Interfaces(interfaces) => (interfaces, Vec::new()),
        CaptureInput::Files(files) => (Vec::new(), files),
    };
    let unit = match unit {
        Unit::Streams => "streams",
        Unit::Packets => "packets",
    };
    let given = Overrides { interfaces, files, directory: Some(directory.to_owned()), ..Overrides::default() };
    // The capture runs alone here: no process receives events.
    let text = format!("[events]\nenabled = false\n[queue.{QUEUE}]\nunit = \"{unit}\"\n");
    let examined = examine(&text, "benchmark", &given, &Machine);
    examined.config.unwrap_or_else(|| panic!("{:?}", examined.mistakes))
}

/// A capture that runs.
pub(super) struct Capturing {
    child: Child,
    events: Receiver<CaptureEvent>,
    ended: bool,
}

impl Capturing {
    /// Starts a capture, in the receiving namespace of a testbed if there is one, and waits until analyzers can attach. `wrapper`:
    /// words before the program's.
    pub fn start(
        wrapper: &[&str],
        program: &Path,
        config: &SensorConfig,
        testbed: Option<&Testbed<'_>>,
    ) -> Result<Self, String> {
        let (mut ours, theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
        let mut words = wrapper.iter();
        let mut command = Command::new(words.next().ok_or("a wrapper has a first word")?);
        command.args(words).arg(program).arg("capture");
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        let child = match testbed {
            Some(testbed) => testbed.spawn(command)?,
            None => command.spawn().map_err(|error| format!("{}: {error}", program.display()))?,
        };
        let mut line = serde_json::to_string(config).map_err(|error| error.to_string())?;
        line.push('\n');
        ours.write_all(line.as_bytes()).map_err(|error| error.to_string())?;
        let (to, events) = channel();
        thread::spawn(move || {
            for line in BufReader::new(ours).lines().map_while(Result::ok) {
                let Ok(event) = serde_json::from_str(&line) else { continue };
                if to.send(event).is_err() {
                    return;
                }
            }
        });
        let mut capturing = Self { child, events, ended: false };
        capturing.wait_for(|event| matches!(event, CaptureEvent::Ready { .. }).then_some(()))?;
        Ok(capturing)
    }

    /// Its priority among all processes: -20 is the highest.
    pub fn set_nice(&self, nice: i32) {
        // Without the right to do so, figures are noisier, not wrong.
        let _ = setpriority_process(Some(Pid::from_child(&self.child)), nice);
    }

    fn wait_for<T>(&mut self, wanted: impl Fn(&CaptureEvent) -> Option<T>) -> Result<T, String> {
        let begun = Instant::now();
        loop {
            match self.events.recv_timeout(PATIENCE.saturating_sub(begun.elapsed())) {
                Ok(CaptureEvent::Failed { text, .. }) => return Err(format!("the capture failed: {text}")),
                Ok(event) => {
                    if let Some(found) = wanted(&event) {
                        return Ok(found);
                    }
                }
                Err(RecvTimeoutError::Timeout) => return Err("the capture says nothing".into()),
                Err(RecvTimeoutError::Disconnected) => {
                    let status = sys::wait(&self.child).map(|usage| usage.status);
                    self.ended = status.is_ok();
                    return Err(format!("the capture has ended without a word, exit status {status:?}"));
                }
            }
        }
    }

    /// Asks it to end.
    pub fn stop(&self) -> Result<(), String> {
        kill_process(Pid::from_child(&self.child), Signal::TERM).map_err(|error| error.to_string())
    }

    /// Waits for its end; its last figures and what it used.
    pub fn finish(mut self) -> Result<(CaptureStatus, Usage), String> {
        let status = self.wait_for(|event| match event {
            CaptureEvent::Finished(status) => Some(status.clone()),
            _ => None,
        })?;
        let usage = sys::wait(&self.child).map_err(|error| error.to_string())?;
        self.ended = true;
        if usage.status != 0 {
            return Err(format!("the capture ended with exit status {}", usage.status));
        }
        Ok((status, usage))
    }
}

impl Drop for Capturing {
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Analyzers of a queue: `queue-loop read`.
pub(super) struct Analyzers {
    children: Vec<Child>,
}

impl Analyzers {
    /// Starts this many with these words, on these cores.
    pub fn start(program: &Path, directory: &Path, count: usize, cores: &str, words: &[&str]) -> Result<Self, String> {
        let mut analyzers = Self { children: Vec::new() };
        for number in 0..count {
            let mut command = Command::new("taskset");
            command.args(["-c", cores]).arg(program).args(["read", "--queue", QUEUE, "--socket"]);
            command.arg(directory.join(QUEUES_SOCKET)).args(["--name", &format!("analyzer-{number}")]).args(words);
            let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
            analyzers.children.push(child.map_err(|error| error.to_string())?);
        }
        Ok(analyzers)
    }

    /// The priority of all of them.
    pub fn set_nice(&self, nice: i32) {
        for child in &self.children {
            let _ = setpriority_process(Some(Pid::from_child(child)), nice);
        }
    }

    /// Waits for their ends; what each saw.
    pub fn finish(mut self) -> Result<Vec<Figures>, String> {
        let children = std::mem::take(&mut self.children);
        let outputs = children.into_iter().map(|child| child.wait_with_output().map_err(|error| error.to_string()));
        outputs
            .map(|output| {
                let output = output?;
                if !output.status.success() {
                    return Err(format!("an analyzer failed: {}", output.status));
                }
                serde_json::from_slice(&output.stdout).map_err(|error| format!("an analyzer's figures: {error}"))
            })
            .collect()
    }
}

impl Drop for Analyzers {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
