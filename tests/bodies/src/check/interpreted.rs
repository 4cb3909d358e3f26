//! The graph of the live model, run node by node, against the model itself.

use fx_runtime::graph_module::{GraphModule, IntoValue, Value};
use tch::Tensor;

use super::{assert_not_interpreted, device, here};

/// What may have a value: of the traits below, `(&&&Probe(&x)).value()` takes the first that fits.
pub(crate) struct Probe<'p, T>(pub(crate) &'p T);

type Probed = Option<Result<Value, String>>;

/// What has a value.
pub(crate) trait Plain {
    fn value(&self) -> Probed;
}

impl<T: IntoValue> Plain for &&Probe<'_, T> {
    fn value(&self) -> Probed {
        Some(Ok(self.0.value()))
    }
}

/// A result that may be an error.
pub(crate) trait OfResult {
    fn value(&self) -> Probed;
}

impl<T: IntoValue, E: std::fmt::Debug> OfResult for &Probe<'_, Result<T, E>> {
    fn value(&self) -> Probed {
        Some(self.0.as_ref().map(IntoValue::value).map_err(|error| format!("{error:?}")))
    }
}

/// What has no value in a graph: a type of the body's own.
pub(crate) trait Otherwise {
    fn value(&self) -> Probed;
}

impl<T> Otherwise for Probe<'_, T> {
    fn value(&self) -> Probed {
        None
    }
}

/// A closure on an input, whose type is that of the input.
pub(crate) fn on<I, R>(input: &mut I, f: impl FnOnce(&mut I) -> R) -> R {
    f(input)
}

/// Runs the graph of a model on arguments, if all of them and the result have values.
pub(crate) fn interpret(
    (name, file): (&str, &str),
    module: &GraphModule,
    args: Vec<Probed>,
    expected: impl FnOnce() -> Probed,
) {
    let Some(args) = args.into_iter().map(|arg| arg?.ok()).collect::<Option<Vec<Value>>>() else {
        return;
    };
    let graph = module.graph();
    if graph.region(graph.body()).params.len() != args.len() {
        // What is specialised is no input.
        return;
    }
    let args_again: Vec<Value> = args.iter().map(copied).collect();
    tch::manual_seed(7);
    let expected = || tch::no_grad(expected);
    let expected = match device() {
        tch::Device::Cpu => expected(),
        // A body may make tensors on the CPU, and there alone the model itself takes them.
        _ => std::panic::catch_unwind(std::panic::AssertUnwindSafe(expected)).unwrap_or_default(),
    };
    let Some(expected) = expected else { return };
    tch::manual_seed(7);
    let found = tch::no_grad(|| module.run(&args));
    match (found, expected) {
        (Ok(found), Ok(expected)) => {
            assert!(is_close(&found, &expected), "{name}: interpreted {found:?}, eager {expected:?}\n{module}");
            frozen(name, module, &args_again, &expected);
        }
        (Err(_), Err(_)) => {}
        (Err(error), Ok(_)) => assert_not_interpreted(name, file, &error.to_string()),
        (Ok(found), Err(error)) => panic!("{name}: interpreted {found:?}, eager {error}"),
    }
}

/// Runs the graph of a model in training mode, and compares results and the gradients of all variables.
pub(crate) fn train(
    (name, vs): (&str, &fx_runtime::nn::VarStore),
    module: &GraphModule,
    args: Vec<Probed>,
    expected: impl FnOnce() -> Probed,
) {
    let graph = module.graph();
    let Some(args) = args.into_iter().map(|arg| arg?.ok()).collect::<Option<Vec<Value>>>() else { return };
    if graph.region(graph.body()).params.len() != args.len() {
        return;
    }
    tch::manual_seed(7);
    // What cannot be trained so (a norm over one value, a weight that is written to) is no case of this test.
    let eager = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let value = expected()?.ok()?;
        Some((gradients(vs, &value)?, value))
    }));
    let Ok(Some((wanted_gradients, wanted))) = eager else { return };
    tch::manual_seed(7);
    let found = match module.run(&args) {
        Ok(found) => found,
        // That it cannot be interpreted is told where it is run for inference.
        Err(_) => return,
    };
    assert!(is_close(&found, &wanted), "{name}, training: interpreted {found:?}, eager {wanted:?}\n{module}");
    let found_gradients = gradients(vs, &found).unwrap_or_default();
    assert_eq!(found_gradients.len(), wanted_gradients.len(), "{name}: other variables have gradients\n{module}");
    for ((path, found), (_, wanted)) in found_gradients.iter().zip(&wanted_gradients) {
        let is_close = found.size() == wanted.size() && found.allclose(wanted, 1e-4, 1e-4, true);
        assert!(is_close, "{name}: the gradient of `{path}` is {found:?}, eager {wanted:?}\n{module}");
    }
}

/// The gradients of the variables that a sum over all results has, in the order of their names; none without gradients.
fn gradients(vs: &fx_runtime::nn::VarStore, value: &Value) -> Option<Vec<(String, Tensor)>> {
    let mut results = Vec::new();
    tensors(value, &mut results);
    results.retain(|tensor| tensor.requires_grad() && tensor.is_floating_point());
    let sums: Vec<Tensor> = results.iter().map(|tensor| tensor.sum(tch::Kind::Float)).collect();
    let loss = sums.into_iter().reduce(|a, b| a + b)?;
    loss.f_backward().ok()?;
    let mut found: Vec<(String, Tensor)> = Vec::new();
    for (path, mut variable) in vs.variables() {
        let gradient = variable.grad();
        if gradient.defined() {
            found.push((path, gradient.copy()));
            variable.zero_grad();
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Some(found)
}

fn tensors<'v>(value: &'v Value, into: &mut Vec<&'v Tensor>) {
    match value {
        Value::Tensor(tensor) => into.push(tensor),
        Value::Option(Some(held)) => tensors(held, into),
        Value::List(items) | Value::Tuple(items) => items.iter().for_each(|item| tensors(item, into)),
        Value::Struct(_, fields) => fields.iter().for_each(|(_, value)| tensors(value, into)),
        _ => {}
    }
}

/// Freezes the graph at run time: what comes out computes what the model computes.
fn frozen(name: &str, module: &GraphModule, args: &[Value], expected: &Value) {
    tch::manual_seed(7);
    match module.freeze(&here()).and_then(|frozen| frozen.run(args)) {
        Ok(found) => {
            assert!(is_close(&found, expected), "{name}: frozen graph {found:?}, eager {expected:?}\n{module}")
        }
        Err(error) => panic!("{name}: the graph cannot be frozen: {error}\n{module}"),
    }
}

/// A tensor of its own, which a run may write to.
fn copied(value: &Value) -> Value {
    let all = |values: &[Value]| values.iter().map(copied).collect();
    match value {
        Value::Tensor(tensor) => Value::Tensor(tensor.copy().into()),
        Value::Option(Some(held)) => Value::option(Some(copied(held))),
        Value::List(items) => Value::List(all(items)),
        Value::Tuple(parts) => Value::Tuple(all(parts)),
        other => other.clone(),
    }
}

/// Whether two values are alike; numbers within what an order of additions makes of them.
fn is_close(found: &Value, expected: &Value) -> bool {
    let all = |a: &[Value], b: &[Value]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_close(a, b));
    match (found, expected) {
        (Value::Tensor(a), Value::Tensor(b)) => is_same(a, b),
        (Value::Option(None), Value::Option(None)) | (Value::Unit, Value::Unit) => true,
        (Value::Option(Some(a)), Value::Option(Some(b))) => is_close(a, b),
        (Value::List(a) | Value::Tuple(a), Value::List(b) | Value::Tuple(b)) => all(a, b),
        (Value::Int(a, _), Value::Int(b, _)) => a == b,
        (Value::Float(a, _), Value::Float(b, _)) => {
            (a - b).abs() <= 1e-5 * b.abs().max(1.0) || a.is_nan() && b.is_nan()
        }
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Str(a), Value::Str(b)) | (Value::Path(a), Value::Path(b)) => a == b,
        (Value::Struct(_, a), Value::Struct(_, b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((_, a), (_, b))| is_close(a, b))
        }
        _ => false,
    }
}

fn is_same(a: &Tensor, b: &Tensor) -> bool {
    (a.size(), a.kind()) == (b.size(), b.kind()) && a.allclose(b, 1e-5, 1e-5, true)
}

/// What `train_graph_module` is of a model without a mode, behind the generated method of one that has it.
pub(crate) trait WithoutMode {
    /// None.
    fn train_graph_module(&self) -> fx_runtime::Result<GraphModule> {
        Err(fx_runtime::Error::Refused("has no mode".to_owned()))
    }
}

impl<T> WithoutMode for T {}

/// The graph of a forward without a mode, which is the same in training.
pub(crate) fn itself(module: &GraphModule) -> fx_runtime::Result<GraphModule> {
    Ok(module.shallow_clone())
}

/// `interpreted!(Net::new, [inputs], |net, input| net.forward(input))`: the model's graph computes what it computes, for
/// inference and in training. A forward with a mode, `net.forward_t(input, false)`, has a graph for each.
macro_rules! interpreted {
    ($make:expr, $cases:expr, |$net:ident, $input:pat_param| $on:ident.forward($($arg:expr),* $(,)?)$(.unwrap())?) => {
        $crate::check::interpreted!(@each $make, $cases, |$net, $input| [$($arg,)*] $net.forward($($arg),*),
            $net.forward($($arg),*), forward, |module: &fx_runtime::GraphModule| $crate::check::itself(module))
    };
    ($make:expr, $cases:expr, |$net:ident, $input:pat_param| $on:ident.forward_t($a:expr, false)) => {
        $crate::check::interpreted!(@moded $make, $cases, |$net, $input| $a)
    };
    ($make:expr, $cases:expr, |$net:ident, $input:pat_param| $on:ident.forward_t($a:expr, $b:expr, false)) => {
        $crate::check::interpreted!(@moded $make, $cases, |$net, $input| $a, $b)
    };
    ($make:expr, $cases:expr, |$net:ident, $input:pat_param| $on:ident.forward_t($a:expr, $b:expr, $c:expr, false)) => {
        $crate::check::interpreted!(@moded $make, $cases, |$net, $input| $a, $b, $c)
    };
    (@moded $make:expr, $cases:expr, |$net:ident, $input:pat_param| $($arg:expr),*) => {{
        #[allow(unused_imports, reason = "a model without a mode needs it")]
        use $crate::check::WithoutMode as _;
        $crate::check::interpreted!(@each $make, $cases, |$net, $input| [$($arg,)*] $net.forward_t($($arg,)* false),
            $net.forward_t($($arg,)* true), forward_t, |_: &fx_runtime::GraphModule| $net.train_graph_module())
    }};
    (@each $make:expr, $cases:expr, |$net:ident, $input:pat_param| [$($arg:expr,)*]
        $inferred:expr, $trained:expr, $forward:ident, |$($of:tt)*) => {{
        use $crate::check::{Inputs as _, alone, interpret, on, probed_call, root, train};
        let (vs, model) = root($make);
        let $net = &model;
        let module = $net.graph_module().expect("a graph");
        let cases = &$crate::check::moved(&$cases);
        let _alone = alone();
        for case in cases {
            let (mut for_eager, mut for_graph) = (case.mapped(&tch::Tensor::copy), case.mapped(&tch::Tensor::copy));
            let arguments = on(&mut for_graph, |$input| probed_call!(args [$net $forward] [] $($arg,)*));
            let eager = || on(&mut for_eager, |$input| probed_call!(result $inferred));
            interpret((&module.graph().name, file!()), &module, arguments, eager);
        }
        fx_runtime::Module::train(&model);
        let in_training = |$($of)*;
        if let Ok(module) = in_training(&module) {
            module.train();
            for case in cases {
                let (mut for_eager, mut for_graph) = (case.mapped(&tch::Tensor::copy), case.mapped(&tch::Tensor::copy));
                let arguments = on(&mut for_graph, |$input| probed_call!(args [$net $forward] [] $($arg,)*));
                let eager = || on(&mut for_eager, |$input| probed_call!(result $trained));
                train((&module.graph().name, &vs), &module, arguments, eager);
            }
        }
    }};
    ($make:expr, $cases:expr, |$net:ident, $input:pat_param| $call:expr) => {};
}
pub(crate) use interpreted;

/// The values of a call's arguments, whose types the call infers, or of its result.
macro_rules! probed_call {
    (args [$($call:tt)*] [$($bound:ident)*] $arg:expr, $($args:tt)*) => {{
        #[allow(unused_mut, reason = "some calls write to an argument")]
        let mut argument = $arg;
        $crate::check::probed_call!(args [$($call)*] [$($bound)* argument] $($args)*)
    }};
    (args [$net:ident forward] [$($bound:ident)*]) => {
        $crate::check::probed_call!(values [$net.forward($($bound),*)] [$($bound)*])
    };
    (args [$net:ident forward_t] [$($bound:ident)*]) => {
        $crate::check::probed_call!(values [$net.forward_t($($bound,)* false)] [$($bound)*])
    };
    (values [$call:expr] [$($bound:ident)*]) => {{
        #[allow(unused_imports, reason = "each call needs some of them")]
        use $crate::check::{OfResult as _, Otherwise as _, Plain as _, Probe, never};
        if never() {
            let _ = $call;
            unreachable!();
        }
        vec![$((&&&Probe(&$bound)).value()),*]
    }};
    (result $call:expr) => {{
        #[allow(unused_imports, reason = "each call needs some of them")]
        use $crate::check::{OfResult as _, Otherwise as _, Plain as _, Probe};
        (&&&Probe(&$call)).value()
    }};
}
pub(crate) use probed_call;

/// `false`, of which the compiler does not know it.
pub(crate) fn never() -> bool {
    std::hint::black_box(false)
}
