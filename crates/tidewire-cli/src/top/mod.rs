//! `tidewire top`: shows interfaces on a terminal as top(1) shows processes.

mod flows;
mod model;
mod screen;
mod snapshot;
mod view;

use std::{
    cell::RefCell,
    io::{self, IsTerminal as _},
};

use clap::Args;
use tidewire::{
    Mode, Stop,
    live::{Change, LiveReport},
};

use crate::{
    advice::WithHint,
    error::{self, CliError},
    live,
    options::Common,
    terminal,
    units::Share,
};
use flows::{Flows, Shared};
use model::Model;
use screen::{Key, Screen};
use snapshot::Memory;

/// Watch interfaces on a terminal: rates, losses, largest flows
///
/// Keys: q or Ctrl-C quits, p pauses, s sorts by bits, packets or bytes, r reverses the order, arrows scroll. For output line by
/// line, or without a terminal, use tidewire count.
#[derive(Args, Debug)]
pub struct Options {
    #[command(flatten)]
    common: Common,
}

/// Handles reports and keys.
struct Top {
    model: Model,
    shared: Shared,
    /// Opened with the first report, so that earlier messages stay visible.
    screen: Option<Screen>,
    failure: Option<io::Error>,
}

impl Top {
    fn look(&mut self, report: &LiveReport, stop: &Stop) {
        if self.failure.is_some() || report.workers.iter().all(|worker| worker.ended) {
            return;
        }
        if let Err(error) = self.go_on(report, stop) {
            self.failure = Some(error);
            stop.stop();
        }
    }

    fn go_on(&mut self, report: &LiveReport, stop: &Stop) -> io::Result<()> {
        let Self { model, shared, screen, .. } = self;
        let screen = match screen {
            Some(screen) => screen,
            None => screen.insert(Screen::take()?),
        };
        while let Some(key) = screen::key()? {
            press(model, key, stop);
        }
        model.take(report, || shared.look());
        screen.show(&model.snapshot)
    }
}

fn press(model: &mut Model, key: Key, stop: &Stop) {
    let snapshot = &mut model.snapshot;
    match key {
        Key::Quit => stop.stop(),
        Key::Pause => snapshot.paused = !snapshot.paused,
        Key::Sort => snapshot.sort = snapshot.sort.next(),
        Key::Reverse => snapshot.reversed = !snapshot.reversed,
        Key::Scroll(by) => snapshot.scrolled = snapshot.scrolled.saturating_add_signed(by),
    }
    model.sort();
}

/// Memory watermarks of the options.
fn watermarks(common: &Common) -> Vec<u32> {
    let levels = common.priority_class.iter().map(|class| u32::from(class.1));
    let priorities = levels.max().unwrap_or(0) + 1;
    let sheds = common.base_threshold.is_some() || common.overload_cutoff.is_some() || priorities > 1;
    let base = common.base_threshold.map_or(500, |Share(permille)| permille);
    if sheds { model::watermarks(base, priorities) } else { Vec::new() }
}

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<u8, CliError> {
    let common = &options.common;
    if !common.live.is_on() {
        return Err(CliError::Usage("no interface: name one, as in tidewire top -i eth0".into()));
    }
    let names = common.live.interface.join(" -i ");
    let instead = |why: &str| Err(CliError::Usage(format!("{why}; without one use: tidewire count -i {names}")));
    if !terminal::is_terminal() || !io::stdin().is_terminal() {
        return instead("top needs a terminal");
    }
    if !terminal::has_escapes() {
        return instead("top needs a terminal with escape sequences, which TERM does not name");
    }
    common.need_bytes("top")?;
    let stop = Stop::new();
    let capture = common.of_interfaces(Mode::Fast)?.stop_when(&stop);
    let shared = Shared::default();
    let mut model = Model::default();
    model.snapshot.interfaces = common.live.interface.join(" ");
    model.snapshot.memory = Memory::with(watermarks(common));
    let top = RefCell::new(Top { model, shared: shared.clone(), screen: None, failure: None });
    let mut is_closed = false;
    let look = |report: &LiveReport| top.borrow_mut().look(report, &stop);
    let capture = live::watched(capture, &common.live, &stop, look, &mut is_closed, &[])?;
    // On standard error it would overwrite the tables.
    let capture = capture.on_trouble(|trouble| {
        top.borrow_mut().model.snapshot.trouble = Some(WithHint(trouble).to_string());
    });
    let capture = capture.on_event(|event| {
        let trouble = (event.change != Change::Up).then(|| event.to_string());
        top.borrow_mut().model.snapshot.trouble = trouble;
    });
    let outcome = capture.run(|_| Flows { shared: shared.clone() });
    let top = top.into_inner();
    drop(top.screen);
    let _ = outcome?;
    match top.failure {
        Some(error) => Err(CliError::Output(format!("the terminal: {error}"))),
        None => Ok(error::OK),
    }
}

#[cfg(test)]
mod tests;
