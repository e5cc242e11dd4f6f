//! `-w FILE`: writes the packets of what is printed, as pcapng.
//!
//! Files are read twice: the first time the numbers of packets are noted, the second time those of printed streams are copied.
//! Interfaces and pipes cannot be read again: copies of packets wait until their stream is chosen.
//!
//! `Keep` wraps a command's handler and asks it which streams it chooses (`Choose`), so that memory does not grow with
//! the packets of a file and comments know the end of a stream.

mod again;
mod choose;
mod comment;
mod gathered;
mod keep;
mod numbers;
mod ring;

use std::{
    path::PathBuf,
    sync::{Arc, atomic::Ordering},
};

use clap::Args;
use tidewire::{Mode, Stop};

use crate::{
    capture_args,
    error::{self, CliError},
    interrupt::INTERRUPTED,
    options::Common,
    own_input,
    packet_file::PacketFile,
    progress::Bar,
    session::{Closing, Session},
    shared_output::SharedOutput,
    units::counted,
};
use again::Copying;
pub use choose::{Choose, Want};
pub use comment::Comment;
use gathered::Gathered;
use keep::{Copies, Keep, Packets};
use ring::{RING_BYTES, Ring};

/// The option.
#[derive(Args, Clone, Debug, Default)]
pub struct WriteOption {
    /// Write the packets of what is printed, as pcapng
    ///
    /// `-` is standard output. The comment on a stream's first packet has its id, its addresses, its Community ID, what matched, and its anomalies. FILE
    /// has a hidden name until it is complete; a pipe is written as packets come. With `-` records are printed on standard error.
    #[arg(short = 'w', long, value_name = "FILE", help_heading = "Report")]
    write: Option<PathBuf>,
}

/// A run whose packets may be written.
pub struct Writing {
    common: Common,
    mode: Mode,
    file: Option<Arc<PacketFile>>,
    /// Whether the input is read a second time.
    rereads: bool,
    gathered: Gathered,
    left_out: u64,
}

impl WriteOption {
    /// Whether packets are written.
    pub fn is_on(&self) -> bool {
        self.write.is_some()
    }

    /// Opens the file, if there is one. `is_late`: what is printed is known only when the input has ended.
    pub fn begin(
        &self,
        common: &Common,
        mode: Mode,
        is_late: bool,
        session: &mut Session<'_>,
    ) -> Result<Writing, CliError> {
        let mut writing = Writing {
            common: common.clone(),
            mode,
            file: None,
            rereads: common.is_rereadable(),
            gathered: Gathered::default(),
            left_out: 0,
        };
        let Some(path) = &self.write else { return Ok(writing) };
        if let Some(number) = path.to_str().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())) {
            return Err(CliError::Usage(format!(
                "-w names a file of packets; the number of workers is -j {number} (for a file of that name: -w ./{number})"
            )));
        }
        if is_late && !writing.rereads {
            return Err(CliError::Usage(
                "-w with --limit or --top needs files that can be read twice, because only the end of the input shows which records \
                 are printed; save the packets first, or omit the limit"
                    .into(),
            ));
        }
        // Options are checked before a file is created.
        common.check(mode)?;
        own_input::refuse_over(capture_args::split(&common.files)?.0, path)?;
        let file = Arc::new(PacketFile::open(path, &session.stop)?);
        session.write_packets(&file, writing.rereads);
        writing.file = Some(file);
        Ok(writing)
    }
}

impl Writing {
    /// As [`Session::run`], with the packets of what the handlers choose.
    pub fn run<H: Choose + Send>(
        &mut self,
        session: &Session<'_>,
        sinks: &[&SharedOutput],
        mut make: impl FnMut(usize) -> H,
    ) -> Result<(Vec<H>, Closing), CliError> {
        let Some(file) = &self.file else { return session.run(self.mode, sinks, make) };
        let (workers, rereads) = (self.common.workers, self.rereads);
        let ran = session.run(self.mode, sinks, |index| {
            let packets = match rereads {
                true => Packets::Numbers(Gathered::of_worker(workers)),
                false => {
                    let ring = Ring::new(RING_BYTES / workers.max(1));
                    Packets::Copies(Copies { file: Arc::clone(file), ring, left_out: 0 })
                }
            };
            Keep { inner: make(index), packets }
        });
        let (kept, closing) = ran.map_err(|failure| match file.keep_what_is_there() {
            Ok(()) => failure,
            Err(other) => failure.graver(other),
        })?;
        let mut handlers = Vec::with_capacity(kept.len());
        for Keep { inner, packets } in kept {
            match packets {
                Packets::Numbers(gathered) => self.gathered.merge(gathered),
                Packets::Copies(copies) => self.left_out += copies.left_out,
            }
            handlers.push(inner);
        }
        Ok((handlers, closing))
    }

    /// Completes the file. `printed`: ids of what was printed, where the handlers left that open. `is_whole`: whether the run saw all that it was to
    /// see.
    ///
    /// # Errors
    /// Packets could not be written, or read again.
    pub fn finish(mut self, printed: impl IntoIterator<Item = u64>, is_whole: bool) -> Result<(), CliError> {
        let Some(file) = self.file.take() else { return Ok(()) };
        self.gathered.print(printed);
        let copied = if self.gathered.chosen.count() == 0 { Ok(()) } else { self.copy(&file) };
        error::graver(file.finish(is_whole && copied.is_ok()), copied)?;
        let left_out = self.left_out + self.gathered.left_out;
        if left_out > 0 {
            let packets = counted(left_out, "packet", "packets");
            error::notify(format_args!(
                "{}: {packets} of what was printed had no room in memory and are not in the file",
                file.name()
            ));
        }
        Ok(())
    }

    /// Reads the input again, and copies the packets that were chosen.
    fn copy(&self, file: &PacketFile) -> Result<(), CliError> {
        let (stop, mut common) = (Stop::new(), self.common.clone());
        common.workers = 1;
        let was_interrupted = INTERRUPTED.load(Ordering::Relaxed);
        let interrupted = || !was_interrupted && INTERRUPTED.load(Ordering::Relaxed);
        let (noticed, mut bar) = (stop.clone(), Bar::new());
        let capture = common.of_files(self.mode)?.stop_when(&stop).on_progress(move |progress| {
            if interrupted() {
                noticed.stop();
            }
            bar.iter_mut().for_each(|bar| bar.show(progress));
        });
        let (chosen, comments) = (&self.gathered.chosen, &self.gathered.comments);
        let copying = |_| Copying { chosen, comments, file, stop: stop.clone(), copied: 0 };
        let outcome = capture.run_frames(copying)?;
        let (copied, count) = (outcome.handler().copied, chosen.count());
        if copied < count && !file.has_failed() {
            let name = file.name();
            return Err(match interrupted() {
                true => CliError::Interrupted(format!("{name}: interrupted; {copied} of {count} packets were written")),
                false => CliError::Output(format!(
                    "{name}: the input changed before it was read a second time; {copied} of {count} packets were written"
                )),
            });
        }
        Ok(())
    }
}
