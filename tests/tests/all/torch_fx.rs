//! The graphs of models with which torch.fx is introduced, against torch.fx's own of the same models in Python.
//!
//! `torch_fx/nodes.py` made what is compared with. Where the two languages cannot spell a line alike, both lines stand
//! here; all others are equal.

use fusion_tutorial::Tutorial;
use fx_runtime::graph::Graph;
use fx_runtime::graph_module::{GraphModule, Value, value};
use fx_runtime::{Device, Error, Kind, Tensor, nn};
use fx_tests::torch_fx::{Largest, MadeInside, ThreeAdditions, Wrapped};

use crate::values::chance;

/// A line of torch.fx's and ours in its place; empty where there is none.
type Differences<'d> = &'d [(&'d str, &'d str)];

/// Rust's parameters have a type, which torch.fx shows where Python has one.
const TYPED: (&str, &str) =
    ("%x : [num_users=1] = placeholder[target=x]", "%x : torch.Tensor [num_users=1] = placeholder[target=x]");

fn check(graph: &GraphModule, theirs: &str, differences: Differences<'_>) {
    let mut want: Vec<&str> = theirs.lines().map(str::trim).collect();
    for (line, ours) in differences {
        let at = want.iter().position(|other| other == line);
        let at = at.unwrap_or_else(|| panic!("torch.fx has no line {line}"));
        want.splice(at..=at, ours.lines());
    }
    let ours = graph.to_string();
    let ours: Vec<&str> = ours.lines().map(str::trim).collect();
    assert_eq!(ours, want);
}

/// A model with fresh weights.
fn fresh<M>(make: impl FnOnce(&nn::Path) -> M) -> M {
    let _alone = chance();
    make(&nn::VarStore::new(Device::Cpu).root())
}

/// Four hundred names, among them such as Python has for itself.
#[test]
fn names_are_numbered_as_torch_fx_numbers_them() {
    let mut graph = Graph::new("names");
    graph.reserve_python_names();
    for (at, line) in include_str!("../../torch_fx/names.txt").lines().enumerate() {
        let (asked, given) = line.split_once(' ').expect("two names");
        assert_eq!(graph.fresh_name(asked), given, "line {}, of `{asked}`", at + 1);
    }
}

/// The five columns of torch.fx's table, a row a line.
fn check_table(graph: &GraphModule, theirs: &str, differences: Differences<'_>) {
    let row = |line: &str| {
        let cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).take(5);
        cells.collect::<Vec<_>>().join(" | ")
    };
    let rows = |table: &str| table.lines().filter(|line| !line.starts_with("---")).map(row).collect::<Vec<_>>();
    let mut want = rows(theirs);
    for (line, ours) in differences {
        let at = want.iter().position(|other| other == line);
        let at = at.unwrap_or_else(|| panic!("torch.fx has no row {line}"));
        (*ours).clone_into(&mut want[at]);
    }
    assert_eq!(rows(&graph.graph().print_tabular()), want);
}

#[test]
fn the_tutorial_on_fusing() {
    let graph = fresh(Tutorial::new).graph_module().expect("a graph");
    check(&graph, include_str!("../../torch_fx/fuser_tutorial.graph.txt"), &[TYPED]);
    check_table(&graph, include_str!("../../torch_fx/fuser_tutorial.table.txt"), &[]);
}

/// tch's methods take every argument, in their order, and those that torch has as a method and as a function are methods.
#[test]
fn the_largest_sums() {
    let graph = fresh(Largest::new).graph_module().expect("a graph");
    let differences = [
        TYPED,
        (
            "%sum_1 : [num_users=1] = call_function[target=torch.sum](args = (%relu,), kwargs = {dim: -1})",
            "%sum_1 : [num_users=1] = call_method[target=sum](args = (%relu, -1, False, None), kwargs = {})",
        ),
        (
            "%topk : [num_users=1] = call_function[target=torch.topk](args = (%sum_1, 3), kwargs = {})",
            "%topk : [num_users=1] = call_method[target=topk](args = (%sum_1, 3, -1, True, True), kwargs = {})",
        ),
    ];
    check(&graph, include_str!("../../torch_fx/largest.graph.txt"), &differences);
    // Python shows a function as its address.
    let differences = [
        (
            "call_function | add | <built-in function add> | (x, linear_weight) | {}",
            "call_function | add | add | (x, linear_weight) | {}",
        ),
        (
            "call_function | sum_1 | <built-in method sum> | (relu,) | {'dim': -1}",
            "call_method | sum_1 | sum.dim_IntList | (relu, -1, False, None) | {}",
        ),
        (
            "call_function | topk | <built-in method topk> | (sum_1, 3) | {}",
            "call_method | topk | topk | (sum_1, 3, -1, True, True) | {}",
        ),
    ];
    check_table(&graph, include_str!("../../torch_fx/largest.table.txt"), &differences);
}

/// What Python computes while it traces is a constant of the traced model; here it is a node in its place, so that the graph
/// says what it is.
#[test]
fn a_tensor_that_is_made_inside() {
    let graph = fresh(MadeInside::new).graph_module().expect("a graph");
    let differences = [
        (
            TYPED.0,
            "%x : torch.Tensor [num_users=1] = placeholder[target=x]\n\
             %ones : [num_users=1] = call_function[target=torch.ones](args = ([2, 3], (torch.float32, cpu)), kwargs = {})",
        ),
        ("%_tensor_constant0 : [num_users=1] = get_attr[target=_tensor_constant0]", ""),
        (
            "%add : [num_users=1] = call_function[target=operator.add](args = (%linear, %_tensor_constant0), kwargs = {})",
            "%add : [num_users=1] = call_function[target=operator.add](args = (%linear, %ones), kwargs = {})",
        ),
    ];
    check(&graph, include_str!("../../torch_fx/made_inside.graph.txt"), &differences);
}

/// A function is named by its path in Rust.
#[test]
fn a_function_that_is_not_looked_into() {
    let graph = Wrapped.graph_module().expect("a graph");
    let differences = [
        ("%x : [num_users=2] = placeholder[target=x]", "%x : torch.Tensor [num_users=2] = placeholder[target=x]"),
        (
            "%len_1 : [num_users=1] = call_function[target=builtins.len](args = (%x,), kwargs = {})",
            "%len_1 : [num_users=1] = call_function[target=self::len](args = (%x,), kwargs = {})",
        ),
    ];
    check(&graph, include_str!("../../torch_fx/wrapped.graph.txt"), &differences);
}

/// One op is one target, however it is spelled.
#[test]
fn an_addition_in_three_spellings() {
    let graph = ThreeAdditions.graph_module().expect("a graph");
    let typed = ["x", "y"].map(|name| {
        let [theirs, ours] =
            ["", "torch.Tensor "].map(|ty| format!("%{name} : {ty}[num_users=3] = placeholder[target={name}]"));
        (theirs, ours)
    });
    let differences = [
        (typed[0].0.as_str(), typed[0].1.as_str()),
        (typed[1].0.as_str(), typed[1].1.as_str()),
        (
            "%add_1 : [num_users=1] = call_function[target=torch.add](args = (%x, %y), kwargs = {})",
            "%add_1 : [num_users=1] = call_function[target=operator.add](args = (%x, %y), kwargs = {})",
        ),
        (
            "%add_2 : [num_users=1] = call_method[target=add](args = (%x, %y), kwargs = {})",
            "%add_2 : [num_users=1] = call_function[target=operator.add](args = (%x, %y), kwargs = {})",
        ),
    ];
    check(&graph, include_str!("../../torch_fx/three_additions.graph.txt"), &differences);
}

/// The user's own loop over nodes: all three are one op, and the graph runs as it is edited.
#[test]
fn additions_become_products_while_the_program_runs() {
    let mut module = ThreeAdditions.graph_module().expect("a graph");
    let graph = module.graph_mut();
    for add in graph.find_nodes("call_function", Some("operator.add")) {
        let args = graph.node(add).args.clone();
        let mul = graph.inserting_after(add).and_then(|mut here| here.call("mul", args)).expect("a product");
        assert_eq!(graph.try_replace_all_uses_with(add, mul).map(|users| users.len()), Ok(1));
        graph.erase_node(add).expect("nobody reads it");
    }
    module.lint().expect("a sound graph");
    assert!(module.to_string().ends_with("return (mul, mul_1, mul_2)"), "{module}");
    let numbers = |first| Tensor::arange_start(first, first + 4, (Kind::Float, Device::Cpu));
    let (xs, ys) = (numbers(1), numbers(5));
    let Ok(Value::Tuple(products)) = module.run(&[value(&xs), value(&ys)]) else { panic!("no tuple") };
    assert_eq!(products.len(), 3);
    for product in products {
        assert!(matches!(product, Value::Tensor(product) if *product == &xs * &ys));
    }
}

/// The models compute what they compute in Python: the numbers are small enough to be known.
#[test]
fn the_models_run() {
    let xs = Tensor::ones([5, 4], (Kind::Float, Device::Cpu));
    let net = fresh(Largest::new);
    let (values, _) = net.forward(&xs);
    let Ok(Value::Tuple(parts)) = net.graph_module().expect("a graph").run(&[value(&xs)]) else { panic!("no tuple") };
    assert!(matches!(&parts[..], [Value::Tensor(found), Value::Tensor(_)] if **found == values), "{parts:?}");
    let mut graph = Wrapped.graph_module().expect("a graph");
    graph.add_function("self::len", |args| match args {
        [Value::Tensor(xs)] => Ok(value(xs.size()[0])),
        _ => Err(Error::Refused("`len` takes a tensor".to_owned())),
    });
    match graph.run(&[value(&xs)]) {
        Ok(Value::Tensor(found)) => assert_eq!(*found, &xs * 5),
        other => panic!("{other:?} in place of a tensor"),
    }
}
