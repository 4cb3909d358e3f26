//! Numbers that lie behind pointers in a model's fields: code that reads them runs as it is written.

use std::rc::Rc;
use std::sync::Arc;

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

#[derive(Debug, Module)]
pub struct Pointed {
    fc: nn::Linear,
    gain: Box<f64>,
    axis: Arc<i64>,
    on: Box<bool>,
    shift: Option<Box<f64>>,
    steps: Vec<Box<f64>>,
    nested: Box<Box<i64>>,
    shared: Rc<f64>,
}

impl Pointed {
    fn new(p: &nn::Path) -> Self {
        Self {
            fc: nn::linear(p / "fc", 4, 4, nn::LinearConfig::default()),
            gain: Box::new(2.5),
            axis: Arc::new(1),
            on: Box::new(true),
            shift: Some(Box::new(0.5)),
            steps: vec![Box::new(0.5), Box::new(3.0)],
            nested: Box::new(Box::new(3)),
            shared: Rc::new(1.5),
        }
    }
}

#[traceable]
impl Pointed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc).softmax(*self.axis, Kind::Float) * *self.gain;
        let ys = if *self.on { ys.tanh() } else { ys };
        let ys = match &self.shift {
            Some(shift) => ys + **shift,
            None => ys,
        };
        let ys = self.steps.iter().fold(ys, |ys, step| ys * **step);
        ys * *self.shared + (**self.nested + 1)
    }
}

/// What such a pointer to several values holds is read through it.
#[derive(Debug, Module)]
pub struct PointedList {
    fc: nn::Linear,
    pair: Box<(i64, f64)>,
    sizes: Arc<Vec<i64>>,
}

#[traceable(strict)]
impl PointedList {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc).softmax(self.pair.0, Kind::Float) * self.pair.1;
        ys.reshape(self.sizes.as_slice()) * self.sizes[0]
    }
}

/// Two modules that import all of each other.
pub mod around {
    pub use fx_runtime::{Module, Tensor, nn, traceable};

    pub use self::within::*;

    pub mod within {
        pub use super::*;

        #[derive(Debug, Module)]
        pub struct Imported {
            pub fc: nn::Linear,
        }

        #[traceable(strict)]
        impl Imported {
            pub fn forward(&self, xs: &Tensor) -> Tensor {
                xs.apply(&self.fc).relu()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::around::Imported;
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Pointed: 0 of 5);

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p / "fc", 4, 4, nn::LinearConfig::default())
    }

    #[test]
    fn numbers_behind_pointers() {
        agree!(Pointed::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn lists_behind_pointers() {
        let make = |p: &nn::Path| PointedList { fc: linear(p), pair: Box::new((1, 0.5)), sizes: Arc::new(vec![2, 6]) };
        agree!(make, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn modules_that_import_each_other() {
        agree!(|p| Imported { fc: linear(p) }, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }
}
