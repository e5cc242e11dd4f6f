//! The connection of a spooler: what destinations have.

use std::{io, os::fd::OwnedFd, path::Path, time::Duration};

use rustix::{
    io::Errno,
    net::{RecvFlags, SendFlags, recv, send},
};

use tidewire_events::Severity;

use super::link::{open, wait};
use crate::protocol::{NAMES_MAX, ServerPacket, control, delivered, register, severity};

/// How long the event processor may take to read.
const PATIENCE: Duration = Duration::from_secs(5);

/// Reports to the event processor how far each destination is. Only root and the sensor's own user may. Nothing is answered: positions
/// are stored within a second; a position that was not stored is delivered, and reported, again.
#[derive(Debug)]
pub struct Control {
    socket: OwnedFd,
}

impl Control {
    /// Connects to the event processor that listens at `path`.
    ///
    /// # Errors
    /// It cannot be reached, or refuses.
    pub fn connect(path: &Path) -> io::Result<Self> {
        let mut control_of = Self { socket: open(path)? };
        control_of.send(&control())?;
        Ok(control_of)
    }

    /// Names all destinations there are: from now on, what new ones do not get is counted as lost, and others are forgotten.
    ///
    /// # Errors
    /// The connection is over: connect again.
    pub fn register(&mut self, names: &[String]) -> io::Result<()> {
        if names.len() > NAMES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("more than {NAMES_MAX} destinations")));
        }
        self.send(&register(names))
    }

    /// Records that are less severe are not for this destination: those that are removed before it has them are not lost to it.
    ///
    /// # Errors
    /// The connection is over: connect again.
    pub fn severity(&mut self, destination: &str, least: Severity) -> io::Result<()> {
        self.send(&severity(destination, least))
    }

    /// A destination has everything up to this record.
    ///
    /// # Errors
    /// The connection is over: connect again.
    pub fn delivered(&mut self, destination: &str, id: u64) -> io::Result<()> {
        self.send(&delivered(destination, id))
    }

    /// Checks that the event processor is still there. A restarted one needs every report again.
    ///
    /// # Errors
    /// The connection is over: connect again.
    pub fn check(&mut self) -> io::Result<()> {
        self.look()
    }

    fn send(&mut self, packet: &[u8]) -> io::Result<()> {
        self.look()?;
        let begun = std::time::Instant::now();
        loop {
            match send(&self.socket, packet, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN | Errno::NOBUFS) if begun.elapsed() < PATIENCE => {
                    wait(&self.socket, Duration::from_millis(10));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Whether it was refused, or is over.
    fn look(&mut self) -> io::Result<()> {
        let mut packet = [0; 1024];
        match recv(&self.socket, &mut packet, RecvFlags::DONTWAIT) {
            Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
            Ok((0, _)) => Err(io::ErrorKind::ConnectionReset.into()),
            Ok((bytes, _)) => match ServerPacket::parse(&packet[..bytes.min(packet.len())]) {
                Some(ServerPacket::Refused(reason)) => Err(io::Error::other(reason)),
                _ => Ok(()),
            },
        }
    }
}
