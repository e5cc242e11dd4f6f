//! Whether sorting pays, by measuring what the application takes for a packet with it and without.

/// Packets of a sample at least: what one batch of the default size and all larger ones reach alone; several small
/// batches are taken together.
const SAMPLE_PACKETS: u64 = 1000;

/// Samples before the first that counts: caches and tables fill up.
const WARM_UP_SAMPLES: u32 = 2;

/// After how many pairs of samples a trial may end, each time by the sign test. Few looks, so that chance does not add up.
const LOOKS: [usize; 5] = [9, 16, 32, 64, 128];

/// How far the number of pairs won must lie from half, in standard deviations: one in 740 by chance on either side.
const DEVIATIONS: f64 = 3.0;

/// The same at the last look, where sorting paid before: a small gain in much noise is not given up for one weak trial.
const DEVIATIONS_TO_STAY: f64 = 1.0;

/// A pair is won when sorting saves more than this share: less is not worth the delay of gathering.
const LEAST_GAIN: f64 = 0.01;

/// Time between trials, at first and at most, nanoseconds; doubled each time the verdict stands.
const REST_NS: [u64; 2] = [10_000_000_000, 600_000_000_000];

/// Time between trials at least, where the traffic changes, nanoseconds.
const REST_NS_MIN: u64 = 2_000_000_000;

/// By which factor the time for a packet must change, either way, for an early retry.
const CHANGE: f64 = 1.5;

/// Weight of a new sample in the running mean that shows such a change.
const WEIGHT: f64 = 0.125;

/// A sample counts for no more than this many times the running mean, or the same part of it.
const OUTLIER: f64 = 2.0;

/// Result of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The first trial is not over.
    Untried,
    /// Sorting makes the application faster.
    Pays,
    /// It does not, or not significantly.
    DoesNotPay,
}

/// Decides for each batch whether it is sorted. Reads no clock: times are arguments.
///
/// In a trial sorted and unsorted batches alternate (in the order sorted, unsorted, unsorted, sorted, so that a drift favours
/// neither), and each pair is won by one of them. A trial ends as soon as the sign test is sure, or undecided after 128 pairs,
/// and then sorting is off, or stays on where it paid before and still wins more pairs than it loses. Between trials the verdict stands; trials get rarer as long as it does, and come early when the
/// time for a packet changes by half.
#[derive(Clone, Debug)]
pub struct Adaptive {
    verdict: Verdict,
    trial: Option<Trial>,
    /// When the last trial ended, and how long it is to rest.
    ended_ns: u64,
    rest_ns: u64,
    /// Nanoseconds a packet when the verdict was given, and now; 0: not known yet.
    expected: f64,
    running: f64,
    gain: Option<f64>,
    sample: Sample,
}

/// Batches of one kind, taken together.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    packets: u64,
    spent_ns: u64,
}

#[derive(Clone, Debug)]
struct Trial {
    /// Whether sorting paid in the trial before.
    paid: bool,
    /// Samples so far, those to warm up included.
    samples: u32,
    /// The first one of the pair being made, nanoseconds a packet.
    first: f64,
    /// Unsorted by sorted, of each pair.
    ratios: Vec<f64>,
    /// Sums of what packets took, sorted and unsorted.
    sums: [f64; 2],
}

impl Trial {
    fn new(paid: bool) -> Self {
        Self { paid, samples: 0, first: 0.0, ratios: Vec::new(), sums: [0.0; 2] }
    }

    /// Whether the sample that is being taken is of sorted batches.
    fn sorts(&self) -> bool {
        matches!(self.samples.wrapping_sub(WARM_UP_SAMPLES) % 4, 0 | 3)
    }

    /// Takes a sample, nanoseconds a packet; true or false when it is decided whether sorting pays.
    fn take(&mut self, ns: f64) -> Option<bool> {
        let sorted = self.sorts();
        let index = self.samples;
        self.samples += 1;
        if index < WARM_UP_SAMPLES {
            return None;
        }
        self.sums[usize::from(!sorted)] += ns;
        if (index - WARM_UP_SAMPLES).is_multiple_of(2) {
            self.first = ns;
            return None;
        }
        let (with, without) = if sorted { (ns, self.first) } else { (self.first, ns) };
        self.ratios.push(without / with.max(f64::MIN_POSITIVE));
        self.decide()
    }

    fn decide(&self) -> Option<bool> {
        let pairs = self.ratios.len();
        if !LOOKS.contains(&pairs) {
            return None;
        }
        let won = self.ratios.iter().filter(|&&ratio| ratio * (1.0 - LEAST_GAIN) > 1.0).count();
        let deviation = (2.0 * won as f64 - pairs as f64) / (pairs as f64).sqrt();
        if deviation >= DEVIATIONS {
            return Some(true);
        }
        if deviation <= -DEVIATIONS {
            return Some(false);
        }
        (Some(&pairs) == LOOKS.last()).then_some(self.paid && deviation >= DEVIATIONS_TO_STAY)
    }

    /// The middle ratio: how many times as long unsorted packets take.
    fn gain(&self) -> Option<f64> {
        let mut ratios = self.ratios.clone();
        ratios.sort_by(f64::total_cmp);
        ratios.get(ratios.len() / 2).copied()
    }
}

impl Default for Adaptive {
    fn default() -> Self {
        Self::new()
    }
}

impl Adaptive {
    /// Begins with a trial.
    #[must_use]
    pub fn new() -> Self {
        Self {
            verdict: Verdict::Untried,
            trial: Some(Trial::new(false)),
            ended_ns: 0,
            rest_ns: REST_NS[0],
            expected: 0.0,
            running: 0.0,
            gain: None,
            sample: Sample::default(),
        }
    }

    /// Whether the next batch is to be sorted. The same until [`Self::delivered`] is called.
    #[must_use]
    pub fn sorts(&self) -> bool {
        self.trial.as_ref().map_or(self.verdict == Verdict::Pays, Trial::sorts)
    }

    /// Result of the last trial.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// How many times as long a packet took unsorted in the last trial, the middle of all pairs; `None` before its end.
    #[must_use]
    pub fn gain(&self) -> Option<f64> {
        self.gain
    }

    /// Notes a delivered batch: as [`Self::sorts`] said, of so many packets, for which the application and the sorting
    /// together took `spent_ns`, best of its own CPU time; `now_ns` is any clock that does not run backwards.
    pub fn delivered(&mut self, packets: u32, spent_ns: u64, now_ns: u64) {
        self.sample.packets += u64::from(packets);
        self.sample.spent_ns = self.sample.spent_ns.saturating_add(spent_ns);
        if self.sample.packets < SAMPLE_PACKETS {
            return;
        }
        let Sample { packets, spent_ns } = std::mem::take(&mut self.sample);
        let ns = (spent_ns.max(1)) as f64 / packets as f64;
        match &mut self.trial {
            None => self.rest(ns, now_ns),
            Some(trial) => {
                if let Some(pays) = trial.take(ns) {
                    self.end_trial(pays, now_ns);
                }
            }
        }
    }

    fn end_trial(&mut self, pays: bool, now_ns: u64) {
        let verdict = if pays { Verdict::Pays } else { Verdict::DoesNotPay };
        let stands = verdict == self.verdict;
        self.rest_ns = if stands { (self.rest_ns * 2).min(REST_NS[1]) } else { REST_NS[0] };
        self.verdict = verdict;
        self.ended_ns = now_ns;
        if let Some(trial) = self.trial.take() {
            self.gain = trial.gain();
            self.expected = trial.sums[usize::from(!pays)] / trial.ratios.len().max(1) as f64;
            self.running = self.expected;
        }
    }

    fn rest(&mut self, ns: f64, now_ns: u64) {
        // A sample in which the processor was away is no change of the traffic.
        let ns = ns.clamp(self.running / OUTLIER, self.running * OUTLIER);
        self.running += (ns - self.running) * WEIGHT;
        let rested_ns = now_ns.saturating_sub(self.ended_ns);
        let changed = self.running > self.expected * CHANGE || self.running * CHANGE < self.expected;
        if rested_ns >= self.rest_ns || changed && rested_ns >= REST_NS_MIN {
            if changed {
                self.rest_ns = REST_NS[0];
            }
            self.trial = Some(Trial::new(self.verdict == Verdict::Pays));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An application: nanoseconds a packet unsorted, the share that sorting saves (or costs), and noise.
    struct Application {
        ns: f64,
        gain: f64,
        noise: f64,
        state: u64,
    }

    impl Application {
        fn new(gain: f64, noise: f64, seed: u64) -> Self {
            Self { ns: 1000.0, gain, noise, state: seed.wrapping_mul(2).wrapping_add(1) }
        }

        /// Evenly distributed in 0..1.
        fn chance(&mut self) -> f64 {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            (self.state >> 11) as f64 / (1_u64 << 53) as f64
        }

        /// Time of a batch: the noise is of batches, with a tail (the processor is taken away now and then).
        fn batch_ns(&mut self, packets: u32, sorted: bool) -> u64 {
            let ns = if sorted { self.ns * (1.0 - self.gain) } else { self.ns };
            let tail = if self.chance() < 0.02 { 5.0 } else { 1.0 };
            let noise = 1.0 + self.noise * (self.chance() + self.chance() - 1.0);
            (ns * f64::from(packets) * noise * tail) as u64
        }
    }

    /// Runs for so many seconds of the application's time; how often the verdict changed.
    fn run(adaptive: &mut Adaptive, application: &mut Application, now_ns: &mut u64, seconds: f64) -> u32 {
        let end_ns = *now_ns + (seconds * 1e9) as u64;
        let mut changes = 0;
        while *now_ns < end_ns {
            let before = adaptive.verdict();
            let spent_ns = application.batch_ns(4000, adaptive.sorts());
            *now_ns += spent_ns;
            adaptive.delivered(4000, spent_ns, *now_ns);
            changes += u32::from(before != adaptive.verdict());
        }
        changes
    }

    #[test]
    fn a_clear_gain_or_loss_is_seen_at_once() {
        for (gain, verdict) in [(0.3, Verdict::Pays), (-0.2, Verdict::DoesNotPay)] {
            let (mut adaptive, mut now) = (Adaptive::new(), 0);
            let mut application = Application::new(gain, 0.05, 1);
            run(&mut adaptive, &mut application, &mut now, 0.2);
            assert_eq!(adaptive.verdict(), verdict);
            let ratio = adaptive.gain().unwrap();
            assert!((ratio - 1.0 / (1.0 - gain)).abs() < 0.1, "{ratio} for {gain}");
            assert_eq!(adaptive.sorts(), gain > 0.0);
        }
    }

    #[test]
    fn small_batches_count_together() {
        let mut adaptive = Adaptive::new();
        let mut application = Application::new(0.3, 0.05, 1);
        for batch in 0..100_000_u64 {
            let spent_ns = application.batch_ns(7, adaptive.sorts());
            adaptive.delivered(7, spent_ns, batch * 1000);
        }
        assert_eq!(adaptive.verdict(), Verdict::Pays);
        adaptive.delivered(0, 0, 0);
    }

    #[test]
    fn verdicts_are_right_in_noise_and_do_not_flap() {
        for (gain, noise, verdict) in [
            (0.0, 0.0, Verdict::DoesNotPay),
            (0.0, 0.3, Verdict::DoesNotPay),
            (-0.05, 0.3, Verdict::DoesNotPay),
            (0.1, 0.3, Verdict::Pays),
            (0.25, 0.6, Verdict::Pays),
        ] {
            let (mut wrong, mut changes) = (0, 0);
            for seed in 0..50 {
                let (mut adaptive, mut now) = (Adaptive::new(), 0);
                let mut application = Application::new(gain, noise, seed);
                changes += run(&mut adaptive, &mut application, &mut now, 600.0) - 1;
                wrong += u32::from(adaptive.verdict() != verdict);
            }
            assert!(wrong <= 1, "{wrong} of 50 wrong for a gain of {gain} in noise of {noise}");
            assert!(changes <= 5, "{changes} changes in 50 runs of ten minutes, gain {gain}, noise {noise}");
        }
    }

    #[test]
    fn trials_get_rarer() {
        let (mut adaptive, mut now) = (Adaptive::new(), 0);
        let mut application = Application::new(0.3, 0.05, 1);
        run(&mut adaptive, &mut application, &mut now, 1800.0);
        let (mut sorted, mut all) = (0, 0);
        let end = now + 1_800_000_000_000;
        while now < end {
            sorted += u32::from(adaptive.sorts());
            all += 1;
            let spent_ns = application.batch_ns(4000, adaptive.sorts());
            now += spent_ns;
            adaptive.delivered(4000, spent_ns, now);
        }
        assert!(f64::from(all - sorted) < f64::from(all) * 1e-3, "{} of {all} batches for trials", all - sorted);
    }

    #[test]
    fn a_change_of_the_traffic_is_met_soon() {
        let (mut adaptive, mut now) = (Adaptive::new(), 0);
        let mut application = Application::new(0.3, 0.1, 1);
        run(&mut adaptive, &mut application, &mut now, 1200.0);
        assert_eq!(adaptive.verdict(), Verdict::Pays);
        application.ns = 3000.0;
        application.gain = -0.1;
        run(&mut adaptive, &mut application, &mut now, 5.0);
        assert_eq!(adaptive.verdict(), Verdict::DoesNotPay);
        application.ns = 1000.0;
        application.gain = 0.3;
        run(&mut adaptive, &mut application, &mut now, 5.0);
        assert_eq!(adaptive.verdict(), Verdict::Pays);
        // Without a change of the time for a packet, within the longest rest.
        application.gain = 0.0;
        application.ns = 700.0;
        run(&mut adaptive, &mut application, &mut now, 700.0);
        assert_eq!(adaptive.verdict(), Verdict::DoesNotPay);
    }

    proptest! {
        #[test]
        fn any_figures_will_do(batches in prop::collection::vec((any::<u32>(), any::<u64>(), any::<u64>()), 0..600)) {
            let mut adaptive = Adaptive::new();
            for (packets, spent_ns, now_ns) in batches {
                adaptive.delivered(packets, spent_ns, now_ns);
                prop_assert!(adaptive.trial.is_some() || adaptive.verdict() != Verdict::Untried);
            }
        }
    }
}
