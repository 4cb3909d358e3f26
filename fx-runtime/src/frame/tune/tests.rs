//! Which kernel wins, what becomes of the others, and what other threads do meanwhile; by a clock that is made up.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Weak};

use tch::Kind;

use super::*;
use crate::Freeze;
use crate::frozen::oracle;

/// Says what it was told of a kernel of this name, and of any other that it takes 100 µs.
#[derive(Debug, Default)]
pub(crate) struct Told {
    micros: BTreeMap<String, u64>,
    looks: AtomicUsize,
}

impl Told {
    pub(crate) fn new(micros: &[(&str, u64)]) -> Arc<Self> {
        let micros = micros.iter().map(|&(kernel, micros)| (kernel.to_owned(), micros)).collect();
        Arc::new(Self { micros, ..Self::default() })
    }

    pub(crate) fn looks(&self) -> usize {
        self.looks.load(Ordering::Relaxed)
    }
}

impl Clock for Told {
    fn time(&self, kernel: &str, call: &mut dyn FnMut() -> Result<(), Error>) -> Result<Duration, Error> {
        self.looks.fetch_add(1, Ordering::Relaxed);
        call()?;
        Ok(Duration::from_micros(self.micros.get(kernel).copied().unwrap_or(100)))
    }
}

/// A kernel of that name, whose result is its number; one of number 0 fails.
struct Probe(&'static str, i64);

impl Packed for Probe {
    type Choice = &'static str;

    fn choice(&self) -> &'static str {
        self.0
    }
}

fn slot(clock: &Arc<Told>) -> Slot<Probe> {
    let target = *oracle::frame(Freeze::new()).target();
    let tuning = Tuning { clock: clock.clone(), target };
    Slot::choose(Some(tuning), None, &["first", "second"], |name| Ok(Some(Probe(name, 1)))).unwrap()
}

fn call(probe: &Probe) -> Result<Tensor, Error> {
    if probe.1 == 0 { Err(Error::Refused("broken".to_owned())) } else { Ok(Tensor::from(probe.1)) }
}

/// The number of the kernel that a call ran.
fn run(slot: &Slot<Probe>, others: &[Probe]) -> i64 {
    let others = |_: &Probe, _: &Target| others.iter().map(|other| Probe(other.0, other.1)).collect();
    slot.run(true, others, call).unwrap().int64_value(&[])
}

#[test]
fn the_fastest_stays_and_is_told() {
    let clock = Told::new(&[("second", 90), ("third", 80)]);
    let slot = slot(&clock);
    assert_eq!(slot.to_string(), "first (not measured yet)");
    assert_eq!((slot.to_save(), slot.tuned("fc")), (None, None));
    assert_eq!(run(&slot, &[Probe("second", 2), Probe("third", 3)]), 3);
    assert_eq!(clock.looks(), 3 * ROUNDS);
    let told = slot.tuned("fc").unwrap();
    assert_eq!((told.layer.as_str(), told.kernel.as_str(), told.default.as_str()), ("fc", "third", "first"));
    assert_eq!(told.to_string(), "fc: third (80.0µs) instead of first (100.0µs)");
    assert_eq!((slot.to_string().as_str(), slot.to_save()), ("third", Some("third")));
    assert_eq!(run(&slot, &[Probe("fourth", 4)]), 3, "it is settled");
    assert_eq!(clock.looks(), 3 * ROUNDS, "nothing is measured any more");
}

#[test]
fn the_first_has_the_benefit_of_the_doubt() {
    for (micros, winner) in [(100, 1), (98, 1), (96, 2), (101, 1)] {
        let slot = slot(&Told::new(&[("second", micros)]));
        assert_eq!(run(&slot, &[Probe("second", 2)]), winner, "{micros} against 100");
        assert_eq!(slot.to_save(), Some(if winner == 1 { "first" } else { "second" }));
        assert_eq!(slot.tuned("fc").is_some(), winner == 2);
    }
}

#[test]
fn what_fails_is_out_of_the_race() {
    let slot = slot(&Told::new(&[("second", 1), ("third", 50)]));
    assert_eq!(run(&slot, &[Probe("second", 0), Probe("third", 3)]), 3);
}

#[test]
fn a_call_that_fails_by_itself_is_no_measurement() {
    let (clock, refused) = (Told::new(&[]), |_: &Probe| Err(Error::Refused("another shape".to_owned())));
    let slot = slot(&clock);
    let error = slot.run(true, |_, _| vec![Probe("second", 2)], refused).unwrap_err();
    assert_eq!(error.to_string(), Error::Refused("another shape".to_owned()).to_string());
    assert_eq!(slot.to_string(), "first (not measured yet)");
    assert_eq!(run(&slot, &[]), 1);
    assert_eq!(slot.to_string(), "first");
}

#[test]
fn a_call_without_work_measures_nothing() {
    let clock = Told::new(&[("second", 1)]);
    let slot = slot(&clock);
    assert_eq!(slot.run(false, |_, _| vec![Probe("second", 2)], call).unwrap().int64_value(&[]), 1);
    assert_eq!((clock.looks(), slot.to_string().as_str()), (0, "first (not measured yet)"));
}

#[test]
fn one_kernel_alone_is_not_measured_and_not_saved() {
    let clock = Told::new(&[]);
    let slot = slot(&clock);
    assert_eq!(run(&slot, &[]), 1);
    assert_eq!((clock.looks(), slot.to_save(), slot.to_string().as_str()), (0, None, "first"));
}

#[test]
fn a_slow_layer_is_measured_less_often() {
    let clock = Told::new(&[("first", 50_000), ("second", 40_000)]);
    assert_eq!(run(&slot(&clock), &[Probe("second", 2)]), 2);
    assert_eq!(clock.looks(), 2 * FEWEST_ROUNDS);
}

#[test]
fn without_tuning_the_first_that_can_be_packed_serves() {
    let pack = |name| Ok((name != "absent").then_some(Probe(name, 7)));
    let slot = Slot::choose(None, None, &["absent", "second"], pack).unwrap();
    assert_eq!((run(&slot, &[Probe("third", 3)]), slot.to_string().as_str(), slot.to_save()), (7, "second", None));
    assert!(Slot::choose(None, None, &["absent"], pack).is_err());
}

#[test]
fn a_saved_choice_is_taken_where_it_can_be() {
    let pack = |name| Ok((name != "absent").then_some(Probe(name, 7)));
    for (saved, taken, again) in
        [("second", "second", Some("second")), ("absent", "first", None), ("of another machine", "first", None)]
    {
        let slot = Slot::choose(None, Some(saved), &["first", "second", "absent"], pack).unwrap();
        assert_eq!((slot.to_string().as_str(), slot.to_save()), (taken, again), "{saved}");
    }
    let clock = Told::new(&[("first", 1)]);
    let tuning = Tuning { clock: clock.clone(), target: *oracle::frame(Freeze::new()).target() };
    let slot = Slot::choose(Some(tuning), Some("second"), &["first", "second"], pack).unwrap();
    assert_eq!((run(&slot, &[Probe("first", 1)]), clock.looks()), (7, 0), "it was measured before");
}

#[test]
fn what_lost_is_freed() {
    struct Held(#[expect(dead_code, reason = "counts who lives")] Arc<()>, &'static str);
    impl Packed for Held {
        type Choice = &'static str;
        fn choice(&self) -> &'static str {
            self.1
        }
    }
    let held: Vec<Arc<()>> = (0..3).map(|_| Arc::new(())).collect();
    let alive: Vec<Weak<()>> = held.iter().map(Arc::downgrade).collect();
    let tuning = Tuning { clock: Told::new(&[("second", 1)]), target: *oracle::frame(Freeze::new()).target() };
    let slot = Slot::choose(Some(tuning), None, &["first"], |name| Ok(Some(Held(held[0].clone(), name)))).unwrap();
    let others = |_: &Held, _: &Target| vec![Held(held[1].clone(), "second"), Held(held[2].clone(), "third")];
    let _ = slot.run(true, others, |_| Ok(Tensor::from(1))).unwrap();
    drop(held);
    assert_eq!(alive.iter().map(Weak::strong_count).collect::<Vec<_>>(), [0, 1, 0]);
    assert_eq!(slot.to_string(), "second");
}

#[test]
fn others_do_not_wait_for_the_thread_that_measures() {
    let slot = slot(&Told::new(&[("second", 1)]));
    let barrier = Barrier::new(2);
    let met = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let y = slot.run(
                true,
                |_, _| vec![Probe("second", 2)],
                |probe| {
                    // In the middle of the measurement, once.
                    if probe.0 == "second" && met.fetch_add(1, Ordering::Relaxed) == 0 {
                        barrier.wait();
                        barrier.wait();
                    }
                    call(probe)
                },
            );
            assert_eq!(y.unwrap().int64_value(&[]), 2);
        });
        barrier.wait();
        assert_eq!(run(&slot, &[Probe("second", 2)]), 1, "the first kernel serves meanwhile");
        assert!(slot.to_string().contains("not measured yet"));
        barrier.wait();
    });
    assert_eq!(run(&slot, &[]), 2);
}

#[test]
fn a_device_is_not_measured_while_a_forward_is_recorded() {
    let clock = Told::new(&[("second", 1)]);
    let target = Target { device: Device::Cuda(0), ..*oracle::frame(Freeze::new()).target() };
    let tuning = Tuning { clock: clock.clone(), target };
    let slot = Slot::choose(Some(tuning), None, &["first"], |name| Ok(Some(Probe(name, 1)))).unwrap();
    // The only test that takes turns.
    let turn = crate::cuda::recording();
    assert!(std::thread::spawn(|| measuring().is_none()).join().unwrap());
    assert_eq!(run(&slot, &[Probe("second", 2)]), 1);
    assert_eq!((clock.looks(), slot.to_string().as_str()), (0, "first (not measured yet)"));
    drop(turn);
    assert_eq!(run(&slot, &[Probe("second", 2)]), 2);
}

#[test]
fn the_clock_on_the_wall_goes_on() {
    let took = Wall(Device::Cpu).time("any", &mut || {
        std::thread::sleep(Duration::from_millis(2));
        Ok(())
    });
    assert!(took.unwrap() >= Duration::from_millis(2));
    let x = Tensor::zeros([1], (Kind::Float, Device::Cpu));
    assert!(Wall(Device::Cpu).time("any", &mut || Err(Error::from(x.f_view([7i64]).unwrap_err()))).is_err());
}
