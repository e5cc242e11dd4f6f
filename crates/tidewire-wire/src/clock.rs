//! The clock of an input's timers, out of the timestamps of its packets.
//!
//! **An outlier of time moves no clock.** Timers follow the greatest timestamp (`tidewire-wire/src/clock.rs`). A packet
//! more than an hour ahead moves the clock only if the next one is, too; a file's block is read before its clocks are
//! settled, so the first packet behind a silence has the right clock. A clock that was set back lets the timers go on
//! from where they stand.

use std::time::Duration;

use tidewire_types::Timestamp;

use crate::Frame;

/// The farthest that a packet's time may lie from the clock without being doubted: an hour. Few timeouts are longer, and
/// clocks that are set by hand differ by less.
pub const CLOCK_STEP: Duration = Duration::from_nanos(CLOCK_STEP_NS);

const CLOCK_STEP_NS: u64 = 3_600_000_000_000;

/// Consecutive packets so far behind the clock that show that the capture's clock was set back. More than for a step
/// ahead: nothing ends while the clock stands.
const BEHIND_MIN: u32 = 8;
/// Earlier time bases that are remembered: captures whose clocks differ are merged in turns.
const BASES: usize = 4;
/// Packets at the beginning of an input whose median decides where the clock begins.
const FIRST: usize = 5;
/// A longer silence behind the first packet, or before the last one, is not real: its time is wrong. Ten years of 365 days, nanoseconds.
const SILENCE_MAX_NS: u64 = 10 * 365 * 86_400 * 1_000_000_000;

/// The clock of timers over an input: the greatest timestamp so far, without outliers. It never goes back.
///
/// A packet more than [`CLOCK_STEP`] ahead of the clock moves it only if the next packet is so far ahead, too: cards
/// stamp packets with other times before their own clock is set. Packets so far behind do not move it. Where several
/// follow each other, the capture's clock was set back, and this one goes on from where it stands.
#[derive(Clone, Debug, Default)]
pub struct PacketClock {
    pace: Pace,
    other_bases: [Option<u64>; BASES],
    last: Outlier,
    /// Where the clock was too low, by what later packets showed: number of a packet, and the clock from there on.
    corrections: Vec<(u64, u64)>,
    /// There were outliers since the last call of `settle`.
    has_outliers: bool,
    /// Packets were handed out.
    is_begun: bool,
}

/// The part of a clock that each packet moves: a loop over packets keeps a copy, so that it lies in registers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    clock_ns: u64,
    /// Added to timestamps, modulo 2^64.
    base_ns: u64,
}

impl Pace {
    /// The greatest clock so far.
    #[must_use]
    #[inline(always)]
    pub fn now(self) -> Timestamp {
        Timestamp::from_nanos(self.clock_ns)
    }
}

/// The last outlier.
#[derive(Clone, Copy, Debug, Default)]
struct Outlier {
    number: u64,
    /// Outliers of this kind that directly follow each other.
    count: u32,
    is_ahead: bool,
    time_ns: u64,
}

impl PacketClock {
    /// The greatest clock so far.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.pace.now()
    }

    /// The clock at the next packet, whose number is `number`: one more than that of the packet before.
    #[inline(always)]
    pub fn advance(&mut self, timestamp: Timestamp, number: u64) -> Timestamp {
        self.pace = self.advanced(self.pace, timestamp, number);
        self.pace.now()
    }

    /// The part that each packet moves: the first argument of [`advanced`](Self::advanced), whose last result goes to
    /// [`keep`](Self::keep).
    #[must_use]
    #[inline(always)]
    pub fn pace(&self) -> Pace {
        self.pace
    }

    /// Ends what [`pace`](Self::pace) began.
    #[inline(always)]
    pub fn keep(&mut self, pace: Pace) {
        self.pace = pace;
    }

    /// As [`advance`](Self::advance), for a loop over packets.
    #[must_use]
    #[inline(always)]
    pub fn advanced(&mut self, pace: Pace, timestamp: Timestamp, number: u64) -> Pace {
        let timestamp_ns = timestamp.as_nanos();
        let time_ns = timestamp_ns.wrapping_add(pace.base_ns);
        if time_ns.checked_sub(pace.clock_ns).is_some_and(|step_ns| step_ns <= CLOCK_STEP_NS) {
            return Pace { clock_ns: time_ns, ..pace };
        }
        self.pace = pace;
        self.advance_irregularly(timestamp_ns, number);
        self.pace
    }

    /// Notes that it is `now`, where no packet came for long: the next one is expected to be of that time.
    pub fn pass_silence(&mut self, now: Timestamp) {
        let now_ns = now.as_nanos();
        if self.pace.clock_ns != 0 && now_ns.saturating_sub(self.pace.clock_ns) > CLOCK_STEP_NS / 2 {
            self.pace.clock_ns = now_ns;
        }
    }

    /// A packet behind the clock, or far ahead of it.
    #[cold]
    fn advance_irregularly(&mut self, timestamp_ns: u64, number: u64) {
        if self.pace.clock_ns == 0 {
            // Whether it is an outlier, those behind it show.
            (self.pace.clock_ns, self.has_outliers) = (timestamp_ns, true);
            return;
        }
        let bases = [Some(self.pace.base_ns)].into_iter().chain(self.other_bases);
        for base_ns in bases.flatten() {
            let time_ns = timestamp_ns.wrapping_add(base_ns);
            if time_ns.abs_diff(self.pace.clock_ns) <= CLOCK_STEP_NS {
                self.pace.clock_ns = self.pace.clock_ns.max(time_ns);
                return;
            }
        }
        self.has_outliers = true;
        let time_ns = timestamp_ns.wrapping_add(self.pace.base_ns);
        let is_ahead = time_ns > self.pace.clock_ns;
        let before = self.last;
        let continues = before.count > 0 && before.is_ahead == is_ahead && before.number.wrapping_add(1) == number;
        let count = if continues { before.count.saturating_add(1) } else { 1 };
        self.last = Outlier { number, count, is_ahead, time_ns };
        if is_ahead && continues {
            self.step_ahead(before, time_ns);
        } else if !is_ahead && count >= BEHIND_MIN {
            self.remember(self.pace.base_ns);
            self.pace.base_ns = self.pace.clock_ns.wrapping_sub(timestamp_ns);
            self.last = Outlier::default();
        }
    }

    /// Two packets in a row are far ahead: that much time passed.
    fn step_ahead(&mut self, before: Outlier, time_ns: u64) {
        // Packets that agree may come a little out of order. Of two that do not, the later one is an outlier.
        let agree = before.time_ns.abs_diff(time_ns) <= CLOCK_STEP_NS;
        let from_ns = if agree { before.time_ns } else { before.time_ns.min(time_ns) };
        // Packets with the earlier times may still come.
        self.remember(self.pace.base_ns.wrapping_add(from_ns).wrapping_sub(self.pace.clock_ns));
        self.corrections.push((before.number, from_ns));
        self.pace.clock_ns = from_ns;
        if agree {
            self.pace.clock_ns = from_ns.max(time_ns);
            self.last = Outlier::default();
        }
    }

    fn remember(&mut self, base_ns: u64) {
        self.other_bases.rotate_right(1);
        self.other_bases[0] = Some(base_ns);
    }

    /// Corrects the clocks of packets before they are handed out, by what the later ones among them show. `number`: of
    /// the first. To be called with each packet once, in order.
    #[inline]
    pub fn settle(&mut self, frames: &mut [Frame], number: u64) {
        if self.has_outliers {
            self.settle_outliers(frames, number);
        }
        self.is_begun |= !frames.is_empty();
    }

    #[cold]
    fn settle_outliers(&mut self, frames: &mut [Frame], number: u64) {
        if !self.is_begun
            && let Some(begin_ns) = begin(frames)
        {
            *self = Self::default();
            self.pace.clock_ns = begin_ns;
            for (frame, number) in frames.iter_mut().zip(number..) {
                frame.clock = self.advance(frame.timestamp, number);
            }
        }
        self.has_outliers = false;
        let frames_before = frames.len().saturating_sub(1) as u64;
        let mut corrections = self.corrections.drain(..).peekable();
        let mut least = Timestamp::UNIX_EPOCH;
        for (frame, number) in frames.iter_mut().zip(number..) {
            while let Some((_, clock_ns)) = corrections.next_if(|correction| correction.0 <= number) {
                least = Timestamp::from_nanos(clock_ns);
            }
            frame.clock = frame.clock.max(least);
        }
        drop(corrections);
        // No packet follows yet that agrees with the last one: it is believed, unless it is years ahead.
        let (last, clock_ns) = (self.last, self.pace.clock_ns);
        if let Some(frame) = frames.last_mut()
            && last.is_ahead
            && last.number == number + frames_before
            && last.time_ns.saturating_sub(clock_ns) <= SILENCE_MAX_NS
        {
            self.pace.clock_ns = last.time_ns;
            frame.clock = self.pace.now();
            self.last = Outlier::default();
        }
    }
}

/// Where a clock begins whose first packet is an outlier; `None` for any other.
fn begin(frames: &[Frame]) -> Option<u64> {
    let first = frames.first()?.timestamp.as_nanos();
    let mut times: Vec<u64> = frames.iter().take(FIRST).map(|frame| frame.timestamp.as_nanos()).collect();
    times.sort_unstable();
    let median = *times.get((times.len() - 1) / 2)?;
    let is_outlier = first > median.saturating_add(CLOCK_STEP_NS) || median > first.saturating_add(SILENCE_MAX_NS);
    if times.len() < 3 || !is_outlier {
        return None;
    }
    times.into_iter().find(|time| time.abs_diff(median) <= CLOCK_STEP_NS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LinkType;

    const S: u64 = 1_000_000_000;
    const NOW: u64 = 1_700_000_000 * S;
    const YEARS: u64 = 1_577_000_000 * S;
    const DAYS: u64 = 60 * 86_400 * S;

    /// The clocks of packets with these times, in blocks of these sizes.
    fn clocks(times: &[u64], block: usize) -> Vec<u64> {
        let mut clock = PacketClock::default();
        let mut number = 0;
        let mut all = Vec::new();
        for times in times.chunks(block) {
            let first = number + 1;
            let mut frames: Vec<Frame> = Vec::new();
            for &timestamp_ns in times {
                number += 1;
                let timestamp = Timestamp::from_nanos(timestamp_ns);
                frames.push(
                    Frame::new(LinkType::RAW, timestamp)
                        .with_clock(clock.advance(timestamp, number))
                        .with_number(number),
                );
            }
            clock.settle(&mut frames, first);
            all.extend(frames.iter().map(|frame| frame.clock.as_nanos()));
        }
        assert!(all.is_sorted(), "a clock never goes back");
        all
    }

    #[test]
    fn an_outlier_moves_no_clock_wherever_it_comes() {
        for outlier in [NOW + YEARS, NOW - YEARS, 0, u64::MAX] {
            for at in 0..5 {
                let mut times: Vec<u64> = (0..5).map(|second| NOW + second * S).collect();
                times[at] = outlier;
                let all = clocks(&times, 100);
                assert!(all.iter().all(|clock| (NOW..NOW + 5 * S).contains(clock)), "{outlier} at {at}: {all:?}");
            }
        }
    }

    #[test]
    fn a_silence_moves_the_clock_from_its_first_packet_on() {
        assert_eq!(clocks(&[NOW, NOW + DAYS, NOW + DAYS + S], 9), [NOW, NOW + DAYS, NOW + DAYS + S]);
        // The first two packets behind it overtook each other.
        assert_eq!(clocks(&[NOW, NOW + DAYS + 1, NOW + DAYS], 9), [NOW, NOW + DAYS + 1, NOW + DAYS + 1]);
        // An outlier and the end of a silence: the lesser one.
        let times = [NOW, NOW + YEARS, NOW + DAYS, NOW + DAYS + S];
        assert_eq!(clocks(&times, 9), [NOW, NOW + DAYS, NOW + DAYS, NOW + DAYS + S]);
    }

    #[test]
    fn a_clock_that_was_set_back_goes_on() {
        let mut times = vec![NOW, NOW + S];
        times.extend((0..20).map(|second| NOW - DAYS + second * S));
        let all = clocks(&times, 3);
        assert_eq!(all[8], NOW + S);
        assert_eq!(*all.last().unwrap(), NOW + S + 12 * S, "seconds since the eighth packet");
    }

    #[test]
    fn clocks_that_differ_are_merged_without_steps() {
        let mut times = vec![NOW, NOW + YEARS, NOW + YEARS + S];
        for second in 2..50 {
            times.extend([NOW + second * S, NOW + second * S, NOW + YEARS + second * S, NOW + YEARS + second * S]);
        }
        let all = clocks(&times, 100);
        assert!(all[1..].iter().all(|clock| (NOW + YEARS..NOW + YEARS + 60 * S).contains(clock)));
    }
}
