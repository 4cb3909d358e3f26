//! Maps of tensors as inputs, looked into by name or by number.

use std::collections::{BTreeMap, HashMap};

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

#[derive(Debug)]
pub enum Fault {
    Missing(String),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Fault {}

/// Features by name, some of which may be missing.
#[derive(Debug, Module)]
pub struct Named {
    dense: nn::Linear,
    names: Vec<String>,
}

impl Named {
    fn looked_up<'a>(&self, inputs: &'a HashMap<String, Tensor>, name: &str) -> Result<&'a Tensor, Fault> {
        inputs.get(name).ok_or_else(|| Fault::Missing(name.to_owned()))
    }
}

#[traceable]
impl Named {
    pub fn forward(&self, inputs: &HashMap<String, Tensor>) -> Result<Tensor, Fault> {
        let first = inputs.get("first").ok_or_else(|| Fault::Missing("first".into()))?;
        let mut all = vec![first.apply(&self.dense)];
        for name in &self.names {
            if let Some(xs) = inputs.get(name) {
                all.push(xs.apply(&self.dense).relu());
            }
        }
        if inputs.contains_key("last") {
            all.push(&inputs["last"] * 2.0);
        }
        let second = self.looked_up(inputs, "second")?;
        all.push(second.softmax(-1, Kind::Float));
        Ok(Tensor::cat(&all, 0))
    }
}

/// Tensors by number.
#[derive(Debug, Module)]
pub struct Numbered {
    fc: nn::Linear,
}

#[traceable]
impl Numbered {
    pub fn forward(&self, levels: &BTreeMap<usize, Tensor>, others: &HashMap<i64, Tensor>) -> Tensor {
        let first = &levels[&0];
        let mut ys = first.apply(&self.fc);
        if let Some(second) = levels.get(&1) {
            ys = ys - second;
        }
        ys = ys + levels.get(&2).unwrap_or(first).tanh();
        let n = ys.size()[0];
        match others.get(&n) {
            Some(other) => ys * other,
            None => ys.neg(),
        }
    }
}

/// Tensors by borrowed names.
#[derive(Debug, Module)]
pub struct Batch {
    fc: nn::Linear,
    names: Vec<String>,
}

#[traceable(strict)]
impl Batch {
    pub fn forward(&self, batch: &BTreeMap<&str, Tensor>, others: &HashMap<&'static str, Tensor>) -> Tensor {
        let ids = &batch["ids"];
        let mask = batch.get("mask").map(|mask| mask.to_kind(Kind::Float)).unwrap_or_else(|| ids.ones_like());
        let mut ys = ids.apply(&self.fc) * mask;
        for name in &self.names {
            if let Some(other) = others.get(name.as_str()) {
                ys = ys + other;
            }
        }
        if others.contains_key("scale") { ys * &others["scale"] } else { ys.relu() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    fn of(names: &[&str], tensors: &[&Tensor]) -> HashMap<String, Tensor> {
        names.iter().zip(tensors).map(|(name, xs)| ((*name).to_owned(), xs.shallow_clone())).collect()
    }

    #[test]
    fn named() {
        let make = |p: &nn::Path| Named {
            dense: nn::linear(p / "dense", 4, 4, Default::default()),
            names: vec!["second".to_owned(), "third".to_owned()],
        };
        let cases = [(randn(&[2, 4]), randn(&[3, 4]))];
        agree!(make, cases, |net, (a, b)| net.forward(&of(&["first", "second", "last"], &[a, b, b])));
        agree!(make, cases, |net, (a, b)| net.forward(&of(&["first", "second"], &[a, b])));
        agree!(make, cases, |net, (a, b)| net.forward(&of(&["first", "third"], &[a, b])));
        agree!(make, cases, |net, (a, b)| net.forward(&of(&["second"], &[a])));
    }

    #[test]
    fn numbered() {
        let make = |p: &nn::Path| Numbered { fc: nn::linear(p / "fc", 4, 4, Default::default()) };
        let cases = [(randn(&[2, 4]), randn(&[2, 4]))];
        agree!(make, cases, |net, (a, b)| net.forward(
            &BTreeMap::from([(0, a.shallow_clone()), (2, b.shallow_clone())]),
            &HashMap::from([(2, b.shallow_clone())])
        ));
        agree!(make, cases, |net, (a, b)| net.forward(&BTreeMap::from([(0, a.shallow_clone())]), &HashMap::new()));
    }

    #[test]
    fn by_borrowed_names() {
        let make = |p: &nn::Path| Batch {
            fc: nn::linear(p / "fc", 4, 4, Default::default()),
            names: vec!["first".to_owned(), "second".to_owned()],
        };
        let cases = [(randn(&[2, 4]), randn(&[2, 4]))];
        agree!(make, cases, |net, (a, b)| net.forward(
            &BTreeMap::from([("ids", a.shallow_clone()), ("mask", b.shallow_clone())]),
            &HashMap::from([("second", b.shallow_clone()), ("scale", a.shallow_clone())])
        ));
        agree!(make, cases, |net, (a, b)| net
            .forward(&BTreeMap::from([("ids", a.shallow_clone())]), &HashMap::from([("first", b.shallow_clone())])));
    }
}
