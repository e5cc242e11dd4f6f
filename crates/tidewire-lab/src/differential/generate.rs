//! Random scripts: a plain connection with a few odd things in it, or nothing but odd things.

use super::{
    network, odd,
    script::{Listener, Opt, Script, Segment, Step},
};
use crate::{
    craft::{ACK, FIN, PSH, SYN},
    random::Random,
};

/// A generator of scripts.
#[derive(Clone, Debug)]
pub struct Generator {
    pub(super) random: Random,
    /// Whether IP and link layers are varied too.
    pub network: bool,
}

/// What a script has agreed on so far.
#[derive(Clone, Debug, Default)]
pub struct Agreed {
    /// The client's timestamp value of the next segment, where timestamps are in use.
    pub stamp: Option<u32>,
    /// Bytes that the client's plain stream has so far.
    pub next: i64,
    /// Bytes that it will have.
    pub end: i64,
}

impl Generator {
    /// The scripts of a seed.
    #[must_use]
    pub fn new(seed: u64, network: bool) -> Self {
        Self { random: Random::new(seed), network }
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    /// True once in `times`.
    pub(super) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub(super) fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }

    /// The next script.
    pub fn script(&mut self) -> Script {
        let listener = match self.below(10) {
            0 => self.pick(&[Listener::Small, Listener::Small, Listener::Signed]),
            1 => Listener::FastOpen,
            2 | 3 => Listener::UrgentOut,
            _ => Listener::Inline,
        };
        let isn = match self.below(4) {
            0 => u32::MAX - self.below(40) as u32,
            1 => (1 << 31) - self.below(40) as u32,
            _ => self.random.next_u64() as u32,
        };
        let mut script = Script { is_ipv6: self.once_in(4), listener, isn, steps: Vec::new() };
        if self.once_in(6) {
            self.raw(&mut script);
        } else {
            self.realistic(&mut script);
        }
        if listener == Listener::Signed {
            self.sign(&mut script);
        }
        script
    }

    /// Signs most segments; some have a wrong signature, or none.
    fn sign(&mut self, script: &mut Script) {
        for step in &mut script.steps {
            let Step::Send(segment) = step else { continue };
            match self.below(12) {
                0 => {}
                1 => segment.options.insert(0, Opt::Sign(false)),
                _ => segment.options.insert(0, Opt::Sign(true)),
            }
        }
    }

    /// A handshake, data up to a FIN, and odd things between.
    fn realistic(&mut self, script: &mut Script) {
        let mut agreed = Agreed::default();
        self.handshake(script, &mut agreed);
        let pieces = 1 + self.below(4);
        let sizes: Vec<i64> = (0..pieces).map(|_| self.size()).collect();
        agreed.end = sizes.iter().sum();
        let odd = match self.below(8) {
            0..=3 => 1,
            4 | 5 => 2,
            6 => 3,
            _ => 3 + self.below(4),
        };
        let mut places: Vec<usize> = (0..odd).map(|_| self.below(pieces + 2) as usize).collect();
        places.sort_unstable();
        if self.once_in(2) {
            script.steps.push(Step::Write(self.pick(&[1, 10, 100, 1000, 3000])));
        }
        for (at, size) in sizes.iter().enumerate() {
            self.oddities(script, &mut agreed, &places, at);
            // Now and then a piece comes later than the next one.
            let mut segment = self.plain(&agreed, ACK | PSH, *size as u16);
            if self.once_in(2) {
                segment.flags &= !PSH;
            }
            script.steps.push(Step::Send(segment));
            agreed.next += size;
            if self.once_in(8) {
                let wait = self.pick(&[1, 5, 45, 250]);
                script.steps.push(Step::Wait(wait));
            }
            if self.once_in(12) {
                let host = [Step::Read, Step::Write(20), Step::Write(2000), Step::Shutdown, Step::Close];
                script.steps.push(self.pick(&host));
            }
        }
        self.oddities(script, &mut agreed, &places, pieces as usize);
        script.steps.push(Step::Send(self.plain(&agreed, ACK | FIN, 0)));
        self.oddities(script, &mut agreed, &places, pieces as usize + 1);
        self.displace(script);
    }

    fn size(&mut self) -> i64 {
        match self.below(8) {
            0 => 1,
            1 => 1 + self.below(1400) as i64,
            _ => 1 + self.below(12) as i64,
        }
    }

    fn oddities(&mut self, script: &mut Script, agreed: &mut Agreed, places: &[usize], at: usize) {
        for _ in places.iter().filter(|place| **place == at) {
            let steps = odd::steps(self, agreed, script.listener);
            script.steps.extend(steps);
        }
    }

    /// Exchanges neighbours now and then, behind the handshake.
    fn displace(&mut self, script: &mut Script) {
        if !self.once_in(3) {
            return;
        }
        let first = script.steps.iter().position(|step| matches!(step, Step::Answer)).map_or(0, |at| at + 2);
        let count = script.steps.len();
        for _ in 0..1 + self.below(2) {
            if first + 1 < count {
                let at = first + self.below((count - first - 1) as u64) as usize;
                script.steps.swap(at, at + 1);
            }
        }
    }

    /// A segment of the plain stream.
    pub(super) fn plain(&mut self, agreed: &Agreed, flags: u8, length: u16) -> Segment {
        let mut segment = Segment::new(agreed.next, flags, length);
        segment.options = self.stamped(agreed);
        segment
    }

    /// Options of a segment that is not a SYN.
    pub(super) fn stamped(&mut self, agreed: &Agreed) -> Vec<Opt> {
        match agreed.stamp {
            Some(value) => vec![Opt::Nop, Opt::Nop, Opt::Stamp(value, None)],
            None => Vec::new(),
        }
    }

    fn handshake(&mut self, script: &mut Script, agreed: &mut Agreed) {
        let mut syn = Segment::new(-1, SYN, 0);
        if self.once_in(2) {
            let value = match self.below(8) {
                0 => 0,
                1 => u32::MAX - 1,
                2 => 1 << 31,
                _ => self.random.next_u64() as u32,
            };
            agreed.stamp = Some(value);
        }
        syn.options = self.syn_options(agreed.stamp);
        if script.listener == Listener::FastOpen && self.once_in(2) {
            syn.options.push(Opt::Raw(34, 2, Vec::new()));
            if self.once_in(2) {
                syn.length = 1 + self.below(8) as u16;
                agreed.next = i64::from(syn.length);
            }
        } else if self.once_in(30) {
            syn.length = 1 + self.below(8) as u16;
        }
        let mut last = Segment { options: self.stamped(agreed), ..Segment::new(agreed.next, ACK, 0) };
        if self.network && self.once_in(12) {
            // The first that is seen of the connection came another way.
            let mut first = syn.clone();
            first.at += self.pick(&[0, 0, 50, -70_000]);
            first.wraps.push(network::wrap(self));
            script.steps.push(Step::Send(first));
        }
        if self.network && self.once_in(12) {
            last.wraps.push(network::wrap(self));
        }
        script.steps.extend([Step::Send(syn), Step::Answer, Step::Send(last)]);
    }

    pub(super) fn syn_options(&mut self, stamp: Option<u32>) -> Vec<Opt> {
        let mut options = Vec::new();
        if self.once_in(2) {
            options.push(Opt::Mss(self.pick(&[1460, 536, 88, 1, 9000])));
        }
        if self.once_in(2) {
            options.push(Opt::SackOk);
        }
        if self.once_in(2) {
            options.push(Opt::Scale(self.pick(&[0, 2, 7, 14, 15])));
        }
        options.extend(stamp.map(|value| Opt::Stamp(value, Some(0))));
        options
    }

    /// Nothing but odd things.
    fn raw(&mut self, script: &mut Script) {
        let mut agreed = Agreed { end: 20, ..Agreed::default() };
        if self.once_in(2) {
            agreed.stamp = Some(self.random.next_u64() as u32);
        }
        if self.once_in(2) {
            self.handshake(script, &mut agreed);
        }
        for _ in 0..2 + self.below(9) {
            match self.below(6) {
                0 => script.steps.extend(odd::steps(self, &mut agreed, script.listener)),
                1 => script.steps.push(self.pick(&[
                    Step::Write(5),
                    Step::Shutdown,
                    Step::Read,
                    Step::Close,
                    Step::Wait(3),
                    Step::Answer,
                ])),
                _ => {
                    let segment = odd::any(self, &agreed);
                    script.steps.push(Step::Send(segment));
                }
            }
        }
    }
}
