//! Fallible calls inside lists and options, and errors of one's own behind `map_err` and `ok_or_else`.

use fx_runtime::{Device, Kind, Module, Tensor, nn, traceable};
use tch::TchError;

#[derive(Debug)]
pub enum Fault {
    Shape { expected: Vec<i64>, got: Vec<i64> },
    Missing(String),
    Torch(TchError),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Fault {}

impl From<TchError> for Fault {
    fn from(error: TchError) -> Fault {
        Fault::Torch(error)
    }
}

/// Lists whose type the variable says, and an option with a fallible function on what it holds.
#[derive(Debug, Module)]
pub struct Gathered {
    fc: nn::Linear,
}

impl Gathered {
    fn step(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        let ys = xs.f_relu()?;
        ys.f_add_scalar(1.0)
    }
}

#[traceable(strict)]
impl Gathered {
    pub fn forward(&self, xs: &Tensor, mask: Option<&Tensor>) -> Result<Tensor, TchError> {
        let all = (0..3).map(|at| xs.f_add_scalar(at as f64)).collect::<Result<Vec<_>, TchError>>()?;
        let more: Vec<Tensor> = all.iter().map(|ys| ys.apply(&self.fc).f_relu()).collect::<Result<_, _>>()?;
        let mask = mask.map(|mask| mask.f_logical_not()).transpose()?;
        let rest = mask.as_ref().map(|mask| self.step(mask)).transpose()?;
        let ys = Tensor::f_stack(&more, 0)?;
        match (mask, rest) {
            (Some(mask), Some(rest)) => ys.f_masked_fill(&mask, 0.0)?.f_add(&rest),
            _ => Ok(ys),
        }
    }
}

#[derive(Debug)]
enum Output {
    Embedding(Tensor),
    Encoding(Tensor, Tensor),
}

impl Output {
    fn tensor(&self) -> &Tensor {
        match self {
            Output::Embedding(xs) => xs,
            Output::Encoding(xs, _) => xs,
        }
    }
}

/// A method of an enum named where a closure stands.
#[derive(Debug, Module)]
pub struct ByPath {
    fc: nn::Linear,
}

#[traceable(strict)]
impl ByPath {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let all = vec![Output::Embedding(xs.shallow_clone()), Output::Encoding(xs.apply(&self.fc), xs.relu())];
        let tensors = all.iter().map(Output::tensor).collect::<Vec<_>>();
        Tensor::stack(&tensors, 0)
    }
}

fn labels(given: Option<Tensor>) -> Result<Vec<i32>, Fault> {
    let labels = given.ok_or_else(|| Fault::Missing("labels".to_owned()))?;
    Vec::<i32>::try_from(&labels.to_device(Device::Cpu)).map_err(Fault::Torch)
}

fn added(a: &Tensor, b: &Tensor) -> Result<Tensor, Fault> {
    if a.size() != b.size() {
        return Err(Fault::Shape { expected: a.size(), got: b.size() });
    }
    Ok(a + b)
}

/// Errors of one's own, in helpers and in the forward.
#[derive(Debug, Module)]
pub struct OwnFaults {
    fc: nn::Linear,
}

#[traceable(strict)]
impl OwnFaults {
    pub fn forward(&self, xs: &Tensor, ys: &Tensor) -> Result<Tensor, Fault> {
        if xs.dim() != 2 {
            return Err(Fault::Shape { expected: vec![-1, 4], got: xs.size() });
        }
        let found = labels(Some(xs.flatten(0, -1).to_kind(Kind::Int)))?;
        let zs = added(xs, ys)?;
        Ok(zs.apply(&self.fc) * found.len() as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, not_interpreted, randn};

    not_interpreted!(OwnFaults: "is one number");

    fn fc(p: &nn::Path) -> nn::Linear {
        nn::linear(p / "fc", 4, 4, Default::default())
    }

    #[test]
    fn gathered() {
        let cases = [(randn(&[2, 4]), None), (randn(&[2, 4]), Some(randn(&[2, 4]).gt(0.0)))];
        agree!(|p: &nn::Path| Gathered { fc: fc(p) }, cases, |net, (xs, mask)| net.forward(xs, mask.as_ref()));
    }

    #[test]
    fn by_path() {
        agree!(|p: &nn::Path| ByPath { fc: fc(p) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn own_faults() {
        let cases = [
            (randn(&[2, 4]), randn(&[2, 4])),
            (randn(&[2, 4]), randn(&[3, 4])),
            (randn(&[2, 2, 4]), randn(&[2, 2, 4])),
        ];
        agree!(|p: &nn::Path| OwnFaults { fc: fc(p) }, cases, |net, (xs, ys)| net.forward(xs, ys));
    }
}
