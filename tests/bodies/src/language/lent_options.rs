//! Lists of options of references: gathered from lists of options, pushed, handed to operators as indices.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

/// Hidden states at the places that a mask names, as a Longformer gathers its global tokens.
#[derive(Debug, Module)]
pub struct GatheredIndices {
    query: nn::Linear,
    width: i64,
}

impl GatheredIndices {
    fn gathered(&self, hidden: &Tensor, most: i64, found: &[Option<Tensor>], local: &[Option<Tensor>]) -> Tensor {
        let batch = hidden.size()[1];
        let mut states = Tensor::zeros([most, batch, self.width], (hidden.kind(), hidden.device()));
        let _ = states.index_put_(
            local.iter().rev().map(|at| at.as_ref()).collect::<Vec<Option<&Tensor>>>().as_slice(),
            &hidden.index(found.iter().rev().map(|at| at.as_ref()).collect::<Vec<Option<&Tensor>>>().as_slice()),
            false,
        );
        states.apply(&self.query).relu()
    }
}

#[traceable]
impl GatheredIndices {
    pub fn forward(&self, hidden: &Tensor, mask: &Tensor) -> Tensor {
        let count = mask.sum_dim_intlist([1].as_slice(), false, Kind::Int64);
        let most = i64::try_from(count.max()).unwrap();
        let found = mask.nonzero_numpy().into_iter().map(Some).collect::<Vec<Option<Tensor>>>();
        let is_local = Tensor::arange(most, (Kind::Int64, mask.device())).lt_tensor(&count.unsqueeze(-1));
        let local = is_local.nonzero_numpy().into_iter().map(Some).collect::<Vec<Option<Tensor>>>();
        self.gathered(hidden, most, &found, &local)
    }
}

/// A list of which the type is written, and one of which it is not.
#[derive(Debug, Module)]
pub struct PushedOptions {
    fc: nn::Linear,
}

#[traceable]
impl PushedOptions {
    pub fn forward(&self, xs: &Tensor, parts: &[Option<Tensor>]) -> Tensor {
        let mut lent: Vec<Option<&Tensor>> = Vec::new();
        for part in parts.iter() {
            lent.push(part.as_ref());
        }
        let mut ys = xs.apply(&self.fc);
        if let Some(Some(last)) = lent.last() {
            ys = ys + *last;
        }
        ys
    }
}

/// What opaque code pushes to such lists, and reads from them.
#[derive(Debug, Module)]
pub struct MixedOptions {
    fc: nn::Linear,
}

#[traceable]
impl MixedOptions {
    pub fn forward(&self, xs: &Tensor, parts: &[Option<Tensor>], extra: Option<&Tensor>) -> Tensor {
        let zs = xs.apply(&self.fc);
        let mut lent = Vec::new();
        for part in parts.iter() {
            lent.push(part.as_ref());
            lent.push(Some(&zs));
        }
        lent.push(None);
        let mut others: Vec<Option<&Tensor>> = Vec::new();
        others.push(Some(&zs));
        others.push(None);
        others.push(extra);
        let count = lent.iter().filter(|one| one.is_none()).count() as i64;
        let mut ys = zs.shallow_clone() * count;
        for one in lent.into_iter().chain(others).flatten() {
            ys = ys + one;
        }
        ys
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(MixedOptions: 2 of 11);

    fn parts() -> Vec<Option<Tensor>> {
        vec![Some(randn(&[2, 4])), None, Some(randn(&[2, 4]))]
    }

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    #[test]
    fn indices() {
        let mask = |rows: &[[i64; 5]; 2]| Tensor::from_slice2(rows).to_kind(Kind::Bool);
        let cases = [
            (randn(&[5, 2, 4]), mask(&[[1, 1, 0, 0, 0], [1, 0, 0, 0, 1]])),
            (randn(&[5, 2, 4]), mask(&[[0, 0, 1, 0, 0], [1, 1, 0, 1, 0]])),
        ];
        let make = |p: &nn::Path| GatheredIndices { query: linear(p), width: 4 };
        agree!(make, cases, |net, (hidden, mask)| net.forward(hidden, mask));
    }

    #[test]
    fn what_is_pushed() {
        let cases = [(randn(&[2, 4]), parts()), (randn(&[2, 4]), Vec::new()), (randn(&[2, 4]), vec![None])];
        agree!(|p: &nn::Path| PushedOptions { fc: linear(p) }, cases, |net, (xs, parts)| net.forward(xs, parts));
    }

    #[test]
    fn what_opaque_code_pushes() {
        let cases = [(randn(&[2, 4]), parts(), Some(randn(&[2, 4]))), (randn(&[2, 4]), vec![None], None)];
        agree!(|p: &nn::Path| MixedOptions { fc: linear(p) }, cases, |net, (xs, parts, extra)| net.forward(
            xs,
            parts,
            extra.as_ref()
        ));
    }
}
