//! The known name that is closest to an unknown one.

/// Characters of a name that is looked at: a longer one was not mistyped.
const CHARS_MAX: usize = 60;

/// The name that was probably meant by `word`; `None`: no name is near.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    ranked(word, known).first().map(|(_, name)| *name)
}

/// The names that are near `word` with their distance, the nearest first; of equal ones the shortest.
#[must_use]
pub fn ranked<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<(usize, &'a str)> {
    if word.chars().count() > CHARS_MAX {
        return Vec::new();
    }
    let word = word.to_ascii_lowercase();
    let most = (word.chars().count() / 3).max(1);
    let measured = known.into_iter().map(|name| {
        let begins = !word.is_empty() && (name.starts_with(&word) || word.starts_with(name));
        (if begins { 1 } else { distance(&word, name) }, name)
    });
    let mut near: Vec<_> = measured.filter(|(distance, _)| *distance <= most).collect();
    near.sort_by_key(|(distance, name)| (*distance, name.len()));
    near
}

/// Letters to add, remove, replace or exchange with their neighbour to make one word of another.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (row, a) in one.iter().enumerate() {
        let mut line = vec![row + 1];
        for (column, b) in other.iter().enumerate() {
            let replaced = last[column] + usize::from(a != b);
            let mut least = replaced.min(last[column + 1] + 1).min(line[column] + 1);
            let is_exchanged = row > 0 && column > 0 && one[row - 1] == *b && *a == other[column - 1];
            if is_exchanged {
                least = least.min(before[column - 1] + 1);
            }
            line.push(least);
        }
        before = std::mem::replace(&mut last, line);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found() {
        let known = ["cutoff", "chunk", "tls.sni"];
        assert_eq!(nearest("cuotff", known), Some("cutoff"));
        assert_eq!(nearest("tls.snj", known), Some("tls.sni"));
        assert_eq!(nearest("zebra", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest(&"c".repeat(1 << 20), known), None);
    }
}
