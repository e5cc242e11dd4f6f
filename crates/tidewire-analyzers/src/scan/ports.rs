//! Ports: counted exactly, in a bitmap once there are many of them. Bitmaps are bounded; a set beyond the bound is estimated.

use super::{
    distinct::{Distinct, EXACT_MAX},
    leases::Leases,
    targets::Targets,
};

const WORDS: usize = (1 << 16) / 64;

/// Every port of a scan.
#[derive(Debug)]
struct Bitmap {
    ports: Box<[u64; WORDS]>,
    leases: Leases,
}

impl Bitmap {
    /// An empty one; `None`: there are as many as there may be.
    fn lease(leases: &Leases) -> Option<Self> {
        leases.take().then(|| Self { ports: Box::new([0; WORDS]), leases: leases.clone() })
    }

    /// Adds a port. Whether it is new.
    fn add(&mut self, port: u16) -> bool {
        let Some(word) = self.ports.get_mut(usize::from(port / 64)) else { return false };
        let (bit, before) = (1 << (port % 64), *word);
        *word |= bit;
        before & bit == 0
    }
}

impl Drop for Bitmap {
    fn drop(&mut self) {
        self.leases.give_back();
    }
}

#[derive(Debug)]
enum Ports {
    Few(Vec<u16>),
    Many(Bitmap),
    Estimated(Box<Distinct>),
}

/// Different ports, and the range that they are in.
#[derive(Debug)]
pub(super) struct PortSet {
    ports: Ports,
    count: u32,
    least: u16,
    greatest: u16,
}

impl Default for PortSet {
    fn default() -> Self {
        Self { ports: Ports::Few(Vec::new()), count: 0, least: u16::MAX, greatest: 0 }
    }
}

impl PortSet {
    /// The least and the greatest port, as in `1-1024`.
    pub(super) fn range(&self) -> String {
        if self.least >= self.greatest {
            self.greatest.to_string()
        } else {
            format!("{}-{}", self.least, self.greatest)
        }
    }
}

impl Targets for PortSet {
    type Target = u16;

    fn note(&mut self, port: u16, hash: u64, leases: &Leases) {
        (self.least, self.greatest) = (self.least.min(port), self.greatest.max(port));
        if let Ports::Few(few) = &mut self.ports {
            if few.contains(&port) {
                return;
            }
            if few.len() < EXACT_MAX {
                few.push(port);
                self.count += 1;
                return;
            }
            self.ports = match Bitmap::lease(leases) {
                Some(mut bitmap) => {
                    few.iter().for_each(|&port| _ = bitmap.add(port));
                    Ports::Many(bitmap)
                }
                None => Ports::Estimated(Box::default()),
            };
        }
        match &mut self.ports {
            Ports::Many(bitmap) => self.count += u32::from(bitmap.add(port)),
            Ports::Estimated(distinct) => {
                distinct.note(hash);
                // The first ones were not noted by their hashes.
                self.count = self.count.max(distinct.count());
            }
            Ports::Few(_) => {}
        }
    }

    fn count(&self) -> u32 {
        self.count
    }

    fn is_estimate(&self) -> bool {
        matches!(self.ports, Ports::Estimated(_))
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher as _, RandomState};

    use super::{super::leases::BITMAPS_MAX, *};

    fn scanned(ports: impl Iterator<Item = u16>, leases: &Leases) -> PortSet {
        let (mut set, key) = (PortSet::default(), RandomState::new());
        for port in ports {
            set.note(port, key.hash_one(port), leases);
        }
        set
    }

    #[test]
    fn ports_are_counted_exactly() {
        let leases = Leases::default();
        for count in [1, 64, 65, 20_000, u16::MAX] {
            let set = scanned((1..=count).chain(1..=count), &leases);
            assert_eq!((set.count(), set.is_estimate()), (count.into(), false));
            assert_eq!(set.range(), if count == 1 { "1".into() } else { format!("1-{count}") });
        }
        assert_eq!(leases.used(), 0);
    }

    #[test]
    fn bitmaps_are_bounded_and_sets_beyond_are_estimated() {
        let leases = Leases::default();
        let sets: Vec<_> = (0..=BITMAPS_MAX).map(|_| scanned(1..=10_000, &leases)).collect();
        let (last, exact) = sets.split_last().unwrap();
        assert!(exact.iter().all(|set| set.count() == 10_000 && !set.is_estimate()));
        assert!(last.is_estimate() && (6_000..15_000).contains(&last.count()), "{}", last.count());
        assert_eq!(last.range(), "1-10000");
    }
}
