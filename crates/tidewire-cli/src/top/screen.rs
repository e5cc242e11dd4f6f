//! The terminal: taken, and always restored.

use std::{
    io::{self, Stdout},
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ratatui::{
    Terminal,
    backend::CrosstermBackend,
    crossterm::{
        cursor,
        event::{self, Event, KeyCode, KeyEventKind, KeyModifiers},
        execute,
        terminal::{self, EnterAlternateScreen, LeaveAlternateScreen},
    },
};

use super::{snapshot::Snapshot, view};
use crate::interrupt::GIVE_BACK;

/// Whether the terminal is taken.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal while it is taken; restored on drop, and before the message of a panic in any thread.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

/// Meanings of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Quit,
    Pause,
    Sort,
    Reverse,
    Scroll(isize),
}

impl Screen {
    /// Takes the terminal.
    pub fn take() -> io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            GIVE_BACK.get_or_init(|| give_back);
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                before(panic);
            }));
        });
        terminal::enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        let taken = execute!(io::stdout(), EnterAlternateScreen, cursor::Hide)
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        taken.map(|terminal| Self { terminal }).inspect_err(|_| give_back())
    }

    /// Draws a snapshot.
    pub fn show(&mut self, snapshot: &Snapshot) -> io::Result<()> {
        // After a panic the message owns the terminal.
        if TAKEN.load(Ordering::SeqCst) {
            self.terminal.draw(|frame| view::draw(frame, snapshot))?;
        }
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Restores the terminal if it is taken.
fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let _ = execute!(io::stdout(), LeaveAlternateScreen, cursor::Show);
        let _ = terminal::disable_raw_mode();
    }
}

/// The next known key, if one was pressed.
pub fn key() -> io::Result<Option<Key>> {
    while event::poll(Duration::ZERO)? {
        let Event::Key(pressed) = event::read()? else { continue };
        if pressed.kind == KeyEventKind::Release {
            continue;
        }
        let is_control = pressed.modifiers.contains(KeyModifiers::CONTROL);
        let meaning = match pressed.code {
            KeyCode::Char('c' | 'd') if is_control => Some(Key::Quit),
            KeyCode::Char('q') | KeyCode::Esc => Some(Key::Quit),
            KeyCode::Char('p' | ' ') => Some(Key::Pause),
            KeyCode::Char('s') => Some(Key::Sort),
            KeyCode::Char('r') => Some(Key::Reverse),
            KeyCode::Up | KeyCode::Char('k') => Some(Key::Scroll(-1)),
            KeyCode::Down | KeyCode::Char('j') => Some(Key::Scroll(1)),
            KeyCode::PageUp => Some(Key::Scroll(-10)),
            KeyCode::PageDown => Some(Key::Scroll(10)),
            KeyCode::Home => Some(Key::Scroll(isize::MIN)),
            _ => None,
        };
        if meaning.is_some() {
            return Ok(meaning);
        }
    }
    Ok(None)
}
