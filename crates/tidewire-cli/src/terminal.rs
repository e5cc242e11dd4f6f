//! What standard output is, and how wide.

use std::io::{self, IsTerminal};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Whether standard output is a terminal.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Whether standard output is a pipe whose reader went away. Only writing or asking shows it.
pub fn is_closed() -> bool {
    let stdout = io::stdout();
    let mut asked = [PollFd::new(&stdout, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut asked, Some(&now)).is_ok_and(|_| asked[0].revents().contains(PollFlags::ERR))
}

/// The width to keep to: `COLUMNS` where set, the terminal's where there is one; `None`: no limit. A terminal that does not
/// know its width (a serial line) has none.
pub fn width() -> Option<usize> {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    let width = asked.filter(|&columns| columns > 0).or_else(|| {
        let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
        Some(usize::from(width.0))
    });
    width.filter(|&columns| columns > 0)
}

/// A line in pieces of at most `width` characters, where one is given, divided at spaces. Longer words stay whole.
pub fn wrapped(line: &str, width: Option<usize>) -> Vec<String> {
    let Some(width) = width.filter(|width| line.chars().count() > *width) else { return vec![line.to_owned()] };
    let mut lines = vec![String::new()];
    for word in line.split(' ') {
        let last = lines.last_mut().expect("there is always one");
        if last.is_empty() {
            last.push_str(word);
        } else if last.chars().count() + 1 + word.chars().count() <= width {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// Whether the terminal understands escape sequences: `TERM` names one that does.
pub fn has_escapes() -> bool {
    std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
}

/// Whether colours are wanted: on a terminal that has them, unless `NO_COLOR` says otherwise.
pub fn colours() -> bool {
    is_terminal() && has_escapes() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
