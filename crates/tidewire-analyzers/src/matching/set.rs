//! The patterns that are searched for.

use std::{fs::File, io::Read as _, path::Path};

use tidewire_events::Severity;
use tidewire_patterns::{Pattern, PatternError, Patterns, SEVERITIES, Syntax, parse_file};

use crate::{error::AnalyzersError, settings::MatchSettings};

/// Bytes of a pattern file, at most, as for `tidewire match`.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// The built-in patterns.
const BUILTIN: &str = include_str!("../../patterns/builtin.txt");
/// Bytes of a pattern's name in an event, at most.
const NAME_BYTES_MAX: usize = 128;

/// A pattern as events name it.
#[derive(Debug)]
pub(crate) struct Named {
    /// The kind of its events.
    pub kind: String,
    /// Its name.
    pub name: String,
    pub severity: Severity,
    pub bytes: Box<[u8]>,
}

/// Patterns, ready to search.
pub(crate) struct Set {
    pub patterns: Patterns,
    pub named: Vec<Named>,
}

impl std::fmt::Debug for Set {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Set").field("patterns", &self.named.len()).finish_non_exhaustive()
    }
}

/// Every pattern of the settings.
pub(super) fn load(settings: &MatchSettings) -> Result<Vec<Pattern>, AnalyzersError> {
    let mut list = if settings.builtin { builtin() } else { Vec::new() };
    for path in &settings.files {
        list.extend(patterns_of(path)?);
    }
    Ok(list)
}

/// The patterns of a file.
///
/// # Errors
/// It cannot be read, or a line of it is no pattern.
pub fn patterns_of(path: &Path) -> Result<Vec<Pattern>, AnalyzersError> {
    let text = read(path).map_err(|source| AnalyzersError::File { path: path.to_owned(), source })?;
    parse_file(&text, Syntax::Text).map_err(|mistake| AnalyzersError::Patterns { path: path.to_owned(), mistake })
}

/// The built-in patterns.
pub(super) fn builtin() -> Vec<Pattern> {
    // The file is part of the program, and a test reads it.
    parse_file(BUILTIN.as_bytes(), Syntax::Text).unwrap_or_default()
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(std::io::Error::other(format!("larger than {FILE_BYTES_MAX} bytes")));
    }
    Ok(text)
}

impl Set {
    /// Prepares the patterns; `None`: there are none.
    pub(super) fn new(list: &[Pattern]) -> Result<Option<Self>, PatternError> {
        if list.is_empty() {
            return Ok(None);
        }
        let patterns = Patterns::new(list, false)?;
        let named = |pattern: &Pattern| Named {
            kind: pattern.id.as_ref().map_or_else(|| "match.pattern".into(), |id| format!("match.{id}")),
            name: shortened(&pattern.name),
            severity: severity(pattern),
            bytes: pattern.bytes.clone().into_boxed_slice(),
        };
        Ok(Some(Self { patterns, named: list.iter().map(named).collect() }))
    }
}

fn severity(pattern: &Pattern) -> Severity {
    let known = pattern.severity.and_then(|name| SEVERITIES.iter().position(|known| *known == name));
    known.map_or(Severity::Medium, |at| Severity::ALL[at])
}

fn shortened(name: &str) -> String {
    let end = (0..=NAME_BYTES_MAX.min(name.len())).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    name[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severities_are_those_of_events() {
        assert_eq!(SEVERITIES, Severity::ALL.map(Severity::name));
    }

    #[test]
    fn built_in_patterns_are_sound_and_have_sources() {
        let list = builtin();
        assert!(list.len() >= 10, "{}", list.len());
        assert!(list.iter().all(|pattern| pattern.id.is_some() && pattern.severity.is_some()), "{list:?}");
        // Samples eight bytes apart, and few bytes kept between pieces.
        assert!(list.iter().all(|pattern| (11..=48).contains(&pattern.bytes.len())), "{list:?}");
        assert!(matches!(Patterns::new(&list, false), Ok(Patterns::Sampled(_))));
        // Before each group of patterns a comment says where they are from.
        let mut source = false;
        for line in BUILTIN.lines() {
            match line {
                "" => source = false,
                _ if line.starts_with("|#") => source |= line.contains("http") || line.contains("CVE-"),
                _ => assert!(source, "{line}: no source"),
            }
        }
    }

    #[test]
    fn files_with_mistakes_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("patterns.txt");
        std::fs::write(&path, "one\n|id=a severity=worst|two\n").unwrap();
        let settings = MatchSettings { files: vec![path.clone()], ..MatchSettings::default() };
        let text = load(&settings).unwrap_err().to_string();
        assert!(text.contains("patterns.txt: line 2: unknown severity 'worst'"), "{text}");
        std::fs::write(&path, "one\n|id=a severity=low|two\n").unwrap();
        let list = load(&settings).unwrap();
        let set = Set::new(&list[list.len() - 2..]).unwrap().unwrap();
        let shown: Vec<_> = set.named.iter().map(|one| (one.kind.as_str(), one.name.as_str(), one.severity)).collect();
        assert_eq!(shown, [("match.pattern", "one", Severity::Medium), ("match.a", "a", Severity::Low)]);
        let missing = MatchSettings { files: vec![folder.path().join("none")], ..MatchSettings::default() };
        assert!(load(&missing).unwrap_err().to_string().contains("none: "));
    }
}
