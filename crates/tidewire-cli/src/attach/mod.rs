//! `tidewire attach`: a queue of a sensor for programs in any language.

mod json;
mod options;
mod program;
mod sink;

use std::{
    io,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::ExitStatus,
    time::Duration,
};

pub use options::Options;

use tidewire_queue::{Attach, Error, Losses, Next, QueueEnd, Reader, Record, Refusal, records::RecordType};

use self::{
    options::{AttachTarget, KindName},
    sink::Sink,
};
use crate::{
    error::{self, CliError, notify},
    generate::{on_signal_within, stopped},
    interrupt::LIVE_PATIENCE,
    terminal::is_terminal,
    units::{Bytes, counted},
};

/// How long one wait for records takes: a signal is noticed after this time.
const TICK: Duration = Duration::from_millis(200);
/// Streams that are followed at a time, to say which bytes of them were lost.
const STREAMS_MAX: usize = 1 << 17;
/// How often a sensor is looked for (`--follow`).
const LOOK: Duration = Duration::from_millis(500);

/// Why reading a queue stopped.
enum Stopped {
    /// The queue ended.
    Ended,
    /// The program of `--exec` ended, or takes no more.
    Program,
    /// A signal, or the limit.
    Requested,
}

/// Sums over all queues.
#[derive(Default)]
struct Totals {
    read: u64,
    missed: u64,
    lost: u64,
    lost_bytes: u64,
    /// Records written.
    written: u64,
    /// Records between two attachments: published while the program was being started again.
    between: u64,
    /// Why the last queue ended.
    ended: Option<QueueEnd>,
}

struct Attaching<'a> {
    options: &'a Options,
    socket: PathBuf,
    request: Attach,
    sink: Sink,
    totals: Totals,
}

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<u8, CliError> {
    if options.raw && options.exec.is_none() && is_terminal() {
        let message = "a terminal cannot show --raw; redirect it, as in > records.bin, or use --json";
        return Err(CliError::Usage(message.into()));
    }
    let AttachTarget { socket, request } = options.place()?;
    // A program that gets the records has its own time to end.
    on_signal_within(if options.exec.is_some() { Duration::MAX } else { LIVE_PATIENCE });
    let Some(reader) = attach(&socket, &request, options.follow, None)? else { return Ok(error::OK) };
    // Where there is no queue, no program is started.
    let sink = Sink::new(options.exec.as_deref())?;
    let mut attaching = Attaching { options, socket, request, sink, totals: Totals::default() };
    let done = attaching.read_queues(reader);
    let code = attaching.finish();
    if !options.quiet {
        attaching.report();
    }
    done.and(code)
}

impl Attaching<'_> {
    fn read_queues(&mut self, mut reader: Reader) -> Result<(), CliError> {
        loop {
            let ended = self.read_queue(&mut reader);
            self.count(&reader);
            let (at, epoch) = (reader.sequence(), reader.epoch());
            // Its place is free, and nothing waits for it, while nothing is read.
            drop(reader);
            let old = match ended? {
                Stopped::Ended if self.options.follow => Some(epoch),
                Stopped::Program if !self.options.once && self.restart()? => None,
                _ => return Ok(()),
            };
            let next = attach(&self.socket, &self.request, self.options.follow, old)?;
            let Some(next) = next else { return Ok(()) };
            if next.epoch() == epoch {
                self.totals.between += next.sequence().saturating_sub(at);
            }
            reader = next;
        }
    }

    /// Starts the program again; `false`: there is none, or a signal came.
    fn restart(&mut self) -> Result<bool, CliError> {
        match &mut self.sink {
            Sink::Program(fed) if !stopped() => fed.restart(|text| notify(text)),
            _ => Ok(false),
        }
    }

    /// Writes records until something ends it.
    fn read_queue(&mut self, reader: &mut Reader) -> Result<Stopped, CliError> {
        let mut payload = Vec::new();
        let mut losses = match self.request.group {
            Some(_) => Losses::of_member(STREAMS_MAX),
            None => Losses::new(STREAMS_MAX),
        };
        if !self.options.raw {
            json::push_attached(self.sink.buffer(), &self.request.queue, reader.epoch(), reader.sequence());
        }
        if !self.sink.flush()? {
            return Ok(Stopped::Program);
        }
        loop {
            if stopped() || self.options.limit.is_some_and(|limit| self.totals.written >= limit) {
                self.sink.flush()?;
                return Ok(Stopped::Requested);
            }
            payload.clear();
            let mut next = reader.next(&mut payload).map_err(from_queue)?;
            if next == Next::Empty {
                // Who looks at the output sees all that there is.
                if !self.sink.flush()? {
                    return Ok(Stopped::Program);
                }
                next = reader.next_timeout(&mut payload, TICK).map_err(from_queue)?;
            }
            if let Next::Ended(why) = next {
                if !self.options.raw {
                    json::push_ended(self.sink.buffer(), why);
                }
                self.totals.ended = Some(why);
                return Ok(if self.sink.flush()? { Stopped::Ended } else { Stopped::Program });
            }
            self.write(&next, &payload, &mut losses);
            if !self.sink.settle()? {
                return Ok(Stopped::Program);
            }
        }
    }

    fn write(&mut self, next: &Next, payload: &[u8], losses: &mut Losses) {
        // In the raw form a jump of the sequence says what was lost.
        if !self.options.raw {
            let mut missing = Vec::new();
            match next {
                Next::Record(record) => losses.read(record, payload, &mut missing),
                Next::Missed(record) => losses.missed(record, &mut missing),
                _ => {}
            }
            missing.iter().for_each(|missing| json::push_missing(self.sink.buffer(), missing));
        }
        match next {
            Next::Record(record) if self.is_wanted(record) => {
                self.totals.written += 1;
                let buffer = self.sink.record_buffer();
                if self.options.raw {
                    record.words().iter().for_each(|word| buffer.extend_from_slice(&word.to_ne_bytes()));
                    buffer.extend_from_slice(payload);
                } else {
                    json::push_record(buffer, record, payload);
                }
            }
            Next::Missed(record) if !self.options.raw && self.is_wanted(record) => {
                json::push_missed(self.sink.buffer(), record)
            }
            Next::Lost { first, records, bytes } if !self.options.raw => {
                json::push_lost(self.sink.buffer(), *first, *records, *bytes);
            }
            _ => {}
        }
    }

    fn is_wanted(&self, record: &Record) -> bool {
        let Options { kind, stream, direction, .. } = self.options;
        let of_both = matches!(RecordType::from_number(record.kind), Some(RecordType::Open | RecordType::Close));
        (kind.is_empty() || kind.iter().any(|kind| kind.number() == record.kind))
            && stream.is_none_or(|stream| stream == record.stream)
            && direction.is_none_or(|direction| of_both || direction.name() == record.direction().name())
    }

    fn count(&mut self, reader: &Reader) {
        let progress = reader.progress();
        self.totals.read += progress.read;
        self.totals.missed += progress.missed;
        self.totals.lost += progress.lost;
        self.totals.lost_bytes += progress.missed_bytes + progress.lost_bytes;
    }

    /// Ends the program of `--exec`. With `--once` its status is ours.
    fn finish(&mut self) -> Result<u8, CliError> {
        let Sink::Program(fed) = &mut self.sink else { return Ok(error::OK) };
        let status = fed.finish()?.filter(|_| self.options.once);
        Ok(status.map_or(error::OK, exit_code))
    }

    fn report(&self) {
        let Totals { read, missed, lost, lost_bytes, between, ended, .. } = self.totals;
        let mut text = format!("{}: {}", self.request.queue, counted(read, "record read", "records read"));
        if missed + lost == 0 {
            text.push_str(", none lost");
        } else {
            text.push_str(&format!(", {} lost ({}; this reader was too slow)", missed + lost, Bytes(lost_bytes)));
        }
        match ended {
            Some(QueueEnd::Finished) => text.push_str("; the queue has ended"),
            Some(QueueEnd::Gone) => text.push_str("; the sensor's process died"),
            Some(_) => text.push_str("; the sensor failed"),
            None => {}
        }
        if let Sink::Program(fed) = &self.sink
            && fed.restarts() > 0
        {
            let (times, dropped) = (counted(fed.restarts(), "time", "times"), fed.dropped);
            text.push_str(&format!("; the program was started again {times}: {dropped} records not taken by it, {between} not read meanwhile"));
        }
        notify(text);
    }
}

/// Attaches. With `wait`, looks for a sensor until a signal comes; `old`: the epoch of the queue that has ended, whose successor is
/// wanted.
fn attach(socket: &Path, request: &Attach, wait: bool, old: Option<u64>) -> Result<Option<Reader>, CliError> {
    let mut is_said = false;
    while !stopped() {
        match Reader::attach(socket, request) {
            Ok(reader) if old.is_none_or(|old| old != reader.epoch()) => return Ok(Some(reader)),
            Err(error) if !wait || !may_come(&error) => return Err(from_queue(error)),
            _ if !is_said => {
                notify(format_args!("waiting for a sensor with the queue '{}' at {}", request.queue, socket.display()));
                is_said = true;
            }
            _ => {}
        }
        std::thread::sleep(LOOK);
    }
    Ok(None)
}

/// Whether waiting may help.
fn may_come(error: &Error) -> bool {
    match error {
        Error::Server { source, .. } => source.kind() != io::ErrorKind::PermissionDenied,
        Error::Refused(refusal) => matches!(refusal, Refusal::NoQueue { .. } | Refusal::Full { .. }),
        _ => false,
    }
}

fn from_queue(error: Error) -> CliError {
    let text = error.to_string();
    match error {
        Error::Server { source, path } => CliError::Input(match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => format!(
                "{}: no sensor listens here; start `tidewire sensor`, or name its place: --directory or --socket",
                path.display()
            ),
            io::ErrorKind::PermissionDenied => format!(
                "{}: permission denied; the sensor's own user and root may attach, and those in its configuration (users)",
                path.display()
            ),
            _ => text,
        }),
        Error::Refused(Refusal::NoQueue { .. }) => CliError::Usage(text),
        _ => CliError::Input(text),
    }
}

/// The exit status of a program as a shell has it.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(u8::MAX)
}

impl KindName {
    fn number(self) -> u16 {
        let kind = match self {
            Self::Open => RecordType::Open,
            Self::Data => RecordType::Data,
            Self::Gap => RecordType::Gap,
            Self::Conflict => RecordType::Conflict,
            Self::Close => RecordType::Close,
            Self::Packet => RecordType::Packet,
        };
        kind as u16
    }
}
