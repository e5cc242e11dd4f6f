use std::{
    collections::VecDeque,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Arc, Mutex},
};

use tidewire_wire::LinkType;
use tidewire_wire::Timestamp;

use super::*;
use crate::InterfaceProblem;

/// A test's script for a ring: frames that it puts in, and its observations.
#[derive(Default)]
struct Script {
    /// Timestamps of frames to come.
    coming: VecDeque<u64>,
    given_back: usize,
    fails: bool,
}

struct Fake {
    script: Arc<Mutex<Script>>,
    interface: u16,
    delay_ns: u64,
    descriptor: OwnedFd,
}

impl Ring for Fake {
    fn collect(&mut self, frames: &mut Vec<Frame>, most: usize) -> Result<(), Error> {
        let mut script = self.script.lock().unwrap();
        if script.fails {
            return Err(Error::Interface { interface: "fake0".into(), problem: InterfaceProblem::Down });
        }
        for _ in 0..most {
            let Some(timestamp_ns) = script.coming.pop_front() else { break };
            frames.push(
                Frame::new(LinkType::ETHERNET, Timestamp::from_nanos(timestamp_ns))
                    .with_number(0)
                    .with_wire_bytes(60)
                    .with_interface(self.interface)
                    .with_clock(Timestamp::from_nanos(0)),
            );
        }
        Ok(())
    }

    fn give_back(&mut self, count: usize) {
        self.script.lock().unwrap().given_back += count;
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    fn prepare_wait(&mut self) -> Result<bool, Error> {
        Ok(true)
    }

    fn delay_ns(&self) -> u64 {
        self.delay_ns
    }

    fn set_filter(&mut self, program: Option<&[ClassicInstruction]>) -> Result<usize, Error> {
        assert!(program.is_some());
        Ok(0)
    }

    fn stop(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn counts(&mut self) -> Result<RingCounts, Error> {
        Ok(RingCounts::default())
    }
}

fn worker(rings: usize, place: (usize, usize)) -> (Worker, Vec<Arc<Mutex<Script>>>) {
    let scripts: Vec<_> = (0..rings).map(|_| Arc::new(Mutex::new(Script::default()))).collect();
    let ring = |(interface, script): (usize, &Arc<Mutex<Script>>)| -> Box<dyn Ring> {
        let descriptor = std::fs::File::open("/dev/null").unwrap().into();
        Box::new(Fake { script: Arc::clone(script), interface: interface as u16, delay_ns: 5_000_000, descriptor })
    };
    let rings = scripts.iter().enumerate().map(ring).collect();
    (Worker::new(Arena::reserve(4096).unwrap(), rings, place, Duration::from_millis(10)), scripts)
}

fn poll(worker: &mut Worker) -> Vec<Frame> {
    let mut frames = Vec::new();
    worker.poll(Duration::ZERO, |batch| frames.extend_from_slice(batch.frames));
    frames
}

#[test]
fn frames_of_several_rings_come_in_order_of_time() {
    let (mut worker, scripts) = worker(2, (0, 1));
    scripts[0].lock().unwrap().coming.extend([10, 30, 50]);
    scripts[1].lock().unwrap().coming.extend([20, 40, 60]);
    let mut frames = poll(&mut worker);
    assert_eq!(frames.len(), 5, "the first ring may have one before the last, as far as is known");
    frames.extend(poll(&mut worker));
    let times: Vec<_> = frames.iter().map(|frame| frame.timestamp.as_nanos()).collect();
    assert_eq!(times, [10, 20, 30, 40, 50, 60]);
    assert_eq!(frames.iter().map(|frame| frame.number).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    assert_eq!((worker.frames(), worker.late()), (6, 0));
    assert!(scripts.iter().all(|script| script.lock().unwrap().given_back == 3));
}

#[test]
fn a_frame_waits_for_a_silent_ring_but_not_longer_than_the_window() {
    let (mut worker, scripts) = worker(2, (0, 1));
    let now = wait::now_ns();
    scripts[0].lock().unwrap().coming.extend([now - 100_000_000, now + 3_600_000_000_000]);
    assert_eq!(poll(&mut worker).len(), 1, "the one of a tenth of a second ago goes");
    assert_eq!(poll(&mut worker).len(), 0, "the other ring might have one before this");
    scripts[1].lock().unwrap().coming.push_back(now);
    let frames = poll(&mut worker);
    assert_eq!(frames.iter().map(|frame| frame.interface).collect::<Vec<_>>(), [1]);
    worker.stop();
    assert_eq!(poll(&mut worker).len(), 1, "nothing is waited for when it is over");
}

/// A card gives times that are decades ahead until its clock is set.
#[test]
fn a_frame_that_is_decades_ahead_holds_up_none_and_moves_no_clock() {
    let (mut worker, scripts) = worker(2, (0, 1));
    let now = wait::now_ns();
    let before = |ms: u64| now - ms * 1_000_000;
    let ahead = now + 50 * 365 * 86_400 * 1_000_000_000;
    scripts[0].lock().unwrap().coming.extend([before(100), ahead, before(98)]);
    scripts[1].lock().unwrap().coming.extend([before(99), before(97)]);
    let mut frames = poll(&mut worker);
    frames.extend(poll(&mut worker));
    let times: Vec<_> = frames.iter().map(|frame| frame.timestamp.as_nanos()).collect();
    assert_eq!(times, [before(100), ahead, before(99), before(98), before(97)]);
    assert!(frames.iter().all(|frame| frame.clock.as_nanos() <= now), "{frames:?}");
    assert_eq!(worker.late(), 0);
}

#[test]
fn a_ring_that_is_never_empty_takes_no_more_than_its_share() {
    let (mut worker, scripts) = worker(2, (0, 1));
    scripts[0].lock().unwrap().coming.extend(0..1_000_000);
    scripts[1].lock().unwrap().coming.extend((0..1_000).map(|at| at * 10));
    let mut shares = [0, 0];
    while shares[1] < 1_000 {
        for frame in poll(&mut worker) {
            shares[usize::from(frame.interface)] += 1;
        }
    }
    assert!(shares[0] <= 10_000, "{shares:?}");
    assert_eq!(worker.late(), 0);
}

#[test]
fn numbers_of_several_workers_do_not_collide() {
    let (mut worker, scripts) = worker(1, (2, 3));
    scripts[0].lock().unwrap().coming.extend([5, 4, 6]);
    let frames = poll(&mut worker);
    assert_eq!(frames.iter().map(|frame| frame.number).collect::<Vec<_>>(), [3, 6, 9]);
    assert_eq!(frames.iter().map(|frame| frame.clock.as_nanos()).collect::<Vec<_>>(), [5, 5, 6]);
    assert_eq!(worker.late(), 1);
}

#[test]
fn a_ring_in_error_is_reported_once_and_tried_again() {
    let (mut worker, scripts) = worker(1, (0, 1));
    scripts[0].lock().unwrap().fails = true;
    for _ in 0..3 {
        assert!(poll(&mut worker).is_empty());
    }
    assert_eq!(worker.troubles().len(), 1);
    scripts[0].lock().unwrap().fails = false;
    scripts[0].lock().unwrap().coming.push_back(1);
    std::thread::sleep(RETRY);
    assert_eq!(poll(&mut worker).len(), 1);
    assert!(worker.troubles().is_empty());
}

#[test]
fn slow_handlers_get_smaller_rounds() {
    let ms = Duration::from_millis;
    assert_eq!(round(ROUND_FRAMES, 512, ms(4)), 128);
    assert_eq!(round(128, 128, ms(1000)), ROUND_FRAMES_MIN);
    assert_eq!(round(16, 16, ms(1)), 32);
    assert_eq!(round(ROUND_FRAMES, 512, ms(0)), ROUND_FRAMES);
}

#[test]
fn a_batch_grows_until_it_is_released() {
    let (mut worker, scripts) = worker(2, (0, 1));
    scripts[0].lock().unwrap().coming.extend([10, 30, 50, 70]);
    scripts[1].lock().unwrap().coming.extend([20, 40, 60, 80]);
    assert_eq!((worker.gather(4), worker.batch().frames.len()), (3, 3), "40 may be followed by one before 30's next");
    assert!(worker.waits());
    assert!(worker.gather(4) > 0);
    worker.stop();
    while worker.gather(4) > 0 {}
    let times: Vec<_> = worker.batch().frames.iter().map(|frame| frame.timestamp.as_nanos()).collect();
    assert_eq!(times, [10, 20, 30, 40, 50, 60, 70, 80]);
    assert!(worker.batch().frames.iter().map(|frame| frame.number).eq(1..=8));
    assert!(scripts.iter().all(|script| script.lock().unwrap().given_back == 0));
    worker.release();
    assert!(scripts.iter().all(|script| script.lock().unwrap().given_back == 4));
    // A round with a handler begins with what was gathered before it.
    scripts[0].lock().unwrap().coming.push_back(90);
    assert_eq!(worker.gather(1), 1);
    scripts[0].lock().unwrap().coming.push_back(95);
    assert_eq!(poll(&mut worker).len(), 2);
}

#[test]
fn a_new_filter_applies_to_waiting_frames_and_they_are_given_back_in_order() {
    let (mut worker, scripts) = worker(2, (0, 1));
    let refuses = ClassicInstruction { code: 0x06, jump_true: 0, jump_false: 0, k: 0 };
    let later = wait::now_ns() + 3_600_000_000_000;
    scripts[0].lock().unwrap().coming.extend([10, 30].map(|at| later + at));
    assert_eq!(worker.gather(4), 0, "the other ring may have earlier ones: they wait");
    worker.set_filter(Some(&[refuses])).unwrap();
    scripts[0].lock().unwrap().coming.extend([40, 50].map(|at| later + at));
    scripts[1].lock().unwrap().coming.extend([20, 45].map(|at| later + at));
    worker.stop();
    while worker.gather(4) > 0 {}
    let times: Vec<_> = worker.batch().frames.iter().map(|frame| frame.timestamp.as_nanos() - later).collect();
    assert_eq!(times, [20, 40, 45, 50]);
    assert_eq!(worker.counts().unwrap().stale, 2);
    worker.release();
    assert_eq!(scripts.iter().map(|script| script.lock().unwrap().given_back).collect::<Vec<_>>(), [4, 2]);
}

#[test]
fn batches_that_are_cut_off_are_given_back_in_their_order() {
    let (mut worker, scripts) = worker(1, (0, 1));
    scripts[0].lock().unwrap().coming.extend([10, 20, 30]);
    let (mut first, mut second) = (Vec::new(), Vec::new());
    assert_eq!(worker.gather(2), 2);
    worker.cut(&mut first);
    assert!(worker.has_cuts() && worker.batch().frames.is_empty());
    worker.gather(2);
    worker.cut(&mut second);
    let times = |frames: &[Frame]| frames.iter().map(|frame| frame.timestamp.as_nanos()).collect::<Vec<_>>();
    assert_eq!((times(&first), times(&second)), (vec![10, 20], vec![30]));
    let given_back = || scripts[0].lock().unwrap().given_back;
    assert_eq!(given_back(), 0);
    worker.release_cut();
    assert_eq!(given_back(), 2);
    worker.release_cut();
    assert_eq!((given_back(), worker.has_cuts()), (3, false));
    worker.release_cut();
    worker.cut(&mut first);
    assert!(first.is_empty());
    worker.release_cut();
    assert_eq!(given_back(), 3);
}
