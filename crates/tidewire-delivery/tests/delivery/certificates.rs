//! Certificates that are wrong, missing, expired or swapped, and keys that others can read: nothing is delivered, and both sides say why.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use tidewire_delivery::{
    CollectorSettings, To,
    collector::Server,
    keys::{Authority, Places, Validity, files},
};
use tidewire_event_store::Store;

use crate::rig::{Collecting, Spooling, YEAR, batch, count, destination, key_file, keys, open, places, to_collector};

const DAY: Duration = Duration::from_secs(86_400);

/// A store with events, and a collector.
struct Case {
    folder: tempfile::TempDir,
    collecting: Collecting,
    store: PathBuf,
    _writer: Store,
}

impl Case {
    fn new(collector: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("events.db");
        let mut writer = open(&store);
        writer.append(&batch(0..10)).unwrap();
        let settings = Collecting::settings(&folder.path().join("collected"));
        let settings =
            tidewire_delivery::collector::CollectSettings { places: places(collector.to_owned()), ..settings };
        let collecting = Collecting::with(settings);
        Self { folder, collecting, store, _writer: writer }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        files::create(&path, text).unwrap();
        path
    }

    /// A spooler with these keys fails so, the collector says that, and nothing has arrived.
    fn fails(&self, keys: &Path, here: &str, there: &str) {
        let address = format!("127.0.0.1:{}", self.collecting.address().port());
        let spooling = Spooling::start(&self.store, vec![to_collector("c", &address, keys.to_owned())]);
        spooling.log.until(here);
        if !there.is_empty() {
            self.collecting.log.until(there);
        }
        assert_eq!(spooling.status("c").delivered, 0);
        drop(spooling);
        let all: Vec<_> = fs::read_dir(&self.collecting.store).unwrap().collect();
        assert!(all.is_empty(), "{all:?}");
    }
}

fn stranger() -> Authority {
    Authority::make("stranger", Validity::of(YEAR)).unwrap().0
}

fn hosts() -> Vec<String> {
    vec!["127.0.0.1".into()]
}

#[test]
fn a_sensor_of_another_authority_is_refused() {
    let case = Case::new(&key_file("collector"));
    // It believes the collector; the collector does not believe it.
    let text = stranger().sensor("edge-1", Validity::of(YEAR)).unwrap();
    let own = text.rsplit_once("-----BEGIN CERTIFICATE-----").unwrap().0;
    let path = case.file("stranger.pem", &format!("{own}{}", keys().authority.certificate()));
    case.fails(
        &path,
        "our certificate is not from an authority that it knows",
        "not from an authority that is known here",
    );
}

#[test]
fn a_collector_of_another_authority_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("collector.pem");
    files::create(&path, &stranger().collector(&hosts(), Validity::of(YEAR)).unwrap()).unwrap();
    let case = Case::new(&path);
    case.fails(&key_file("edge-1"), "not from an authority that is known here", "not from an authority that it knows");
}

#[test]
fn an_authority_that_was_made_twice_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("collector.pem");
    // The same name, another key: what two runs of 'tidewire keys' in two folders make.
    let again = Authority::make("tests", Validity::of(YEAR)).unwrap().0;
    files::create(&path, &again.collector(&hosts(), Validity::of(YEAR)).unwrap()).unwrap();
    let case = Case::new(&path);
    case.fails(&key_file("edge-1"), "make both with one authority.pem", "make both with one authority.pem");
}

#[test]
fn a_collector_of_another_name_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("collector.pem");
    let text = keys().authority.collector(&["elsewhere.example.org".into()], Validity::of(YEAR)).unwrap();
    files::create(&path, &text).unwrap();
    let case = Case::new(&path);
    case.fails(&key_file("edge-1"), "it has other names", "it cannot use our certificate");
}

#[test]
fn expired_certificates_are_refused_on_both_sides() {
    let now = SystemTime::now();
    let past = Validity { begins: now - 20 * DAY, ends: now - 10 * DAY };
    let future = Validity { begins: now + 10 * DAY, ends: now + 20 * DAY };
    let case = Case::new(&key_file("collector"));
    let path = case.file("old.pem", &keys().authority.sensor("edge-1", past).unwrap());
    case.fails(&path, "our certificate has expired", "it has expired");
    let path = case.file("new.pem", &keys().authority.sensor("edge-1", future).unwrap());
    case.fails(&path, "our certificate has expired, or is not valid yet", "not valid yet");
    let path = case.file("collector.pem", &keys().authority.collector(&hosts(), past).unwrap());
    let case = Case::new(&path);
    case.fails(&key_file("edge-1"), "it has expired; renew it", "our certificate has expired");
}

#[test]
fn swapped_certificates_are_refused() {
    let case = Case::new(&key_file("collector"));
    // Those of a collector at a sensor, and the other way round, are refused before anything is sent.
    case.fails(&key_file("collector"), "this is the certificate of a collector", "");
    let settings = Collecting::settings(case.folder.path());
    let settings = tidewire_delivery::collector::CollectSettings { places: places(key_file("edge-1")), ..settings };
    let error = Server::start(settings, |_| ()).map(drop).unwrap_err().to_string();
    assert!(error.contains("this is the certificate of a sensor"), "{error}");
    // The key of one sensor with the certificate of another.
    let to = |certificate: &str, key: &str| {
        To::Collector(CollectorSettings {
            address: case.collecting.address().to_string(),
            keys: Some(key_file("edge-1")),
            certificate: Some(key_file(certificate)),
            key: Some(key_file(key)),
            authority: None,
            server_name: None,
            timeout: Duration::from_secs(5),
        })
    };
    let spooling = Spooling::start(&case.store, vec![destination("c", to("edge-1", "edge-2"))]);
    spooling.log.until("key and certificate cannot be used");
    drop(spooling);
    // Parts that belong together do.
    let spooling = Spooling::start(&case.store, vec![destination("c", to("edge-2", "edge-2"))]);
    spooling.until("delivery", "c", |status| status.delivered == 10);
    assert_eq!((count(&case.collecting.of("edge-2")), count(&case.collecting.of("edge-1"))), (10, 0));
}

#[test]
fn what_is_missing_is_said_with_its_file() {
    let case = Case::new(&key_file("collector"));
    case.fails(&case.folder.path().join("none.pem"), "none.pem: No such file", "");
    let path = case.file("empty.pem", "nothing\n");
    case.fails(&path, "empty.pem: this file holds no certificate", "");
    let text = fs::read_to_string(key_file("edge-1")).unwrap();
    let at = text.find("-----BEGIN CERTIFICATE-----").unwrap();
    let path = case.file("no-key.pem", &text[at..]);
    case.fails(&path, "holds no private key", "");
    let path = case.file("no-authority.pem", text.rsplit_once("-----BEGIN CERTIFICATE-----").unwrap().0);
    case.fails(&path, "holds no certificate of an authority", "");
    let name = "a name/with a slash";
    assert!(keys().authority.sensor(name, Validity::of(YEAR)).is_err());
    assert!(keys().authority.sensor("..", Validity::of(YEAR)).is_err());
    assert!(keys().authority.collector(&["*.example.org".into()], Validity::of(YEAR)).is_err());
}

#[test]
fn keys_that_others_can_read_are_refused_with_the_command_that_repairs_them() {
    let case = Case::new(&key_file("collector"));
    let path = case.file("open.pem", &fs::read_to_string(key_file("edge-1")).unwrap());
    for mode in [0o644, 0o640, 0o602] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        case.fails(&path, &format!("run: chmod 600 {}", path.display()), "");
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&path, Some(12_345), None).unwrap();
        case.fails(&path, &format!("run: chown 0 {}", path.display()), "");
    } else {
        tidewire_testing::skip("files of other users can only be made by root");
    }
    // The authority, too, and what is made is made so.
    let (_, text) = Authority::make("a", Validity::of(YEAR)).unwrap();
    let path = case.file("authority.pem", &text);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(Authority::read(&path).is_ok() && files::create(&path, &text).is_err(), "nothing is overwritten");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o604)).unwrap();
    assert!(Authority::read(&path).map(drop).unwrap_err().to_string().contains("chmod 600"));
}

#[test]
fn a_collector_reads_new_keys_and_keeps_the_old_ones_if_they_are_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("collector.pem");
    fs::copy(key_file("collector"), &path).unwrap();
    let case = Case::new(&path);
    files::replace(&path, "nothing\n").unwrap();
    assert!(case.collecting.server.reload().is_err());
    let address = case.collecting.address().to_string();
    let spooling = Spooling::start(&case.store, vec![to_collector("c", &address, key_file("edge-1"))]);
    spooling.until("delivery", "c", |status| status.delivered == 10);
    drop(spooling);
    // Another authority: the old sensors are unknown now.
    files::replace(&path, &stranger().collector(&hosts(), Validity::of(YEAR)).unwrap()).unwrap();
    case.collecting.server.reload().unwrap();
    let spooling = Spooling::start(&case.store, vec![to_collector("c", &address, key_file("edge-1"))]);
    spooling.log.until("not from an authority that is known here");
}

#[test]
fn a_connection_ends_with_the_certificate() {
    let case = Case::new(&key_file("collector"));
    let now = SystemTime::now();
    let short = Validity { begins: now - DAY, ends: now + Duration::from_secs(3) };
    let path = case.file("short.pem", &keys().authority.sensor("edge-1", short).unwrap());
    let mut to = to_collector("c", &case.collecting.address().to_string(), path);
    // It asks every half second whether the collector is there.
    let To::Collector(of) = &mut to.to else { unreachable!("a collector") };
    of.timeout = Duration::from_secs(2);
    let spooling = Spooling::start(&case.store, vec![to]);
    spooling.until("delivery", "c", |status| status.delivered == 10);
    spooling.log.until("expires in 0 days");
    case.collecting.log.until("its certificate has expired meanwhile");
    spooling.log.until("our certificate has expired");
    assert!(Places::default().read().is_err());
}
