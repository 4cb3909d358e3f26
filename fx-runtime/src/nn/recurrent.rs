//! Recurrent layers: LSTM and GRU, under tch's names and with its states.
//!
//! Unlike tch's own they show their weights (`weight_ih_l0`, ...), so that they can be cloned, frozen and loaded like any
//! other layer. Their initial values are drawn in tch's order.

use std::borrow::Borrow;

use tch::{Cuda, Tensor};

use super::{GRUState, Init, LSTMState, Path, RNN, RNNConfig};
use crate::Error;
use crate::module::{Module, Place, Role, Visitor};
use crate::saved::{Loader, Saver, State};

/// A long short-term memory (Hochreiter and Schmidhuber, 1997); made by [`lstm`].
#[derive(Debug)]
#[allow(clippy::upper_case_acronyms, reason = "PyTorch's name")]
pub struct LSTM {
    /// For each layer and direction the weights of input and state, then their biases if it has any.
    pub weights: Vec<Tensor>,
    /// Size of the state.
    pub hidden_dim: i64,
    /// The configuration.
    pub config: RNNConfig,
}

/// A gated recurrent unit (Cho et al., 2014); made by [`gru`].
#[derive(Debug)]
#[allow(clippy::upper_case_acronyms, reason = "PyTorch's name")]
pub struct GRU {
    /// For each layer and direction the weights of input and state, then their biases if it has any.
    pub weights: Vec<Tensor>,
    /// Size of the state.
    pub hidden_dim: i64,
    /// The configuration.
    pub config: RNNConfig,
}

/// What both have.
macro_rules! recurrent {
    ($layer:ident, $make:ident, gates: $gates:literal, cudnn: $mode:literal, $doc:literal) => {
        #[doc = $doc]
        pub fn $make<'a, T: Borrow<Path<'a>>>(vs: T, in_dim: i64, hidden_dim: i64, config: RNNConfig) -> $layer {
            let weights = weights(vs.borrow(), in_dim, hidden_dim, $gates, &config);
            flatten(&weights, vs.borrow(), (in_dim, hidden_dim), $mode, &config);
            $layer { weights, hidden_dim, config }
        }

        impl $layer {
            /// Zeros of the form of a state, for a batch of this size.
            fn zeros(&self, batch_dim: i64) -> Tensor {
                let layers = self.config.num_layers * directions(&self.config);
                let weight = &self.weights[0];
                Tensor::zeros([layers, batch_dim, self.hidden_dim], (weight.kind(), weight.device()))
            }
        }

        impl Module for $layer {
            fn type_name(&self) -> &'static str {
                stringify!($layer)
            }

            fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
                for (name, weight) in names(&self.config).iter().zip(&self.weights) {
                    visitor.tensor(name, weight, Role::Parameter);
                }
            }

            fn placed(&self, place: &mut Place<'_>) -> Result<Self, Error> {
                let weights = self.weights.iter().map(place).collect::<Result<_, _>>()?;
                Ok(Self { weights, hidden_dim: self.hidden_dim, config: self.config })
            }
        }

        impl State for $layer {
            fn save(&self, to: &mut Saver) -> Result<(), Error> {
                let RNNConfig { has_biases, num_layers, dropout, train, bidirectional, batch_first, .. } = self.config;
                to.field("hidden_dim", &self.hidden_dim)?;
                to.field("num_layers", &num_layers)?;
                to.field("dropout", &dropout)?;
                for (name, flag) in FLAGS.into_iter().zip([has_biases, train, bidirectional, batch_first]) {
                    to.field(name, &flag)?;
                }
                names(&self.config).iter().zip(&self.weights).try_for_each(|(name, weight)| to.field(name, weight))
            }

            fn load(from: &mut Loader) -> Result<Self, Error> {
                let hidden_dim = from.field("hidden_dim")?;
                let (num_layers, dropout) = (from.field("num_layers")?, from.field("dropout")?);
                let [has_biases, train, bidirectional, batch_first] = FLAGS.map(|name| from.field(name));
                let config = RNNConfig {
                    has_biases: has_biases?,
                    num_layers,
                    dropout,
                    train: train?,
                    bidirectional: bidirectional?,
                    batch_first: batch_first?,
                    ..RNNConfig::default()
                };
                let weights = names(&config).iter().map(|name| from.field(name)).collect::<Result<_, _>>()?;
                Ok(Self { weights, hidden_dim, config })
            }
        }

        crate::registry::register_saved!($layer);
    };
}

recurrent!(LSTM, lstm, gates: 4, cudnn: 2, "An [`LSTM`] with its parameters under `vs`.");
recurrent!(GRU, gru, gates: 3, cudnn: 3, "A [`GRU`] with its parameters under `vs`.");

/// The switches of a configuration, as they are saved.
const FLAGS: [&str; 4] = ["has_biases", "train", "bidirectional", "batch_first"];

fn directions(config: &RNNConfig) -> i64 {
    if config.bidirectional { 2 } else { 1 }
}

/// PyTorch's names of the weights, in their order.
fn names(config: &RNNConfig) -> Vec<String> {
    let kinds: &[&str] =
        if config.has_biases { &["weight_ih", "weight_hh", "bias_ih", "bias_hh"] } else { &["weight_ih", "weight_hh"] };
    let suffixes = &["", "_reverse"][..if config.bidirectional { 2 } else { 1 }];
    let of_layer = |layer: i64| {
        suffixes.iter().flat_map(move |suffix| kinds.iter().map(move |kind| format!("{kind}_l{layer}{suffix}")))
    };
    (0..config.num_layers).flat_map(of_layer).collect()
}

fn weights(vs: &Path<'_>, in_dim: i64, hidden_dim: i64, gates: i64, config: &RNNConfig) -> Vec<Tensor> {
    let rows = gates * hidden_dim;
    let var = |name: &String| {
        let zeros = Init::Const(0.0);
        let below = if name.contains("_l0") { in_dim } else { hidden_dim * directions(config) };
        match name.as_str() {
            name if name.starts_with("weight_ih") => vs.var(name, &[rows, below], config.w_ih_init),
            name if name.starts_with("weight_hh") => vs.var(name, &[rows, hidden_dim], config.w_hh_init),
            name if name.starts_with("bias_ih") => vs.var(name, &[rows], config.b_ih_init.unwrap_or(zeros)),
            name => vs.var(name, &[rows], config.b_hh_init.unwrap_or(zeros)),
        }
    };
    names(config).iter().map(var).collect()
}

/// Puts the weights into one block of memory, as cuDNN wants them.
fn flatten(weights: &[Tensor], vs: &Path<'_>, (input, hidden): (i64, i64), mode: i64, config: &RNNConfig) {
    if !vs.device().is_cuda() || !Cuda::cudnn_is_available() {
        return;
    }
    let stride = if config.has_biases { 4 } else { 2 };
    let _ = Tensor::internal_cudnn_rnn_flatten_weight(
        weights,
        stride,
        input,
        mode,
        hidden,
        0,
        config.num_layers,
        config.batch_first,
        config.bidirectional,
    );
}

impl RNN for LSTM {
    type State = LSTMState;

    fn zero_state(&self, batch_dim: i64) -> LSTMState {
        let zeros = self.zeros(batch_dim);
        LSTMState((zeros.shallow_clone(), zeros))
    }

    fn step(&self, input: &Tensor, state: &LSTMState) -> LSTMState {
        self.seq_init(&input.unsqueeze(1), state).1
    }

    fn seq_init(&self, input: &Tensor, state: &LSTMState) -> (Tensor, LSTMState) {
        let c = &self.config;
        let LSTMState((h, cell)) = state;
        let weights: Vec<&Tensor> = self.weights.iter().collect();
        let (output, h, cell) = input.lstm(
            &[h, cell],
            &weights,
            c.has_biases,
            c.num_layers,
            c.dropout,
            c.train,
            c.bidirectional,
            c.batch_first,
        );
        (output, LSTMState((h, cell)))
    }
}

impl RNN for GRU {
    type State = GRUState;

    fn zero_state(&self, batch_dim: i64) -> GRUState {
        GRUState(self.zeros(batch_dim))
    }

    fn step(&self, input: &Tensor, state: &GRUState) -> GRUState {
        self.seq_init(&input.unsqueeze(1), state).1
    }

    fn seq_init(&self, input: &Tensor, state: &GRUState) -> (Tensor, GRUState) {
        let c = &self.config;
        let (output, h) = input.gru(
            &state.0,
            &self.weights,
            c.has_biases,
            c.num_layers,
            c.dropout,
            c.train,
            c.bidirectional,
            c.batch_first,
        );
        (output, GRUState(h))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::{Device, Kind};

    #[test]
    fn shows_its_weights_under_pytorchs_names() {
        let vs = crate::nn::VarStore::new(Device::Cpu);
        let config = RNNConfig { num_layers: 2, bidirectional: true, ..Default::default() };
        let net = lstm(vs.root(), 3, 4, config);
        let shown: Vec<String> = net.named_parameters().into_iter().map(|(name, _)| name).collect();
        assert_eq!(shown[..5], ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_ih_l0_reverse"]);
        assert_eq!(shown.len(), vs.variables().len());
    }

    #[test]
    fn a_clone_shares_the_weights() {
        let vs = crate::nn::VarStore::new(Device::Cpu);
        let net = gru(vs.root(), 3, 4, RNNConfig { has_biases: false, ..Default::default() });
        let copy = net.shallow_clone().unwrap();
        assert_eq!(copy.weights[0].data_ptr(), net.weights[0].data_ptr());
        assert_eq!(copy.seq(&Tensor::ones([2, 5, 3], (Kind::Float, Device::Cpu))).0.size(), [2, 5, 4]);
    }
}
