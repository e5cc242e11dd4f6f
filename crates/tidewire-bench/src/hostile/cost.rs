//! The figures of a command over a kind of content, from what its runs over three captures took.

use super::rows::Bound;

/// Most times that a packet of hostile content may cost what one of its twin costs.
const RATIO_MAX: f64 = 8.0;

/// Most times that a packet behind a short capture may cost what one of the short capture costs: allocators and sorting have steps. Were the
/// cost of a capture to grow with its square, this would be five.
const GROWTH_MAX: f64 = 1.5;

/// Most bytes of output for each byte of further input: limits.md promises it.
const EXPANSION_MAX: f64 = 128.0;

/// A pair of estimates. Instructions are counted, so both are the same; times lie between the least and the greatest that
/// the runs allow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) low: f64,
    pub(super) high: f64,
}

/// Costs of the runs over one capture.
#[derive(Clone, Debug)]
pub(super) struct Spent {
    /// Instructions, or nanoseconds; one of each run.
    pub(super) runs: Vec<f64>,
    pub(super) items: f64,
    pub(super) input_bytes: f64,
    pub(super) written_bytes: f64,
}

/// The cost of one kind in one view.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    /// Of one item.
    pub(super) item: Range,
    /// An item behind the short capture against one in it; `None`: times are not steady enough.
    pub(super) growth: Option<f64>,
    /// Bytes written for each byte of further input.
    pub(super) expansion: f64,
}

/// Whether a row is within its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Within,
    /// The bound lies between the estimates.
    Unclear,
    Beyond,
}

impl Range {
    fn of(low: f64, high: f64) -> Self {
        Self { low: low.max(0.0), high: high.max(0.0) }
    }

    /// The difference between the costs of two captures.
    fn between(less: &Spent, more: &Spent) -> Self {
        let least = |spent: &Spent| spent.runs.iter().copied().fold(f64::INFINITY, f64::min);
        let most = |spent: &Spent| spent.runs.iter().copied().fold(0.0, f64::max);
        Self::of(least(more) - most(less), most(more) - least(less))
    }

    fn divided(self, by: f64) -> Self {
        Self { low: self.low / by, high: self.high / by }
    }

    /// Times what a twin costs.
    pub(super) fn ratio(self, twin: Self) -> Self {
        Self { low: self.low / twin.high, high: self.high / twin.low }
    }

    /// Numbers with so many decimals; one where both are the same.
    pub(super) fn shown(self, decimals: usize) -> String {
        let [low, high] = [self.low, self.high].map(|number| format!("{number:.decimals$}"));
        if low == high { low } else { format!("{low} to {high}") }
    }
}

impl Cost {
    /// From three captures: one that shows the start of the command, a short one, a long one; of content that ends ([`Bound::Ends`]):
    /// without it, once, and twice. Of times the whole difference counts, for steadiness, and no growth.
    pub(super) fn new(bound: Bound, [start, short, long]: &[Spent; 3], is_time: bool) -> Self {
        let (first, second) = (Range::between(start, short), Range::between(short, long));
        let whole = Range::between(start, long);
        let expansion = (long.written_bytes - short.written_bytes) / (long.input_bytes - short.input_bytes);
        if bound != Bound::Item {
            // Once it has ended, nothing more of it is read: the same again must cost nothing.
            let item = if is_time { whole } else { first };
            return Self { item, growth: (!is_time).then(|| whole.low / first.low), expansion };
        }
        let (first, second) = (first.divided(short.items - start.items), second.divided(long.items - short.items));
        let item = if is_time { whole.divided(long.items - start.items) } else { second };
        Self { item, growth: (!is_time).then(|| second.low / first.low), expansion }
    }

    /// Compares it with what its twin may cost.
    pub(super) fn verdict(&self, twin: Range) -> Verdict {
        let ratio = self.item.ratio(twin);
        let grows = self.growth.is_some_and(|growth| growth > GROWTH_MAX);
        if ratio.low > RATIO_MAX || grows || self.expansion > EXPANSION_MAX {
            Verdict::Beyond
        } else if ratio.high > RATIO_MAX {
            Verdict::Unclear
        } else {
            Verdict::Within
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Costs of captures of 0, 100 and 400 packets.
    fn spent(runs: [&[f64]; 3]) -> [Spent; 3] {
        let mut sizes = [0.0, 100.0, 400.0].into_iter();
        runs.map(|runs| {
            let items = sizes.next().unwrap_or_default();
            Spent { runs: runs.to_vec(), items, input_bytes: 10.0 * items, written_bytes: 7.0 + 30.0 * items }
        })
    }

    #[test]
    fn a_start_counts_in_no_item() {
        let cost = Cost::new(Bound::Item, &spent([&[9500.0], &[10_000.0], &[11_500.0]]), false);
        assert_eq!((cost.item, cost.growth), (Range { low: 5.0, high: 5.0 }, Some(1.0)));
        assert_eq!(cost.expansion, 3.0);
        assert_eq!(cost.verdict(Range { low: 0.7, high: 0.7 }), Verdict::Within);
        assert_eq!(cost.verdict(Range { low: 0.6, high: 0.6 }), Verdict::Beyond);
    }

    #[test]
    fn growth_is_beyond_whatever_the_ratio() {
        let squares = Cost::new(Bound::Item, &spent([&[7.0], &[10_007.0], &[160_007.0]]), false);
        assert_eq!(squares.growth, Some(5.0));
        assert_eq!(squares.verdict(Range { low: 1e6, high: 1e6 }), Verdict::Beyond);
    }

    #[test]
    fn times_are_beyond_only_where_all_runs_say_so() {
        let noisy = Cost::new(Bound::Item, &spent([&[100.0, 200.0], &[0.0], &[1000.0, 4100.0]]), true);
        assert_eq!((noisy.item, noisy.growth), (Range { low: 2.0, high: 10.0 }, None));
        assert_eq!(noisy.verdict(Range { low: 1.0, high: 1.0 }), Verdict::Unclear);
        assert_eq!(noisy.verdict(Range { low: 0.1, high: 0.2 }), Verdict::Beyond);
        assert_eq!(noisy.verdict(Range { low: 0.0, high: 5.0 }), Verdict::Unclear, "a twin that cost nothing once");
        assert_eq!(noisy.item.ratio(Range { low: 2.0, high: 4.0 }).shown(1), "0.5 to 5.0");
    }

    #[test]
    fn output_is_bounded_by_the_input() {
        let one = Range { low: 1.0, high: 1.0 };
        let cost = |expansion| Cost { item: one, growth: Some(1.0), expansion };
        assert_eq!(cost(EXPANSION_MAX).verdict(one), Verdict::Within);
        assert_eq!(cost(EXPANSION_MAX + 1.0).verdict(one), Verdict::Beyond);
    }

    #[test]
    fn content_that_ends_costs_nothing_more() {
        let ends = Bound::Ends(5);
        let cost = Cost::new(ends, &spent([&[10.0], &[110.0], &[110.0]]), false);
        assert_eq!((cost.item, cost.growth), (Range { low: 100.0, high: 100.0 }, Some(1.0)));
        let continued = Cost::new(ends, &spent([&[10.0], &[110.0], &[210.0]]), false);
        assert_eq!(continued.verdict(Range { low: 100.0, high: 100.0 }), Verdict::Beyond);
    }
}
