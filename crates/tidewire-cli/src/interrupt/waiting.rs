//! Waits of the threads of this process, as the kernel reports them.

use std::{fs, time::Duration};

use nix::libc;
use rustix::{
    thread::gettid,
    time::{ClockId, clock_gettime},
};
use tidewire_outputs::place::streams;

/// Calls that write, whose first argument is a descriptor.
const WRITING: [i64; 5] = [libc::SYS_write, libc::SYS_writev, libc::SYS_pwrite64, libc::SYS_sendto, libc::SYS_sendmsg];
/// Calls that read.
const READING: [i64; 3] = [libc::SYS_read, libc::SYS_readv, libc::SYS_pread64];

/// The computing time of the process.
pub fn computed() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.max(0) as u32)
}

/// Whether all threads but this one wait for something that is no disk; true where that is not known.
pub fn all_threads_wait() -> bool {
    let waits = |stat: String| {
        // The name before the state is in parentheses, and may contain some.
        let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
        matches!(state, Some('S') | None)
    };
    threads().all(|thread| about(&thread, "stat").is_none_or(waits))
}

/// The input or output that one of the threads waits for, as a message; `None` where all wait for each other, for a
/// time or for packets, or where the kernel does not say.
pub fn blocked() -> Option<String> {
    let calls: Vec<(i64, u64)> = threads().filter_map(|thread| call(&about(&thread, "syscall")?)).collect();
    let of = |numbers: &[i64]| calls.iter().find(|(number, _)| numbers.contains(number)).map(|(_, argument)| *argument);
    if let Some(descriptor) = of(&WRITING) {
        return Some(format!("no process reads {}", named(descriptor)));
    }
    if let Some(descriptor) = streams::awaited().and_then(|descriptor| u64::try_from(descriptor).ok()) {
        return Some(format!("no process reads {}", named(descriptor)));
    }
    if of(&OPENING).is_some() {
        return Some("no process reads the pipe that an output names".into());
    }
    if of(&[libc::SYS_connect]).is_some() {
        return Some("a collector does not answer".into());
    }
    of(&READING).map(|descriptor| format!("{} gives nothing", named(descriptor)))
}

/// Calls that open.
#[cfg(target_arch = "x86_64")]
const OPENING: [i64; 2] = [libc::SYS_openat, libc::SYS_open];
/// Calls that open.
#[cfg(not(target_arch = "x86_64"))]
const OPENING: [i64; 1] = [libc::SYS_openat];

/// All threads but this one.
fn threads() -> impl Iterator<Item = String> {
    let this = gettid().as_raw_nonzero().get().to_string();
    let entries = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(move |thread| *thread != this)
}

fn about(thread: &str, what: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/self/task/{thread}/{what}")).ok()
}

/// The number of a system call and its first argument (proc(5), `/proc/pid/syscall`).
fn call(line: &str) -> Option<(i64, u64)> {
    let mut words = line.split_ascii_whitespace();
    let number = words.next()?.parse().ok()?;
    let argument = words.next()?.strip_prefix("0x")?;
    Some((number, u64::from_str_radix(argument, 16).ok()?))
}

/// Name of a descriptor in messages.
fn named(descriptor: u64) -> String {
    match descriptor {
        0 => "standard input".into(),
        1 => "standard output".into(),
        2 => "standard error".into(),
        other => {
            let link = fs::read_link(format!("/proc/self/fd/{other}")).ok();
            let is_standard =
                |number: u64| link.is_some() && fs::read_link(format!("/proc/self/fd/{number}")).ok() == link;
            match [0, 1].into_iter().find(|&number| is_standard(number)) {
                Some(number) => named(number),
                None => link.map_or_else(|| "an output".into(), |link| link.display().to_string()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_as_the_kernel_writes_them() {
        assert_eq!(call("1 0x3 0x7f12 0x10000 0x0 0x0 0x0 0x7ffe 0x7f0a\n"), Some((1, 3)));
        assert_eq!(call("running\n"), None);
        assert_eq!(call("-1 0x7ffe 0x7f0a\n"), Some((-1, 0x7ffe)));
    }

    #[test]
    fn a_thread_that_computes_does_not_wait() {
        let is_ending = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let ends = std::sync::Arc::clone(&is_ending);
        let busy = std::thread::spawn(move || {
            while !ends.load(std::sync::atomic::Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        assert!(!all_threads_wait());
        is_ending.store(true, std::sync::atomic::Ordering::Relaxed);
        busy.join().unwrap();
    }
}
