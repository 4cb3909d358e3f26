//! A model of this crate as something to freeze and run, whatever its forward is called.

use std::fmt::Debug;
use std::path::Path;

use fx_runtime::{Error, Freeze, Kind, Module, Tensor, nn};
use fx_tests::{arms, constant, convolutions, dense, effects, folding, leading, merging, pointwise, residual, rules};

use crate::values;

/// A model and its frozen form.
pub(crate) trait Subject: Module + Sized {
    /// What `freeze` gives, which any thread may call.
    type Frozen: Debug + Send + Sync;

    /// The model with fresh weights.
    fn fresh(p: &nn::Path) -> Self;

    /// The user's forward, in inference.
    fn eager(&self, xs: &Tensor) -> Tensor;

    /// The generated `freeze`.
    fn frozen(&self, options: &Freeze) -> Result<Self::Frozen, Error>;

    /// The frozen forward that returns its errors.
    fn run(frozen: &Self::Frozen, xs: &Tensor) -> Result<Tensor, Error>;

    /// Writes the frozen form to a file.
    fn save(frozen: &Self::Frozen, path: &Path) -> Result<(), Error>;

    /// Reads a frozen form from a file.
    fn load(path: &Path, options: &Freeze) -> Result<Self::Frozen, Error>;
}

macro_rules! subjects {
    ($($module:ident::$model:ident => $frozen:ident: $forward:ident, $try_forward:ident ($($train:literal)?);)*) => {
        $(impl Subject for $module::$model {
            type Frozen = $module::$frozen;

            fn fresh(p: &nn::Path) -> Self {
                $module::$model::new(p)
            }

            fn eager(&self, xs: &Tensor) -> Tensor {
                #[allow(unused_imports, reason = "some forwards are inherent")]
                use nn::{Module as _, ModuleT as _};
                tch::no_grad(|| self.$forward(xs $(, $train)?))
            }

            fn frozen(&self, options: &Freeze) -> Result<Self::Frozen, Error> {
                self.freeze(options)
            }

            fn run(frozen: &Self::Frozen, xs: &Tensor) -> Result<Tensor, Error> {
                frozen.$try_forward(xs $(, $train)?)
            }

            fn save(frozen: &Self::Frozen, path: &Path) -> Result<(), Error> {
                frozen.save(path)
            }

            fn load(path: &Path, options: &Freeze) -> Result<Self::Frozen, Error> {
                $module::$frozen::load(path, options)
            }
        })*
    };
}

subjects! {
    residual::Residual => ResidualFrozen: forward_t, try_forward_t(false);
    residual::Numbered => NumberedFrozen: forward, try_forward();
    arms::Shortcut => ShortcutFrozen: forward, try_forward();
    arms::LayerScale => LayerScaleFrozen: forward, try_forward();
    arms::Projected => ProjectedFrozen: forward, try_forward();
    convolutions::Depthwise => DepthwiseFrozen: forward, try_forward();
    convolutions::Dilated => DilatedFrozen: forward, try_forward();
    convolutions::Decoder => DecoderFrozen: forward, try_forward();
    convolutions::Waves => WavesFrozen: forward, try_forward();
    convolutions::Volume => VolumeFrozen: forward, try_forward();
    convolutions::Padded => PaddedFrozen: forward, try_forward();
    convolutions::Plain => PlainFrozen: forward, try_forward();
    convolutions::NoAffine => NoAffineFrozen: forward, try_forward();
    dense::Activations => ActivationsFrozen: forward, try_forward();
    dense::Layers => LayersFrozen: forward, try_forward();
    dense::Tokens => TokensFrozen: forward, try_forward();
    dense::Decided => DecidedFrozen: forward, try_forward();
    dense::Bag => BagFrozen: forward, try_forward();
    dense::Grouped => GroupedFrozen: forward_t, try_forward_t(false);
    folding::Twice => TwiceFrozen: forward, try_forward();
    folding::TwoNorms => TwoNormsFrozen: forward, try_forward();
    folding::Elsewhere => ElsewhereFrozen: forward, try_forward();
    folding::OfTheBatch => OfTheBatchFrozen: forward, try_forward();
    folding::Loop => LoopFrozen: forward, try_forward();
    folding::SharedNorm => SharedNormFrozen: forward, try_forward();
    folding::Borders => BordersFrozen: forward, try_forward();
    folding::Transposed => TransposedFrozen: forward, try_forward();
    folding::LinearNorm => LinearNormFrozen: forward, try_forward();
    folding::FlatNorm => FlatNormFrozen: forward, try_forward();
    constant::Masked => MaskedFrozen: forward, try_forward();
    constant::Handed => HandedFrozen: forward, try_forward();
    constant::Doubled => DoubledFrozen: forward, try_forward();
    rules::UsersFolding => UsersFoldingFrozen: forward, try_forward();
    rules::LibraryFolding => LibraryFoldingFrozen: forward, try_forward();
    rules::UsersShared => UsersSharedFrozen: forward, try_forward();
    rules::Sums => SumsFrozen: forward, try_forward();
    rules::Rectified => RectifiedFrozen: forward, try_forward();
    leading::LeadingNorm => LeadingNormFrozen: forward, try_forward();
    leading::LeadingFlat => LeadingFlatFrozen: forward, try_forward();
    leading::Scaled => ScaledFrozen: forward, try_forward();
    merging::Attention => AttentionFrozen: forward, try_forward();
    merging::Gated => GatedFrozen: forward, try_forward();
    merging::Heads => HeadsFrozen: forward, try_forward();
    pointwise::Custom => CustomFrozen: forward, try_forward();
    pointwise::Rows => RowsFrozen: forward, try_forward();
    pointwise::Modulated => ModulatedFrozen: forward, try_forward();
    pointwise::Rotated => RotatedFrozen: forward, try_forward();
    pointwise::Bent => BentFrozen: forward, try_forward();
    pointwise::Normed => NormedFrozen: forward, try_forward();
    effects::Noise => NoiseFrozen: forward, try_forward();
    effects::MonteCarlo => MonteCarloFrozen: forward, try_forward();
    effects::InPlace => InPlaceFrozen: forward, try_forward();
    effects::Compound => CompoundFrozen: forward, try_forward();
    effects::Flat => FlatFrozen: forward, try_forward();
    effects::Parts => PartsFrozen: forward, try_forward();
    effects::InputInPlace => InputInPlaceFrozen: forward, try_forward();
}

/// A model in `kind` on the tested device, with the weights that its tensors' names stand for.
pub(crate) fn model<S: Subject>(kind: Kind) -> S {
    let mut vs = nn::VarStore::new(values::device());
    let model = {
        let _alone = values::chance();
        S::fresh(&vs.root())
    };
    values::fill(&model);
    vs.set_kind(kind);
    model
}

/// The same weights, rounded to `kind`, in f64: what a model in `kind` would compute if it computed without rounding.
pub(crate) fn exact<S: Subject>(kind: Kind) -> S {
    let mut vs = nn::VarStore::new(values::device());
    let model = {
        let _alone = values::chance();
        S::fresh(&vs.root())
    };
    values::fill(&model);
    vs.set_kind(kind);
    vs.set_kind(Kind::Double);
    model
}
