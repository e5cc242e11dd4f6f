//! Text that others chose (names of files, interfaces, keys and patterns; what a peer sent) as a terminal may show it.

use std::{borrow::Cow, fmt::Write as _, ops::RangeInclusive};

/// Characters without a shape of their own: separators of lines and paragraphs, interlinear annotation, and the ranges of
/// `Default_Ignorable_Code_Point` (Unicode 16.0, DerivedCoreProperties.txt), which holds the controls of writing direction,
/// zero-width characters, fillers, variation selectors and tags.
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

/// Whether a terminal obeys a character, or shows nothing for it, instead of showing it: control characters (C0, DEL, C1),
/// line and paragraph separators, controls of writing direction, and what has no width.
#[must_use]
pub fn is_hidden(character: char) -> bool {
    if character < '\u{ad}' {
        return character.is_control();
    }
    let after = INVISIBLE.partition_point(|range| *range.end() < character);
    INVISIBLE.get(after).is_some_and(|range| range.contains(&character))
}

/// The text with every [hidden](is_hidden) character, line feeds included, as an escape: `\n`, `\r`, `\t`, `\u{1b}`.
#[must_use]
pub fn legible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '\n' | '\r' | '\t' => shown.extend(character.escape_default()),
            hidden if is_hidden(hidden) => {
                let _ = write!(shown, "{}", hidden.escape_unicode());
            }
            visible => shown.push(visible),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_in_order() {
        assert!(INVISIBLE.windows(2).all(|pair| pair[0].end() < pair[1].start()));
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
        ] {
            assert_eq!(legible(text), shown);
        }
        for text in ["", "capture.pcap", "Мир 世界 é ¬ \u{ac}\u{ae} 🌊", "a b"] {
            assert!(matches!(legible(text), Cow::Borrowed(same) if same == text), "{text}");
        }
        let hidden = (0..=0x10_ffff).filter_map(char::from_u32).filter(|c| is_hidden(*c));
        let ascii = hidden.clone().filter(char::is_ascii).count();
        assert_eq!((ascii, hidden.count() > 4096), (33, true));
    }
}
