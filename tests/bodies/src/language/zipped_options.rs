//! Two options at once: `Option::zip`, and what is done to both where both are there.

use fx_runtime::{Module, Tensor, nn, traceable};

#[derive(Debug, Module)]
pub struct Zipped {
    te: Option<nn::Linear>,
    fc: nn::Linear,
}
#[traceable]
impl Zipped {
    pub fn forward(&self, xs: &Tensor, t: Option<&Tensor>) -> Tensor {
        let ys = xs.apply(&self.fc);
        match self.te.as_ref().zip(t).map(|(te, t)| t.apply(te)) {
            Some(t) => ys + t,
            None => ys,
        }
    }
}

#[derive(Debug, Module)]
pub struct ZipLet {
    te: Option<nn::Linear>,
    l: nn::Linear,
}
#[traceable]
impl ZipLet {
    pub fn forward(&self, xs: &Tensor, t: Option<&Tensor>) -> Tensor {
        let ys = xs.apply(&self.l).relu();
        let ys = if let Some((te, t)) = self.te.as_ref().zip(t) { ys + t.apply(te) } else { ys };
        let both = t.zip(t).map_or(0.5, |(a, b)| a.size()[0] as f64);
        ys * both
    }
}

/// Options that are computed, some of them of numbers without a suffix.
#[derive(Debug, Module)]
pub struct ZippedValues {
    fc: nn::Linear,
    flag: bool,
}

fn rows(xs: &Tensor) -> Option<i64> {
    if xs.size()[0] > 2 { Some(xs.size()[0]) } else { None }
}

fn scaled(xs: &Tensor, by: Option<i64>) -> Tensor {
    let once = Some(xs).zip(Some(by.unwrap_or(3))).map(|(xs, n)| xs * n);
    let twice = Some(xs).zip(by).map(|(xs, n)| xs * (n % 3));
    once.zip(twice).map_or_else(|| xs.neg(), |(once, twice)| once - twice)
}

#[traceable(strict)]
impl ZippedValues {
    pub fn forward(&self, xs: &Tensor, t: Option<&Tensor>) -> Tensor {
        let ys = scaled(&xs.apply(&self.fc), self.flag.then(|| 2));
        let both = t.zip(rows(xs).map(|n| n + 1));
        let ys = match both {
            Some((t, n)) if n > 3 => ys * n + t,
            Some((t, _)) => ys - t,
            None => ys,
        };
        let ys = match t.zip(self.flag.then(|| 0.5)) {
            Some((t, by)) => ys + t * by,
            None => ys.tanh(),
        };
        if let Some((t, n)) = t.zip(rows(&ys)) { ys + t * n } else { ys }
    }
}

/// Code that is not understood adds to the tensor of an option, alone and of two.
#[derive(Debug, Module)]
pub struct AddedInside {
    fc: nn::Linear,
}

fn settled(xs: &Tensor, t: &Tensor, n: usize) -> Tensor {
    let ys: Tensor = std::iter::successors(Some(t + xs), |one| (one.dim() > n).then(|| one.neg())).last().unwrap();
    ys.relu()
}

#[traceable]
impl AddedInside {
    pub fn forward(&self, xs: &Tensor, t: Option<&Tensor>) -> Option<Tensor> {
        let ys = xs.apply(&self.fc);
        let alone = t.map(|t| settled(&ys, t, 3));
        let both = t.zip((xs.size()[0] > 1).then(|| 4)).map(|(t, n)| settled(&ys, t, n));
        alone.zip(both).map(|(alone, both)| alone - both * 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(AddedInside: 7 of 23);

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 8, 8, Default::default())
    }

    fn cases() -> [(Tensor, Option<Tensor>); 2] {
        [(randn(&[2, 8]), None), (randn(&[2, 8]), Some(randn(&[2, 8])))]
    }

    #[test]
    fn zipped() {
        for has in [true, false] {
            let make = |p: &nn::Path| Zipped { te: has.then(|| linear(p / "te")), fc: linear(p / "fc") };
            agree!(make, cases(), |net, (xs, t)| net.forward(xs, t.as_ref()));
            let make = |p: &nn::Path| ZipLet { te: has.then(|| linear(p / "te")), l: linear(p / "l") };
            agree!(make, cases(), |net, (xs, t)| net.forward(xs, t.as_ref()));
        }
    }

    #[test]
    fn zipped_values() {
        for flag in [true, false] {
            let make = |p: &nn::Path| ZippedValues { fc: linear(p / "fc"), flag };
            let longer = (randn(&[3, 8]), Some(randn(&[3, 8])));
            let [none, short] = cases();
            agree!(make, [none, short, longer], |net, (xs, t)| net.forward(xs, t.as_ref()));
        }
    }

    #[test]
    fn added_inside() {
        let make = |p: &nn::Path| AddedInside { fc: linear(p / "fc") };
        agree!(make, cases(), |net, (xs, t)| net.forward(xs, t.as_ref()));
    }
}
