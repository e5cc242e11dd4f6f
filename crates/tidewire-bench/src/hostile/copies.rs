//! Runs of one command over many captures, for which its start is paid once.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    os::{
        fd::OwnedFd,
        unix::{fs::FileExt, net::UnixStream},
    },
    path::{Path, PathBuf},
    process::{Child, Command},
    time::Duration,
};

use crate::program::{COUNTER, bytes_in, counted, temporary_file};

/// Longest wait for a run: the longest takes half a minute on an idle machine.
const PATIENCE: Duration = Duration::from_secs(900);

/// Settings of glibc by which large copies use vectors. `rep movsb` is one instruction for any length, of which valgrind counts each byte.
const TUNABLES: &str = "glibc.cpu.x86_rep_movsb_threshold=1000000000:glibc.cpu.x86_rep_stosb_threshold=1000000000";

/// A command under valgrind that stands before its first thread (`peers/fork.c`): each run is a copy of it. Its capture has the same name
/// each time, and so have its places.
pub(super) struct Copies {
    program: Child,
    requests: UnixStream,
    output: File,
    errors: File,
    places: PathBuf,
}

impl Copies {
    /// Starts a command. `library`: the compiled `fork.c`. `places`: a folder that is empty before each run, and removed at the end.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn start(command: &[String], library: &Path, places: &Path) -> io::Result<Self> {
        let (requests, theirs) = UnixStream::pair()?;
        requests.set_read_timeout(Some(PATIENCE))?;
        let (output, errors) = (temporary_file()?, temporary_file()?);
        let program = Command::new(COUNTER[0])
            .args(&COUNTER[1..])
            .args(command)
            .env("LD_PRELOAD", library)
            .env("GLIBC_TUNABLES", TUNABLES)
            .stdin(OwnedFd::from(theirs))
            .stdout(output.try_clone()?)
            .stderr(errors.try_clone()?)
            .spawn()?;
        Ok(Self { program, requests, output, errors, places: places.to_owned() })
    }

    /// One run to its end: the instructions since the command's start, and the bytes that it wrote to its standard output and into its places.
    ///
    /// # Errors
    /// The command ended before its first thread, does not end, or counted nothing.
    pub(super) fn run(&mut self) -> Result<(f64, u64), String> {
        empty(&self.places).map_err(|error| format!("{}: {error}", self.places.display()))?;
        let before = self.lengths()?;
        let mut status = [0; 4];
        let answered = self.requests.write_all(b"r").and_then(|()| self.requests.read_exact(&mut status));
        let errors = self.errors_behind(before[1]).map_err(|error| error.to_string())?;
        answered.map_err(|error| format!("no run: {error}: {errors}"))?;
        let instructions = counted(&errors).map_err(|error| format!("{error}: {errors}"))?;
        let places_bytes = bytes_in(&self.places).map_err(|error| error.to_string())?;
        Ok((instructions, self.lengths()?[0] - before[0] + places_bytes))
    }

    /// Bytes of standard output and standard error.
    fn lengths(&self) -> Result<[u64; 2], String> {
        let length = |file: &File| file.metadata().map(|metadata| metadata.len()).map_err(|error| error.to_string());
        Ok([length(&self.output)?, length(&self.errors)?])
    }

    /// Standard error of the last run. The program's place in the file stays where it is.
    fn errors_behind(&self, offset: u64) -> io::Result<String> {
        let mut bytes = vec![0; usize::try_from(self.errors.metadata()?.len() - offset).unwrap_or_default()];
        self.errors.read_exact_at(&mut bytes, offset)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        // The original ends with its socket. Where it does not even read that, it is not needed any more.
        let _ = self.requests.shutdown(std::net::Shutdown::Both);
        let _ = self.program.kill();
        let _ = self.program.wait();
        let _ = fs::remove_dir_all(&self.places);
    }
}

/// Makes a folder empty.
fn empty(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::create_dir_all(folder),
    }
}
