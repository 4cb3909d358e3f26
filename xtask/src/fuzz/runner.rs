//! Runs bodies, each eagerly and frozen, and tells on standard output what became of each.

#![allow(warnings)]

#[path = "CHECK"]
mod check;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

/// What a body is: run eagerly by itself, then frozen against eager.
macro_rules! body {
    ($net:ident, |$model:ident, $variant:ident, $x:ident, $y:ident| $call:expr) => {
        pub fn eager() {
            for $variant in 0..3usize {
                let (_vs, $model) = crate::check::root(|p| $net::new(p, $variant));
                for ($x, $y) in &mut crate::inputs() {
                    let _ = tch::no_grad(|| $call);
                }
            }
        }

        pub fn frozen() {
            for $variant in 0..3usize {
                let make = |p: &nn::Path| $net::new(p, $variant);
                crate::check::numbers_agree!(make, crate::inputs(), |$model, ($x, $y)| $call);
            }
        }
    };
}
pub(crate) use body;

/// The same of a body that keeps something from call to call.
macro_rules! stateful {
    ($net:ident, |$model:ident, $variant:ident, $x:ident, $y:ident| $call:expr) => {
        pub fn eager() {
            for $variant in 0..3usize {
                // The same numbers as beside the frozen model, as often as that is called.
                let inputs = crate::inputs();
                let (_vs, mut $model) = crate::check::root(|p| $net::new(p, $variant));
                for (x, y) in inputs.iter().chain(&inputs) {
                    let ($x, $y) = (&mut x.copy(), &mut y.copy());
                    let _ = tch::no_grad(|| $call);
                }
            }
        }

        pub fn frozen() {
            for $variant in 0..3usize {
                let inputs = crate::inputs().map(|(x, _)| x).into();
                crate::check::numbers_agree_in_a_row!(|p| $net::new(p, $variant), inputs);
            }
        }
    };
}
pub(crate) use stateful;

/// The same of a body that is lent a state, in two calls that follow each other.
macro_rules! lent {
    ($net:ident, |$model:ident, $variant:ident, $x:ident, $y:ident, $state:ident| $call:expr, $make:expr) => {
        pub fn eager() {
            for $variant in 0..3usize {
                let (_vs, $model) = crate::check::root(|p| $net::new(p, $variant));
                for ($x, $y) in &mut crate::inputs() {
                    let $state = &mut {
                        let ($x, $y) = (&*$x, &*$y);
                        $make
                    };
                    for _ in 0..2 {
                        let _ = tch::no_grad(|| $call);
                    }
                }
            }
        }

        pub fn frozen() {
            for $variant in 0..3usize {
                let cases = crate::inputs().map(|($x, $y)| {
                    let state = {
                        let ($x, $y) = (&$x, &$y);
                        $make
                    };
                    ($x, $y, state)
                });
                crate::check::numbers_agree!(|p: &nn::Path| $net::new(p, $variant), cases, |$model, ($x, $y, $state)| {
                    crate::check::Twice::of($state, |$state| $call)
                });
            }
        }
    };
}
pub(crate) use lent;

/// Structs of the body's own among what is lent to it.
macro_rules! parts {
    ($name:ident { $($part:ident),* }) => {
        impl crate::check::Inputs for $name {
            fn mapped(&self, copy: &dyn ::core::ops::Fn(&Tensor) -> Tensor) -> $name {
                $name { $($part: self.$part.mapped(copy)),* }
            }
        }

        impl crate::check::Close for $name {
            fn close(&self, eager: &$name) {
                $(self.$part.close(&eager.$part);)*
            }
        }
    };
}
pub(crate) use parts;

fn inputs() -> [(tch::Tensor, tch::Tensor); 2] {
    [2, 3].map(|rows| (check::randn(&[rows, 8]), check::randn(&[rows, 8])))
}

/// The number of the last body that eager ran to its end.
static EAGER_ENDED: AtomicUsize = AtomicUsize::new(usize::MAX);

static SAID: Mutex<String> = Mutex::new(String::new());

/// What the panic said, if there was one.
fn caught(run: fn()) -> Option<String> {
    let said = catch_unwind(run).err().map(|_| SAID.lock().unwrap().clone());
    said
}

fn run(number: usize, eager: fn(), frozen: fn()) -> String {
    check::seed_inputs(1000 * number as i64);
    if let Some(said) = caught(eager) {
        return format!("eager {said:?}");
    }
    EAGER_ENDED.store(number, Ordering::SeqCst);
    check::seed_inputs(1000 * number as i64);
    let Some(said) = caught(frozen) else { return "agrees".to_owned() };
    let word = if said.contains(check::ROUNDING) { "rounds" } else { "fails" };
    format!("{word} {said:?}")
}

fn main() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|place| format!("{}:{}: ", place.file(), place.line())).unwrap_or_default();
        let said = info.payload_as_str().unwrap_or("panics");
        *SAID.lock().unwrap() = format!("{place}{said}");
    }));
    let wanted: Vec<usize> = std::env::args().skip(1).map(|number| number.parse().unwrap()).collect();
    for (number, eager, frozen) in BODIES {
        if !wanted.contains(number) {
            continue;
        }
        println!("{number} begins");
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || sender.send(run(*number, *eager, *frozen)));
        match receiver.recv_timeout(Duration::from_secs(20)) {
            Ok(told) => println!("{number} {told}"),
            Err(_) => {
                // A loop that eager does not leave is the body's own.
                let ended = EAGER_ENDED.load(Ordering::SeqCst) == *number;
                println!("{number} {}", if ended { "hangs" } else { "eager does not end" });
                std::process::exit(1);
            }
        }
    }
}
