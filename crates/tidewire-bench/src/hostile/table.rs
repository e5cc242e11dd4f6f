//! Figures as tables: the greatest of each content, then those of each command.

use std::{collections::BTreeSet, fmt::Write as _};

use super::{
    cost::{Cost, Range, Verdict},
    rows::Row,
};
use crate::machine::output_of;

/// Content in one command, compared with its twin.
pub(super) struct Compared {
    name: &'static str,
    kind: &'static str,
    /// The command.
    view: String,
    item: Range,
    twin: Range,
    ratio: Range,
    growth: Option<f64>,
    expansion: f64,
    verdict: Verdict,
}

impl Compared {
    pub(super) fn new(row: &Row, view: String, hostile: Cost, benign: Cost) -> Self {
        let items = row.bound.items();
        let twin = Range { low: benign.item.low * items, high: benign.item.high * items };
        Self {
            name: row.name,
            kind: row.kind,
            view,
            item: hostile.item,
            twin,
            ratio: hostile.item.ratio(twin),
            growth: hostile.growth,
            expansion: hostile.expansion,
            verdict: hostile.verdict(twin),
        }
    }
}

/// A view as it stands in the table.
pub(super) fn shown(view: &str) -> String {
    let view = view.replace(" {}", "").replace("{out}/", "").replace(":{collector}", "");
    // Patterns are in the description.
    view.split(" -e ").next().unwrap_or_default().to_owned()
}

/// The tables, with a title, and whether all are within their bounds; and how many measurements were made, and how many are missing.
pub(super) fn text(compared: &[Compared], is_time: bool, [measurements, missing]: [usize; 2]) -> (String, bool) {
    let mut text = String::from("# Expensive content\n\n");
    let names: BTreeSet<&str> = compared.iter().map(|row| row.name).collect();
    let beyond: Vec<&Compared> = compared.iter().filter(|row| row.verdict == Verdict::Beyond).collect();
    let beyond_names: BTreeSet<&str> = beyond.iter().map(|row| row.name).collect();
    let unclear = compared.iter().filter(|row| row.verdict == Verdict::Unclear).count();
    let counter = if is_time {
        "CPU time, three runs: estimates.".to_owned()
    } else {
        format!(
            "instructions of {}, counted by {} (cachegrind).",
            std::env::consts::ARCH,
            output_of("valgrind", &["--version"])
        )
    };
    let _ = writeln!(
        text,
        "{} contents in {measurements} measurements of a content in a command, each over three captures. Costs are {counter} \
         Beyond a bound: {} contents in {} comparisons; unclear: {unclear}.\n",
        names.len(),
        beyond_names.len(),
        beyond.len()
    );
    if missing > 0 {
        let _ = writeln!(text, "There was no time for {missing} further measurements.\n");
    }
    greatest(&mut text, compared);
    each(&mut text, compared, is_time);
    (text, beyond.is_empty() && missing == 0)
}

/// The greatest figures of each content.
fn greatest(text: &mut String, compared: &[Compared]) {
    let _ = writeln!(
        text,
        "## Greatest figures\n\n| content | what it is | ratio | in | growth | bytes out for one in | in | |\n|---|---|---|---|---|---|---|---|"
    );
    let mut rest = compared;
    while let Some(first) = rest.first() {
        let count = rest.iter().take_while(|row| row.name == first.name).count();
        let (rows, others) = rest.split_at(count);
        rest = others;
        let greatest =
            |figure: fn(&Compared) -> f64| rows.iter().max_by(|one, two| figure(one).total_cmp(&figure(two)));
        let (Some(most_expensive), Some(longest)) = (greatest(|row| row.ratio.low), greatest(|row| row.expansion))
        else {
            continue;
        };
        let growth = rows.iter().filter_map(|row| row.growth).reduce(f64::max);
        let verdict = if rows.iter().any(|row| row.verdict == Verdict::Beyond) { "**beyond**" } else { "" };
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | `{}` | {} | {:.1} | `{}` | {verdict} |",
            first.name,
            first.kind,
            most_expensive.ratio.shown(1),
            most_expensive.view,
            number(growth),
            longest.expansion,
            longest.view,
        );
    }
}

/// All of them.
fn each(text: &mut String, compared: &[Compared], is_time: bool) {
    let unit = if is_time { "CPU ns" } else { "instructions" };
    let _ = writeln!(
        text,
        "\n## Each command\n\n| content | command | {unit} | of its twin | ratio | growth | bytes out for one in | |\n|---|---|---|---|---|---|---|---|"
    );
    for row in compared {
        let _ = writeln!(
            text,
            "| {} | `{}` | {} | {} | {} | {} | {:.1} | {} |",
            row.name,
            row.view,
            row.item.shown(0),
            row.twin.shown(0),
            row.ratio.shown(1),
            number(row.growth),
            row.expansion,
            match row.verdict {
                Verdict::Within => "",
                Verdict::Unclear => "unclear",
                Verdict::Beyond => "**beyond**",
            },
        );
    }
}

fn number(figure: Option<f64>) -> String {
    figure.map_or_else(|| "–".to_owned(), |figure| format!("{figure:.2}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(name: &'static str, view: &str, ratio: f64, verdict: Verdict) -> Compared {
        let one = Range { low: 1.0, high: 1.0 };
        let ratio = Range { low: ratio, high: ratio };
        let (growth, expansion) = (Some(ratio.low / 10.0), 100.0 - ratio.low);
        Compared { name, kind: "kind", view: view.into(), item: ratio, twin: one, ratio, growth, expansion, verdict }
    }

    #[test]
    fn the_greatest_of_each_content_comes_first() {
        let rows = [
            compared("a", "flows", 3.0, Verdict::Within),
            compared("a", "streams", 9.0, Verdict::Beyond),
            compared("b", "flows", 2.0, Verdict::Within),
        ];
        let (text, is_within) = text(&rows, false, [5, 0]);
        assert!(!is_within);
        assert!(text.contains("| `a` | kind | 9.0 | `streams` | 0.90 | 97.0 | `flows` | **beyond** |\n"), "{text}");
        assert!(text.contains("| `b` | kind | 2.0 | `flows` | 0.20 | 98.0 | `flows` |  |\n"), "{text}");
        assert!(text.contains("| a | `streams` | 9 | 1 | 9.0 | 0.90 | 91.0 | **beyond** |\n"), "{text}");
        assert!(text.contains("Beyond a bound: 1 contents in 1 comparisons; unclear: 0."), "{text}");
    }

    #[test]
    fn commands_are_shown_without_places() {
        assert_eq!(shown("flows {} --to eve:{out}/eve.json"), "flows --to eve:eve.json");
        assert_eq!(shown("match --count {} -e aaab"), "match --count");
    }
}
