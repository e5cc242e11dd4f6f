//! Promises of pcap(3PCAP) and the pages that it names for live handles, checked by C programs (`tests/c`) that are linked with
//! `-lpcap` and run over the system's library and over ours, in every way in which ours can stand behind a handle. What they
//! expect is the same everywhere; what they print must be the same, too.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    process::Command,
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tidewire_testing::InTime as _;

use crate::common::{Over, Running, missing, on_a_link};

/// Cases that run at once: most of them wait most of the time.
const AT_ONCE: usize = 4;
/// No case takes longer than this; the programs themselves give up before.
const PATIENCE: Duration = Duration::from_secs(40);

/// Cases whose output differs over a ring of ours: filters are compiled for frames with their tags in place, which is how it keeps them.
const OTHER: &[&str] = &["print_programs"];

/// Besides: why a device that is not there cannot be shared.
const OTHER_IN_A_GROUP: &[&str] = &["print_programs", "print_codes"];

/// Cases with several handles that each are to get everything: in a group they share it.
const WITHOUT_GROUP: &[&str] = &["many_handles", "threads", "two_handles_two_filters"];

/// Cases whose times are not those of locality, which gathers for a while, and those that count what comes first.
const WITHOUT_LOCALITY: &[&str] =
    &["immediate", "timeout_10", "filter_from_a_callback", "filter_in_the_middle_of_a_batch"];

/// Cases that AF_XDP does not support: frames that the machine sends are not seen, a device has one handle, the loopback interface has
/// no driver for it, and frames are received as they are on the cable, before any aggregation.
const WITHOUT_XDP: &[&str] = &[
    "direction_out",
    "direction_both",
    "two_handles_two_filters",
    "many_handles",
    "threads",
    "two_descriptors",
    "loopback",
    "aggregated",
];

/// One after the other: each of the tests below uses both cores.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The program with all cases.
fn program() -> &'static PathBuf {
    static BUILT: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("contract");
        let sources = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/c");
        let names =
            ["contract", "reading", "breaking", "waiting", "stats", "filters", "devices", "links", "errors", "facts"];
        let mut cc = Command::new("cc");
        cc.args(["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"]).arg(&path);
        cc.args(names.map(|name| sources.join(name).with_extension("c"))).arg("-lpcap");
        let output = cc.run_in_time().expect("cc runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (folder, path)
    });
    &built.1
}

fn cases() -> Vec<String> {
    let output = Command::new(program()).arg("--list").run_in_time().expect("the program runs");
    String::from_utf8(output.stdout).expect("names").lines().map(str::to_owned).collect()
}

/// Runs one case; what it printed, or why it failed.
fn run_case(case: &str, over: Over, variables: &[(&str, &str)]) -> Result<String, String> {
    on_a_link(|| {
        let mut command = Command::new(program());
        command.arg(case);
        over.put_under(&mut command);
        command.envs(variables.iter().copied());
        let ended = Running::start(command).wait(PATIENCE);
        match ended.status {
            Some(status) if status.success() && ended.out.ends_with("ok\n") => Ok(ended.out),
            Some(status) => Err(format!("{status}: {}{}", ended.out.trim_end(), ended.said.trim_end())),
            None => Err(format!("killed after {PATIENCE:?}: {}{}", ended.out.trim_end(), ended.said.trim_end())),
        }
    })
}

/// Runs all cases but those left out, a few at a time.
fn run_all(over: Over, variables: &[(&str, &str)], without: &[&str]) -> BTreeMap<String, Result<String, String>> {
    let cases: Vec<String> = cases().into_iter().filter(|case| !without.contains(&case.as_str())).collect();
    let (next, results) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = run_case(case, over, variables);
                    results.lock().expect("results").insert(case.clone(), result);
                }
            });
        }
    });
    let mut results = results.into_inner().expect("results");
    for (case, result) in &mut results {
        // Several cases at a time share two cores: what one of them missed it may miss once, and not alone.
        if let Err(why) = result {
            println!("{case} failed beside others, and is run alone: {why}");
            *result = run_case(case, over, variables);
        }
    }
    results
}

/// Results of the cases over the system's library, computed once.
fn of_the_system() -> &'static BTreeMap<String, Result<String, String>> {
    static RESULTS: OnceLock<BTreeMap<String, Result<String, String>>> = OnceLock::new();
    RESULTS.get_or_init(|| run_all(Over::System, &[], &[]))
}

/// A line without regard to how many spaces are in a row: a message of libpcap 1.10.3 has two.
fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// All cases hold; those that print, print what they print over the system's library, but for those named in `other`.
fn check(over: Over, variables: &[(&str, &str)], without: &[&str], other: &[&str]) {
    let _turn = turn();
    if let Some(reason) = missing(&["cc"]) {
        println!("skipped: {reason}");
        return;
    }
    let expected = of_the_system();
    let results = if over == Over::System { expected.clone() } else { run_all(over, variables, without) };
    let mut wrong = Vec::new();
    for (case, result) in &results {
        match (result, expected.get(case)) {
            (Err(why), _) => wrong.push(format!("{case}: {why}")),
            (Ok(printed), Some(Ok(wanted))) if !other.contains(&case.as_str()) => {
                let mut lines = printed.lines().zip(wanted.lines());
                if let Some((ours, theirs)) = lines.find(|(a, b)| words(a) != words(b)) {
                    wrong.push(format!("{case}: prints\n  {ours}\ninstead of\n  {theirs}"));
                } else if printed.lines().count() != wanted.lines().count() {
                    wrong.push(format!("{case}: prints more or less than over the system's library"));
                }
            }
            (Ok(_), _) => {}
        }
    }
    assert!(results.len() > 60, "only {} cases were run", results.len());
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), results.len(), wrong.join("\n"));
}

#[test]
fn the_systems_library() {
    check(Over::System, &[], &[], &[]);
}

#[test]
fn preloaded_without_settings() {
    check(Over::Preloaded, &[], &[], &[]);
}

#[test]
fn in_the_systems_place() {
    check(Over::InItsPlace, &[], &[], &[]);
}

#[test]
fn a_ring_of_ours() {
    check(Over::Preloaded, &[("TIDEWIRE_ENGINE", "packet")], &[], OTHER);
}

/// A group of one gets all.
#[test]
fn alone_in_a_group() {
    check(Over::InItsPlace, &[("PCAP_FANOUT", "hash"), ("PCAP_GROUP", "3")], WITHOUT_GROUP, OTHER_IN_A_GROUP);
}

/// Batches in another order: only cases that do not look at the order over flows; all frames of the cases are of few.
#[test]
fn in_the_order_of_flows() {
    check(Over::Preloaded, &[("TIDEWIRE_LOCALITY", "flow")], WITHOUT_LOCALITY, OTHER);
}

/// The same, gathered by a thread of its own. A read that does not wait is given whole batches there, which the case left out
/// does not always wait for.
#[test]
fn gathered_by_a_thread() {
    let variables = [("TIDEWIRE_LOCALITY", "flow"), ("TIDEWIRE_LOCALITY_THREAD", "on")];
    let without = [WITHOUT_LOCALITY, &["stats_slow_reader"]].concat();
    check(Over::Preloaded, &variables, &without, OTHER);
}

#[test]
fn through_af_xdp() {
    check(Over::Preloaded, &[("TIDEWIRE_ENGINE", "xdp")], WITHOUT_XDP, OTHER);
}
