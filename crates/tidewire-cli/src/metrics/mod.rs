//! `--metrics ADDR`: serves OpenMetrics at http://ADDR/metrics.
//!
//! The address is bound before privileges are dropped ([`Metrics::bind`]); the server thread starts afterwards
//! ([`Metrics::start`]) and serves the last published report ([`Metrics::publish`]).

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
pub use families::{Family, MetricKind, Sample, interface_states, live};
use server::Server;

/// The metrics server; it runs until this value is dropped.
pub struct Metrics {
    address: SocketAddr,
    shown: Shown,
    stop: Arc<AtomicBool>,
    server: Option<Server>,
    thread: Option<JoinHandle<()>>,
}

impl Metrics {
    /// Binds an address, as `127.0.0.1:9600`, `[::1]:9600` or `:9600` (every address of this host).
    pub fn bind(address: &str) -> Result<Self, CliError> {
        let full = if address.starts_with(':') { format!("[::]{address}") } else { address.to_owned() };
        let refused = |error: std::io::Error| {
            CliError::Usage(format!(
                "invalid --metrics '{address}': {error}; expected an address and an unused port, as in 127.0.0.1:9600"
            ))
        };
        let (shown, stop) = (Shown::default(), Arc::new(AtomicBool::new(false)));
        let server = Server::bind(&full, Arc::clone(&shown), Arc::clone(&stop)).map_err(refused)?;
        let address = server.address().map_err(refused)?;
        Ok(Self { address, shown, stop, server: Some(server), thread: None })
    }

    /// The bound address: with port 0, the assigned port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts to serve, in a separate thread.
    pub fn start(&mut self) -> Result<(), CliError> {
        let Some(server) = self.server.take() else { return Ok(()) };
        let thread = std::thread::Builder::new().name("metrics".into()).spawn(move || server.run());
        self.thread = Some(thread.map_err(|error| CliError::Output(format!("no thread for --metrics: {error}")))?);
        Ok(())
    }

    /// Publishes a report, and other families.
    pub fn publish(&self, report: &LiveReport, others: Vec<Family>) {
        let mut families = live(report);
        families.extend(others);
        self.show(families);
    }

    /// Publishes families.
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
