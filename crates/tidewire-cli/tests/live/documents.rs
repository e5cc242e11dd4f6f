//! Live captures in README.md and docs/ (blocks marked `live`): each command runs over a cable with web traffic, succeeds, and
//! prints output of the same form; numbers differ. TIDEWIRE_BLESS=1 writes the output to the documents.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use tidewire_testing::InTime as _;

use crate::rig::{self, HERE, Rig, THERE_ADDRESS, ip};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The output of a shell (both streams), in 80 columns, while pages are fetched.
fn shell(line: &str, rig: &Rig) -> String {
    let programs = Path::new(env!("CARGO_BIN_EXE_tidewire")).parent().expect("a folder");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for page in ["", "big"] {
                    rig.here(&["curl", "-s", "-o", "/dev/null", &format!("http://{THERE_ADDRESS}/{page}")]);
                    thread::sleep(Duration::from_millis(300));
                }
            }
        });
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1; {line}")])
            .current_dir(rig.directory.path())
            .envs([("PATH", path.as_str()), ("COLUMNS", "80")])
            .stdin(Stdio::null())
            .run_in_time();
        done.store(true, Ordering::Relaxed);
        let output = output.expect("a shell");
        let printed = String::from_utf8(output.stdout).expect("text");
        assert!(output.status.success(), "{line}: {printed}");
        printed
    })
}

/// The part that must be equal: titles, and the lines of the ledger that always exist.
fn form(printed: &str) -> Vec<String> {
    let is_title = |line: &&str| {
        let mut words = line.split_whitespace().peekable();
        words.peek().is_some() && words.all(|word| word.chars().all(|c| c.is_ascii_uppercase()))
    };
    let titles = printed.lines().filter(is_title).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let known = ["rings: received", "eth0: received", "worker 0", "worker 1"];
    titles.chain(known.iter().filter(|name| printed.contains(*name)).map(|name| (*name).to_owned())).collect()
}

fn documents() -> Vec<PathBuf> {
    let docs = fs::read_dir(Path::new(ROOT).join("docs")).expect("documents").map(|entry| entry.expect("one").path());
    let docs = docs.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    docs.chain([Path::new(ROOT).join("README.md")]).collect()
}

#[test]
fn what_the_documents_show_works() {
    rig::run(&["nginx", "curl"], |rig| {
        ip(&format!("link set {HERE} down"));
        ip(&format!("link set {HERE} name eth0"));
        ip("link set eth0 up");
        rig.nginx();
        let bless = std::env::var_os("TIDEWIRE_BLESS").is_some();
        let mut run = 0;
        for path in documents() {
            let text = fs::read_to_string(&path).expect("a document");
            let mut parts: Vec<String> = text.split("```").map(str::to_owned).collect();
            for block in parts.iter_mut().skip(1).step_by(2) {
                let Some(shown) = block.strip_prefix("live\n") else { continue };
                let commands = shown.lines().filter_map(|line| line.strip_prefix("$ "));
                let printed: String = commands.map(|command| format!("$ {command}\n{}", shell(command, rig))).collect();
                run += 1;
                if bless {
                    *block = format!("live\n{printed}");
                } else {
                    assert_eq!(form(&printed), form(shown), "{}:\n{shown}\nprints today:\n{printed}", path.display());
                }
            }
            if bless {
                fs::write(&path, parts.join("```")).expect("written");
            }
        }
        assert!(run >= 4, "only {run} blocks found");
    });
}
