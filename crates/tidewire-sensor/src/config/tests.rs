use std::{path::Path, time::Duration};

use proptest::prelude::*;
use tidewire_delivery::keys::Places;

use super::*;

mod outputs;

/// A machine with a user `monitor`, a program `analyzer`, an interface `eth1`, a file `a.pcap`, and 8 GiB.
struct Fixed;

impl System for Fixed {
    fn user(&self, name: &str) -> Result<(u32, u32), String> {
        match name.parse() {
            Ok(number) => Ok((number, number)),
            Err(_) if name == "monitor" => Ok((700, 701)),
            Err(_) => Err("there is no such user".into()),
        }
    }
    fn group(&self, name: &str) -> Result<u32, String> {
        if name == "adm" { Ok(4) } else { Err("there is no such group".into()) }
    }
    fn program(&self, name: &str) -> Result<(), String> {
        if name == "analyzer" { Ok(()) } else { Err(format!("{name}: program not found in PATH")) }
    }
    fn file(&self, path: &Path) -> Result<(), String> {
        if path == Path::new("a.pcap") { Ok(()) } else { Err("No such file".into()) }
    }
    fn interface(&self, name: &str) -> Result<(), String> {
        if name == "eth1" { Ok(()) } else { Err(format!("no interface {name}")) }
    }
    fn filter(&self, expression: &str) -> Result<(), String> {
        if expression.contains("prt") { Err("syntax error near 'prt'".into()) } else { Ok(()) }
    }
    fn patterns(&self, path: &Path) -> Result<(), String> {
        match path == Path::new("wrong.txt") {
            true => Err("wrong.txt: line 2: unknown severity 'worst'".into()),
            false => self.file(path).map_err(|error| format!("{}: {error}", path.display())),
        }
    }
    fn folder(&self, path: &Path) -> Result<(), Doubt> {
        match path.to_str() {
            Some("/none") => Err(Doubt::Now("/none: there is no such folder".into())),
            Some("/a-file") => Err(Doubt::Unreachable("/a-file is no folder".into())),
            _ => Ok(()),
        }
    }
    fn store(&self, path: &Path) -> Result<(), Doubt> {
        self.folder(path)
    }
    fn keys(&self, places: &Places) -> Result<(), Doubt> {
        match &places.key {
            Some(_) => Err(Doubt::Unreachable("a.pcap is for a collector".into())),
            None => Ok(()),
        }
    }
    fn listen(&self, address: &str) -> Result<(), Doubt> {
        match address {
            "127.0.0.1:9600" => Ok(()),
            "127.0.0.1:80" => Err(Doubt::Now("the port is in use".into())),
            _ => Err(Doubt::Unreachable("invalid socket address".into())),
        }
    }
    fn memory(&self) -> Option<(u64, u64)> {
        Some((8 << 30, 4 << 30))
    }
}

fn examined(text: &str) -> Examined {
    examine(text, "sensor.toml", &Overrides::default(), &Fixed)
}

fn right(text: &str) -> SensorConfig {
    let examined = examined(text);
    examined.config.unwrap_or_else(|| panic!("{text}: {:?}", examined.mistakes))
}

fn wrong(text: &str) -> Vec<String> {
    let examined = examined(text);
    assert!(examined.config.is_none() && !examined.mistakes.is_empty(), "{text}");
    examined.mistakes.iter().map(ToString::to_string).collect()
}

const WHOLE: &str = r#"
[sensor]
directory = "/srv/sensor"
metrics = "127.0.0.1:9600"
users = ["monitor", 1000]
stop = "3s"

[capture]
interfaces = ["eth1"]
filter = "not port 22"
workers = 4
memory = "2G"
ring = "64M"
snaplen = 2048
tap = true
promiscuous = false
sandbox = false
nice = -5

[queue.web]
unit = "streams"
count = 2
distribution = "round-robin"
filter = "tcp port 80"
cutoff = "1M"
chunk = "4K"
flush = "10ms"
priority = 5
classes = [{ filter = "port 443", cutoff = "16K", priority = 1 }]
memory = "128M"
records = 65536
slow = "hold"
hold = "5ms"

[queue.packets]
unit = "packets"

[analyzer.http]
command = ["analyzer", "--verbose"]
queue = "web"
group = "http"
instances = 2
user = "monitor:adm"
nice = 5
restart = "always"

[events]
enabled = true
store = "/srv/sensor/events.db"
size = "2G"
age = "30d"
recipients = ["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"]
rate = 50000
nice = 2

[events.rates]
ids = 1000
"login.watch" = 5

[events.kind."scan.horizontal"]
window = "5m"
identity = ["client_addr", "server_port"]
times = "first-and-last"
count = 1000

[events.kind.login]
vary = ["user"]

[inline.anomaly]
severity = "high"

[inline.match]
enabled = false
builtin = false
files = ["a.pcap"]
cutoff = "1M"
excerpt = 64
stream-events = 4

[inline.scan]
window = "1m"
hosts = 10
ports = 20
udp-hosts = 30
udp-ports = 40
icmp-hosts = 50
half-open = 60
half-open-window = "10s"
entries = 1024

[spool]
nice = 15
sandbox = false

[destination.far]
type = "collector"
address = "collector.example.org:9610"
keys = "a.pcap"
severity = "medium"
kinds = ["scan.*"]
analyzers = ["scan"]
retry = "1m"
server-name = "collector"
timeout = "5s"

[destination.near]
type = "folder"
path = "/srv/events"
every = "10s"
size = "1M"
expand = false
"#;

#[test]
fn every_key_is_read() {
    let config = right(WHOLE);
    assert_eq!(config.directory, Path::new("/srv/sensor"));
    assert_eq!(config.metrics.as_deref(), Some("127.0.0.1:9600"));
    assert_eq!(config.users, [700, 1000]);
    assert_eq!(config.stop, Duration::from_secs(3));
    let capture = &config.capture;
    assert_eq!(capture.input, CaptureInput::Interfaces(vec!["eth1".into()]));
    assert_eq!((capture.filter.as_deref(), capture.workers, capture.nice), (Some("not port 22"), 4, -5));
    assert_eq!(
        (capture.memory_bytes, capture.ring_bytes, capture.snap_bytes),
        (Some(2 << 30), Some(64 << 20), Some(2048))
    );
    assert!(capture.tap && !capture.promiscuous && !capture.sandbox);
    let web = config.queues.iter().find(|queue| queue.name == "web").expect("it");
    assert_eq!((web.unit, web.count, web.distribution), (Unit::Streams, 2, Distribution::RoundRobin));
    assert_eq!((web.filter.as_deref(), web.cutoff_bytes, web.chunk_bytes), (Some("tcp port 80"), Some(1 << 20), 4096));
    assert_eq!((web.flush, web.priority, web.memory_bytes), (Duration::from_millis(10), 5, 128 << 20));
    assert_eq!((web.records, web.slow), (65_536, SlowReaders::Hold(Some(Duration::from_millis(5)))));
    let class = ClassConfig { filter: "port 443".into(), cutoff_bytes: Some(16 << 10), priority: Some(1) };
    assert_eq!(web.classes, [class]);
    let packets = config.queues.iter().find(|queue| queue.name == "packets").expect("it");
    assert_eq!((packets.unit, packets.count, packets.slow), (Unit::Packets, 1, SlowReaders::Lose));
    let [http] = &config.analyzers[..] else { panic!("{:?}", config.analyzers) };
    assert_eq!(http.command, ["analyzer", "--verbose"]);
    assert_eq!((http.user, http.nice, http.restart, http.instances), (Some((700, 4)), 5, Restart::Always, 2));
    assert_eq!(queue_of(http, 1, &config.queues).as_deref(), Some("web.1"));
    let json = serde_json::to_string(&config).expect("JSON");
    assert!(!json.contains('\n'));
    assert_eq!(serde_json::from_str::<SensorConfig>(&json).expect("the same"), config);
}

#[test]
fn every_key_of_events_is_read() {
    use tidewire_delivery::To;
    let config = right(WHOLE);
    let events = config.events.expect("they are on");
    assert_eq!(events.store, Path::new("/srv/sensor/events.db"));
    assert_eq!((events.size_bytes, events.age), (2 << 30, Some(Duration::from_secs(30 * 86_400))));
    assert_eq!((events.recipients.len(), events.rate, events.nice), (1, Some(50_000), 2));
    assert_eq!(events.rates, [("ids".to_owned(), 1000), ("login.watch".to_owned(), 5)].into());
    let scan = &events.kinds["scan.horizontal"];
    assert_eq!(scan.identity, Some(vec!["client_addr".into(), "server_port".into()]));
    assert_eq!((scan.window, scan.all_times, scan.count), (Some(Duration::from_secs(300)), Some(false), Some(1000)));
    assert_eq!(events.kinds["login"].vary, Some(vec!["user".into()]));
    assert_eq!((events.directory.as_path(), &events.users), (Path::new("/srv/sensor"), &config.users));
    assert!(events.capture_on_stdout && events.stop == Duration::from_secs(3));
    let inline = config.inline.expect("they are on");
    assert!(inline.anomaly.enabled && inline.anomaly.severity == tidewire_events::Severity::High);
    let matching = inline.matching;
    assert!(!matching.enabled && !matching.builtin && matching.files == [Path::new("a.pcap")]);
    assert_eq!((matching.cutoff_bytes, matching.excerpt_bytes, matching.stream_events), (1 << 20, 64, 4));
    let scan = inline.scan;
    assert_eq!(scan.window, Duration::from_secs(60));
    assert_eq!((scan.hosts, scan.ports, scan.udp_hosts, scan.udp_ports), (10, 20, 30, 40));
    assert_eq!((scan.icmp_hosts, scan.half_open, scan.entries), (50, 60, 1024));
    assert_eq!(scan.half_open_window, Duration::from_secs(10));
    let spool = config.spool.expect("destinations");
    assert!(spool.nice == 15 && !spool.sandbox);
    let [far, near] = &spool.destinations[..] else { panic!("{:?}", spool.destinations) };
    assert_eq!((far.name.as_str(), far.severity.as_str()), ("far", "medium"));
    assert_eq!((&far.kinds[..], &far.analyzers[..]), (&["scan.*".to_owned()][..], &["scan".to_owned()][..]));
    assert_eq!(far.retry_max, Duration::from_secs(60));
    let To::Collector(collector) = &far.to else { panic!("{far:?}") };
    assert_eq!(
        (collector.address.as_str(), collector.server_name.as_deref()),
        ("collector.example.org:9610", Some("collector"))
    );
    assert_eq!((collector.keys.as_deref(), collector.timeout), (Some(Path::new("a.pcap")), Duration::from_secs(5)));
    let To::Folder(folder) = &near.to else { panic!("{near:?}") };
    assert_eq!((folder.path.as_path(), folder.every), (Path::new("/srv/events"), Duration::from_secs(10)));
    assert!(folder.bytes == 1 << 20 && !folder.expand);
}

const TO_KAFKA: &str = r#"
[capture]
interfaces = ["eth1"]
[destination.bus]
type = "kafka"
brokers = ["kafka-1.example.org:9092", "[2001:db8::1]:9092"]
topic = "events"
expand = false
expand-max = 10
message-size = "2M"
compression = "lz4"
timeout = "5s"
"#;

/// Librdkafka is built for this feature only.
#[cfg(not(feature = "kafka"))]
#[test]
fn a_build_without_kafka_says_what_to_do() {
    let mistakes = wrong(TO_KAFKA);
    assert!(
        mistakes[0].contains("[destination.bus]: this build has no Kafka: build with `--features kafka`"),
        "{mistakes:?}"
    );
}

#[test]
fn rates_and_names_of_destinations_that_are_not_possible_are_named() {
    for (change, words) in [
        (("ids = 1000", "ids = 0"), "'ids' must be"),
        (("ids = 1000", "\"i ds\" = 1"), "cannot be the name of an analyzer"),
        (("ids = 1000", "ids = \"fast\""), "'ids' must be"),
        (("[destination.near]", "[destination.tidewire]"), "this is the name of the sensor's own events"),
        (("sandbox = false\n\n[destination", "sandbox = 1\n\n[destination"), "'sandbox' is true or false"),
    ] {
        assert!(WHOLE.contains(change.0), "{change:?}");
        let mistakes = wrong(&WHOLE.replace(change.0, change.1));
        assert!(mistakes[0].contains(words), "{change:?}: {mistakes:?}");
    }
}

#[test]
fn counts_are_no_sizes_and_sockets_have_short_paths() {
    let mistakes = wrong("[capture]\ninterfaces = [\"lo\"]\n[queue.a]\nrecords = 1\n");
    assert!(mistakes[0].contains("'records' must be 1024 to 67108864, got 1"), "{mistakes:?}");
    let long = format!("[sensor]\ndirectory = \"/{}\"\n[capture]\ninterfaces = [\"lo\"]\n[queue.a]\n", "d".repeat(96));
    assert!(
        wrong(&long)[0].contains("is too long a path for sockets, which have at most 107 bytes"),
        "{:?}",
        wrong(&long)
    );
    right(&long.replacen("\"/ddd", "\"/d", 1));
}

#[cfg(feature = "kafka")]
#[test]
fn every_key_of_kafka_is_read() {
    use tidewire_delivery::{KafkaSettings, To};
    let spool = right(TO_KAFKA).spool.expect("a destination");
    let expected = KafkaSettings {
        brokers: vec!["kafka-1.example.org:9092".into(), "[2001:db8::1]:9092".into()],
        topic: "events".into(),
        expand: false,
        expand_max: 10,
        message_bytes: 2 << 20,
        compression: "lz4".into(),
        tls: None,
        timeout: Duration::from_secs(5),
    };
    assert_eq!(spool.destinations[0].to, To::Kafka(expected));
    for (change, words) in [
        (("brokers = [\"kafka-1.example.org:9092\", \"[2001:db8::1]:9092\"]\n", ""), "no broker is named"),
        (("kafka-1.example.org:9092", "kafka-1.example.org"), "is no broker: HOST:PORT is needed"),
        (("\"events\"", "\"a b\""), "is no topic"),
        (("lz4", "zip"), "zstd"),
        (("\"2M\"", "\"2K\""), "'message-size' must be"),
        (("expand = false", "key = \"a.pcap\""), "no 'authority'"),
    ] {
        let mistakes = wrong(&TO_KAFKA.replace(change.0, change.1));
        assert!(mistakes[0].contains(words), "{mistakes:?}");
    }
}

#[test]
fn what_may_be_there_when_the_sensor_starts_is_a_warning() {
    let begin = "[capture]\ninterfaces = [\"eth1\"]\n";
    let warned = |text: &str, given: &Overrides| {
        let examined = examine(&format!("{begin}{text}"), "sensor.toml", given, &Fixed);
        assert!(examined.config.is_some(), "{text}: {:?}", examined.mistakes);
        examined.warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let folder = warned("[destination.d]\ntype = \"folder\"\npath = \"/none\"", &Overrides::default());
    assert!(
        folder.contains("line 5, column 8: /none: there is no such folder; write a folder that exists"),
        "{folder}"
    );
    let metrics = "[sensor]\nmetrics = \"127.0.0.1:80\"";
    let taken = warned(metrics, &Overrides::default());
    assert!(taken.contains("line 4, column 11: invalid metrics '127.0.0.1:80': the port is in use"), "{taken}");
    // By the sensor itself.
    assert_eq!(warned(metrics, &Overrides { is_running: true, ..Overrides::default() }), "");
    let given = Overrides { metrics: Some("127.0.0.1:80".into()), ..Overrides::default() };
    let taken = warned("", &given);
    assert!(taken.starts_with("sensor.toml: invalid --metrics '127.0.0.1:80'") && taken.contains("in use"), "{taken}");
    // Several destinations may have one folder: names of files begin with that of their destination.
    let shared =
        "[destination.a]\ntype = \"folder\"\npath = \"/x\"\n[destination.b]\ntype = \"folder\"\npath = \"/x\"\n";
    assert_eq!(warned(shared, &Overrides::default()), "");
}

#[test]
fn events_are_on_without_a_file_and_off_when_configured() {
    let given = Overrides { interfaces: vec!["eth1".into()], ..Overrides::default() };
    let config = examine("", "-i", &given, &Fixed).config.expect("defaults");
    let events = config.events.expect("they are on");
    assert_eq!(events.store, Path::new("/var/lib/tidewire/events.db"));
    assert!(events.recipients.is_empty() && events.age == Some(Duration::from_secs(14 * 86_400)));
    assert!(config.inline.is_some_and(|inline| inline == tidewire_analyzers::Settings::default()));
    assert_eq!(config.spool, None);
    let elsewhere = Overrides { directory: Some("/tmp/x".into()), ..given.clone() };
    let config = examine("", "-i", &elsewhere, &Fixed).config.expect("defaults");
    assert_eq!(config.events.expect("they are on").store, Path::new("/tmp/x/events.db"));
    let off = "[events]\nenabled = false\n[inline.scan]\nhosts = 5\n";
    let examined = examine(off, "x", &given, &Fixed);
    let config = examined.config.expect("off");
    assert!(config.events.is_none() && config.inline.is_none() && config.spool.is_none());
    assert!(examined.warnings.iter().any(|warning| warning.to_string().contains("[inline.scan] has no effect")));
}

#[test]
fn without_a_file_there_are_defaults() {
    let given = Overrides { interfaces: vec!["eth1".into()], ..Overrides::default() };
    let config = examine("", "-i", &given, &Fixed).config.expect("defaults");
    assert_eq!(config.directory, Path::new(DIRECTORY));
    let [queue] = &config.queues[..] else { panic!("{:?}", config.queues) };
    assert_eq!((queue.name.as_str(), queue.unit, queue.slow), ("streams", Unit::Streams, SlowReaders::Lose));
    assert_eq!((queue.memory_bytes, queue.records, queue.chunk_bytes), (64 << 20, 131_072, 0));
    assert!(config.capture.sandbox && config.capture.promiscuous && config.analyzers.is_empty());
    // Files wait, and override the interfaces of a file.
    let given = Overrides { files: vec!["a.pcap".into()], wait_for: Some(1), ..Overrides::default() };
    let config = examine(WHOLE.replace("slow = \"hold\"\nhold = \"5ms\"", "").as_str(), "x", &given, &Fixed).config;
    let config = config.expect("files");
    assert_eq!(config.capture.input, CaptureInput::Files(vec!["a.pcap".into()]));
    assert!(config.queues.iter().all(|queue| queue.slow == SlowReaders::Hold(None) && queue.wait_for == 1));
    let given = Overrides { interfaces: vec!["eth1".into()], wait_for: Some(1), ..Overrides::default() };
    assert!(examine("", "x", &given, &Fixed).config.is_none(), "interfaces cannot wait");
}

#[test]
fn each_mistake_has_its_place_and_what_to_write() {
    let begin = "[capture]\ninterfaces = [\"eth1\"]\n";
    for (text, place, what) in [
        ("[capture]\ninterface = [\"eth1\"]", "line 2, column 1", "has no key 'interface'; did you mean 'interfaces'?"),
        (
            "[capture]\ninterfaces = 7",
            "line 2, column 14",
            "'interfaces' is text, not a number; as in interfaces = [\"eth1\", \"eth3\"]",
        ),
        ("[capture]\ninterfaces = [\"eth1\", \"eth1\"]", "line 2, column 23", "named twice"),
        ("[capture]\ninterfaces = \"eth1:eth3\"", "line 2, column 14", "write each name alone"),
        ("[capture]\nfiles = [\"-\"]", "line 2, column 10", "standard input is no file of a configuration; use -r -"),
        ("[capture]\nfiles = [\"b.pcap\"]", "line 2, column 10", "b.pcap cannot be read: No such file"),
        ("[capture]\nfiles = [\"a.pcap\"]\ninterfaces = [\"eth1\"]", "line 2, column 9", "keep one of them"),
        ("[sensor]\n", "nothing to capture", "use -i eth1 or -r FILE"),
        ("[captur]\n", "line 1, column 2", "did you mean 'capture'?"),
        ("capture = 7", "line 1, column 11", "'capture' is a table, not a number; write [capture]"),
        ("[sensor]\nusers = [\"no-such-user\"]", "line 2, column 10", "there is no such user"),
        ("[sensor]\ndirectory = \"run\"", "line 2, column 13", "absolute path"),
        ("[sensor]\nstop = 5", "line 2, column 8", "did you mean stop = \"5s\"?"),
        ("[sensor]\nstop = \"1ns\"", "line 2, column 8", "'stop' must be 100.0ms to 24.0h, got 1us"),
        (
            "[capture]\nfilter = \"tcp prt 80\"",
            "line 2, column 10",
            "'filter' does not compile: syntax error near 'prt'; see pcap-filter(7)",
        ),
        ("[capture]\nworkers = 65", "line 2, column 11", "from 1 to 64, got 65"),
        ("[capture]\nmemory = \"64Q\"", "line 2, column 10", "unknown unit 'Q'"),
        ("[capture]\ntap = \"yes\"", "line 2, column 7", "true or false, not text"),
        ("[queue.a.b]", "line 1, column 10", "[queue.a] has no key 'b'"),
        ("[queue.\"a b\"]", "line 1, column 8", "cannot be the name of a queue"),
        ("[queue.a]\nunit = \"stream\"", "line 2, column 8", "did you mean \"streams\"?"),
        ("[queue.a]\ncount = 65", "line 2, column 9", "from 1 to 64"),
        ("[queue.a]\nunit = \"packets\"\nchunk = 5", "line 3, column 9", "no meaning for packets"),
        ("[queue.a]\nchunk = 0\nflush = \"5ms\"", "line 3, column 9", "needs chunks"),
        ("[queue.a]\nflush = \"5ms\"", "line 2, column 9", "write chunk = \"16K\""),
        ("[queue.a]\nchunk = \"1M\"\nmemory = \"1M\"", "line 2, column 9", "at least 4 chunks"),
        ("[queue.a]\nmemory = \"256K\"", "line 2, column 10", "512"),
        ("[queue.a]\nwait-for = 33", "line 2, column 12", "from 0 to 32"),
        ("[queue.a]\nslow = \"lose\"\nhold = \"5ms\"", "line 3, column 8", "contradicts"),
        ("[queue.a]\nslow = \"hold\"", "line 2, column 8", "as in hold = \"5ms\""),
        ("[queue.a]\nhold = \"unlimited\"", "line 2, column 8", "cannot wait without end"),
        ("[queue.a]\nclasses = [{ cutoff = 5 }]", "line 2, column 12", "has no 'filter'"),
        ("[queue.a]\nmemory = \"64G\"", "line 2, column 10", "more than this machine's 8 GiB"),
        ("[analyzer.a]\nqueue = \"streams\"", "line 1, column 11", "has no 'command'"),
        ("[analyzer.scan]\ncommand = \"analyzer\"", "line 1, column 11", "is a part of the sensor"),
        ("[analyzer.a]\ncommand = [\"analyser\"]", "line 2, column 12", "program not found in PATH"),
        ("[analyzer.a]\ncommand = \"analyzer -v\"", "line 2, column 11", "command = [\"analyzer\", \"-v\"]"),
        ("[analyzer.a]\ncommand = \"analyzer\"\nqueue = \"stream\"", "line 3, column 9", "did you mean \"streams\"?"),
        ("[analyzer.a]\ncommand = \"analyzer\"\ninstances = 33", "line 3, column 13", "from 1 to 32"),
        ("[analyzer.a]\ncommand = \"analyzer\"\nuser = \"x:y\"", "line 3, column 8", "no such user"),
        ("[event]\nsize = 5", "line 1, column 2", "did you mean 'events'?"),
        ("[events]\nenabled = 1", "line 2, column 11", "true or false, not a number"),
        ("[events]\nstore = \"events.db\"", "line 2, column 9", "absolute path"),
        ("[events]\nsize = \"1K\"", "line 2, column 8", "must be 1 MiB to"),
        ("[events]\nage = \"1s\"", "line 2, column 7", "'age' must be"),
        ("[events]\nrecipients = [\"age1x\"]", "line 2, column 15", "no recipient of age"),
        ("[events]\nrecipients = [\"AGE-SECRET-KEY-1Q\"]", "line 2, column 15", "must not be on the sensor"),
        ("[events.kind.scan.horizontal]\nwindow = \"1m\"", "line 1, column 14", "names with dots are quoted"),
        ("[events.kind.\"a b\"]", "line 1, column 14", "cannot be the name of a kind"),
        ("[events.kind.x]\nwindw = \"1m\"", "line 2, column 1", "did you mean 'window'?"),
        ("[events.kind.x]\nidentity = [\"a\"]\nvary = [\"b\"]", "line 3, column 8", "contradicts"),
        ("[events.kind.x]\ntimes = \"none\"", "line 2, column 9", "\"all\" or \"first-and-last\""),
        ("[inline.scans]", "line 1, column 9", "did you mean 'scan'?"),
        ("[inline.scan]\nhosts = 1", "line 2, column 9", "from 2 to"),
        ("[inline.match]\nfiles = [\"no\"]", "line 2, column 10", "no: No such file"),
        ("[inline.anomaly]\nseverity = \"worst\"", "line 2, column 12", "\"info\" or \"low\""),
        ("[spool]\nnice = 20", "line 2, column 8", "from -20 to 19"),
        ("[destination.d]\nseverity = \"low\"", "line 1, column 14", "has no 'type'"),
        ("[destination.d]\ntype = \"kafca\"", "line 2, column 8", "'type' is"),
        ("[destination.d]\ntype = \"folder\"", "line 1, column 14", "has no 'path'"),
        ("[destination.d]\ntype = \"folder\"\npath = \"x\"", "line 3, column 8", "absolute path"),
        (
            "[destination.d]\ntype = \"folder\"\npath = \"/x\"\naddress = \"h:1\"",
            "line 4, column 1",
            "is a folder, and 'address' is a key of a collector",
        ),
        ("[destination.d]\ntype = \"collector\"\nkeys = \"a.pcap\"", "line 1, column 14", "has no 'address'"),
        (
            "[destination.d]\ntype = \"collector\"\naddress = \"h:9610\"",
            "line 1, column 14",
            "does not say who the sensor is",
        ),
        ("[destination.d]\ntype = \"collector\"\naddress = \"h\"\nkeys = \"a.pcap\"", "line 3, column 11", "HOST:PORT"),
        (
            "[destination.d]\ntype = \"folder\"\npath = \"/x\"\nkinds = [\"scan.*\", \"*.scan\"]",
            "line 4, column 20",
            "'*.scan' chooses no kinds; write a kind, or the beginning",
        ),
        ("[destination.d]\ntype = \"folder\"\npath = \"/a-file\"", "line 3, column 8", "/a-file is no folder"),
        (
            "[destination.d]\ntype = \"collector\"\naddress = \"h:1\"\ncertificate = \"a.pcap\"\nkey = \"a.pcap\"\nauthority = \"a.pcap\"",
            "line 4, column 15",
            "is for a collector; write the file that tidewire keys sensor NAME makes",
        ),
        (
            "[sensor]\nmetrics = \"9600\"",
            "line 2, column 11",
            "invalid metrics '9600': invalid socket address; expected an address and an unused",
        ),
        ("[events]\nstore = \"/a-file\"", "line 2, column 9", "is no folder"),
        ("[inline.match]\nfiles = [\"a.pcap\", \"wrong.txt\"]", "line 2, column 20", "wrong.txt: line 2: unknown"),
        ("[destination.\"d d\"]\ntype = \"folder\"", "line 1, column 14", "cannot be the name of a destination"),
        ("x = [", "line 1, column", ""),
    ] {
        let all =
            if text.contains("interfaces") || text.contains("files") || text.contains("capt") || text == "[sensor]\n" {
                text.replace("[capture]\nfilter", "[capture]\ninterfaces = [\"eth1\"]\nfilter")
            } else {
                format!("{text}\n{begin}")
            };
        let all = match all.contains("eth1") || !text.starts_with("[capture]\n") || text.contains("files") {
            true => all,
            false => format!("{all}\ninterfaces = [\"eth1\"]"),
        };
        let mistakes = wrong(&all);
        let place = if text.contains("prt 80") { "line 3, column 10" } else { place };
        assert!(
            mistakes.iter().any(|mistake| mistake.contains(place) && mistake.contains(what)),
            "{all}\nwants {place} {what}\nsays {mistakes:#?}"
        );
        assert!(mistakes.iter().all(|mistake| mistake.starts_with("sensor.toml: ")), "{mistakes:#?}");
    }
}

#[test]
fn all_mistakes_come_at_once_in_order() {
    let text = "[capture]\ninterfaces = [\"eth1\"]\nworkers = 0\n[queue.q]\nunit = \"x\"\n= 5\n[analyzer.a]\ncommand = [\"no\"]\nuser = \"no\"\n";
    let mistakes = wrong(text);
    let lines: Vec<&str> = mistakes.iter().filter_map(|mistake| mistake.split([' ', ',']).nth(2)).collect();
    assert_eq!(lines, ["6", "3", "5", "8", "9"], "what may cause others comes first: {mistakes:#?}");
}

#[test]
fn every_key_is_documented() {
    let document = include_str!("../../../../docs/sensor.md");
    let tables: [(&str, Vec<&str>); 14] = [
        ("### `[sensor]`", sections::SENSOR.to_vec()),
        ("### `[capture]`", sections::CAPTURE.to_vec()),
        ("### `[queue.NAME]`", sections::QUEUE.to_vec()),
        ("### `[analyzer.NAME]`", sections::ANALYZER.to_vec()),
        ("### `[events]`", sections::EVENTS.to_vec()),
        ("### `[events.kind.\"NAME\"]`", sections::KIND.to_vec()),
        ("### `[inline.anomaly]`", sections::ANOMALY.to_vec()),
        ("### `[inline.match]`", sections::MATCH.to_vec()),
        ("### `[inline.scan]`", sections::SCAN.to_vec()),
        ("### `[spool]`", sections::SPOOL.to_vec()),
        ("### `[record]`", sections::RECORD.to_vec()),
        ("### `[records]`", sections::RECORDS.to_vec()),
        ("### `[output.NAME]`", sections::OUTPUT.to_vec()),
        (
            "### `[destination.NAME]`",
            [sections::DESTINATION, sections::COLLECTOR, sections::FOLDER, sections::KAFKA].concat(),
        ),
    ];
    for (title, keys) in tables {
        let section =
            document.split_once(title).map(|(_, rest)| rest).unwrap_or_else(|| panic!("{title} is not there"));
        let section = section.split("\n#").next().unwrap_or_default();
        let names = |line: &str| -> Vec<String> {
            let cell = line.strip_prefix("| ").and_then(|line| line.split(" |").next()).unwrap_or_default();
            cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
        };
        let rows: Vec<String> = section.lines().flat_map(names).collect();
        assert_eq!(rows.len(), keys.len(), "{title}: {rows:?}");
        assert!(keys.iter().all(|key| rows.iter().any(|row| row == key)), "{title}: {rows:?}, {keys:?}");
    }
    assert!(sections::CLASS.iter().chain(sections::RECORD_CLASS).all(|key| document.contains(&format!("{key} = "))));
}

#[test]
fn sums_are_checked() {
    let mut text = String::from("[capture]\ninterfaces = [\"eth1\"]\n[queue.q]\n");
    for number in 0..3 {
        text += &format!("[analyzer.a{number}]\ncommand = \"analyzer\"\ngroup = \"g\"\ninstances = 11\n");
    }
    let mistakes = wrong(&text);
    assert!(mistakes[0].contains("line 3, column 8: queue \"q\" has 33 analyzers, and can have 32"), "{mistakes:?}");
    // A set of two has room for them.
    assert_eq!(right(&text.replace("[queue.q]", "[queue.q]\ncount = 2")).analyzers.len(), 3);
    // A queue of packets has 4 MiB at least.
    let packets = "[capture]\ninterfaces = [\"eth1\"]\nmemory = \"8000M\"\n[queue.q]\nmemory = \"512K\"\ncount = 64\nunit = \"packets\"\n";
    assert!(wrong(packets)[0].contains("more than this machine's 8 GiB"));
    right(&packets.replace("packets", "streams"));
    let many: String = (0..5).map(|number| format!("[queue.q{number}]\ncount = 64\nmemory = \"512K\"\n")).collect();
    let mistakes = wrong(&format!("[capture]\ninterfaces = [\"eth1\"]\n{many}"));
    assert!(mistakes[0].contains("at most 256 queues"), "{mistakes:?}");
}

#[test]
fn what_may_come_is_a_warning() {
    let examined = examined(
        "[capture]\ninterfaces = [\"eth7\"]\n[queue.q]\ndistribution = \"flow-hash\"\n[analyzer.a]\ncommand = \"analyzer\"\ninstances = 2\n",
    );
    assert!(examined.config.is_some());
    let warnings: Vec<String> = examined.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(warnings[0].contains("line 2, column 15: no interface eth7"), "{warnings:?}");
}

#[test]
fn many_mistakes_are_counted() {
    let text: String = (0..1000).map(|number| format!("x{number} = 1\n")).collect();
    let mistakes = wrong(&text);
    assert_eq!(mistakes.len(), 101);
    assert!(mistakes[100].contains("more mistakes are not listed"), "{}", mistakes[100]);
}

#[test]
fn hostile_texts_end_soon() {
    let deep = format!("x = {}", "[".repeat(400_000));
    let tables = format!("x = {}", "{a=".repeat(200_000));
    let keys = format!("{} = 1", "a.".repeat(300_000));
    let headers = "[a]\n".repeat(200_000);
    let huge = "q = \"x\"\n".repeat(200_000);
    let long = format!("[queue.q]\n{} = 1", "k".repeat(900_000));
    for text in [&deep, &tables, &keys, &headers, &huge, &long] {
        assert!(examined(text).config.is_none());
    }
}

fn fragments() -> impl Strategy<Value = String> {
    let words = WHOLE.split(['\n', ' ']).map(str::to_owned).collect::<Vec<_>>();
    let separators = prop::sample::select(vec![" ", "\n", "=", "[", "]", "{", "}", "\"", ",", "."]);
    prop::collection::vec((prop::sample::select(words), separators), 0..60)
        .prop_map(|parts| parts.into_iter().map(|(word, separator)| word + separator).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_is_examined(text in any::<String>()) {
        examined(&text);
    }

    #[test]
    fn any_bytes_are_examined(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        examined(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn pieces_in_any_order_are_examined(text in fragments()) {
        let examined = examined(&text);
        // Either or: a configuration is used only if nothing is wrong with it.
        prop_assert_eq!(examined.config.is_some(), examined.mistakes.is_empty());
    }

    #[test]
    fn a_changed_configuration_is_refused_or_sound(at in 0..WHOLE.len(), to in any::<char>(), remove in 0_usize..12) {
        let mut text: Vec<char> = WHOLE.chars().collect();
        let end = (at + remove).min(text.len());
        text.splice(at.min(end)..end, [to]);
        let text: String = text.into_iter().collect();
        let examined = examined(&text);
        if let Some(config) = examined.config {
            for analyzer in &config.analyzers {
                let has_queues = (0..analyzer.instances).all(|instance| queue_of(analyzer, instance, &config.queues).is_some());
                prop_assert!(has_queues && !analyzer.command.is_empty());
            }
        } else {
            prop_assert!(examined.mistakes.iter().all(|mistake| mistake.place.is_none_or(|place| place.0 > 0 && place.1 > 0)));
        }
    }
}
