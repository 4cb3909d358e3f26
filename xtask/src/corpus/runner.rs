//! Runs one model eagerly and frozen, and tells on standard output what came of each step, line by line.

#![allow(warnings)]

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use fx_runtime::nn::VarStore;
use fx_runtime::tch::{self, Device, Kind, Tensor};

pub type Failure = Box<dyn std::error::Error>;

/// The whole program: how the model is constructed, its inputs, and the call, which is written once for both.
macro_rules! model {
    ($frozen:path, |$p:ident| $new:expr, [$($x:ident = $input:expr),*], |$model:ident| $call:expr) => {
        fn main() {
            let threads = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1);
            runner::quietly();
            tch::set_num_threads(threads);
            tch::manual_seed(0);
            let vs = fx_runtime::nn::VarStore::new(tch::Device::Cpu);
            let made = runner::step("construct", || {
                let root = vs.root();
                let $p = &root;
                Ok($new)
            });
            let Some(mut live) = made else { return };
            runner::randomise(&vs);
            let Some(($($x,)*)) = runner::step("make the inputs", || Ok(($($input,)*))) else { return };
            macro_rules! called {
                ($which:ident) => {
                    || -> std::result::Result<_, runner::Failure> {
                        let $model = &mut $which;
                        Ok(tch::no_grad(|| $call))
                    }
                };
            }
            let Some(expected) = runner::step("run eagerly", called!(live)) else { return };
            let freeze = || Ok(live.freeze(&fx_runtime::Freeze::default())?);
            let Some(mut frozen) = runner::step("freeze", freeze) else { return };
            let Some(found) = runner::step("run frozen", called!(frozen)) else { return };
            runner::compare("difference", &expected, &found);
            let path = std::env::temp_dir().join(format!("fx-corpus-{}.safetensors", std::process::id()));
            if runner::step("save", || Ok(frozen.save(&path)?)).is_some() {
                let loaded = runner::step("load", || Ok(<$frozen>::load(&path, &fx_runtime::Freeze::default())?));
                let _ = std::fs::remove_file(&path);
                if let Some(mut loaded) = loaded {
                    if let Some(again) = runner::step("run loaded", called!(loaded)) {
                        runner::compare("loaded", &found, &again);
                    }
                }
            }
            runner::time(&mut called!(live), &mut called!(frozen));
        }
    };
}
pub(crate) use model;

/// Panics are told as errors of their step.
pub fn quietly() {
    std::panic::set_hook(Box::new(|_| {}));
}

fn tell(line: &str) {
    println!("{}", line.replace('\n', " "));
    let _ = std::io::stdout().flush();
}

/// Does a step, and tells how it ends.
pub fn step<T>(name: &str, what: impl FnOnce() -> Result<T, Failure>) -> Option<T> {
    tell(&format!("begins {name}"));
    // What draws random numbers draws the same in each step.
    tch::manual_seed(0);
    let said = match catch_unwind(AssertUnwindSafe(what)) {
        Ok(Ok(value)) => {
            tell(&format!("ends {name}"));
            return Some(value);
        }
        Ok(Err(failure)) => failure.to_string(),
        Err(payload) => match (payload.downcast_ref::<String>(), payload.downcast_ref::<&str>()) {
            (Some(text), _) => text.clone(),
            (_, Some(text)) => (*text).to_owned(),
            _ => "it panics".to_owned(),
        },
    };
    tell(&format!("fails {name}: {said}"));
    None
}

/// Makes other numbers of those that constructors leave equal: statistics, scales, biases, weights that begin as zero.
pub fn randomise(vs: &VarStore) {
    let mut variables: Vec<(String, Tensor)> = vs.variables().into_iter().collect();
    variables.sort_by(|a, b| a.0.cmp(&b.0));
    tch::no_grad(|| {
        for (name, mut variable) in variables {
            if !matches!(variable.kind(), Kind::Float | Kind::Double) || variable.numel() == 0 {
                continue;
            }
            let first = variable.reshape([-1]).double_value(&[0]);
            if name.ends_with("running_var") {
                let _ = variable.uniform_(0.5, 1.5);
            } else if f64::try_from(variable.ne(first).any()).is_ok_and(|differs| differs == 0.0) {
                let noise = variable.randn_like() * 0.1;
                variable += noise;
            }
        }
    });
}

/// What a forward yields, as tensors.
pub trait Outputs {
    fn tensors(&self, found: &mut Vec<Tensor>);
}

impl Outputs for Tensor {
    fn tensors(&self, found: &mut Vec<Tensor>) {
        found.push(self.copy());
    }
}

impl<T: Outputs + ?Sized> Outputs for &T {
    fn tensors(&self, found: &mut Vec<Tensor>) {
        (**self).tensors(found);
    }
}

impl<T: Outputs> Outputs for Vec<T> {
    fn tensors(&self, found: &mut Vec<Tensor>) {
        self.iter().for_each(|one| one.tensors(found));
    }
}

impl<T: Outputs> Outputs for Option<T> {
    fn tensors(&self, found: &mut Vec<Tensor>) {
        self.iter().for_each(|one| one.tensors(found));
    }
}

impl<T: Outputs, E: std::fmt::Debug> Outputs for Result<T, E> {
    fn tensors(&self, found: &mut Vec<Tensor>) {
        self.as_ref().expect("a forward that yields no error").tensors(found);
    }
}

impl<T: Outputs, const N: usize> Outputs for [T; N] {
    fn tensors(&self, found: &mut Vec<Tensor>) {
        self.iter().for_each(|one| one.tensors(found));
    }
}

macro_rules! tuples {
    ($($($name:ident $at:tt)+;)+) => {
        $(impl<$($name: Outputs),+> Outputs for ($($name,)+) {
            fn tensors(&self, found: &mut Vec<Tensor>) {
                $(self.$at.tensors(found);)+
            }
        })+
    };
}
tuples! { A 0; A 0 B 1; A 0 B 1 C 2; A 0 B 1 C 2 D 3; A 0 B 1 C 2 D 3 E 4; A 0 B 1 C 2 D 3 E 4 F 5; }

macro_rules! numbers {
    ($($ty:ty)+) => {
        $(impl Outputs for $ty {
            fn tensors(&self, found: &mut Vec<Tensor>) {
                found.push(Tensor::from(*self));
            }
        })+
    };
}
numbers! { i64 f64 bool }

/// Tells the largest difference of any number, as a share of the largest number of its tensor.
pub fn compare<T: Outputs>(word: &str, expected: &T, found: &T) {
    let (mut all, mut others) = (Vec::new(), Vec::new());
    let compared = step("compare", || {
        expected.tensors(&mut all);
        found.tensors(&mut others);
        if all.len() != others.len() {
            return Err(format!("{} tensors where {} were expected", others.len(), all.len()).into());
        }
        let mut largest = 0f64;
        for (expected, found) in all.iter().zip(&others) {
            if (expected.size(), expected.kind()) != (found.size(), found.kind()) {
                return Err(format!("a tensor {found:?} where {expected:?} was expected").into());
            }
            largest = largest.max(apart(expected, found)?);
        }
        Ok(largest)
    });
    if let Some(largest) = compared {
        tell(&format!("{word} {largest:e}"));
    }
}

/// Infinite where one is NaN or infinite and the other is not.
fn apart(expected: &Tensor, found: &Tensor) -> Result<f64, Failure> {
    if expected.numel() == 0 {
        return Ok(0.0);
    }
    let (expected, found) = (expected.to_kind(Kind::Double), found.to_kind(Kind::Double));
    let same = expected.eq_tensor(&found).logical_or(&expected.isnan().logical_and(&found.isnan()));
    let finite = expected.isfinite().logical_and(&found.isfinite());
    if bool::try_from(same.logical_or(&finite).logical_not().any())? {
        return Ok(f64::INFINITY);
    }
    let zero = Tensor::zeros_like(&expected);
    let difference = (&expected - &found).where_self(&finite, &zero).abs().max();
    let scale = expected.where_self(&finite, &zero).abs().max();
    let (difference, scale) = (f64::try_from(difference)?, f64::try_from(scale)?);
    Ok(if difference == 0.0 { 0.0 } else { difference / scale.max(f64::MIN_POSITIVE) })
}

/// How long both are timed together.
const TIME: Duration = Duration::from_millis(2500);
/// How long one of them is called at a stretch.
const TURN: Duration = Duration::from_millis(15);

/// Tells minima and medians of a call in milliseconds, both in turns.
pub fn time<T, U>(eager: &mut dyn FnMut() -> Result<T, Failure>, frozen: &mut dyn FnMut() -> Result<U, Failure>) {
    let mut times = [Vec::new(), Vec::new()];
    let timed = step("time", || {
        let begin = Instant::now();
        let mut rounds = 0;
        while rounds < 3 || begin.elapsed() < TIME {
            turn(&mut || eager().map(drop), &mut times[0])?;
            turn(&mut || frozen().map(drop), &mut times[1])?;
            rounds += 1;
        }
        Ok(())
    });
    if timed.is_none() {
        return;
    }
    for (word, times) in ["eager", "frozen"].into_iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        tell(&format!("{word} {} {}", times[0], times[times.len() / 2]));
    }
}

fn turn(call: &mut dyn FnMut() -> Result<(), Failure>, times: &mut Vec<f64>) -> Result<(), Failure> {
    call()?;
    let turn = Instant::now();
    loop {
        let begin = Instant::now();
        call()?;
        times.push(begin.elapsed().as_secs_f64() * 1e3);
        if turn.elapsed() >= TURN {
            return Ok(());
        }
    }
}
