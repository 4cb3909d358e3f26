//! What a forward by `&mut self` writes to has to be followed; where it is not, the write is named.

use fx_runtime::{Module, Tensor, traceable};

#[derive(Debug, Module)]
pub struct Part {
    seen: u64,
}

#[derive(Debug, Module)]
pub struct Replaced {
    part: Part,
}

#[traceable(strict)]
impl Replaced {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        self.part = Part { seen: 1 };
        xs.relu()
    }
}

#[derive(Debug, Module)]
pub struct Handed {
    seen: u64,
}

#[traceable(strict)]
impl Handed {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let all = std::iter::once(&mut *self);
        all.for_each(|one| one.seen = 2);
        xs.relu()
    }
}

#[derive(Debug, Module)]
pub struct Leaving {
    seen: Vec<u64>,
}

#[traceable(strict)]
impl Leaving {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let last = self.seen.iter_mut().last();
        if let Some(last) = last {
            *last += 1;
            return xs.relu();
        }
        xs.shallow_clone()
    }
}

fn main() {}
