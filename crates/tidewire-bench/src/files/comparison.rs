//! Tidewire compared with another program on one trace.

use serde::Serialize;

use super::{
    rows::{Bound, Figure, Row},
    run::Cost,
};
use crate::report::Goal;

/// A trace's size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Size {
    /// Packets.
    pub packets: u64,
    /// Captured bytes.
    pub bytes: u64,
}

/// One comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The row's id.
    pub row: String,
    /// The task.
    pub title: String,
    /// The quantity compared: `cpu`, `wall` or `cpu per packet`.
    pub figure: &'static str,
    /// Tidewire's cost.
    pub ours: Cost,
    /// Packets and bytes of Tidewire's trace.
    pub trace: Size,
    /// The other program's cost.
    pub other: Cost,
    /// Packets and bytes of the other's trace.
    pub other_trace: Size,
    /// Tidewire's figure over the other's where the goal is an upper bound, the other's over Tidewire's otherwise.
    pub ratio: f64,
    /// The goal, in words.
    pub goal: String,
    /// Whether it is reached; `None` where there is no goal or no figure.
    pub met: Option<bool>,
}

/// Compares two costs, each on its trace.
pub(super) fn compare(
    row: &Row,
    bound: Bound,
    (ours, trace): (&Cost, Size),
    (other, other_trace): (&Cost, Size),
) -> Comparison {
    let each = |cost: &Cost, trace: Size| cost.cpu_s / trace.packets.max(1) as f64;
    let (figure, [mine, theirs]) = match row.figure {
        Figure::Cpu => ("cpu", [ours.cpu_s, other.cpu_s]),
        Figure::Wall => ("wall", [ours.wall_s, other.wall_s]),
        Figure::CpuPerPacket => ("cpu per packet", [each(ours, trace), each(other, other_trace)]),
    };
    let (ratio, goal, met) = match bound {
        Bound::AtMost(most) => (mine / theirs, format!("at most {most} ×"), Some(mine / theirs <= most)),
        Bound::AtLeast(least) => (theirs / mine, format!("at least {least} × faster"), Some(theirs / mine >= least)),
        Bound::None => (theirs / mine, String::new(), None),
    };
    let met = if ratio.is_finite() { met } else { None };
    let (row, title) = (row.id.clone(), row.title.clone());
    let (ours, other) = (ours.clone(), other.clone());
    Comparison { row, title, figure, ours, trace, other, other_trace, ratio, goal, met }
}

impl Comparison {
    /// The comparison in one line.
    pub(super) fn line(&self) -> String {
        let Self { ours, other, ratio, goal, figure, .. } = self;
        if let Some(why) = &other.failed {
            return format!("{}: no figure ({why})", other.name);
        }
        let seconds = |cost: &Cost| if *figure == "wall" { cost.wall_s } else { cost.cpu_s };
        let (mine, theirs) = (seconds(ours), seconds(other));
        format!("{mine:.3} s against {theirs:.3} s ({}): {ratio:.2} × {goal} {}", other.name, self.verdict())
    }

    /// The same in the table's last column.
    pub(super) fn cell(&self) -> String {
        let Self { ratio, goal, .. } = self;
        if goal.is_empty() { format!("{ratio:.2} ×") } else { format!("{ratio:.2} × ({goal}: {})", self.verdict()) }
    }

    /// The goal, where there is one.
    pub(super) fn as_goal(&self) -> Option<Goal> {
        let Self { title, other, ratio, goal, met, .. } = self;
        let figure = if ratio.is_finite() { format!("{ratio:.2} ×") } else { "no figure".into() };
        let work = Some([title.clone(), other.name.clone()]);
        (!goal.is_empty()).then(|| Goal { work, wanted: goal.clone(), figure, met: *met })
    }

    fn verdict(&self) -> &'static str {
        self.met.map_or("", |met| if met { "met" } else { "MISSED" })
    }
}

/// Bytes that a program delivered, by its output.
fn delivered(cost: &Cost) -> String {
    let of = |name: &str| cost.output[name].as_u64();
    match (of("delivered_bytes"), of("matches")) {
        (Some(bytes), Some(matches)) if matches > 0 => format!("{:.1} MB, {matches} matches", bytes as f64 / 1e6),
        (Some(bytes), _) => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => String::new(),
    }
}

/// A program's line of the table.
pub(super) fn cells(cost: &Cost, trace: Size, compared: String) -> Vec<String> {
    if let Some(why) = &cost.failed {
        let why = why.chars().filter(|&c| c != '|' && c != '\n').take(60).collect();
        let none = || "–".to_owned();
        return vec![cost.name.clone(), none(), none(), none(), none(), none(), why, String::new()];
    }
    vec![
        cost.name.clone(),
        format!("{:.3}", cost.cpu_s),
        format!("{:.3}", cost.wall_s),
        format!("{:.2}", trace.packets as f64 / cost.cpu_s / 1e6),
        format!("{:.1}", trace.bytes as f64 * 8.0 / cost.cpu_s / 1e9),
        format!("{:.0}", cost.peak_bytes as f64 / 1e6),
        delivered(cost),
        compared,
    ]
}
