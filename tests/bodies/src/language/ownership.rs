//! What a variable owns and what it only borrows, where code that is not understood has to be given the very same.

use std::sync::RwLock;

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

/// The generated code for it is somewhere else than the parts of it that are private here.
mod hidden {
    use fx_runtime::{Module, Tensor, nn};

    /// Re-exported: its own path is private outside.
    #[derive(Debug, Module)]
    pub struct Part {
        fc: nn::Linear,
        pub(super) by: Scale,
    }

    #[derive(Debug, Clone)]
    pub enum Scale {
        Whole(i64),
        Part(f64),
    }

    /// Visible by a path through no module of the crate.
    pub mod deep {
        #[derive(Debug, Clone)]
        pub struct Unnamed {
            pub factors: Vec<f64>,
        }
    }

    impl Part {
        pub fn new(p: nn::Path, by: Scale) -> Part {
            Part { fc: nn::linear(p, 4, 4, Default::default()), by }
        }

        /// Not understood in any module: the loop leaves through its middle.
        pub fn folded(&self, xs: &Tensor, times: &mut dyn FnMut() -> bool) -> Tensor {
            let mut ys = xs.apply(&self.fc);
            while times() {
                ys = ys.apply(&self.fc);
            }
            ys
        }
    }
}

mod open {
    pub use super::hidden::*;
}

#[derive(Debug, Module)]
pub struct ByReExport {
    part: open::Part,
    by: open::Scale,
    unnamed: hidden::deep::Unnamed,
}

#[traceable]
impl ByReExport {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut left = 2;
        let ys = self.part.folded(xs, &mut || {
            left -= 1;
            left > 0
        });
        let by = format!("{:?}", self.by).len() as i64;
        let sum: f64 = self.unnamed.factors.iter().copied().map(f64::sqrt).sum();
        let ys = match &self.part.by {
            open::Scale::Whole(by) => ys * *by,
            open::Scale::Part(by) => ys * *by,
        };
        ys * by + sum
    }
}

pub mod model {
    //! In a module from where nothing of `hidden` is visible by its own path.
    use fx_runtime::{Module, Tensor, traceable};

    mod kinds {
        pub mod inner {
            #[derive(Debug, Clone)]
            pub struct Table {
                pub rows: Vec<f64>,
                pub by: By,
            }

            #[derive(Debug, Clone)]
            pub enum By {
                Sum,
                Most,
            }

            impl Table {
                pub fn value(&self, scale: &dyn Fn(f64) -> f64) -> f64 {
                    let most = self.rows.iter().copied().fold(f64::MIN, f64::max);
                    scale(match self.by {
                        By::Sum => self.rows.iter().sum(),
                        By::Most => most,
                    })
                }
            }
        }
        mod private {
            #[derive(Debug, Clone)]
            pub struct Chosen {
                pub first: i64,
            }
        }
        pub use self::{inner as tables, private::Chosen};
    }

    pub mod parts {
        pub mod table {
            mod own {
                #[derive(Debug, Clone)]
                pub struct Row(pub Vec<f64>);
            }
            pub use own::Row as Line;
        }
    }

    #[derive(Debug, Module)]
    pub struct Tables {
        pub table: public::Table,
        pub chosen: public::Chosen,
        pub line: parts::table::Line,
    }

    pub mod public {
        pub use super::kinds::{Chosen, tables::*};
    }

    #[traceable]
    impl Tables {
        pub fn forward(&self, xs: &Tensor) -> Tensor {
            let value = self.table.value(&|x| x * 0.5);
            let total: f64 = self.line.0.iter().copied().rev().sum();
            xs * value + self.chosen.first as f64 + total
        }
    }
}

/// Either side of a branch hands over a reference.
#[derive(Debug, Module)]
pub struct EitherLent {
    fc: nn::Linear,
    other: Option<nn::Linear>,
}

fn mean_of(xs: &Tensor, mask: Option<&Tensor>, scale: &dyn Fn(f64) -> f64) -> Tensor {
    match mask {
        Some(mask) => xs * mask * scale(2.0),
        None => xs * scale(0.5),
    }
}

impl EitherLent {
    /// A parameter that holds a reference, and what is handed on of it.
    fn masked(&self, xs: &Tensor, mask: Option<&Tensor>) -> Tensor {
        mean_of(&xs.apply(&self.fc), mask, &|x| x + 1.0)
    }
}

#[traceable]
impl EitherLent {
    pub fn forward(&self, xs: &Tensor, ys: Option<&Tensor>, mask: Option<&Tensor>) -> Tensor {
        let made = if ys.is_none() { Some(xs.relu()) } else { None };
        let ys = ys.unwrap_or_else(|| made.as_ref().unwrap());
        let either = match &made {
            Some(made) => made,
            None => xs,
        };
        let layer = self.other.as_ref().unwrap_or(&self.fc);
        let mask = mask.map(|mask| mask.to_kind(Kind::Float) + 1.0);
        let zs = mean_of(ys, Some(either), &|x| x) + xs.apply(layer);
        self.masked(&zs, mask.as_ref())
    }
}

/// A number behind a reference of which only rustc knows.
#[derive(Debug, Module)]
pub struct Behind {
    spans: Vec<i64>,
    scale: f32,
}

#[traceable]
impl Behind {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let most = *[xs.size()[0], self.spans[0]].iter().max().unwrap();
        let mut ys = xs.shallow_clone() * 1.0;
        ys /= self.scale;
        self.scale * (&ys + most).clamp(0, most * 2 - 1)
    }
}

/// A layer that the caller lends.
#[derive(Debug, Module)]
pub struct LentLayer {
    fc: nn::Linear,
}

#[traceable]
impl LentLayer {
    pub fn forward(&self, ids: &Tensor, table: &nn::Embedding) -> Tensor {
        (ids.apply(table) * 0.5).apply(&self.fc).relu()
    }
}

/// Optional weights by reference, of the model and of the caller.
#[derive(Debug, Module)]
pub struct OptionalWeights {
    ws: Option<Tensor>,
    bs: Option<Tensor>,
}

#[traceable]
impl OptionalWeights {
    pub fn forward(&self, xs: &Tensor, bias: Option<&Tensor>) -> Tensor {
        let ys = xs.f_layer_norm([4], self.ws.as_ref(), self.bs.as_ref(), 1e-5, false).unwrap();
        ys.layer_norm([4], None::<&Tensor>, bias, 1e-5, false)
    }
}

/// Weights taken apart, which code that is not understood picks from in a closure.
#[derive(Debug, Module)]
pub struct Picked {
    fc: nn::Linear,
    heads: i64,
}

#[traceable]
impl Picked {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ws = self.fc.ws.chunk(self.heads * 2, 0);
        let odd: Vec<Tensor> = (0..2)
            .map(|k| {
                Tensor::cat(&(0..self.heads).map(|i| ws.get((i * 2 + k) as usize).unwrap()).collect::<Vec<_>>(), 0)
            })
            .collect();
        xs.matmul(&odd[1].tr()).slice(1, 0, 2, 1) + xs.matmul(&ws[0].tr())
    }
}

/// An enum with a variant that is called like one of `Option`'s.
#[derive(Debug)]
pub enum Kept {
    One(Tensor),
    None,
}

#[derive(Debug)]
pub struct Step {
    pub ys: Tensor,
    pub kept: Kept,
}

#[derive(Debug, Module)]
pub struct Steps {
    fc: nn::Linear,
}

#[traceable]
impl Steps {
    pub fn forward(&self, xs: &Tensor) -> Step {
        Step { ys: xs.apply(&self.fc), kept: Kept::None }
    }
}

/// Numbers that are there only where they are asked for.
#[derive(Debug, Module)]
pub struct Asked {
    limit: Option<i64>,
    by: Option<f64>,
}

#[traceable]
impl Asked {
    pub fn forward(&self, xs: &Tensor, wide: bool) -> Tensor {
        if wide {
            let limit = self.limit.expect("a limit") + 1;
            xs.clamp(-limit, limit) * self.by.unwrap_or(2.0)
        } else {
            xs.neg()
        }
    }
}

/// One layer or another, whichever the model has.
#[derive(Debug, Module)]
pub struct Shared {
    own: Option<nn::Linear>,
    shared: nn::Linear,
    twice: bool,
}

#[traceable]
impl Shared {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let layer = self.own.as_ref().unwrap_or(&self.shared);
        let (first, scale) = if self.twice { (&self.shared, 2.0) } else { (layer, 1.0) };
        xs.apply(layer).relu().apply(first) * scale
    }
}

/// A layer that calls may write to.
#[derive(Debug, Module)]
pub struct Locked {
    table: RwLock<nn::Embedding>,
}

#[traceable]
impl Locked {
    pub fn forward(&self, ids: &Tensor) -> Tensor {
        let rows = self.table.read().unwrap().ws.size()[0];
        ids.clamp(0, rows - 2).apply(&*self.table.read().unwrap()) * 2.0
    }
}

/// A field of a value that a method has made is written to.
#[derive(Debug, Module)]
pub struct Changed {
    fc: nn::Linear,
    cut: usize,
}

impl Changed {
    fn step(&self, xs: &Tensor, more: &dyn Fn(&Tensor) -> Tensor) -> Step {
        Step { ys: more(&xs.apply(&self.fc)), kept: Kept::One(xs.neg()) }
    }
}

#[traceable(strict)]
impl Changed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut step = self.step(xs, &|ys| ys.exp());
        if xs.size()[0] > 2 {
            step.ys = step.ys.slice(1, 0, self.cut as i64, 1);
        }
        step.ys
    }
}

/// An input that the forward puts another tensor in the place of.
#[derive(Debug, Module)]
pub struct LentInput {
    fc: nn::Linear,
}

#[traceable]
impl LentInput {
    pub fn forward<'a>(&self, xs: &Tensor, state: &'a mut Tensor) -> (Tensor, Tensor) {
        let _ = state.relu_();
        let before = state.shallow_clone();
        *state = self.fc.forward(xs) + &*state;
        (xs + &*state, before)
    }
}

fn both(xs: &Tensor, b: Tensor) -> (Tensor, Tensor) {
    let none: Option<i64> = None;
    (&b.flip([1]) * 5, if none.into_iter().count() > 0 { b } else { xs.shallow_clone() })
}

/// A part of what code that is not understood has made is read twice, behind a write to the other.
#[derive(Debug, Module)]
pub struct PartTwice {
    fc: nn::Linear,
}

#[cfg(test)]
crate::check::understood!(PartTwice: 8 of 10);
#[traceable]
impl PartTwice {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut g = both(xs, xs.apply(&self.fc));
        g.0 = [g.1.sin(), g.1.cos()].into_iter().reduce(|a, b| a + b).unwrap().tanh();
        g.0 * xs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Close, agree, randn, understood};

    understood!(ByReExport: 4 of 11);
    understood!(Locked: 1 of 10);

    impl Close for Step {
        fn close(&self, eager: &Step) {
            self.ys.close(&eager.ys);
            assert!(matches!((&self.kept, &eager.kept), (Kept::None, Kept::None)));
        }
    }

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    #[test]
    fn types_by_where_they_are_re_exported() {
        for by in [hidden::Scale::Whole(3), hidden::Scale::Part(0.5)] {
            let make = |p: &nn::Path| ByReExport {
                part: open::Part::new(p / "part", by.clone()),
                by: by.clone(),
                unnamed: hidden::deep::Unnamed { factors: vec![4.0, 9.0] },
            };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
        use model::public::{By, Chosen, Table};
        for by in [By::Sum, By::Most] {
            let make = |_: &nn::Path| model::Tables {
                table: Table { rows: vec![1.0, 3.0], by: by.clone() },
                chosen: Chosen { first: 2 },
                line: model::parts::table::Line(vec![0.25, 0.5]),
            };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn references_from_either_side() {
        let x = || randn(&[2, 4]);
        let cases = [(x(), Some(x()), Some(x())), (x(), None, Some(x())), (x(), Some(x()), None), (x(), None, None)];
        for other in [true, false] {
            let make = |p: &nn::Path| EitherLent { fc: linear(p / 0), other: other.then(|| linear(p / 1)) };
            agree!(make, cases, |net, (xs, ys, mask)| net.forward(xs, ys.as_ref(), mask.as_ref()));
        }
    }

    #[test]
    fn a_number_behind_a_reference() {
        agree!(|_| Behind { spans: vec![3], scale: 0.7 }, [randn(&[2, 4]), randn(&[5, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn a_layer_of_the_caller() {
        let ids = Tensor::from_slice(&[0i64, 3, 2]);
        let (_vs, table) = crate::check::root(|p| nn::embedding(p, 5, 4, Default::default()));
        agree!(|p| LentLayer { fc: linear(p / 0) }, [ids], |net, ids| net.forward(ids, &table));
    }

    #[test]
    fn optional_weights() {
        for (ws, bs) in [(true, true), (true, false), (false, false)] {
            let make = |p: &nn::Path| OptionalWeights {
                ws: ws.then(|| p.randn_standard("ws", &[4])),
                bs: bs.then(|| p.randn_standard("bs", &[4])),
            };
            agree!(make, [(randn(&[3, 4]), Some(randn(&[4]))), (randn(&[3, 4]), None)], |net, (xs, bias)| net
                .forward(xs, bias.as_ref()));
        }
    }

    #[test]
    fn parts_of_weights_in_closures() {
        agree!(
            |p| Picked { fc: nn::linear(p / 0, 4, 8, Default::default()), heads: 2 },
            [randn(&[3, 4])],
            |net, xs| net.forward(xs)
        );
    }

    #[test]
    fn a_variant_called_none() {
        agree!(|p| Steps { fc: linear(p / 0) }, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn numbers_that_may_not_be_there() {
        for by in [None, Some(0.25)] {
            agree!(|_| Asked { limit: Some(0), by }, [randn(&[3, 4])], |net, xs| net.forward(xs, true));
            agree!(|_| Asked { limit: None, by }, [randn(&[3, 4])], |net, xs| net.forward(xs, false));
        }
    }

    #[test]
    fn one_layer_or_another() {
        for (own, twice) in [(true, true), (true, false), (false, true), (false, false)] {
            let make = |p: &nn::Path| Shared { own: own.then(|| linear(p / 0)), shared: linear(p / 1), twice };
            agree!(make, [randn(&[3, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn a_layer_behind_a_lock() {
        let make = |p: &nn::Path| Locked { table: RwLock::new(nn::embedding(p / 0, 6, 4, Default::default())) };
        agree!(make, [Tensor::from_slice(&[0i64, 2, 3]), Tensor::from_slice(&[5i64])], |net, ids| net.forward(ids));
    }

    #[test]
    fn a_field_of_what_is_made() {
        agree!(|p| Changed { fc: linear(p / 0), cut: 2 }, [randn(&[3, 4]), randn(&[1, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn lent_inputs() {
        let make = |p: &nn::Path| LentInput { fc: nn::linear(p / 0, 4, 4, Default::default()) };
        agree!(make, [(randn(&[2, 4]), randn(&[2, 4]))], |net, (xs, state)| net.forward(xs, state));
    }

    #[test]
    fn a_part_read_twice() {
        let make = |p: &nn::Path| PartTwice { fc: nn::linear(p / 0, 4, 4, Default::default()) };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }
}
