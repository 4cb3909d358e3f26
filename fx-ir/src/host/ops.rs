//! The table of host operations: one row an operation.
// tidy: table

use super::{Adaptor, Payload};

/// What an operation hands to its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yields {
    /// A value of its own.
    Value,
    /// A reference to what lies elsewhere.
    Reference,
    /// A place, which can be read and written to.
    Place,
    /// `()`.
    Unit,
    /// Nothing: what comes behind it does not run.
    Never,
}

macro_rules! binds {
    ($payload:ty, $name:ident) => {
        $name
    };
}

macro_rules! payload {
    ($op:ident, $words:ident) => {
        $words.is_empty().then_some(HostOp::$op)
    };
    ($op:ident, $words:ident, $payload:ty) => {
        <$payload as Payload>::parse($words).map(HostOp::$op)
    };
}

macro_rules! is_fallible {
    () => {
        false
    };
    (fallible) => {
        true
    };
}

macro_rules! host_ops {
    ($($(#[$doc:meta])* $op:ident $(($payload:ty))? = $name:literal $yields:ident $($fallible:ident)?;)+) => {
        /// A host operation. In the descriptions `$0`, `$1`, .. are the arguments, as Rust.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum HostOp {
            $($(#[$doc])* $op $(($payload))?,)+
        }

        impl HostOp {
            /// The names of all operations, in the order of the table.
            pub const NAMES: &[&str] = &[$($name,)+];

            /// Its name in the text form.
            pub fn name(&self) -> &'static str {
                match self {
                    $(HostOp::$op { .. } => $name,)+
                }
            }

            /// What it hands to its reader.
            pub fn yields(&self) -> Yields {
                match self {
                    $(HostOp::$op { .. } => Yields::$yields,)+
                }
            }

            /// Whether it evaluates to a `Result` of which the value is the `Ok`.
            pub fn is_fallible(&self) -> bool {
                match self {
                    $(HostOp::$op { .. } => is_fallible!($($fallible)?),)+
                }
            }

            /// What it carries beside its arguments, as words.
            pub fn words(&self) -> Vec<String> {
                match self {
                    $(HostOp::$op $((binds!($payload, payload)))? => {
                        #[allow(unused_mut, unused_assignments, reason = "few operations carry anything")]
                        let mut words = Vec::new();
                        $(words = <$payload as Payload>::words(binds!($payload, payload));)?
                        words
                    })+
                }
            }

            /// The operation of that name with these words; `None` if there is none.
            pub fn parse(name: &str, words: &[String]) -> Option<HostOp> {
                match name {
                    $($name => payload!($op, words $(, $payload)?),)+
                    _ => None,
                }
            }
        }
    };
}

host_ops! {
    // Values as they are read.
    /// `$0`.
    Use = "use" Value;
    /// The literal `$0`, of that type.
    Literal(String) = "literal" Value;
    /// `$0`, which the code around it takes to be of that type.
    Ascribe(String) = "ascribe" Value;
    /// `$0.shallow_clone()`: a second handle on a tensor.
    Handle = "handle" Value;
    /// `$0.clone()`.
    Clone = "clone" Value;
    /// `$0.to_vec()`.
    ToVec = "to_vec" Value;
    /// `&$0`.
    Ref = "ref" Reference;
    /// `&mut $0`.
    RefMut = "ref_mut" Reference;
    /// `*&$0`: what is there, whether the reader has the value or a reference to it.
    Copied = "copied" Value;
    /// A function as a pointer of that type.
    AsFunction(String) = "as_function" Value;
    /// A tensor or a reference to one, as a reference.
    BorrowTensor = "borrow_tensor" Reference;
    /// An option of a tensor or of a reference to one, as an option of a reference.
    BorrowOption = "borrow_option" Value;

    // Aggregates.
    /// `()`.
    Unit = "unit" Value;
    /// `($0, $1, ..)`.
    Tuple = "tuple" Value;
    /// `[$0, $1, ..]`.
    Array = "array" Value;
    /// `vec![$0, $1, ..]`.
    Vec = "vec" Value;
    /// An empty `Vec` of elements of that type.
    EmptyVec(String) = "empty_vec" Value;
    /// `vec![$0; $1]`.
    Repeat = "repeat" Value;
    /// A list of that type with `$1` elements, each `$0` evaluated anew.
    Filled(String) = "filled" Value;
    /// `Some($0)`.
    Some = "some" Value;
    /// `None` of an option of that type.
    NoneOf(String) = "none_of" Value;
    /// A struct of that path, by fields.
    Struct((String, Vec<String>)) = "struct" Value;
    /// A struct of that path, by fields; those that are left are as its default has them.
    StructDefault((String, Vec<String>)) = "struct_default" Value;
    /// A tuple struct or a variant of that path.
    Construct(String) = "construct" Value;
    /// `$0..$1` or `$0..=$1`.
    Range(String) = "range" Value;

    // Projections.
    /// A field or a part of a tuple: `$0.name`.
    Field(String) = "field" Place;
    /// `$0[$1]`.
    Item = "item" Place;
    /// `*$0`.
    Deref = "deref" Place;
    /// What an option at a place holds: `$0.as_mut().unwrap()`, or with that message.
    UnwrapMut(Option<String>) = "unwrap_mut" Place;
    /// What a borrowed option holds, itself a `&mut`: `$0.as_deref_mut().unwrap()`.
    UnwrapBorrow = "unwrap_borrow" Place;
    /// The `first` or the `last` element of a list.
    EndMut(String) = "end_mut" Place;
    /// What a `RefCell` or a `Cell` holds: `$0.get_mut()`.
    Interior = "interior" Place;
    /// `$0.as_mut_slice()`.
    MutSlice = "mut_slice" Place;
    /// `&$0[$1]`.
    ItemRef = "item_ref" Reference;
    /// `&$0[$1..$2]`, an end that is `none` being open.
    Slice(String) = "slice" Reference;
    /// What an option holds, copied: `$0.unwrap()`, or with that message.
    Unwrap(Option<String>) = "unwrap" Value;
    /// What an option holds, by reference.
    UnwrapRef(Option<String>) = "unwrap_ref" Reference;
    /// What an option of a reference holds.
    UnwrapLoan(Option<String>) = "unwrap_loan" Reference;

    // Numbers.
    /// `-$0`.
    Neg = "neg" Value;
    /// `!$0`.
    Not = "not" Value;
    /// `$0 sign $1`.
    Binary(String) = "binary" Value;
    /// `$0 as type`.
    Cast(String) = "cast" Value;
    /// `type::from($0)`.
    From(String) = "from" Value;
    /// `type::try_from($0)` of a whole number.
    Convert(String) = "convert" Value fallible;
    /// `type::try_from($0).unwrap_or($1)` of two whole numbers.
    ConvertOr(String) = "convert_or" Value;
    /// A function of the standard library that only computes: `f64::sqrt($0)`.
    Function(String) = "function" Value;
    /// A number that a tensor op takes, whole or not: `int` or `float`.
    Number(String) = "number" Value;
    /// Such a number as tch has it.
    Scalar = "scalar" Value;

    // Methods of the standard library, of tch and of layers.
    /// `$0.name($1, ..)`, which only looks.
    Method(String) = "method" Value;
    /// `$0.name($1, ..)`, which changes `$0`.
    Mutate(String) = "mutate" Value;
    /// `$0.resize_with($1, || $2)`.
    ResizeWith = "resize_with" Unit;
    /// The elements of a list, each copied, as an iterator.
    CopiedElements = "copied_elements" Value;
    /// The elements of a list of tensors, a second handle each, as an iterator.
    HandleElements = "handle_elements" Value;
    /// The sum of a list, of that type.
    Sum(String) = "sum" Value;
    /// The product of a list, of that type.
    Product(String) = "product" Value;
    /// The largest (`max`) or smallest (`min`) number of a list.
    Extremum(String) = "extremum" Value;
    /// What the adaptors make of `$0`, gathered.
    Collect(Vec<Adaptor>) = "collect" Value;
    /// How many elements the adaptors make of `$0`.
    Count(Vec<Adaptor>) = "count" Value;
    /// `$1`, in which `one` is an element of the list `$0`, for each of them, gathered.
    MapList = "map_list" Value;
    /// `$1`, in which `one` is what the option `$0` holds.
    MapOption = "map_option" Value;
    /// The same of an option that holds a reference or a number.
    MapLoan = "map_loan" Value;
    /// The elements of a list, copied and gathered.
    CopyList = "copy_list" Value;
    /// A tensor out of a list of numbers.
    TensorOf = "tensor_of" Value;
    /// What a tensor holds, as that type.
    TryFrom(String) = "try_from" Value fallible;
    /// `$0.i($1)`: tch's indexing.
    Index = "index" Value;
    /// A range in such an index: `..` or `..=` between ends that may be open.
    IndexRange(String) = "index_range" Value;
    /// The two tensors of an LSTM's state.
    LstmState = "lstm_state" Value;
    /// The tensor of a GRU's state.
    GruState = "gru_state" Value;

    // Functions and methods of the user's crate.
    /// `path($0, ..)`.
    Call(String) = "call" Value;
    /// `$0.name($1, ..)`.
    CallMethod(String) = "call_method" Value;
    /// The name by which a function pointer of that type is known, among the functions `$1`.
    Known(String) = "known" Value;
    /// A function pointer of that type.
    Pointer(String) = "pointer" Value;
    /// A call through the pointer `$0`.
    CallPointer = "call_pointer" Value;
    /// A part of the model, of that type, which is frozen by itself.
    FreezePart(String) = "freeze_part" Value fallible;
    /// The function of that name of such a part.
    CallPart(String) = "call_part" Value fallible;

    // State.
    /// The cell of a field that the forward writes to, of that type.
    Cell(String) = "cell" Value fallible;
    /// The same for a type of the user's, and the field's name.
    ForeignCell((String, String)) = "foreign_cell" Value fallible;
    /// What a cell holds, as a place.
    Lock = "lock" Place;
    /// A copy of what a cell holds.
    CellValue = "cell_value" Value fallible;
    /// Gives a cell the value `$1`.
    CellSet = "cell_set" Unit;
    /// A copy of a place, of second handles.
    Handles = "handles" Value fallible;
    /// The same of each element of a list.
    HandlesOfList = "handles_of_list" Value fallible;
    /// `$0 = $1`.
    Assign = "assign" Unit;
    /// `$0 sign $1`: `+=` and the like.
    AssignOp(String) = "assign_op" Unit;
    /// `std::mem::take($0)` or `std::mem::replace($0, $1)`.
    Exchange(String) = "exchange" Value;
    /// A list as an array of `$1` elements.
    Exactly = "exactly" Value fallible;

    // Chains of layers, as the live model has them.
    /// The layer at `$1`, which is of that type, in a chain of `$2` layers.
    Layer(String) = "layer" Reference fallible;
    /// The layer at `$1` from the end, which is of that type.
    LayerFromEnd(String) = "layer_from_end" Reference fallible;
    /// All layers, of that type.
    Layers(String) = "layers" Value fallible;
    /// The layers but the first `$1` and the last `$2`, of that type.
    LayersBetween(String) = "layers_between" Value fallible;
    /// The live chain matched against the schema `$1`.
    MatchChain = "match_chain" Value fallible;
    /// A layer of that type, in a schema.
    PartLayer(String) = "part_layer" Value;
    /// A closure made at that place, in a schema.
    PartClosure(String) = "part_closure" Value;
    /// The parts `$0`, any number of times, in a schema.
    PartRepeat = "part_repeat" Value;
    /// The parts `$0` or none, in a schema.
    PartOptional = "part_optional" Value;
    /// The parts `$0` or the parts `$1`, in a schema.
    PartEither = "part_either" Value;
    /// The layer of chain `$0` that is part `$2` of the matched stretch `$1`, of that type.
    MatchedLayer(String) = "matched_layer" Reference fallible;

    // The runtime, which passes call.
    /// A function of `fx_runtime::frozen`.
    Runtime(String) = "runtime" Value;
    /// A method of one of its types.
    RuntimeMethod(String) = "runtime_method" Value;
    /// A function of `fx_runtime::nn`, the layers.
    Nn(String) = "nn" Value;
    /// The tensor that the option `$0` holds, or else `$1`: a second handle on it.
    HandleOr = "handle_or" Value;
    /// The frame that a frozen model is made in.
    Frame = "frame" Reference;

    // Ways out.
    /// Leaves the frozen forward with `$0`.
    Return = "return" Never;
    /// A tensor as it is handed to the caller.
    Output = "output" Value;
    /// Panics with that message: text, or a format string where there are operands, one for each of its braces.
    Panic(String) = "panic" Never;
    /// The text that a format string makes of the operands, one for each of its braces.
    Format(String) = "format" Value;
}
