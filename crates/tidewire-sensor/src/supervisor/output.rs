//! Passes on what the parts write: each line with the name of its part before it.

use std::{
    io::{self, Read, Write},
    os::fd::{AsFd, OwnedFd},
    thread::{Builder, JoinHandle},
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How long what a part left behind is read when it has ended.
const LEFT: Duration = Duration::from_secs(1);
/// Bytes of a line at most; the rest is a line of its own.
const LINE_BYTES_MAX: usize = 16 << 10;
/// Stack of a thread that copies lines.
const STACK_BYTES: usize = 128 << 10;

/// Where lines go.
#[derive(Clone, Copy, Debug)]
pub enum To {
    Output,
    Errors,
}

/// The threads that pass lines on, one a pipe.
#[derive(Debug, Default)]
pub struct Lines {
    threads: Vec<JoinHandle<()>>,
}

impl Lines {
    /// Passes on the lines of a pipe until it is closed, or for a second after the other end of `part` is.
    pub fn pass_on(
        &mut self,
        name: &str,
        pipe: impl Read + AsFd + Send + 'static,
        part: OwnedFd,
        to: To,
    ) -> io::Result<()> {
        self.threads.retain(|thread| !thread.is_finished());
        let name = name.to_owned();
        let copy = move || match to {
            To::Output => copy(&name, pipe, &part, &mut io::stdout()),
            To::Errors => copy(&name, pipe, &part, &mut io::stderr()),
        };
        self.threads.push(Builder::new().name("lines".into()).stack_size(STACK_BYTES).spawn(copy)?);
        Ok(())
    }

    /// Waits for the last lines of parts that have ended.
    pub fn finish(&mut self, most: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < most && self.threads.iter().any(|thread| !thread.is_finished()) {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

fn copy(name: &str, mut pipe: impl Read + AsFd, part: &OwnedFd, to: &mut impl Write) {
    let mut room = vec![0; LINE_BYTES_MAX];
    let mut lines = Splitter { name, rest: Vec::new() };
    let mut until: Option<Instant> = None;
    loop {
        let most = until.map(|until| until.saturating_duration_since(Instant::now()));
        if most.is_some_and(|most| most.is_zero()) {
            break;
        }
        let most = most.map(|most| Timespec { tv_sec: 0, tv_nsec: most.as_nanos().min(999_999_999) as _ });
        let mut waited = vec![PollFd::new(&pipe, PollFlags::IN)];
        // A process that has ended is not polled again.
        waited.extend(until.is_none().then(|| PollFd::new(part, PollFlags::IN)));
        if poll(&mut waited, most.as_ref()).is_err() {
            continue;
        }
        let has = |at: usize| waited.get(at).is_some_and(|one| !one.revents().is_empty());
        let (can_read, has_ended) = (has(0), has(1));
        drop(waited);
        if has_ended {
            until = Some(Instant::now() + LEFT);
        }
        if can_read {
            match pipe.read(&mut room) {
                Ok(0) => break,
                Ok(bytes) => lines.pass(room.get(..bytes).unwrap_or_default(), to),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
    }
    lines.finish(to);
}

/// Makes lines of what arrives in pieces.
struct Splitter<'a> {
    name: &'a str,
    rest: Vec<u8>,
}

impl Splitter<'_> {
    fn pass(&mut self, bytes: &[u8], to: &mut impl Write) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            for piece in piece.chunks(LINE_BYTES_MAX) {
                // Each line without its end has at most so many bytes.
                let fits = LINE_BYTES_MAX.saturating_sub(self.rest.len()).min(piece.len());
                let (now, later) = piece.split_at(fits);
                self.rest.extend_from_slice(now);
                if self.rest.last() == Some(&b'\n') || self.rest.len() == LINE_BYTES_MAX {
                    self.write(to);
                }
                self.rest.extend_from_slice(later);
                if self.rest.last() == Some(&b'\n') {
                    self.write(to);
                }
            }
        }
    }

    fn finish(&mut self, to: &mut impl Write) {
        if !self.rest.is_empty() {
            self.write(to);
        }
    }

    fn write(&mut self, to: &mut impl Write) {
        let text = String::from_utf8_lossy(self.rest.strip_suffix(b"\n").unwrap_or(&self.rest));
        // A carriage return would hide the name, and other control characters command the terminal. Tabs do no harm.
        let mut line = format!("{}: ", self.name);
        for (index, cell) in text.split('\t').enumerate() {
            line.extend((index > 0).then_some('\t'));
            line.push_str(&tidewire::legible::legible(cell));
        }
        line.push('\n');
        self.rest.clear();
        // In one piece, so that lines of several parts do not mix. Without a reader, the part is not disturbed.
        let _ = to.write_all(line.as_bytes()).and_then(|()| to.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines that are made of these bytes.
    fn passed(bytes: &[u8]) -> String {
        let mut out = Vec::new();
        for size in [1, 7, LINE_BYTES_MAX] {
            out.clear();
            let mut lines = Splitter { name: "http.1", rest: Vec::new() };
            bytes.chunks(size).for_each(|piece| lines.pass(piece, &mut out));
            lines.finish(&mut out);
        }
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn each_line_has_the_name_and_long_ones_are_cut() {
        assert_eq!(passed(b"one\n\ntwo"), "http.1: one\nhttp.1: \nhttp.1: two\n");
        assert_eq!(passed(b"a\tb\rx\x1b[2J\xff\n"), "http.1: a\tb\\rx\\u{1b}[2J\u{fffd}\n");
        let long = passed(&vec![b'x'; LINE_BYTES_MAX + 3]);
        assert!(long.ends_with("\nhttp.1: xxx\n"), "{}", &long[long.len() - 40..]);
    }

    #[test]
    fn a_pipe_that_is_left_behind_is_closed() {
        let (mut pipe, mut writer) = io::pipe().expect("a pipe");
        let (part, ended) = io::pipe().expect("a pipe");
        writer.write_all(b"before\n").expect("room");
        let mut out = Vec::new();
        drop(ended);
        // The writer stays open, as a process that was left behind has it.
        copy("a", &mut pipe, &part.into(), &mut out);
        assert_eq!(out, b"a: before\n");
        drop(pipe);
        assert!(writer.write_all(b"after\n").is_err());
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (pipe, mut writer) = io::pipe().expect("a pipe");
        let (part, _ended) = io::pipe().expect("a pipe");
        writer.write_all(b"x\ny\n").expect("room");
        drop(writer);
        copy("a", pipe, &part.into(), &mut Closed);
    }
}
