//! `tidewire event emit`: events of scripts.

use std::{
    borrow::Cow,
    env,
    io::{self, BufRead as _, IsTerminal as _, Read as _},
    net::IpAddr,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use clap::{Args, Subcommand};
use tidewire_event_socket::{Events, EventsError};
use tidewire_events::{Event, FlowKey, Severity, Value, is_name, limits::MESSAGE_BYTES_MAX};
use tidewire_sensor::supervisor::STATUS_SOCKET;

use super::options::SeverityName;
use crate::{
    error::{self, CliError, notify},
    times,
    units::{Span, counted},
};

/// A sensor's directory, and its socket for events.
const DIRECTORY: &str = "/run/tidewire";
const SOCKET: &str = "events.sock";
/// The default name of an analyzer.
const NAME: &str = "command";
/// How long the event processor may take to store what was sent.
const WAIT: Duration = Duration::from_secs(30);
/// How often a connection is tried.
const RETRY: Duration = Duration::from_millis(50);
/// Bytes of a line of JSON: its escapes may be six bytes for each of a message.
const LINE_BYTES_MAX: u64 = 6 * MESSAGE_BYTES_MAX as u64;
/// Lines with mistakes that are named.
const NAMED_MAX: u64 = 20;

const EXAMPLES: &str = "\
Examples:
  tidewire event emit --kind backup.failed --severity high --field host=db1 --field bytes=0
  tidewire event emit --kind login.failed --client 192.0.2.7:40000 --server 198.51.100.2:22 --proto tcp
  tidewire event emit --analyzer ids < events.jsonl

Exit status: 0 when every event is durable; 2 a wrong option or line (the other lines are emitted); 3 no sensor, or it refuses, or did
not store everything in time.";

/// Emit events of your own to a running sensor
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  tidewire event emit --kind backup.failed --severity high")]
pub struct EventOptions {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Subcommand, Debug)]
enum Commands {
    Emit(EmitOptions),
}

/// Emit an event, or those of standard input
///
/// Ends with exit code 0 only when everything is durable. Without --kind, standard input has one event on each line, a JSON object
/// (docs/events.md) with at least `kind`; `time_ns` is the present time where it is left out.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct EmitOptions {
    /// Kind of the event, as in login.failed; without it, events are read from standard input
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,

    /// How bad it is: info, low, medium, high, critical [default: info]
    #[arg(long, value_name = "SEVERITY", value_enum, hide_possible_values = true, requires = "kind")]
    severity: Option<SeverityName>,

    /// A further field, as in user=alice or user:text=1. May be repeated
    ///
    /// Whole numbers, true and false are what they look like, all else is text; NAME:TYPE=VALUE says what it is: text, u64, i64,
    /// f64, bool, addr, time (nanoseconds since 1970) or bytes (hexadecimal).
    #[arg(long, value_name = "NAME=VALUE", requires = "kind")]
    field: Vec<String>,

    /// The client: an address, or an address and a port, as in 192.0.2.7:40000 (IPv6 with a port in brackets)
    #[arg(long, value_name = "ADDR:PORT", requires = "server")]
    client: Option<String>,

    /// The server
    #[arg(long, value_name = "ADDR:PORT", requires = "client")]
    server: Option<String>,

    /// The protocol: tcp, udp, icmp … or a number [default: tcp]
    #[arg(long, value_name = "PROTO", requires = "client")]
    proto: Option<String>,

    /// The id of the stream
    #[arg(long, value_name = "ID", requires = "kind", value_parser = crate::arg_types::whole::<u64>)]
    stream: Option<u64>,

    /// When it was, as for tidewire events --since [default: now]
    #[arg(long, value_name = "TIME", requires = "kind")]
    time: Option<String>,

    /// Text that the event is about, at most 4096 bytes
    #[arg(long, value_name = "TEXT", requires = "kind")]
    excerpt: Option<String>,

    /// Who found it [default: TIDEWIRE_NAME, else command]
    #[arg(long, value_name = "NAME")]
    analyzer: Option<String>,

    /// The sensor's directory [default: that of TIDEWIRE_EVENTS, else /run/tidewire]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,

    /// How long storing may take [default: 30s]
    #[arg(long, value_name = "TIME")]
    wait: Option<Span>,
}

/// Runs the subcommand.
pub fn run(options: &EventOptions) -> Result<u8, CliError> {
    let Commands::Emit(options) = &options.command;
    let analyzer = options.analyzer.clone().or_else(|| env::var("TIDEWIRE_NAME").ok().filter(|name| !name.is_empty()));
    let analyzer = analyzer.unwrap_or_else(|| NAME.into());
    // Before a connection: what is wrong with the options is no matter of the sensor.
    let event = options.kind.as_ref().map(|kind| options.event(kind, &analyzer)).transpose()?;
    if event.is_none() && io::stdin().is_terminal() {
        let what = "nothing to emit: name --kind, or write events to standard input, one JSON object on each line";
        return Err(CliError::Usage(what.into()));
    }
    let wait = options.wait.map_or(WAIT, |wait| Duration::from_nanos(wait.0));
    let events = connect(&options.socket(), &analyzer, wait).map_err(|error| CliError::Input(error.to_string()))?;
    events.set_wait_limit(wait);
    let failed = |error: EventsError| CliError::Input(format!("not everything is stored: {error}"));
    let wrong = match event {
        Some(event) => {
            events.emit(&event).map_err(failed)?;
            0
        }
        None => emit_lines(&events, &analyzer)?,
    };
    events.flush(wait).map_err(failed)?;
    if wrong > 0 {
        let what = counted(wrong, "line was not emitted", "lines were not emitted");
        return Err(CliError::Usage(format!("{what}; all others are stored")));
    }
    Ok(error::OK)
}

/// Connects, also to an event processor that is just being started again: its sensor runs as long as the socket of its status is there.
fn connect(socket: &Path, analyzer: &str, wait: Duration) -> Result<Events, EventsError> {
    let begun = Instant::now();
    loop {
        match Events::connect(socket, analyzer) {
            Err(EventsError::Connect { .. })
                if begun.elapsed() < wait && socket.with_file_name(STATUS_SOCKET).exists() =>
            {
                std::thread::sleep(RETRY);
            }
            connected => return connected,
        }
    }
}

/// Emits the lines of standard input; returns how many are no events, each of which was named.
fn emit_lines(events: &Events, analyzer: &str) -> Result<u64, CliError> {
    let mut input = io::stdin().lock();
    let (mut line, mut number, mut wrong, mut renamed) = (Vec::new(), 0_u64, 0, 0);
    loop {
        line.clear();
        let read = input.by_ref().take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut line);
        if read.map_err(|error| CliError::Input(format!("standard input: {error}")))? == 0 {
            if renamed > 0 {
                let what =
                    counted(renamed, "event names another analyzer and is", "events name other analyzers and are");
                notify(format_args!("{what} emitted as '{analyzer}', the name of this connection: see --analyzer"));
            }
            return Ok(wrong);
        }
        number += 1;
        let emitted = if line.len() as u64 > LINE_BYTES_MAX {
            skip_line(&mut input)?;
            Err(format!("longer than {LINE_BYTES_MAX} bytes"))
        } else {
            parsed(&line, analyzer)
        };
        match emitted {
            Ok(None) => {}
            Ok(Some(event)) => {
                renamed += u64::from(event.analyzer != analyzer);
                let event = Event { analyzer: analyzer.to_owned(), ..event };
                events
                    .emit(&event)
                    .map_err(|error| CliError::Input(format!("line {number}: not everything is stored: {error}")))?;
            }
            Err(what) => {
                wrong += 1;
                if wrong <= NAMED_MAX {
                    notify(format_args!("line {number}: {what}"));
                }
            }
        }
    }
}

/// Passes over the rest of a line.
fn skip_line(input: &mut impl io::BufRead) -> Result<(), CliError> {
    loop {
        let room = input.fill_buf().map_err(|error| CliError::Input(format!("standard input: {error}")))?;
        let (end, bytes) = match room.iter().position(|byte| *byte == b'\n') {
            Some(at) => (true, at + 1),
            None => (room.is_empty(), room.len()),
        };
        input.consume(bytes);
        if end {
            return Ok(());
        }
    }
}

/// The event of a line, which is from `analyzer` if it does not say so; `None`: the line is empty.
fn parsed(line: &[u8], analyzer: &str) -> Result<Option<Event>, String> {
    let text = std::str::from_utf8(line).map_err(|_| "not UTF-8".to_owned())?.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let text = without_sensor(text);
    let event = Event::from_json_of(&text, analyzer, times::now_ns());
    event.map(Some).map_err(|error| format!("no event: {error}"))
}

/// Without the first member of lines that `tidewire events --expand --json` prints of several sensors.
fn without_sensor(text: &str) -> Cow<'_, str> {
    let without = || {
        let rest = text.strip_prefix("{\"sensor\":")?;
        let mut texts = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        texts.next()?.ok()?;
        let rest = rest.get(texts.byte_offset()..)?.strip_prefix(',')?;
        Some(Cow::Owned(format!("{{{rest}")))
    };
    without().unwrap_or(Cow::Borrowed(text))
}

impl EmitOptions {
    fn socket(&self) -> PathBuf {
        match (&self.directory, env::var_os("TIDEWIRE_EVENTS").filter(|path| !path.is_empty())) {
            (Some(directory), _) => directory.join(SOCKET),
            (None, Some(path)) => path.into(),
            (None, None) => Path::new(DIRECTORY).join(SOCKET),
        }
    }

    fn event(&self, kind: &str, analyzer: &str) -> Result<Event, CliError> {
        let now = times::now_ns();
        let time_ns = self.time.as_ref().map(|text| times::parse(text, now)).transpose().map_err(CliError::Usage)?;
        let mut event = Event {
            time_ns: time_ns.unwrap_or(now),
            analyzer: analyzer.to_owned(),
            kind: kind.to_owned(),
            severity: self.severity.map_or(Severity::Info, Severity::from),
            key: self.key()?,
            stream: self.stream,
            excerpt: self.excerpt.as_ref().map(|text| text.clone().into_bytes()),
            ..Event::default()
        };
        for field in &self.field {
            let (name, value) = parse_field(field).map_err(CliError::Usage)?;
            event = event.with(name, value);
        }
        event.check().map_err(|error| CliError::Usage(error.to_string()))?;
        Ok(event)
    }

    fn key(&self) -> Result<Option<FlowKey>, CliError> {
        let (Some(client), Some(server)) = (&self.client, &self.server) else { return Ok(None) };
        let proto = self.proto.as_deref().unwrap_or("tcp");
        let protocol = tidewire_types::protocol_number(proto).ok_or_else(|| {
            CliError::Usage(format!("invalid --proto '{proto}': expected tcp, udp, icmp …, or a number up to 255"))
        })?;
        let [client, server] = [("--client", client), ("--server", server)].map(|(option, text)| {
            parse_end(text).ok_or_else(|| {
                let expected = "expected an address, or an address and a port as in 192.0.2.7:40000";
                CliError::Usage(format!("invalid {option} '{text}': {expected}"))
            })
        });
        let ((client_addr, client_port), (server_addr, server_port)) = (client?, server?);
        Ok(Some(FlowKey { protocol, client_addr, client_port, server_addr, server_port }))
    }
}

fn parse_end(text: &str) -> Option<(IpAddr, u16)> {
    if let Ok(end) = text.parse::<std::net::SocketAddr>() {
        return Some((end.ip(), end.port()));
    }
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().map(|address| (address, 0))
}

/// `NAME=VALUE` or `NAME:TYPE=VALUE`.
fn parse_field(text: &str) -> Result<(&str, Value), String> {
    let wrong = |expected: &str| format!("invalid --field '{text}': expected {expected}");
    let (name, value) = text.split_once('=').ok_or_else(|| wrong("NAME=VALUE"))?;
    let (name, kind) = name.split_once(':').map_or((name, None), |(name, kind)| (name, Some(kind)));
    if !is_name(name) {
        return Err(wrong("a name of 1 to 64 letters, digits, '.', '-' and '_' before '='"));
    }
    let whole = || value.parse::<u64>().map_err(|_| wrong("a whole number"));
    let value = match kind {
        None => match (value, value.parse::<u64>(), value.parse::<i64>()) {
            ("true", ..) => Value::Bool(true),
            ("false", ..) => Value::Bool(false),
            (_, Ok(number), _) => Value::U64(number),
            (_, _, Ok(number)) => Value::I64(number),
            _ => Value::Text(value.to_owned()),
        },
        Some("text") => Value::Text(value.to_owned()),
        Some("u64") => Value::U64(whole()?),
        Some("time") => Value::Time(whole()?),
        Some("i64") => Value::I64(value.parse().map_err(|_| wrong("a whole number"))?),
        Some("f64") => Value::F64(value.parse().map_err(|_| wrong("a number"))?),
        Some("bool") => Value::Bool(value.parse().map_err(|_| wrong("true or false"))?),
        Some("addr") => Value::Addr(value.parse().map_err(|_| wrong("an IP address"))?),
        Some("bytes") => Value::Bytes(
            tidewire_types::hex::decode(value).ok_or_else(|| wrong("an even number of hexadecimal digits"))?,
        ),
        Some(_) => return Err(wrong("the type text, u64, i64, f64, bool, addr, time or bytes")),
    };
    Ok((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_what_they_look_like_or_what_they_are_said_to_be() {
        for (text, value) in [
            ("a=1", Value::U64(1)),
            ("a=-1", Value::I64(-1)),
            ("a=true", Value::Bool(true)),
            ("a=1.5", Value::Text("1.5".into())),
            ("a=", Value::Text(String::new())),
            ("a=b=c", Value::Text("b=c".into())),
            ("a:text=1", Value::Text("1".into())),
            ("a:f64=1.5", Value::F64(1.5)),
            ("a:addr=::1", Value::Addr("::1".parse().expect("an address"))),
            ("a:bytes=00ff", Value::Bytes(vec![0, 255])),
            ("a:time=5", Value::Time(5)),
        ] {
            assert_eq!(parse_field(text), Ok(("a", value)), "{text}");
        }
        for (text, said) in [
            ("a", "NAME=VALUE"),
            ("=1", "a name of"),
            ("a b=1", "a name of"),
            ("a:x=1", "the type text"),
            ("a:u64=x", "a whole number"),
            ("a:bytes=0", "hexadecimal"),
            ("a:addr=x", "an IP address"),
        ] {
            let found = parse_field(text).expect_err(text);
            assert!(found.contains(said), "{text}: {found}");
        }
        assert_eq!(parse_end("[2001:db8::7]"), parse_end("2001:db8::7"));
        assert_eq!(parse_end("192.0.2.7:80").map(|end| end.1), Some(80));
        assert_eq!(parse_end("example.org:80"), None);
    }

    #[test]
    fn lines_are_events_and_of_this_analyzer_where_they_name_none() {
        let event = parsed(br#"{"sensor":"x, \"y","kind":"a.b","analyzer":"other","fields":{"z":1,"a":2}}"#, "me");
        let event = event.expect("an event").expect("no empty line");
        assert_eq!((event.analyzer.as_str(), event.kind.as_str()), ("other", "a.b"), "emitting renames and counts it");
        let names: Vec<&str> = event.fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["z", "a"], "their order is kept");
        assert!(
            parsed(br#"{"kind":"a.b"}"#, "me").is_ok_and(|event| event.is_some_and(|event| event.analyzer == "me"))
        );
        assert!(event.time_ns > 0);
        assert_eq!(parsed(b" \n", "me"), Ok(None));
        for (line, said) in
            [(&b"{}"[..], "missing field `kind`"), (b"x", "no event"), (b"\xff", "UTF-8"), (b"[]", "no event")]
        {
            let found = parsed(line, "me").expect_err(said);
            assert!(found.contains(said), "{found}");
        }
    }
}
