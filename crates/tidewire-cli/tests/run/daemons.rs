//! Programs that become daemons, and other processes that outlive their instance's first process.

use std::{
    fs,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use tidewire_testing::{Ends as _, let_pass};

use super::{PATIENCE, command, processes, said, text, wait_until};

/// Instances that leave a process in a session of its own behind, which notes that it begins and the signals that it gets.
fn leaving(folder: &std::path::Path, end: &str) -> Child {
    let file = format!("{}/%i", folder.display());
    let daemon = format!(
        "trap 'echo USR1 >> {file}' USR1; trap 'echo TERM >> {file}; exit {end}' TERM; echo ready >> {file}; \
         while :; do sleep 0.05; done"
    );
    // Twice, as daemons do: the one in between ends as well.
    let script = format!("setsid sh -c \"sh -c \\\"{daemon}\\\" & exit 0\" & exit 0");
    let child =
        command(&["-n", "2", "sh", "-c", &script]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the daemons begin", || (0..2).all(|i| text(&folder.join(i.to_string())).contains("ready")));
    child
}

#[test]
fn daemons_get_signals_and_are_waited_for() {
    let place = tempfile::tempdir().unwrap();
    let mut child = leaving(place.path(), "6");
    let_pass(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "it waits for the daemons");
    let process = Pid::from_child(&child);
    let notes = || [0, 1].map(|i| text(&place.path().join(i.to_string())));
    kill_process(process, Signal::USR1).unwrap();
    wait_until("USR1", || notes().iter().all(|notes| notes == "ready\nUSR1\n"));
    kill_process(process, Signal::TERM).unwrap();
    let output = child.output_in_time("the command");
    assert_eq!(output.status.code(), Some(6), "{}", said(&output));
    assert!(notes().iter().all(|notes| notes == "ready\nUSR1\nTERM\n"), "{:?}", notes());
    assert!(said(&output).contains("instance 1 continues in the background, as process "), "{}", said(&output));
    assert!(said(&output).contains("ended with code 6"), "{}", said(&output));
}

#[test]
fn no_daemon_outlives_a_run_that_is_killed() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().to_str().unwrap();
    let mut child = leaving(place.path(), "0");
    // It, and the daemons: those between have ended.
    wait_until("the daemons are orphans", || processes(folder) == 3);
    // So long until it knows of them: it looks once a second.
    thread::sleep(Duration::from_millis(2000));
    child.kill().unwrap();
    child.wait_in_time("the process");
    wait_until("the daemons go", || processes(folder) == 0);
}

#[test]
fn what_others_started_is_left_alone() {
    // The shell's job is a child of the process that becomes tidewire run.
    let place = tempfile::tempdir().unwrap();
    let job = place.path().join("job");
    let script = format!(
        "sh -c 'trap \"echo TERM >> {0}; exit\" TERM; echo ready >> {0}; while :; do sleep 0.05; done' & \
         while ! test -s {0}; do sleep 0.02; done; exec {1} run -n 1 sh -c 'echo $PPID; exec sleep 0.3'",
        job.display(),
        env!("CARGO_BIN_EXE_tidewire"),
    );
    let mut shell = std::process::Command::new("sh");
    let plain = command(&[]);
    shell.args(["-c", &script]).envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let started = Instant::now();
    let output = shell.stdin(Stdio::null()).stderr(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let process = output.id();
    let mut output = output;
    let status = output.wait_in_time("the process");
    assert!(status.success() && started.elapsed() < PATIENCE, "{status}");
    assert_eq!(fs::read_to_string(&job).unwrap(), "ready\n", "the job got no signal");
    assert_ne!(process, 0);
    let rest = processes(job.to_str().unwrap());
    assert!(rest >= 1, "the job goes on");
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let number = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()).and_then(Pid::from_raw);
        if let Some(number) = number.filter(|_| String::from_utf8_lossy(&words).contains(job.to_str().unwrap())) {
            let _ = kill_process(number, Signal::KILL);
        }
    }
}
