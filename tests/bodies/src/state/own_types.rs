//! Values of the program's own types that opaque code reads and writes: they are saved where every part of them can be.

use std::collections::BTreeSet;

use fx_runtime::frozen::State;
use fx_runtime::{Module, Tensor, nn, traceable};

/// What calls have seen so far.
#[derive(Debug, Clone, Default, State)]
pub struct Tally {
    calls: i64,
    seen: Vec<i64>,
}

impl Tally {
    fn note(&mut self, rows: i64) -> i64 {
        self.calls += 1;
        let seen = &mut self.seen;
        seen.push(rows);
        seen.iter().sum::<i64>() + self.calls
    }
}

/// Plain data.
#[derive(Debug, Clone, State)]
pub struct Plan {
    widths: Vec<i64>,
    order: Order,
}

#[derive(Debug, Clone, Copy, State)]
pub enum Order {
    Rising,
    Falling { from: i64 },
}

impl Plan {
    fn factor(&self) -> f64 {
        let widths: BTreeSet<i64> = self.widths.iter().copied().collect();
        match self.order {
            Order::Rising => widths.into_iter().next().unwrap_or(1) as f64,
            Order::Falling { from } => widths.into_iter().rev().find(|width| *width < from).unwrap_or(1) as f64,
        }
    }
}

#[derive(Debug, Module)]
pub struct Step {
    fc: nn::Linear,
    gain: f64,
}

#[derive(Debug, Module)]
pub struct Planned {
    steps: Vec<Step>,
    plan: Plan,
    #[module(skip)]
    tally: Tally,
}

impl Planned {
    fn new(p: &nn::Path) -> Self {
        let fc = |at: usize| nn::linear(p / "steps" / at, 8, 8, nn::LinearConfig::default());
        let steps = [0.5, 2.0, 1.0].into_iter().enumerate().map(|(at, gain)| Step { fc: fc(at), gain }).collect();
        let plan = Plan { widths: vec![3, 1, 2], order: Order::Falling { from: 3 } };
        Self { steps, plan, tally: Tally::default() }
    }
}

#[traceable]
impl Planned {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let mut order: Vec<&Step> = self.steps.iter().collect();
        order.sort_by(|a, b| a.gain.total_cmp(&b.gain));
        let ys = order.iter().fold(xs.shallow_clone(), |ys, step| ys.apply(&step.fc).tanh() * step.gain);
        let rows: i64 = self.tally.note(xs.size()[0]);
        ys * self.plan.factor() + rows as f64
    }
}

#[cfg(test)]
mod tests {
    use fx_runtime::Freeze;

    use super::*;
    use crate::check::{Close, here, in_a_row, randn, root, understood};

    understood!(Planned: 5 of 21);

    #[test]
    fn opaque_code_reads_and_writes_them() {
        in_a_row!(Planned::new, vec![randn(&[2, 8]), randn(&[3, 8])]);
    }

    #[test]
    fn they_are_saved() {
        let (_vs, mut model) = root(Planned::new);
        let xs = randn(&[3, 8]);
        let _ = tch::no_grad(|| model.forward(&xs));
        let mut frozen = model.freeze(&Freeze::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("frozen.safetensors");
        frozen.save(&path).unwrap();
        let expected = [frozen.forward(&xs), frozen.forward(&xs)];
        let mut loaded = PlannedFrozen::load(&path, &here()).unwrap();
        [loaded.forward(&xs), loaded.forward(&xs)].close(&expected);
        loaded.reset_state().unwrap();
        loaded.forward(&xs).close(&expected[0]);
    }
}
