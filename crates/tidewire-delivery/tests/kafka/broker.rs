//! A broker of one node on loopback, accessed by Kafka's own client.

use std::{
    env, fs,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::Duration,
};

use tempfile::TempDir;
use tidewire_testing::{Ends as _, InTime as _, wait_until};

/// Where Kafka's jars are, or why there is no broker.
pub fn jars() -> Result<PathBuf, String> {
    if let Some(missing) = tidewire_testing::missing(&["java"]) {
        return Err(missing);
    }
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/kafka/libs");
    let folder = env::var_os("TIDEWIRE_KAFKA_LIBS").map_or(own, PathBuf::from);
    let entries = fs::read_dir(&folder)
        .map_err(|error| format!("{}: {error} (make kafka-test brings them)", folder.display()))?;
    let is_server = |name: String| name.starts_with("kafka_2.13-") && name.ends_with(".jar");
    let has_server = entries.flatten().any(|entry| entry.file_name().into_string().is_ok_and(is_server));
    if has_server { Ok(folder) } else { Err(format!("{} has no broker (make kafka-test brings it)", folder.display())) }
}

/// A broker. It ends with this.
pub struct Broker {
    jars: PathBuf,
    folder: TempDir,
    ports: [u16; 3],
    process: Option<Child>,
}

fn free_ports() -> [u16; 3] {
    let sockets = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    sockets.map(|socket| socket.local_addr().unwrap().port())
}

impl Broker {
    /// Starts one. `keys`: its key and certificate, and the authority's certificate, for TLS with certificates of both sides.
    pub fn start(jars: PathBuf, keys: &str, authority: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ports = free_ports();
        let [plain, tls, controller] = ports;
        let path = |name: &str| folder.path().join(name).display().to_string();
        let listeners = format!("PLAINTEXT://127.0.0.1:{plain},SSL://127.0.0.1:{tls}");
        let properties = [
            ("process.roles", "broker,controller".to_owned()),
            ("node.id", "1".into()),
            ("controller.quorum.voters", format!("1@127.0.0.1:{controller}")),
            ("listeners", format!("{listeners},CONTROLLER://127.0.0.1:{controller}")),
            ("advertised.listeners", listeners),
            ("controller.listener.names", "CONTROLLER".into()),
            ("inter.broker.listener.name", "PLAINTEXT".into()),
            ("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,SSL:SSL,CONTROLLER:PLAINTEXT".into()),
            ("log.dirs", path("log")),
            ("offsets.topic.replication.factor", "1".into()),
            ("auto.create.topics.enable", "false".into()),
            ("ssl.keystore.type", "PEM".into()),
            ("ssl.keystore.location", path("keys.pem")),
            ("ssl.truststore.type", "PEM".into()),
            ("ssl.truststore.location", path("authority.pem")),
            ("ssl.client.auth", "required".into()),
        ];
        let text: String = properties.iter().map(|(key, value)| format!("{key}={value}\n")).collect();
        fs::write(folder.path().join("server.properties"), text).unwrap();
        fs::write(folder.path().join("keys.pem"), keys).unwrap();
        fs::write(folder.path().join("authority.pem"), authority).unwrap();
        let mut broker = Self { jars, folder, ports, process: None };
        let properties = broker.path("server.properties");
        let mut format = broker.java();
        format.args(["kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c"]).arg(properties);
        let format = format.run_in_time().unwrap();
        assert!(format.status.success(), "{}", String::from_utf8_lossy(&format.stderr));
        broker.again();
        broker
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Where its messages are.
    pub fn log(&self) -> PathBuf {
        self.path("log")
    }

    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.ports[0])
    }

    pub fn tls_address(&self) -> String {
        format!("127.0.0.1:{}", self.ports[1])
    }

    fn java(&self) -> Command {
        let mut java = Command::new("java");
        java.args(["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"]);
        java.arg(format!("{}/*", self.jars.display())).stdin(Stdio::null());
        java
    }

    /// Starts it, with what it has.
    pub fn again(&mut self) {
        let output = fs::File::create(self.path("output")).unwrap();
        let mut java = self.java();
        java.arg("kafka.Kafka").arg(self.path("server.properties"));
        java.stdout(output.try_clone().unwrap()).stderr(output);
        self.process = Some(java.spawn().unwrap());
        wait_until("the broker listens", || {
            let ended = self.process.as_mut().and_then(|process| process.try_wait().unwrap());
            assert!(ended.is_none(), "{ended:?}: {}", fs::read_to_string(self.folder.path().join("output")).unwrap());
            sleep(Duration::from_millis(50));
            TcpStream::connect(("127.0.0.1", self.ports[0])).is_ok()
        });
    }

    /// Ends it without a warning.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait_in_time("the broker");
        }
    }

    fn ask(&self, arguments: &[&str]) -> String {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kafka/Topic.java");
        let output = self.java().arg(program).args(arguments).run_in_time().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn create(&self, topic: &str, partitions: u32, settings: &[&str]) {
        let (address, partitions) = (self.address(), partitions.to_string());
        self.ask(&[&["create", &address, topic, &partitions], settings].concat());
    }

    /// Everything in a topic, by partition and offset.
    pub fn read(&self, topic: &str) -> Vec<Message> {
        self.ask(&["read", &self.address(), topic]).lines().map(Message::of).collect()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A message as it was consumed.
#[derive(Debug)]
pub struct Message {
    pub partition: u32,
    /// The one that Java's producer would have chosen.
    pub expected_partition: u32,
    pub key: String,
    pub sequence: String,
    pub sensor: String,
    pub schema: String,
    /// The wrapped data key.
    pub data_key: Option<Vec<u8>>,
    pub value: serde_json::Value,
}

pub fn unhex(text: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(byte).collect()
}

impl Message {
    fn of(line: &str) -> Self {
        let parts: Vec<&str> = line.splitn(6, '\t').collect();
        let headers: Vec<(&str, &str)> = parts[4].split_whitespace().filter_map(|one| one.split_once('=')).collect();
        let header = |name: &str| headers.iter().find(|one| one.0 == name).map(|one| one.1);
        let bytes = |name: &str| unhex(header(name).unwrap_or_else(|| panic!("no {name} in {line}")));
        let text = |name: &str| String::from_utf8(bytes(name)).unwrap();
        Self {
            partition: parts[0].parse().unwrap(),
            expected_partition: parts[1].parse().unwrap(),
            key: parts[3].to_owned(),
            sequence: text("tw-seq"),
            sensor: text("tw-sensor"),
            schema: text("tw-schema"),
            data_key: header("tw-key").map(unhex),
            value: serde_json::from_str(parts[5]).unwrap(),
        }
    }
}
