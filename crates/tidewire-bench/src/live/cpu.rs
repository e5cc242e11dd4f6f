//! CPU time by the kernel's accounting: of a process, of a kernel thread, of a core.

use std::fs;

/// CPU time of all threads of a process so far, nanoseconds; 0 if it has ended.
#[must_use]
pub fn process_ns(process: u32) -> u64 {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else { return 0 };
    let names = tasks.flatten().map(|task| task.path().join("schedstat"));
    names.filter_map(|path| fs::read_to_string(path).ok()).filter_map(|text| first(&text)).sum()
}

/// Whether a process waits for an event: none of its threads runs, is runnable, or is blocked in the kernel. A process that is
/// runnable but gets no CPU uses no CPU time either, but does not wait.
#[must_use]
pub fn waits(process: u32) -> bool {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else { return true };
    let names = tasks.flatten().map(|task| task.path().join("stat"));
    // Ignores threads that have ended.
    names.filter_map(|path| fs::read_to_string(path).ok()).all(|text| state(&text).is_none_or(is_waiting))
}

/// The state of a thread. It follows the name in parentheses, which may contain any character.
fn state(stat: &str) -> Option<char> {
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

/// Sleeping, idle or dead. Other states are runnable (R), blocked in the kernel (D), stopped or traced (T, t): proc(5).
fn is_waiting(state: char) -> bool {
    matches!(state, 'S' | 'I' | 'Z' | 'X')
}

fn first(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

/// CPU time of a process so far in user mode and in the kernel, nanoseconds; resolution 10 ms.
#[must_use]
pub fn user_and_system_ns(process: u32) -> [u64; 2] {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name in parentheses may contain any character; only numbers follow the last parenthesis.
    let numbers = text.rsplit(')').next().unwrap_or_default();
    let field = |index: usize| numbers.split_whitespace().nth(index).and_then(|word| word.parse().ok()).unwrap_or(0);
    [field(11) * TICK_NS, field(12) * TICK_NS]
}

/// The unit of `/proc/stat` (`USER_HZ`).
const TICK_NS: u64 = 10_000_000;

/// CPU time of a core so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Core {
    /// All but idle and I/O wait, nanoseconds.
    pub busy_ns: u64,
    /// In soft interrupts, nanoseconds. Threaded NAPI counts as a thread instead.
    pub softirq_ns: u64,
}

/// Reads a core's line of `/proc/stat`.
#[must_use]
pub fn core(number: usize) -> Core {
    core_of(&fs::read_to_string("/proc/stat").unwrap_or_default(), number)
}

fn core_of(text: &str, number: usize) -> Core {
    let name = format!("cpu{number} ");
    let Some(line) = text.lines().find_map(|line| line.strip_prefix(&name)) else { return Core::default() };
    let ticks: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal
    let at = |index: usize| ticks.get(index).copied().unwrap_or(0) * TICK_NS;
    Core { busy_ns: at(0) + at(1) + at(2) + at(5) + at(6), softirq_ns: at(6) }
}

/// Kernel threads whose names begin with `prefix`.
#[must_use]
pub fn kernel_threads(prefix: &str) -> Vec<u32> {
    let Ok(all) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = all.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let named = |number: &u32| {
        fs::read_to_string(format!("/proc/{number}/comm")).is_ok_and(|name: String| name.starts_with(prefix))
    };
    numbers.filter(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_found_by_its_number() {
        let text = "cpu  9 9 9 9 9 9 9 9\ncpu1 1 2 3 4 5 6 7 8 0 0\ncpu10 1 1 1 1 1 1 1 1\n";
        assert_eq!(core_of(text, 1), Core { busy_ns: 190_000_000, softirq_ns: 70_000_000 });
        assert_eq!(core_of(text, 2), Core::default());
    }

    #[test]
    fn a_state_is_behind_the_name() {
        assert_eq!(state("7 (a) R (b) S 1 7 7"), Some('S'));
        assert_eq!(state("7"), None);
        assert!(!waits(std::process::id()), "this very thread runs");
    }

    #[test]
    fn a_process_has_used_some_time() {
        let begun = std::time::Instant::now();
        while begun.elapsed().as_millis() < 5 {}
        assert!(process_ns(std::process::id()) > 1_000_000);
        assert_eq!(process_ns(u32::MAX), 0);
    }
}
