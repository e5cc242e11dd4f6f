//! Records as tables: what SQLite, Python and, where they are installed, DuckDB, pyarrow, polars and pandas read back.

use std::{
    env, fs,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    process::Command,
};
use tidewire_types::Timestamp;

use serde_json::Value;
use tidewire_archive::block::{Packet, Writer, enhanced_packet, section_header};
use tidewire_testing::{InTime as _, missing};

use crate::{
    common::*,
    exports::{capture, capture_of, ok, totals, visible},
};

/// Why there is no Parquet here, if there is none: a feature of the build.
pub fn without_columns(bench: &Bench, capture: &str) -> Option<&'static str> {
    let place = format!("parquet:{}", bench.path("probe").display());
    let output = run(&["flows", "--to", &place, capture]);
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    complaint.contains("built without").then_some("built without the feature parquet")
}

/// A Python that has DuckDB and pyarrow (`scripts/setup.sh readers`).
fn readers() -> Result<PathBuf, String> {
    let python = env::var_os("TIDEWIRE_READERS").map(|folder| Path::new(&folder).join("bin/python3"));
    python.filter(|python| python.exists()).ok_or_else(|| "no Python with DuckDB and pyarrow (setup.sh readers)".into())
}

fn python(python: &Path, program: &str, arguments: &[&Path]) -> Vec<String> {
    let output = Command::new(python).arg("-c").arg(program).args(arguments).run_in_time().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn line(totals: [u64; 3]) -> String {
    totals.map(|number| number.to_string()).join(" ")
}

#[test]
fn a_database_and_lines_have_the_totals_of_the_ledger() {
    if let Some(reason) = missing(&["python3"]) {
        return println!("skipped: {reason}");
    }
    let bench = Bench::new();
    let capture = capture(&bench);
    let expected = totals(&capture);
    let place = |format: &str, name: &str| format!("{format}:{}", bench.path(name).display());
    let [database, lines, values] =
        [("sqlite", "a.db"), ("json", "a.json"), ("csv", "a.csv")].map(|(format, name)| place(format, name));
    ok(&["flows", "--to", &database, "--to", &lines, "--to", &values, "-j", "3", &capture]);
    let program = "import sqlite3, csv, json, sys, datetime
db = sqlite3.connect(sys.argv[1])
print(*db.execute('select count(*), sum(packets_c2s + packets_s2c), sum(bytes_c2s + bytes_s2c) from flows').fetchone())
print(*db.execute(\"select count(*), count(distinct stream) from transactions where json_extract(http, '$.host') = 'one.example'\").fetchone())
print(*db.execute(\"select count(*) from flows join transactions on id = stream where flows.service = 'http'\").fetchone())
print(db.execute('pragma integrity_check').fetchone()[0], db.execute('select typeof(id), typeof(start), typeof(client_known) from flows').fetchone())
print(*db.execute(\"select count(*) from flows where strftime('%s', start) * 1000000000 <= start_ns\").fetchone())
rows = list(csv.DictReader(open(sys.argv[3], newline='')))
whole = lambda row, *names: sum(int(row[name]) for name in names)
print(len(rows), sum(whole(r, 'packets_c2s', 'packets_s2c') for r in rows), sum(whole(r, 'bytes_c2s', 'bytes_s2c') for r in rows))
print(all(datetime.datetime.fromisoformat(r['start_time']).tzinfo for r in rows))
rows = [json.loads(text) for text in open(sys.argv[2])]
print(len(rows), sum(r['packets_c2s'] + r['packets_s2c'] for r in rows), sum(r['bytes_c2s'] + r['bytes_s2c'] for r in rows))";
    let files = ["a.db", "a.json", "a.csv"].map(|name| bench.path(name));
    let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    let said = python(Path::new("python3"), program, &files);
    assert_eq!([&said[0], &said[5], &said[7]], [&line(expected); 3]);
    assert_eq!(said[1..4], ["200 200", "201", "ok ('integer', 'text', 'integer')"]);
    assert_eq!((said[4].as_str(), said[6].as_str()), (expected[0].to_string().as_str(), "True"));
    // Nothing of SQLite's own is left beside it.
    assert_eq!(visible(bench.path("").as_path()).iter().filter(|name| name.starts_with("a.")).count(), 3);
}

#[test]
fn lines_are_those_that_are_printed() {
    let bench = Bench::new();
    let capture = capture(&bench);
    for command in ["flows", "streams", "transactions"] {
        let printed = json(&[command, "--json", &capture]);
        let mut written = json(&[command, "--format", "json", &capture]);
        let id = |value: &Value| (value["id"].as_u64(), value["stream"].as_u64(), value["start_ns"].as_u64());
        written.sort_by_key(id);
        let mut sorted = printed.clone();
        sorted.sort_by_key(id);
        assert_eq!(written, sorted, "{command}");
        let values = ok(&[command, "--format", "csv", &capture]);
        assert_eq!(values.lines().count(), printed.len() + 1, "{command}");
        let header = ok(&[command, "--csv", "--time", "iso", &capture]);
        assert_eq!(values.lines().next(), header.lines().next(), "{command}");
    }
}

const DUCKDB: &str = "import duckdb, sys
t = sys.argv[1]
print(*duckdb.sql(f\"select count(*), sum(packets_c2s + packets_s2c)::bigint, sum(bytes_c2s + bytes_s2c)::bigint from read_parquet('{t}/flows/**/*.parquet', hive_partitioning = true)\").fetchall()[0])
print(*duckdb.sql(f\"select count(*) from read_parquet('{t}/transactions/**/*.parquet') where http.host = 'one.example' and http.status = 200\").fetchall()[0])
print(*duckdb.sql(f\"select count(*) from read_parquet('{t}/flows/**/*.parquet', hive_partitioning = true) where hour = extract(hour from \\\"end\\\" at time zone 'UTC') and epoch_us(start) = start_ns // 1000\").fetchall()[0])
print(*duckdb.sql(f\"select typeof(start), typeof(client_known), typeof(vlan), typeof(bytes_c2s) from read_parquet('{t}/flows/**/*.parquet') limit 1\").fetchall()[0], sep='; ')";

const PYARROW: &str = "import pyarrow as pa, pyarrow.compute as pc, pyarrow.dataset as ds, sys
def say(t):
 n = lambda c: pc.sum(t[c]).as_py() or 0
 print(t.num_rows, n('packets_c2s') + n('packets_s2c'), n('bytes_c2s') + n('bytes_s2c'))
say(ds.dataset(sys.argv[1] + '/flows', partitioning='hive', format='parquet').to_table())
say(pa.ipc.open_file(sys.argv[2]).read_all())
say(pa.ipc.open_stream(sys.argv[3]).read_all())";

#[test]
fn columns_have_the_totals_of_the_ledger() {
    let bench = Bench::new();
    let capture = capture(&bench);
    if let Some(reason) = without_columns(&bench, &capture) {
        return println!("skipped: {reason}");
    }
    let expected = totals(&capture);
    let place = |format: &str, name: &str| format!("{format}:{}", bench.path(name).display());
    let [parquet, arrow] = [("parquet", "p"), ("arrow", "a.arrow")].map(|(format, name)| place(format, name));
    ok(&["flows", "--to", &parquet, "--to", &arrow, "-j", "3", &capture]);
    let stream = run(&["flows", "--format", "arrow", &capture]);
    assert!(stream.status.success());
    fs::write(bench.path("a.stream"), &stream.stdout).unwrap();
    for (file, mark) in [("a.arrow", b"ARROW1"), ("a.stream", &[0xff, 0xff, 0xff, 0xff, 0, 0])] {
        let bytes = fs::read(bench.path(file)).unwrap();
        assert!(bytes.len() > 1000 && (bytes.starts_with(mark) || file == "a.stream"), "{file}");
    }
    let python_here = match readers() {
        Ok(python) => python,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let said = python(&python_here, DUCKDB, &[&bench.path("p")]);
    let types = "TIMESTAMP WITH TIME ZONE; BOOLEAN; INTEGER[]; BIGINT";
    assert_eq!(said, [line(expected), "200".into(), expected[0].to_string(), types.into()]);
    let [folder, file, stream] = ["p", "a.arrow", "a.stream"].map(|name| bench.path(name));
    let said = python(&python_here, PYARROW, &[&folder, &file, &stream]);
    assert_eq!(said, [line(expected), line(expected), line(expected)]);
}

#[test]
fn rotated_tables_lose_no_record() {
    if let Some(reason) = missing(&["python3"]) {
        return println!("skipped: {reason}");
    }
    let bench = Bench::new();
    let capture = capture_of(&bench, 2000);
    let expected = totals(&capture);
    for name in ["db", "json", "arrow"] {
        fs::create_dir(bench.path(name)).unwrap();
    }
    let place = |format: &str, name: &str| format!("{format}:{}", bench.path(name).display());
    let mut words = vec!["flows".to_owned(), "--rotate".into(), "64K,1s".into(), "-j".into(), "2".into()];
    let has_columns = without_columns(&bench, &capture).is_none();
    let mut places = vec![place("sqlite", "db/a.db"), place("json", "json/a.json")];
    if has_columns {
        places.extend([place("parquet", "parquet"), place("arrow", "arrow/a.arrow")]);
    }
    for one in places {
        words.extend(["--to".into(), one]);
    }
    words.push(capture.clone());
    ok(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let program = "import sqlite3, glob, sys
found = [sqlite3.connect(name).execute('select count(*), sum(packets_c2s + packets_s2c), sum(bytes_c2s + bytes_s2c) from flows').fetchone() for name in glob.glob(sys.argv[1] + '/*.db')]
print(len(found) > 1, *[sum(value or 0 for value in values) for values in zip(*found)])";
    let said = python(Path::new("python3"), program, &[&bench.path("db")]);
    assert_eq!(said, [format!("True {}", line(expected))]);
    let files = visible(&bench.path("json"));
    let rows: usize = files.iter().map(|name| file_lines(&bench.path("json").join(name)).len()).sum();
    assert!(files.len() > 1 && rows as u64 == expected[0], "{files:?}");
    let (true, Ok(python_here)) = (has_columns, readers()) else { return };
    let program = "import pyarrow as pa, pyarrow.dataset as ds, glob, sys
files = glob.glob(sys.argv[1] + '/*.arrow')
print(len(files) > 1, sum(pa.ipc.open_file(name).read_all().num_rows for name in files))
files = glob.glob(sys.argv[2] + '/flows/**/*.parquet', recursive=True)
print(len(files) > 1, ds.dataset(sys.argv[2] + '/flows', partitioning='hive', format='parquet').count_rows())";
    let said = python(&python_here, program, &[&bench.path("arrow"), &bench.path("parquet")]);
    assert_eq!(said, [format!("True {}", expected[0]), format!("True {}", expected[0])]);
}

/// Two packets of a stream, 5 and 6 seconds behind `offset_s`, as an interface's option says.
fn at_offset(offset_s: i64) -> Vec<u8> {
    let mut interface = vec![1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 14, 0, 8, 0];
    interface.extend_from_slice(&offset_s.to_le_bytes());
    interface.extend_from_slice(&[0; 4]);
    let length = (12 + interface.len() as u32).to_le_bytes();
    let mut bytes = Vec::new();
    section_header(&mut bytes, &Writer::default());
    bytes.extend_from_slice(&[&1_u32.to_le_bytes()[..], &length, &interface, &length].concat());
    let ends = [[192, 0, 2, 1], [198, 51, 100, 1]].map(Ipv4Addr::from);
    let frame = ipv4(ends[0], ends[1], 17, 1, 0, &udp(ends[0], ends[1], (1000, 2000), b"hello"));
    for second in [5, 6] {
        enhanced_packet(
            &mut bytes,
            &Packet::new(0, Timestamp::from_nanos(second * 1_000_000_000), &frame, frame.len() as u32),
        );
    }
    bytes
}

/// Nanoseconds since 1970 end in 2262 with 63 bits, in 2554 with 64.
#[test]
fn a_time_is_kept_or_absent_or_refused_and_never_another_one() {
    if let Some(reason) = missing(&["python3"]) {
        return println!("skipped: {reason}");
    }
    let bench = Bench::new();
    let year_2300 = bench.file("2300.pcapng", &at_offset(10_413_792_000));
    let start_ns = 10_413_792_005_000_000_000_u64;
    let (database, written, logs) = (bench.path("a.db"), bench.path("w.pcapng"), bench.path("logs"));
    let [to_database, to_logs] =
        [("sqlite", &database), ("zeek", &logs)].map(|(kind, path)| format!("{kind}:{}", path.display()));
    let written = written.to_str().unwrap();
    ok(&["flows", "--to", &to_database, "--to", &to_logs, &year_2300]);
    ok(&["flows", "-w", written, &year_2300]);
    for capture in [&*year_2300, written] {
        assert_eq!(json(&["flows", "--json", capture])[0]["start_ns"], start_ns, "{capture}");
    }
    assert!(fs::read_to_string(logs.join("conn.log")).unwrap().contains("\n10413792005.000000\t"));
    let program = "import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute('select start, start_ns, end_ns from flows').fetchone())";
    assert_eq!(python(Path::new("python3"), program, &[&database]), ["('2300-01-01 00:00:05.000000', None, None)"]);
    // Its first packet is of 1969, its second one of 1970: what comes first has no time that it could have instead.
    let (early, late) = (at_offset(-6), at_offset(18_446_744_073 - 5));
    let (early, late) = (bench.file("early.pcapng", &early), bench.file("late.pcapng", &late));
    let archive = bench.path("archive");
    for (capture, expected, is_read) in [
        (&early, "packet 1 has a time before 1970 or after 2554; shift times", false),
        (&late, "packet 2 has a time before 1970 or after 2554; each counts at the time of the packet before it", true),
    ] {
        for words in [&["flows"][..], &["flows", "-w", written], &["record", "-o", archive.to_str().unwrap(), "-r"]] {
            let (said, code) = complaint(&[words, &[&**capture]].concat());
            assert!(code == 3 && said.contains(expected), "{words:?}: {code}: {said}");
        }
        let (printed, code) = text(&["flows", "--json", capture]);
        let flows = lines(printed.as_bytes());
        assert_eq!((code, flows.len()), (3, usize::from(is_read)));
        assert!(!is_read || flows[0]["start_ns"] == 18_446_744_073_000_000_000_u64 && flows[0]["packets_c2s"] == 2);
    }
}

#[test]
fn places_that_do_not_fit_are_said() {
    let bench = Bench::new();
    let capture = capture(&bench);
    for (place, expected) in
        [("sqlite:-", "needs a file"), ("parquet:-", "to a folder"), ("sqlite:/dev/null", "no file")]
    {
        let (complaint, code) = complaint(&["flows", "--to", place, &capture]);
        assert!(code == 2 && complaint.contains(expected), "{place}: {complaint}");
    }
}

/// Comma-separated values have escapes for what commands a terminal, which can be undone (docs/protocols.md).
const NAMES: &str = "import csv, json, re, sqlite3, sys, duckdb, pyarrow as pa
controls = {'t': '\\t', 'n': '\\n', 'r': '\\r'}
undone = lambda text: re.sub(r'\\\\(?:u\\{([0-9a-f]+)\\}|([tnr]))', lambda m: chr(int(m[1], 16)) if m[1] else controls[m[2]], text)
lines, values, database, parquet, arrow = sys.argv[1:]
expected = sorted(json.loads(line)['http']['host'] for line in open(lines, newline='\\n'))
host = [undone(row['name']) for row in csv.DictReader(open(values, newline=''))]
found = {
 'csv': host,
 'sqlite': [json.loads(row[0])['host'] for row in sqlite3.connect(database).execute(\"select http from transactions\")],
 'parquet': [row[0] for row in duckdb.sql(f\"select http.host from read_parquet('{parquet}/**/*.parquet')\").fetchall()],
 'arrow': [row['host'] for row in pa.ipc.open_file(arrow).read_all()['http'].to_pylist()]}
for form, names in found.items():
 print(form, len(names), sorted(names) == expected or next((a, b) for a, b in zip(sorted(names), expected) if a != b))
print(len(set(expected)))";

/// Decodes IPFIX by RFC 7011 alone: names of requests are element 460 of IANA.
const NAMES_OF_IPFIX: &str = "import json, sys
number = lambda octets: int.from_bytes(octets, 'big')
def records(data):
 templates = {}
 while data:
  message, data = data[16:number(data[2:4])], data[number(data[2:4]):]
  while message:
   kind, size = number(message[:2]), number(message[2:4])
   body, message = message[4:size], message[size:]
   if kind == 2:
    while body:
     name, count, fields, body = number(body[:2]), number(body[2:4]), [], body[4:]
     for _ in range(count):
      element, size, body = number(body[:2]), number(body[2:4]), body[4:]
      fields.append((element, size))
      body = body[4:] if element >> 15 else body
     templates[name] = fields
   fields = templates.get(kind, [])
   while fields and len(body) >= sum(1 if size == 65535 else size for _, size in fields):
    record = {}
    for element, size in fields:
     if size == 65535:
      size, body = body[0], body[1:]
      if size == 255:
       size, body = number(body[:2]), body[2:]
     record[element], body = body[:size], body[size:]
    yield record
lines, ipfix = sys.argv[1:]
expected = sorted(json.loads(line)['http']['host'] for line in open(lines, newline='\\n'))
found = sorted(record[460].decode() for record in records(open(ipfix, 'rb').read()))
print(len(found), found == expected or next((a, b) for a, b in zip(found, expected) if a != b))";

/// Names with every byte, and such as break quoting, are the same text in every table and in IPFIX as in JSON, by readers that are not ours.
#[test]
fn hostile_names_are_the_same_text_for_other_readers() {
    let python_here = match readers() {
        Ok(python) => python,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let bench = Bench::new();
    let of_bytes = (0..=u8::MAX).filter(|byte| !b"\r\n".contains(byte)).map(|byte| vec![b'a', byte, b'b', byte]);
    let others = [
        "'; drop table flows; --",
        "\"\"\"",
        ",\",",
        "\\u0000",
        "\\\\x80",
        "%s%n",
        "{}",
        "null",
        "NaN",
        "=1+1",
        "\u{202e}moc",
        "\u{2028}",
        "\u{feff}bom",
        "\u{1f469}\u{200d}\u{1f4bb}",
        "e\u{301}",
        "\t,\t",
        "<!--",
        "]]>",
        "\u{85}",
        "🦀,\"🦀\"",
    ];
    let pairs = (0x80..=0xff_u8).map(|byte| vec![0xc3, byte, b'x']);
    let names: Vec<Vec<u8>> = of_bytes.chain(pairs).chain(others.map(|name| name.as_bytes().to_vec())).collect();
    assert!(names.len() > 400);
    let mut pcap = Pcap::new();
    for (number, name) in names.iter().enumerate() {
        let request = [b"GET / HTTP/1.1\r\nHost: h", &name[..], b".example\r\n\r\n"].concat();
        conversation(&mut pcap, 20_000 + number as u16, &[(false, &request)]);
    }
    let capture = bench.file("names.pcap", pcap.bytes());
    if let Some(reason) = without_columns(&bench, &capture) {
        return println!("skipped: {reason}");
    }
    let files = ["a.json", "a.csv", "a.db", "parquet", "a.arrow"].map(|name| bench.path(name));
    let formats = ["json", "csv", "sqlite", "parquet", "arrow"];
    let places: Vec<String> =
        formats.iter().zip(&files).map(|(format, path)| format!("{format}:{}", path.display())).collect();
    let words: Vec<&str> = places.iter().flat_map(|place| ["--to", place]).collect();
    ok(&[&["transactions"][..], &words, &[&capture]].concat());
    let paths: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    let expected = ["csv", "sqlite", "parquet", "arrow"].map(|form| format!("{form} {} True", names.len()));
    assert_eq!(python(&python_here, NAMES, &paths), [&expected[..], &[names.len().to_string()]].concat());
    let ipfix = bench.path("a.ipfix");
    ok(&["flows", "--to", &format!("ipfix:{}", ipfix.display()), "--ipfix-enterprise", "32473", &capture]);
    assert_eq!(python(&python_here, NAMES_OF_IPFIX, &[&files[0], &ipfix]), [format!("{} True", names.len())]);
}
