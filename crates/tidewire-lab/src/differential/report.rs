//! Counts of a run, and the smallest scripts that were found.

use std::{collections::BTreeMap, fmt, fs, io, path::Path};

use super::{
    judge::{Outcome, Verdict},
    minimize::Small,
    script::{Script, Step},
};

/// Forms of told differences that are kept.
const FORMS: usize = 1000;
/// … and shown.
const SHOWN: usize = 12;

/// What a run found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Its seed.
    pub seed: u64,
    /// Scripts played.
    pub scripts: u64,
    /// Packets, those of the host included.
    pub packets: u64,
    /// Scripts of which the application received what was delivered.
    pub agreed: u64,
    /// … where the engine had reported something all the same.
    pub agreed_with_report: u64,
    /// … by what it was.
    pub agreed_kinds: BTreeMap<&'static str, u64>,
    /// Differences by what was reported.
    pub told: BTreeMap<&'static str, u64>,
    /// Scripts with a difference that was told.
    pub told_scripts: u64,
    /// Scripts with a difference that was not.
    pub silent: u64,
    /// Silent differences that showed when a told one was made smaller.
    pub behind_told: u64,
    /// Told differences that were made smaller, by their form.
    pub told_forms: BTreeMap<String, (Small, u64)>,
    /// Small scripts, by their form, and how often they were found.
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
            Outcome::Told => {
                self.told_scripts += 1;
                for kind in &verdict.kinds {
                    *self.told.entry(kind).or_default() += 1;
                }
            }
            Outcome::Silent => self.silent += 1,
        }
    }

    /// Keeps a script that was made smaller, if it is silent.
    pub fn keep(&mut self, small: Small) {
        let form = form(&small.script);
        match small.verdict.outcome() {
            Outcome::Silent => self.found.entry(form).or_insert((small, 0)).1 += 1,
            Outcome::Told if self.told_forms.len() < FORMS => {
                self.told_forms.entry(form).or_insert((small, 0)).1 += 1;
            }
            _ => {}
        }
    }

    /// One line.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { scripts, agreed, told_scripts, silent, .. } = self;
        let forms = self.found.len();
        format!("{scripts} scripts, {agreed} agreed, {told_scripts} told, {silent} silent ({forms} forms)")
    }

    /// Writes the small scripts as cases.
    ///
    /// # Errors
    /// What the file system says.
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

/// A script without what varies from one to the next: what two of the same kind have in common.
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

/// The letters that a text begins with.
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
        writeln!(f, "| differed and told | {} |", self.told_scripts)?;
        for (kind, count) in &self.told {
            writeln!(f, "| … `{kind}` among what was told | {count} |")?;
        }
        writeln!(f, "| differed in silence | {} |", self.silent)?;
        for (small, times) in self.found.values() {
            writeln!(f, "\n# {times} times: {}\n{}", small.verdict.describe(), small.script)?;
        }
        let mut forms: Vec<_> = self.told_forms.values().collect();
        forms.sort_by_key(|form| std::cmp::Reverse(form.1));
        for (small, times) in forms.into_iter().take(SHOWN) {
            writeln!(f, "\n# told, {times} times: {}\n{}", small.verdict.describe(), small.script)?;
        }
        Ok(())
    }
}
