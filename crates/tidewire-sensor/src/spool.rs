//! Privileges that the spooler gives up before it reads a file or connects anywhere.

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
};

use tidewire::live::{Confinement, Connections};
use tidewire_delivery::{DestinationSettings, Settings, To};

/// Files that a look-up of a name reads.
const NAMES: &[&str] = &[
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/host.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager",
];
/// Where names are looked up if answers are large.
const NAMES_PORT: u16 = 53;
/// Files that OpenSSL, which Kafka's library uses, reads by itself.
const OPENSSL: &[&str] = &["/etc/ssl/openssl.cnf", "/usr/lib/ssl", "/etc/pki/tls/openssl.cnf"];

/// Leaves what delivery needs: the store's directory, folders of destinations, keys, and connections to where events go. Returns what
/// could not be given up.
#[must_use]
pub fn confine(settings: &Settings) -> Vec<String> {
    let destinations = &settings.destinations;
    let mut confinement = Confinement::new().connect(connections(destinations)).writable(parent(&settings.store));
    let mut read: Vec<PathBuf> = destinations.iter().flat_map(files).map(|file| parent(file).to_owned()).collect();
    if destinations.iter().any(has_name) {
        read.extend(NAMES.iter().map(PathBuf::from));
    }
    if destinations.iter().any(|one| matches!(&one.to, To::Kafka(kafka) if kafka.tls.is_some())) {
        read.extend(OPENSSL.iter().map(PathBuf::from));
    }
    for path in read {
        confinement = confinement.readable(path);
    }
    for path in destinations.iter().filter_map(folder) {
        // One that is made later is below this.
        let Some(there) = path.ancestors().find(|one| one.is_dir()).filter(|one| one.parent().is_some()) else {
            return vec![format!("{}: make this folder; the spooler keeps all its rights without it", path.display())];
        };
        confinement = confinement.writable(there);
    }
    match confinement.confine() {
        Ok(confined) => confined.missing,
        Err(error) => vec![error.to_string()],
    }
}

/// A file that is replaced is another one: what is allowed is its directory.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."))
}

fn folder(destination: &DestinationSettings) -> Option<&Path> {
    match &destination.to {
        To::Folder(folder) => Some(&folder.path),
        _ => None,
    }
}

/// Files with keys and certificates.
fn files(destination: &DestinationSettings) -> Vec<&PathBuf> {
    match &destination.to {
        To::Collector(to) => [&to.keys, &to.certificate, &to.key, &to.authority].into_iter().flatten().collect(),
        To::Folder(_) => Vec::new(),
        To::Kafka(to) => to
            .tls
            .iter()
            .flat_map(|tls| [Some(&tls.authority), tls.certificate.as_ref(), tls.key.as_ref()])
            .flatten()
            .collect(),
    }
}

/// Where it connects to: host and port.
fn addresses(destination: &DestinationSettings) -> Vec<(&str, Option<u16>)> {
    let all: Vec<&str> = match &destination.to {
        To::Collector(to) => vec![&to.address],
        To::Folder(_) => Vec::new(),
        To::Kafka(to) => to.brokers.iter().map(String::as_str).collect(),
    };
    let parts = |address| match str::rsplit_once(address, ':') {
        Some((host, port)) => (host.trim_start_matches('[').trim_end_matches(']'), port.parse().ok()),
        None => (address, None),
    };
    all.into_iter().map(parts).collect()
}

/// Whether a name has to be looked up. Brokers may name others by theirs.
fn has_name(destination: &DestinationSettings) -> bool {
    matches!(destination.to, To::Kafka(_))
        || addresses(destination).iter().any(|(host, _)| host.parse::<IpAddr>().is_err())
}

fn connections(destinations: &[DestinationSettings]) -> Connections {
    let names = destinations.iter().any(has_name);
    let ports = destinations.iter().flat_map(addresses).map(|(_, port)| port);
    let ports: Option<Vec<u16>> = ports.chain(names.then_some(Some(NAMES_PORT))).collect();
    // Brokers may name others at any port.
    let is_any = destinations.iter().any(|one| matches!(one.to, To::Kafka(_)));
    Connections::To { ports: ports.filter(|_| !is_any), names }
}
