//! Settings of a collector.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use tidewire_event_store::Limits;

use crate::keys::Places;

/// A collector.
#[derive(Clone, Debug)]
pub struct CollectSettings {
    /// Where sensors connect.
    pub listen: Vec<SocketAddr>,
    /// The folder with a folder for each sensor. It is made if it is not there.
    pub store: PathBuf,
    /// Its key and certificate, and the authority of the sensors. Read again by [`Server::reload`](super::Server::reload).
    pub places: Places,
    /// A file with the sensors and certificates that are refused although the authority signed them ([`Refused`](crate::keys::Refused));
    /// read again by [`Server::reload`](super::Server::reload).
    pub refused: Option<PathBuf>,
    /// How old and how large the store of each sensor may become.
    pub limits: Limits,
    /// Bytes of records that a sensor may send in a second (before compression); `None`: as many as it can. Default 16 MiB. A sensor
    /// that sends more waits.
    pub rate_bytes: Option<u64>,
    /// Connections at a time. Default 256. A sensor has one: a new one ends its old one.
    pub connections_max: usize,
    /// Sensors that have a store here, at most. Default 4,096.
    pub sensors_max: usize,
    /// A connection on which nothing comes for so long is closed. Default 90 s: sensors ask every 15 s whether it is still there.
    pub timeout: Duration,
}

impl CollectSettings {
    /// The default settings.
    #[must_use]
    pub fn new(listen: Vec<SocketAddr>, store: PathBuf, places: Places) -> Self {
        Self {
            listen,
            store,
            places,
            refused: None,
            limits: Limits::default(),
            rate_bytes: Some(16 << 20),
            connections_max: 256,
            sensors_max: 4096,
            timeout: Duration::from_secs(90),
        }
    }
}
