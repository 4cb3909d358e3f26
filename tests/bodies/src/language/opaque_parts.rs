//! Parts of a model in modules of their own, with code that is not understood: it stays as small as it is, and names what its
//! own module imports, or sees alone.

use fx_runtime::{Module, Tensor, nn, traceable};

/// A part that keeps a table of positions behind a lock, and grows it.
mod positions {
    use std::ops::Deref;
    use std::sync::RwLock;

    use fx_runtime::{Module, Tensor, nn};

    #[derive(Debug, Module)]
    pub struct Positions {
        table: RwLock<nn::Embedding>,
        offset: i64,
    }

    impl Positions {
        pub fn new(p: nn::Path) -> Positions {
            Positions { table: RwLock::new(nn::embedding(p, 12, 4, Default::default())), offset: 2 }
        }

        pub fn forward(&self, ids: &Tensor, past: i64) -> Tensor {
            let length = ids.size()[1] + past + self.offset;
            if length > self.table.read().unwrap().ws.size()[0] {
                self.table.write().unwrap().ws.set_data(&Tensor::zeros([length, 4], tch::kind::FLOAT_CPU));
            }
            let ids = ids.remainder(5) + self.offset;
            ids.apply(self.table.read().unwrap().deref())
        }
    }
}

/// A part whose code calls what its module alone sees: the call of the part is carried.
mod secret {
    use std::collections::BTreeMap;

    use fx_runtime::{Module, Tensor, nn};

    fn counts(n: i64) -> BTreeMap<i64, f64> {
        std::iter::once((n, 2.0)).collect()
    }

    #[derive(Debug, Module)]
    pub struct Secret {
        fc: nn::Linear,
    }

    impl Secret {
        pub fn new(p: nn::Path) -> Secret {
            Secret { fc: nn::linear(p, 4, 4, Default::default()) }
        }

        pub fn forward(&self, xs: &Tensor) -> Tensor {
            let by: f64 = counts(xs.size()[0]).values().sum();
            xs.apply(&self.fc) * by
        }
    }
}

mod encoder {
    use std::fmt::Write;

    use fx_runtime::{Kind, Module, Tensor, nn};

    use super::positions::Positions;
    use super::secret::Secret;

    pub(super) const STEPS: [i64; 3] = [1, 2, 3];

    pub trait Halved {
        fn halved(&self) -> Tensor;
    }

    impl Halved for Tensor {
        fn halved(&self) -> Tensor {
            self * 0.5
        }
    }

    #[derive(Debug, Clone, Copy, PartialEq)]
    pub enum Act {
        Relu,
        Scaled { by: f64 },
    }

    #[derive(Debug)]
    pub struct Fault {
        pub told: String,
    }

    impl From<Fault> for String {
        fn from(fault: Fault) -> String {
            fault.told
        }
    }

    #[derive(Debug)]
    pub struct Told {
        pub rows: i64,
        pub text: String,
    }

    #[derive(Debug, Module)]
    pub struct Encoder {
        positions: Positions,
        fc: nn::Linear,
        secret: Secret,
        act: Act,
        shift: Option<i64>,
    }

    impl Encoder {
        const POWER: i64 = 2;

        pub fn new(p: &nn::Path, act: Act) -> Encoder {
            let fc = nn::linear(p / "fc", 4, 4, Default::default());
            let shift = matches!(act, Act::Relu).then_some(1);
            Encoder { positions: Positions::new(p / "at"), fc, secret: Secret::new(p / "s"), act, shift }
        }

        pub fn embedded(&self, ids: &Tensor) -> Tensor {
            self.positions.forward(ids, 0).apply(&self.fc).relu()
        }

        pub fn hidden(&self, xs: &Tensor) -> Tensor {
            self.secret.forward(&xs.apply(&self.fc).relu()).tanh()
        }

        pub fn told(&self, xs: &Tensor) -> Tensor {
            let mut text = String::new();
            write!(text, "{} of {:?}", xs.dim(), self.act).unwrap();
            let told = Told { rows: STEPS.iter().filter(|&&step| step > 1).count() as i64, text };
            let Told { rows, text } = told;
            let scale = match self.act {
                Act::Scaled { by } if text.len() > 3 => by,
                Act::Scaled { .. } | Act::Relu => 1.0,
            };
            let ys = xs.apply(&self.fc).pow_tensor_scalar(Self::POWER) * rows * scale;
            if self.shift == Some(1) { ys.halved() } else { ys }
        }

        pub fn checked(&self, xs: &Tensor) -> Result<Tensor, Fault> {
            let rows: i64 = format!("{}", xs.size()[0]).parse().map_err(|_| Fault { told: "no number".to_owned() })?;
            let names: Vec<String> = STEPS.iter().map(|step| format!("{step}/{rows}")).collect();
            Ok((xs.apply(&self.fc) * names.len() as i64).sum_dim_intlist([-1i64].as_slice(), true, Kind::Float))
        }
    }
}

use encoder::Encoder;

#[derive(Debug, Module)]
pub struct Embedded {
    encoder: Encoder,
    head: nn::Linear,
}

#[traceable]
impl Embedded {
    pub fn forward(&self, ids: &Tensor) -> Tensor {
        self.encoder.embedded(ids).apply(&self.head).tanh()
    }
}

#[derive(Debug, Module)]
pub struct Hidden {
    encoder: Encoder,
    head: nn::Linear,
}

#[traceable]
impl Hidden {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.encoder.hidden(xs).apply(&self.head).tanh()
    }
}

#[derive(Debug, Module)]
pub struct ToldApart {
    encoder: Encoder,
    head: nn::Linear,
}

#[traceable]
impl ToldApart {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.encoder.told(xs).apply(&self.head).tanh()
    }
}

#[derive(Debug, Module)]
pub struct CheckedApart {
    encoder: Encoder,
    head: nn::Linear,
}

#[traceable]
impl CheckedApart {
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor, String> {
        let ys = self.encoder.checked(xs)? + xs;
        Ok(ys.apply(&self.head).tanh())
    }
}

#[cfg(test)]
mod tests {
    use super::encoder::Act;
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Embedded: 6 of 20);
    understood!(Hidden: 5 of 11);
    understood!(ToldApart: 7 of 15);
    understood!(CheckedApart: 6 of 13);

    const ACTS: [Act; 2] = [Act::Relu, Act::Scaled { by: 3.0 }];

    fn head(p: &nn::Path) -> nn::Linear {
        nn::linear(p / "head", 4, 4, Default::default())
    }

    #[test]
    fn embedded() {
        let ids = |length: i64| Tensor::arange(2 * length, tch::kind::INT64_CPU).view([2, length]);
        let make = |p: &nn::Path| Embedded { encoder: Encoder::new(p, Act::Relu), head: head(p) };
        agree!(make, [ids(3), ids(9)], |net, ids| net.forward(ids));
    }

    #[test]
    fn what_a_lock_holds_is_saved() {
        let make = |p: &nn::Path| Embedded { encoder: Encoder::new(p, Act::Relu), head: head(p) };
        let (_vs, net) = crate::check::root(make);
        let frozen = net.freeze(&fx_runtime::Freeze::default()).expect("a frozen model");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("frozen.safetensors");
        frozen.save(&path).expect("a lock is saved as what it holds");
        let loaded = EmbeddedFrozen::load(&path, &fx_runtime::Freeze::default()).expect("a file that reads back");
        let ids = Tensor::arange(6, tch::kind::INT64_CPU).view([2, 3]);
        assert_eq!(loaded.forward(&ids), frozen.forward(&ids));
    }

    #[test]
    fn hidden() {
        let make = |p: &nn::Path| Hidden { encoder: Encoder::new(p, Act::Relu), head: head(p) };
        agree!(make, [randn(&[2, 4]), randn(&[5, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn told() {
        for act in ACTS {
            let make = |p: &nn::Path| ToldApart { encoder: Encoder::new(p, act), head: head(p) };
            agree!(make, [randn(&[2, 4]), randn(&[5, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn checked() {
        let make = |p: &nn::Path| CheckedApart { encoder: Encoder::new(p, Act::Relu), head: head(p) };
        agree!(make, [randn(&[2, 4]), randn(&[5, 4])], |net, xs| net.forward(xs));
    }
}
