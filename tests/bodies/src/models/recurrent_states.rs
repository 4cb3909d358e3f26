//! Sequences: states of recurrent layers, tables of constants, stacks whose first layer is called by itself.

use fx_runtime::nn::{LSTMState, RNN};
use fx_runtime::{Kind, Module, Tensor, nn, traceable};

const DIRECTIONS: usize = 2;
const WIDTH: i64 = 4;
const LINES: [[usize; DIRECTIONS]; 3] = [[0, 1], [1, 0], [0, 0]];

/// One layer a direction, each over the nodes in an order of its own.
#[derive(Debug, Module)]
pub struct Board {
    directions: Vec<nn::Linear>,
    orders: Vec<Tensor>,
}

impl Board {
    fn new(p: &nn::Path) -> Board {
        let orders =
            [[2i64, 0, 1], [1, 2, 0]].iter().map(|order| Tensor::from_slice(order).to_device(p.device())).collect();
        let directions = (0..DIRECTIONS).map(|d| nn::linear(p / d, WIDTH, WIDTH, Default::default())).collect();
        Board { directions, orders }
    }

    fn lines(&self, xs: &Tensor, dir: usize) -> Tensor {
        let means = vec![xs.narrow(1, 0, 2).mean_dim(1, false, Kind::Float), xs.select(1, 2)];
        let mut parts: Vec<Tensor> = Vec::with_capacity(3);
        for node in 0..3 {
            let line = LINES[node][dir];
            parts.push((&means[line] - xs.select(1, node as i64)).unsqueeze(1));
        }
        Tensor::cat(&parts, 1)
    }
}

#[traceable]
impl Board {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut outs = Vec::with_capacity(DIRECTIONS);
        for d in 0..DIRECTIONS {
            let ordered = xs.index_select(1, &self.orders[d]);
            outs.push(ordered.apply(&self.directions[d]).relu());
        }
        let kept: [i64; 2] = [2, 0];
        let kept = Tensor::from_slice(&kept).to_device(xs.device());
        let ys = Tensor::cat(&outs, -1).view([-1, 3, WIDTH * DIRECTIONS as i64]).index_select(1, &kept);
        ys.sum_dim_intlist([1i64].as_slice(), false, Kind::Float) + self.lines(xs, 1).flatten(1, -1).narrow(1, 0, 8)
    }
}

/// A translator: what is encoded is decoded word by word, with a state that the caller keeps.
#[derive(Debug, Module)]
pub struct Translator {
    words: nn::Embedding,
    encoder: nn::LSTM,
    decoder: nn::LSTM,
    out: nn::Linear,
}

impl Translator {
    fn new(p: &nn::Path) -> Translator {
        Translator {
            words: nn::embedding(p / "words", 9, 4, Default::default()),
            encoder: nn::lstm(p / "encoder", 4, 6, Default::default()),
            decoder: nn::lstm(p / "decoder", 10, 6, Default::default()),
            out: nn::linear(p / "out", 6, 9, Default::default()),
        }
    }
}

#[traceable(strict, entry = ["forward", "encode", "decode"])]
impl Translator {
    pub fn encode(&self, words: &Tensor) -> (Tensor, LSTMState) {
        let (encoded, _state) = self.encoder.seq(&words.apply(&self.words));
        let zeros = Tensor::zeros([1, words.size()[0], 6], (Kind::Float, words.device()));
        (encoded, LSTMState((zeros.shallow_clone(), zeros + 0.5)))
    }

    pub fn decode(&self, word: &Tensor, state: &LSTMState, encoded: &Tensor) -> (Tensor, LSTMState) {
        let (hidden, _cell) = &state.0;
        let weights = encoded.matmul(&hidden.select(0, 0).unsqueeze(-1)).softmax(1, Kind::Float);
        let context = (weights * encoded).sum_dim_intlist([1i64].as_slice(), true, Kind::Float);
        let (ys, next) = self.decoder.seq_init(&Tensor::cat(&[word.apply(&self.words), context], -1), state);
        let LSTMState((h, c)) = next;
        (ys.apply(&self.out), LSTMState((h, c)))
    }

    pub fn forward(&self, words: &Tensor, targets: &Tensor) -> Tensor {
        let (encoded, mut state) = self.encode(words);
        let mut outs = Vec::new();
        for at in 0..targets.size()[1] {
            let (ys, next) = self.decode(&targets.narrow(1, at, 1), &state, &encoded);
            outs.push(ys);
            state = next;
        }
        Tensor::cat(&outs, 1)
    }
}

/// A state that is carried over the steps of a sequence, from either side.
#[derive(Debug, Module)]
pub struct Scan {
    gate: nn::Linear,
}

impl Scan {
    fn scan(&self, xs: &Tensor, reverse: bool) -> Tensor {
        let gates = xs.apply(&self.gate).sigmoid();
        let len = xs.size()[1];
        let steps: Vec<i64> = if reverse { (0..len).rev().collect() } else { (0..len).collect() };
        let mut state = Tensor::zeros([xs.size()[0], WIDTH], (Kind::Float, xs.device()));
        let mut outs: Vec<Tensor> = Vec::with_capacity(len as usize);
        for &step in &steps {
            state = state * gates.select(1, step) + xs.select(1, step);
            outs.push(state.unsqueeze(1));
        }
        if reverse {
            outs.reverse();
        }
        Tensor::cat(&outs, 1)
    }
}

#[traceable(strict)]
impl Scan {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.scan(xs, false) + self.scan(xs, true)
    }
}

/// A recurrent layer of one's own, whose weights are one list.
#[derive(Debug, Module)]
pub struct Recurrent {
    weights: Vec<Tensor>,
}

#[traceable(strict)]
impl Recurrent {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let zeros = Tensor::zeros([1, xs.size()[0], 4], (Kind::Float, xs.device()));
        let initial = [zeros.shallow_clone(), zeros];
        let (ys, _h, _c) = xs.lstm(&initial, &self.weights, true, 1, 0.0, false, false, true);
        ys
    }
}

/// A trait of the crate's own, by which every layer says what it takes.
pub trait Layer {
    type Input;
    type Output;

    fn eval(&mut self);
    fn forward(&mut self, input: Self::Input) -> Self::Output;
}

#[derive(Debug, Module)]
pub enum Positions {
    Learned(Tensor),
    Fixed(Tensor),
}

/// Layers of the crate's own under the names of `nn`'s, behind a module that has none of them.
mod own {
    mod none {}
    mod layer {
        use fx_runtime::nn::LayerNormConfig;
        use fx_runtime::{Module, Tensor, nn};

        #[derive(Debug, Module)]
        pub struct LayerNorm {
            config: LayerNormConfig,
            pub ws: Option<Tensor>,
            pub shape: Vec<i64>,
        }

        impl LayerNorm {
            pub fn new(p: &nn::Path, dim: i64) -> LayerNorm {
                LayerNorm { config: Default::default(), ws: Some(p.ones("ws", &[dim])), shape: vec![dim] }
            }

            pub fn forward(&mut self, xs: &Tensor) -> Tensor {
                let (shape, config) = (self.shape.as_slice(), &self.config);
                xs.layer_norm(shape, self.ws.as_ref(), None::<&Tensor>, config.eps, config.cudnn_enabled) + 1.0
            }
        }
    }

    #[allow(unused_imports, reason = "a glob without the name that is looked for")]
    pub use none::*;

    pub use layer::*;
}
use own::LayerNorm;

#[derive(Debug, Module)]
pub struct Block {
    fc: nn::Linear,
    train: bool,
}

impl Layer for Block {
    type Input = Tensor;
    type Output = Tensor;

    fn eval(&mut self) {
        self.train = false;
    }

    fn forward(&mut self, input: Self::Input) -> Self::Output {
        input.apply(&self.fc).gelu("none").dropout(0.5, self.train) + input
    }
}

#[derive(Debug, Module)]
pub struct Stack {
    positions: Positions,
    blocks: Vec<Block>,
    norm: LayerNorm,
}

impl Stack {
    fn new(p: &nn::Path, positions: fn(Tensor) -> Positions) -> Stack {
        let block = |at: i64| Block { fc: nn::linear(p / at, WIDTH, WIDTH, Default::default()), train: true };
        let table = p.randn("positions", &[1, 8, WIDTH], 0.0, 1.0);
        let norm = LayerNorm::new(&(p / "norm"), WIDTH);
        Stack { positions: positions(table), blocks: (0..3).map(block).collect(), norm }
    }
}

#[traceable(strict)]
impl Layer for Stack {
    type Input = Tensor;
    type Output = Tensor;

    fn eval(&mut self) {
        self.blocks.iter_mut().for_each(|block| block.eval());
    }

    fn forward(&mut self, input: Self::Input) -> Self::Output {
        let (batch, len, _) = input.size3().unwrap();
        let positions = match &mut self.positions {
            Positions::Learned(table) => table.narrow(1, 0, len).repeat([batch, 1, 1]),
            Positions::Fixed(table) => table.narrow(1, 0, len).neg(),
        };
        let ys = self.blocks[0].forward(input + positions);
        let ys = self.blocks.iter_mut().skip(1).fold(ys, |ys, block| block.forward(ys));
        self.norm.forward(&ys)
    }
}

#[cfg(test)]
mod tests {
    use fx_runtime::Freeze;

    use super::*;
    use crate::check::{Close, agree, device, randn, root, understood};

    understood!(Board: 18 of 19);

    fn words(size: &[i64]) -> Tensor {
        Tensor::arange(size.iter().product::<i64>(), (Kind::Int64, device())).remainder(9).view(size)
    }

    #[test]
    fn tables_of_constants() {
        agree!(Board::new, [randn(&[2, 3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn states_of_recurrent_layers() {
        agree!(Translator::new, [(words(&[2, 5]), words(&[2, 3]))], |net, (words, targets)| net
            .forward(words, targets));
        let (_vs, net) = root(Translator::new);
        let frozen = net.freeze(&Freeze::default()).unwrap();
        let word = words(&[2, 1]);
        let (encoded, state) = frozen.encode(&words(&[2, 5]));
        let (ys, next) = frozen.decode(&word, &state, &encoded);
        let (eager, after) = net.decode(&word, &state, &encoded);
        ys.close(&eager);
        (next.h(), next.c()).close(&(after.h(), after.c()));
    }

    #[test]
    fn steps_from_either_side() {
        let make = |p: &nn::Path| Scan { gate: nn::linear(p, WIDTH, WIDTH, Default::default()) };
        agree!(make, [randn(&[2, 3, 4]), randn(&[1, 5, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn lists_of_weights() {
        let make = |p: &nn::Path| Recurrent {
            weights: (["w_ih", "w_hh"].iter().map(|name| p.randn(name, &[16, 4], 0.0, 0.4)))
                .chain(["b_ih", "b_hh"].iter().map(|name| p.randn(name, &[16], 0.0, 1.0)))
                .collect(),
        };
        agree!(make, [randn(&[2, 3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn the_first_layer_by_itself() {
        for positions in [Positions::Learned as fn(Tensor) -> Positions, Positions::Fixed] {
            let (_vs, mut net) = root(|p| Stack::new(p, positions));
            Layer::eval(&mut net);
            let mut frozen = net.freeze(&Freeze::default()).unwrap();
            let xs = randn(&[2, 3, 4]);
            frozen.forward(xs.shallow_clone()).close(&net.forward(xs));
            let graph = net.graph().unwrap().to_string();
            assert!(["blocks.1.fc", "blocks.2.fc"].iter().all(|name| graph.contains(name)), "{graph}");
        }
    }
}
