//! Aliases of types: of `Result` with parameters, of one another, of a type that others cannot name; results that hold
//! themselves.

use fx_runtime::{Module, Tensor, nn, traceable};

/// What a crate's other modules return.
pub mod results {
    use fx_runtime::Tensor;
    use tch::TchError;

    #[derive(Debug)]
    pub enum Fault {
        Odd(i64),
        Torch(TchError),
    }

    impl From<TchError> for Fault {
        fn from(error: TchError) -> Self {
            Fault::Torch(error)
        }
    }

    mod hidden {
        #[derive(Debug)]
        pub struct Unnamed;

        impl From<tch::TchError> for Unnamed {
            fn from(_: tch::TchError) -> Self {
                Unnamed
            }
        }
    }

    pub type Fallible<T, E = Fault> = std::result::Result<T, E>;
    pub type Pair<A> = (A, A);
    pub type Outcome = Fallible<Tensor>;
    pub type Unnameable<T> = Result<T, hidden::Unnamed>;
    pub type Layers<L> = Vec<L>;
    pub type Maybe<'a> = Option<&'a Tensor>;
}

use results::{Fallible, Fault, Layers, Maybe, Outcome, Pair, Unnameable};

#[derive(Debug, Module)]
pub struct Aliased {
    fc: nn::Linear,
    layers: Layers<nn::Linear>,
}

#[traceable(strict)]
impl Aliased {
    pub fn new(p: &nn::Path) -> Aliased {
        let linear = |name: &str| nn::linear(p / name, 4, 4, Default::default());
        Aliased { fc: linear("fc"), layers: vec![linear("a"), linear("b")] }
    }

    fn halves(&self, xs: &Tensor) -> Fallible<Pair<Tensor>> {
        let width = xs.size()[1];
        if width % 2 != 0 {
            return Err(Fault::Odd(width));
        }
        Ok((xs.f_narrow(1, 0, width / 2)?, xs.f_narrow(1, width / 2, width / 2)?))
    }

    pub fn forward(&self, xs: &Tensor, extra: Maybe<'_>) -> Outcome {
        let mut ys = xs.apply(&self.fc);
        for layer in &self.layers {
            ys = ys.apply(layer).relu();
        }
        let (left, right) = self.halves(&ys)?;
        let ys = Tensor::f_cat(&[right, left], 1)?;
        Ok(match extra {
            Some(extra) => ys + extra,
            None => ys,
        })
    }
}

/// The error is of a type that code outside of its module cannot name.
#[derive(Debug, Module)]
pub struct Unnamed {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Unnamed {
    fn sine(&self, xs: &Tensor) -> Unnameable<Tensor> {
        Ok(xs.f_sin()?)
    }

    pub fn forward(&self, xs: &Tensor) -> Outcome {
        let ys = self.sine(&xs.apply(&self.fc)).map_err(|_| Fault::Odd(0))?;
        Ok(ys)
    }
}

/// `Ok` of code that is not understood, and whose type only the signature tells.
#[derive(Debug, Module)]
pub struct OpaqueInOk {
    fc: nn::Linear,
}

#[cfg(test)]
crate::check::understood!(OpaqueInOk: 2 of 8);
#[traceable]
impl OpaqueInOk {
    pub fn forward(&self, xs: &Tensor, names: &[String]) -> Result<Tensor, Fault> {
        let ys = xs.apply(&self.fc).relu();
        Ok(match names.iter().find(|name| name.starts_with('s')) {
            Some(name) => ys * name.len() as i64,
            None => ys,
        })
    }
}

/// A result that holds further ones of its type.
#[derive(Debug)]
pub struct Level {
    pub logits: Tensor,
    pub below: Option<Vec<Level>>,
}

#[derive(Debug, Module)]
pub struct Leveled {
    fc: nn::Linear,
}

#[cfg(test)]
crate::check::understood!(Leveled: 2 of 8);
#[traceable]
impl Leveled {
    pub fn forward(&self, xs: &Tensor, deep: bool) -> Level {
        let logits = xs.apply(&self.fc);
        let ys = logits.tanh();
        let below =
            if deep { Some((0..2).map(|at| Level { logits: ys.get(at), below: None }).collect()) } else { None };
        Level { logits, below }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p / "fc", 4, 4, Default::default())
    }

    #[test]
    fn aliased() {
        let cases = [(randn(&[2, 4]), Some(randn(&[2, 4]))), (randn(&[2, 4]), None)];
        agree!(Aliased::new, cases, |net, (xs, extra)| net.forward(xs, extra.as_ref()).map_err(|e| format!("{e:?}")));
    }

    #[test]
    fn unnamed() {
        agree!(|p| Unnamed { fc: linear(p) }, [randn(&[2, 4])], |net, xs| net
            .forward(xs)
            .map_err(|e| format!("{e:?}")));
    }

    #[test]
    fn opaque_in_ok() {
        agree!(
            |p| OpaqueInOk { fc: linear(p) },
            [(randn(&[2, 4]), true), (randn(&[2, 4]), false)],
            |net, (xs, named)| {
                let names = if *named { vec!["a".to_owned(), "sum".to_owned()] } else { Vec::new() };
                net.forward(xs, &names).map_err(|e| format!("{e:?}"))
            }
        );
    }

    #[test]
    fn levels() {
        agree!(|p| Leveled { fc: linear(p) }, [(randn(&[2, 4]), true), (randn(&[2, 4]), false)], |net, (xs, deep)| {
            let level = net.forward(xs, *deep);
            let below = level.below.map(|below| below.into_iter().map(|one| one.logits).collect::<Vec<Tensor>>());
            (level.logits, below)
        });
    }
}
