//! Enums whose variants are layers of different types, declared elsewhere and known by other names; sizes behind pointers.

use std::borrow::Cow;

use fx_runtime::{Module, Tensor, traceable};

mod parts {
    pub mod inner {
        use fx_runtime::{Module, Tensor, nn};

        #[derive(Debug, Module)]
        pub struct Learned {
            pub table: nn::Embedding,
        }

        impl Learned {
            pub fn forward(&self, xs: &Tensor, offset: i64) -> Tensor {
                (xs + offset).apply(&self.table)
            }
        }

        #[derive(Debug, Module)]
        pub struct Sinus {
            pub table: nn::Embedding,
            pub scale: f64,
        }

        impl Sinus {
            pub fn forward(&self, xs: &Tensor, offset: i64) -> Tensor {
                xs.remainder(offset).apply(&self.table) * self.scale
            }
        }

        #[derive(Debug, Module)]
        pub enum Position {
            Learned(Learned),
            Sinus(Sinus),
            Plain,
        }

        impl Position {
            pub fn forward(&self, xs: &Tensor, offset: i64) -> Tensor {
                match *self {
                    Position::Learned(ref table) => table.forward(xs, offset),
                    Position::Sinus(ref table) => table.forward(xs, offset),
                    Self::Plain => xs.unsqueeze(-1).to_kind(fx_runtime::Kind::Float),
                }
            }
        }
    }

    pub use inner::Position as Place;
    pub use inner::Position;
}

use parts::{Place, Position};

#[derive(Debug, Module)]
pub struct Embeds {
    position: Position,
    places: Vec<Place>,
}

#[traceable]
impl Embeds {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Tensor) {
        let mut ys = self.position.forward(xs, 2);
        for place in &self.places {
            ys = ys + place.forward(xs, 1);
        }
        let zs = match &self.position {
            Place::Learned(table) => table.forward(xs, 1),
            parts::Position::Sinus(table) => table.forward(xs, 3),
            parts::inner::Position::Plain => xs.neg(),
        };
        (ys, zs)
    }
}

/// Sizes that are behind a pointer of any kind.
#[derive(Debug, Module)]
pub struct Shapes {
    boxed: Box<[i64]>,
    cow: Cow<'static, [i64]>,
    list: Vec<i64>,
}

fn sizes(xs: &Tensor) -> Box<[i64]> {
    xs.size().into_boxed_slice()
}

fn flat(xs: &Tensor) -> Cow<'static, [i64]> {
    Cow::Owned(vec![xs.numel() as i64])
}

#[traceable]
impl Shapes {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Tensor, Tensor, Tensor) {
        let size = sizes(xs);
        let ys = xs.reshape(&*self.boxed).relu();
        let zs = xs.neg().reshape(&*self.cow);
        let ws = zs.reshape(&*size) + xs.reshape(&*self.list).reshape(&*size);
        let flat = flat(xs);
        (ys, zs, ws, xs.reshape(&*flat) + xs.reshape(self.boxed.as_ref()).reshape(flat.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};
    use fx_runtime::nn;
    use parts::inner::{Learned, Sinus};

    understood!(Shapes: 12 of 16);

    #[test]
    fn kinds_of_layers() {
        let table = |p: nn::Path| nn::embedding(p, 9, 4, Default::default());
        let kind = |p: nn::Path, at: usize| match at {
            0 => Position::Learned(Learned { table: table(p) }),
            1 => Position::Sinus(Sinus { table: table(p), scale: 0.5 }),
            _ => Position::Plain,
        };
        for at in 0..3 {
            let make =
                |p: &nn::Path| Embeds { position: kind(p / "p", at), places: vec![kind(p / "a", 1), kind(p / "b", 0)] };
            agree!(make, [Tensor::from_slice(&[1i64, 4, 2, 6, 0, 3]).view([2, 3])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn sizes_behind_pointers() {
        let make = |_: &nn::Path| Shapes {
            boxed: vec![4, -1].into_boxed_slice(),
            cow: Cow::Borrowed(&[-1, 2]),
            list: vec![-1],
        };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }
}
