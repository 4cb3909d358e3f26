//! Checks of shapes, as every real model has them, in functions of another file.

use std::sync::Arc;

use fx_runtime::{Module, Tensor, nn, traceable};

use super::helpers::checked;

/// What a check says.
#[derive(Debug)]
pub enum Refusal {
    Rank(usize),
    Width { found: i64 },
}

/// Checks that panic.
#[derive(Debug, Module)]
pub struct Asserts {
    fc: nn::Linear,
    heads: i64,
}

#[traceable(strict)]
impl Asserts {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        assert_eq!(4 % self.heads, 0, "4 does not divide by {}", self.heads);
        let (xs, rows) = checked::parted(xs);
        let ys = checked::asserted(&checked::looked_at(&xs), &self.fc);
        let (ys, scale) = match rows {
            1 => (ys, 0.5),
            rows => {
                assert!(rows < 7, "{rows} rows");
                (ys.relu(), 1.0)
            }
        };
        ys * scale
    }
}

/// Checks that return.
#[derive(Debug, Module)]
pub struct Refuses {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Refuses {
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor, Refusal> {
        let (xs, rows) = checked::refused(xs)?;
        Ok(xs.apply(&self.fc) * rows)
    }
}

/// Processes that share the work, of which a build without that feature has none.
#[derive(Debug)]
pub enum Group {
    None,
    #[cfg(not(unix))]
    Some(NoSuchType),
}

impl Group {
    fn gathered(&self, _xs: &Tensor) -> Result<Tensor, tch::TchError> {
        match self {
            Group::None => unimplemented!(),
            #[cfg(not(unix))]
            Group::Some(group) => group.no_such_method(),
        }
    }
}

trait Gather {
    fn gathered(&self, group: &Option<Arc<Group>>) -> Tensor;
}

impl Gather for Tensor {
    fn gathered(&self, group: &Option<Arc<Group>>) -> Tensor {
        match group {
            Some(group) => group.gathered(self).unwrap(),
            None => self.shallow_clone(),
        }
    }
}

fn scaled(xs: &Tensor, lengths: Option<&(Tensor, i32)>) -> Tensor {
    match lengths {
        Some((lengths, most)) => xs * lengths / (*most as i64),
        None => xs * 2.0,
    }
}

/// What only panics where a feature is missing: methods behind an `Arc`, and the closure of an option.
#[derive(Debug, Module)]
pub struct Shared {
    fc: nn::Linear,
    #[module(skip)]
    group: Option<Arc<Group>>,
}

#[traceable(strict)]
impl Shared {
    pub fn forward(&self, xs: &Tensor, lengths: Option<&Vec<Vec<i32>>>) -> Tensor {
        let lengths = lengths.map(|_lengths| {
            panic!("`lengths` need a feature");
        });
        let ys = match &self.group {
            Some(_) => self.fc.forward(&xs.gathered(&self.group).contiguous()).relu(),
            None => self.fc.forward(xs).relu(),
        };
        scaled(&ys, lengths.as_ref()).gathered(&self.group)
    }
}

#[derive(Debug, Module)]
pub struct DebugOnly {
    ws: Option<Tensor>,
    l: nn::Linear,
}
#[traceable]
impl DebugOnly {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let Self { ref ws, ref l } = *self;
        let ys = xs.apply(l).relu();
        #[cfg(debug_assertions)]
        {
            assert!(ys.size()[0] > 0);
        }
        #[cfg(debug_assertions)]
        {
            let small = ws.as_ref().map(|ws| bool::try_from(ws.abs().le(1e-15).any()).unwrap()).unwrap_or(false);
            if small {
                eprintln!("small");
            }
        }
        ys + 1.0
    }
}

#[derive(Debug, Module)]
pub struct DebugOnce {
    fc: nn::Linear,
}
#[traceable]
impl DebugOnce {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        #[cfg(debug_assertions)]
        {
            static ONCE: std::sync::Once = std::sync::Once::new();
            ONCE.call_once(|| println!("{:?}", xs.size()));
        }
        #[cfg(not(debug_assertions))]
        let _ = xs;
        xs.apply(&self.fc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p / "fc", 4, 4, Default::default())
    }

    #[test]
    fn what_never_returns() {
        let make = |p: &nn::Path| Shared { fc: linear(p), group: None };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs, None));
        let (_vs, made) = crate::check::root(make);
        let net = Shared { group: Some(Arc::new(Group::None)), ..made };
        let frozen = net.freeze(&fx_runtime::Freeze::default()).expect("it freezes");
        let xs = randn(&[2, 4]);
        let called = std::panic::AssertUnwindSafe(|| frozen.forward(&xs, None));
        assert!(std::panic::catch_unwind(called).is_err());
    }

    #[test]
    fn asserts() {
        let cases = [randn(&[1, 4]), randn(&[2, 4]), randn(&[2, 2, 4])];
        agree!(|p| Asserts { fc: linear(p), heads: 2 }, cases, |net, xs| net.forward(xs));
    }

    #[test]
    fn what_a_check_says_is_what_it_says_eagerly() {
        let (_vs, net) = crate::check::root(|p| Asserts { fc: linear(p), heads: 2 });
        let frozen = net.freeze(&fx_runtime::Freeze::default()).unwrap();
        let said = |run: &dyn Fn() -> Tensor| {
            let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_err();
            panic.downcast_ref::<String>().cloned().or(panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap()
        };
        for shape in [&[2, 5][..], &[0, 4], &[8, 4], &[2, 2, 3], &[1, 2, 2, 4]] {
            let xs = randn(shape);
            assert_eq!(said(&|| frozen.forward(&xs)), said(&|| net.forward(&xs)), "{shape:?}");
        }
    }

    #[test]
    fn refuses() {
        let cases = [randn(&[2, 4]), randn(&[2, 3, 4]), randn(&[4]), randn(&[2, 5])];
        agree!(|p| Refuses { fc: linear(p) }, cases, |net, xs| net.forward(xs).map_err(|error| format!("{error:?}")));
    }

    understood!(DebugOnce: 0 of 1);

    #[test]
    fn debug_only() {
        let linear = |p: nn::Path| nn::linear(p, 4, 4, Default::default());
        for has in [true, false] {
            let make = |p: &nn::Path| DebugOnly { ws: has.then(|| p.randn_standard("ws", &[3])), l: linear(p / "l") };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
        agree!(|p: &nn::Path| DebugOnce { fc: linear(p / "fc") }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }
}
