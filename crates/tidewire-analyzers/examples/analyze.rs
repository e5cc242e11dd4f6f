//! Events of the analyzers over capture files: `analyze kinds|json|count FILE…`.
//!
//! `kinds` prints for each file how many events of each kind there are, `json` the events. `count` runs a handler that only counts
//! bytes, for comparison (`valgrind --tool=callgrind`). `INLINE=anomaly,match,scan` names the analyzers that run; all by default.
#![forbid(unsafe_code)]

use std::{
    collections::BTreeMap,
    env,
    path::Path,
    process::ExitCode,
    sync::{Arc, Mutex},
};

use tidewire::{Capture, Chunk, Handler, Stream};
use tidewire_analyzers::{Analyzers, Emit, Settings};
use tidewire_events::Event;

#[derive(Default)]
struct Kept(Mutex<Vec<Event>>);

impl Emit for Kept {
    fn try_emit(&self, event: &Event) -> bool {
        self.0.lock().expect("no panic").push(event.clone());
        true
    }
}

fn events(path: &Path) -> Result<Vec<Event>, String> {
    let kept = Arc::new(Kept::default());
    let mut settings = Settings::default();
    if let Ok(named) = env::var("INLINE") {
        settings.anomaly.enabled = named.contains("anomaly");
        settings.matching.enabled = named.contains("match");
        settings.scan.enabled = named.contains("scan");
    }
    let analyzers = Analyzers::new(&settings, Arc::clone(&kept) as Arc<dyn Emit>);
    let analyzers = analyzers.map_err(|error| error.to_string())?;
    let ran = Capture::file(path).run_with(analyzers.worker()).map_err(|error| error.to_string())?;
    ran.handlers.into_iter().for_each(|mut handler| handler.finish());
    analyzers.finish();
    let mut kept = kept.0.lock().expect("no panic");
    Ok(std::mem::take(&mut *kept))
}

/// Counts bytes.
#[derive(Default)]
struct Count(u64);

impl Handler for Count {
    type Data = ();

    fn data(&mut self, _: &mut Stream<'_, ()>, chunk: Chunk<'_>) {
        self.0 += chunk.bytes.len() as u64;
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let Some((how, files)) = arguments.split_first() else {
        eprintln!("usage: analyze kinds|json|count FILE...");
        return ExitCode::from(2);
    };
    for file in files {
        if how == "count" {
            let ran = Capture::file(Path::new(file)).run_with(Count::default());
            println!("{} bytes\t{file}", ran.map_or(0, |ran| ran.handler().0));
            continue;
        }
        let found = match events(Path::new(file)) {
            Ok(found) => found,
            Err(error) => {
                eprintln!("{file}: {error}");
                continue;
            }
        };
        if how == "json" {
            found.iter().for_each(|event| println!("{}", event.to_json()));
            continue;
        }
        let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
        found.iter().for_each(|event| *kinds.entry(&event.kind).or_default() += 1);
        kinds.iter().for_each(|(kind, count)| println!("{kind}\t{count}\t{file}"));
    }
    ExitCode::SUCCESS
}
