//! One run: instances of a program on a link, the traffic, and what each of them made of it.

use std::{
    fs,
    net::UdpSocket,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use tidewire_testing::InTime as _;

use crate::{
    common::{FinishedProgram, NEAR, Over, Running, on_a_link, wait_until},
    list::Program,
    trace::trace,
};

/// The input and the files of one instance.
pub struct Seat {
    /// The interface, or a file.
    pub source: Source,
    /// Where it may write.
    pub folder: PathBuf,
    /// Where it sends what it exports, on this machine.
    pub port: u16,
}

/// Where packets come from.
pub enum Source {
    Device(String),
    File(PathBuf),
}

impl Seat {
    /// A file in its folder.
    pub fn path(&self, name: &str) -> String {
        self.folder.join(name).to_str().expect("a path").to_owned()
    }

    /// The source's option and its name.
    pub fn from(&self, device: &str, file: &str) -> Vec<String> {
        match &self.source {
            Source::Device(name) => vec![device.into(), name.clone()],
            Source::File(path) => vec![file.into(), path.to_str().expect("a path").into()],
        }
    }

    /// Whether it is an interface.
    pub fn is_live(&self) -> bool {
        matches!(self.source, Source::Device(_))
    }
}

/// How the library is used.
#[derive(Clone)]
pub struct Way {
    pub name: String,
    pub over: Over,
    pub variables: Vec<(String, String)>,
    pub instances: usize,
}

impl Way {
    pub fn new(name: &str, over: Over, variables: &[(&str, &str)]) -> Self {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { name: name.into(), over, variables, instances: 1 }
    }

    pub fn instances(mut self, count: usize) -> Self {
        self.instances = count;
        self
    }
}

/// Longest time until a program listens, and until it has ended.
const PATIENCE: Duration = Duration::from_secs(15);

/// Time after which a program has everything that was sent: libpcap's users ask for blocks that are a second old.
const SETTLE: Duration = Duration::from_millis(1300);

/// Packet sockets in this namespace, or the interface's XDP program.
fn listeners() -> usize {
    let sockets = fs::read_to_string("/proc/thread-self/net/packet").unwrap_or_default().lines().count();
    let link = Command::new("ip").args(["-o", "link", "show", "dev", NEAR]).run_in_time().map(|output| output.stdout);
    let link = String::from_utf8_lossy(&link.unwrap_or_default()).into_owned();
    sockets.saturating_sub(1) + usize::from(link.split(' ').any(|word| word.starts_with("xdp") || word == "prog/xdp"))
}

/// Waits until there are so many listeners and no more come.
fn wait_for_listeners(programs: &mut [Running], least: usize) -> Result<(), String> {
    let (mut last, mut since) = (0, std::time::Instant::now());
    let came = wait_until(PATIENCE, || {
        let now = listeners();
        if now != last {
            (last, since) = (now, std::time::Instant::now());
        }
        programs.iter_mut().any(Running::has_ended) || (now >= least && since.elapsed() > Duration::from_millis(600))
    });
    if let Some(ended) = programs.iter_mut().find_map(|program| program.has_ended().then(|| program.printed())) {
        return Err(format!("it ended before the traffic came: {}{}", ended[0], ended[1]));
    }
    if came { Ok(()) } else { Err(format!("{last} of {least} listen after {PATIENCE:?}")) }
}

/// Runs instances of a program while the trace is sent; the records of each.
pub fn live(program: &Program, way: &Way) -> Result<Vec<Vec<String>>, String> {
    let mut result = once(program, way);
    for _ in 0..3 {
        match &result {
            Err(why) if program.crashes && why.starts_with("signal: 11") => result = once(program, way),
            _ => break,
        }
    }
    result
}

fn once(program: &Program, way: &Way) -> Result<Vec<Vec<String>>, String> {
    let trace = trace();
    on_a_link(|| {
        let folder = tempfile::tempdir().expect("a directory");
        let mut running = Vec::new();
        let mut seats = Vec::new();
        for index in 0..way.instances {
            let seat = seat(Source::Device(NEAR.into()), folder.path(), index);
            running.push(start(program, way, &seat.0));
            seats.push(seat);
        }
        wait_for_listeners(&mut running, way.instances)?;
        if let Some(text) = program.ready {
            let says = |running: &Running| running.printed().iter().any(|printed| printed.contains(text));
            if !wait_until(PATIENCE, || running.iter().all(says)) {
                return Err(format!("it does not say '{text}': {:?}", running[0].printed()));
            }
        }
        trace.send();
        thread::sleep(program.settle.unwrap_or(SETTLE));
        if let Some(say) = program.before_end {
            seats.iter().for_each(|(seat, _)| say(seat));
        }
        running.iter().for_each(|program_running| program_running.signal(program.signal));
        let mut all = Vec::new();
        for (running, (seat, exports)) in running.into_iter().zip(seats) {
            let ended = running.wait(PATIENCE);
            all.push(records(program, &seat, &ended, exports)?);
        }
        Ok(all)
    })
}

/// Runs a program over a file; its records.
pub fn file(program: &Program, way: &Way, path: &Path) -> Result<Vec<String>, String> {
    on_a_link(|| {
        let folder = tempfile::tempdir().expect("a directory");
        let (seat, exports) = seat(Source::File(path.into()), folder.path(), 0);
        let ended = start(program, way, &seat).wait(PATIENCE);
        records(program, &seat, &ended, exports)
    })
}

fn seat(source: Source, folder: &Path, index: usize) -> (Seat, UdpSocket) {
    let folder = folder.join(index.to_string());
    fs::create_dir(&folder).expect("a folder");
    let exports = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    exports.set_nonblocking(true).expect("a socket that does not wait");
    let port = exports.local_addr().expect("an address").port();
    (Seat { source, folder, port }, exports)
}

fn start(program: &Program, way: &Way, seat: &Seat) -> Running {
    let words = (program.words)(seat);
    let mut command = Command::new(tidewire_testing::find(&words[0]).expect("it is there"));
    command.args(&words[1..]);
    way.over.put_under(&mut command);
    command.envs(way.variables.iter().map(|(name, value)| (name, value)));
    Running::start(command)
}

fn records(program: &Program, seat: &Seat, ended: &FinishedProgram, exports: UdpSocket) -> Result<Vec<String>, String> {
    let Some(status) = ended.status else { return Err(format!("it does not end: {}{}", ended.out, ended.said)) };
    use std::os::unix::process::ExitStatusExt as _;
    // Some programs are ended by the signal itself.
    if matches!(status.signal(), Some(4 | 6 | 7 | 8 | 11)) {
        return Err(format!("{status}: {}", ended.said));
    }
    let (mut exported, mut datagram) = (Vec::new(), vec![0; 65_536]);
    while let Ok(bytes) = exports.recv(&mut datagram) {
        exported.push(datagram[..bytes].to_vec());
    }
    let records = (program.records)(seat, ended, &exported)?;
    if records.is_empty() && !program.may_be_idle {
        return Err(format!("nothing was made of the traffic: {status}: {}{}", ended.out, ended.said));
    }
    Ok(records)
}
