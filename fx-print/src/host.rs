//! Host operations as Rust: one row an operation.
// tidy: table

use fx_ir::{Arg, HostOp, NodeId, host::Adaptor, host::ELEMENT, host::Yields, scalar};

use crate::value::{Form, Value};

/// Reads a node's value.
pub type Read<'r> = &'r dyn Fn(NodeId) -> Value;

/// An argument of a host operation or of opaque code, which is a node, a literal or another operation.
pub fn operand(arg: &Arg, read: Read<'_>) -> Value {
    match arg {
        Arg::Node(id) => read(*id),
        Arg::Expr(expr) => {
            let text = rust(&expr.op, &expr.args, read);
            expression(&expr.op, text)
        }
        Arg::Int(number) if *number < 0 => Value::owned(format!("({number})")),
        Arg::Float(number) if number.is_sign_negative() => Value::owned(format!("({})", literal(arg, read))),
        other => Value::owned(literal(other, read)),
    }
}

/// An argument of opaque code, which is a node or a literal.
pub fn argument(arg: &Arg, read: Read<'_>) -> Value {
    match arg {
        Arg::Node(id) => read(*id),
        other => Value::owned(literal(other, read)),
    }
}

/// A literal, or a list of arguments, as an expression.
pub fn literal(arg: &Arg, read: Read<'_>) -> String {
    match arg {
        Arg::Node(id) => read(*id).text,
        Arg::Int(number) => number.to_string(),
        Arg::Float(number) if number.is_infinite() => {
            if *number > 0.0 {
                "f64::INFINITY".to_owned()
            } else {
                "f64::NEG_INFINITY".to_owned()
            }
        }
        Arg::Float(number) if number.is_nan() => "f64::NAN".to_owned(),
        Arg::Float(number) => format!("{number:?}"),
        Arg::Bool(value) => value.to_string(),
        Arg::Str(text) => format!("{text:?}"),
        Arg::None => "None".to_owned(),
        Arg::Path(path) => path.clone(),
        Arg::List(items) => {
            let items: Vec<String> = items.iter().map(|item| literal(item, read)).collect();
            format!("[{}]", items.join(", "))
        }
        Arg::Expr(_) => operand(arg, read).text,
    }
}

/// The operation's expression, written out, as a value.
pub fn expression(op: &HostOp, text: String) -> Value {
    let form = if *op == HostOp::Tuple { Form::Tuple } else { Form::Other };
    Value { text, is_ref: yields_reference(op), form }
}

/// Whether the operation's expression is a reference.
pub fn yields_reference(op: &HostOp) -> bool {
    op.yields() == Yields::Reference
}

/// Whether the operation's expression is a block, which stands in a statement of its own.
pub fn is_block(op: &HostOp) -> bool {
    matches!(op, HostOp::Ascribe(_))
}

/// The operation on these arguments; of a fallible one without its `?`.
#[allow(clippy::too_many_lines, reason = "one row an operation")]
pub fn rust(op: &HostOp, args: &[Arg], read: Read<'_>) -> String {
    let value = |at: usize| operand_at(args, at, read);
    let text = |at: usize| value(at).text;
    let all = |from: usize| join(args.get(from..).unwrap_or_default(), read);
    match op {
        HostOp::Use => text(0),
        HostOp::Literal(ty) => typed(&args[0], ty, read),
        HostOp::Ascribe(ty) => format!("{{ let typed: {ty} = {}; typed }}", text(0)),
        HostOp::Handle => format!("{}.shallow_clone()", text(0)),
        HostOp::Clone => format!("{}.clone()", text(0)),
        HostOp::ToVec => format!("{}.to_vec()", text(0)),
        HostOp::Ref => value(0).borrowed(),
        HostOp::RefMut => format!("&mut {}", text(0)),
        HostOp::Copied => format!("*{}", value(0).borrowed()),
        HostOp::AsFunction(ty) => format!("({} as {ty})", text(0)),
        HostOp::Binary(_) | HostOp::Cast(_) => format!("({})", bare(op, args, read)),
        HostOp::BorrowTensor => format!("::fx_runtime::frozen::lent({})", value(0).borrowed()),
        HostOp::BorrowOption => {
            format!("{}.as_ref().map(::std::borrow::Borrow::<::fx_runtime::Tensor>::borrow)", text(0))
        }
        HostOp::Unit => "()".to_owned(),
        HostOp::Tuple => format!("({},)", all(0)),
        HostOp::Array => format!("[{}]", all(0)),
        HostOp::Vec => format!("vec![{}]", all(0)),
        HostOp::EmptyVec(element) => format!("Vec::<{element}>::new()"),
        HostOp::Repeat => format!("vec![{}; {}]", text(0), text(1)),
        HostOp::Filled(ty) => {
            format!("::std::iter::repeat_with(|| {}).take({}).collect::<{ty}>()", text(0), text(1))
        }
        HostOp::Some => format!("Some({})", text(0)),
        HostOp::NoneOf(held) => format!("(Option::<{held}>::None)"),
        HostOp::Struct((path, fields)) => format!("{path} {{ {} }}", by_field(fields, args, read)),
        HostOp::StructDefault((path, fields)) => {
            format!("{path} {{ {}, ..{path}::default() }}", by_field(fields, args, read))
        }
        HostOp::Construct(path) | HostOp::Call(path) | HostOp::Function(path) => format!("{path}({})", all(0)),
        HostOp::Range(dots) => format!("({}{dots}{})", text(0), text(1)),
        HostOp::Field(name) => format!("{}.{name}", text(0)),
        HostOp::Item => format!("{}[{}]", text(0), text(1)),
        HostOp::Deref => format!("(*{})", text(0)),
        HostOp::UnwrapMut(message) => format!("{}.as_mut().{}", text(0), unwrap(message.as_deref())),
        HostOp::UnwrapBorrow => format!("{}.as_deref_mut().unwrap()", text(0)),
        HostOp::EndMut(end) => format!("{}.{end}_mut().unwrap()", text(0)),
        HostOp::Interior => format!("{}.get_mut()", text(0)),
        HostOp::MutSlice => format!("{}.as_mut_slice()", text(0)),
        HostOp::ItemRef if args[0].lists_references() => format!("{}[{}]", text(0), text(1)),
        HostOp::ItemRef => format!("&{}[{}]", text(0), text(1)),
        HostOp::Slice(dots) => format!("&{}[{}{dots}{}]", text(0), end(args.get(1), read), end(args.get(2), read)),
        HostOp::Unwrap(message) => format!("{}.{}", text(0), unwrap(message.as_deref())),
        HostOp::UnwrapRef(message) => format!("&*{}.as_ref().{}", text(0), unwrap(message.as_deref())),
        HostOp::UnwrapLoan(message) => format!("&*{}.{}", text(0), unwrap(message.as_deref())),
        HostOp::Neg => format!("(-{})", text(0)),
        HostOp::Not => format!("(!{})", text(0)),
        HostOp::From(ty) => format!("{ty}::from({})", text(0)),
        HostOp::Convert(ty) => format!("{ty}::try_from({})", text(0)),
        HostOp::ConvertOr(ty) => format!("{ty}::try_from({}).unwrap_or({})", text(0), text(1)),
        HostOp::Number(kind) => format!("::fx_runtime::frozen::Number::{kind}({})", text(0)),
        HostOp::Scalar => format!("::fx_runtime::tch::Scalar::from({})", text(0)),
        HostOp::Method(name) | HostOp::Mutate(name) | HostOp::CallMethod(name) | HostOp::RuntimeMethod(name) => {
            format!("{}.{name}({})", text(0), all(1))
        }
        HostOp::ResizeWith => format!("{}.resize_with({}, || {})", text(0), text(1), text(2)),
        HostOp::CopiedElements => format!("{}.iter().copied()", text(0)),
        HostOp::HandleElements => format!("{}.iter().map(|one| one.shallow_clone())", text(0)),
        HostOp::Sum(ty) => format!("{}.iter().sum::<{ty}>()", text(0)),
        HostOp::Product(ty) => format!("{}.iter().product::<{ty}>()", text(0)),
        HostOp::Extremum(which) => format!("{}.iter().copied().{which}()", text(0)),
        HostOp::Collect(adaptors) => format!("{}.collect::<Vec<_>>()", adapted(&text(0), adaptors)),
        HostOp::Count(adaptors) => format!("{}.count()", adapted(&text(0), adaptors)),
        HostOp::MapList if is_handle_of_element(&args[1]) => {
            format!("::fx_runtime::frozen::shallow_clones(&{})", text(0))
        }
        HostOp::MapList => format!("{}.iter().map(|one| {}).collect::<Vec<_>>()", text(0), text(1)),
        HostOp::MapOption => format!("{}.as_ref().map(|one| {})", text(0), text(1)),
        HostOp::MapLoan => format!("{}.map(|one| {})", text(0), text(1)),
        HostOp::CopyList => format!("{}.iter().copied().collect::<Vec<_>>()", text(0)),
        HostOp::TensorOf => match args.first() {
            Some(Arg::Node(_)) => format!("::fx_runtime::Tensor::from_slice(&{}[..])", text(0)),
            _ => format!("::fx_runtime::Tensor::from_slice(&{})", text(0)),
        },
        HostOp::TryFrom(of) => format!("{of}::try_from({})", value(0).borrowed()),
        HostOp::Index => format!("{}.i({})", text(0), text(1)),
        HostOp::IndexRange(dots) => format!("{}{dots}{}", end(args.first(), read), end(args.get(1), read)),
        HostOp::LstmState => format!("::fx_runtime::nn::LSTMState(({}, {}))", text(0), text(1)),
        HostOp::GruState => format!("::fx_runtime::nn::GRUState({})", text(0)),
        HostOp::Known(ty) => {
            format!("::fx_runtime::frozen::known::<{ty}>({}, &{})", value(0).borrowed(), text(1))
        }
        HostOp::Pointer(ty) => format!("::fx_runtime::frozen::Pointer::<{ty}>::new({})", value(0).borrowed()),
        HostOp::CallPointer => format!("({}.get())({})", text(0), all(1)),
        HostOp::FreezePart(ty) => format!(
            "::fx_runtime::frozen::Part::of::<{ty}>(&frame, {}, |part, options| part.freeze(options))",
            value(0).borrowed()
        ),
        HostOp::CallPart(name) => format!("{}.try_{name}({})", text(0), all(1)),
        HostOp::Cell(ty) => format!("::fx_runtime::frozen::StateCell::<{ty}>::of(&frame, {})", value(0).borrowed()),
        HostOp::ForeignCell((ty, label)) => {
            format!("::fx_runtime::state_cell!(&frame, {}, {label:?}, {ty})", value(0).borrowed())
        }
        HostOp::Lock => format!("{}.lock()", text(0)),
        HostOp::CellValue => format!("{}.value()", text(0)),
        HostOp::CellSet => format!("{}.set({})", text(0), text(1)),
        HostOp::Handles => format!("::fx_runtime::frozen::handles({})", value(0).borrowed()),
        HostOp::HandlesOfList => {
            format!("{}.iter().map(::fx_runtime::frozen::handles).collect::<::fx_runtime::Result<Vec<_>>>()", text(0))
        }
        HostOp::Assign => format!("{} = {}", target(&args[0], read), text(1)),
        HostOp::AssignOp(sign) => format!("{} {sign} {}", target(&args[0], read), text(1)),
        HostOp::Exchange(name) => format!("::std::mem::{name}({})", all(0)),
        HostOp::Exactly => format!("::fx_runtime::frozen::exactly({}, {})", value(0).borrowed(), text(1)),
        HostOp::Layer(ty) if args.len() > 2 => format!("{}.layer_of::<{ty}>({}, {})", text(0), text(1), text(2)),
        HostOp::Layer(ty) => format!("{}.layer::<{ty}>({})", text(0), text(1)),
        HostOp::LayerFromEnd(ty) => format!("{}.layer_from_end::<{ty}>({})", text(0), text(1)),
        HostOp::Layers(ty) => format!("{}.layers_as::<{ty}>()", text(0)),
        HostOp::LayersBetween(ty) => format!("{}.layers_between::<{ty}>({}, {})", text(0), text(1), text(2)),
        HostOp::MatchChain => format!("{}.parse(&{})", text(0), text(1)),
        HostOp::PartLayer(ty) => {
            format!("{PART}::Layer(::fx_runtime::frozen::chain::is::<{ty}>)")
        }
        HostOp::PartClosure(place) => format!("{PART}::Closure({place:?})"),
        HostOp::PartRepeat => format!("{PART}::Repeat(&{})", text(0)),
        HostOp::PartOptional => format!("{PART}::Optional(&{})", text(0)),
        HostOp::PartEither => format!("{PART}::Either(&{}, &{})", text(0), text(1)),
        HostOp::MatchedLayer(ty) => {
            format!("{}.layer::<{ty}>({})", text(0), layer_position(op, &[text(0), text(1), text(2)]))
        }
        HostOp::Runtime(name) => format!("::fx_runtime::frozen::{name}({})", all(0)),
        HostOp::Nn(name) => format!("::fx_runtime::nn::{name}({})", all(0)),
        HostOp::HandleOr => format!(
            "{}.as_ref().map_or_else(|| {}.shallow_clone(), ::fx_runtime::Tensor::shallow_clone)",
            text(0),
            text(1)
        ),
        HostOp::Frame => "&frame".to_owned(),
        HostOp::Return => format!("return ::std::result::Result::Ok({})", text(0)),
        HostOp::Output => format!("scope.output({})?", text(0)),
        HostOp::Panic(message) if args.is_empty() => format!("::std::panic!(\"{{}}\", {message:?})"),
        HostOp::Panic(message) => format!("::std::panic!({message:?}, {})", all(0)),
        HostOp::Format(message) => format!("::std::format!({message:?}, {})", all(0)),
    }
}

/// The same where nothing stands beside it, so that an operator needs no parentheses.
pub fn bare(op: &HostOp, args: &[Arg], read: Read<'_>) -> String {
    let text = |at: usize| operand_at(args, at, read).text;
    match op {
        HostOp::Binary(sign) => format!("{} {sign} {}", text(0), text(1)),
        HostOp::Cast(ty) => format!("{} as {ty}", text(0)),
        _ => rust(op, args, read),
    }
}

fn operand_at(args: &[Arg], at: usize, read: Read<'_>) -> Value {
    args.get(at).map_or(Value::owned("()"), |arg| operand(arg, read))
}

const PART: &str = "::fx_runtime::frozen::chain::Part";

/// Arguments between brackets, where a negative number needs none of its own.
fn join(args: &[Arg], read: Read<'_>) -> String {
    let text = |arg: &Arg| match arg {
        Arg::Int(_) | Arg::Float(_) => literal(arg, read),
        other => operand(other, read).text,
    };
    args.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// The fields of a struct's literal.
fn by_field(fields: &[String], args: &[Arg], read: Read<'_>) -> String {
    let fields = fields.iter().zip(args).map(|(field, arg)| format!("{field}: {}", operand(arg, read).text));
    fields.collect::<Vec<_>>().join(", ")
}

/// A place that is written to: the whole of a cell lies behind its guard.
fn target(place: &Arg, read: Read<'_>) -> String {
    let text = operand(place, read).text;
    match place.expr().map(|expr| &expr.op) {
        Some(HostOp::Lock) => format!("*{text}"),
        _ => text,
    }
}

/// An end of a range, which may be open.
fn end(arg: Option<&Arg>, read: Read<'_>) -> String {
    match arg {
        None | Some(Arg::None) => String::new(),
        Some(arg) => operand(arg, read).text,
    }
}

/// `unwrap()`, or `expect` with that message, a literal.
fn unwrap(message: Option<&str>) -> String {
    message.map_or("unwrap()".to_owned(), |message| format!("expect({message})"))
}

/// What the adaptors make of `source`.
pub fn adapted(source: &str, adaptors: &[Adaptor]) -> String {
    adaptors.iter().fold(source.to_owned(), |text, adaptor| format!("{text}.{adaptor}"))
}

/// A literal with the suffix of its type.
fn typed(literal_arg: &Arg, ty: &str, read: Read<'_>) -> String {
    match literal_arg {
        Arg::Int(number) if scalar::is_integer(ty) && *number < 0 => format!("({number}{ty})"),
        Arg::Int(number) if scalar::is_integer(ty) => format!("{number}{ty}"),
        Arg::Float(number) if scalar::is_float(ty) && number.is_finite() => {
            #[allow(clippy::cast_possible_truncation, reason = "a literal of that type was rounded when it was read")]
            let text = if ty == "f32" { format!("{:?}_f32", *number as f32) } else { format!("{number:?}_f64") };
            if number.is_sign_negative() { format!("({text})") } else { text }
        }
        other => operand(other, read).text,
    }
}

/// The position in its chain of a layer that is matched, or counted from the end, by the texts of its arguments.
pub fn layer_position(op: &HostOp, args: &[String; 3]) -> String {
    let [chain, first, second] = args;
    match op {
        HostOp::LayerFromEnd(_) => format!("({chain}.len() - 1 - {first} as i64)"),
        _ => format!("{first}.at({second})?"),
    }
}

/// Whether it makes another handle on each element of a list.
fn is_handle_of_element(arg: &Arg) -> bool {
    matches!(arg, Arg::Expr(expr) if expr.op == HostOp::Handle && matches!(&expr.args[..], [Arg::Path(one)] if one == ELEMENT))
}
