//! Values behind pointers that code which is not understood reads, and elements of lists at places.

use std::rc::Rc;
use std::sync::Arc;

use fx_runtime::{Module, Tensor, nn, traceable};

#[derive(Debug, Clone)]
pub struct Plan {
    width: i64,
    scale: f64,
    names: Vec<String>,
}

#[derive(Debug, Module)]
pub struct Counts {
    fc: nn::Linear,
}

impl Counts {
    fn counted(&self, xs: &Tensor, names: &[String]) -> Tensor {
        let marked = names.iter().filter(|name| name.ends_with('b')).count() as i64;
        xs.apply(&self.fc) + marked
    }
}

/// Plans and parts behind every pointer.
#[derive(Debug, Module)]
pub struct SharedPlans {
    near: Rc<Counts>,
    shared: Arc<Counts>,
    boxed: Box<Counts>,
    list: Vec<Arc<Counts>>,
    plan: Rc<Plan>,
    other: Arc<Plan>,
    perhaps: Option<Rc<Plan>>,
}

#[cfg(test)]
crate::check::understood!(SharedPlans: 13 of 43);
#[traceable]
impl SharedPlans {
    pub fn forward(&self, xs: &Tensor, names: &[String]) -> Tensor {
        let mut ys = self.near.counted(xs, names) + self.shared.counted(xs, names) + self.boxed.counted(xs, names);
        for part in self.list.iter() {
            ys = part.counted(&ys, names);
        }
        if self.plan.names.iter().any(|name| name.starts_with('b')) && self.other.names.len() > 1 {
            ys = ys + self.other.width;
        }
        if self.perhaps.as_ref().is_some_and(|plan| plan.names.iter().any(|name| name.starts_with('a'))) {
            ys = ys.tanh();
        }
        ys * self.plan.scale
    }
}

/// What a call keeps for the next.
#[derive(Debug)]
pub struct Kept {
    pub k: Tensor,
    pub at: i64,
}

#[derive(Debug, Module)]
pub struct Ends {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Ends {
    pub fn forward(&self, xs: &Tensor, kept: &mut Vec<Kept>) -> Tensor {
        let first = kept.first().map(|one| one.at).unwrap_or(0);
        let last = kept.last().map_or(1, |one| one.at + 1);
        let mut ys = xs.apply(&self.fc) + first * 2 + last;
        for one in kept.iter_mut() {
            one.at += 1;
            one.k = &one.k + 1.0;
            ys = ys + &one.k;
        }
        ys
    }
}

#[derive(Debug, Module)]
pub struct SharedCache {
    scale: f64,
    #[module(skip)]
    kept: Option<Tensor>,
    #[module(skip)]
    kvs: Vec<Option<(Tensor, Tensor)>>,
}
#[traceable]
impl SharedCache {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        self.kvs[0]
            .get_or_insert_with(|| (self.kept.get_or_insert_with(|| xs.sin()).shallow_clone(), xs - self.scale))
            .0 += 1.0;
        self.kept.as_ref().map_or_else(|| xs.neg(), |one| one * 1.0)
    }
}

#[derive(Debug, Module)]
pub struct SharedState {
    #[module(skip)]
    kept: Option<Tensor>,
    #[module(skip)]
    kv: Option<Tensor>,
}
#[traceable]
impl SharedState {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        if self.kept.is_none() {
            self.kept = Some(xs.sin());
            self.kv = Some(self.kept.as_ref().unwrap().shallow_clone());
        }
        if let Some(kv) = self.kv.as_mut() {
            *kv += 1.0;
        }
        self.kept.as_ref().map_or_else(|| xs.neg(), |one| one * 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, in_a_row, number, randn};

    fn linear(p: &nn::Path, name: &str) -> nn::Linear {
        nn::linear(p / name, 4, 4, Default::default())
    }

    #[test]
    fn planned() {
        let names: Vec<String> = vec!["a".into(), "b".into()];
        let plan = || Plan { width: 3, scale: 0.5, names: names.clone() };
        let counts = |p: &nn::Path, name: &str| Counts { fc: linear(p, name) };
        let make = |p: &nn::Path| SharedPlans {
            near: Rc::new(counts(p, "near")),
            shared: Arc::new(counts(p, "shared")),
            boxed: Box::new(counts(p, "boxed")),
            list: vec![Arc::new(counts(p, "list"))],
            plan: Rc::new(plan()),
            other: Arc::new(plan()),
            perhaps: Some(Rc::new(plan())),
        };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs, &["ab".to_owned()]));
    }

    #[test]
    fn ends() {
        let (_vs, net) = crate::check::root(|p: &nn::Path| Ends { fc: linear(p, "fc") });
        let frozen = net.freeze(&fx_runtime::Freeze::default()).expect("a frozen model");
        for count in 0..3 {
            let kept = || (0..count).map(|at| Kept { k: number(at as f32).expand([2, 4], false), at }).collect();
            let (mut eager, mut ours): (Vec<Kept>, Vec<Kept>) = (kept(), kept());
            for _ in 0..2 {
                let xs = randn(&[2, 4]);
                let (ys, expected) = (frozen.forward(&xs, &mut ours), net.forward(&xs, &mut eager));
                assert!(ys.allclose(&expected, 1e-5, 1e-6, false));
            }
            for (a, b) in ours.iter().zip(&eager) {
                assert_eq!((a.at, &a.k), (b.at, &b.k));
            }
        }
    }

    #[test]
    fn state_that_shares_memory() {
        let inputs = || vec![randn(&[2, 8]), randn(&[2, 8])];
        in_a_row!(|_p: &nn::Path| SharedCache { scale: 0.5, kept: None, kvs: vec![None, None] }, inputs());
        in_a_row!(|_p: &nn::Path| SharedState { kept: None, kv: None }, inputs());
    }
}
