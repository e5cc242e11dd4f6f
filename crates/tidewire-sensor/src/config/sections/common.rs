//! Readers that all tables share: for keys, names, users, filters and times.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    ops::Range,
    path::{Path, PathBuf},
    time::Duration,
};
use tidewire_config::{Document, Entry, Value, quoted};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::keys::{RECORD, RECORDS};
use crate::config::{doubt::Doubt, system::System};

/// Places of values, by names such as `queue.web.memory`.
pub type Places = BTreeMap<String, Range<usize>>;

/// Longest times: a day.
pub const TIME_MAX: Duration = Duration::from_secs(86_400);
/// Bytes of a name: a queue of a set has a dot and two digits after it, an instance three.
const NAME_BYTES_MAX: usize = tidewire_queue::NAME_BYTES_MAX - 4;

/// Classes of a queue or of the recording.
const CLASSES_MAX: usize = 64;

/// Whether it can be the name of a queue or an analyzer.
fn is_name(name: &str) -> bool {
    tidewire_queue::is_name(name) && name.len() <= NAME_BYTES_MAX && !name.contains('.')
}

/// Reads tables; answers of the machine are checked as they come.
pub struct Sections<'a, 's> {
    pub document: Document<'a>,
    pub system: &'s dyn System,
    pub places: Places,
}

impl Sections<'_, '_> {
    /// Calls `each` for the known keys of a table, and notes the others.
    pub fn keys<'v>(
        &mut self,
        title: &str,
        table: &'v DeTable<'v>,
        known: &[&str],
        mut each: impl FnMut(&mut Self, &str, &'v Value<'v>),
    ) {
        for (key, value) in table.iter() {
            let name = key.get_ref().as_ref();
            if known.contains(&name) {
                self.places.insert(format!("{title}.{name}"), value.span());
                each(self, name, value);
            } else {
                self.unknown(title, key, known);
            }
        }
    }

    /// Notes a key that a table does not have. `[record]` and `[records]` are taken for each other easily.
    fn unknown(&mut self, title: &str, key: &Spanned<Cow<'_, str>>, known: &[&str]) {
        let name = key.get_ref().as_ref();
        let other = match title {
            "records" if RECORD.contains(&name) => "record",
            "record" if RECORDS.contains(&name) => "records",
            _ => return self.document.unknown(key, &format!("[{title}]"), known),
        };
        self.document.wrong(&key.span(), format!("[{title}] has no key '{name}'"), format!("it is a key of [{other}]"));
    }

    pub fn filter(&mut self, key: &str, value: &Value<'_>) -> Option<String> {
        let filter = self.document.string(key, value, "\"tcp port 80\"")?;
        if let Err(message) = self.system.filter(&filter) {
            let message = quoted_lines(&message);
            self.document.wrong(&value.span(), format!("'{key}' does not compile: {message}"), "see pcap-filter(7)");
            return None;
        }
        Some(filter)
    }

    pub fn user(&mut self, name: &str, span: &Range<usize>) -> Option<(u32, u32)> {
        let (user, group) = name.split_once(':').map_or((name, None), |(user, group)| (user, Some(group)));
        let found = self.system.user(user).and_then(|(user, main)| {
            let group = group.map_or(Ok(main), |group| self.system.group(group));
            group.map(|group| (user, group))
        });
        let message = match found {
            Ok(found) => return Some(found),
            Err(message) => message,
        };
        let instead = "write a user of this machine, a number, or \"user:group\"";
        self.document.wrong(span, format!("user \"{}\": {message}", quoted(name)), instead);
        None
    }

    /// A user's name, or a number.
    pub fn user_word(&mut self, key: &str, value: &Value<'_>) -> Option<(String, Range<usize>)> {
        match value.get_ref() {
            DeValue::Integer(number) => Some((number.as_str().to_owned(), value.span())),
            _ => self.document.string(key, value, "\"nobody\"").map(|name| (name, value.span())),
        }
    }

    pub fn time(&mut self, key: &str, value: &Value<'_>, least: Duration) -> Option<Duration> {
        self.time_within(key, value, least, TIME_MAX)
    }

    pub fn time_within(&mut self, key: &str, value: &Value<'_>, least: Duration, most: Duration) -> Option<Duration> {
        let time = self.document.span(key, value)?;
        if (least..=most).contains(&time) {
            return Some(time);
        }
        let shown = |time: Duration| tidewire_types::Lasting(time.as_nanos() as u64);
        let bounds = format!("'{key}' must be {} to {}, got {}", shown(least), shown(most), shown(time));
        self.document.wrong(&value.span(), bounds, "");
        None
    }

    /// Reads the tables below `[queue]` or `[analyzer]`, with their names.
    pub fn named<'v>(&mut self, of: &str, value: &'v Value<'v>) -> Vec<Entry<'v>> {
        let example = format!("write [{of}.NAME]");
        let Some(table) = self.document.table(value, of, &example) else { return Vec::new() };
        let mut found = Vec::new();
        for (key, value) in table.iter() {
            let name = key.get_ref();
            if !is_name(name) {
                let what = format!("'{}' cannot be the name of {}", quoted(name), article(of));
                let instead = format!("a name has 1 to {NAME_BYTES_MAX} letters, digits, - and _");
                self.document.wrong(&key.span(), what, instead);
            } else if self.document.table(value, name, &example).is_some() {
                self.places.insert(format!("{of}.{name}"), key.span());
                found.push((key, value));
            }
        }
        found
    }

    /// Reads `classes`: tables with a filter each, of which `read` takes the other keys. `of`: whose they are, in words.
    pub fn classes<C: Default>(
        &mut self,
        value: &Value<'_>,
        of: &str,
        known: &[&str],
        mut read: impl FnMut(&mut Self, &mut C, &str, &Value<'_>),
    ) -> Vec<(String, C)> {
        let example = "as in classes = [{ filter = \"port 443\", cutoff = \"16K\" }]";
        let DeValue::Array(items) = value.get_ref() else {
            self.document.wrong(&value.span(), "'classes' is an array of tables", example);
            return Vec::new();
        };
        if items.len() > CLASSES_MAX {
            let what = format!("{of} has at most {CLASSES_MAX} classes, got {}", items.len());
            self.document.wrong(&value.span(), what, "");
        }
        let mut classes = Vec::new();
        for item in items.iter().take(CLASSES_MAX) {
            let Some(table) = self.document.table(item, "classes", example) else { continue };
            let (mut class, mut filter, mut has_filter) = (C::default(), None, false);
            for (key, value) in table.iter() {
                match key.get_ref().as_ref() {
                    "filter" => (filter, has_filter) = (self.filter("filter", value), true),
                    name if known.contains(&name) => read(self, &mut class, name, value),
                    _ => self.document.unknown(key, "a class", known),
                }
            }
            if !has_filter {
                self.document.wrong(&item.span(), "a class has no 'filter'", example);
            }
            classes.extend(filter.map(|filter| (filter, class)));
        }
        classes
    }

    /// A priority of streams or packets.
    pub fn priority(&mut self, key: &str, value: &Value<'_>) -> Option<u8> {
        let most = i64::from(tidewire_types::PRIORITIES_MAX) - 1;
        self.document.whole(key, value, 0, most).map(|level| level as u8)
    }

    /// A path from the root.
    pub fn absolute(&mut self, key: &str, value: &Value<'_>, example: &str) -> Option<PathBuf> {
        let path = PathBuf::from(self.document.string(key, value, example)?);
        if path.is_absolute() {
            return Some(path);
        }
        self.document.wrong(&value.span(), format!("'{key}' must be an absolute path"), format!("as in {example}"));
        None
    }

    /// Notes what is wrong with something outside of the file.
    pub fn doubt(&mut self, place: Option<&Range<usize>>, looked: Result<(), Doubt>, instead: &str) {
        match looked {
            Ok(()) => {}
            Err(Doubt::Unreachable(what)) => self.document.wrong_at(place, quoted_lines(&what), instead),
            Err(Doubt::Now(what)) => self.document.warn(place, quoted_lines(&what), instead),
        }
    }

    /// Files that can be read.
    pub fn readable_files(&mut self, key: &str, value: &Value<'_>, example: &str) -> Vec<PathBuf> {
        let named = self.document.strings(key, value, example);
        for (name, span) in &named {
            if let Err(message) = self.system.file(Path::new(name)) {
                self.document.wrong(span, format!("{} cannot be read: {message}", quoted(name)), "");
            }
        }
        named.into_iter().map(|(name, _)| name.into()).collect()
    }

    /// One of them.
    pub fn readable_file(&mut self, key: &str, value: &Value<'_>, example: &str) -> Option<PathBuf> {
        if !matches!(value.get_ref(), DeValue::String(_)) {
            return self.document.string(key, value, example).map(PathBuf::from);
        }
        self.readable_files(key, value, example).pop()
    }
}

fn article(of: &str) -> &'static str {
    match of {
        "queue" => "a queue",
        "destination" => "a destination",
        "output" => "an output",
        _ => "an analyzer",
    }
}

/// A message of another part, cut where it is too long.
pub fn quoted_lines(message: &str) -> String {
    let mut shown: String = message.chars().take(400).collect();
    if shown.len() < message.len() {
        shown.push('…');
    }
    shown
}
