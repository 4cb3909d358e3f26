//! The mode of a call: the forward's own, one that the code says, and none, where the layer's own decides.

use fx_runtime::{Module, Tensor, nn, traceable};

#[derive(Debug, Module)]
pub struct Modes {
    first: nn::BatchNorm,
    frozen: nn::BatchNorm,
    own: nn::Dropout,
    fc: nn::Linear,
}

impl Modes {
    fn new(p: &nn::Path) -> Self {
        let norm = |name| nn::batch_norm1d(p / name, 4, nn::BatchNormConfig::default());
        Self {
            first: norm("first"),
            frozen: norm("frozen"),
            own: nn::dropout(0.5),
            fc: nn::linear(p / "fc", 4, 4, nn::LinearConfig::default()),
        }
    }
}

#[traceable]
impl Modes {
    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        let ys = self.first.forward_t(xs, train);
        let ys = self.frozen.forward_t(&ys, false);
        let ys = self.own.forward(&ys.apply(&self.fc)).dropout(0.25, train);
        if train { ys * 3.0 } else { ys.relu() }
    }
}

#[derive(Debug, Module)]
pub struct NormedChain {
    chain: nn::SequentialT,
    fc: nn::Linear,
}

impl NormedChain {
    fn new(p: &nn::Path) -> Self {
        let norm = nn::batch_norm1d(p / "norm", 4, nn::BatchNormConfig::default());
        let chain = nn::seq_t().add(norm).add_fn_t(|xs, train| xs.dropout(0.5, train));
        Self { chain, fc: nn::linear(p / "fc", 4, 3, nn::LinearConfig::default()) }
    }
}

#[traceable]
impl NormedChain {
    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        self.chain.forward_t(xs, train).apply(&self.fc)
    }
}

/// A part that others list by its own function, in both modes.
#[derive(Debug, Module)]
pub struct NormedPart {
    norm: nn::BatchNorm,
}

#[traceable(strict)]
impl NormedPart {
    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        xs.apply_t(&self.norm, train).relu().dropout(0.25, train)
    }
}

#[derive(Debug, Module)]
pub struct OfParts {
    parts: Vec<NormedPart>,
    fc: nn::Linear,
}

impl OfParts {
    fn new(p: &nn::Path) -> Self {
        let part = |at: usize| NormedPart { norm: nn::batch_norm1d(p / "parts" / at / "norm", 4, Default::default()) };
        Self { parts: (0..2).map(part).collect(), fc: nn::linear(p / "fc", 4, 4, Default::default()) }
    }
}

#[traceable(strict)]
impl OfParts {
    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        let ys = self.parts.iter().fold(xs.shallow_clone(), |ys, part| part.forward_t(&ys, train));
        ys.apply(&self.fc).dropout(0.5, train)
    }
}

#[cfg(test)]
mod tests {
    use fx_runtime::graph_module::{Value, value};
    use fx_runtime::instance::Arg;

    use super::*;
    use crate::check::{agree, alone, device, randn, root};

    #[test]
    fn each_call_runs_in_its_own_mode() {
        agree!(Modes::new, [randn(&[6, 4])], |net, xs| net.forward_t(xs, false));
        agree!(NormedChain::new, [randn(&[6, 4])], |net, xs| net.forward_t(xs, false));
        agree!(OfParts::new, [randn(&[6, 4])], |net, xs| net.forward_t(xs, false));
    }

    /// The parts' nodes come from functions of their own, which ask for the mode of the whole.
    #[test]
    fn parts_are_in_the_mode_of_what_holds_them() {
        let (_, net) = root(OfParts::new);
        for (graph, train) in [(net.graph_module(), false), (net.train_graph_module(), true)] {
            let graph = graph.expect("a graph").into_graph();
            let norms = graph.find_nodes("call_module", None).into_iter().filter(|&id| graph.target(id) != "fc");
            let modes: Vec<_> = norms.map(|id| (graph.target(id), graph.node(id).mode())).collect();
            let mode = train.then_some(true);
            assert_eq!(modes, [("parts.0.norm".to_owned(), mode), ("parts.1.norm".to_owned(), mode)]);
            let dropouts = graph.find_nodes("call_function", Some("dropout")).into_iter();
            let args: Vec<_> = dropouts.map(|id| graph.node(id).args.last().cloned()).collect();
            assert_eq!(args, [Some(Arg::Bool(train)), Some(Arg::Bool(train)), Some(Arg::Bool(train))]);
        }
    }

    #[test]
    fn the_graph_says_the_mode_of_a_call_where_the_code_does() {
        let (_, net) = root(Modes::new);
        let modes = |graph: fx_runtime::GraphModule| -> Vec<(String, Option<bool>)> {
            let graph = graph.into_graph();
            let calls = graph.find_nodes("call_module", None).into_iter();
            calls.map(|id| (graph.target(id), graph.node(id).mode())).collect()
        };
        let named = |all: [(&str, Option<bool>); 4]| all.map(|(name, mode)| (name.to_owned(), mode)).to_vec();
        let wanted = [("first", None), ("frozen", Some(false)), ("fc", None), ("own", None)];
        assert_eq!(modes(net.graph_module().expect("a graph")), named(wanted));
        let wanted = [("first", Some(true)), ("frozen", Some(false)), ("fc", None), ("own", None)];
        assert_eq!(modes(net.train_graph_module().expect("a graph")), named(wanted));
    }

    /// Running statistics move where the eager model's do, and nowhere else.
    #[test]
    fn training_moves_the_statistics_of_the_norms_that_train() {
        let (_, net) = root(Modes::new);
        let _alone = alone();
        let xs = Tensor::randn([64, 4], (fx_runtime::Kind::Float, device())) + 5.0;
        let graph = net.train_graph_module().expect("a graph");
        let Ok(Value::Tensor(_)) = graph.run(&[value(&xs)]) else { panic!("no tensor") };
        let moved = net.first.running_mean.mean(fx_runtime::Kind::Float).double_value(&[]);
        assert!((moved - 0.5).abs() < 0.1, "a tenth of the batch's mean, got {moved}");
        assert_eq!(net.frozen.running_mean.abs().max().double_value(&[]), 0.0);
    }

    #[test]
    fn a_graph_in_training_is_not_frozen() {
        let (_, net) = root(Modes::new);
        let fault = net.train_graph_module().expect("a graph").freeze(&fx_runtime::Freeze::default());
        let fault = fault.expect_err("a batch norm trains").to_string();
        assert!(fault.contains("first") && fault.contains("called in training"), "{fault}");
    }
}
