//! Recurrences by `scan`, whose state is a variable of the loop's, and iterators that a closure ends.

use fx_runtime::{IndexOp, Module, Tensor, nn, traceable};

#[derive(Debug, Module)]
pub struct Recurrence {
    out: nn::Linear,
}

#[traceable(strict)]
impl Recurrence {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let start = xs.i((.., 0)).zeros_like();
        let ys: Vec<Tensor> = xs
            .unbind(1)
            .into_iter()
            .scan(start, |h, x| {
                *h = (&*h * 0.5 + x).tanh();
                Some(h.shallow_clone())
            })
            .collect();
        Tensor::stack(&ys, 1).apply(&self.out)
    }
}

/// A state of two parts, each behind a reference of its own, and one of a tensor and a number.
#[derive(Debug, Module)]
pub struct StateOfParts {
    h: nn::Linear,
}

#[traceable(strict)]
impl StateOfParts {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (h, c) = (xs.i((.., 0)).zeros_like(), xs.i((.., 0)).ones_like());
        let gated = xs.unbind(1).into_iter().scan((h, c), |(h, c), x| {
            let gate = x.apply(&self.h).sigmoid();
            *c = &*c * &gate + x.tanh();
            *h = c.tanh() * &gate;
            Some(h.shallow_clone())
        });
        let gated: Vec<Tensor> = gated.collect();
        let counted: Vec<Tensor> = xs
            .unbind(1)
            .iter()
            .scan((xs.i((.., 0)).zeros_like(), 0i64), |state, x| {
                state.1 += 1;
                state.0 = (&state.0 + x) * state.1;
                Some(state.0.tanh())
            })
            .map(|y| y.apply(&self.h))
            .collect();
        Tensor::stack(&gated, 1) + Tensor::stack(&counted, 1)
    }
}

/// The closure ends the iterator, changes the state where it lies, takes it out, and has a variable of the state's name around
/// it.
#[derive(Debug, Module)]
pub struct EndedScan {
    layers: Vec<nn::Linear>,
}

#[traceable(strict)]
impl EndedScan {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let state = xs.sigmoid();
        let mut ys = xs.relu();
        for (n, by) in [2i64, 3, 4]
            .iter()
            .scan(1i64, |state, by| {
                *state *= by;
                if *state > 6 { None } else { Some(*state) }
            })
            .enumerate()
        {
            ys = ys.apply(&self.layers[0]) * by + n as i64;
        }
        let sums: Vec<Tensor> = xs
            .unbind(1)
            .into_iter()
            .zip(state.unbind(1))
            .scan(xs.i((.., 0)).copy(), |state, (x, gate)| {
                *state += x * gate;
                Some(state.copy())
            })
            .collect();
        let before: Vec<Tensor> = xs
            .unbind(1)
            .into_iter()
            .scan(state.i((.., 0)), |state, x| {
                let before = std::mem::replace(state, x);
                Some(before + &*state)
            })
            .take(4)
            .collect();
        let mut zs = state * Tensor::stack(&before, 1);
        for sum in sums.iter().map_while(|sum| (sum.size().len() == 1).then(|| sum.relu())) {
            zs = zs + sum.unsqueeze(1);
        }
        ys + zs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    #[test]
    fn recurrences() {
        let make = |p: &nn::Path| Recurrence { out: nn::linear(p / "out", 4, 4, Default::default()) };
        agree!(make, [randn(&[2, 3, 4]), randn(&[2, 1, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn states_of_parts() {
        let make = |p: &nn::Path| StateOfParts { h: nn::linear(p / "h", 4, 4, Default::default()) };
        agree!(make, [randn(&[2, 3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn ended_scans() {
        let layers = |p: &nn::Path| vec![nn::linear(p / 0, 4, 4, Default::default())];
        agree!(|p: &nn::Path| EndedScan { layers: layers(p) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }
}
