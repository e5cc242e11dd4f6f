//! Builds the library and programs that use it; lines that readers print.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::OnceLock,
    time::Duration,
};

use tempfile::TempDir;
use tidewire_queue::{
    Next, Reader, Record,
    records::{Event, RecordType},
};
use tidewire_testing::{Ends as _, InTime as _, Lines, missing};

/// The folder with the libraries as this build makes them: no test links them, so that cargo does not build them for tests.
pub fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let own = env::current_exe().unwrap();
        // target/PROFILE/deps/NAME
        let folder = own.parent().and_then(Path::parent).unwrap();
        let profile = folder.file_name().and_then(|name| name.to_str()).unwrap();
        let profile = if profile == "debug" { "dev" } else { profile };
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--locked", "--offline", "-p", "tidewire-queue-c", "--lib", "--profile", profile]);
        cargo.arg("--target-dir").arg(folder.parent().unwrap());
        let built = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).run_within(Duration::from_secs(1200)).unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        folder.to_owned()
    })
}

/// Where a program's source is.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// A program in C, linked with the shared library or, with `is_static`, the archive; `None`: there is no compiler.
pub fn program(name: &str, is_static: bool) -> Option<PathBuf> {
    compile(&source(name), is_static)
}

/// As [`program`], of any file.
pub fn compile(file: &Path, is_static: bool) -> Option<PathBuf> {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    if let Some(reason) = missing(&["cc"]) {
        println!("skipped: {reason}");
        return None;
    }
    let folder = FOLDER.get_or_init(|| tempfile::tempdir().unwrap()).path();
    // Each test has its own: they run at once.
    let out = tempfile::Builder::new().prefix("program").tempfile_in(folder).unwrap().into_temp_path().to_owned();
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g"]);
    compiler.arg("-I").arg(source("include")).arg(file).arg("-o").arg(&out);
    if is_static {
        compiler.arg(built().join("libtidewire_queue_c.a")).args(["-lgcc_s", "-lpthread", "-lm", "-ldl"]);
    } else {
        compiler.arg(library()).arg(format!("-Wl,-rpath,{}", library().parent().unwrap().display()));
    }
    let output = compiler.run_in_time().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(out)
}

/// The shared library under the name that programs ask for.
pub fn library() -> PathBuf {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        for name in ["libtidewire_queue.so", "libtidewire_queue.so.0"] {
            std::os::unix::fs::symlink(built().join("libtidewire_queue_c.so"), folder.path().join(name)).unwrap();
        }
        folder
    });
    folder.path().join("libtidewire_queue.so")
}

/// A reader in another process.
pub struct Other {
    pub child: Child,
    pub lines: Lines,
}

impl Other {
    pub fn start(program: &Path, words: &[&str]) -> Self {
        let mut child =
            Command::new(program).args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = Lines::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// Its lines, after it ended well.
    pub fn rest(self) -> Vec<String> {
        let lines = self.lines.rest();
        let output = self.child.output_in_time("a reader");
        assert!(output.status.success(), "{:?}: {}", output.status, String::from_utf8_lossy(&output.stderr));
        lines
    }
}

/// The reader in Python; `None`: there is no Python.
pub fn python() -> Option<PathBuf> {
    match missing(&["python3"]) {
        Some(reason) => {
            println!("skipped: {reason}");
            None
        }
        None => Some(source("tests/python/reader.py")),
    }
}

/// FNV-1a.
fn checksum(data: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    data.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

fn line(what: &str, record: &Record, payload: &[u8]) -> String {
    let (mut data, mut bytes, mut client): (&[u8], u64, String) = (&[], 0, "-".into());
    match (what, Event::new(record, payload)) {
        ("missed", _) => bytes = u64::from(record.bytes),
        (_, Some(Event::Open { open, .. })) => client = format!("{}:{}", open.key.client.address, open.key.client.port),
        (_, Some(Event::Data { bytes: all, .. } | Event::Packet { bytes: all, .. })) => {
            (data, bytes) = (all, all.len() as u64);
        }
        (_, Some(Event::Gap(gap))) => bytes = gap.bytes,
        (_, Some(Event::Conflict(conflict))) => bytes = conflict.bytes,
        _ => {}
    }
    let kinds = ["-", "open", "data", "gap", "conflict", "close", "packet"];
    let kind = kinds[RecordType::from_number(record.kind).map_or(0, |kind| kind as usize)];
    let Record { sequence, stream, offset, time_ns, .. } = record;
    let (flags, code) = (record.flags & 0xff, record.code());
    format!(
        "{what} {kind} {sequence} {stream} {offset} {time_ns} {bytes} {flags} {code} {} {:016x} {client}",
        data.len(),
        checksum(data)
    )
}

/// The output of the other readers, by the Rust reader.
pub fn by_rust(reader: &mut Reader) -> Vec<String> {
    let mut lines = Vec::new();
    let mut payload = Vec::new();
    let nothing = checksum(&[]);
    loop {
        payload.clear();
        match reader.next_timeout(&mut payload, Duration::from_millis(20)).unwrap() {
            Next::Record(record) => lines.push(line("record", &record, &payload)),
            Next::Missed(record) => lines.push(line("missed", &record, &[])),
            Next::Lost { first, bytes, .. } => {
                lines.push(format!("lost - {first} 0 0 0 {bytes} 0 0 0 {nothing:016x} -"));
            }
            Next::Empty => {}
            Next::Ended(why) => {
                lines.push(format!("ended - 0 0 0 0 0 0 {} 0 {nothing:016x} -", why.word()));
                let progress = reader.progress();
                let [first, published] = [reader.first(), reader.published()];
                lines.push(format!(
                    "figures {first} {} {published} {} {} {} {}",
                    progress.sequence, progress.read, progress.missed, progress.lost, progress.passed
                ));
                return lines;
            }
        }
    }
}

/// The same lines, or where they begin to differ.
pub fn assert_same(name: &str, lines: &[String], expected: &[String]) {
    if let Some((at, (line, expected))) = lines.iter().zip(expected).enumerate().find(|(_, (a, b))| a != b) {
        panic!("{name}: line {at}:\n{line}\n{expected}");
    }
    assert_eq!(lines.len(), expected.len(), "{name}: {:?}", lines.last());
}

/// A text in C without its comments.
pub fn code_of(text: &str) -> String {
    let parts = text.split("/*").map(|part| part.split_once("*/").map_or(part, |(_, code)| code));
    parts.collect::<Vec<_>>().join(" ")
}

/// Functions that a header declares.
pub fn declared_in(header: &str) -> Vec<String> {
    let header = fs::read_to_string(source(&format!("include/tidewire/{header}.h"))).unwrap();
    let code = code_of(&header);
    // Without macros, which end with their line.
    let code = code.replace("\\\n", " ");
    let code: String = code.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    let words = code.split("tidewire_").skip(1);
    let names = words.filter_map(|rest| rest.split_once('(').map(|(name, _)| name));
    let is_name = |name: &&str| name.chars().all(|c| c == '_' || c.is_ascii_lowercase());
    let mut names: Vec<String> = names.filter(is_name).map(|name| format!("tidewire_{name}")).collect();
    names.sort();
    names.dedup();
    names
}

/// Functions that the headers declare.
pub fn declared() -> Vec<String> {
    let mut names = declared_in("queue");
    names.extend(declared_in("event"));
    names.sort();
    names.dedup();
    names
}
