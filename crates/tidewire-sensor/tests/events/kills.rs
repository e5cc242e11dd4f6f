//! Analyzers and event processors are killed at random moments: no acknowledged event is lost, none is there twice, and the order of each
//! analyzer is kept.

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use tidewire_event_socket::Events;
use tidewire_events::Value;
use tidewire_testing::{Ends as _, Lines, PATIENCE, Signal, filters::Numbers, signal};

use crate::rig::{Rig, event};

const SOCKET: &str = "TIDEWIRE_TEST_SOCKET";
const LIFE: &str = "TIDEWIRE_TEST_LIFE";
/// Kills, of analyzers and event processors together; `make crash` makes more of them.
const KILLS: &str = "TIDEWIRE_TEST_KILLS";
/// Kills of one store: it is opened and checked at each start.
const KILLS_OF_ONE: u64 = 20;

/// Emits until it is killed, and says what was acknowledged.
#[test]
#[ignore = "a part of the test of kills, which runs it as a process"]
fn emits_until_it_is_killed() {
    let (Some(socket), Ok(life)) = (env::var_os(SOCKET), env::var(LIFE)) else { return };
    let life: u64 = life.parse().unwrap();
    let events = Events::connect(Path::new(&socket), "mortal").unwrap();
    events.set_wait_limit(PATIENCE);
    for number in 0..u64::MAX {
        let kind = format!("kind-{}", number % 5);
        let event = event("mortal", &kind, number).with("life", Value::U64(life));
        events.emit(&event).unwrap();
        if number % 50 == 0 {
            events.flush(PATIENCE).unwrap();
            eprintln!("acknowledged {number}");
        }
    }
}

fn mortal(socket: &Path, life: u64) -> (Child, Lines) {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--ignored", "--exact", "kills::emits_until_it_is_killed", "--nocapture"])
        .env(SOCKET, socket)
        .env(LIFE, life.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = Lines::new(child.stderr.take().unwrap());
    (child, lines)
}

/// The last number that a killed analyzer knew to be acknowledged.
fn last_acknowledged(lines: &Lines) -> Option<u64> {
    let numbers = |line: &String| line.strip_prefix("acknowledged ").and_then(|number| number.parse().ok());
    lines.rest().iter().filter_map(numbers).next_back()
}

/// Kills of one store. How many, and how many events it has in the end.
fn live(kills: u64, mut random: Numbers) -> (u64, u64) {
    let rig = Rig::new();
    let socket: PathBuf = rig.socket();
    let mut processor = Some(rig.start());
    let stop = AtomicBool::new(false);
    let (mut acknowledged, mut count) = (BTreeMap::new(), 0);
    let survivor = rig.connect("survivor");
    survivor.set_wait_limit(PATIENCE);
    let survived = std::thread::scope(|scope| {
        let emits = scope.spawn(|| {
            let mut number = 0;
            while !stop.load(Ordering::Relaxed) {
                survivor.emit(&event("survivor", &format!("kind-{}", number % 3), number)).unwrap();
                number += 1;
                if number % 200 == 0 {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            survivor.flush(PATIENCE).unwrap();
            number
        });
        let mut life = 0;
        let mut analyzer = mortal(&socket, life);
        for _ in 0..kills {
            std::thread::sleep(Duration::from_millis(random.below(60)));
            if random.below(2) == 0 {
                processor.take().unwrap().kill();
                std::thread::sleep(Duration::from_millis(random.below(20)));
                processor = Some(rig.start());
            } else {
                signal(&analyzer.0, Signal::KILL);
                analyzer.0.wait_in_time("a killed analyzer");
                acknowledged.insert(life, last_acknowledged(&analyzer.1));
                life += 1;
                analyzer = mortal(&socket, life);
            }
            count += 1;
        }
        stop.store(true, Ordering::Relaxed);
        let survived = emits.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        signal(&analyzer.0, Signal::KILL);
        analyzer.0.wait_in_time("a killed analyzer");
        acknowledged.insert(life, last_acknowledged(&analyzer.1));
        survived
    });
    drop(survivor);
    processor.take().unwrap().stop();
    assert!(rig.numbers("survivor").into_iter().eq(0..survived), "each event of the survivor once, in order");
    let mut lives: BTreeMap<u64, u64> = BTreeMap::new();
    let mut events = survived;
    for event in rig.events().iter().filter(|event| event.analyzer == "mortal") {
        let [Value::U64(number), Value::U64(life)] = [&event.fields[0].value, &event.fields[1].value] else {
            panic!("{event:?}")
        };
        let next = lives.entry(*life).or_default();
        assert_eq!(number, next, "life {life}: each event once, in order");
        *next += 1;
        events += 1;
    }
    for (life, last) in acknowledged.into_iter().filter_map(|(life, last)| Some((life, last?))) {
        let stored = lives.get(&life).copied().unwrap_or(0);
        assert!(stored > last, "life {life}: {stored} stored, {last} was acknowledged");
    }
    (count, events)
}

#[test]
fn kills_of_analyzers_and_processors_lose_nothing_and_store_nothing_twice() {
    let kills: u64 = env::var(KILLS).map_or(40, |text| text.parse().unwrap());
    let seed: u64 = env::var("SEED").map_or(7, |text| text.parse().unwrap());
    let stores = kills.div_ceil(KILLS_OF_ONE);
    let (mut all, mut events) = (0, 0);
    for pair in 0..stores.div_ceil(2) {
        std::thread::scope(|scope| {
            let both = [2 * pair, 2 * pair + 1].map(|of| scope.spawn(move || live(KILLS_OF_ONE, Numbers(seed + of))));
            for one in both {
                let (count, stored) = one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                (all, events) = (all + count, events + stored);
            }
        });
    }
    println!("{all} kills, {events} events");
    assert!(events > all, "most processes stored something");
}
