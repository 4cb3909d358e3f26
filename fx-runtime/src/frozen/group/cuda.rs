//! A group as CUDA C: the function over elements, run over the names of variables, writes itself down.
//!
//! What goes over memory is [`device`]'s; here is what it calls for each element. Elements are computed in f32 whatever
//! they are stored in, except f64. A kernel is compiled when a group first runs on a device with inputs that lie so; one
//! that cannot be compiled is not tried again, and `ATen` computes the group. Tests compile these kernels with NVRTC and
//! run them on the host, and on a GPU where there is one.

mod variable;

use std::any::TypeId;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use tch::Device;

use super::instances::Instances;
use crate::Error;
use crate::ffi::pointwise::device::rows::{RowCase, RowFunctions, RowPass};
use crate::ffi::pointwise::device::{Case, Pass};
pub(super) use variable::{Name, Tape};

/// The primitives of formulas on a device that CUDA has no function of; NaN passes through each.
const FUNCTIONS: &str = "__device__ R number(double x) { return (R)x; }
__device__ R at_least(R x, R low) { return x < low ? low : x; }
__device__ R at_most(R x, R high) { return x > high ? high : x; }
__device__ R larger(R x, R y) { return x > y || x != x ? x : y; }
__device__ R smaller(R x, R y) { return x < y || x != x ? x : y; }
__device__ R gelu(R x) { return x * R(0.5) * (R(1) + erf(x * R(0.70710678118654752440))); }
__device__ R gelu_by_tanh(R x) {
    R inner = R(0.79788456080286535588) * (x + R(0.044715) * x * x * x);
    return R(0.5) * x * (R(1) + tanh(inner));
}
";

/// The functions of a group: of one without ops on rows `element(inputs, numbers, results)` alone; else `pass0`, `pass1`, ..
/// for what is asked before.
pub(super) fn functions(group: &Instances) -> RowFunctions {
    let tape = Tape::default();
    let results = (group.tape)(&tape);
    let (lines, asks) = (tape.lines.borrow(), tape.asks.borrow());
    let params: Vec<String> = (0..group.inputs).map(|input| format!("R x{input}")).collect();
    let params: Vec<String> =
        params.into_iter().chain((0..group.numbers).map(|number| format!("R n{number}"))).collect();
    let mut out = FUNCTIONS.to_owned();
    // Writing to a string cannot fail.
    let mut function = |name: &str, answers: usize, outputs: &[String], lines: &[String], ends: String| {
        let answers = (0..answers).map(|answer| format!("R k{answer}"));
        let params: Vec<String> =
            params.iter().cloned().chain(answers).chain(outputs.iter().map(|output| format!("R& {output}"))).collect();
        let lines = needed(lines, &ends);
        let _ = write!(out, "__device__ void {name}({}) {{\n{lines}{ends}}}\n", params.join(", "));
    };
    for (pass, ask) in asks.iter().enumerate() {
        let end = format!("    y = {};\n", ask.of);
        function(&format!("pass{pass}"), pass, &["y".to_owned()], &lines[..ask.after], end);
    }
    let outputs: Vec<String> = (0..group.results).map(|output| format!("y{output}")).collect();
    let ends = outputs.iter().zip(&results).map(|(output, result)| format!("    {output} = {result};\n"));
    function("element", asks.len(), &outputs, &lines, ends.collect());
    RowFunctions { source: out, asked: asks.iter().map(|ask| ask.reduction).collect(), numbers: group.numbers }
}

/// The statements that what a function ends with depends on: an earlier pass over a row needs less.
fn needed(lines: &[String], ends: &str) -> String {
    let words = |text: &str| {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric());
        words.filter(|word| word.starts_with('v')).map(str::to_owned).collect::<Vec<_>>()
    };
    let mut used: HashSet<String> = words(ends).into_iter().collect();
    let mut kept = Vec::new();
    for (number, line) in lines.iter().enumerate().rev() {
        if used.contains(&format!("v{number}")) {
            used.extend(words(line));
            kept.push(line.as_str());
        }
    }
    kept.into_iter().rev().collect()
}

/// Kernels by group, device and case; none where one could not be compiled.
struct Kernels<C, P>(OnceLock<RwLock<Compiled<C, P>>>);

type Compiled<C, P> = HashMap<(TypeId, usize, C), Option<Arc<P>>>;

impl<C: Clone + Eq + Hash, P> Kernels<C, P> {
    fn of(
        &self,
        (id, name): (TypeId, &str),
        case: C,
        device: Device,
        compile: impl FnOnce(&C) -> Result<P, Error>,
    ) -> Option<Arc<P>> {
        let Device::Cuda(index) = device else { return None };
        let kernels = self.0.get_or_init(RwLock::default);
        let key = (id, index, case);
        // A panic could only come from an allocation, between two whole changes.
        if let Some(known) = kernels.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return known.clone();
        }
        let made = compile(&key.2).map(Arc::new);
        let made = made.map_err(|error| note_uncompiled(name, device, &error)).ok();
        kernels.write().unwrap_or_else(PoisonError::into_inner).insert(key, made.clone());
        made
    }
}

static UNCOMPILED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The groups that could not be compiled so far, each with its device and the reason.
pub(crate) fn uncompiled() -> Vec<String> {
    UNCOMPILED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn note_uncompiled(group: &str, device: Device, error: &Error) {
    let line = format!("{group} on {device:?}: {error}");
    let mut known = UNCOMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    // It may fail alike in several cases.
    if !known.contains(&line) {
        known.push(line);
    }
}

/// The kernel of a group for a case; none where it could not be compiled.
pub(super) fn kernel(group: &Instances, case: Case, device: Device) -> Option<Arc<Pass>> {
    static KERNELS: Kernels<Case, Pass> = Kernels(OnceLock::new());
    let counts = (group.inputs, group.numbers, group.results);
    let compile = |case: &Case| Pass::compile(&functions(group).source, case, counts, device);
    KERNELS.of(((group.id)(), (group.name)()), case, device, compile)
}

/// The same of a group with ops on rows.
pub(super) fn row_kernel(group: &Instances, case: RowCase, device: Device) -> Option<Arc<RowPass>> {
    static KERNELS: Kernels<RowCase, RowPass> = Kernels(OnceLock::new());
    let compile = |case: &RowCase| RowPass::compile(&functions(group), case, device);
    KERNELS.of(((group.id)(), (group.name)()), case, device, compile)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Refused;

    #[test]
    fn what_cannot_be_compiled_is_told_once_and_not_tried_again() {
        let kernels: Kernels<u8, ()> = Kernels(OnceLock::new());
        let mut tries = 0;
        for case in [1, 1, 2, 2] {
            let refused = (TypeId::of::<Refused>(), std::any::type_name::<Refused>());
            let kernel = kernels.of(refused, case, Device::Cuda(3), |_| {
                tries += 1;
                Err(Error::Unsupported { what: "this kernel".to_owned(), help: "nothing".to_owned() })
            });
            assert!(kernel.is_none());
        }
        assert_eq!(tries, 2, "once a case");
        let capabilities = crate::capabilities();
        let told: Vec<_> = capabilities.uncompiled.iter().filter(|line| line.contains("Refused")).collect();
        assert!(matches!(told[..], [line] if line.contains("Cuda(3)") && line.contains("this kernel")), "{told:?}");
    }
}
