//! The analyzers of the README: one in C, one in Rust, one in Python over `tidewire attach`. Each finds the HTTP requests in
//! streams, beside the others and whatever becomes of them.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use tidewire_queue::Geometry;
use tidewire_testing::{Ends as _, InTime as _, Lines, Signal, missing, signal, skip, wait_until};

use crate::attach::sensor::{C2S, S2C, Sensor, Stream};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Where this build puts programs and libraries.
fn target() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_tidewire")).parent().unwrap()
}

/// Builds the library in C and the example in Rust.
fn build() {
    let profile = target().file_name().and_then(|name| name.to_str()).unwrap();
    let profile = if profile == "debug" { "dev" } else { profile };
    for what in [["tidewire-queue-c", "--lib"].as_slice(), &["tidewire-queue", "--example", "http"]] {
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args(["build", "--locked", "--offline", "--profile", profile, "--target-dir"])
            .arg(target().parent().unwrap());
        let built = cargo.arg("-p").args(what).current_dir(ROOT).run_within(Duration::from_secs(1200)).unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    }
}

/// The analyzer in C, compiled as the README says, but for where the library is.
fn in_c(folder: &Path) -> PathBuf {
    let program = folder.join("http");
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"]);
    compiler.arg(Path::new(ROOT).join("crates/tidewire-queue-c/include")).arg("-o").arg(&program);
    compiler.arg(Path::new(ROOT).join("examples/http.c")).arg(target().join("libtidewire_queue_c.a"));
    let output = compiler.args(["-lgcc_s", "-lpthread", "-lm", "-ldl"]).run_in_time().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

struct Analyzer {
    child: Child,
    lines: Lines,
}

impl Analyzer {
    fn start(program: &Path, words: &[&str], socket: &Path, is_by_environment: bool) -> Self {
        let mut command = Command::new(program);
        if is_by_environment {
            let variables = [("TIDEWIRE_QUEUE", "streams"), ("TIDEWIRE_NAME", "http")];
            command.args(words).envs(variables).env("TIDEWIRE_SOCKET", socket);
        } else {
            command.args(words).arg(socket).arg("streams");
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = Lines::new(child.stdout.take().unwrap());
        Self { child, lines }
    }
}

/// A request in pieces, an answer that looks like one, a request without its beginning, something else.
fn publish(sensor: &mut Sensor, id: u64) -> String {
    let mut stream = Stream::new(id);
    let request = format!("POST /form/{id}?x=%20 HTTP/1.0\r\nHost: x\r\n\r\n");
    for piece in request.as_bytes().chunks(1 + id as usize % 7) {
        sensor.say(&mut stream, C2S, piece);
    }
    sensor.say(&mut stream, S2C, b"GET /no HTTP/1.1\r\n\r\n");
    sensor.close(&mut stream);
    let mut other = Stream::new(id + 10_000);
    sensor.miss(&mut other, C2S, 5);
    sensor.say(&mut other, C2S, b"GET /late HTTP/1.1\r\n\r\n");
    let mut other = Stream::new(id + 20_000);
    sensor.say(&mut other, C2S, b"get /lower HTTP/1.1\r\n\r\n");
    format!("192.0.2.1:{} > 198.51.100.2:80 POST /form/{id}?x=%20", 40_000 + id)
}

#[test]
fn analyzers_in_three_languages_find_requests_beside_each_other() {
    if let Some(reason) = missing(&["cc", "python3"]) {
        return skip(reason);
    }
    build();
    let folder = tempfile::tempdir().unwrap();
    let mut sensor = Sensor::new(folder.path(), Geometry::new(1 << 14, 1 << 22), 1);
    let socket = sensor.socket.clone();
    let rust = target().join("examples/http");
    let script = Path::new(ROOT).join("examples/http.py");
    let tidewire = Path::new(env!("CARGO_BIN_EXE_tidewire"));
    let fed = format!("exec python3 {}", script.display());
    let over_json = ["attach", "streams", "--exec", &fed, "--socket", socket.to_str().unwrap()];
    let mut analyzers = vec![
        ("C", Analyzer::start(&in_c(folder.path()), &[], &socket, false)),
        ("C, started", Analyzer::start(&in_c(folder.path()), &[], &socket, true)),
        ("Rust", Analyzer::start(&rust, &[], &socket, false)),
        ("Rust, started", Analyzer::start(&rust, &[], &socket, true)),
        ("Python", Analyzer::start(tidewire, &over_json, &socket, true)),
    ];
    sensor.wait_for_readers(analyzers.len());
    for id in 1..=60 {
        let expected = publish(&mut sensor, id);
        for (name, analyzer) in &analyzers {
            assert_eq!(analyzer.lines.next(name).as_ref(), Some(&expected), "{name}");
        }
        // One of each kind dies on the way; the others go on.
        if id == 20 || id == 40 {
            let (name, mut dead) = analyzers.remove(if id == 20 { 0 } else { 1 });
            signal(&dead.child, Signal::KILL);
            dead.child.wait_in_time(name);
            sensor.wait_for_readers(analyzers.len());
        }
    }
    sensor.finish();
    for (name, analyzer) in analyzers {
        assert_eq!(analyzer.lines.rest(), [] as [String; 0], "{name}");
        assert_eq!(analyzer.child.output_in_time(name).status.code(), Some(0), "{name}");
    }
    wait_until("all places are free", || sensor.readers() == 0);
}
