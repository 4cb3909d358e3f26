//! Recurrent layers whose inputs and states become integers at each step.
//!
//! Each layer and direction is two dynamic linear layers, of the input and of the state, and a cell in floats. The inputs of all
//! steps become integers as one, as in libtorch's `quantized_lstm` and `quantized_gru`; the state does at each step.

use tch::Tensor;

use super::linear::{DynamicLinear, check};
use crate::graph_module::{FromValue, IntoValue, Submodule, Value, gru_state, lstm_state};
use crate::nn::{self, GRUState, LSTMState, RNNConfig};
use crate::quant::QConfig;
use crate::{Error, Module, Result};

/// What a cell makes of the gates of its input, those of its state, and the state.
type Cell = fn(&Tensor, &Tensor, &[Tensor]) -> Result<Vec<Tensor>>;

/// The linear layers of one layer and direction.
#[derive(Debug)]
struct Gates {
    input: DynamicLinear,
    state: DynamicLinear,
}

/// What both kinds have in common.
#[derive(Debug)]
struct Recurrent {
    /// For each layer its directions.
    gates: Vec<Vec<Gates>>,
    inputs: i64,
    hidden_dim: i64,
    batch_first: bool,
    place: (tch::Kind, tch::Device),
}

impl Recurrent {
    fn new(weights: &[Tensor], hidden_dim: i64, config: &RNNConfig, qconfig: &QConfig) -> Result<Recurrent> {
        let QConfig { activation, weight: observer } = qconfig;
        let how = (observer, activation.reduce_range, check(activation, observer)?);
        let refused = || Error::Refused("a recurrent layer with a weight for each of its parts".to_owned());
        let each = |weights: &[Tensor]| -> Result<Gates> {
            let [input, state, biases @ ..] = weights else { return Err(refused()) };
            let input = DynamicLinear::of(input, biases.first(), how)?;
            Ok(Gates { input, state: DynamicLinear::of(state, biases.get(1), how)? })
        };
        let all = weights.chunks(if config.has_biases { 4 } else { 2 }).map(each).collect::<Result<Vec<_>>>()?;
        let mut gates: Vec<Vec<Gates>> = Vec::new();
        let directions = if config.bidirectional { 2 } else { 1 };
        for (at, one) in all.into_iter().enumerate() {
            if at % directions == 0 {
                gates.push(Vec::new());
            }
            gates.last_mut().ok_or_else(refused)?.push(one);
        }
        let first = weights.first().ok_or_else(refused)?;
        let inputs = first.size().get(1).copied().ok_or_else(refused)?;
        let place = (tch::Kind::Float, first.device());
        Ok(Recurrent { gates, inputs, hidden_dim, batch_first: config.batch_first, place })
    }

    /// Zeros of the form of a state.
    fn zeros(&self, batch: i64) -> Result<Tensor> {
        let count: usize = self.gates.iter().map(Vec::len).sum();
        Ok(Tensor::f_zeros([i64::try_from(count).unwrap_or(0), batch, self.hidden_dim], self.place)?)
    }

    fn batch(&self, xs: &Tensor) -> Result<i64> {
        match xs.size()[..] {
            [batch, _, inputs] if self.batch_first && inputs == self.inputs => Ok(batch),
            [_, batch, inputs] if !self.batch_first && inputs == self.inputs => Ok(batch),
            _ => {
                let wanted = if self.batch_first { "[batch, time" } else { "[time, batch" };
                let found = xs.size();
                Err(Error::Refused(format!("a recurrent layer takes {wanted}, {}], got {found:?}", self.inputs)))
            }
        }
    }

    /// The states of the last layer at each step, and the last state of each layer and direction.
    fn run(&self, xs: &Tensor, state: &[&Tensor], cell: Cell) -> Result<(Tensor, Vec<Tensor>)> {
        let _no_grad = tch::no_grad_guard();
        self.batch(xs)?;
        let mut ys = if self.batch_first { xs.f_transpose(0, 1)? } else { xs.shallow_clone() };
        let mut last: Vec<Vec<Tensor>> = Vec::new();
        for directions in &self.gates {
            let mut results = Vec::new();
            for (direction, gates) in directions.iter().enumerate() {
                let at = i64::try_from(last.len()).unwrap_or(0);
                let begin = state.iter().map(|part| Ok(part.f_select(0, at)?)).collect::<Result<Vec<_>>>()?;
                let (steps, end) = gates.run(&ys, begin, direction == 1, cell)?;
                results.push(steps);
                last.push(end);
            }
            ys = Tensor::f_cat(&results, -1)?;
        }
        let parts = (0..state.len()).map(|part| {
            let of_part: Vec<&Tensor> = last.iter().map(|end| &end[part]).collect();
            Ok(Tensor::f_stack(&of_part, 0)?)
        });
        let parts = parts.collect::<Result<_>>()?;
        Ok((if self.batch_first { ys.f_transpose(0, 1)?.f_contiguous()? } else { ys }, parts))
    }
}

impl Gates {
    /// One direction of a layer on `[time, batch, in]`.
    fn run(&self, xs: &Tensor, mut state: Vec<Tensor>, backwards: bool, cell: Cell) -> Result<(Tensor, Vec<Tensor>)> {
        let of_input = self.input.forward(xs)?;
        let count = xs.size()[0];
        let mut steps: Vec<Tensor> = Vec::new();
        for step in 0..count {
            let at = if backwards { count - 1 - step } else { step };
            let of_state = self.state.forward(&state[0])?;
            state = cell(&of_input.f_select(0, at)?, &of_state, &state)?;
            steps.push(state[0].shallow_clone());
        }
        if backwards {
            steps.reverse();
        }
        if steps.is_empty() {
            return Err(Error::Refused("a recurrent layer takes at least one step".to_owned()));
        }
        Ok((Tensor::f_stack(&steps, 0)?, state))
    }
}

/// `c' = σ(f) c + σ(i) tanh(g)`, `h' = σ(o) tanh(c')`.
fn lstm_cell(of_input: &Tensor, of_state: &Tensor, state: &[Tensor]) -> Result<Vec<Tensor>> {
    let gates = of_state.f_add(of_input)?.f_chunk(4, -1)?;
    let ([input, forget, cell, output], [_, memory]) = (&gates[..], state) else {
        return Err(Error::Refused("a state of an LSTM has two parts".to_owned()));
    };
    let memory = forget.f_sigmoid()?.f_mul(memory)?.f_add(&input.f_sigmoid()?.f_mul(&cell.f_tanh()?)?)?;
    Ok(vec![output.f_sigmoid()?.f_mul(&memory.f_tanh()?)?, memory])
}

/// `n = tanh(i_n + σ(r) h_n)`, `h' = (h - n) σ(z) + n`.
fn gru_cell(of_input: &Tensor, of_state: &Tensor, state: &[Tensor]) -> Result<Vec<Tensor>> {
    let (of_input, of_state) = (of_input.f_chunk(3, -1)?, of_state.f_chunk(3, -1)?);
    let ([input_r, input_z, input_n], [state_r, state_z, state_n], [hidden]) = (&of_input[..], &of_state[..], state)
    else {
        return Err(Error::Refused("a state of a GRU has one part".to_owned()));
    };
    let reset = state_r.f_add(input_r)?.f_sigmoid()?;
    let update = state_z.f_add(input_z)?.f_sigmoid()?;
    let new = input_n.f_add(&reset.f_mul(state_n)?)?.f_tanh()?;
    Ok(vec![hidden.f_sub(&new)?.f_mul(&update)?.f_add(&new)?])
}

/// What both layers do, with states of their own.
macro_rules! dynamic {
    ($layer:ident, $of:ident, $state:ident, $read:ident, $cell:ident, |$value:ident| $parts:expr, |$ends:ident| $made:expr) => {
        impl $layer {
            /// Quantizes a layer as one of [`QConfig::dynamic`] and its kin says.
            ///
            /// # Errors
            ///
            /// Those of [`DynamicLinear::new`].
            pub fn new(layer: &nn::$of, qconfig: &QConfig) -> Result<$layer> {
                Ok($layer(Recurrent::new(&layer.weights, layer.hidden_dim, &layer.config, qconfig)?))
            }

            /// The state that sequences begin with: zeros.
            ///
            /// # Errors
            ///
            /// [`Error::Torch`] if there is no memory for it.
            pub fn zero_state(&self, batch: i64) -> Result<nn::$state> {
                let zeros = self.0.zeros(batch)?;
                let $ends = [zeros.shallow_clone(), zeros];
                Ok($made)
            }

            /// Applies the layer to `[batch, time, in]`, or `[time, batch, in]` as it is configured, from zeros on.
            ///
            /// # Errors
            ///
            /// Those of the method below.
            pub fn seq(&self, xs: &Tensor) -> Result<(Tensor, nn::$state)> {
                self.seq_init(xs, &self.zero_state(self.0.batch(xs)?)?)
            }

            /// The same from a state on; yields the states of the last layer at each step, and the state at the end.
            ///
            /// # Errors
            ///
            /// [`Error::Refused`] if the input has other axes or no step; [`Error::Quantization`] if it is not finite;
            /// [`Error::Torch`] if libtorch refuses, as a rule the state's shape.
            pub fn seq_init(&self, xs: &Tensor, $value: &nn::$state) -> Result<(Tensor, nn::$state)> {
                let (ys, $ends) = self.0.run(xs, $parts, $cell)?;
                Ok((ys, $made))
            }
        }

        impl Submodule for $layer {
            fn call(&self, args: &[Value]) -> Result<Value> {
                let refused =
                    || Error::Refused(concat!("`", stringify!($layer), "` takes a tensor, and a state").to_owned());
                let xs = args.first().and_then(<&Tensor>::from_value).ok_or_else(refused)?;
                let found = match args {
                    [_] => self.seq(xs)?,
                    [_, state] => self.seq_init(xs, &$read(state).ok_or_else(refused)?)?,
                    _ => return Err(refused()),
                };
                Ok(found.value())
            }

            fn call_method(&self, name: &str, args: &[Value]) -> Option<Result<Value>> {
                match (name, args) {
                    ("seq" | "seq_init", args) => Some(self.call(args)),
                    ("zero_state", [batch]) => {
                        let state = self.zero_state(i64::from_value(batch)?);
                        Some(state.map(|state| IntoValue::value(&state)))
                    }
                    ("step", [xs, state]) => {
                        let (xs, state) = (<&Tensor>::from_value(xs)?, $read(state)?);
                        let step = || -> Result<Value> {
                            Ok(IntoValue::value(&self.seq_init(&xs.f_unsqueeze(1)?, &state)?.1))
                        };
                        Some(step())
                    }
                    _ => None,
                }
            }

            fn module(&self) -> Option<&dyn Module> {
                None
            }
        }
    };
}

/// An LSTM with integer weights, whose inputs and states become integers at each call: PyTorch's dynamic `LSTM`.
///
/// ```
/// use fx_runtime::nn::{self, RNN as _};
/// use fx_runtime::quant::{DynamicLSTM, QConfig};
/// use fx_runtime::{Device, Kind, Tensor};
///
/// let vs = nn::VarStore::new(Device::Cpu);
/// let layer = nn::lstm(vs.root(), 16, 32, nn::RNNConfig::default());
/// let quantized = DynamicLSTM::new(&layer, &QConfig::dynamic())?;
/// let xs = Tensor::randn([2, 5, 16], (Kind::Float, Device::Cpu));
/// let (ys, _state) = quantized.seq(&xs)?;
/// assert!((ys - layer.seq(&xs).0).abs().max().double_value(&[]) < 0.05);
/// # Ok::<(), fx_runtime::Error>(())
/// ```
#[derive(Debug)]
pub struct DynamicLSTM(Recurrent);

/// A GRU with integer weights, whose inputs and states become integers at each call: PyTorch's dynamic `GRU`.
#[derive(Debug)]
pub struct DynamicGRU(Recurrent);

dynamic!(DynamicLSTM, LSTM, LSTMState, lstm_state, lstm_cell, |state| &[&state.0.0, &state.0.1], |ends| {
    let [hidden, memory] = &ends[..] else { return Err(Error::Refused("a state of two parts".to_owned())) };
    LSTMState((hidden.shallow_clone(), memory.shallow_clone()))
});
dynamic!(DynamicGRU, GRU, GRUState, gru_state, gru_cell, |state| &[&state.0], |ends| GRUState(ends[0].shallow_clone()));
