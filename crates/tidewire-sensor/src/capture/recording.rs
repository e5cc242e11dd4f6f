//! The recording of the capture's packets, beside everything else that is made of them.
//!
//! A recorder ends last: a disk that refuses or is slow keeps neither queues nor outputs from their own ends.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use tidewire::{Batch, Capture, CaptureLoss, FrameHandler, PacketLoss, Supplement, Timestamp};
use tidewire_archive::block::Interface;
use tidewire_outputs::place::links::{self, Missing};
use tidewire_recorder::{Control, Folders, Notice, OpenError, Recorder, Recording as Opened, RecordingOptions};

use super::{
    events::Events,
    failure::{CONFIGURATION, ENVIRONMENT, Failure},
};
use crate::{
    RECORD_SOCKET,
    config::SensorConfig,
    report::{RecordDirectory, RecordStatus},
};

/// A recording, and its control socket.
pub(super) struct Recording {
    opened: Opened,
    control: Mutex<Option<Control>>,
    /// Recorders whose packets have ended.
    ended: Arc<Mutex<Vec<Recorder>>>,
    /// Why nothing can be written at this moment.
    failing: Arc<Mutex<Option<String>>>,
}

/// A recorder whose end is put off: when the packets end it is kept.
struct DeferredRecorder {
    recorder: Option<Recorder>,
    ended: Arc<Mutex<Vec<Recorder>>>,
}

impl DeferredRecorder {
    fn each(&mut self, call: impl FnOnce(&mut Recorder)) {
        self.recorder.as_mut().map(call);
    }
}

impl FrameHandler for DeferredRecorder {
    fn frames(&mut self, batch: &Batch<'_>) {
        self.each(|recorder| recorder.frames(batch));
    }

    fn describe(&mut self, number: u16, interface: &Interface) {
        self.each(|recorder| recorder.describe(number, interface));
    }

    fn wants_comments(&self) -> bool {
        self.recorder.as_ref().is_some_and(FrameHandler::wants_comments)
    }

    fn comment(&mut self, number: u64, options: &[u8]) {
        self.each(|recorder| recorder.comment(number, options));
    }

    fn supplements(&mut self, supplements: &[Supplement]) {
        self.each(|recorder| recorder.supplements(supplements));
    }

    fn losses(&mut self, losses: &[PacketLoss]) {
        self.each(|recorder| recorder.losses(losses));
    }

    fn capture_losses(&mut self, losses: &[CaptureLoss]) {
        self.each(|recorder| recorder.capture_losses(losses));
    }

    fn quiet(&mut self, until: Option<Timestamp>) {
        self.each(|recorder| recorder.quiet(until));
    }

    fn level(&mut self, permille: u32) {
        self.each(|recorder| recorder.level(permille));
    }

    fn patience(&self) -> Duration {
        self.recorder.as_ref().map_or(Duration::MAX, FrameHandler::patience)
    }

    fn dropped(&mut self, frames: u64) {
        self.each(|recorder| recorder.dropped(frames));
    }

    fn finish(&mut self) {
        let recorder = self.recorder.take();
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).extend(recorder);
    }
}

impl Recording {
    /// Opens the directories of the configuration, if it has a recording, and makes its control socket. The privileges are those of the
    /// start.
    pub(super) fn open(config: &SensorConfig, events: &Events) -> Result<Option<Self>, Failure> {
        let Some(record) = &config.record else { return Ok(None) };
        let folders = Folders {
            make: |path| links::folder(path, Missing::MakeOwn),
            find: |path| links::folder(path, Missing::Refuse).map(|(handle, _)| handle),
        };
        let (log, failing) = (events.clone(), Arc::<Mutex<Option<String>>>::default());
        let noted = Arc::clone(&failing);
        let notify = move |notice: Notice| {
            let mut failing = noted.lock().unwrap_or_else(PoisonError::into_inner);
            match &notice {
                Notice::Failed { error, .. } => *failing = Some(error.to_string()),
                Notice::Recovered { .. } => *failing = None,
                _ => {}
            }
            drop(failing);
            if let Some(text) = notice.words() {
                log.warn(text);
            }
        };
        // Queues and records go on without it: what it stops is only itself.
        let stop = tidewire::Stop::new();
        // Each step of the end has this time; what is written by then is complete, and the rest is counted.
        let options =
            RecordingOptions { patience: record.options.patience.min(config.stop / 4), ..record.options.clone() };
        let opened = Opened::open(&options, folders, &stop, notify).map_err(|error| match error {
            OpenError::Option(_) | OpenError::Filter(_) => Failure::new(CONFIGURATION, format_args!("record: {error}")),
            error => Failure::new(ENVIRONMENT, format_args!("record: {error}")),
        })?;
        let mut control = None;
        if record.options.is_live && opened.trigger().is_some() {
            let path = config.directory.join(RECORD_SOCKET);
            let bound = Control::bind(&path);
            let failed = |error| Failure::new(ENVIRONMENT, format_args!("{}: {error}", path.display()));
            control = Some(bound.map_err(failed)?);
        }
        Ok(Some(Self { opened, control: Mutex::new(control), ended: Arc::default(), failing }))
    }

    /// Has each worker's frames recorded.
    pub(super) fn beside<I>(&self, capture: Capture<I>) -> Result<Capture<I>, Failure> {
        let recorders = self.opened.recorders();
        let recorders = recorders.map_err(|error| Failure::new(CONFIGURATION, format_args!("record: {error}")))?;
        let mut recorders: Vec<_> = recorders.into_iter().map(Some).collect();
        let ended = Arc::clone(&self.ended);
        Ok(capture.frames_beside(move |worker| -> Box<dyn FrameHandler + Send> {
            let recorder = recorders.get_mut(worker).and_then(Option::take);
            Box::new(DeferredRecorder { recorder, ended: Arc::clone(&ended) })
        }))
    }

    /// Writes what is left, and completes the segments: of all workers at the same time.
    pub(super) fn finish(&self) {
        let ended = std::mem::take(&mut *self.ended.lock().unwrap_or_else(PoisonError::into_inner));
        thread::scope(|scope| {
            ended.into_iter().for_each(|mut recorder| drop(scope.spawn(move || recorder.finish())));
        });
    }

    /// States the interfaces, before the first packet.
    pub(super) fn set_interfaces(&self, names: Vec<String>) {
        self.opened.set_interfaces(names);
    }

    /// Takes triggers from other processes. Privileges are given up by now.
    pub(super) fn start(&self) -> std::io::Result<()> {
        let control = self.control.lock().unwrap_or_else(PoisonError::into_inner).take();
        match (control, self.opened.trigger()) {
            (Some(control), Some(trigger)) => control.start(trigger),
            _ => Ok(()),
        }
    }

    /// The folders that segments are made in.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        self.opened.folders()
    }

    /// Whether everything was written that was to be, once the packets have ended.
    pub(super) fn is_whole(&self) -> bool {
        !self.opened.is_failed()
    }

    /// Figures of now.
    pub(super) fn status(&self) -> RecordStatus {
        let directories = self.opened.targets().directories().iter().map(|directory| {
            let kept = directory.kept();
            RecordDirectory { path: directory.path().to_owned(), segments: kept.segments, bytes: kept.bytes }
        });
        RecordStatus {
            figures: self.opened.snapshot(),
            directories: directories.collect(),
            failed: self.opened.is_failed(),
            failing: self.failing.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}
