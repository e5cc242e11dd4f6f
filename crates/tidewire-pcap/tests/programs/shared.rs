//! Every program in every way: alone it prints what it prints over the system's library; the instances of a group print
//! together what one prints alone, and none prints what another does.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::{
    common::{Over, missing},
    list::{PROGRAMS, Program},
    run::{Way, file, live},
    trace::trace,
};

/// Programs that run at once: each waits most of the time.
const AT_ONCE: usize = 5;

/// How each is run.
fn ways(program: &Program) -> Vec<Way> {
    let over = if program.loads_by_name { Over::InItsPlace } else { Over::Preloaded };
    let group = |mode: &'static str, count: usize| {
        let variables = [("PCAP_FANOUT", mode), ("PCAP_GROUP", "9")];
        Way::new(&format!("{count} instances, {mode}"), over, &variables).instances(count)
    };
    let mut ways = vec![
        Way::new("no settings", over, &[]),
        Way::new("engine packet", over, &[("TIDEWIRE_ENGINE", "packet")]),
        Way::new("engine xdp", over, &[("TIDEWIRE_ENGINE", "xdp")]),
        Way::new("locality by flow", over, &[("TIDEWIRE_LOCALITY", "flow")]),
        group("hash", 2),
    ];
    if ["tcpdump", "softflowd", "argus"].contains(&program.name) {
        ways.push(Way::new("in the system's place", Over::InItsPlace, &[]));
        ways.push(group("hash", 3));
        ways.push(group("hash", 4));
    }
    if program.looks_at_each {
        // The port that packets go to puts a connection's sides apart.
        ways.push(Way::new("locality by port", over, &[("TIDEWIRE_LOCALITY", "port")]));
    }
    if program.keeps_order {
        // Packets of a flow go to several: of use to those that look at each packet alone.
        ways.push(group("lb", 3));
        ways.push(group("rnd", 2));
    }
    if program.keeps_few_capabilities {
        ways.retain(|way| way.name != "engine xdp");
    }
    if program.waits_for_ever {
        ways.retain(|way| !way.variables.is_empty());
    }
    ways
}

/// How often each record is there.
pub fn counted(records: impl IntoIterator<Item = String>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    records.into_iter().for_each(|record| *counts.entry(record).or_insert(0) += 1);
    counts
}

/// The first record that is too much, and the first that is missing.
pub fn difference(ours: &BTreeMap<String, usize>, theirs: &BTreeMap<String, usize>) -> Option<String> {
    let all = |counts: &BTreeMap<String, usize>| counts.values().sum::<usize>();
    let of = |counts: &BTreeMap<String, usize>, key: &String| counts.get(key).copied().unwrap_or(0);
    let short = |text: &String| text.chars().take(300).collect::<String>();
    let more = ours.keys().find(|key| of(ours, key) > of(theirs, key));
    let less = theirs.keys().find(|key| of(theirs, key) > of(ours, key));
    if more.is_none() && less.is_none() {
        return None;
    }
    let say =
        |what: &str, which: Option<&String>| which.map_or(String::new(), |text| format!("\n  {what}: {}", short(text)));
    Some(format!("{} records, not {}{}{}", all(ours), all(theirs), say("too many", more), say("too few", less)))
}

/// The records of a program for the trace over the system's library.
fn reference(program: &Program, system: &Way) -> Result<Vec<Vec<String>>, String> {
    if program.waits_for_ever {
        file(program, system, &trace().file).map(|records| vec![records])
    } else {
        live(program, system)
    }
}

/// Runs a program in a way; what is wrong with what it printed.
fn compare(program: &Program, way: &Way, alone: &BTreeMap<String, usize>) -> Option<String> {
    let wrong = |what: String| Some(format!("{}, {}: {what}", program.name, way.name));
    let all = match live(program, way) {
        Ok(all) => all,
        Err(why) => return wrong(why),
    };
    if way.instances > 1 && program.keeps_order && all.iter().filter(|records| !records.is_empty()).count() < 2 {
        return wrong("one instance got everything".into());
    }
    let is_sorted = way.variables.iter().any(|(name, _)| name == "TIDEWIRE_LOCALITY");
    if is_sorted && program.prints_bytes {
        let both_ways = way.name == "locality by flow";
        if let Some(flow) = all.iter().find_map(|records| out_of_order(records, both_ways)) {
            return wrong(format!("frames of flow {flow} came in another order than they were sent in"));
        }
    }
    difference(&counted(all.into_iter().flatten()), alone)?;
    // Either side may lose packets on a machine that is busy, and these libraries count them apart: a fault is there again.
    match (live(program, way), reference(program, &system())) {
        (Ok(all), Ok(alone)) => {
            let counted = |records: Vec<Vec<String>>| counted(records.into_iter().flatten());
            difference(&counted(all), &counted(alone)).and_then(wrong)
        }
        (Err(why), _) | (_, Err(why)) => wrong(why),
    }
}

/// How the reference is run.
pub fn system() -> Way {
    Way::new("the system's library", Over::System, &[])
}

/// Frames in hexadecimal digits by their flow: protocol, addresses and ports of IPv4 without options.
fn by_flow<'a>(frames: impl Iterator<Item = &'a str>, both_ways: bool) -> BTreeMap<String, Vec<&'a str>> {
    let mut flows: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for frame in frames {
        let (Some("08004500"), Some(protocol)) = (frame.get(24..32), frame.get(46..48)) else { continue };
        let part = |from: usize, to: usize| frame.get(from..to).unwrap_or_default();
        let mut ends = [format!("{}{}", part(52, 60), part(68, 72)), format!("{}{}", part(60, 68), part(72, 76))];
        if both_ways {
            ends.sort();
        }
        // Later fragments have no ports, and belong to no flow.
        if part(40, 44) == "0000" || part(40, 44) == "4000" {
            flows.entry(format!("{protocol} {}", ends.join(" "))).or_default().push(frame);
        }
    }
    flows
}

/// A flow whose frames did not come in the order in which they were sent.
fn out_of_order(records: &[String], both_ways: bool) -> Option<String> {
    let digits = |frame: &Vec<u8>| frame.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let sent: Vec<String> = trace().frames.iter().map(digits).collect();
    let sent = by_flow(sent.iter().map(String::as_str), both_ways);
    let came = by_flow(records.iter().map(String::as_str), both_ways);
    assert!(came.len() > 100, "only {} flows", came.len());
    came.iter().find(|(flow, frames)| sent.get(*flow) != Some(frames)).map(|(flow, _)| flow.clone())
}

/// Several jobs at once; what each returns.
pub fn at_once<J: Sync, T: Send>(jobs: &[J], work: impl Fn(&J) -> T + Sync) -> Vec<T> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = work(job);
                    results.lock().expect("results").push(result);
                }
            });
        }
    });
    results.into_inner().expect("results")
}

/// The programs that are there; says which are not.
pub fn those_there() -> Vec<&'static Program> {
    let is_there = |program: &&Program| match missing(program.needs) {
        None => true,
        Some(reason) => {
            println!("{}: skipped: {reason}", program.name);
            false
        }
    };
    let wanted = std::env::var("ONLY").unwrap_or_default();
    PROGRAMS.iter().filter(|program| program.name.contains(&wanted)).filter(is_there).collect()
}

#[test]
fn live_as_over_the_systems_library() {
    if let Some(reason) = missing(&[]) {
        println!("skipped: {reason}");
        return;
    }
    crate::common::library();
    let mut programs = those_there();
    for program in programs.extract_if(.., |program| program.own_socket) {
        println!("{}: skipped: it reads interfaces by a packet socket of its own, past libpcap", program.name);
    }
    let system = system();
    let alone: Vec<_> = at_once(&programs, |program| (program.name, reference(program, &system)));
    let alone: BTreeMap<_, _> = alone.into_iter().collect();
    let mut wrong = Vec::new();
    let mut jobs = Vec::new();
    for program in &programs {
        match &alone[program.name] {
            Ok(records) => {
                let expected = counted(records.iter().flatten().cloned());
                println!("{}: {} records over the system's library", program.name, expected.values().sum::<usize>());
                jobs.extend(ways(program).into_iter().map(|way| (*program, way, expected.clone())));
            }
            Err(why) => wrong.push(format!("{} over the system's library: {why}", program.name)),
        }
    }
    let found = at_once(&jobs, |(program, way, expected)| compare(program, way, expected));
    wrong.extend(found.into_iter().flatten());
    assert!(wrong.is_empty(), "{} of {} runs:\n{}", wrong.len(), jobs.len(), wrong.join("\n"));
}
