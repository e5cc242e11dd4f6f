//! Files: programs that read captures get the same from them over our library, sorted or not, and tcpdump decodes the captures
//! of its own test suite to the same text (`../shared/corpus` beside the checkout, or where `TIDEWIRE_CORPUS` says).

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tidewire_testing::{InTime as _, find};

use crate::{
    common::{Over, missing},
    list::Program,
    run::{Way, file},
    shared::{at_once, counted, difference, system, those_there},
    trace::trace,
};

fn ways(program: &Program) -> Vec<Way> {
    let mut ways = vec![
        Way::new("from a file", Over::Preloaded, &[]),
        Way::new("from a file, in the system's place", Over::InItsPlace, &[]),
        Way::new("from a file, engine packet", Over::Preloaded, &[("TIDEWIRE_ENGINE", "packet")]),
        Way::new("from a file, by flow", Over::Preloaded, &[("TIDEWIRE_LOCALITY", "flow")]),
    ];
    if program.looks_at_each {
        ways.push(Way::new("from a file, by port", Over::Preloaded, &[("TIDEWIRE_LOCALITY", "port")]));
    }
    ways
}

#[test]
fn files_as_over_the_systems_library() {
    if let Some(reason) = missing(&[]) {
        println!("skipped: {reason}");
        return;
    }
    crate::common::library();
    let programs: Vec<_> = those_there().into_iter().filter(|program| program.reads_files).collect();
    let jobs: Vec<_> =
        programs.iter().flat_map(|program| ways(program).into_iter().map(move |way| (*program, way))).collect();
    let system = system();
    let path = &trace().file;
    let expected: BTreeMap<_, _> =
        at_once(&programs, |program| (program.name, file(program, &system, path))).into_iter().collect();
    let compare = |program: &Program, way: &Way| {
        let theirs = expected[program.name]
            .as_ref()
            .map_err(|why| format!("{} over the system's library: {why}", program.name))?;
        let ours = file(program, way, path).map_err(|why| format!("{}, {}: {why}", program.name, way.name))?;
        if program.keeps_order && !way.variables.iter().any(|(name, _)| name == "TIDEWIRE_LOCALITY") && ours != *theirs
        {
            return Err(format!("{}, {}: other packets, or in another order", program.name, way.name));
        }
        match difference(&counted(ours), &counted(theirs.clone())) {
            Some(what) => Err(format!("{}, {}: {what}", program.name, way.name)),
            None => Ok(()),
        }
    };
    let results = at_once(&jobs, |(program, way)| compare(program, way));
    let wrong: Vec<String> = results.into_iter().filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "{} of {} runs:\n{}", wrong.len(), jobs.len(), wrong.join("\n"));
}

fn corpus() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let root = std::env::var_os("TIDEWIRE_CORPUS").map_or_else(beside, PathBuf::from);
    let captures = root.join("captures/the-tcpdump-group+tcpdump/tests");
    captures.is_dir().then_some(captures)
}

/// The output of tcpdump for a file: its status, and both streams.
fn decoded(path: &Path, options: &[&str], over: Over, variables: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let mut command = Command::new(find("tcpdump").expect("it is there"));
    command.args(options).arg("-r").arg(path);
    over.put_under(&mut command);
    let output = command.envs(variables.iter().copied()).run_in_time().expect("tcpdump runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn tcpdumps_own_captures_decode_to_the_same_text() {
    let Some(folder) = corpus() else {
        println!("skipped: no corpus at ../shared/corpus or in TIDEWIRE_CORPUS");
        return;
    };
    if let Some(reason) = tidewire_testing::missing(&["tcpdump"]) {
        println!("skipped: {reason}");
        return;
    }
    crate::common::library();
    let mut captures: Vec<PathBuf> =
        fs::read_dir(folder).expect("captures").flatten().map(|entry| entry.path()).collect();
    captures.retain(|path| path.is_file());
    captures.sort();
    assert!(captures.len() > 300, "only {} captures", captures.len());
    let options = ["-nn", "-v", "-e", "-tttt"];
    let wrong: Vec<String> = at_once(&captures, |path| {
        let system = decoded(path, &options, Over::System, &[]);
        let ours = decoded(path, &options, Over::Preloaded, &[]);
        let placed = decoded(path, &options, Over::InItsPlace, &[("TIDEWIRE_ENGINE", "packet")]);
        (ours != system || placed != system)
            .then(|| format!("{}: {:?} instead of {:?}", path.display(), ours.2, system.2))
    })
    .into_iter()
    .flatten()
    .collect();
    println!("{} captures", captures.len());
    assert!(wrong.is_empty(), "{} captures:\n{}", wrong.len(), wrong.join("\n"));
}
