//! The order of things: queues, input, privileges, service, packets, end.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use tidewire::{
    Capture, Input, Ledger, Stop, Timestamp,
    live::{Change, Confinement, InterfaceState, LiveError, Purpose},
};
use tidewire_analyzers::Emit;
use tidewire_live::privilege::Connections;
use tidewire_outputs::Load;
use tidewire_queue::Server;

use super::{
    events::{Events, Writer},
    failure::{ENVIRONMENT, Failure},
    figures::Figures,
    inline::InlineAnalyzers,
    input,
    recording::Recording,
    records::RecordWriter,
    service::{Running, Service, Shared},
    words,
};
use crate::{
    QUEUES_SOCKET,
    config::{CaptureInput, SensorConfig},
    producer::{self, Queues, Ran},
    report::{CaptureEvent, CaptureStatus, LedgerStatus},
};

/// Warnings about damaged inputs, at most; the rest is counted.
const DAMAGES_MAX: usize = 20;

/// Whose process this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Process {
    /// The capture's: signals end it, privileges are given up.
    Own,
    /// Another program's, which runs the capture in it.
    Shared,
}

/// A capture that is to run.
pub(super) struct Run<'c> {
    pub config: &'c SensorConfig,
    pub stop: Stop,
    pub process: Process,
    pub events: Events,
    /// Where events of the analyzers go; `None`: the standard output.
    pub emit: Option<Arc<dyn Emit>>,
    /// Lent to the service while it runs.
    pub writer: Handoff<Writer>,
}

impl Run<'_> {
    /// Runs the capture to its end. Returns the last figures, and the exit code: other than 0 for parts of the input that were damaged.
    pub(super) fn run(&self) -> Result<(CaptureStatus, u8), Failure> {
        self.hide();
        self.set_nice();
        let inline = self.inline()?;
        let load = Load::new(self.config.capture.workers);
        let records = RecordWriter::open(self.config, &self.stop, &self.events, &load)?.map(Arc::new);
        let queues = Queues::new(&self.config.queues)?.giving_way_to(&load);
        let server = self.server(&queues)?;
        let recording = Recording::open(self.config, &self.events)?.map(Arc::new);
        let figures = Arc::new(Figures::default());
        let start = Start {
            config: self.config,
            process: self.process,
            writer: Arc::clone(&self.writer),
            inline: inline.as_ref(),
            records: records.clone(),
            recording: recording.clone(),
            service: Service {
                server,
                events: self.events.clone(),
                figures: Arc::clone(&figures),
                offered: queues.offered().to_vec(),
                awaited: self.awaited(&queues),
                stop: self.stop.clone(),
                rest: self.config.stop / 2,
                is_patient: matches!(self.config.capture.input, CaptureInput::Files(_)),
                shared: Arc::new(Shared::default()),
                analyzers: inline.as_ref().map(|inline| Arc::clone(&inline.analyzers)),
                records: records.clone(),
                recording: recording.clone(),
            },
        };
        let (inline_of, records_of, recording_of) = (inline.as_ref(), records.as_deref(), recording.as_deref());
        let beside = Beside { queues: &queues, inline: inline_of, records: records_of, recording: recording_of };
        let running = Mutex::new(None);
        let ran = match &self.config.capture.input {
            CaptureInput::Interfaces(names) => {
                self.capture_interfaces(names, beside, start, &running, (&figures, load))
            }
            CaptureInput::Files(paths) => self.capture_files(paths, beside, start, &running, &figures),
        };
        // Readers find the end of every queue: that all was published, or that it broke off.
        let is_whole = if ran.is_ok() {
            queues.finish()
        } else {
            drop(queues);
            self.stop.stop();
            false
        };
        // Before the figures of the end.
        let is_live = matches!(self.config.capture.input, CaptureInput::Interfaces(_));
        let is_written = match (&records, &ran) {
            // A failed output of interfaces was reported, and the capture went on.
            (Some(records), Ok(ran)) => records.finish(ran, is_live || !ran.interrupted) || is_live,
            (Some(records), Err(_)) => {
                records.abandon();
                false
            }
            (None, _) => true,
        };
        // Last, as a disk that refuses is waited for.
        if let Some(recording) = &recording {
            recording.finish();
        }
        let is_recorded = is_live || recording.as_ref().is_none_or(|recording| recording.is_whole());
        if let Some(left) = inline.as_ref().and_then(|inline| inline.finish(self.config.stop / 4)) {
            self.events.warn(left);
        }
        let status = match take(&running).map(Running::finish) {
            Some(Some((writer, status))) => {
                put(&self.writer, writer);
                status
            }
            _ => None,
        };
        let ran = ran?;
        self.warn_of_damage(&ran);
        match status {
            Some(status) if is_whole => {
                let code = if ran.input_errors.is_empty() && is_written && is_recorded { 0 } else { ENVIRONMENT };
                let (packets, ledger) = (ran.ledger.received, LedgerStatus::of(&ran.ledger));
                Ok((CaptureStatus { packets, ledger, ..status }.with_branches(), code))
            }
            _ => Err(Failure::new(ENVIRONMENT, "the thread that serves readers failed")),
        }
    }

    /// The analyzers of the configuration: with their files, which cannot be read later.
    fn inline(&self) -> Result<Option<InlineAnalyzers>, Failure> {
        let Some(settings) = self.config.inline.as_ref().filter(|settings| settings.is_any_enabled()) else {
            return Ok(None);
        };
        let is_patient = matches!(self.config.capture.input, CaptureInput::Files(_));
        match &self.emit {
            Some(to) => InlineAnalyzers::to(settings, Arc::clone(to)).map(Some),
            None if self.process == Process::Own => {
                InlineAnalyzers::over_output(settings, is_patient, &self.stop).map(Some)
            }
            None => Ok(None),
        }
    }

    /// By queue, the readers that it must have before the input begins.
    fn awaited(&self, queues: &Queues) -> Vec<usize> {
        queues.offered().iter().map(|queue| self.config.readers_awaited(queue.place, &queue.name)).collect()
    }

    /// No process of the same user looks into this process, takes its descriptors, or finds packets in a core dump.
    fn hide(&self) {
        if self.process == Process::Own
            && let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable)
        {
            self.events.warn(format!("processes of the same user can trace the capture: {error}"));
        }
    }

    fn set_nice(&self) {
        let nice = self.config.capture.nice;
        if self.process == Process::Own
            && nice != 0
            && let Err(error) = rustix::process::setpriority_process(None, nice)
        {
            self.events.warn(format!("the nice value {nice} cannot be set: {error}"));
        }
    }

    fn server(&self, queues: &Queues) -> Result<Server, Failure> {
        let directory = &self.config.directory;
        let failed = |path: &Path, error: std::io::Error| {
            let failure = Failure::new(ENVIRONMENT, format_args!("{}: {error}", path.display()));
            failure.hint("name a directory that the sensor may write to, and that no other sensor uses")
        };
        fs::create_dir_all(directory).map_err(|error| failed(directory, error))?;
        let path = directory.join(QUEUES_SOCKET);
        let mut server = Server::bind(&path).map_err(|error| failed(&path, error))?;
        if !self.config.users.is_empty() {
            server.allow_users(&self.config.users).map_err(|error| failed(&path, error))?;
        }
        queues.offer(&mut server)?;
        Ok(server)
    }

    fn capture_interfaces<'a>(
        &'a self,
        names: &[String],
        beside: Beside<'_>,
        start: Start<'a>,
        running: &'a Mutex<Option<Running>>,
        (figures, load): (&'a Figures, Load),
    ) -> Result<Ran, Failure> {
        let capture = input::interfaces(&self.config.capture, names, &self.stop)
            .on_level(move |worker, permille| load.report(worker, permille))
            .before_start(move |interfaces| {
                let inputs = interfaces.iter().map(|one| format!("{}: {}", one.name, one.description)).collect();
                if let Some(recording) = beside.recording {
                    recording.set_interfaces(interfaces.iter().map(|one| one.name.clone()).collect());
                }
                let started = start.start(inputs, &[]);
                put(running, started.map_err(|failure| LiveError::Callback(failure.words().into()))?);
                // No event would report them later.
                for one in interfaces.iter().filter(|one| one.state != InterfaceState::Up) {
                    self.events.warn(Change::Down.describe(&one.name, Purpose::Capture));
                }
                Ok(())
            })
            .on_report(move |report| {
                figures.captured(report);
                if let Some(records) = beside.records {
                    records.captured(report);
                }
            })
            .on_event(|event| self.events.warn(event.to_string()))
            .on_trouble(|trouble| {
                if let Some(text) = words::of_trouble(trouble) {
                    self.events.warn(text);
                }
            });
        beside.run(capture, self.config.capture.workers)
    }

    fn capture_files<'a>(
        &'a self,
        paths: &'a [PathBuf],
        beside: Beside<'_>,
        start: Start<'a>,
        running: &'a Mutex<Option<Running>>,
        figures: &'a Figures,
    ) -> Result<Ran, Failure> {
        let failed = Mutex::new(None);
        let begin = || {
            let inputs = paths.iter().map(|path| path.display().to_string()).collect();
            match start.start(inputs, paths) {
                Ok(started) => {
                    started.wait_for_readers();
                    put(running, started);
                }
                Err(failure) => {
                    put(&failed, failure);
                    self.stop.stop();
                }
            }
        };
        let capture = input::files(&self.config.capture, paths, &self.stop)?;
        let capture = capture.on_progress(|progress| {
            figures.read(progress.packets);
            if let Some(records) = beside.records {
                records.read();
            }
        });
        let report = |ledger: &Ledger, clock: Option<Timestamp>| {
            figures.counted(ledger);
            if let Some(records) = beside.records {
                records.report_pipe(ledger, clock);
            }
        };
        let capture = capture.on_ledger(report).before_start(begin);
        let ran = beside.run(capture, self.config.capture.workers);
        match take(&failed) {
            Some(failure) => Err(failure),
            None => ran,
        }
    }

    fn warn_of_damage(&self, ran: &Ran) {
        for error in ran.input_errors.iter().take(DAMAGES_MAX) {
            self.events.warn(error.to_string());
        }
        if let Some(more) = ran.input_errors.len().checked_sub(DAMAGES_MAX).filter(|more| *more > 0) {
            self.events.warn(format!("{more} more damaged parts of the input"));
        }
    }
}

/// Queues and analyzers, beside each other.
#[derive(Clone, Copy)]
struct Beside<'c> {
    queues: &'c Queues,
    inline: Option<&'c InlineAnalyzers>,
    records: Option<&'c RecordWriter>,
    recording: Option<&'c Recording>,
}

impl Beside<'_> {
    fn run<I: Input>(self, capture: Capture<I>, workers: usize) -> Result<Ran, Failure> {
        let capture = match self.recording {
            Some(recording) => recording.beside(capture)?,
            None => capture,
        };
        let (inline, records) =
            (self.inline.map(|inline| &*inline.analyzers), self.records.map(RecordWriter::producer));
        Ok(producer::run(capture, self.queues, inline, records, workers)?)
    }
}

/// A value that one function leaves for another.
pub(super) type Handoff<T> = Arc<Mutex<Option<T>>>;

/// Takes what is there.
pub(super) fn take<T>(place: &Mutex<Option<T>>) -> Option<T> {
    place.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn put<T>(place: &Mutex<Option<T>>, value: T) {
    *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
}

/// State for the step that follows once the input is open.
struct Start<'c> {
    config: &'c SensorConfig,
    process: Process,
    writer: Handoff<Writer>,
    inline: Option<&'c InlineAnalyzers>,
    records: Option<Arc<RecordWriter>>,
    recording: Option<Arc<Recording>>,
    service: Service,
}

impl Start<'_> {
    /// Gives up privileges, starts the threads, and says that analyzers can attach. `readable`: files that are opened later.
    fn start(self, inputs: Vec<String>, readable: &[PathBuf]) -> Result<Running, Failure> {
        let Self { config, process, writer, inline, records, recording, service } = self;
        let (events, stop) = (service.events.clone(), service.stop.clone());
        if process == Process::Own {
            // Before any thread starts: a thread keeps its privileges.
            if config.capture.sandbox {
                confine(&config.directory, readable, records.as_deref(), recording.as_deref(), &events)?;
            }
            let caught = ctrlc::set_handler(move || stop.stop());
            caught.map_err(|error| Failure::new(ENVIRONMENT, format_args!("signals cannot be handled: {error}")))?;
        }
        if let Some(inline) = inline {
            inline.start()?;
        }
        if let Some(recording) = recording {
            let started = recording.start();
            started.map_err(|error| Failure::new(ENVIRONMENT, format_args!("no thread for triggers: {error}")))?;
        }
        let writer = take(&writer).ok_or_else(|| Failure::new(ENVIRONMENT, "no channel to the supervisor"))?;
        let running = service.start(writer);
        let running = running.map_err(|error| Failure::new(ENVIRONMENT, format_args!("no thread: {error}")))?;
        events.send(CaptureEvent::Ready { inputs });
        Ok(running)
    }
}

/// Leaves what serving needs: memory for readers, the directory of the socket, which is removed at the end, and the folders and ports of
/// outputs and of the recording.
fn confine(
    directory: &Path,
    readable: &[PathBuf],
    records: Option<&RecordWriter>,
    recording: Option<&Recording>,
    events: &Events,
) -> Result<(), Failure> {
    let confinement = Confinement::new().pass_descriptors(true).writable(directory);
    let mut confinement = readable.iter().fold(confinement, |all, path| all.readable(path));
    if let Some(records) = records {
        confinement = records.folders().iter().fold(confinement, |all, path| all.writable(path));
        let ports = records.ports();
        if !ports.is_empty() {
            confinement = confinement.connect(Connections::To { ports: Some(ports), names: false });
        }
    }
    let segments = recording.map_or_else(Vec::new, Recording::folders);
    confinement = segments.iter().fold(confinement, |all, path| all.writable(path));
    let confined = confinement.confine().map_err(tidewire::Error::from)?;
    for missing in &confined.missing {
        events.warn(missing.as_str());
    }
    Ok(())
}
