//! A program under test: started, asked to end, and what it said.

use std::{
    fs::File,
    io::{self, Read, Seek},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use super::{
    cpu,
    said::{Said, Speech},
    stage::{RECEIVING_CORE, Stage},
};
use crate::sys::{self, Usage};

/// A program that a row measures.
#[derive(Clone, Debug)]
pub struct Program {
    /// What tables and plots call it.
    pub name: String,
    /// The command; `IFACE` stands for the interface.
    pub words: Vec<String>,
    /// Whose words it prints.
    pub speech: Speech,
    /// Whether it may use the generator's core as well.
    pub both_cores: bool,
    /// Whether strace counts its system calls.
    pub traced: bool,
}

impl Program {
    /// A program on the receiving core.
    #[must_use]
    pub fn new(name: &str, words: &[&str], speech: Speech) -> Self {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Self { name: name.into(), words, speech, both_cores: false, traced: false }
    }

    /// On both cores.
    #[must_use]
    pub fn on_both_cores(mut self) -> Self {
        self.both_cores = true;
        self
    }

    /// Under strace, which counts its system calls and slows it down.
    #[must_use]
    pub fn traced(mut self) -> Self {
        self.traced = true;
        self
    }

    /// As one would type it.
    #[must_use]
    pub fn command(&self) -> String {
        self.words.join(" ")
    }

    /// Starts it on a stage and waits until it listens.
    ///
    /// # Errors
    /// It ends, or does not listen within ten seconds; what it said.
    pub fn start(&self, stage: &Stage<'_>) -> Result<Running, String> {
        let output = temporary_file().map_err(|error| error.to_string())?;
        let errors = temporary_file().map_err(|error| error.to_string())?;
        let copy = |file: &File| file.try_clone().map_err(|error| error.to_string());
        let cores = if self.both_cores { "0,1".to_owned() } else { RECEIVING_CORE.to_string() };
        // Each puts the next in its own place (exec), so that what is accounted for is the program's.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "nice", "-n", "-20", "taskset", "-c", &cores]);
        command.args(self.words.iter().map(|word| word.replace("IFACE", &stage.receiver)));
        command.stdin(Stdio::null()).stdout(copy(&output)?).stderr(copy(&errors)?);
        let child = stage.spawn(command)?;
        let mut running = Running { child, output, errors, speech: self.speech.clone(), ended: false };
        let listening = stage.wait_for_listener(Duration::from_secs(10))?;
        // What it opened is set up, too, when it waits for packets. On a busy machine that takes its time, and packets that
        // come before are nobody's.
        thread::sleep(SETTLED);
        let _ = running.wait_until_idle(Duration::from_secs(10));
        if !listening || running.has_ended() {
            let said = running.kill();
            return Err(format!("{} did not listen: {}", self.name, said.trim()));
        }
        Ok(running)
    }
}

/// strace, counting a running program's system calls.
pub struct Trace {
    strace: Child,
    output: File,
}

impl Trace {
    /// Begins to count.
    ///
    /// # Errors
    /// There is no strace, or it may not trace.
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

    /// Ends counting: how many calls there were.
    #[must_use]
    pub fn end(mut self) -> Option<u64> {
        kill_process(Pid::from_child(&self.strace), Signal::INT).ok()?;
        self.strace.wait().ok()?;
        let text = text(&mut self.output);
        let total = text.lines().find(|line| line.contains("total"))?;
        total.split_whitespace().find_map(|word| word.parse().ok())
    }
}

/// A started program.
pub struct Running {
    child: Child,
    output: File,
    errors: File,
    speech: Speech,
    ended: bool,
}

impl Running {
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

    /// Waits until it does next to nothing because nothing is left to do, not because others have the processor; how long
    /// that took, `most` at most.
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

    /// How long frames may stay in its ring unseen: the time after which the kernel hands over a block that is not full.
    fn block_time(&self) -> Duration {
        match self.speech {
            // Their time is a second, and what they have not seen by the end they do not count.
            Speech::Tcpdump | Speech::Softflowd(_) => Duration::from_millis(1100),
            // Twice 100 ms where packets are gathered for locality.
            Speech::Loop => Duration::from_millis(350),
            Speech::Tidewire => Duration::from_millis(20),
        }
    }

    /// Asks it to end; what it said, and what it used in all.
    ///
    /// # Errors
    /// It does not end, or ends with an error.
    pub fn end(mut self, stage: &Stage<'_>) -> Result<(Said, Usage), String> {
        thread::sleep(self.block_time());
        let mut asked = String::new();
        if let Speech::Softflowd(socket) = &self.speech {
            let socket = socket.clone();
            asked = stage.on_receiver(move || {
                let output = Command::new("softflowctl").args(["-c", &socket, "statistics"]).output();
                output.map(|out| String::from_utf8_lossy(&out.stdout).into_owned()).map_err(|error| error.to_string())
            })?;
        }
        let (usage, timely) = self.signal_and_wait()?;
        let errors = text(&mut self.errors);
        if !timely {
            return Err(format!("did not end within {} s of SIGTERM: {}", PATIENCE.as_secs(), errors.trim()));
        }
        // 128 + SIGTERM: nothing is wrong with ending so; 130: interrupted, by convention.
        if !matches!(usage.status, 0 | 130 | 143) {
            return Err(format!("exit status {}: {}", usage.status, errors.trim()));
        }
        let output = if asked.is_empty() { text(&mut self.output) } else { asked };
        Ok((self.speech.read(&output, &errors), usage))
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

/// How long a program that listens is left alone, at least, to set up the rest.
const SETTLED: Duration = Duration::from_millis(250);

/// How long a program may take to print what it knows.
const PATIENCE: Duration = Duration::from_secs(30);

/// A file without a name, on tmpfs where there is one.
fn temporary_file() -> io::Result<File> {
    let folder = if std::path::Path::new("/dev/shm").is_dir() { "/dev/shm" } else { "/tmp" };
    let path = format!("{folder}/tidewire-bench-live-{}-{:p}", std::process::id(), &raw const folder);
    let file = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

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
    use crate::live::stage::Receiving;

    fn running(line: &str) -> Running {
        let child = Command::new("sh").args(["-c", line]).spawn().expect("a shell");
        let file = || temporary_file().expect("a file");
        Running { child, output: file(), errors: file(), speech: Speech::Loop, ended: false }
    }

    #[test]
    fn who_is_held_up_is_not_idle() {
        let busy = running("while :; do :; done");
        // It uses no time from now on, as if others had the processor.
        kill_process(Pid::from_child(&busy.child), Signal::STOP).expect("a signal");
        let most = Duration::from_millis(200);
        assert!(busy.wait_until_idle(most) >= most - Duration::from_millis(20));
        let most = Duration::from_secs(20);
        assert!(running("exec sleep 60").wait_until_idle(most) < most / 2);
    }

    /// Packets that come before a program is ready are nobody's.
    #[test]
    fn a_program_has_started_when_it_waits() {
        if let Some(why) = tidewire_gen::net::missing() {
            eprintln!("skipped: {why}");
            return;
        }
        // Somebody listens at once; the program has something to do before it waits.
        let line = "now() { read up idle < /proc/uptime; centis=${up%.*}${up#*.}; }; now; end=$((centis + 80)); \
            while [ $centis -lt $end ]; do now; done; exec sleep 60";
        let took = Stage::inside(Receiving::Sender, |stage| {
            let listener = stage.on_receiver(|| RingSocket::open().map_err(|error| error.to_string()))?;
            let begun = std::time::Instant::now();
            let running = Program::new("late", &["sh", "-c", line], Speech::Loop).start(stage)?;
            drop((running, listener));
            Ok(begun.elapsed())
        });
        assert!(took.expect("a stage") >= Duration::from_millis(790));
    }
}
