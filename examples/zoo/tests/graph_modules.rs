//! The graphs of the live models, interpreted: results, gradients and running statistics are the model's own, for inference
//! and in training.

use std::sync::{Mutex, PoisonError};

use fx_runtime::graph_module::{GraphModule, Value, value};
use fx_runtime::{Device, Kind, Module, Tensor, nn};
use resnet18::torchvision::ResNet;
use resnet18::{Error, ResNet18, weights};
use zoo::reference::check;
use zoo::tagger::PADDING;
use zoo::{BertModel, Gpt2, MobileNetV2, ResNet50, Tagger, VitB16};

/// One test at a time draws random numbers (libtorch has one generator for all threads) and holds a model's gradients.
static ALONE: Mutex<()> = Mutex::new(());

/// The tensors of a result in order.
fn tensors(value: &Value) -> Vec<Tensor> {
    match value {
        Value::Tensor(tensor) => vec![tensor.shallow_clone()],
        Value::Tuple(parts) | Value::List(parts) => parts.iter().flat_map(tensors).collect(),
        _ => Vec::new(),
    }
}

/// What a call leaves behind: results, the gradients of a sum of their squares, running statistics.
struct Outcome {
    results: Vec<Tensor>,
    gradients: Vec<(String, Tensor)>,
    buffers: Vec<(String, Tensor)>,
}

impl Outcome {
    /// Of a call that begins with the same buffers and random numbers.
    fn of(
        vs: &nn::VarStore,
        net: &dyn Module,
        begin: &[Tensor],
        call: impl FnOnce() -> Result<Vec<Tensor>, Error>,
    ) -> Result<Outcome, Error> {
        for ((_, buffer), start) in net.named_buffers().into_iter().zip(begin) {
            tch::no_grad(|| buffer.shallow_clone().copy_(start));
        }
        tch::manual_seed(5);
        let results = call()?;
        let loss = results.iter().map(|ys| ys.square().mean(Kind::Float)).reduce(|a, b| a + b).ok_or("no result")?;
        loss.backward();
        let mut gradients = Vec::new();
        let mut variables: Vec<_> = vs.variables().into_iter().collect();
        variables.sort_by(|a, b| a.0.cmp(&b.0));
        for (name, mut variable) in variables {
            let gradient = variable.grad();
            if gradient.defined() {
                gradients.push((name, gradient.copy()));
                variable.zero_grad();
            }
        }
        let buffers = net.named_buffers().into_iter().map(|(name, buffer)| (name, buffer.copy())).collect();
        let results = results.iter().map(Tensor::detach).collect();
        Ok(Outcome { results, gradients, buffers })
    }

    fn is(&self, wanted: &Outcome) -> Result<(), Error> {
        let (found, count) = (self.results.len(), wanted.results.len());
        if found != count || self.gradients.len() != wanted.gradients.len() {
            return Err(format!("{found} results for {count}, {} gradients", self.gradients.len()).into());
        }
        for (found, wanted) in self.results.iter().zip(&wanted.results) {
            check("result", found, wanted)?;
        }
        let pairs = self.gradients.iter().zip(&wanted.gradients).chain(self.buffers.iter().zip(&wanted.buffers));
        for ((name, found), (other, wanted)) in pairs {
            assert_eq!(name, other);
            if wanted.is_floating_point() && wanted.abs().max().double_value(&[]) > 0.0 {
                check(name, found, wanted)?;
            }
        }
        Ok(())
    }
}

/// The graph of a model against the model, in one of its modes.
fn agree<M: Module>(
    (vs, net): (&nn::VarStore, &M),
    graph: &GraphModule,
    inputs: &[Value],
    eager: impl Fn() -> Vec<Tensor>,
) -> Result<Outcome, Error> {
    graph.lint()?;
    let begin: Vec<Tensor> = net.named_buffers().into_iter().map(|(_, buffer)| buffer.copy()).collect();
    let wanted = Outcome::of(vs, net, &begin, || Ok(eager()))?;
    let found = Outcome::of(vs, net, &begin, || Ok(tensors(&graph.run(inputs)?)))?;
    assert!(!wanted.gradients.is_empty());
    found.is(&wanted).map(|()| found)
}

/// A model with variables of its own and fresh weights.
fn model<M: Module>(new: impl FnOnce(&nn::Path) -> M) -> (nn::VarStore, M) {
    tch::manual_seed(3);
    let vs = nn::VarStore::new(Device::Cpu);
    let net = new(&vs.root());
    (vs, net)
}

/// The graphs of a model whose forward takes a mode, in inference and in training, which compute something else.
fn in_both_modes<M: Module>(
    of: (&nn::VarStore, &M),
    graphs: [GraphModule; 2],
    inputs: &[Value],
    eager: impl Fn(&M, bool) -> Vec<Tensor>,
) -> Result<(), Error> {
    let [inference, training] = graphs;
    of.1.eval();
    let inference = agree(of, &inference, inputs, || eager(of.1, false))?;
    of.1.train();
    let training = agree(of, &training, inputs, || eager(of.1, true))?;
    // Dropout and statistics of the batch count.
    assert_ne!(inference.results[0], training.results[0]);
    Ok(())
}

#[test]
fn resnet50() -> Result<(), Error> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (xs, (vs, net)) = (weights::input(2, 64), model(|p| ResNet50::new(p, 10)));
    let graphs = [net.graph_module()?, net.train_graph_module()?];
    in_both_modes((&vs, &net), graphs, &[value(&xs)], |net, train| vec![net.forward_t(&xs, train)])
}

#[test]
fn mobilenet_v2() -> Result<(), Error> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (xs, (vs, net)) = (weights::input(2, 64), model(|p| MobileNetV2::new(p, 10)));
    let graphs = [net.graph_module()?, net.train_graph_module()?];
    in_both_modes((&vs, &net), graphs, &[value(&xs)], |net, train| vec![net.forward_t(&xs, train)])
}

#[test]
fn gpt2() -> Result<(), Error> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (ids, (vs, net)) = (weights::tokens(2, 16, Gpt2::VOCABULARY), model(Gpt2::new));
    let graphs = [net.graph_module()?, net.train_graph_module()?];
    in_both_modes((&vs, &net), graphs, &[value(&ids)], |net, train| vec![net.forward_t(&ids, train)])
}

#[test]
fn bert_base() -> Result<(), Error> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (ids, (vs, net)) = (weights::tokens(2, 16, BertModel::VOCABULARY), model(BertModel::new));
    let mask = ids.ones_like();
    let _ = mask.select(0, 1).narrow(0, 10, 6).fill_(0);
    let inputs = [value(&ids), value(Some(&mask)), value(None::<&Tensor>)];
    let graphs = [net.graph_module()?, net.train_graph_module()?];
    in_both_modes((&vs, &net), graphs, &inputs, |net, train| {
        let (hidden, pooled) = net.forward_t(&ids, Some(&mask), None, train);
        vec![hidden, pooled]
    })
}

/// Its dropout is of rate 0, so that both modes compute the same.
#[test]
fn vit_b_16() -> Result<(), Error> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (vs, net) = model(|p| VitB16::new(p, 10));
    let (xs, of) = (weights::input(1, 224), (&vs, &net));
    agree(of, &net.graph_module()?, &[value(&xs)], || vec![net.forward_t(&xs, false)])?;
    agree(of, &net.train_graph_module()?, &[value(&xs)], || vec![net.forward_t(&xs, true)])?;
    Ok(())
}

/// ResNet-18 in both of its spellings: batch norms follow the mode that they keep.
#[test]
fn resnet18() -> Result<(), Error> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (xs, (vs, net)) = (weights::input(2, 64), model(|p| ResNet18::new(p, 10)));
    let (torchvision_vs, torchvision) = model(|p| ResNet::new(p, 10));
    let (graph, its_graph) = (net.graph_module()?, torchvision.graph_module()?);
    for train in [false, true] {
        net.set_training(train);
        torchvision.set_training(train);
        for graph in [&graph, &its_graph] {
            if train { graph.train() } else { graph.eval() }
        }
        agree((&vs, &net), &graph, &[value(&xs)], || vec![net.forward(&xs)])?;
        agree((&torchvision_vs, &torchvision), &its_graph, &[value(&xs)], || vec![torchvision.forward(&xs)])?;
    }
    Ok(())
}

/// A loop that ends where the longest sentence does, which an input decides.
#[test]
fn tagger() -> Result<(), Error> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let words = weights::tokens(2, 12, 999) + 1;
    let _ = words.narrow(1, 9, 3).fill_(PADDING);
    let (vs, net) = model(|p| Tagger::new(p, 1000, 32, 17));
    let found = agree((&vs, &net), &net.graph_module()?, &[value(&words)], || vec![net.forward(&words)])?;
    assert_eq!(found.results[0].size(), [2, 9, 17]);
    Ok(())
}
