//! Straight lines of host operations as text, on a machine without libtorch; what they yield as text.

use expect_test::{Expect, expect};

use super::{EvalError, Evaluated, Handle, Machine, Value, Variables, eval_arg, eval_typed};
use crate::{Graph, HostOp, Op};

/// A machine whose tensors are shapes with the number of their handle, and whose model has a width and one cell.
#[derive(Default)]
pub(super) struct Shapes {
    handles: usize,
    cells: Vec<Value<Shape>>,
}

#[derive(Clone, Debug)]
pub(super) struct Shape {
    sizes: Vec<i64>,
    handle: usize,
}

type Result<T> = std::result::Result<T, String>;

impl Machine for Shapes {
    type Tensor = Shape;
    type Error = String;

    fn handle(&mut self, tensor: &Shape) -> Result<Shape> {
        self.handles += 1;
        Ok(Shape { handle: self.handles, ..tensor.clone() })
    }

    fn tensor_method(&mut self, name: &str, tensor: &Shape, _: &[Value<Shape>]) -> Result<Value<Shape>> {
        let sizes = || tensor.sizes.iter().map(|&size| Value::Int(size.into(), super::IntType::I64)).collect();
        match name {
            "size" => Ok(Value::List(sizes())),
            "dim" => Ok(Value::count(tensor.sizes.len())),
            "kind" => Ok(Value::Path("Kind::Float".to_owned())),
            other => Err(format!("no `{other}` of a tensor")),
        }
    }

    fn index(&mut self, tensor: &Shape, _: &Value<Shape>) -> Result<Shape> {
        self.handle(&Shape { sizes: tensor.sizes.get(1..).unwrap_or_default().to_vec(), handle: 0 })
    }

    fn tensor_of(&mut self, numbers: &[Value<Shape>]) -> Result<Shape> {
        self.handle(&Shape { sizes: vec![i64::try_from(numbers.len()).unwrap_or(0)], handle: 0 })
    }

    fn contents(&mut self, tensor: &Shape, ty: &str) -> Result<Value<Shape>> {
        if tensor.sizes.is_empty() { Ok(Value::Str(ty.to_owned())) } else { Err("more than one element".to_owned()) }
    }

    fn field(&mut self, _: Handle, name: &str) -> Result<Value<Shape>> {
        match name {
            "width" => Ok(Value::Int(64, super::IntType::I64)),
            "weight" => Ok(Value::Tensor(Shape { sizes: vec![2, 3], handle: 0 })),
            other => Err(format!("no field `{other}`")),
        }
    }

    fn cell(&mut self, cell: Handle) -> Result<&mut Value<Shape>> {
        self.cells.get_mut(cell.0).ok_or_else(|| "no such cell".to_owned())
    }

    fn path(&mut self, path: &str) -> Result<Value<Shape>> {
        match path {
            "crate::EPS" => Ok(Value::Float(1e-5, super::FloatType::F64)),
            other => Err(format!("no constant `{other}`")),
        }
    }

    fn perform(&mut self, op: &HostOp, args: Vec<Value<Shape>>, _: &mut Variables<Shape>) -> Result<Value<Shape>> {
        match op {
            HostOp::Cell(_) => {
                self.cells.push(args.into_iter().next().unwrap_or(Value::Unit));
                Ok(Value::Handle(Handle(self.cells.len() - 1)))
            }
            other => Err(format!("no {}", other.label())),
        }
    }
}

/// What the body yields, comma-separated, or the first error. The graph's first parameter is the model, the second a
/// tensor of `[2, 3]`, the third a number.
fn check(body: &str, want: &Expect) {
    let body = body.lines().map(str::trim).collect::<Vec<_>>().join("\n").replace(",\n", ", ");
    let text = format!("graph f(self, x: tensor, n: rust<i64>) {{ {body} }}");
    let graph: Graph = text.parse().unwrap_or_else(|error| panic!("{error}: {text}"));
    want.assert_eq(&run(&graph).map_or_else(|error| format!("error: {error}"), |values| values.join(", ")));
}

fn run(graph: &Graph) -> std::result::Result<Vec<String>, EvalError<Shape, String>> {
    let (mut variables, mut machine) = (Variables::default(), Shapes::default());
    let inputs = [
        Value::Handle(Handle(0)),
        Value::Tensor(Shape { sizes: vec![2, 3], handle: 0 }),
        Value::Int(5, super::IntType::I64),
    ];
    let region = graph.region(graph.body());
    for (&param, value) in region.params.iter().zip(inputs) {
        variables.set(param, value);
    }
    for &id in &region.nodes {
        let node = graph.node(id);
        let Op::Host(host) = &node.op else {
            let values = node.args.iter().map(|arg| eval_arg(arg, &mut variables, &mut machine));
            return values.map(|value| value.map(|value| shown(&value))).collect();
        };
        let value: Evaluated<Shapes> = eval_typed(&host.op, &node.args, &node.ty, &mut variables, &mut machine);
        variables.set(id, value?);
    }
    Ok(Vec::new())
}

pub(super) fn shown(value: &Value<Shape>) -> String {
    let all = |values: &[Value<Shape>]| values.iter().map(shown).collect::<Vec<_>>().join(", ");
    match value {
        Value::Int(number, ty) => format!("{number}{ty}"),
        Value::Float(number, ty) => format!("{number:?}{ty}"),
        Value::Bool(value) => value.to_string(),
        Value::Str(text) => format!("{text:?}"),
        Value::Tensor(tensor) => format!("tensor{:?}#{}", tensor.sizes, tensor.handle),
        Value::Option(Some(held)) => format!("Some({})", shown(held)),
        Value::Option(None) => "None".to_owned(),
        Value::List(items) => format!("[{}]", all(items)),
        Value::Tuple(parts) => format!("({})", all(parts)),
        Value::Struct(path, fields) => {
            let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}: {}", shown(value))).collect();
            format!("{path} {{ {} }}", fields.join(", "))
        }
        Value::Path(path) => path.clone(),
        other => other.to_string(),
    }
}

#[test]
fn numbers_have_rusts_types() {
    check(
        r#"%a = host.binary["+"](n, 1) : rust<i64>
           %b = host.cast["f32"](host.binary["*"](%a, 2))
           %c = host.binary["/"](%b, 7.0)
           %d = host.literal["u8"](200)
           %e = host.cast["i8"](%d)
           %f = host.binary["%"](host.neg(n), 3)
           %g = host.use(3) : rust<usize>
           yield %a, %b, %c, %e, %f, %g, host.binary["<<"](%d, 1)"#,
        &expect!["6i64, 12.0f32, 1.7142857313156128f32, -56i8, -2i64, 3usize, 144u8"],
    );
    check(
        r#"%a = host.cast["usize"](-1.5) ; %b = host.cast["i32"](3000000000.0) ; %c = host.from["f64"](host.literal["i32"](3))
           %d = host.cast["u32"](host.literal["i64"](-1)) ; yield %a, %b, %c, %d, `::std::f64::consts::PI`, `i32::MAX`"#,
        &expect!["0usize, 2147483647i32, 3.0f64, 4294967295u32, 3.141592653589793f64, 2147483647i32"],
    );
}

#[test]
fn what_overflows_is_named() {
    check(
        r#"yield host.binary["+"](host.literal["u8"](200), 100)"#,
        &expect!["error: panics: attempt to add with overflow: 200 + 100 is out of the range of u8"],
    );
    check(
        r#"yield host.binary["-"](host.literal["usize"](1), 2)"#,
        &expect!["error: panics: attempt to subtract with overflow: 1 - 2 is out of the range of usize"],
    );
    check(r#"yield host.binary["/"](n, 0)"#, &expect!["error: panics: attempt to divide by zero"]);
    check(
        r#"yield host.method["pow"](host.literal["i32"](2), 31)"#,
        &expect!["error: panics: overflow: 2.pow(31) is out of the range of i32"],
    );
    check(
        r#"yield host.neg(host.cast["i8"](128))"#,
        &expect!["error: panics: attempt to negate with overflow: -(-128) of i8"],
    );
    check("%a = host.use(300) : rust<u8> ; yield %a", &expect!["error: 300 is out of the range of u8"]);
}

#[test]
fn operands_that_do_not_fit_are_named() {
    check(
        r#"yield host.binary["+"](n, 1.5)"#,
        &expect![[r#"error: host.binary["+"]: `+` cannot take i64 and float: it takes two numbers of one type"#]],
    );
    check(
        r#"yield host.binary["*"](x, 2)"#,
        &expect![[r#"error: host.binary["*"]: `*` cannot take tensor and integer: it takes two numbers of one type"#]],
    );
    check("yield host.handle(n)", &expect!["error: host.handle: cannot take i64: it takes a tensor"]);
    check(
        r#"yield host.method["pop"](n)"#,
        &expect![[r#"error: host.method["pop"]: `pop` is no method of i64; it is one of lists"#]],
    );
    check(
        r#"yield host.method["min"](n, 2.0)"#,
        &expect![[r#"error: host.method["min"]: `min` of i64 cannot take (float); it is a method of whole numbers"#]],
    );
    check(r#"yield host.binary["+"](n)"#, &expect![[r#"error: host.binary["+"] has 1 arguments instead of 2"#]]);
    check(
        r#"yield host.from["i32"](n)"#,
        &expect![[r#"error: host.from["i32"]: `i32::from` cannot take i64: it takes a narrower number"#]],
    );
}

#[test]
fn methods_of_numbers() {
    check(
        r#"%f = host.cast["f64"](n) ; %s = host.cast["f32"](2)
           yield host.method["sqrt"](%f), host.function["f32::sqrt"](%s), host.method["powf"](%f, 0.5), host.method["powi"](%f, 2),
                 host.method["clamp"](%f, 0.0, 1.0), host.method["max"](n, 7), host.function["::std::cmp::min"](n, 7),
                 host.method["rem_euclid"](host.neg(n), 3), host.method["saturating_sub"](host.literal["usize"](1), 2),
                 host.method["checked_add"](host.literal["u8"](255), 1), host.method["abs_diff"](n, 8),
                 host.method["div_ceil"](host.literal["usize"](7), 2), host.method["next_multiple_of"](host.literal["usize"](7), 4)"#,
        &expect![
            "2.23606797749979f64, 1.4142135381698608f32, 2.23606797749979f64, 25.0f64, 1.0f64, 7i64, 5i64, 1i64, 0usize, None, 3u64, 4usize, 8usize"
        ],
    );
    check(r#"yield host.method["clamp"](n, 3, 1)"#, &expect!["error: panics: assertion failed: min <= max"]);
}

#[test]
fn the_right_side_is_read_where_it_is_wanted() {
    check(
        r#"%none = host.none_of["i64"]() : option<rust<i64>>
           %a = host.binary["&&"](host.method["is_some"](%none), host.binary["<"](host.unwrap(%none), 3))
           %b = host.binary["||"](host.method["is_none"](%none), host.binary["<"](host.unwrap(%none), 3))
           yield %a, %b"#,
        &expect!["false, true"],
    );
    check(
        r#"%none = host.none_of["i64"]() ; yield host.unwrap["\"no limit\""](%none)"#,
        &expect!["error: panics: no limit"],
    );
}

#[test]
fn lists_change_where_they_lie() {
    check(
        r#"%l = host.vec(1, n, 3) : list<rust<i64>>
           %a = host.mutate["push", io](%l, 4)
           %b = host.mutate["remove", io](%l, 0)
           %c = host.mutate["insert", io](%l, 1, 9)
           %d = host.mutate["swap", io](%l, 0, 3)
           %e = host.mutate["pop", io](%l)
           %f = host.mutate["split_off", io](%l, 2)
           %g = host.mutate["extend", io](%f, host.copied_elements(%l))
           yield %l, %b, %e, %f, host.method["contains"](%l, host.ref(9)), host.method["last"](%f), host.method["get"](%f, 9)"#,
        &expect!["[4i64, 9i64], 1i64, Some(5i64), [3i64, 4i64, 9i64], true, Some(9i64), None"],
    );
    check(
        r#"%l = host.vec(1) ; %a = host.mutate["remove", io](%l, 1) ; yield %a"#,
        &expect!["error: panics: remove: the index is 1 but the length is 1"],
    );
    check(
        r#"%l = host.empty_vec["i64"]() : list<rust<i64>>
           %r = host.resize_with[io](%l, 2, host.binary["+"](n, 1))
           %e = host.assign[io](host.end_mut["last"](%l), 2)
           %s = host.mutate["sort", io](%l) ; %b = host.mutate["remove", io](%l, 0) ; %t = host.mutate["clear", io](host.ref_mut(%l))
           yield %l, %b"#,
        &expect!["[], 2i64"],
    );
}

#[test]
fn places_are_paths_into_variables() {
    check(
        r#"%s = host.struct["State", "keys", "step"](host.some(host.vec(1, 2)), 0)
           %a = host.assign[io](host.item(host.unwrap_mut(host.field["keys"](%s)), 1), 7)
           %b = host.assign_op["+=", io](host.field["step"](%s), n)
           %m = host.ref_mut(host.field["keys"](%s))
           %c = host.mutate["push", io](host.unwrap_mut(%m), 8)
           %d = host.exchange["take", io](%m)
           %e = host.assign[io](host.deref(%m), host.some(host.vec(3)))
           %f = host.exchange["replace", io](host.ref_mut(host.field["step"](%s)), 1)
           yield %s, %d, %f"#,
        &expect!["State { keys: Some([3integer]), step: 1i64 }, Some([1integer, 7integer, 8integer]), 5i64"],
    );
    check(
        r#"%o = host.none_of["i64"]() ; %a = host.assign[io](host.unwrap_mut["\"a limit\""](%o), 1) ; yield %o"#,
        &expect!["error: panics: a limit"],
    );
    check(
        r#"%t = host.tuple(1, n) ; %a = host.assign[io](host.field["1"](%t), 2) ; yield %t, host.field["2"](%t)"#,
        &expect![[r#"error: host.field["2"]: has no part `2`: the tuple has 2"#]],
    );
    check(
        r#"%a = host.assign[io](host.field["width"](self), 2) ; yield %a"#,
        &expect!["error: host.assign: cannot write to the field `width` of what the machine keeps: that takes a cell"],
    );
}

#[test]
fn cells_are_written_in_place() {
    check(
        r#"%c = host.cell["Vec<Tensor>"](host.vec(host.handle(x)))
           %p = host.mutate["push", state](host.lock(%c), host.handle(x))
           %v = host.cell_value(%c)
           %s = host.cell_set[state](%c, host.vec(x))
           %w = host.assign[state](host.item(host.lock(%c), 0), host.handle(host.field["weight"](self)))
           yield %v, host.deref(host.lock(%c))"#,
        &expect!["[tensor[2, 3]#3, tensor[2, 3]#4], [tensor[2, 3]#5]"],
    );
}

#[test]
fn elements_are_mapped_and_gathered() {
    check(
        r#"%l = host.vec(1, n, 3) : list<rust<i64>>
           %m = host.map_list(%l, host.binary["*"](`one`, 2))
           %h = host.map_option(host.some(x), host.handle(`one`))
           %e = host.collect["iter()", "skip(1)", "enumerate()"](%l)
           yield %m, %h, %e, host.count["rev()", "take(2)"](host.range[".."](0, n)), host.sum["i64"](%l),
                 host.product["i64"](%l), host.extremum["max"](%l), host.slice[".."](%l, 1, none), host.repeat(0.5, 2)"#,
        &expect![
            "[2i64, 10i64, 6i64], Some(tensor[2, 3]#1), [(0usize, 5i64), (1usize, 3i64)], 2usize, 9i64, 15i64, Some(5i64), [5i64, 3i64], [0.5float, 0.5float]"
        ],
    );
    check(
        r#"%l = host.vec(1) ; yield host.slice["..="](%l, 0, 1)"#,
        &expect!["error: panics: range 0..2 out of range for slice of length 1"],
    );
}

#[test]
fn tensors_are_the_machines() {
    check(
        r#"%size = host.method["size"](x) : list<rust<i64>>
           %k = host.binary["=="](host.method["kind"](x), `::fx_runtime::Kind::Float`)
           yield host.item(%size, 1), %k, host.index(x, host.tuple(host.index_range[".."](none, 1), 0)),
                 host.tensor_of(host.array(1.0, 2.0)), `crate::EPS`, host.field["width"](self)"#,
        &expect!["3i64, true, tensor[3]#1, tensor[2]#2, 1e-5f64, 64i64"],
    );
    check(r#"yield host.convert["usize"](n), host.convert_or["i8"](300, 7)"#, &expect!["5usize, 7i8"]);
    check(
        r#"yield host.convert["u8"](-1)"#,
        &expect!["error: panics: out of range integral type conversion attempted"],
    );
    check(r#"yield host.try_from["f64"](x)"#, &expect!["error: more than one element"]);
    check(r#"%stop = host.return[io](x) ; yield x"#, &expect!["error: leaves the forward with a value of kind tensor"]);
}

#[test]
fn options_and_ranges() {
    check(
        r#"%o = host.some(n) ; %t = host.mutate["take", io](%o) ; %r = host.mutate["replace", io](%o, 2)
           %range = host.range["..="](1, n)
           yield %o, %t, %r, host.method["zip"](%o, %t), host.method["unwrap_or"](%r, 4), host.method["copied"](%o),
                 host.method["contains"](%range, 5), host.method["len"](host.range[".."](0, 3)),
                 host.method["then_some"](true, 1), host.handle_or(host.some(x), `never read`)"#,
        &expect![
            "Some(2integer), Some(5i64), None, Some((2integer, 5i64)), 4integer, Some(2integer), true, 3usize, Some(1integer), tensor[2, 3]#1"
        ],
    );
}
