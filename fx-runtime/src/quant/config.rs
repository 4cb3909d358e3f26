//! Which node is quantized how: PyTorch's `QConfig` and `QConfigMapping`.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use fx_ir::{OpId, ops};
use regex::Regex;

use super::{DType, ObserverConfig, QEngine, QScheme};
use crate::{Error, Result};

/// How a node is quantized: the observers of its result and of its weight.
#[derive(Clone, Debug, PartialEq)]
pub struct QConfig {
    /// The observer of results and of inputs.
    pub activation: ObserverConfig,
    /// The observer of weights.
    pub weight: ObserverConfig,
}

impl QConfig {
    /// PyTorch's `default_weight_observer`: `qint8`, one symmetric scale.
    pub fn weight() -> ObserverConfig {
        ObserverConfig::min_max().dtype(DType::QInt8).qscheme(QScheme::PerTensorSymmetric)
    }

    /// PyTorch's `default_per_channel_weight_observer`: `qint8`, a symmetric scale for each output channel.
    pub fn weight_per_channel() -> ObserverConfig {
        ObserverConfig::per_channel_min_max(0).dtype(DType::QInt8).qscheme(QScheme::PerChannelSymmetric)
    }

    /// The observer in PyTorch's `default_fused_wt_fake_quant`: `qint8`, one symmetric scale that follows the training.
    pub fn qat_weight() -> ObserverConfig {
        let observer = ObserverConfig::moving_average_min_max();
        observer.dtype(DType::QInt8).qscheme(QScheme::PerTensorSymmetric).quant_range(-128, 127)
    }

    /// The observer in PyTorch's `default_fused_per_channel_wt_fake_quant`: the same for each output channel.
    pub fn qat_weight_per_channel() -> ObserverConfig {
        let observer = ObserverConfig::moving_average_per_channel_min_max(0);
        observer.dtype(DType::QInt8).qscheme(QScheme::PerChannelSymmetric).quant_range(-128, 127)
    }

    /// PyTorch's `per_channel_dynamic_qconfig`, for [`quantize_dynamic`](super::quantize_dynamic): activations get their
    /// parameters at each call, seven bits of `quint8` as fbgemm computes them.
    ///
    /// For qnnpack's eight bits take the activation with `reduce_range(false)`, for PyTorch's `default_dynamic_qconfig` the
    /// weight of [`QConfig::weight`].
    pub fn dynamic() -> QConfig {
        QConfig::with_activation(ObserverConfig::placeholder(true).reduce_range(true))
    }

    /// The same with parameters of its own for each token, that is, for each vector along the last axis. Not of PyTorch's.
    pub fn dynamic_per_token() -> QConfig {
        let dynamic = QConfig::dynamic();
        QConfig { activation: dynamic.activation.qscheme(QScheme::PerChannelAffine), ..dynamic }
    }

    /// That observer of activations, with the weights of [`QConfig::weight_per_channel`].
    pub fn with_activation(activation: ObserverConfig) -> QConfig {
        QConfig { activation, weight: QConfig::weight_per_channel() }
    }
}

/// An entry; `None` means that what it names stays in floats.
type Entry = Option<QConfig>;

/// Which node is quantized how, from the most general rule to the most special, each before the ones above it:
///
/// 1. [`global`](QConfigMapping::global),
/// 2. [`object_type`](QConfigMapping::object_type): a layer's or an op's,
/// 3. [`module_name_regex`](QConfigMapping::module_name_regex), the first that matches,
/// 4. [`module_name`](QConfigMapping::module_name), with all below it,
/// 5. [`module_name_object_type_order`](QConfigMapping::module_name_object_type_order): the n-th of a type in a module.
///
/// As in PyTorch the type of the module that an op stands in comes before the op's own. A name that names nothing is an
/// error of [`prepare`](super::prepare); PyTorch ignores it.
#[derive(Clone, Debug, Default)]
pub struct QConfigMapping {
    global: Entry,
    /// PyTorch's own rules for types, which need not name anything.
    defaults: BTreeMap<String, QConfig>,
    object_types: BTreeMap<String, Entry>,
    regexes: Vec<(String, Entry)>,
    module_names: BTreeMap<String, Entry>,
    orders: BTreeMap<(String, String, usize), Entry>,
}

impl QConfigMapping {
    /// A mapping that quantizes nothing.
    pub fn new() -> QConfigMapping {
        QConfigMapping::default()
    }

    /// PyTorch's `get_default_qconfig_mapping(engine)`.
    ///
    /// Beside the engine's configuration it says: `reshape` keeps what its input has, the weight of a layer norm stays in
    /// floats, and transposed convolutions have one scale where the kernels know no other (fbgemm, x86).
    pub fn for_engine(engine: QEngine) -> QConfigMapping {
        QConfigMapping::with_defaults(engine, engine.default_qconfig(), QConfig::weight())
    }

    /// PyTorch's `get_default_qat_qconfig_mapping(engine)`, for [`prepare_qat`](super::prepare_qat).
    ///
    /// It says the same of `reshape`, of layer norms and of transposed convolutions.
    pub fn for_qat(engine: QEngine) -> QConfigMapping {
        QConfigMapping::with_defaults(engine, engine.default_qat_qconfig(), QConfig::qat_weight())
    }

    /// What holds for all nodes, and beside it PyTorch's own rules; `weight` is of one scale.
    fn with_defaults(engine: QEngine, all: QConfig, weight: ObserverConfig) -> QConfigMapping {
        let mut defaults = BTreeMap::new();
        let mut put = |names: &[&str], qconfig: &QConfig| {
            defaults.extend(names.iter().map(|name| (normal(name), qconfig.clone())));
        };
        put(&[ops::RESHAPE.name()], &QConfig { activation: ObserverConfig::reuse_input(), weight: all.weight.clone() });
        if matches!(engine, QEngine::Fbgemm | QEngine::X86) {
            let transposed = QConfig { weight, ..all.clone() };
            put(&["ConvTranspose1D", "ConvTranspose2D", "ConvTranspose3D"], &transposed);
            let functions = [ops::CONV_TRANSPOSE1D, ops::CONV_TRANSPOSE2D, ops::CONV_TRANSPOSE3D];
            put(&functions.map(OpId::name), &transposed);
        }
        let float_weight = QConfig { weight: ObserverConfig::placeholder(false), ..all.clone() };
        put(&["LayerNorm", ops::LAYER_NORM.name()], &float_weight);
        QConfigMapping { global: Some(all), defaults, ..QConfigMapping::default() }
    }

    /// What holds where nothing else is said.
    #[must_use]
    pub fn global(mut self, qconfig: impl Into<Entry>) -> QConfigMapping {
        self.global = qconfig.into();
        self
    }

    /// What holds for a type: of a layer (`Linear`; PyTorch's spelling `Conv2d` will do), of a user's module, or an op
    /// (`relu`).
    #[must_use]
    pub fn object_type(mut self, name: &str, qconfig: impl Into<Entry>) -> QConfigMapping {
        self.object_types.insert(normal(name), qconfig.into());
        self
    }

    /// What holds for the modules whose path the pattern matches from its start, as Python's `re.match`: `in` does not
    /// match `lin`, but `in_proj`. The first pattern that matches holds.
    #[must_use]
    pub fn module_name_regex(mut self, pattern: &str, qconfig: impl Into<Entry>) -> QConfigMapping {
        self.regexes.push((pattern.to_owned(), qconfig.into()));
        self
    }

    /// What holds for the module of that path (`layer1.0`) and all below it.
    #[must_use]
    pub fn module_name(mut self, path: &str, qconfig: impl Into<Entry>) -> QConfigMapping {
        self.module_names.insert(path.to_owned(), qconfig.into());
        self
    }

    /// What holds for the `index`-th node, from 0, of that type among those that stand directly in the module.
    #[must_use]
    pub fn module_name_object_type_order(
        mut self,
        path: &str,
        object_type: &str,
        index: usize,
        qconfig: impl Into<Entry>,
    ) -> QConfigMapping {
        self.orders.insert((path.to_owned(), normal(object_type), index), qconfig.into());
        self
    }

    /// The same mapping, ready to be asked.
    ///
    /// # Errors
    ///
    /// [`Error::Quantization`] if a pattern is no regular expression.
    pub(crate) fn resolver(&self) -> Result<Resolver<'_>> {
        let compiled = |(pattern, entry): &'_ (String, Entry)| {
            let refused = |error: regex::Error| named(pattern, format!("it is no regular expression: {error}"));
            Ok((Regex::new(&format!("^(?:{pattern})")).map_err(refused)?, pattern.clone(), entry.clone()))
        };
        let regexes = self.regexes.iter().map(compiled).collect::<Result<Vec<_>>>()?;
        Ok(Resolver { mapping: self, regexes, named: RefCell::default() })
    }
}

/// Where a node stands, for a mapping.
pub(crate) struct Standing<'g> {
    /// The path of the module that the node calls or stands in.
    pub(crate) module: &'g str,
    /// That module's type.
    pub(crate) module_type: &'g str,
    /// The op, of a node that calls none of a module.
    pub(crate) op: Option<&'g str>,
    /// The path of the module that holds it.
    pub(crate) parent: &'g str,
    /// How many of its type stand before it in there.
    pub(crate) index: usize,
}

/// A mapping that is asked, and what of it was named so far.
pub(crate) struct Resolver<'c> {
    mapping: &'c QConfigMapping,
    regexes: Vec<(Regex, String, Entry)>,
    named: RefCell<BTreeSet<String>>,
}

impl Resolver<'_> {
    /// How the node is quantized; none if it stays in floats.
    pub(crate) fn qconfig(&self, at: &Standing<'_>) -> Entry {
        let mapping = self.mapping;
        let mut found = mapping.global.clone();
        for name in at.op.into_iter().chain([at.module_type]).map(normal) {
            if let Some(qconfig) = mapping.defaults.get(&name) {
                found = Some(qconfig.clone());
            }
            if let Some(entry) = mapping.object_types.get(&name) {
                self.note(&name);
                found.clone_from(entry);
            }
        }
        let matching: Vec<_> = self.regexes.iter().filter(|(regex, ..)| regex.is_match(at.module)).collect();
        for (_, pattern, _) in &matching {
            self.note(pattern);
        }
        if let Some((.., entry)) = matching.first() {
            found.clone_from(entry);
        }
        let above = std::iter::successors(Some(at.module), |path| path.rsplit_once('.').map(|(parent, _)| parent));
        let known: Vec<_> = above.filter_map(|path| Some((path, mapping.module_names.get(path)?))).collect();
        for (path, _) in &known {
            self.note(path);
        }
        if let Some((_, entry)) = known.first() {
            found.clone_from(entry);
        }
        let ty = normal(at.op.unwrap_or(at.module_type));
        if let Some(entry) = mapping.orders.get(&(at.parent.to_owned(), ty.clone(), at.index)) {
            self.note(&order(at.parent, &ty, at.index));
            found.clone_from(entry);
        }
        found
    }

    fn note(&self, name: &str) {
        self.named.borrow_mut().insert(name.to_owned());
    }

    /// Checks that each of the user's names has named something.
    ///
    /// # Errors
    ///
    /// [`Error::Quantization`] with the first that has not.
    pub(crate) fn check_named(&self) -> Result<()> {
        let mapping = self.mapping;
        let types = mapping.object_types.keys().map(|name| (name.clone(), "type"));
        let regexes = mapping.regexes.iter().map(|(pattern, _)| (pattern.clone(), "module whose path matches"));
        let modules = mapping.module_names.keys().map(|path| (path.clone(), "module"));
        let orders = mapping.orders.keys().map(|(path, ty, index)| (order(path, ty, *index), "node"));
        let named = self.named.borrow();
        let unknown = types.chain(regexes).chain(modules).chain(orders).find(|(name, _)| !named.contains(name));
        unknown.map_or(Ok(()), |(name, what)| {
            Err(self::named(&name, format!("the model has no such {what}, of those that compute")))
        })
    }
}

fn named(site: &str, reason: String) -> Error {
    Error::Quantization { site: site.to_owned(), reason }
}

fn order(path: &str, ty: &str, index: usize) -> String {
    format!("{ty} {index} of `{path}`")
}

/// A type's name as PyTorch and tch both would be read: `Conv2d` is `Conv2D`.
fn normal(name: &str) -> String {
    name.to_ascii_lowercase()
}
