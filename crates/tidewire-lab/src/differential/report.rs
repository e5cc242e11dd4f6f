//! Counts of a run, and the minimized scripts of its findings.

use std::{collections::BTreeMap, fmt, fs, io, path::Path};

use super::{
    judge::{Outcome, Verdict},
    minimize::Small,
    script::{Script, Step},
};

/// Forms of reported differences that are kept.
const FORMS: usize = 1000;
/// Forms that are shown.
const SHOWN: usize = 12;

/// The results of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Its seed.
    pub seed: u64,
    /// Scripts played.
    pub scripts: u64,
    /// Packets, including those of the host.
    pub packets: u64,
    /// Scripts for which the engine delivered what the application received.
    pub agreed: u64,
    /// Of these, scripts for which the engine reported something.
    pub agreed_with_report: u64,
    /// The same, by what was reported.
    pub agreed_kinds: BTreeMap<&'static str, u64>,
    /// Differences by what was reported.
    pub reported: BTreeMap<&'static str, u64>,
    /// Scripts with a reported difference.
    pub reported_scripts: u64,
    /// Scripts with a silent difference.
    pub silent: u64,
    /// Silent differences that appeared when a reported one was minimized.
    pub behind_reported: u64,
    /// Minimized scripts of reported differences, by their form.
    pub reported_forms: BTreeMap<String, (Small, u64)>,
    /// Minimized scripts of silent differences, by their form, with their frequency.
    pub found: BTreeMap<String, (Small, u64)>,
}

impl Report {
    /// Counts a script.
    pub fn count(&mut self, verdict: &Verdict) {
        self.scripts += 1;
        match verdict.outcome() {
            Outcome::Agreed => {
                self.agreed += 1;
                self.agreed_with_report += u64::from(!verdict.kinds.is_empty());
                for kind in &verdict.kinds {
                    *self.agreed_kinds.entry(kind).or_default() += 1;
                }
            }
            Outcome::Reported => {
                self.reported_scripts += 1;
                for kind in &verdict.kinds {
                    *self.reported.entry(kind).or_default() += 1;
                }
            }
            Outcome::Silent => self.silent += 1,
        }
    }

    /// Keeps a minimized script.
    pub fn keep(&mut self, small: Small) {
        let form = form(&small.script);
        match small.verdict.outcome() {
            Outcome::Silent => self.found.entry(form).or_insert((small, 0)).1 += 1,
            Outcome::Reported if self.reported_forms.len() < FORMS => {
                self.reported_forms.entry(form).or_insert((small, 0)).1 += 1;
            }
            _ => {}
        }
    }

    /// A summary in one line.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { scripts, agreed, reported_scripts, silent, .. } = self;
        let forms = self.found.len();
        format!("{scripts} scripts, {agreed} agreed, {reported_scripts} reported, {silent} silent ({forms} forms)")
    }

    /// Writes the minimized scripts as cases.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        for (number, (small, times)) in (1..).zip(self.found.values()) {
            let text =
                format!("# {times} times with seed {}: {}\n{}", self.seed, small.verdict.describe(), small.script);
            fs::write(folder.join(format!("found-{}-{number}.script", self.seed)), text)?;
        }
        Ok(())
    }
}

/// The form of a script: what scripts of the same kind have in common.
fn form(script: &Script) -> String {
    let mut form = format!("{}{}", script.listener.name(), if script.is_ipv6 { "6" } else { "" });
    for step in &script.steps {
        form += &match step {
            Step::Send(one) => {
                let options: Vec<String> = one.options.iter().map(|option| word(&option.to_string())).collect();
                let wraps: Vec<String> = one.wraps.iter().map(ToString::to_string).collect();
                format!(
                    " {:02x}{}{}{}{}{}{}[{}{}]",
                    one.flags,
                    if one.length > 0 { "d" } else { "" },
                    if one.ack == 0 {
                        ""
                    } else if one.ack < 0 {
                        "o"
                    } else {
                        "n"
                    },
                    if one.urgent > 0 { "u" } else { "" },
                    if one.window == 0 { "z" } else { "" },
                    if one.words.is_some() { "w" } else { "" },
                    if one.sum == super::script::Sum::Right { "" } else { "s" },
                    options.join(","),
                    wraps.join(","),
                )
            }
            other => format!(" {}", word(&format!("{other:?}"))),
        };
    }
    form
}

/// The letters at the beginning of a text.
fn word(text: &str) -> String {
    text.chars().take_while(|letter| letter.is_ascii_alphabetic()).collect()
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| scripts (seed {}) | {} |", self.seed, self.scripts)?;
        writeln!(f, "|---|---|")?;
        writeln!(f, "| packets, the host's included | {} |", self.packets)?;
        writeln!(f, "| agreed | {} |", self.agreed)?;
        writeln!(f, "| of these, with an anomaly or a gap all the same | {} |", self.agreed_with_report)?;
        for (kind, count) in &self.agreed_kinds {
            writeln!(f, "| … `{kind}` | {count} |")?;
        }
        writeln!(f, "| differed and reported | {} |", self.reported_scripts)?;
        for (kind, count) in &self.reported {
            writeln!(f, "| … `{kind}` among the reports | {count} |")?;
        }
        writeln!(f, "| differed in silence | {} |", self.silent)?;
        for (small, times) in self.found.values() {
            writeln!(f, "\n# {times} times: {}\n{}", small.verdict.describe(), small.script)?;
        }
        let mut forms: Vec<_> = self.reported_forms.values().collect();
        forms.sort_by_key(|form| std::cmp::Reverse(form.1));
        for (small, times) in forms.into_iter().take(SHOWN) {
            writeln!(f, "\n# reported, {times} times: {}\n{}", small.verdict.describe(), small.script)?;
        }
        Ok(())
    }
}
