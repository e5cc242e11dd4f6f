//! Passes on what the parts write: each line with the name of its part before it.

use std::{
    io::{self, BufRead as _, BufReader, Read, Write},
    thread::{Builder, JoinHandle},
    time::{Duration, Instant},
};

/// Bytes of a line at most; the rest is a line of its own.
const LINE_BYTES_MAX: u64 = 16 << 10;
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
    /// Passes on the lines of a pipe until it is closed.
    pub fn pass_on(&mut self, name: &str, pipe: impl Read + Send + 'static, to: To) -> io::Result<()> {
        self.threads.retain(|thread| !thread.is_finished());
        let name = name.to_owned();
        let copy = move || match to {
            To::Output => copy(&name, pipe, &mut io::stdout()),
            To::Errors => copy(&name, pipe, &mut io::stderr()),
        };
        self.threads.push(Builder::new().name("lines".into()).stack_size(STACK_BYTES).spawn(copy)?);
        Ok(())
    }

    /// Waits for the last lines of parts that have ended. A process that they left behind may hold a pipe for longer.
    pub fn finish(&mut self, most: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < most && self.threads.iter().any(|thread| !thread.is_finished()) {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

fn copy(name: &str, pipe: impl Read, to: &mut impl Write) {
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    loop {
        line.clear();
        line.extend_from_slice(name.as_bytes());
        line.extend_from_slice(b": ");
        match pipe.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if line.last() != Some(&b'\n') {
            line.push(b'\n');
        }
        // In one piece, so that lines of several parts do not mix. Where nobody reads, the part is not disturbed.
        let _ = to.write_all(&line).and_then(|()| to.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_the_name_and_long_ones_are_cut() {
        let mut out = Vec::new();
        copy("http.1", &b"one\n\ntwo"[..], &mut out);
        assert_eq!(out, b"http.1: one\nhttp.1: \nhttp.1: two\n");
        out.clear();
        copy("a", &vec![b'x'; LINE_BYTES_MAX as usize + 3][..], &mut out);
        assert!(out.ends_with(b"\na: xxx\n"));
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        copy("a", &b"x\ny\n"[..], &mut Closed);
    }
}
