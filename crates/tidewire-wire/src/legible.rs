//! Makes text that others chose (names of files, interfaces, keys and patterns; payload) safe to show on a terminal.

use std::{borrow::Cow, fmt::Write as _, ops::RangeInclusive};

/// Invisible characters: separators of lines and paragraphs, interlinear annotation, and the ranges of
/// `Default_Ignorable_Code_Point` (Unicode 16.0, DerivedCoreProperties.txt), which contains the controls of writing
/// direction, zero-width characters, fillers, variation selectors and tags.
const INVISIBLE: &[RangeInclusive<char>] = &[
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{61c}'..='\u{61c}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{200b}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{3164}'..='\u{3164}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{feff}'..='\u{feff}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{fff0}'..='\u{fffb}',
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0000}'..='\u{e0fff}',
];

/// Blocks of marks that any character may carry, and that programs draw over what stands before them: our own words, too. Marks of
/// single scripts, without which these cannot be read, are not among them.
const COMBINING: &[RangeInclusive<char>] = &[
    '\u{300}'..='\u{36f}',
    '\u{483}'..='\u{489}',
    '\u{1ab0}'..='\u{1aff}',
    '\u{1dc0}'..='\u{1dff}',
    '\u{20d0}'..='\u{20ff}',
    '\u{fe20}'..='\u{fe2f}',
];

/// Marks that [`dotted`] leaves on a character: Vietnamese has two.
const MARKS_MAX: u32 = 2;

/// Whether a terminal interprets a character, or shows nothing for it: control characters (C0, DEL, C1), line and
/// paragraph separators, controls of writing direction, characters without width, and those that Unicode has none for (its 66
/// noncharacters).
#[must_use]
pub fn is_hidden(character: char) -> bool {
    if character < '\u{ad}' {
        return character.is_control();
    }
    is_in(INVISIBLE, character)
        || u32::from(character) & 0xfffe == 0xfffe
        || ('\u{fdd0}'..='\u{fdef}').contains(&character)
}

/// Whether a character is a mark over the one before it, of those that any character may carry.
fn is_combining(character: char) -> bool {
    character >= '\u{300}' && is_in(COMBINING, character)
}

fn is_in(ranges: &[RangeInclusive<char>], character: char) -> bool {
    let after = ranges.partition_point(|range| *range.end() < character);
    ranges.get(after).is_some_and(|range| range.contains(&character))
}

fn is_escaped(character: char) -> bool {
    is_hidden(character) || is_combining(character)
}

/// The text with every [hidden](is_hidden) character, line feeds included, and every combining mark as an escape: `\n`, `\r`, `\t`,
/// `\u{1b}`.
#[must_use]
pub fn legible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    text.chars().for_each(|character| push(&mut shown, character));
    Cow::Owned(shown)
}

fn push(shown: &mut String, character: char) {
    match character {
        '\n' | '\r' | '\t' => shown.extend(character.escape_default()),
        escaped if is_escaped(escaped) => {
            let _ = write!(shown, "{}", escaped.escape_unicode());
        }
        visible => shown.push(visible),
    }
}

/// The text in quotes, where it is part of a line: a quote and a backslash in it have a backslash before them, so that the line can be
/// taken apart again.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + 2);
    shown.push('"');
    for character in text.chars() {
        if matches!(character, '"' | '\\') {
            shown.push('\\');
        }
        push(&mut shown, character);
    }
    shown.push('"');
    shown
}

/// The same for values that are compared: a backslash before what would look like an escape is one itself (`\u{5c}`), so that no two
/// texts are shown alike.
#[must_use]
pub fn distinct(text: &str) -> Cow<'_, str> {
    let is_escape = |rest: &str| rest.starts_with(['n', 'r', 't']) || rest.starts_with("u{");
    let mut places = text.match_indices('\\').filter(|&(at, _)| is_escape(&text[at + 1..])).peekable();
    if places.peek().is_none() {
        return legible(text);
    }
    let (mut shown, mut from) = (String::with_capacity(text.len() + 16), 0);
    for (at, _) in places {
        shown.push_str(&legible(&text[from..at]));
        shown.push_str("\\u{5c}");
        from = at + 1;
    }
    shown.push_str(&legible(&text[from..]));
    Cow::Owned(shown)
}

/// Whether a character is in the blocks of symbols that emoji are made of: arrows, technical and other symbols,
/// dingbats, and the pictographs of the supplementary plane with their skin tones. Coarser than
/// `Extended_Pictographic`, which does not matter here: each is visible.
fn is_pictograph(character: char) -> bool {
    matches!(character, '\u{2190}'..='\u{23ff}' | '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// The characters of a text, with dots for [hidden](is_hidden) ones other than line ends and tabs. Those that join an
/// emoji stay: U+FE0F behind a symbol, and one U+200D between two (Unicode Standard Annex 29, rule GB11). So do the first combining
/// marks behind a letter.
pub fn dotted(text: &str) -> impl Iterator<Item = char> {
    let mut after_symbol = false;
    let mut marks = MARKS_MAX;
    let mut characters = text.chars().peekable();
    std::iter::from_fn(move || {
        let character = characters.next()?;
        if is_combining(character) {
            marks += 1;
            return Some(if marks <= MARKS_MAX { character } else { '.' });
        }
        marks = if character.is_alphanumeric() { 0 } else { MARKS_MAX };
        let before = std::mem::replace(&mut after_symbol, is_pictograph(character));
        Some(match character {
            '\u{fe0f}' if before => {
                after_symbol = characters.peek() == Some(&'\u{200d}');
                character
            }
            '\u{200d}' if before && characters.peek().copied().is_some_and(is_pictograph) => character,
            '\n' | '\r' | '\t' => character,
            hidden if is_hidden(hidden) => '.',
            visible => visible,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_in_order() {
        for ranges in [INVISIBLE, COMBINING] {
            assert!(ranges.windows(2).all(|pair| pair[0].end() < pair[1].start()));
        }
    }

    #[test]
    fn what_commands_a_terminal_or_has_no_shape_is_escaped() {
        for (text, shown) in [
            ("eth0\u{1b}[2J", "eth0\\u{1b}[2J"),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("\u{7f}\u{9b}31m", "\\u{7f}\\u{9b}31m"),
            ("gpj.\u{202e}exe", "gpj.\\u{202e}exe"),
            ("a\u{2028}b\u{200b}c\u{feff}", "a\\u{2028}b\\u{200b}c\\u{feff}"),
            ("\u{e0041}\u{fe0f}\u{3164}", "\\u{e0041}\\u{fe0f}\\u{3164}"),
            ("\u{fdd0}\u{fffe}\u{10ffff}", "\\u{fdd0}\\u{fffe}\\u{10ffff}"),
            ("\u{338}e\u{301}\u{20dd}", "\\u{338}e\\u{301}\\u{20dd}"),
        ] {
            assert_eq!(legible(text), shown);
        }
        for (text, shown) in
            [("a\n", "a\\n"), ("a\\n", "a\\u{5c}n"), ("\\u{1b}\u{1b}", "\\u{5c}u{1b}\\u{1b}"), ("\\x", "\\x")]
        {
            assert_eq!(distinct(text), shown);
        }
        for text in ["", "capture.pcap", "Мир 世界 é ¬ \u{ac}\u{ae} 🌊", "a b"] {
            assert!(matches!(legible(text), Cow::Borrowed(same) if same == text), "{text}");
        }
        for text in ["👨‍👩‍👧‍👦", "❤️‍🔥", "👩🏽‍🚀", "🏳️‍⚧️", "🐈‍⬛", "☺️ and\r\n\ttext"]
        {
            assert_eq!(dotted(text).collect::<String>(), text);
        }
        for (text, shown) in [
            ("a\u{200d}b 👨\u{200d}", "a.b 👨."),
            ("\u{200d}👨\u{200d}\u{200d}👩", ".👨..👩"),
            ("👨\u{200d}x\u{fe0f}\u{200d}👨", "👨.x..👨"),
            ("☺\u{fe0f}\u{fe0f}\u{200d}☺", "☺\u{fe0f}..☺"),
            ("👨\u{202e}👩\u{200b}👩\u{2028}👩\u{1b}", "👨.👩.👩.👩."),
            ("e\u{302}\u{301} \u{338}x\u{300}\u{300}\u{300}\n\u{300}", "e\u{302}\u{301} .x\u{300}\u{300}.\n."),
        ] {
            assert_eq!(dotted(text).collect::<String>(), shown, "{text:?}");
        }
        assert_eq!(quoted("a\"; b\\n\n"), r#""a\"; b\\n\n""#);
        let hidden = (0..=0x10_ffff).filter_map(char::from_u32).filter(|c| is_hidden(*c));
        let ascii = hidden.clone().filter(char::is_ascii).count();
        assert_eq!((ascii, hidden.count() > 4096), (33, true));
    }
}
