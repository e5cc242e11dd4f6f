//! `[analyzer.NAME]`

use tidewire_config::{Entry, Value, quoted};
use toml::de::DeValue;

use super::common::{Sections, quoted_lines};
use crate::config::types::Restart;

/// Parts and analyzers of the sensor itself: the status, the log and events have their names.
pub const OWN_NAMES: &[&str] = &["capture", "events", "spool", "tidewire", "anomaly", "match", "scan"];
/// Its keys.
pub const ANALYZER: &[&str] = &["command", "queue", "group", "instances", "user", "nice", "restart"];

/// `[analyzer.NAME]`
#[derive(Default)]
pub struct Analyzer {
    pub name: String,
    pub command: Vec<String>,
    pub queue: Option<String>,
    pub group: Option<String>,
    pub instances: Option<usize>,
    pub user: Option<(u32, u32)>,
    pub nice: i32,
    pub restart: Option<Restart>,
}

impl Sections<'_, '_> {
    /// Reads `[analyzer.NAME]`.
    pub fn analyzer(&mut self, (key, value): Entry<'_>) -> Analyzer {
        let mut analyzer = Analyzer { name: key.get_ref().as_ref().to_owned(), ..Analyzer::default() };
        let title = format!("analyzer.{}", analyzer.name);
        let DeValue::Table(table) = value.get_ref() else { return analyzer };
        if OWN_NAMES.contains(&analyzer.name.as_str()) {
            let what = format!("'{}' is a part of the sensor, and cannot be the name of an analyzer", analyzer.name);
            self.document.wrong(&key.span(), what, "choose another name");
        }
        self.keys(&title, table, ANALYZER, |this, key, value| match key {
            "command" => analyzer.command = this.command(key, value),
            "queue" => analyzer.queue = this.document.string(key, value, "\"streams\""),
            "group" => {
                analyzer.group = this.document.string(key, value, "\"http\"");
                if analyzer.group.as_ref().is_some_and(|group| !tidewire_queue::is_name(group)) {
                    let instead =
                        format!("a name has 1 to {} letters, digits, ., - and _", tidewire_queue::NAME_BYTES_MAX);
                    this.document.wrong(&value.span(), "this cannot be the name of a group", instead);
                }
            }
            "instances" => {
                analyzer.instances = this.document.whole(key, value, 1, 32).map(|count| count as usize);
            }
            "user" => {
                let word = this.user_word(key, value);
                analyzer.user = word.and_then(|(name, span)| this.user(&name, &span));
            }
            "nice" => analyzer.nice = this.document.whole(key, value, -20, 19).unwrap_or_default() as i32,
            _ => {
                let words =
                    [("always", Restart::Always), ("on-failure", Restart::OnFailure), ("never", Restart::Never)];
                analyzer.restart = this.document.choice(key, value, &words);
            }
        });
        if !table.iter().any(|(key, _)| key.get_ref() == "command") {
            let what = format!("[{title}] has no 'command'");
            self.document.wrong(&key.span(), what, "as in command = [\"/usr/local/bin/analyzer\", \"--option\"]");
        }
        analyzer
    }

    fn command(&mut self, key: &str, value: &Value<'_>) -> Vec<String> {
        let example = "[\"/usr/local/bin/analyzer\", \"--option\"]";
        let words = self.document.strings(key, value, example);
        let Some((program, span)) = words.first() else {
            if matches!(value.get_ref(), DeValue::Array(items) if items.is_empty()) {
                self.document.wrong(&value.span(), "'command' names no program", format!("as in command = {example}"));
            }
            return Vec::new();
        };
        if let Some((_, span)) = words.iter().find(|(word, _)| word.contains('\0')) {
            self.document.wrong(span, "'command' has a null character, which no argument can have", "");
        } else if let Err(message) = self.system.program(program) {
            let is_line = !matches!(value.get_ref(), DeValue::Array(_)) && program.contains(' ');
            let instead = match is_line {
                true => {
                    let words: Vec<String> =
                        program.split_whitespace().take(8).map(|word| format!("\"{}\"", quoted(word))).collect();
                    format!("arguments are words of their own: command = [{}]", words.join(", "))
                }
                false => "write the path of a program that can be run".into(),
            };
            self.document.wrong(span, quoted_lines(&message), instead);
        }
        words.into_iter().map(|(word, _)| word).collect()
    }
}
