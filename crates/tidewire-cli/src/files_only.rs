//! Replaces `live` and `archive` if the command is built without that feature: capture files only.

use std::{convert::Infallible, path::PathBuf};

use clap::Args;
use tidewire::{Capture, Handler, Ledger, Outcome, Stop};

use tidewire_outputs::CutOffs;

use crate::{error::CliError, output::Object, outputs::Outputs};

/// Captures from interfaces do not exist.
pub type Interfaces<'a> = &'a Infallible;

/// Captures from files have no counters before the engine.
pub enum LiveReport {}

impl LiveReport {
    pub fn lost_packets(&self) -> u64 {
        match *self {}
    }
}

/// Archives are not read.
#[derive(Args, Clone, Debug, Default)]
pub struct ArchiveOptions {}

impl ArchiveOptions {
    pub fn are(_: &[PathBuf]) -> bool {
        false
    }

    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as in `archive`")]
    pub fn open(&self, _: &[PathBuf], _: Option<String>) -> Result<Option<tidewire_files::Reader>, CliError> {
        Ok(None)
    }
}

impl ArchiveOptions {
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as in `archive`")]
    pub fn need_none(&self) -> Result<(), CliError> {
        Ok(())
    }

    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as in `archive`")]
    pub fn cut_off(&self, _: &[PathBuf]) -> Result<Option<CutOffs>, CliError> {
        Ok(None)
    }
}

/// The options for interfaces, refused with the missing feature.
#[derive(Args, Clone, Debug, Default)]
pub struct Live {
    #[arg(short = 'i', long, value_name = "NAME", hide = true)]
    pub interface: Vec<String>,
}

impl Live {
    pub fn is_on(&self) -> bool {
        !self.interface.is_empty()
    }

    #[expect(clippy::unused_self, reason = "as in `live`")]
    pub fn numbers_for_files(&self, allowed: u64) -> u64 {
        allowed
    }

    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as in `live`")]
    pub fn need_none(&self) -> Result<(), CliError> {
        Ok(())
    }

    #[expect(clippy::unused_self, reason = "as in `live`")]
    pub fn capture<'a>(&self) -> Result<Capture<Interfaces<'a>>, CliError> {
        Err(missing())
    }
}

fn missing() -> CliError {
    without("interfaces")
}

/// Says that something was not built.
pub fn without(what: &str) -> CliError {
    CliError::Usage(format!(
        "this tidewire was built without {what} (make demo: it reads capture files only); build the whole: make install, or cargo build \
         --release -p tidewire-cli --features live"
    ))
}

pub fn run<H: Handler + Send>(
    _: Capture<Interfaces<'_>>,
    _: &Live,
    _: &Stop,
    _: Outputs<'_>,
    _: &[PathBuf],
    _: impl FnMut(usize) -> H,
) -> Result<Outcome<H>, CliError> {
    Err(missing())
}

pub fn report_of<H>(_: &Outcome<H>) -> Option<LiveReport> {
    None
}

pub fn push_json(_: &mut Object<'_>, report: &LiveReport, _: &Ledger) {
    match *report {}
}

pub fn say_lost(report: &LiveReport) {
    match *report {}
}

pub fn text(report: &LiveReport, _: &Ledger) -> String {
    match *report {}
}
