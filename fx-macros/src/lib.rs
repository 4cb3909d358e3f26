//! The macros of fx: they parse, check and expand, and leave all understanding to fx-front and fx-rules.
//!
//! They are used through `fx-runtime`, which re-exports them; what they expand to names only `::fx_runtime`.
//!
//! **Invariant:** on an error the user's item is still emitted, and all errors of an item are reported together.

use proc_macro::TokenStream;
use quote::quote;

mod constructors;
mod entry;
mod function;
mod handoff;
mod module;
mod primitive;
mod stand_in;
mod state;
mod traceable;

/// Makes a model freezable: traced at build time, with a generated inference type beside it.
///
/// It stands on the impl that holds `forward` (or `forward_t`), inherent or of `nn::Module` or `nn::ModuleT`, or on a
/// free function. The item itself is left as it is. For a type `Net` there will be, in the same module, the type
/// `NetFrozen` with `forward` and `try_forward`, and the methods `Net::freeze` and `Net::graph`.
///
/// ```ignore
/// // Cargo.toml:  [dependencies] fx-runtime, tch      [build-dependencies] fx-passes
/// // build.rs:    fn main() { fx_passes::Build::new().run() }
/// use fx_runtime::{Device, Freeze, Module, Tensor, nn, traceable};
///
/// #[derive(Debug, Module)]
/// pub struct Net {
///     conv1: nn::Conv2D,
///     bn1: nn::BatchNorm,
/// }
///
/// #[traceable]
/// impl Net {
///     pub fn forward(&self, xs: &Tensor) -> Tensor {
///         self.bn1.forward_t(&self.conv1.forward(xs), false).relu()
///     }
/// }
///
/// # fn main() -> Result<(), fx_runtime::Error> {
/// let vs = nn::VarStore::new(Device::Cpu);
/// let p = vs.root();
/// let conv1 = nn::conv2d(&p / "conv1", 3, 64, 7, nn::ConvConfig { bias: false, ..Default::default() });
/// let net = Net { conv1, bn1: nn::batch_norm2d(&p / "bn1", 64, Default::default()) };
/// println!("{}", net.graph()?);
/// let frozen: NetFrozen = net.freeze(&Freeze::default())?;
/// let ys = frozen.forward(&Tensor::zeros([1, 3, 32, 32], fx_runtime::tch::kind::FLOAT_CPU));
/// # Ok(())
/// # }
/// ```
///
/// # Options
///
/// | option | meaning |
/// |---|---|
/// | `strict` | code that is not understood is an error, not kept as opaque code |
/// | `unroll` | a loop over layers becomes one line for each layer |
/// | `entry = "encode"` | the function to trace, where it is not `forward` or `forward_t` |
/// | `entry = ["encode", "decode"]` | several: the frozen type has all of them, and each weight once |
/// | `specialize(train = false)` | parameters that have a known value in the frozen type |
///
/// # Errors
///
/// What the build script found wrong is reported at the very token, with a number that stays (`FX0006`).
#[proc_macro_attribute]
pub fn traceable(options: TokenStream, item: TokenStream) -> TokenStream {
    traceable::expand(options.into(), item.into()).into()
}

/// Says how calls of a function are traced: `#[fx(leaf)]`, `#[fx(inline)]`, `#[fx(pure)]`.
///
/// `leaf`: a call is one node, and the body is not looked into. `inline`: the body is traced in place of the call.
/// `pure`: a call may be merged with an equal one, or dropped if its result is not used.
///
/// ```
/// use fx_macros::fx;
///
/// #[fx(leaf, pure)]
/// fn positions(len: i64) -> Vec<i64> {
///     (0..len).collect()
/// }
/// # assert_eq!(positions(2), [0, 1]);
/// ```
#[proc_macro_attribute]
pub fn fx(options: TokenStream, item: TokenStream) -> TokenStream {
    function::expand(options.into(), item.into()).into()
}

/// Shows what a model consists of: its children, parameters and buffers under PyTorch's names.
///
/// For any struct, generic ones included. A field is a tensor, a module, or an `Option`, `Box`, `Vec`, array or tuple of
/// these; a field of another type is a hyper-parameter, which is cloned with the model but not shown. A tensor that
/// requires a gradient is a parameter, another a buffer. A type parameter that is the type of a field, bare or in one
/// of these containers, has to be such a thing too.
///
/// ```ignore
/// use fx_runtime::{Module, Tensor, nn};
///
/// #[derive(Debug, Module)]
/// pub struct Head {
///     #[module(name = "classifier.0")] // as the weights file has it
///     fc: nn::Linear,
///     #[module(buffer)] // never trained, whatever `requires_grad` says
///     mean: Tensor,
///     #[module(parameter)]
///     scale: Option<Tensor>,
///     #[module(skip)] // not a part of the model
///     cache: Option<Tensor>,
///     classes: i64,
/// }
///
/// # fn names(head: &Head) {
/// let names: Vec<String> = head.state_dict().into_iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["scale", "mean", "classifier.0.weight", "classifier.0.bias"]);
/// # }
/// ```
#[proc_macro_derive(Module, attributes(module, fx))]
pub fn derive_module(item: TokenStream) -> TokenStream {
    module::expand(item.into()).into()
}

/// Saves and loads a type of frozen models field by field, an enum by the name of its variant; for generated code.
///
/// `#[state(default = ..)]` on a field leaves it out: it has that value when it is loaded.
#[proc_macro_derive(State, attributes(state))]
pub fn derive_state(item: TokenStream) -> TokenStream {
    state::expand(item.into()).into()
}

/// Declares passes as rewrite rules, each a line of mathematics.
///
/// A pass has a doc comment, a name and rules; a rule has captures, a pattern, a replacement in the same notation, and
/// guards in Rust. It is used through `fx_passes`, in a build script or in a library of passes; what it makes is a unit
/// struct that is a `fx_passes::pass::Pass`.
///
/// ```ignore
/// fx_passes::fx_pass! {
///     /// x * sigmoid(x) is `SiLU`.
///     pub SigmoidToSilu { |x| x * x.sigmoid() => x.silu() }
/// }
///
/// fn main() {
///     fx_passes::Build::new().pipeline(Pipeline::inference().with(SigmoidToSilu)).run()
/// }
/// ```
///
/// # Captures
///
/// | | is bound to |
/// |---|---|
/// | `x` | a value; a tensor, where the pattern uses it as one |
/// | `x: Tensor` | a tensor |
/// | `p: f64`, `n: i64`, `b: bool`, `dims: [i64]` | a literal, whose value guards and `{ .. }` see |
/// | `parts: [Tensor]` | a list of tensors, as `cat` takes it |
/// | `conv: Conv2D` | a layer, called as `conv(x)`, with fields: `conv.ws`, `bn.config.eps` |
///
/// # Patterns
///
/// Methods and functions are ops, as ATen or `tch` names them; `+ - * /` are those of two tensors and those of a tensor
/// and a number. What is not written has to be the default; parameters can be named (`x.mean_dim(d, keepdim = true)`).
/// `_` is anything, `bias?` a capture that may be absent, `x.relu()?` the op or its first argument, `a | b` one of the
/// two, `(a, b)` several outputs, `{ let s = x.sigmoid(); x * s }` a part with a name.
///
/// In a list, `..` stands for any number of items and `..rest` binds them; `x.relu()..` is one item after the other, at
/// least one, in which captures of lists (`dims: [i64]`, `parts: [Tensor]`) gather an integer or a tensor of each, and
/// any other capture is the same in all: `cat([x.narrow(d, starts, lengths)..], d)`.
///
/// # Replacements
///
/// The same notation, and: `..rest` in a list for the items of another, `let` for what is used twice, `{ .. }` as an
/// argument for Rust that is computed from literals, `or(conv.bs, t)` for a tensor that may be absent,
/// `rust!(path(&conv.ws, bn)?)` for any Rust over the live values: calls, methods, fields and arithmetic become host
/// operations that passes understand, other Rust (closures, blocks) is carried as text, and tensors are handed to it in
/// row-major order. What depends on weights alone moves into `freeze` by itself.
///
/// # Guards
///
/// `if` and conditions joined by `&&`: `is_freeze_time(w)`, `is_float(x)`, `dtype(x)`, `rank(x)`, `dim(x, -1)`,
/// `users(x)`, `calls(conv)`, or the methods of the same names, and any Rust over literals.
///
/// # Errors
///
/// Unknown ops, parameters, layers and fields, wrong arity, types that cannot fit, captures that are unbound or unused,
/// rules that never apply and rules that never end are reported at the token, each with a number that stays (`FX0102`).
#[proc_macro]
pub fn fx_pass(input: TokenStream) -> TokenStream {
    fx_rules::expand(&quote!(::fx_passes), input.into()).into()
}

/// `fx_pass!` as `fx-rewrite` re-exports it: the same notation, for crates that depend on the engine alone.
#[proc_macro]
pub fn fx_rewrite_pass(input: TokenStream) -> TokenStream {
    fx_rules::expand(&quote!(::fx_rewrite), input.into()).into()
}

/// `fx_pass!` as `fx-runtime` re-exports it: the same notation, for passes on graphs of live models.
#[proc_macro]
pub fn fx_runtime_pass(input: TokenStream) -> TokenStream {
    fx_rules::expand(&quote!(::fx_runtime::passes), input.into()).into()
}
