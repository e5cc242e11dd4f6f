//! Properties of standard output: terminal or not, width, colours.

use std::io::{self, IsTerminal};
#[cfg(feature = "live")]
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
#[cfg(feature = "live")]
use tidewire::legible::legible;

/// Whether standard output is a terminal.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Whether standard output is a pipe whose reader has closed it. Only writing or polling shows it.
pub fn is_closed() -> bool {
    let stdout = io::stdout();
    let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&now)).is_ok_and(|_| polled[0].revents().contains(PollFlags::ERR))
}

/// The width of lines: `COLUMNS` if set, else the terminal's; `None` if neither is known (pipes, files, serial lines).
pub fn width() -> Option<usize> {
    let given = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    let width = given.filter(|&columns| columns > 0).or_else(|| {
        let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
        Some(usize::from(width.0))
    });
    width.filter(|&columns| columns > 0)
}

/// The beginning of a line that is a command.
const COMMAND: &str = "tidewire ";

/// Wraps a line at spaces to at most `width` characters; longer words stay whole, and so does a command, which is there to be pasted.
pub fn wrapped(line: &str, width: Option<usize>) -> Vec<String> {
    let is_long = |width: &usize| line.chars().count() > *width && !line.starts_with(COMMAND);
    let Some(width) = width.filter(is_long) else { return vec![line.to_owned()] };
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

/// A path as a word of a command that is there to be pasted into a shell.
#[cfg(feature = "live")]
pub fn shell_word(path: &Path) -> String {
    let text = legible(&path.to_string_lossy()).into_owned();
    let is_plain = |of: char| of.is_alphanumeric() || "/._-+:@%,=".contains(of);
    if !text.is_empty() && text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// Whether the terminal understands escape sequences, by `TERM`.
pub fn has_escapes() -> bool {
    std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
}

/// Whether to use colours: on a terminal that has them, unless `NO_COLOR` is set.
pub fn colours() -> bool {
    is_terminal() && has_escapes() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
