//! What a `call_module` node calls: a layer, or a module of the user's.

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

use fx_ir::host::eval::Value as HostValue;
use tch::Tensor;
use tch::nn::{GRUState, LSTMState, ModuleT, RNN};

use super::Value;
use super::convert::{IntoValue, tensor};
use super::shared::{LayerModule, SharedModule};
use crate::module::Place;
use crate::nn::sealed::AsAny;
use crate::nn::{GRU, LSTM, Layer, held_layer, shared_layer};
use crate::registry::Registration;
use crate::{Error, Module, Result};

/// A module that a graph can call. Every layer of [`crate::nn`] is one.
pub trait Submodule {
    /// Its forward.
    ///
    /// # Errors
    ///
    /// [`Error::Torch`] if libtorch refuses, [`Error::Refused`] if the arguments are not those that it takes.
    fn call(&self, args: &[Value]) -> Result<Value>;

    /// The same with arguments of which a tensor that nobody else has may become the result. Reads them if it is not
    /// overridden.
    ///
    /// # Errors
    ///
    /// As [`Submodule::call`].
    fn call_owned(&self, args: Vec<Value>) -> Result<Value> {
        self.call(&args)
    }

    /// Another method of it than its forward; none if it has none such.
    fn call_method(&self, name: &str, args: &[Value]) -> Option<Result<Value>> {
        let _ = (name, args);
        None
    }

    /// A second handle on it, which shares its tensors.
    ///
    /// # Errors
    ///
    /// [`Error::NotCloneable`] of a module whose handles are not to be had.
    fn handle(&self) -> Result<Rc<dyn Submodule>> {
        let what = self.module().map_or("a module", Module::type_name).to_owned();
        Err(Error::NotCloneable { what })
    }

    /// A copy of it in inference mode whose tensors are what `place` makes of its own; none of a module that cannot be copied.
    fn placed(&self, place: &mut Place<'_>) -> Option<Result<Rc<dyn Submodule>>> {
        let _ = place;
        None
    }

    /// The same in a form that threads share; none of a module that stays on its thread.
    fn shared(&self) -> Option<Result<Arc<dyn SharedModule>>> {
        None
    }

    /// Whether it computes on codes of eight bits, beside whose rounding that to bf16 elsewhere in the model does not count.
    fn is_on_codes(&self) -> bool {
        false
    }

    /// The module that its parameters, its buffers and its mode are read from.
    fn module(&self) -> Option<&dyn Module>;

    /// The layer of [`crate::nn`] that it is, of a type that can be asked for; none of other modules.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }

    /// The layer of [`crate::nn`], a recurrent one too, that is rebuilt from its configuration; none of other modules.
    fn rebuilt(&self) -> Option<&dyn Any> {
        self.as_any()
    }
}

impl<L: Layer + 'static> Submodule for L {
    fn call(&self, args: &[Value]) -> Result<Value> {
        applied(self, args)
    }

    fn module(&self) -> Option<&dyn Module> {
        Some(self)
    }

    fn handle(&self) -> Result<Rc<dyn Submodule>> {
        Ok(Rc::new(self.shallow_clone()?))
    }

    fn placed(&self, place: &mut Place<'_>) -> Option<Result<Rc<dyn Submodule>>> {
        Some(in_inference(Module::placed(self, place)))
    }

    fn shared(&self) -> Option<Result<Arc<dyn SharedModule>>> {
        shared(self)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

/// A layer of this crate in a form that threads share.
fn shared(layer: &dyn Any) -> Option<Result<Arc<dyn SharedModule>>> {
    Some(held_layer(layer)?.map(|held| Arc::new(LayerModule(held)) as Arc<dyn SharedModule>))
}

/// A layer of a chain.
pub(crate) struct SharedLayer(pub(crate) Rc<dyn Layer>);

impl Submodule for SharedLayer {
    fn call(&self, args: &[Value]) -> Result<Value> {
        applied(&*self.0, args)
    }

    fn module(&self) -> Option<&dyn Module> {
        Some(&*self.0)
    }

    fn placed(&self, place: &mut Place<'_>) -> Option<Result<Rc<dyn Submodule>>> {
        let layer = AsAny::as_any(&*self.0);
        let registration = Registration::find(layer)?;
        let copy = registration.placed(layer, place)?;
        let shared = copy.map(|copy| {
            registration.view(&*copy).into_iter().for_each(|copy| copy.set_training(false));
            shared_layer(&*copy)
        });
        match shared {
            Ok(shared) => Some(shared?.map(|layer| Rc::new(SharedLayer(layer)) as Rc<dyn Submodule>)),
            Err(error) => Some(Err(error)),
        }
    }

    fn shared(&self) -> Option<Result<Arc<dyn SharedModule>>> {
        shared(AsAny::as_any(&*self.0))
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(AsAny::as_any(&*self.0))
    }
}

/// A copy of a module, set to inference.
fn in_inference<M: Module + Submodule + 'static>(copy: Result<M>) -> Result<Rc<dyn Submodule>> {
    let copy = copy?;
    copy.set_training(false);
    Ok(Rc::new(copy))
}

/// A layer's forward, in the mode that is given or else in the one that it keeps.
fn applied(layer: &dyn Layer, args: &[Value]) -> Result<Value> {
    let (xs, train) = one_tensor(layer.type_name(), args)?;
    let train = train.or_else(|| layer.training()).unwrap_or(false);
    Ok(Value::Tensor(Rc::new(layer.f_forward_t(xs, train)?)))
}

/// The input of a layer, and its mode if one is given.
fn one_tensor<'v>(name: &str, args: &'v [Value]) -> Result<(&'v Tensor, Option<bool>)> {
    match args {
        [xs] => tensor(xs).map(|xs| (xs, None)),
        [xs, Value::Bool(train)] => tensor(xs).map(|xs| (xs, Some(*train))),
        _ => None,
    }
    .ok_or_else(|| refused(name, "a tensor, and its mode if there is a second", args))
}

fn refused(name: &str, wanted: &str, args: &[Value]) -> Error {
    let given: Vec<String> = args.iter().map(ToString::to_string).collect();
    Error::Refused(format!("`{name}` takes {wanted}, got ({})", given.join(", ")))
}

/// A layer of a chain, whose type is not known.
pub(crate) struct Erased {
    layer: Box<dyn ModuleT>,
    name: &'static str,
}

impl Erased {
    pub(crate) fn new(layer: Box<dyn ModuleT>, name: &'static str) -> Erased {
        Erased { layer, name }
    }
}

impl Submodule for Erased {
    fn call(&self, args: &[Value]) -> Result<Value> {
        let (xs, train) = one_tensor(self.name, args)?;
        Ok(Value::Tensor(Rc::new(self.layer.forward_t(xs, train.unwrap_or(false)))))
    }

    fn module(&self) -> Option<&dyn Module> {
        None
    }
}

/// Recurrent layers: `seq` on one input, `seq_init` on an input and a state.
macro_rules! recurrent {
    ($layer:ident, $state:ident, $read:expr) => {
        impl Submodule for $layer {
            fn call(&self, args: &[Value]) -> Result<Value> {
                let name = stringify!($layer);
                let read: fn(&Value) -> Option<$state> = $read;
                let (ys, state) = match args {
                    [xs] => tensor(xs).map(|xs| self.seq(xs)),
                    [xs, state] => tensor(xs).zip(read(state)).map(|(xs, state)| self.seq_init(xs, &state)),
                    _ => None,
                }
                .ok_or_else(|| refused(name, "a tensor, and a state if there is a second", args))?;
                Ok((ys, state).value())
            }

            fn call_method(&self, name: &str, args: &[Value]) -> Option<Result<Value>> {
                let read: fn(&Value) -> Option<$state> = $read;
                match (name, args) {
                    ("seq" | "seq_init", args) => Some(self.call(args)),
                    ("zero_state", [Value::Int(count, _)]) => {
                        i64::try_from(*count).ok().map(|count| Ok(IntoValue::value(&self.zero_state(count))))
                    }
                    ("step", [xs, state]) => {
                        tensor(xs).zip(read(state)).map(|(xs, state)| Ok(IntoValue::value(&self.step(xs, &state))))
                    }
                    _ => None,
                }
            }

            fn handle(&self) -> Result<Rc<dyn Submodule>> {
                Ok(Rc::new(self.shallow_clone()?))
            }

            fn placed(&self, place: &mut Place<'_>) -> Option<Result<Rc<dyn Submodule>>> {
                Some(in_inference(Module::placed(self, place)))
            }

            fn module(&self) -> Option<&dyn Module> {
                Some(self)
            }

            fn rebuilt(&self) -> Option<&dyn Any> {
                Some(self)
            }
        }
    };
}

recurrent!(LSTM, LSTMState, lstm_state);
recurrent!(GRU, GRUState, gru_state);

/// The state of an LSTM; none of another value.
pub(crate) fn lstm_state(state: &Value) -> Option<LSTMState> {
    let HostValue::Struct(_, fields) = state else { return None };
    let HostValue::Tuple(parts) = &fields.first()?.1 else { return None };
    let [h, c] = parts.as_slice() else { return None };
    Some(LSTMState((tensor(h)?.shallow_clone(), tensor(c)?.shallow_clone())))
}

/// The state of a GRU; none of another value.
pub(crate) fn gru_state(state: &Value) -> Option<GRUState> {
    let HostValue::Struct(_, fields) = state else { return None };
    Some(GRUState(tensor(&fields.first()?.1)?.shallow_clone()))
}

/// A module of the user's that is not looked into.
pub(crate) struct Leaf<M> {
    pub(crate) module: Rc<M>,
    pub(crate) forward: fn(&M, &[Value]) -> Result<Value>,
}

impl<M: Module + 'static> Submodule for Leaf<M> {
    fn call(&self, args: &[Value]) -> Result<Value> {
        (self.forward)(&self.module, args)
    }

    fn placed(&self, place: &mut Place<'_>) -> Option<Result<Rc<dyn Submodule>>> {
        let placed = self.module.placed(place).map(|module| {
            module.set_training(false);
            Rc::new(Leaf { module: Rc::new(module), forward: self.forward }) as Rc<dyn Submodule>
        });
        Some(placed)
    }

    fn module(&self) -> Option<&dyn Module> {
        Some(&*self.module)
    }
}

/// A module that cannot be called here, and the reason.
pub(crate) struct Uncallable(pub(crate) String);

impl Submodule for Uncallable {
    fn call(&self, _: &[Value]) -> Result<Value> {
        Err(Error::Refused(self.0.clone()))
    }

    fn module(&self) -> Option<&dyn Module> {
        None
    }
}
