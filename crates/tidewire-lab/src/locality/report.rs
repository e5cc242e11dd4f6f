//! The page of figures.

use std::{fmt::Write, fs, path::Path};

use crate::live::report::{Section, push_section};

/// How it was measured.
const METHOD: &str = "Packets are copied into a ring of 64 MiB (as the kernel does), ordered by `tidewire_locality`, and given \
to an application in the same thread, pinned to a core. Times are the thread's CPU time, user and system; cycles are \
that time at the processor's nominal rate. `off`: in the order of arrival, 256 packets at a time. All ways of a row take turns; \
the middle of three rounds counts. The first fifth of the packets is not counted. What an application finds is the same in every \
order (a test says so).\n\n\
The traffic is made: 100 services by Zipf's law, flows with a preference for few, payloads of 6 to 1,400 bytes in a language of each \
service's own, so that patterns begin to match and automata are walked deep. **It is made to have tables used in their whole \
breadth**: what is saved here is what can be saved, not what every program saves.\n\n\
- `rules`: patterns of two or three words of a service's language, one automaton (deterministic, Aho-Corasick) for each of 101 \
groups, chosen by destination port, else by source port, as Snort does.\n\
- `ngrams`: a Bloom filter of 5-grams for each service (Anagram, RAID 2006).\n\
- `flows`: a flow probe with a record of six cache lines for each flow, all flows known before.\n";

/// Writes `locality.md` and its plots.
pub(super) fn write(sections: &[Section], machine: &str, folder: &Path) -> Result<String, String> {
    let words = |error: std::io::Error| error.to_string();
    fs::create_dir_all(folder).map_err(words)?;
    let mut text = String::from("# Benchmark: locality\n\n");
    let _ = writeln!(text, "{machine}\n\n{METHOD}");
    for section in sections {
        for plot in &section.plots {
            plot.draw(folder)?;
        }
        push_section(&mut text, section);
    }
    fs::write(folder.join("locality.md"), &text).map_err(words)?;
    Ok(text)
}
