//! Values of a TOML document with their places. Every mistake is noted, and reading continues.

use std::{borrow::Cow, ops::Range};

use tidewire_types::{Size, Span};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::mistake::{Mistake, nearest, place, quoted};

/// Mistakes that are kept: the rest are counted.
const MISTAKES_MAX: usize = 100;

/// A document that is being read.
pub struct Document<'a> {
    name: &'a str,
    text: &'a str,
    mistakes: Vec<Mistake>,
    /// How many of them, the first ones, are mistakes of the language.
    of_language: usize,
    warnings: Vec<Mistake>,
    /// Mistakes that were looked at, at most [`MISTAKES_MAX`]: a place costs time in the length of the text.
    placed: usize,
    /// Those beyond.
    more: usize,
}

/// Result of reading a document.
#[derive(Clone, Debug, Default)]
pub struct Mistakes {
    /// Those of the language first, which may cause others; then by line and column; those without a place come last.
    pub mistakes: Vec<Mistake>,
    /// Unusual settings, which may be meant.
    pub warnings: Vec<Mistake>,
}

/// A key with its place.
pub type Key<'v> = Spanned<Cow<'v, str>>;

/// A value with its place.
pub type Value<'v> = Spanned<DeValue<'v>>;

/// A key and its value.
pub type Entry<'v> = (&'v Key<'v>, &'v Value<'v>);

impl<'a> Document<'a> {
    /// A document of this text. `name`: the file's, for messages.
    #[must_use]
    pub fn new(text: &'a str, name: &'a str) -> Self {
        Self { name, text, mistakes: Vec::new(), of_language: 0, warnings: Vec::new(), placed: 0, more: 0 }
    }

    /// The name of the file.
    #[must_use]
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// Parses the text. Mistakes of the language are noted, and the table has the entries that are right.
    pub fn parse(&mut self) -> Spanned<DeTable<'a>> {
        let (table, errors) = DeTable::parse_recoverable(self.text);
        for error in errors {
            self.wrong(&error.span().unwrap_or_default(), error.message().to_owned(), "");
        }
        self.of_language = self.mistakes.len();
        table
    }

    /// The mistakes and warnings, in order. Of more than 100 mistakes the rest are counted in a last one.
    #[must_use]
    pub fn finish(self) -> Mistakes {
        let Self { name, mut mistakes, of_language, warnings, more, .. } = self;
        if let Some(others) = mistakes.get_mut(of_language..) {
            others.sort_by_key(|mistake| mistake.place.unwrap_or((usize::MAX, 0)));
        }
        if more > 0 {
            let what = format!("{more} more mistakes are not listed");
            mistakes.push(Mistake { file: name.to_owned(), place: None, what, instead: String::new() });
        }
        Mistakes { mistakes, warnings }
    }

    fn note(&self, span: Option<&Range<usize>>, what: impl Into<String>, instead: impl Into<String>) -> Mistake {
        let place = span.map(|span| place(self.text, span));
        Mistake { file: self.name.to_owned(), place, what: what.into(), instead: instead.into() }
    }

    /// Notes a mistake.
    pub fn wrong(&mut self, span: &Range<usize>, what: impl Into<String>, instead: impl Into<String>) {
        self.wrong_at(Some(span), what, instead);
    }

    /// Notes a mistake that may have no place. On a line with a mistake of the language it follows from that one, and is left out.
    pub fn wrong_at(&mut self, span: Option<&Range<usize>>, what: impl Into<String>, instead: impl Into<String>) {
        if self.placed >= MISTAKES_MAX {
            self.more += 1;
            return;
        }
        self.placed += 1;
        let mistake = self.note(span, what, instead);
        let line = |mistake: &Mistake| mistake.place.map(|(line, _)| line);
        let of_language = self.mistakes.iter().take(self.of_language);
        if line(&mistake).is_none() || !of_language.map(line).any(|other| other == line(&mistake)) {
            self.mistakes.push(mistake);
        }
    }

    /// Notes a warning.
    pub fn warn(&mut self, span: Option<&Range<usize>>, what: impl Into<String>, instead: impl Into<String>) {
        if self.warnings.len() < MISTAKES_MAX {
            self.warnings.push(self.note(span, what, instead));
        }
    }

    /// The value as a table.
    pub fn table<'v>(&mut self, value: &'v Value<'v>, what: &str, example: &str) -> Option<&'v DeTable<'v>> {
        let DeValue::Table(table) = value.get_ref() else {
            self.wrong(&value.span(), format!("'{what}' is a table, not {}", kind(value)), example);
            return None;
        };
        Some(table)
    }

    /// Notes a key that is not known, with the one that was probably meant.
    pub fn unknown(&mut self, key: &Key<'_>, of: &str, known: &[&str]) {
        if key.get_ref().is_empty() && !self.mistakes.is_empty() {
            // A key that is missing is a mistake of its own already.
            return;
        }
        let instead = match nearest(key.get_ref(), known.iter().copied()) {
            Some(meant) => format!("did you mean '{meant}'?"),
            None => format!("it has: {}", known.join(", ")),
        };
        self.wrong(&key.span(), format!("{of} has no key '{}'", quoted(key.get_ref())), instead);
    }

    /// A text.
    pub fn string(&mut self, key: &str, value: &Value<'_>, example: &str) -> Option<String> {
        match value.get_ref() {
            DeValue::String(text) => Some(text.as_ref().to_owned()),
            _ => {
                let what = format!("'{key}' is text, not {}", kind(value));
                self.wrong(&value.span(), what, format!("as in {key} = {example}"));
                None
            }
        }
    }

    /// Texts with their places: an array, or one alone.
    pub fn strings(&mut self, key: &str, value: &Value<'_>, example: &str) -> Vec<(String, Range<usize>)> {
        let text = |item: &Value<'_>| self.string(key, item, example).map(|text| (text, item.span()));
        items(value).iter().filter_map(text).collect()
    }

    /// `true` or `false`.
    pub fn boolean(&mut self, key: &str, value: &Value<'_>) -> Option<bool> {
        if let DeValue::Boolean(is) = value.get_ref() {
            return Some(*is);
        }
        self.wrong(
            &value.span(),
            format!("'{key}' is true or false, not {}", kind(value)),
            format!("as in {key} = true"),
        );
        None
    }

    /// A whole number in a range.
    pub fn whole(&mut self, key: &str, value: &Value<'_>, from: i64, to: i64) -> Option<i64> {
        let number = match value.get_ref() {
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        if let Some(number) = number.filter(|number| (from..=to).contains(number)) {
            return Some(number);
        }
        let what = format!("'{key}' must be a whole number from {from} to {to}, got {}", shown(value));
        self.wrong(&value.span(), what, "");
        None
    }

    /// A number of bytes: `"64M"`, or a number.
    pub fn size(&mut self, key: &str, value: &Value<'_>, from: u64, to: u64) -> Option<u64> {
        self.bounded(key, value, (from, to), |bytes| tidewire_types::Binary(bytes).to_string())
    }

    /// A number of things, which may have the letters of sizes: `"1M"` is 1,048,576.
    pub fn count(&mut self, key: &str, value: &Value<'_>, from: u64, to: u64) -> Option<u64> {
        self.bounded(key, value, (from, to), |count| count.to_string())
    }

    fn bounded(
        &mut self,
        key: &str,
        value: &Value<'_>,
        (from, to): (u64, u64),
        words: impl Fn(u64) -> String,
    ) -> Option<u64> {
        let bytes = match value.get_ref() {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix())
                .map_err(|_| "expected a size, as in \"64M\"".to_owned()),
            DeValue::String(text) => text.parse::<Size>().map(|size| size.0),
            _ => Err(format!("expected a size, not {}, as in \"64M\"", kind(value))),
        };
        match bytes {
            Ok(bytes) if (from..=to).contains(&bytes) => Some(bytes),
            Ok(_) => {
                let bounds = match to {
                    u64::MAX => format!("must be at least {}", words(from)),
                    _ => format!("must be {} to {}", words(from), words(to)),
                };
                self.wrong(&value.span(), format!("'{key}' {bounds}, got {}", shown(value)), "");
                None
            }
            Err(message) => {
                self.wrong(&value.span(), format!("invalid '{key}' {}: {message}", shown(value)), "");
                None
            }
        }
    }

    /// A time: `"5ms"`.
    pub fn span(&mut self, key: &str, value: &Value<'_>) -> Option<std::time::Duration> {
        let parsed = match value.get_ref() {
            DeValue::String(text) => text.parse::<Span>(),
            DeValue::Integer(number) if number.as_str() == "0" => Ok(Span(0)),
            DeValue::Integer(number) => {
                Err(format!("a time has a unit; did you mean {key} = \"{}s\"?", quoted(number.as_str())))
            }
            _ => Err(format!("expected a time, not {}, as in \"5ms\"", kind(value))),
        };
        match parsed {
            Ok(Span(ns)) => Some(std::time::Duration::from_nanos(ns)),
            Err(message) => {
                self.wrong(&value.span(), format!("invalid '{key}' {}: {message}", shown(value)), "");
                None
            }
        }
    }

    /// One of several words.
    pub fn choice<T: Copy>(&mut self, key: &str, value: &Value<'_>, words: &[(&str, T)]) -> Option<T> {
        let word = match value.get_ref() {
            DeValue::String(word) => word.as_ref(),
            _ => "",
        };
        if let Some((_, chosen)) = words.iter().find(|(known, _)| *known == word) {
            return Some(*chosen);
        }
        let known: Vec<String> = words.iter().map(|(known, _)| format!("\"{known}\"")).collect();
        let instead = match nearest(word, words.iter().map(|(known, _)| *known)) {
            Some(meant) => format!("did you mean \"{meant}\"?"),
            None => String::new(),
        };
        self.wrong(&value.span(), format!("'{key}' is {}, not {}", known.join(" or "), shown(value)), instead);
        None
    }
}

/// The values of an array, or one alone.
#[must_use]
pub fn items<'s, 'v>(value: &'s Value<'v>) -> &'s [Value<'v>] {
    match value.get_ref() {
        DeValue::Array(items) => items,
        _ => std::slice::from_ref(value),
    }
}

/// The kind of a value, for messages.
#[must_use]
pub fn kind(value: &Value<'_>) -> &'static str {
    match value.get_ref() {
        DeValue::String(_) => "text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a time of day",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}

/// A value in a message: a number or text itself, shortened, or its kind.
#[must_use]
pub fn shown(value: &Value<'_>) -> String {
    match value.get_ref() {
        DeValue::String(text) => format!("\"{}\"", quoted(text)),
        DeValue::Integer(number) => quoted(number.as_str()),
        DeValue::Float(number) => quoted(number.as_str()),
        DeValue::Boolean(is) => is.to_string(),
        _ => kind(value).to_owned(),
    }
}
