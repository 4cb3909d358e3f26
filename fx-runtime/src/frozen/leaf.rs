//! A layer that no kernel is packed for, kept for inference.

use std::any::Any;
use std::fmt;

use tch::{Kind, Tensor};

use super::coded_table::CodedTable;
use super::select::is_coded;
use super::{Frame, norm};
use crate::nn::sealed::Held;
use crate::nn::{self, Layer};
use crate::qparams::WeightFormat;
use crate::saved::{Loader, Saver, State};
use crate::{Backend, Error, Result};

/// A copy of a layer on the frame's device and in its dtype, which computes as in inference.
///
/// Many threads may run it at once; a `Sequential` runs for one at a time, since it may hold a layer of the user's.
pub struct Leaf<L: Layer> {
    form: Form<L>,
    type_name: &'static str,
    /// Whether kernels of ours may take the place of libtorch's operators.
    by_kernels: bool,
}

/// What a layer computes with.
enum Form<L: Layer> {
    /// As it is.
    Held(L::Held),
    /// An embedding whose table is integers.
    Coded(CodedTable),
}

/// What a saved file says of the second form.
const CODED: &str = "coded table";

impl<L: Layer> Leaf<L> {
    /// Copies the layer, so that later changes to it, mode included, do not reach the copy.
    ///
    /// # Errors
    ///
    /// A tensor that cannot be moved; in a `Sequential`, a layer of the user's that is not [`crate::Module`].
    pub fn new(frame: &Frame, layer: &L) -> Result<Self, Error> {
        if let Some(table) = coded(frame, layer.as_any())? {
            return Ok(Self { form: Form::Coded(table), type_name: layer.type_name(), by_kernels: true });
        }
        let copy = layer.placed(&mut |tensor| Ok(frame.param(tensor)?.shallow_clone()))?;
        copy.eval();
        Ok(Self::of(frame, copy))
    }

    /// Takes over a layer whose tensors are in place.
    fn of(frame: &Frame, layer: L) -> Self {
        let by_kernels = frame.target().backend != Backend::Composed;
        Self { type_name: layer.type_name(), form: Form::Held(L::Held::hold(layer)), by_kernels }
    }

    /// Applies the layer.
    ///
    /// # Errors
    ///
    /// What libtorch refuses.
    pub fn run(&self, xs: &Tensor) -> Result<Tensor, Error> {
        match &self.form {
            Form::Held(held) => {
                let norm = |layer: &L| layer.as_any().downcast_ref().and_then(|norm| norm::on_gpu(norm, xs));
                match self.by_kernels.then(|| held.with(norm)).flatten() {
                    Some(found) => found,
                    None => Ok(held.run(xs)?),
                }
            }
            Form::Coded(table) => table.run(xs),
        }
    }
}

/// The table of an embedding as integers, where the model's weights are to be kept so; none of another layer.
pub(crate) fn coded(frame: &Frame, layer: &dyn Any) -> Result<Option<CodedTable>> {
    let Some(layer) = layer.downcast_ref::<nn::Embedding>() else { return Ok(None) };
    let takes = |format: &WeightFormat| match layer.ws.size()[..] {
        [rows, columns] => is_coded(*format, [rows, columns]),
        _ => false,
    };
    let Some(format) = frame.weight_format().filter(takes).filter(|_| frame.kind() == Kind::Float) else {
        return Ok(None);
    };
    let placed = nn::Embedding { ws: frame.param(&layer.ws)?.shallow_clone(), config: layer.config };
    CodedTable::new(&placed, format).map(Some)
}

impl<L: Layer> fmt::Debug for Leaf<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.form {
            Form::Held(_) => write!(f, "Leaf({})", self.type_name),
            Form::Coded(table) => write!(f, "Leaf({}, {})", self.type_name, table.coded().format),
        }
    }
}

impl<L: Layer + State> State for Leaf<L> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        match &self.form {
            Form::Held(held) => held.with(|layer| layer.save(to)),
            Form::Coded(table) => {
                to.choose(CODED);
                table.save(to)
            }
        }
    }

    fn load(from: &mut Loader) -> Result<Self> {
        if from.has_choice() && from.choice()? == CODED {
            let table = CodedTable::load(from)?;
            return Ok(Self { form: Form::Coded(table), type_name: "Embedding", by_kernels: true });
        }
        let layer = L::load(from)?;
        Ok(Self::of(from.frame(), layer))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tch::Device;

    use super::super::oracle::{check, frame, randn};
    use super::*;
    use crate::nn::VarStore;
    use crate::{Freeze, Module};

    fn assert_send_sync<T: Send + Sync>() {}

    fn store() -> VarStore {
        VarStore::new(Device::Cpu)
    }

    #[test]
    fn crosses_threads() {
        assert_send_sync::<Leaf<nn::BatchNorm>>();
        assert_send_sync::<Leaf<nn::Conv2D>>();
        assert_send_sync::<Leaf<nn::MaxPool2D>>();
        assert_send_sync::<Leaf<nn::Sequential>>();
        assert_send_sync::<Leaf<nn::SequentialT>>();
        let vs = store();
        let norm = nn::layer_norm(vs.root(), vec![8], nn::LayerNormConfig::default());
        let leaf = Leaf::new(&frame(Freeze::new()), &norm).unwrap();
        let x = Tensor::ones([2, 8], (Kind::Float, Device::Cpu));
        let rows = |x: &Tensor| leaf.run(x).unwrap().size()[0];
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| x.shallow_clone()).map(|x| scope.spawn(move || rows(&x))).collect();
            assert!(threads.into_iter().all(|thread| thread.join().unwrap() == 2));
        });
    }

    #[test]
    fn infers_whatever_the_mode_is_and_keeps_its_weights() {
        let vs = store();
        let bn = nn::batch_norm2d(vs.root(), 3, nn::BatchNormConfig::default());
        let x = randn(&[2, 3, 4, 4], Kind::Float);
        let expected = bn.forward_t(&x, false);
        bn.train();
        let leaf = Leaf::new(&frame(Freeze::new()), &bn).unwrap();
        let _ = bn.forward(&x);
        assert_ne!(bn.forward_t(&x, false), expected, "training moved the running statistics of the model");
        assert_eq!(leaf.run(&x).unwrap(), expected);
        assert_eq!((bn.training(), format!("{leaf:?}")), (Some(true), "Leaf(BatchNorm)".to_owned()));
        assert!(!leaf.run(&x).unwrap().requires_grad());
    }

    #[test]
    fn tensors_are_moved_to_the_frames_dtype_but_not_indices() {
        let vs = store();
        let table = nn::embedding(vs.root(), 5, 4, nn::EmbeddingConfig::default());
        let ids = Tensor::from_slice(&[0i64, 4]);
        let leaf = Leaf::new(&frame(Freeze::new().kind(Kind::Double)), &table).unwrap();
        check(&leaf.run(&ids).unwrap(), &table.forward(&ids).to_kind(Kind::Double), "table in f64");
        assert!(leaf.run(&Tensor::from_slice(&[5i64])).is_err());
    }

    #[test]
    fn a_sequential_is_moved_layer_by_layer() {
        let vs = store();
        let inner = nn::seq().add(nn::linear(vs.root() / "inner", 3, 3, nn::LinearConfig::default())).add(nn::relu());
        let net = nn::seq_t()
            .add(nn::linear(vs.root(), 4, 3, nn::LinearConfig::default()))
            .add(nn::dropout(0.5))
            .add(inner)
            .add_fn_t(|xs, train| if train { xs * 100 } else { xs * 2 });
        net.train();
        let x = randn(&[2, 4], Kind::Float);
        let leaf = Leaf::new(&frame(Freeze::new().kind(Kind::Double)), &net).unwrap();
        let (found, expected) = (leaf.run(&x.to_kind(Kind::Double)).unwrap(), net.forward_t(&x, false));
        check(&found.to_kind(Kind::Float), &expected, "sequential");
        assert!(leaf.run(&randn(&[2, 5], Kind::Double)).is_err());
    }

    /// A layer of the user's that is `Send` but not `Sync`.
    #[derive(Debug, Module)]
    struct Counting {
        fc: nn::Linear,
        calls: Cell<u32>,
    }

    impl nn::Module for Counting {
        fn forward(&self, xs: &Tensor) -> Tensor {
            self.calls.set(self.calls.get() + 1);
            self.fc.forward(xs)
        }
    }

    #[test]
    fn a_layer_of_the_users_moves_with_the_others() {
        let vs = store();
        let counting = Counting { fc: nn::linear(vs.root(), 4, 3, nn::LinearConfig::default()), calls: Cell::new(0) };
        let net = nn::seq().add(counting);
        let x = randn(&[2, 4], Kind::Float);
        let leaf = Leaf::new(&frame(Freeze::new()), &net).unwrap();
        assert_eq!(leaf.run(&x).unwrap(), net.forward(&x));
        let leaf = Leaf::new(&frame(Freeze::new().kind(Kind::Double)), &net).unwrap();
        let (in_f64, in_f32) = (leaf.run(&x.to_kind(Kind::Double)).unwrap(), net.forward(&x));
        assert!(in_f64.allclose(&in_f32.to_kind(Kind::Double), 1e-5, 1e-6, false));
    }
}
