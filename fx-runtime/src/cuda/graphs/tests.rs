//! Recording, replaying and evicting, on a device that is made up.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use tch::Kind;

use super::*;
use crate::cuda::Example;

const DEVICE: Device = Device::Cpu;

/// Stands for a device: a recording is a function that is run again, and every step is noted.
#[derive(Debug, Clone, Default)]
struct Mock {
    steps: Arc<Mutex<Vec<&'static str>>>,
    refuses: Option<&'static str>,
}

impl Mock {
    fn note(&self, step: &'static str) {
        self.steps.lock().unwrap().push(step);
    }

    fn steps(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.steps.lock().unwrap())
    }
}

impl Recorder for Mock {
    fn record(&self, forward: &mut dyn FnMut(Phase) -> Result<()>) -> Result<Recorded> {
        self.note("warm up");
        forward(Phase::WarmUp)?;
        if let Some(reason) = self.refuses {
            return Ok(Recorded::Refused(reason.to_owned()));
        }
        self.note("record");
        forward(Phase::Recording)?;
        let work = WORK.with(|work| work.lock().unwrap().take());
        Ok(Recorded::Done(Box::new(Replayed { mock: self.clone(), work })))
    }
}

type Work = Box<dyn FnMut() + Send>;

thread_local! {
    /// What the forward that is recorded gives to the device.
    static WORK: Mutex<Option<Work>> = const { Mutex::new(None) };
}

struct Replayed {
    mock: Mock,
    work: Option<Work>,
}

impl fmt::Debug for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Replayed")
    }
}

impl Recording for Replayed {
    fn wait(&mut self) -> Result<()> {
        self.mock.note("wait");
        Ok(())
    }

    fn replay(&mut self) -> Result<()> {
        self.mock.note("replay");
        if let Some(work) = &mut self.work {
            work();
        }
        Ok(())
    }

    fn used(&mut self) -> Result<()> {
        self.mock.note("used");
        Ok(())
    }
}

fn graphs(mock: &Mock, outputs: GraphOutputs, limit: usize) -> Graphs {
    Graphs::new(DEVICE, outputs, limit, Ok(Box::new(mock.clone())))
}

fn ones(size: &[i64]) -> Tensor {
    Tensor::ones(size, (Kind::Float, DEVICE))
}

/// `2 x` in the way of a device: what is recorded writes into the same output again.
fn double(xs: &Tensor) -> Tensor {
    let ys = xs * 2.0;
    let (from, mut to) = (xs.shallow_clone(), ys.shallow_clone());
    WORK.with(|work| *work.lock().unwrap() = Some(Box::new(move || to.copy_(&(&from * 2.0)))));
    ys
}

fn run(graphs: &Graphs, xs: &Tensor) -> Tensor {
    graphs.run(&[Some(xs)], |inputs| Ok(double(inputs.tensor(0)?))).unwrap()
}

#[test]
fn a_shape_is_recorded_once_and_replayed_for_every_input() {
    let mock = Mock::default();
    let graphs = graphs(&mock, GraphOutputs::Copied, 4);
    let xs = ones(&[2, 3]);
    let first = run(&graphs, &xs);
    assert_eq!(mock.steps(), ["warm up", "record", "replay", "used"]);
    let second = run(&graphs, &(&xs * 5.0));
    assert_eq!(mock.steps(), ["wait", "replay", "used"]);
    assert_eq!((first, second), (&xs * 2.0, &xs * 10.0), "the first output was not touched by the second call");
    let _ = run(&graphs, &ones(&[4, 3]));
    assert_eq!(mock.steps(), ["wait", "warm up", "record", "replay", "used"], "the memory is that of the first graph");
    assert_eq!(graphs.report().recorded, ["Float[2, 3]", "Float[4, 3]"]);
}

#[test]
fn shared_outputs_are_overwritten_by_the_next_call() {
    let mock = Mock::default();
    let graphs = graphs(&mock, GraphOutputs::Shared, 4);
    let first = run(&graphs, &ones(&[2]));
    let second = run(&graphs, &(ones(&[2]) * 5.0));
    assert_eq!(first.data_ptr(), second.data_ptr());
    assert_eq!(first, ones(&[2]) * 10.0);
}

#[test]
fn inputs_are_told_apart_by_dtype_layout_and_presence() {
    let mock = Mock::default();
    let graphs = graphs(&mock, GraphOutputs::Copied, 8);
    let xs = ones(&[2, 2]);
    for xs in [&xs, &xs.to_kind(Kind::Double), &xs.transpose(0, 1)] {
        assert_eq!(run(&graphs, xs), xs * 2.0);
    }
    let forward = |inputs: Arguments<'_>| Ok(double(inputs.optional(1).unwrap_or(inputs.tensor(0)?)));
    let _ = graphs.run(&[Some(&xs), None], forward).unwrap();
    let _ = graphs.run(&[Some(&xs), Some(&xs)], forward).unwrap();
    assert_eq!(graphs.report().recorded.len(), 5);
    assert_eq!(graphs.report().recorded[3..], ["Float[2, 2], none", "Float[2, 2], Float[2, 2]"]);
}

#[test]
fn the_graph_that_was_not_used_for_longest_goes_first() {
    let mock = Mock::default();
    let graphs = graphs(&mock, GraphOutputs::Copied, 2);
    for size in [1, 2, 1, 3] {
        let _ = run(&graphs, &ones(&[size]));
    }
    assert_eq!(graphs.report().recorded, ["Float[1]", "Float[3]"]);
    mock.steps();
    let _ = run(&graphs, &ones(&[2]));
    assert!(mock.steps().contains(&"record"));
}

#[test]
fn what_cannot_be_recorded_runs_as_it_is_and_is_named() {
    let mock = Mock { refuses: Some("at `item` (src/model.rs:3): a value is read"), ..Mock::default() };
    let graphs = graphs(&mock, GraphOutputs::Copied, 2);
    for _ in 0..2 {
        assert_eq!(run(&graphs, &ones(&[2])), ones(&[2]) * 2.0);
    }
    assert_eq!(mock.steps(), ["warm up"], "it is tried once for a shape");
    let report = graphs.report();
    assert_eq!(report.refused, [("Float[2]".to_owned(), "at `item` (src/model.rs:3): a value is read".to_owned())]);
    assert!(report.to_string().contains("not for Float[2]: at `item` (src/model.rs:3)"), "{report}");
}

#[test]
fn an_error_of_the_forward_is_the_callers_and_leaves_nothing_behind() {
    let mock = Mock::default();
    let graphs = graphs(&mock, GraphOutputs::Copied, 2);
    let xs = ones(&[2, 3]);
    let error = graphs.run(&[Some(&xs)], |inputs| Ok(inputs.tensor(0)?.f_matmul(inputs.tensor(0)?)?)).unwrap_err();
    assert!(matches!(error, Error::Torch(_)));
    assert_eq!(graphs.report(), GraphReport::default());
    assert!(Graphs::is_open());
    assert_eq!(run(&graphs, &xs), &xs * 2.0);
}

#[test]
fn without_a_device_forwards_run_as_they_are() {
    let graphs = Graphs::new(DEVICE, GraphOutputs::Copied, 2, Err("there is no CUDA device".to_owned()));
    assert_eq!(run(&graphs, &ones(&[2])), ones(&[2]) * 2.0);
    assert_eq!(graphs.report().to_string(), "no CUDA graphs: there is no CUDA device");
}

#[test]
fn inputs_elsewhere_go_to_the_forward() {
    let mock = Mock::default();
    let graphs = graphs(&mock, GraphOutputs::Copied, 2);
    let error = graphs.run(&[Some(&Tensor::new())], |inputs| Ok(inputs.tensor(0)?.f_relu()?)).unwrap_err();
    assert!(matches!(error, Error::Torch(_)) && mock.steps().is_empty());
}

#[test]
fn models_within_a_recorded_model_are_a_part_of_it() {
    let mock = Mock::default();
    let outer = graphs(&mock, GraphOutputs::Copied, 2);
    let seen = AtomicUsize::new(0);
    let _ = outer
        .run(&[Some(&ones(&[2]))], |inputs| {
            seen.fetch_add(usize::from(!Graphs::is_open()), Ordering::Relaxed);
            Ok(double(inputs.tensor(0)?))
        })
        .unwrap();
    assert_eq!((seen.into_inner(), Graphs::is_open()), (2, true));
}

#[test]
fn threads_take_turns_and_get_their_own_results() {
    let mock = Mock::default();
    let graphs = graphs(&mock, GraphOutputs::Copied, 2);
    let (threads, calls) = (8_i32, 50_i32);
    let barrier = Barrier::new(8);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (graphs, barrier) = (&graphs, &barrier);
            scope.spawn(move || {
                barrier.wait();
                for call in 0..calls {
                    let number = f64::from(thread * calls + call);
                    // Two shapes, so that graphs of both take turns too.
                    let xs = ones(&[1 + i64::from(thread % 2), 64]) * number;
                    assert_eq!(run(graphs, &xs), ones(&xs.size()) * (2.0 * number));
                }
            });
        }
    });
    let steps = mock.steps();
    let turns: Vec<_> = steps.iter().filter(|step| ["wait", "replay", "used"].contains(step)).collect();
    // Nobody waits in the first turn.
    assert_eq!(turns.len(), 3 * 8 * 50 - 1);
    assert!(turns[2..].chunks(3).all(|turn| turn == [&"wait", &"replay", &"used"]), "two turns were mixed");
    assert_eq!(steps.iter().filter(|step| **step == "record").count(), 2);
}

type Form = (Tensor, (Option<Tensor>, Vec<Tensor>));

#[test]
fn outputs_of_every_form_are_copied() {
    let mock = Mock::default();
    let graphs = graphs(&mock, GraphOutputs::Copied, 2);
    let xs = ones(&[2]);
    let form = |inputs: Arguments<'_>| -> Result<Form> {
        let xs = inputs.tensor(0)?;
        Ok((xs + 1.0, (Some(xs + 2.0), vec![xs + 3.0, xs + 4.0])))
    };
    let (a, (b, c)) = graphs.run(&[Some(&xs)], form).unwrap();
    let sums: Vec<f64> = [a, b.unwrap()].iter().chain(&c).map(|ys| ys.double_value(&[0])).collect();
    assert_eq!(sums, [2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn examples_have_the_models_dtype_or_their_own() {
    let xs = Example::from([1, 3]).tensor(Kind::Half, DEVICE).unwrap();
    let ids = Example::of_kind([1, 8], Kind::Int64).tensor(Kind::Half, DEVICE).unwrap();
    assert_eq!((xs.kind(), xs.size(), ids.kind()), (Kind::Half, vec![1, 3], Kind::Int64));
}
