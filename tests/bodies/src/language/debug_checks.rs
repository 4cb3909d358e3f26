//! Checks under `#[cfg(debug_assertions)]`: statements of their own, which take nothing else with them, here and in the modules
//! of other models.

use std::sync::Once;

use fx_runtime::{Module, Tensor, nn, traceable};

/// A check with a `static` of its own.
#[derive(Debug, Module)]
pub struct WarnedOnce {
    fc: nn::Linear,
}

#[traceable]
impl WarnedOnce {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc).relu();
        #[cfg(debug_assertions)]
        {
            static WARNED: Once = Once::new();
            let is_small = bool::try_from(self.fc.ws.abs().le(1e-15).any()).unwrap();
            if is_small {
                WARNED.call_once(|| println!("small"));
            }
        }
        ys.tanh() * 2.0
    }
}

mod norms {
    use std::sync::Once;

    use fx_runtime::{Module, Tensor, traceable};

    #[cfg(debug_assertions)]
    static SMALL: Once = Once::new();

    /// A norm that looks at its weights, with what its module alone sees.
    #[derive(Debug, Module)]
    pub struct WatchedNorm {
        pub(super) ws: Option<Tensor>,
        pub(super) eps: f64,
    }

    #[traceable]
    impl WatchedNorm {
        pub fn forward(&self, xs: &Tensor) -> Tensor {
            let Self { ref ws, eps } = *self;
            let ys = xs * (eps + 1.0);
            #[cfg(debug_assertions)]
            {
                let is_small = ws.as_ref().map(|ws| bool::try_from(ws.abs().le(1e-15).any()).unwrap()).unwrap_or(false);
                if is_small {
                    SMALL.call_once(|| println!("{}", ws.as_ref().unwrap().abs().min()));
                }
            }
            match ws {
                Some(ws) => ys * ws,
                None => ys,
            }
        }
    }
}

/// The model that has the norm.
#[derive(Debug, Module)]
pub struct WatchedLayers {
    fc: nn::Linear,
    norm: norms::WatchedNorm,
}

#[traceable]
impl WatchedLayers {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.norm.forward(&xs.apply(&self.fc)).relu()
    }
}

/// A reference to an option of a tensor, in code that prints.
#[derive(Debug, Module)]
pub struct PrintedOption {
    fc: nn::Linear,
    ws: Option<Tensor>,
}

#[traceable]
impl PrintedOption {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let Self { ref fc, ref ws } = *self;
        let ys = xs.apply(fc).relu();
        let held = self.ws.as_ref();
        {
            let is_small = bool::try_from(fc.ws.abs().le(1e-15).any()).unwrap();
            if is_small {
                println!("small {}", f64::try_from(ws.as_ref().unwrap().abs().min()).unwrap());
            }
            println!("{:?}", held.unwrap().size());
        }
        match ws {
            Some(ws) => ys * ws,
            None => ys,
        }
    }
}

/// Texts with dollar signs in code that is not understood.
#[derive(Debug, Module)]
pub struct Prices {
    fc: nn::Linear,
}

#[traceable]
impl Prices {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let text = "costs $0 and $$1".replace(&format!("{}", xs.size()[0]), "$1");
        println!("costs $0 and {:?}", xs.size());
        xs.apply(&self.fc) * text.len() as f64
    }
}

fn scaled_by_count(ys: &Tensor, shapes: &[(i64, i64)]) -> Tensor {
    debug_assert!(shapes.len() > 1 && ys.dim() == 2, "{shapes:?}");
    debug_assert_eq!(shapes.iter().map(|(rows, columns)| rows * columns).sum::<i64>(), ys.size()[0] * 8);
    debug_assert_ne!(shapes[0].1, 0);
    ys * shapes.len() as i64
}

/// Checks by `debug_assert!` on a list that a forward has made.
#[derive(Debug, Module)]
pub struct ListChecked {
    fc: nn::Linear,
}

#[traceable]
impl ListChecked {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let mut shapes = Vec::new();
        for of in [&ys, xs] {
            let (rows, columns) = of.size2().unwrap();
            shapes.push((rows, columns));
        }
        scaled_by_count(&ys, &shapes)
    }
}

#[cfg(test)]
mod tests {
    use super::norms::WatchedNorm;
    use super::*;
    use crate::check::{agree, not_interpreted, randn, understood};

    not_interpreted!(WarnedOnce: "interpreting the code");
    not_interpreted!(WatchedNorm: "interpreting the code");
    not_interpreted!(WatchedLayers: "interpreting the code");
    not_interpreted!(PrintedOption: "interpreting the code");
    not_interpreted!(ListChecked: "interpreting the code");
    understood!(Prices: 2 of 6);

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    fn cases() -> [Tensor; 4] {
        [1, 2, 3, 4].map(|rows| randn(&[rows, 4]))
    }

    #[test]
    fn checks_of_debug_builds() {
        agree!(|p: &nn::Path| WarnedOnce { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        let norm = |p: &nn::Path| WatchedNorm { ws: Some(p.ones("ws", &[4])), eps: 0.5 };
        agree!(|p: &nn::Path| norm(p), cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| WatchedLayers { fc: linear(p), norm: norm(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn printed_values() {
        let make = |p: &nn::Path| PrintedOption { fc: linear(p), ws: Some(p.ones("ws", &[4])) };
        agree!(|p: &nn::Path| make(p), cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| Prices { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn debug_assertions() {
        agree!(|p: &nn::Path| ListChecked { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }
}
