//! Readers and publishers that are killed at random moments: see `examples/queue_crash`, which does it for as long as one likes.

#[path = "../../examples/queue_crash/roles.rs"]
mod roles;
#[path = "../../examples/queue_crash/run.rs"]
mod run;

use std::{env, process::Command, time::Duration};

/// No test by itself: the processes of the other one.
#[test]
fn role() {
    roles::play();
}

#[test]
fn killed_processes_disturb_no_other_and_leave_nothing_behind() {
    let program = env::current_exe().unwrap();
    let command = || {
        let mut command = Command::new(&program);
        command.args(["--exact", "crash::role", "--nocapture", "--test-threads=1"]);
        command
    };
    let plan = run::Plan { command: &command, time: Duration::from_secs(60), kills: 300, seed: 7 };
    let counts = run::run(&plan).unwrap();
    assert!(counts.reader_kills > 200 && counts.publisher_kills > 3, "{counts:?}");
    assert!(counts.records_read > 1000, "{counts:?}");
}
