//! Random scripts: an ordinary connection with a few anomalies, or anomalies alone.

use super::{
    anomalies,
    generator::{Agreed, Generator, Side},
    network,
    script::{Listener, Opt, Script, Segment, Step},
};
use crate::craft::{ACK, FIN, PSH, SYN};

impl Generator {
    /// The next script of a side.
    pub fn script(&mut self, side: Side) -> Script {
        match side {
            Side::Server => self.passive(),
            Side::Client => self.active(),
        }
    }

    /// A script whose host listens.
    fn passive(&mut self) -> Script {
        let listener = match self.below(10) {
            0 => self.pick(&[Listener::Small, Listener::Small, Listener::Signed]),
            1 => Listener::FastOpen,
            2 | 3 => Listener::UrgentOut,
            _ => Listener::Inline,
        };
        let isn = self.isn();
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

    pub(super) fn isn(&mut self) -> u32 {
        match self.below(4) {
            0 => u32::MAX - self.below(40) as u32,
            1 => (1 << 31) - self.below(40) as u32,
            _ => self.random.next_u64() as u32,
        }
    }

    /// Signs most segments; some get a wrong signature, or none.
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

    /// A handshake, data up to a FIN, and anomalies between.
    fn realistic(&mut self, script: &mut Script) {
        let mut agreed = Agreed::default();
        self.handshake(script, &mut agreed);
        self.exchange(script, &mut agreed);
        self.displace(script);
    }

    /// Data up to a FIN, and anomalies between.
    pub(super) fn exchange(&mut self, script: &mut Script, agreed: &mut Agreed) {
        let pieces = 1 + self.below(4);
        let sizes: Vec<i64> = (0..pieces).map(|_| self.size()).collect();
        agreed.end = sizes.iter().sum();
        let count = match self.below(8) {
            0..=3 => 1,
            4 | 5 => 2,
            6 => 3,
            _ => 3 + self.below(4),
        };
        let mut places: Vec<usize> = (0..count).map(|_| self.below(pieces + 2) as usize).collect();
        places.sort_unstable();
        if self.once_in(2) {
            script.steps.push(Step::Write(self.pick(&[1, 10, 100, 1000, 3000])));
        }
        for (at, size) in sizes.iter().enumerate() {
            self.insert_anomalies(script, agreed, &places, at);
            // Sometimes a segment is sent after the next one.
            let mut segment = self.plain(agreed, ACK | PSH, *size as u16);
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
        self.insert_anomalies(script, agreed, &places, pieces as usize);
        script.steps.push(Step::Send(self.plain(agreed, ACK | FIN, 0)));
        self.insert_anomalies(script, agreed, &places, pieces as usize + 1);
    }

    fn size(&mut self) -> i64 {
        match self.below(8) {
            0 => 1,
            1 => 1 + self.below(1400) as i64,
            _ => 1 + self.below(12) as i64,
        }
    }

    fn insert_anomalies(&mut self, script: &mut Script, agreed: &mut Agreed, places: &[usize], at: usize) {
        for _ in places.iter().filter(|place| **place == at) {
            let steps = anomalies::steps(self, agreed, script.listener);
            script.steps.extend(steps);
        }
    }

    /// Sometimes swaps adjacent steps behind the handshake.
    pub(super) fn displace(&mut self, script: &mut Script) {
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

    /// A first timestamp value, or none.
    pub(super) fn first_stamp(&mut self) -> Option<u32> {
        if !self.once_in(2) {
            return None;
        }
        Some(match self.below(8) {
            0 => 0,
            1 => u32::MAX - 1,
            2 => 1 << 31,
            _ => self.random.next_u64() as u32,
        })
    }

    fn handshake(&mut self, script: &mut Script, agreed: &mut Agreed) {
        let mut syn = Segment::new(-1, SYN, 0);
        agreed.stamp = self.first_stamp();
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
            // The first captured packet of the connection came by another path.
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

    /// Anomalies alone.
    fn raw(&mut self, script: &mut Script) {
        let mut agreed = Agreed { end: 20, ..Agreed::default() };
        if self.once_in(2) {
            agreed.stamp = Some(self.random.next_u64() as u32);
        }
        if self.once_in(2) {
            self.handshake(script, &mut agreed);
        }
        self.anything(script, &mut agreed);
    }

    /// Segments and actions in any order.
    pub(super) fn anything(&mut self, script: &mut Script, agreed: &mut Agreed) {
        for _ in 0..2 + self.below(9) {
            match self.below(6) {
                0 => script.steps.extend(anomalies::steps(self, agreed, script.listener)),
                1 => script.steps.push(self.pick(&[
                    Step::Write(5),
                    Step::Shutdown,
                    Step::Read,
                    Step::Close,
                    Step::Wait(3),
                    Step::Answer,
                ])),
                _ => {
                    let segment = anomalies::any(self, agreed);
                    script.steps.push(Step::Send(segment));
                }
            }
        }
    }
}
