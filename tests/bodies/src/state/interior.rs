//! State behind a shared reference: `RefCell` and `Cell` fields of a forward by `&self`.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, RwLock};

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

/// A cell of two tensors that every call writes.
#[derive(Debug, Module)]
pub struct Replaced {
    fc: nn::Linear,
    last: RefCell<Option<(Tensor, Tensor)>>,
}

#[traceable(strict)]
impl Replaced {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc).relu();
        let last = self.last.replace(Some((ys.shallow_clone(), xs.shallow_clone())));
        if let Some((a, b)) = last { ys + a * b } else { ys }
    }
}

/// Attention with keys and values of earlier calls, as decoders of speech models keep them.
#[derive(Debug, Module)]
pub struct Cross {
    query: nn::Linear,
    key: nn::Linear,
    value: nn::Linear,
    kept: RefCell<Option<(Tensor, Tensor)>>,
}

impl Cross {
    fn forward(&self, xs: &Tensor, memory: &Tensor, flush: bool) -> Tensor {
        if flush {
            *self.kept.borrow_mut() = None;
        }
        let kept = self.kept.borrow().as_ref().map(|(k, v)| (k.shallow_clone(), v.shallow_clone()));
        let (k, v) = match kept {
            Some(both) => both,
            None => {
                let (k, v) = (memory.apply(&self.key), memory.apply(&self.value));
                *self.kept.borrow_mut() = Some((k.shallow_clone(), v.shallow_clone()));
                (k, v)
            }
        };
        xs.apply(&self.query).matmul(&k.transpose(-2, -1)).softmax(-1, Kind::Float).matmul(&v)
    }
}

#[derive(Debug, Module)]
pub struct Decoder {
    blocks: Vec<Cross>,
    calls: Cell<i64>,
}

#[traceable(strict)]
impl Decoder {
    pub fn forward(&self, xs: &Tensor, memory: &Tensor, flush: bool) -> Tensor {
        self.calls.set(self.calls.get() + 1);
        let mut ys = xs.shallow_clone();
        for block in self.blocks.iter() {
            ys = &ys + block.forward(&ys, memory, flush);
        }
        ys / self.calls.get()
    }
}

/// Tuples, lists and numbers in cells, guards in variables, and another entry that empties them.
#[derive(Debug, Module)]
pub struct Past {
    fc: nn::Linear,
    past: RefCell<(Option<Tensor>, i64)>,
    history: RefCell<Vec<Tensor>>,
    sums: RefCell<Vec<f64>>,
    mean: RefCell<Tensor>,
    steps: RefCell<i64>,
}

#[traceable(strict, entry = ["forward", "reset"])]
impl Past {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        *self.steps.borrow_mut() += 1;
        let ys = xs.apply(&self.fc);
        let mut past = self.past.borrow_mut();
        let all = match &past.0 {
            Some(before) => Tensor::cat(&[before, &ys], 0),
            None => ys.shallow_clone(),
        };
        past.0 = Some(all.shallow_clone());
        past.1 += ys.size()[0];
        let rows = past.1;
        drop(past);
        self.history.borrow_mut().push(all.mean(Kind::Float));
        let steps = *self.steps.borrow();
        self.sums.borrow_mut().push(steps as f64);
        let mean = &*self.mean.borrow() * 0.5 + all.mean_dim(0, false, Kind::Float);
        let _ = self.mean.replace(mean.shallow_clone());
        let sum: f64 = self.sums.borrow().iter().sum();
        all * rows + mean + sum + self.history.borrow().len() as i64
    }

    pub fn reset(&self) {
        *self.past.borrow_mut() = Default::default();
        self.history.borrow_mut().clear();
        self.steps.replace(0);
    }
}

/// Code that is not understood takes a part whose cells other code writes to: it is run as it is written.
#[derive(Debug, Module)]
pub struct Counted {
    fc: nn::Linear,
    calls: Cell<i64>,
}

impl Counted {
    fn forward(&self, xs: &Tensor) -> Tensor {
        self.calls.set(self.calls.get() + 1);
        xs.apply(&self.fc)
    }

    fn name(&self) -> String {
        format!("{}", self.calls.get())
    }
}

#[derive(Debug, Module)]
pub struct Named {
    first: Counted,
    others: Vec<Counted>,
}

#[cfg(test)]
crate::check::understood!(Named: 0 of 15);
#[traceable]
impl Named {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = self.first.forward(xs);
        for other in &self.others {
            ys = other.forward(&ys);
        }
        let first: i64 = self.first.name().parse().unwrap();
        let others: i64 = self.others.iter().map(|other| other.name().parse::<i64>().unwrap()).sum();
        ys + first + others * 10
    }
}

/// What the last calls were given, behind a lock, and how many there were.
#[derive(Debug, Module)]
pub struct Logged {
    fc: nn::Linear,
    log: Mutex<Vec<i64>>,
    names: RwLock<Vec<String>>,
    calls: AtomicUsize,
}

#[cfg(test)]
crate::check::understood!(Logged: 0 of 18);

#[traceable]
impl Logged {
    fn note(&self, rows: i64) {
        let mut log = self.log.lock().unwrap();
        log.push(rows);
        if log.len() > 2 {
            log.remove(0);
        }
        self.names.write().unwrap().push(format!("{rows}"));
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.note(xs.size()[0]);
        let calls = self.calls.fetch_add(1, Ordering::Relaxed) as i64;
        let seen = self.log.lock().unwrap().iter().sum::<i64>() + self.names.read().unwrap().len() as i64;
        xs.apply(&self.fc) * calls + seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{here, randn};

    fn linear(p: &nn::Path, name: &str) -> nn::Linear {
        nn::linear(p / name, 4, 4, Default::default())
    }

    fn same(ours: &Tensor, expected: &Tensor) {
        assert!(ours.allclose(expected, 1e-5, 1e-5, false));
    }

    #[test]
    fn replaced() {
        let make = |p: &nn::Path| Replaced { fc: linear(p, "fc"), last: RefCell::new(None) };
        let (_vs, net) = crate::check::root(make);
        let frozen = net.freeze(&fx_runtime::Freeze::default()).expect("a cell is copied");
        for rows in [2, 2, 1] {
            let xs = randn(&[rows, 4]);
            same(&frozen.forward(&xs), &net.forward(&xs));
        }
    }

    #[test]
    fn logged() {
        let make = |p: &nn::Path| Logged {
            fc: linear(p, "fc"),
            log: Mutex::new(vec![7]),
            names: RwLock::default(),
            calls: AtomicUsize::new(3),
        };
        let (_vs, net) = crate::check::root(make);
        let frozen = net.freeze(&fx_runtime::Freeze::default()).expect("what is behind a lock is copied");
        for rows in [2, 2, 1, 5] {
            let xs = randn(&[rows, 4]);
            same(&frozen.forward(&xs), &net.forward(&xs));
        }
    }

    #[test]
    fn decoder() {
        let cross = |p: nn::Path| Cross {
            query: linear(&p, "query"),
            key: linear(&p, "key"),
            value: linear(&p, "value"),
            kept: RefCell::default(),
        };
        let make = |p: &nn::Path| Decoder { blocks: (0..2).map(|at| cross(p / at)).collect(), calls: Cell::new(0) };
        let (_vs, net) = crate::check::root(make);
        let frozen = net.freeze(&fx_runtime::Freeze::default()).expect("cells are copied");
        for flush in [true, false, false, true, false] {
            let (xs, memory) = (randn(&[1, 2, 4]), randn(&[1, 5, 4]));
            same(&frozen.forward(&xs, &memory, flush), &net.forward(&xs, &memory, flush));
        }
    }

    fn past() -> (nn::VarStore, Past) {
        crate::check::root(|p: &nn::Path| Past {
            fc: linear(p, "fc"),
            past: RefCell::default(),
            history: RefCell::default(),
            sums: RefCell::default(),
            mean: RefCell::new(Tensor::zeros([4], (Kind::Float, p.device()))),
            steps: RefCell::new(0),
        })
    }

    #[test]
    fn entries_share_cells() {
        let (_vs, net) = past();
        let frozen = net.freeze(&fx_runtime::Freeze::default()).expect("cells are copied");
        for _ in 0..2 {
            for rows in [2, 1, 3] {
                let xs = randn(&[rows, 4]);
                same(&frozen.forward(&xs), &net.forward(&xs));
            }
            net.reset();
            frozen.reset();
        }
    }

    #[test]
    fn cells_are_saved_as_they_were_when_frozen() {
        let (_vs, net) = past();
        let _ = net.forward(&randn(&[2, 4]));
        let frozen = net.freeze(&fx_runtime::Freeze::default()).expect("cells are copied");
        let path = std::env::temp_dir().join(format!("interior-{}.fxw", std::process::id()));
        frozen.save(&path).expect("cells of tensors and numbers are saved");
        let loaded = PastFrozen::load(&path, &here()).expect("they are read");
        std::fs::remove_file(&path).expect("it was written");
        for rows in [2, 1] {
            let xs = randn(&[rows, 4]);
            same(&loaded.forward(&xs), &net.forward(&xs));
        }
    }

    #[test]
    fn named() {
        let counted = |p: &nn::Path, name: &str| Counted { fc: linear(p, name), calls: Cell::new(0) };
        let make = |p: &nn::Path| Named { first: counted(p, "a"), others: vec![counted(p, "b"), counted(p, "c")] };
        let (_vs, net) = crate::check::root(make);
        let frozen = net.freeze(&fx_runtime::Freeze::default()).expect("the model is copied");
        for _ in 0..3 {
            let xs = randn(&[2, 4]);
            same(&frozen.forward(&xs), &net.forward(&xs));
        }
    }
}
