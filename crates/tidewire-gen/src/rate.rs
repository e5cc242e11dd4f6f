use std::str::FromStr;

/// Unit of times: 2^-16 ns. 64 bits hold three days.
pub(crate) const TIME_SHIFT: u32 = 16;

/// Bytes on the wire that are not in memory: FCS, preamble, start of frame, gap.
pub(crate) const CABLE_BYTES: u64 = 24;

/// The rate of sending.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Rate {
    /// As fast as possible.
    #[default]
    Flat,
    /// Frames a second.
    Packets(f64),
    /// Bits per second on the wire: size, preamble and gap.
    Bits(f64),
    /// By the traffic's timestamps.
    Timed,
}

impl Rate {
    /// Time per frame, and per byte on the wire.
    pub(crate) fn costs(self) -> (u64, u64) {
        let scale = f64::from(1 << TIME_SHIFT) * 1e9;
        match self {
            Self::Flat | Self::Timed => (0, 0),
            Self::Packets(rate) => ((scale / rate).round().max(1.0) as u64, 0),
            Self::Bits(rate) => (0, (scale * 8.0 / rate).round().max(1.0) as u64),
        }
    }
}

const RATES: &str =
    "a rate is a number with pps, kpps, Mpps, bit, kbit, Mbit or Gbit, as in 1.5Mpps or 10Gbit, or 'flat'";

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if matches!(text, "flat" | "max") {
            return Ok(Self::Flat);
        }
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (digits, unit) = text.split_at(end);
        let number: f64 = digits.parse().map_err(|_| format!("'{text}' does not begin with a number: {RATES}"))?;
        let unit = unit.trim().to_ascii_lowercase();
        let unit = unit.strip_suffix("/s").unwrap_or(&unit);
        let (scale, unit) = match unit.chars().next() {
            Some('k') => (1e3, unit.get(1..)),
            Some('m') => (1e6, unit.get(1..)),
            Some('g') => (1e9, unit.get(1..)),
            _ => (1.0, Some(unit)),
        };
        let rate = match unit {
            Some("pps" | "p") => Self::Packets(number * scale),
            Some("bit" | "bps" | "bits") => Self::Bits(number * scale),
            _ => return Err(format!("'{text}' has no unit of a rate: {RATES}")),
        };
        // Slower than a frame in three days, or impossibly fast: a typing error.
        if (1e-3..=1e12).contains(&(number * scale)) {
            Ok(rate)
        } else {
            Err(format!("'{text}' is out of range: 0.001 to 10^12 a second"))
        }
    }
}

/// The token bucket of the kernel program, with the same arithmetic, for a sender in user space.
#[derive(Debug)]
pub(crate) struct Pacer {
    per_packet: u64,
    per_byte: u64,
    burst: u64,
    /// When the next frame is due, relative to the start.
    pub(crate) due: u64,
    /// How often missed frames were skipped.
    pub(crate) late: u64,
}

impl Pacer {
    pub(crate) fn new(rate: Rate, burst: u64) -> Self {
        let (per_packet, per_byte) = rate.costs();
        Self { per_packet, per_byte, burst, due: 0, late: 0 }
    }

    /// How long until the next frame is due, nanoseconds.
    pub(crate) fn wait_ns(&mut self, now_ns: u64, own_due_ns: Option<u64>) -> u64 {
        if let Some(due) = own_due_ns {
            self.due = due << TIME_SHIFT;
        }
        let now = now_ns << TIME_SHIFT;
        if now < self.due {
            return ((self.due - now) >> TIME_SHIFT).max(1);
        }
        if own_due_ns.is_none() && now - self.due > self.burst {
            self.late += 1;
            self.due = now - self.burst;
        }
        0
    }

    /// Accounts for a sent frame.
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.due += self.per_packet + self.per_byte * (bytes as u64 + CABLE_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read() {
        assert_eq!("flat".parse(), Ok(Rate::Flat));
        assert_eq!("1.5Mpps".parse(), Ok(Rate::Packets(1_500_000.0)));
        assert_eq!("10Gbit/s".parse(), Ok(Rate::Bits(1e10)));
        assert_eq!("300 kbit".parse(), Ok(Rate::Bits(300_000.0)));
        assert_eq!("7pps".parse(), Ok(Rate::Packets(7.0)));
        for wrong in ["", "fast", "10", "10G", "0pps", "9999Gpps", "-1pps"] {
            assert!(wrong.parse::<Rate>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn ten_gigabit_of_the_smallest_frames() {
        let (per_packet, per_byte) = Rate::Bits(1e10).costs();
        let each = (per_packet + per_byte * (60 + CABLE_BYTES)) as f64 / f64::from(1 << TIME_SHIFT);
        assert!((1e9 / each - 14_880_952.0).abs() < 500.0, "{each}");
    }

    #[test]
    fn the_bucket_has_a_bottom() {
        let mut pacer = Pacer::new(Rate::Packets(1e6), 10_000 << TIME_SHIFT);
        assert_eq!(pacer.wait_ns(0, None), 0);
        pacer.sent(60);
        assert_eq!(pacer.wait_ns(400, None), 600);
        assert_eq!(pacer.wait_ns(1_000_000, None), 0);
        let mut burst = 0;
        while pacer.wait_ns(1_000_000, None) == 0 {
            pacer.sent(60);
            burst += 1;
        }
        assert_eq!((burst, pacer.late), (11, 1), "ten microseconds were made up for, and no more");
    }
}
