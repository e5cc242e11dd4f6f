//! `--metrics ADDR`: where every packet is or went, in OpenMetrics form, for whoever asks by HTTP.
//!
//! The address is bound before privileges are given up ([`Metrics::bind`]), the thread that answers is started after
//! ([`Metrics::start`]); each report of the run is put where that thread finds it ([`Metrics::publish`]).

mod accept;
mod encode;
mod families;
mod server;

use std::{
    net::SocketAddr,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

use tidewire::live::LiveReport;

use crate::error::CliError;
use families::Shown;
pub use families::{Family, Kind, live};
use server::Server;

/// Figures that are shown by HTTP, until it is dropped.
pub struct Metrics {
    address: SocketAddr,
    shown: Shown,
    stop: Arc<AtomicBool>,
    server: Option<Server>,
    thread: Option<JoinHandle<()>>,
}

impl Metrics {
    /// Binds an address, as `127.0.0.1:9600`, `[::1]:9600` or `:9600` (every address of this machine).
    pub fn bind(address: &str) -> Result<Self, CliError> {
        let full = if address.starts_with(':') { format!("[::]{address}") } else { address.to_owned() };
        let refused = |error: std::io::Error| {
            CliError::Usage(format!(
                "--metrics {address}: {error}; give an address and a free port, as in 127.0.0.1:9600"
            ))
        };
        let (shown, stop) = (Shown::default(), Arc::new(AtomicBool::new(false)));
        let server = Server::bind(&full, Arc::clone(&shown), Arc::clone(&stop)).map_err(refused)?;
        let address = server.address().map_err(refused)?;
        Ok(Self { address, shown, stop, server: Some(server), thread: None })
    }

    /// Where it is bound: with port 0, the port that was free.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Begins to answer, on a thread of its own.
    pub fn start(&mut self) -> Result<(), CliError> {
        let Some(server) = self.server.take() else { return Ok(()) };
        let thread = std::thread::Builder::new().name("metrics".into()).spawn(move || server.run());
        self.thread = Some(thread.map_err(|error| CliError::Output(format!("no thread for --metrics: {error}")))?);
        Ok(())
    }

    /// Shows a report from now on.
    pub fn publish(&self, report: &LiveReport) {
        self.show(live(report));
    }

    /// Shows figures from now on.
    pub fn show(&self, families: Vec<Family>) {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = families;
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
