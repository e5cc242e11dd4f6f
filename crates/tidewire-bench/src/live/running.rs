//! A program that listens on the testbed: started, stopped, and what it reported.

use std::{
    fs::File,
    io::{self, Read, Seek},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use super::{cpu, testbed::Testbed};
use crate::{
    peer_output::{Format, PeerOutput},
    program::{CORE, Program, temporary_file},
    sys::{self, Usage},
};

/// A started program.
pub struct Running {
    child: Child,
    output: File,
    errors: File,
    format: Format,
    ended: bool,
}

impl Running {
    /// Starts a program on the testbed and waits until it listens.
    ///
    /// # Errors
    /// The program ends, or does not listen within ten seconds; its standard error.
    pub fn start(program: &Program, testbed: &Testbed<'_>) -> Result<Self, String> {
        let output = temporary_file().map_err(|error| error.to_string())?;
        let errors = temporary_file().map_err(|error| error.to_string())?;
        let copy = |file: &File| file.try_clone().map_err(|error| error.to_string());
        let cores = if program.pinned { CORE.to_string() } else { "0,1".to_owned() };
        // Each command replaces itself with the next (exec), so that the kernel accounts for the program alone.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "nice", "-n", "-20", "taskset", "-c", &cores]);
        command.args(program.words.iter().map(|word| word.replace("IFACE", &testbed.receiver)));
        command.stdin(Stdio::null()).stdout(copy(&output)?).stderr(copy(&errors)?);
        let child = testbed.spawn(command)?;
        let mut running = Self { child, output, errors, format: program.format.clone(), ended: false };
        let listening = testbed.wait_for_listener(Duration::from_secs(10))?;
        // Set-up is complete when the program waits for packets. On a busy machine that takes a while, and packets that arrive
        // earlier are counted by no one.
        thread::sleep(SETTLED);
        let _ = running.wait_until_idle(Duration::from_secs(10));
        if !listening || running.has_ended() {
            let errors = running.kill();
            return Err(format!("{} did not listen: {}", program.name, errors.trim()));
        }
        Ok(running)
    }

    /// Its CPU time so far, nanoseconds.
    #[must_use]
    pub fn cpu_ns(&self) -> u64 {
        cpu::process_ns(self.child.id())
    }

    /// Its CPU time so far in user mode and in the kernel, nanoseconds.
    #[must_use]
    pub fn user_and_system_ns(&self) -> [u64; 2] {
        cpu::user_and_system_ns(self.child.id())
    }

    /// Waits until the program is idle for lack of work, not for lack of CPU; how long that took, `most` at most.
    #[must_use]
    pub fn wait_until_idle(&self, most: Duration) -> Duration {
        const SLICE: Duration = Duration::from_millis(20);
        let begun = std::time::Instant::now();
        let mut before = self.cpu_ns();
        loop {
            thread::sleep(SLICE);
            let now = self.cpu_ns();
            let slice_end = begun.elapsed();
            let used = now.saturating_sub(before);
            if used < SLICE.as_nanos() as u64 / 10 && cpu::waits(self.child.id()) || slice_end >= most {
                return slice_end.saturating_sub(SLICE);
            }
            before = now;
        }
    }

    /// Sends it a signal.
    ///
    /// # Errors
    /// It is gone.
    pub fn signal(&self, signal: Signal) -> Result<(), String> {
        kill_process(Pid::from_child(&self.child), signal).map_err(|error| error.to_string())
    }

    /// How long frames may stay in its ring unread: the time after which the kernel retires a block that is not full.
    fn block_time(&self) -> Duration {
        match self.format {
            // Their block timeout is a second, and they do not count what is unread at the end.
            Format::Tcpdump | Format::Softflowd(_) => Duration::from_millis(1100),
            // Twice 100 ms where packets are collected for locality.
            Format::Loop | Format::Dumpcap | Format::Netsniff => Duration::from_millis(350),
            Format::Tidewire | Format::Record => Duration::from_millis(20),
        }
    }

    /// Sends SIGTERM; what the program reported, and what it used in all.
    ///
    /// # Errors
    /// The program does not end in time, or ends with an error.
    pub fn end(mut self, testbed: &Testbed<'_>) -> Result<(PeerOutput, Usage), String> {
        thread::sleep(self.block_time());
        let mut statistics = String::new();
        if let Format::Softflowd(socket) = &self.format {
            let socket = socket.clone();
            statistics = testbed.on_receiver(move || {
                let output = Command::new("softflowctl").args(["-c", &socket, "statistics"]).output();
                output.map(|out| String::from_utf8_lossy(&out.stdout).into_owned()).map_err(|error| error.to_string())
            })?;
        }
        let (usage, timely) = self.signal_and_wait()?;
        let errors = text(&mut self.errors);
        if !timely {
            return Err(format!("did not end within {} s of SIGTERM: {}", PATIENCE.as_secs(), errors.trim()));
        }
        // 143: SIGTERM, the signal that was sent; 130: interrupted, by convention.
        if !matches!(usage.status, 0 | 130 | 143) {
            return Err(format!("exit status {}: {}", usage.status, errors.trim()));
        }
        let output = if statistics.is_empty() { text(&mut self.output) } else { statistics };
        Ok((self.format.read(&output, &errors), usage))
    }

    fn signal_and_wait(&mut self) -> Result<(Usage, bool), String> {
        let id = Pid::from_child(&self.child);
        kill_process(id, Signal::TERM).map_err(|error| error.to_string())?;
        let (done, ended) = mpsc::channel::<()>();
        let watchdog = thread::spawn(move || match ended.recv_timeout(PATIENCE) {
            Err(mpsc::RecvTimeoutError::Timeout) => kill_process(id, Signal::KILL).is_err(),
            _ => true,
        });
        let usage = sys::wait(&self.child).map_err(|error| error.to_string())?;
        self.ended = true;
        drop(done);
        Ok((usage, watchdog.join().unwrap_or(false)))
    }

    fn has_ended(&mut self) -> bool {
        self.ended = self.ended || matches!(self.child.try_wait(), Ok(Some(_)));
        self.ended
    }

    fn kill(mut self) -> String {
        if !self.has_ended() {
            let _ = self.child.kill();
            let _ = self.child.wait();
            self.ended = true;
        }
        text(&mut self.errors)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// strace, which counts a running program's system calls.
pub struct Trace {
    strace: Child,
    output: File,
}

impl Trace {
    /// Starts counting.
    ///
    /// # Errors
    /// strace is absent, or may not trace.
    pub fn begin(running: &Running) -> Result<Self, String> {
        let output = temporary_file().map_err(|error| error.to_string())?;
        let copy = output.try_clone().map_err(|error| error.to_string())?;
        let mut command = Command::new("strace");
        command.args(["-f", "-c", "-U", "name,calls", "-p", &running.child.id().to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(copy);
        let strace = command.spawn().map_err(|error| format!("strace: {error}"))?;
        thread::sleep(Duration::from_millis(300));
        Ok(Self { strace, output })
    }

    /// Stops counting and returns the number of calls.
    #[must_use]
    pub fn end(mut self) -> Option<u64> {
        kill_process(Pid::from_child(&self.strace), Signal::INT).ok()?;
        self.strace.wait().ok()?;
        let text = text(&mut self.output);
        let total = text.lines().find(|line| line.contains("total"))?;
        total.split_whitespace().find_map(|word| word.parse().ok())
    }
}

/// How long a program that listens may take, at least, to complete its set-up.
const SETTLED: Duration = Duration::from_millis(250);

/// How long a program may take to print its report.
const PATIENCE: Duration = Duration::from_secs(30);

fn text(file: &mut File) -> String {
    let mut bytes = Vec::new();
    let read = file.seek(io::SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut bytes));
    if read.is_err() {
        return String::new();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use tidewire_live::sys::packet::RingSocket;

    use super::*;
    use crate::live::testbed::Receiving;

    fn running(line: &str) -> Running {
        let child = Command::new("sh").args(["-c", line]).spawn().expect("a shell");
        let file = || temporary_file().expect("a file");
        Running { child, output: file(), errors: file(), format: Format::Loop, ended: false }
    }

    #[test]
    fn a_stopped_process_is_not_idle() {
        let busy = running("while :; do :; done");
        // It uses no CPU time from now on, as if other processes had the core.
        kill_process(Pid::from_child(&busy.child), Signal::STOP).expect("a signal");
        let most = Duration::from_millis(200);
        assert!(busy.wait_until_idle(most) >= most - Duration::from_millis(20));
        let most = Duration::from_secs(20);
        assert!(running("exec sleep 60").wait_until_idle(most) < most / 2);
    }

    /// Packets that arrive before a program is ready would be counted by no one.
    #[test]
    fn a_program_has_started_when_it_waits_for_packets() {
        if let Some(why) = tidewire_gen::net::missing() {
            eprintln!("skipped: {why}");
            return;
        }
        // The test listens at once; the program works before it waits.
        let line = "now() { read up idle < /proc/uptime; centis=${up%.*}${up#*.}; }; now; end=$((centis + 80)); \
            while [ $centis -lt $end ]; do now; done; exec sleep 60";
        let took = Testbed::inside(Receiving::Sender, |testbed| {
            let listener = testbed.on_receiver(|| RingSocket::open().map_err(|error| error.to_string()))?;
            let begun = std::time::Instant::now();
            let program = Program::new("late", &["sh", "-c", line]).format(Format::Loop);
            let running = Running::start(&program, testbed)?;
            drop((running, listener));
            Ok(begun.elapsed())
        });
        assert!(took.expect("a testbed") >= Duration::from_millis(790));
    }
}
