//! A part-of-speech tagger: an LSTM written out step by step, which stops when every sentence has ended.
//!
//! The loop runs over time, and how long it runs depends on the data.

use fx_runtime::{Module, Tensor, nn, traceable};

/// Marks the end of a sentence and what follows it.
pub const PADDING: i64 = 0;

/// Hochreiter and Schmidhuber's cell, with the tensor names of `torch.nn.LSTMCell`.
#[derive(Debug, Module)]
pub struct LstmCell {
    weight_ih: Tensor,
    weight_hh: Tensor,
    bias_ih: Tensor,
    bias_hh: Tensor,
}

impl LstmCell {
    fn new(p: nn::Path, input: i64, hidden: i64) -> Self {
        Self {
            weight_ih: p.kaiming_uniform("weight_ih", &[4 * hidden, input]),
            weight_hh: p.kaiming_uniform("weight_hh", &[4 * hidden, hidden]),
            bias_ih: p.zeros("bias_ih", &[4 * hidden]),
            bias_hh: p.zeros("bias_hh", &[4 * hidden]),
        }
    }

    /// One step: the input `[N, input]` and the state `[N, hidden]` twice, to the next state.
    fn step(&self, xs: &Tensor, (h, c): (&Tensor, &Tensor)) -> (Tensor, Tensor) {
        let gates = xs.linear(&self.weight_ih, Some(&self.bias_ih)) + h.linear(&self.weight_hh, Some(&self.bias_hh));
        let gates = gates.chunk(4, 1);
        let (input, forget) = (gates[0].sigmoid(), gates[1].sigmoid());
        let (cell, output) = (gates[2].tanh(), gates[3].sigmoid());
        let c = forget * c + input * cell;
        let h = output * c.tanh();
        (h, c)
    }
}

/// Words to tags.
#[derive(Debug, Module)]
pub struct Tagger {
    embedding: nn::Embedding,
    cell: LstmCell,
    fc: nn::Linear,
    hidden: i64,
}

impl Tagger {
    /// A tagger for a vocabulary of `words`, with fresh weights under `p`.
    pub fn new(p: &nn::Path, words: i64, hidden: i64, tags: i64) -> Self {
        Self {
            embedding: nn::embedding(p / "embedding", words, hidden, nn::EmbeddingConfig::default()),
            cell: LstmCell::new(p / "cell", hidden, hidden),
            fc: nn::linear(p / "fc", hidden, tags, nn::LinearConfig::default()),
            hidden,
        }
    }
}

#[traceable]
impl Tagger {
    /// Words `i64[N, length]`, each sentence padded with [`PADDING`], to the logarithm of each tag's probability,
    /// `[N, longest, tags]`, where `longest` is the length of the longest sentence. What stands beyond the end of a
    /// sentence is 0.
    pub fn forward(&self, words: &Tensor) -> Tensor {
        let (batch, length) = words.size2().unwrap();
        let xs = words.apply(&self.embedding);
        let mut h = Tensor::zeros([batch, self.hidden], (xs.kind(), xs.device()));
        let mut c = h.zeros_like();
        let mut outputs = Vec::new();
        for t in 0..length {
            let present = words.select(1, t).not_equal(PADDING);
            if present.any().int64_value(&[]) == 0 {
                break;
            }
            (h, c) = self.cell.step(&xs.select(1, t), (&h, &c));
            let scores = h.apply(&self.fc).log_softmax(-1, h.kind());
            outputs.push(scores.where_self(&present.unsqueeze(1), &scores.zeros_like()));
        }
        Tensor::stack(&outputs, 1)
    }
}
