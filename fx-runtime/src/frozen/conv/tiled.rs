//! A weight that lies as oneDNN reads it or as Winograd's algorithm does, as its inputs ask for.

use std::sync::{Arc, PoisonError, RwLock};

use tch::{TchError, Tensor};

use crate::ffi::{Facts, Geometry, PackedConv, Param, Winograd, refused};
use crate::frozen::Activation;
use crate::frozen::epilogue::RowEpilogue;

/// Elements of a weight deep in a network, where images are small as a rule. It is only a guess at the form that will be
/// asked for: if it is wrong, the first call lays the weight out anew.
const DEEP: usize = 512 * 512 * 9;

/// It lies in memory once as long as all inputs ask for the same.
pub(super) struct Tiled {
    geometry: Geometry,
    bias: Option<Param>,
    /// The bias again, as the epilogue reads it.
    row: Option<Box<[f32]>>,
    forms: RwLock<Forms>,
}

/// One of the two is there.
#[derive(Default)]
struct Forms {
    direct: Option<Arc<PackedConv>>,
    tiles: Option<Arc<Winograd>>,
    /// An input has come, which asked for what is there.
    is_asked: bool,
}

impl Tiled {
    /// `direct` holds the weight, and has not laid it out yet.
    pub(super) fn new(
        weight: &Tensor,
        direct: PackedConv,
        bias: Option<&Tensor>,
        geometry: Geometry,
    ) -> Result<Self, TchError> {
        let row = bias.map(Vec::try_from).transpose()?.map(Vec::into_boxed_slice);
        let bias = bias.map(Param::copied).transpose()?;
        let mut forms = Forms::default();
        if weight.numel() < DEEP {
            forms.tiles = Some(Arc::new(Winograd::pack(weight, &geometry)?));
        } else {
            direct.lay_out()?;
            forms.direct = Some(Arc::new(direct));
        }
        Ok(Self { geometry, bias, row, forms: RwLock::new(forms) })
    }

    /// The weight as it was before it was packed.
    pub(super) fn dense_weight(&self) -> Result<Tensor, TchError> {
        self.forms.read().unwrap_or_else(PoisonError::into_inner).dense_weight()
    }

    pub(super) fn bias(&self) -> Option<&Param> {
        self.bias.as_ref()
    }

    /// `act(conv(x) + other)` by Winograd's algorithm; none where the direct sum is faster, or the results are not finite.
    pub(super) fn run(&self, x: &Tensor, other: Option<&Tensor>, act: Activation) -> Result<Option<Tensor>, TchError> {
        let facts = Facts::of(x).filter(|facts| Winograd::pays(facts.sizes(), &self.geometry));
        let Some(facts) = facts else { return Ok(None) };
        let make = |weight: &Tensor| Winograd::pack(weight, &self.geometry);
        let tiles = self.form(|forms| &mut forms.tiles, |forms| &forms.tiles, make)?;
        tiles.run(x, &facts, other, &RowEpilogue { bias: self.row.as_deref(), act })
    }

    /// For the direct sum.
    pub(super) fn direct(&self) -> Result<Arc<PackedConv>, TchError> {
        let make = |weight: &Tensor| {
            let packed = PackedConv::pack(weight, self.bias.as_deref(), self.geometry.clone());
            packed.ok_or_else(|| refused("a convolution"))?
        };
        self.form(|forms| &mut forms.direct, |forms| &forms.direct, make)
    }

    /// One of the forms, made of the other if it is not there. The first input that comes decides which one is kept alone.
    fn form<F>(
        &self,
        place: fn(&mut Forms) -> &mut Option<Arc<F>>,
        look: fn(&Forms) -> &Option<Arc<F>>,
        make: impl FnOnce(&Tensor) -> Result<F, TchError>,
    ) -> Result<Arc<F>, TchError> {
        let asked = |forms: &Forms| look(forms).clone().filter(|_| forms.is_asked);
        if let Some(form) = asked(&self.forms.read().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(form);
        }
        // A panic cannot leave the forms without one.
        let mut forms = self.forms.write().unwrap_or_else(PoisonError::into_inner);
        let form = match look(&forms) {
            Some(form) => form.clone(),
            None => Arc::new(make(&forms.dense_weight()?)?),
        };
        if !forms.is_asked {
            *forms = Forms { is_asked: true, ..Forms::default() };
        }
        *place(&mut forms) = Some(form.clone());
        Ok(form)
    }
}

impl Forms {
    fn dense_weight(&self) -> Result<Tensor, TchError> {
        match (&self.direct, &self.tiles) {
            (Some(direct), _) => direct.dense_weight(),
            (None, Some(tiles)) => tiles.dense_weight(),
            (None, None) => Err(refused("a convolution")),
        }
    }
}
