//! `tidewire extract`: writes each direction's bytes to a file, with an index.

mod files;
mod index;
mod other_output;

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

use clap::{Args, ValueEnum};
use rustix::process::{Resource, getrlimit};
use tidewire::{Chunk, Direction, EndReason, FlowKey, Gap, GapCause, Handler, Mode, Stop, Stream, legible::legible};

use crate::{
    error::{self, CliError},
    layout::Layout,
    options::Common,
    output::Out,
    place::folder::{self, Folder},
    print_rows::{self},
    record::{self, DIRECTIONS},
    row::Form,
    session::Session,
    shared_output::SharedOutput,
    units::{Bytes, Count, counted},
};
use files::{Files, with_hint};
use index::{INDEX, Line, Lines};

/// Longest gap that is filled: a forged segment must not fill a terabyte.
const FILL_BYTES_MAX: u64 = 16 << 20;

/// File descriptors reserved for standard streams, captures and libraries.
const DESCRIPTORS_KEPT: u64 = 32;

/// Default number of files in the closing table.
const LISTED: u64 = 20;

/// Write each direction's bytes to a file, with an index
///
/// Files are named ID-PROTO-CLIENT.PORT-SERVER.PORT.c2s (or .s2c). index.jsonl has one JSON object for each file, ordered by
/// id (interfaces: as streams end): name, addresses, bytes, SHA-256 of the file, and gaps as [offset in the stream, length,
/// cause]. Missing bytes are omitted from the file unless --fill is given.
///
/// A new directory has a hidden name until it is complete. In an existing directory, and in captures from interfaces, each
/// file has a hidden name until it is complete.
#[derive(Args, Debug)]
pub struct Options {
    /// Write to this directory; it is created if it does not exist
    #[arg(short = 'o', long, value_name = "DIR", help_heading = "Files")]
    pub output: Option<PathBuf>,

    /// Write to a directory that is not empty; files with the same names are replaced
    #[arg(long, help_heading = "Files")]
    force: bool,

    /// Filler for missing bytes. skip: nothing; zero, a character, or a byte as 0x3f: that byte repeated, at most
    /// 16 MiB for each gap; marker: a line of text with their number
    #[arg(long, value_name = "WHAT", default_value = "skip", help_heading = "Files")]
    fill: Fill,

    /// Most files open at once [default: the system's limit; interfaces: at most 480]
    #[arg(long, value_name = "N", value_parser = crate::arg_types::whole::<usize>, help_heading = "Files")]
    max_open: Option<usize>,

    /// Digest of each file in the index: sha256 or none
    #[arg(
        long,
        value_name = "DIGEST",
        value_enum,
        default_value = "sha256",
        hide_possible_values = true,
        help_heading = "Files"
    )]
    digest: DigestName,

    #[command(flatten)]
    pub common: Common,

    /// Print the index as well
    #[arg(long, help_heading = "Report")]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DigestName {
    Sha256,
    None,
}

/// Filler for missing bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fill {
    Skip,
    Byte(u8),
    Marker,
}

impl FromStr for Fill {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let byte = text.strip_prefix("0x").and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (text, byte, text.as_bytes()) {
            ("skip", ..) => Ok(Self::Skip),
            ("zero", ..) => Ok(Self::Byte(0)),
            ("marker", ..) => Ok(Self::Marker),
            (_, Some(byte), _) | (_, None, &[byte]) => Ok(Self::Byte(byte)),
            // clap puts "invalid value 'x' for '--fill <WHAT>'" before it.
            _ => Err("expected skip, zero, marker, one character, or a byte as in 0x3f".into()),
        }
    }
}

/// A stream's files: their numbers plus one; 0: none yet.
type Numbers = [u32; 2];

struct Extract {
    files: Files,
    fill: Fill,
    /// Whether the run ends with a signal, as a capture from interfaces does.
    is_live: bool,
    stop: Stop,
    lines: Lines,
    failure: Option<io::Error>,
}

impl Handler for Extract {
    type Data = Numbers;

    fn data(&mut self, stream: &mut Stream<'_, Numbers>, chunk: Chunk<'_>) {
        let bytes = chunk.fresh();
        if bytes.is_empty() {
            return;
        }
        let index = self.file(stream, chunk.direction);
        if self.failure.is_some() {
            return self.files.spoil(index);
        }
        let written = self.files.append(index, bytes);
        self.note(written);
    }

    fn gap(&mut self, stream: &mut Stream<'_, Numbers>, gap: Gap) {
        // Bytes beyond the cutoff, and removed urgent bytes, are not missing.
        let is_missing = !matches!(gap.cause, GapCause::Cutoff | GapCause::Urgent);
        if self.fill == Fill::Skip || !is_missing || self.failure.is_some() {
            return;
        }
        let index = self.file(stream, gap.direction);
        let written = match self.fill {
            Fill::Byte(byte) if gap.bytes <= FILL_BYTES_MAX => self.files.append_repeated(index, byte, gap.bytes),
            Fill::Skip | Fill::Byte(_) => Ok(()),
            Fill::Marker => {
                let cause = gap.cause.name().replace('_', " ");
                let marker = format!("\n[{} bytes missing at {}: {cause}]\n", gap.bytes, gap.offset);
                self.files.append(index, marker.as_bytes())
            }
        };
        self.note(written);
    }

    fn close(&mut self, stream: &mut Stream<'_, Numbers>, end: EndReason) {
        let numbers = std::mem::take(stream.data());
        for direction in DIRECTIONS {
            let number = numbers[direction as usize].checked_sub(1);
            if self.failure.is_some() && !matches!(end, EndReason::Fin | EndReason::Rst) {
                // The rest of the stream was not read. Removing the file frees space for complete ones.
                number.into_iter().for_each(|number| self.files.abandon(number));
                continue;
            }
            let is_whole = matches!(end, EndReason::Fin | EndReason::Rst) || self.is_live || !self.stop.is_stopped();
            let written = match number.map(|number| self.files.finish(number, is_whole)).transpose() {
                Ok(written) => written,
                Err(error) => {
                    self.note(Err(error));
                    continue;
                }
            };
            let gaps: Vec<Gap> = stream.gaps().iter().filter(|gap| gap.direction == direction).copied().collect();
            if written.is_some() || !gaps.is_empty() {
                let (id, key) = (stream.id(), stream.key());
                let (start_ns, end_ns) = (stream.start().as_nanos(), stream.end().as_nanos());
                self.lines.push(Line { id, key, direction, start_ns, end_ns, end, written, gaps });
            }
        }
    }
}

impl Extract {
    /// The file of a direction.
    fn file(&mut self, stream: &mut Stream<'_, Numbers>, direction: Direction) -> u32 {
        let number = stream.data()[direction as usize];
        if let Some(index) = number.checked_sub(1) {
            return index;
        }
        let index = self.files.begin(name(stream.id(), &stream.key(), direction));
        stream.data()[direction as usize] = index + 1;
        index
    }

    /// Stores the first error and ends the run.
    fn note(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.failure.get_or_insert(error);
            self.stop.stop();
        }
    }
}

/// `00000017-tcp-10.0.0.1.40000-10.0.0.2.80.c2s`; the colons of IPv6 become underscores.
fn name(id: u64, key: &FlowKey, direction: Direction) -> String {
    let place = |endpoint: tidewire::Endpoint| {
        let address = endpoint.address.to_string().replace(':', "_");
        if key.has_ports() { format!("{address}.{}", endpoint.port) } else { address }
    };
    let proto = record::proto_name(key.proto);
    format!("{id:08}-{proto}-{}-{}.{}", place(key.client), place(key.server), direction.name())
}

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<u8, CliError> {
    let Some(directory) = &options.output else {
        return Err(CliError::Usage("no output directory: name one with -o DIR".into()));
    };
    // Options are checked before a directory is created.
    options.common.need_bytes("extract")?;
    options.common.check(Mode::Strict)?;
    let open_max = (options.open_max()? / options.common.workers.max(1)).max(1);
    let is_live = options.common.live.is_on();
    let target = OutputDir::prepare(directory, options.force, is_live)?;
    let session = Session::new(&options.common)?.writing(&target.folder.by_handle());
    let sinks = if is_live { options.sinks(directory, &target.folder, &session.stop)? } else { Vec::new() };
    let digests = options.digest == DigestName::Sha256;
    let make = |_| Extract {
        files: Files::new(Arc::clone(&target.folder), target.staged.is_none(), digests, open_max),
        fill: options.fill,
        is_live,
        stop: session.stop.clone(),
        lines: options.lines(&sinks),
        failure: None,
    };
    let shared: Vec<&SharedOutput> = sinks.iter().map(|sink| &**sink).collect();
    let ran = session.run(Mode::Strict, &shared, make);
    let (handlers, closing) = ran.inspect_err(|_| target.abandon())?;
    let (mut all, mut failure) = (options.lines(&[]), None);
    for handler in handlers {
        all.files += handler.lines.files;
        all.bytes += handler.lines.bytes;
        all.gathered.extend(handler.lines.gathered);
        failure = failure.or(handler.failure);
    }
    all.gathered.sort_unstable_by_key(|line: &Line| (line.id, line.direction as u8));
    // Complete files are shown even if there is no space for the index.
    let is_whole = closing.is_whole();
    let indexed = if is_live { Ok(None) } else { index::write(&target.folder, &all.gathered, is_whole) };
    let whole = match &indexed {
        Ok(_) => counted(all.gathered.len() as u64, "direction is", "directions are") + " in " + INDEX,
        Err(_) => counted(all.files, "file is", "files are") + " whole, and not in " + INDEX,
    };
    let (hidden_index, failed_index) = match indexed {
        Ok(hidden) => (hidden, None),
        Err(error) => (None, Some(error)),
    };
    // A directory that lacks something keeps its hidden name.
    if let Some(error) = failure.or(failed_index) {
        let (name, there) = (directory.display(), target.hidden());
        return Err(CliError::Output(format!("{name}: writing failed: {error}; {whole}{there}")));
    }
    if let Err(error) = target.show() {
        return Err(CliError::Output(format!("{}: writing failed: {error}; {whole}", directory.display())));
    }
    if !is_whole {
        say_part(directory, &all, hidden_index.as_deref());
    }
    let mut out = Out::last();
    options.print(&all, directory, &mut out)?;
    closing.finish(&options.common, options.json, &mut out, error::OK)
}

/// Says what a run that ended early wrote, and which files of an earlier run it did not replace.
fn say_part(directory: &Path, lines: &Lines, hidden_index: Option<&str>) {
    let name = directory.display();
    let hidden =
        lines.gathered.iter().filter(|line| line.written.as_ref().is_some_and(|written| written.is_hidden)).count()
            as u64;
    let files = counted(lines.files, "file was", "files were");
    let beside = match hidden {
        0 => String::new(),
        hidden => format!("; {} of these hidden, beside those of an earlier run", Count(hidden)),
    };
    error::notify(format_args!("{name} is not whole: {files} written{beside}"));
    if let Some(hidden) = hidden_index {
        error::notify(folder::earlier_stays(&format!("{name}/{INDEX}"), "the index", hidden));
    }
}

/// The directory that is written, and its final name.
struct OutputDir {
    folder: Arc<Folder>,
    /// The whole directory is renamed at the end.
    staged: Option<Staged>,
}

/// A directory with a hidden name beside its final name.
struct Staged {
    parent: Folder,
    hidden: String,
    name: OsString,
}

impl OutputDir {
    /// Creates the directory; refuses one that is not empty unless `force` is set. The directory of a live capture has its
    /// final name at once, since the end is unknown.
    fn prepare(directory: &Path, force: bool, is_live: bool) -> Result<Self, CliError> {
        let name = directory.display();
        let cannot = |error| CliError::Output(format!("{name}: cannot create the directory: {}", with_hint(error)));
        if directory.is_symlink() && !directory.exists() {
            return Err(CliError::Usage(format!(
                "{name} is a symbolic link to nothing; remove it or name another directory"
            )));
        }
        if directory.exists() {
            if !directory.is_dir() {
                return Err(CliError::Usage(format!("{name} is a file; -o needs a directory")));
            }
            let folder = Folder::open(directory);
            let folder = folder.map_err(|error| CliError::Output(format!("{name}: cannot be used: {error}")))?;
            // Two runs at once would mix their files.
            folder.lock().map_err(|error| CliError::Output(format!("{name}: cannot be used: {error}")))?;
            let entries = fs::read_dir(folder.by_handle());
            let mut entries = entries.map_err(|error| CliError::Output(format!("{name}: cannot be read: {error}")))?;
            if entries.next().is_some() && !force {
                return Err(CliError::Usage(format!("{name} is not empty; name another directory, or use --force")));
            }
            if let Some(what) = other_output::in_folder(&folder.by_handle()) {
                return Err(CliError::Usage(format!("{name} holds {what}; name another directory")));
            }
            return Ok(Self { folder: Arc::new(folder), staged: None });
        }
        let Some(last) = directory.file_name() else {
            return Err(CliError::Usage(format!("invalid directory name '{name}'")));
        };
        let parent = folder::parent(directory).map_err(cannot)?;
        if is_live {
            let folder = parent.make(last).map_err(cannot)?;
            folder.lock().map_err(cannot)?;
            return Ok(Self { folder: Arc::new(folder), staged: None });
        }
        let hidden = parent.hidden(&last.to_string_lossy());
        let folder = Arc::new(parent.make(&hidden).map_err(cannot)?);
        Ok(Self { folder, staged: Some(Staged { parent, hidden, name: last.to_owned() }) })
    }

    /// Shows the complete directory.
    fn show(&self) -> io::Result<()> {
        let Some(staged) = &self.staged else { return Ok(()) };
        let checked = staged.parent.check_folder(staged.hidden.as_ref(), &self.folder);
        checked.and_then(|()| staged.parent.rename_new(&staged.hidden, &staged.name)).map_err(|error| {
            let why = match error.kind() {
                io::ErrorKind::AlreadyExists => "it is there by now, made by another".to_owned(),
                _ => error.to_string(),
            };
            io::Error::other(format!("{why}; what was written is {}", self.place_of(staged)))
        })
    }

    /// Where it is while it is not complete, for messages.
    fn hidden(&self) -> String {
        self.staged.as_ref().map(|staged| format!("; they are {}", self.place_of(staged))).unwrap_or_default()
    }

    fn place_of(&self, staged: &Staged) -> String {
        match staged.parent.check_folder(staged.hidden.as_ref(), &self.folder) {
            Ok(()) => staged.parent.place_of(&staged.hidden, None),
            Err(_) => "gone: another process removed, renamed or replaced the directory".into(),
        }
    }

    /// Removes the directory if nothing was read.
    fn abandon(&self) {
        if let Some(staged) = &self.staged {
            let _ = staged.parent.remove_empty(&staged.hidden);
        }
    }
}

impl Options {
    /// Lines to collect, or to write to the sinks, if any.
    fn lines(&self, sinks: &[Arc<SharedOutput>]) -> Lines {
        let gathered_max = match sinks {
            [] => usize::MAX,
            _ if self.json => 0,
            _ => usize::try_from(self.listed()).unwrap_or(usize::MAX),
        };
        Lines { gathered: Vec::new(), gathered_max, sinks: sinks.to_vec(), scratch: Vec::new(), files: 0, bytes: 0 }
    }

    /// Outputs for lines of the index as they come: the index, and with --json standard output.
    fn sinks(&self, directory: &Path, folder: &Folder, stop: &Stop) -> Result<Vec<Arc<SharedOutput>>, CliError> {
        let path = directory.join(INDEX);
        let cannot = |error| CliError::Output(format!("{}: cannot be written: {error}", path.display()));
        // With --force the index of an earlier run, or a link, may exist: it is removed, never written through. Nothing else is removed.
        folder.check_replaceable(INDEX.as_ref()).map_err(cannot)?;
        let _ = folder.remove(INDEX);
        let file = folder.create(INDEX).map_err(cannot)?;
        let mut sinks = vec![SharedOutput::new::<Line>(Form::Json, &Layout::default(), None, stop, Box::new(file))];
        if self.json {
            sinks.push(SharedOutput::stdout::<Line>(Form::Json, &Layout::default(), self.common.limit, stop));
        }
        Ok(sinks)
    }

    /// Number of lines that are printed.
    fn listed(&self) -> u64 {
        self.common.limit.unwrap_or(if self.json { u64::MAX } else { LISTED })
    }

    fn print(&self, lines: &Lines, directory: &Path, out: &mut Out) -> Result<(), CliError> {
        let limit = usize::try_from(self.listed()).unwrap_or(usize::MAX);
        let listed = lines.gathered.iter().take(limit);
        if self.json {
            return print_rows::print(listed, Form::Json, &Layout::default(), false, out);
        }
        let written = listed.filter(|line| line.written.is_some());
        print_rows::print(written, Form::Table, &Layout::default(), false, out)?;
        let (files, name) = (counted(lines.files, "file", "files"), directory.display().to_string());
        out.line(&format!("{files}, {} in {}; {INDEX} lists them", Bytes(lines.bytes), legible(&name)))
    }

    /// Number of files that may be open.
    fn open_max(&self) -> Result<usize, CliError> {
        let allowed = getrlimit(Resource::Nofile).current.unwrap_or(1 << 16);
        let allowed = self.common.live.numbers_for_files(allowed);
        let allowed = usize::try_from(allowed.saturating_sub(DESCRIPTORS_KEPT)).unwrap_or(usize::MAX).clamp(1, 1 << 16);
        match self.max_open {
            Some(0) => Err(CliError::Usage("--max-open must be at least 1, got 0".into())),
            Some(given) => Ok(given.min(allowed)),
            None => Ok(allowed),
        }
    }
}
