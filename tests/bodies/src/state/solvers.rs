//! Solvers that keep what they were given, and results that are references into the model.

use fx_runtime::{Module, Tensor, nn, traceable};

/// A multistep solver: it keeps the last slopes, and finds its place by the time that it is given.
#[derive(Debug, Module)]
pub struct Multistep {
    times: Vec<f64>,
    widths: Vec<f64>,
    order: usize,
    #[module(skip)]
    slopes: Vec<Tensor>,
    #[module(skip)]
    first: Option<Tensor>,
}

impl Multistep {
    fn place(&self, time: f64) -> usize {
        let places = self.times.iter().enumerate().filter_map(|(at, &t)| (t == time).then_some(at)).collect::<Vec<_>>();
        if self.slopes.is_empty() { places[0] } else { *places.last().unwrap() }
    }
}

#[traceable(entry = "step")]
impl Multistep {
    pub fn step(&mut self, slope: &Tensor, time: f64, xs: &Tensor) -> Tensor {
        let width = self.widths[self.place(time)];
        let later = self.times.iter().position(|&t| t < time).unwrap_or(self.times.len() - 1);
        if self.slopes.len() >= self.order {
            self.slopes.drain(0..self.slopes.len() + 1 - self.order);
        }
        self.slopes.push(slope.shallow_clone());
        let (last, count) = (self.slopes.last().unwrap(), self.slopes.len());
        if self.first.is_none() {
            self.first = Some(xs.shallow_clone());
        }
        let mixed = if count == 1 { last * 1.0 } else { (3. * last - &self.slopes[count - 2]) / 2. };
        xs + mixed * (width - self.widths[later]) + self.first.as_ref().unwrap() * 0.5
    }
}

/// Its result is lent by the model.
#[derive(Debug, Module)]
pub struct Drift {
    state: Tensor,
    by: f64,
}

#[traceable(entry = "next")]
impl Drift {
    pub fn next(&mut self, xs: &Tensor) -> &Tensor {
        self.state += xs * self.by;
        &self.state
    }
}

/// So is this one's, which is one of its weights or an input.
#[derive(Debug, Module)]
pub struct Pick {
    table: nn::Embedding,
    limit: i64,
}

#[traceable]
impl Pick {
    pub fn forward<'a>(&'a self, xs: &'a Tensor) -> &'a Tensor {
        if xs.size()[0] > self.limit { xs } else { &self.table.ws }
    }
}

/// Of what it lends in pairs there is no frozen form; the rest of the crate has its own.
#[derive(Debug, Module)]
pub struct LentPair {
    fc: nn::Linear,
}

#[traceable]
impl LentPair {
    pub fn forward<'a>(&'a self, xs: &'a Tensor) -> (&'a Tensor, &'a Tensor) {
        (xs, &self.fc.ws)
    }
}

#[cfg(test)]
mod tests {
    use fx_runtime::Freeze;

    use super::*;
    use crate::check::{Close, here, randn, root, understood};

    understood!(Multistep: 8 of 14);
    understood!(LentPair: 0 of 1);

    #[test]
    fn a_solver_finds_its_place_and_forgets() {
        let mut model = Multistep {
            times: vec![9.0, 6.0, 6.0, 3.0, 0.0],
            widths: vec![0.5, 0.4, 0.3, 0.2, 0.1],
            order: 2,
            slopes: Vec::new(),
            first: None,
        };
        let mut frozen = model.freeze(&here()).unwrap();
        for time in [9.0, 6.0, 6.0, 3.0, 0.0] {
            let (slope, xs) = (randn(&[2, 3]), randn(&[2, 3]));
            frozen.step(&slope, time, &xs).close(&model.step(&slope, time, &xs));
        }
        assert_eq!(model.slopes.len(), 2);
    }

    #[test]
    fn what_the_model_lends_the_frozen_one_hands_over() {
        let (_vs, mut model) = root(|p| Drift { state: p.ones("state", &[3]).detach(), by: 0.5 });
        let mut frozen = model.freeze(&Freeze::default()).unwrap();
        for _ in 0..3 {
            let xs = randn(&[3]);
            let found: Tensor = frozen.next(&xs);
            found.close(model.next(&xs));
        }
        let (_vs, model) = root(|p| Pick { table: nn::embedding(p / "table", 3, 4, Default::default()), limit: 3 });
        let frozen = model.freeze(&Freeze::default()).unwrap();
        for rows in [2, 5] {
            let xs = randn(&[rows, 4]);
            frozen.forward(&xs).close(model.forward(&xs));
        }
    }

    #[test]
    fn a_report_says_why_there_is_no_frozen_type() {
        let report = include_str!(concat!(env!("OUT_DIR"), "/fx/report.txt"));
        let line = report.lines().find(|line| line.contains("`LentPair`")).unwrap();
        assert!(line.contains("a frozen type lends nothing"), "{line}");
    }
}
