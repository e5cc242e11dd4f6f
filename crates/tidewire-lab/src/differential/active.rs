//! Random scripts for a host that connects: answers to its SYN, of which most are no answer, then data with anomalies.

use super::{
    anomalies::{self, distance, vary, version},
    generator::{Agreed, Generator},
    script::{Listener, Opt, Script, Segment, Step},
};
use crate::craft::{ACK, FIN, PSH, RST, SYN, URG};

impl Generator {
    /// A script whose host connects.
    pub(super) fn active(&mut self) -> Script {
        let mut script = Script {
            is_ipv6: self.once_in(4),
            listener: Listener::Connect,
            isn: self.isn(),
            steps: vec![Step::Answer],
        };
        let mut agreed = Agreed { stamp: self.first_stamp(), ..Agreed::default() };
        for _ in 0..self.pick(&[0, 0, 1, 1, 1, 2, 3]) {
            self.before_open(&mut script, &agreed);
        }
        match self.below(8) {
            0 => self.simultaneous(&mut script, &agreed),
            // No answer at all.
            1 => {}
            _ => {
                let answer = self.answer(&agreed);
                script.steps.push(Step::Send(answer));
            }
        }
        for _ in 0..self.pick(&[0, 0, 0, 1, 1, 2]) {
            self.before_open(&mut script, &agreed);
        }
        if self.once_in(8) {
            agreed.end = 20;
            self.anything(&mut script, &mut agreed);
        } else {
            self.exchange(&mut script, &mut agreed);
        }
        self.displace(&mut script);
        script
    }

    /// An ordinary SYN-ACK.
    fn answer(&mut self, agreed: &Agreed) -> Segment {
        let mut segment = Segment::new(-1, SYN | ACK, 0);
        segment.options = self.answer_options(agreed.stamp);
        segment
    }

    /// Options of a SYN-ACK: its timestamp echoes that of the host.
    fn answer_options(&mut self, stamp: Option<u32>) -> Vec<Opt> {
        let mut options = self.syn_options(None);
        options.extend(stamp.map(|value| Opt::Stamp(value, None)));
        options
    }

    /// Both sides open the connection; sometimes with a bare acknowledgment first (a split handshake).
    fn simultaneous(&mut self, script: &mut Script, agreed: &Agreed) {
        if self.once_in(2) {
            let at = distance(self);
            script.steps.push(Step::Send(Segment::new(at, ACK, 0)));
        }
        let mut syn = Segment::new(-1, SYN, 0);
        syn.options = self.syn_options(agreed.stamp);
        if self.once_in(8) {
            vary(self, agreed, &mut syn);
        }
        script.steps.push(Step::Send(syn));
        if self.once_in(2) {
            script.steps.push(Step::Wait(1));
        }
        if self.once_in(3) {
            self.before_open(script, agreed);
        }
        let last = match self.below(3) {
            0 => self.answer(agreed),
            _ => self.plain(agreed, ACK, 0),
        };
        script.steps.push(Step::Send(last));
    }

    /// A segment, or an action, around the answer to the host's SYN.
    fn before_open(&mut self, script: &mut Script, agreed: &Agreed) {
        let step = match self.below(16) {
            // SYN-ACKs with other numbers, acknowledgments, options, flags.
            0..=2 => {
                let mut answer = self.answer(agreed);
                answer.at += self.pick(&[1, -1, 7, -40, 5000, 1 << 20, -(1 << 30), 1 << 31, 3_000_000_000]);
                answer
            }
            3 => {
                let mut answer = self.answer(agreed);
                answer.ack = distance(self);
                answer
            }
            4 | 5 => {
                let mut answer = self.answer(agreed);
                vary(self, agreed, &mut answer);
                answer
            }
            6 => {
                let mut answer = self.answer(agreed);
                answer.length = 1 + self.below(9) as u16;
                answer.version = version(self);
                answer
            }
            7 => {
                let mut answer = self.answer(agreed);
                answer.flags |= self.pick(&[FIN, RST, PSH, URG, 0x40, 0x80]);
                answer
            }
            8 | 9 => {
                let mut reset = Segment::new(self.pick(&[-1, 0, 7, 1 << 31]), self.pick(&[RST, RST | ACK]), 0);
                if self.once_in(2) {
                    reset.ack = distance(self);
                }
                reset
            }
            10 => Segment { ack: self.pick(&[0, -1, 1, 100, 1 << 30]), ..Segment::new(distance(self), ACK, 0) },
            11 | 12 => {
                let length = 1 + self.below(10) as u16;
                let mut data = self.plain(agreed, ACK | PSH, length);
                data.version = version(self);
                if self.once_in(3) {
                    vary(self, agreed, &mut data);
                }
                data
            }
            13 => {
                let mut syn = Segment::new(self.pick(&[-1, -1, 0, 500, 1 << 31]), SYN, 0);
                syn.options = self.syn_options(agreed.stamp);
                syn
            }
            14 => anomalies::any(self, agreed),
            _ => {
                let step = self.pick(&[
                    Step::Wait(1),
                    Step::Wait(5),
                    Step::Wait(40),
                    Step::Read,
                    Step::Write(10),
                    Step::Shutdown,
                    Step::Close,
                    Step::Abort,
                ]);
                return script.steps.push(step);
            }
        };
        script.steps.push(Step::Send(step));
        if self.once_in(5) {
            script.steps.push(Step::Wait(1));
        }
    }
}
