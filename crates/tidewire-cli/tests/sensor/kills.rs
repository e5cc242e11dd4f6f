//! `kill -9` of each part.

use tidewire_testing::{skip, wait_until};

use crate::rig::{Sensor, TIDEWIRE, cannot_capture, kill, part, process, runs};

fn follower(name: &str, more: &str) -> String {
    format!(
        "[analyzer.{name}]\ncommand = [\"sh\", \"-c\", \"exec '{TIDEWIRE}' attach $TIDEWIRE_QUEUE --json --name $TIDEWIRE_NAME --socket $TIDEWIRE_SOCKET\"]\n{more}\n"
    )
}

#[test]
fn an_analyzer_that_is_killed_is_started_again_and_disturbs_nothing() {
    if let Some(why) = cannot_capture() {
        return skip(why);
    }
    let tables =
        follower("one", "instances = 2") + "[analyzer.shell]\ncommand = [\"sh\", \"-c\", \"sleep 60 | sleep 60\"]\n";
    let sensor = Sensor::live(&tables);
    let before = sensor.until("all attached", |status| {
        status["capture"]["queues"][0]["readers"].as_array().is_some_and(|all| all.len() == 2)
    });
    let (capture, other) = (process(&before, "capture"), process(&before, "one.1"));
    for round in 1..=3 {
        let status = sensor.until("it runs", |status| part(status, "one.0")["state"] == "running");
        kill(process(&status, "one.0"));
        let after = sensor.until("its successor", |status| part(status, "one.0")["restarts"] == round);
        assert_eq!(part(&after, "one.0")["last_exit"], "killed by signal 9 (SIGKILL)");
        assert_eq!((process(&after, "capture"), process(&after, "one.1")), (capture, other));
    }
    // The shell's children go with it.
    let shell = process(&before, "shell");
    let below = sensor.processes();
    kill(shell);
    let after = sensor.until("another shell", |status| part(status, "shell")["restarts"] == 1);
    assert_ne!(process(&after, "shell"), shell);
    sensor.until("all attached again", |status| {
        status["capture"]["queues"][0]["readers"].as_array().is_some_and(|all| all.len() == 2)
    });
    let gone = below.iter().filter(|process| !runs(**process)).count();
    assert!(gone >= 3, "the shell and its two children: {gone}");
    sensor.end();
}

#[test]
fn a_capture_that_is_killed_has_a_successor_with_all_analyzers() {
    if let Some(why) = cannot_capture() {
        return skip(why);
    }
    let sensor = Sensor::live(&(follower("ends", "") + &follower("never", "restart = \"never\"")));
    let attached = |count: usize| {
        move |status: &serde_json::Value| {
            status["capture"]["queues"][0]["readers"].as_array().is_some_and(|all| all.len() == count)
        }
    };
    let before = sensor.until("both attached", attached(2));
    kill(process(&before, "capture"));
    sensor.log.until("the capture ended: killed by signal 9 (SIGKILL); started again in 100ms");
    let after = sensor.until("one attached to the successor", |status| {
        attached(1)(status) && part(status, "capture")["restarts"] == 1
    });
    assert_eq!(part(&after, "capture")["last_exit"], "killed by signal 9 (SIGKILL)");
    assert_eq!(part(&after, "never")["state"], "ended");
    sensor.end();
}

#[test]
fn a_watchdog_that_is_killed_has_a_successor_that_knows_all_parts() {
    if let Some(why) = cannot_capture() {
        return skip(why);
    }
    let other_user = "[analyzer.other]\ncommand = [\"sh\", \"-c\", \"sleep 60 & sleep 60\"]\nuser = \"65534:65534\"\n";
    let mut sensor = Sensor::live(other_user);
    let status = sensor.until("it runs", |status| part(status, "other")["state"] == "running");
    let parts = [process(&status, "capture"), process(&status, "other")];
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", parts[1])).expect("it runs");
    // Group, session and terminal: it has no terminal.
    let fields: Vec<&str> = stat.rsplit_once(')').expect("a name").1.split_whitespace().skip(2).take(3).collect();
    let own = parts[1].to_string();
    assert_eq!(fields, [own.as_str(), own.as_str(), "0"]);
    let is_watchdog = |process: &u32| {
        let words = std::fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default();
        words.contains("run-watchdog") && runs(*process)
    };
    let watchdog = sensor.processes().into_iter().find(is_watchdog).expect("a watchdog");
    // It is replaced at most once a second.
    std::thread::sleep(std::time::Duration::from_secs(1));
    kill(watchdog);
    sensor.log.until("the watchdog has ended: there is another one");
    let mut processes = sensor.processes();
    wait_until("the processes of all parts", || {
        processes = sensor.processes();
        processes.len() >= 6
    });
    kill(sensor.child.id());
    sensor.ended();
    wait_until("the end of all processes", || processes.iter().all(|process| !runs(*process)));
}

#[test]
fn a_supervisor_that_is_killed_leaves_no_process() {
    if let Some(why) = cannot_capture() {
        return skip(why);
    }
    let other_user = "[analyzer.other]\ncommand = [\"sh\", \"-c\", \"sleep 60 & sleep 60\"]\nuser = \"65534:65534\"\n";
    let mut sensor = Sensor::live(&(follower("one", "") + other_user));
    sensor.until("all run", |status| {
        part(status, "other")["state"] == "running" && part(status, "one")["state"] == "running"
    });
    let mut processes = sensor.processes();
    wait_until("the processes of all parts", || {
        processes = sensor.processes();
        // Supervisor, watchdog, capture, attach, a shell and its two.
        processes.len() >= 7
    });
    kill(sensor.child.id());
    sensor.ended();
    wait_until("the end of all processes", || processes.iter().all(|process| !runs(*process)));
    // Its sockets do not block the next one.
    let directory = sensor.directory();
    assert!(directory.join("sensor.sock").exists());
    let words = ["-r", crate::rig::CAPTURE, "--directory", directory.to_str().expect("UTF-8")];
    let next = std::process::Command::new(TIDEWIRE).arg("sensor").args(words).spawn().expect("tidewire");
    let output = tidewire_testing::Ends::output_in_time(next, "the next sensor");
    assert_eq!(output.status.code(), Some(0));
    assert!(!directory.join("sensor.sock").exists() && !directory.join("queues.sock").exists());
}
