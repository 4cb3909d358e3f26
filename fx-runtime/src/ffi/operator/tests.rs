//! Operators by name against tch's methods.

use std::collections::BTreeSet;

use tch::{Device, Kind, Layout, Reduction};

use super::*;

fn operator(full_name: &str) -> Operator {
    Operator::parse(full_name).unwrap()
}

#[track_caller]
fn tensor(full_name: &str, args: &[Value]) -> Tensor {
    operator(full_name).tensor(args).unwrap()
}

fn rand(sizes: &[i64]) -> Tensor {
    Tensor::rand(sizes, (Kind::Float, Device::Cpu))
}

macro_rules! values {
    ($($value:expr),* $(,)?) => { [$(Value::from($value)),*] };
}

const NONE: Option<Tensor> = None;

#[test]
fn every_operator_of_the_op_table_and_of_the_catalog_is_there() {
    let of_table =
        fx_ir::ops::ops().iter().flat_map(|row| row.methods).filter_map(|method| fx_ir::catalog::lookup(method));
    let rows: BTreeSet<_> = of_table.filter_map(|entry| entry.aten).collect();
    let all: BTreeSet<_> = fx_ir::catalog::entries().iter().filter_map(|entry| entry.aten).collect();
    assert!(rows.len() > 200 && all.len() > 2000, "{} and {}", rows.len(), all.len());
    let missing: Vec<_> = rows.union(&all).filter(|name| Operator::parse(name).is_err()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The catalog's parameters were read from another source, PyTorch's list of operators.
#[test]
fn schemas_say_what_the_catalog_says() {
    let mut other = Vec::new();
    for entry in fx_ir::catalog::entries() {
        let Some(schema) = entry.aten.and_then(|name| Operator::parse(name).ok()).map(|found| found.schema()) else {
            continue;
        };
        if entry.writes() != schema.mutates() {
            other.push(schema.full_name());
        }
    }
    assert_eq!(other, Vec::<String>::new());
}

#[test]
fn a_schema_is_data() {
    let schema = operator("aten::conv2d").schema();
    let ints = Type::List(Box::new(Type::Int), Some(2));
    let stride = schema.argument("stride").unwrap();
    assert_eq!((&stride.ty, stride.ty.to_string()), (&ints, "int[2]".to_owned()));
    assert_eq!(stride.default, Some(fx_ir::Arg::List(vec![fx_ir::Arg::Int(1), fx_ir::Arg::Int(1)])));
    assert_eq!(schema.argument("bias").unwrap().ty, Type::Optional(Box::new(Type::Tensor)));
    assert!(!schema.mutates());
    let add = operator("aten::add_.Tensor").schema();
    assert_eq!(add.arguments[0].alias, Some(Alias { set: "a".to_owned(), is_written: true }));
    assert_eq!(
        (add.results[0].alias.as_ref(), add.arguments[2].is_keyword_only),
        (add.arguments[0].alias.as_ref(), true)
    );
    let split = operator("aten::split.Tensor").schema();
    assert_eq!(split.arguments[0].alias, Some(Alias { set: "a".to_owned(), is_written: false }));
    assert_eq!(split.results[0].ty, Type::List(Box::new(Type::Tensor), None));
    let zeros = operator("aten::zeros").schema();
    let types: Vec<_> = zeros.arguments.iter().map(|argument| argument.ty.to_string()).collect();
    assert_eq!(types, ["int[]", "ScalarType?", "Layout?", "Device?", "bool?"]);
    assert!(operator("aten::_foreach_add_.Scalar").schema().mutates());
}

#[test]
fn numbers_and_tensors_agree_with_tch() {
    let (x, y, z) = (&rand(&[2, 3]), &rand(&[2, 3]), &rand(&[3, 4]));
    assert_eq!(tensor("aten::add.Tensor", &values![x, y]), x + y);
    assert_eq!(tensor("aten::add.Tensor", &values![x, y, 2]), x + y * 2);
    assert_eq!(tensor("aten::add.Scalar", &values![x, 2]), x + 2);
    // A number for a tensor does not decide the dtype.
    assert_eq!(tensor("aten::add.Tensor", &values![x, 2.0]), x + 2.0);
    assert_eq!(tensor("aten::add.Tensor", &values![&x.to_kind(Kind::Half), 2.0]).kind(), Kind::Half);
    assert_eq!(tensor("aten::mul.Tensor", &values![x, y]), x * y);
    assert_eq!(tensor("aten::pow.Tensor_Scalar", &values![x, 3]), x.pow_tensor_scalar(3));
    assert_eq!(tensor("aten::clamp", &values![x, 0.25, None::<f64>]), x.clamp_min(0.25));
    assert_eq!(tensor("aten::clamp", &values![x, None::<f64>, 0.5]), x.clamp_max(0.5));
    assert_eq!(tensor("aten::relu", &values![&(x - 0.5)]), (x - 0.5).relu());
    assert_eq!(tensor("aten::gelu", &values![x, "tanh"]), x.gelu("tanh"));
    assert_eq!(tensor("aten::gelu", &values![x]), x.gelu("none"));
    assert_eq!(tensor("aten::softmax.int", &values![x, -1]), x.softmax(-1, None::<Kind>));
    assert_eq!(tensor("aten::softmax.int", &values![x, 0, Kind::Double]), x.softmax(0, Kind::Double));
    assert_eq!(tensor("aten::matmul", &values![x, z]), x.matmul(z));
    assert_eq!(tensor("aten::leaky_relu", &values![&(x - 0.5)]), (x - 0.5).leaky_relu());
    assert_eq!(tensor("aten::where.self", &values![&x.gt(0.5), x, y]), x.where_self(&x.gt(0.5), y));
    assert_eq!(tensor("aten::eq.Scalar", &values![&x.round(), true]), x.round().eq(1));
    assert_eq!(
        tensor("aten::masked_fill.Scalar", &values![x, &x.gt(0.5), f64::NEG_INFINITY]),
        x.masked_fill(&x.gt(0.5), f64::NEG_INFINITY)
    );
    let complex = tensor("aten::mul.Tensor", &[Value::from(x), Value::Complex(0.0, 2.0)]);
    assert_eq!(complex, Tensor::complex(&x.zeros_like(), &(x * 2)));
}

#[test]
fn lists_agree_with_tch() {
    let (x, y) = (&rand(&[2, 3, 4]), &rand(&[2, 3, 4]));
    assert_eq!(tensor("aten::cat", &values![[x, y], 1]), Tensor::cat(&[x, y], 1));
    assert_eq!(tensor("aten::stack", &values![[x, y]]), Tensor::stack(&[x, y], 0));
    assert_eq!(tensor("aten::reshape", &values![x, [6, 4]]), x.reshape([6, 4]));
    assert_eq!(tensor("aten::view", &values![x, [4, 6]]), x.view([4, 6]));
    assert_eq!(tensor("aten::permute", &values![x, [2, 0, 1]]), x.permute([2, 0, 1]));
    assert_eq!(
        tensor("aten::sum.dim_IntList", &values![x, [0, 2], true]),
        x.sum_dim_intlist([0, 2].as_slice(), true, None::<Kind>)
    );
    assert_eq!(
        tensor("aten::mean.dim", &values![x, None::<Vec<i64>>]),
        x.mean_dim(None::<&[i64]>, false, None::<Kind>)
    );
    assert_eq!(tensor("aten::flip", &values![x, [0]]), x.flip([0]));
    assert_eq!(tensor("aten::constant_pad_nd", &values![x, [1, 2]]), x.constant_pad_nd([1, 2]));
    assert_eq!(tensor("aten::slice.Tensor", &values![x, 1, 1]), x.slice(1, 1, None, 1));
    assert_eq!(
        tensor("aten::einsum", &values!["bij,bij->b", [x, y]]),
        Tensor::einsum("bij,bij->b", &[x, y], None::<&[i64]>)
    );
    let index = &Tensor::from_slice(&[1_i64, 0]);
    let picked = tensor("aten::index.Tensor", &[Value::from(x), Value::from(vec![None, Some(index.shallow_clone())])]);
    assert_eq!(picked, x.index_select(1, index));
    assert_eq!(tensor("aten::index.Tensor", &values![x, [index]]), x.index_select(0, index));
    let image = &rand(&[1, 2, 4, 4]);
    let options = values![image, None::<Vec<i64>>, true, vec![2.0, 2.0]];
    assert_eq!(
        tensor("aten::upsample_bilinear2d.vec", &options),
        image.upsample_bilinear2d_vec(None::<&[i64]>, true, vec![2.0, 2.0])
    );
    let halves = operator("aten::chunk").call(&values![x, 2, 2]).unwrap();
    assert!(matches!(halves.as_slice(), [Value::Tensors(halves)] if *halves == x.chunk(2, 2)));
    let sums = operator("aten::_foreach_add.ScalarList").call(&values![[x, y], vec![1.0, 2.0]]).unwrap();
    assert!(matches!(sums.as_slice(), [Value::Tensors(sums)] if *sums == [x + 1, y + 2]));
}

#[test]
fn layers_agree_with_tch() {
    let (x, weight, bias) = (&rand(&[2, 3, 8, 8]), &rand(&[4, 3, 3, 3]), &rand(&[4]));
    let conv = x.conv2d(weight, Some(bias), [2, 2], [1, 1], [1, 1], 1);
    assert_eq!(tensor("aten::conv2d", &values![x, weight, bias, 2, 1]), conv);
    assert_eq!(tensor("aten::conv2d", &values![x, weight, bias, [2, 2], [1, 1], [1, 1], 1]), conv);
    assert_eq!(tensor("aten::conv2d", &values![x, weight]), x.conv2d(weight, None::<&Tensor>, 1, 0, 1, 1));
    assert_eq!(
        tensor("aten::conv2d.padding", &values![x, weight, NONE, 1, "same"]),
        x.conv2d(weight, None::<&Tensor>, 1, 1, 1, 1)
    );
    let named = operator("aten::conv2d")
        .call_named(&values![x, weight], &[("padding", Value::from(1)), ("bias", Value::from(bias))]);
    assert!(matches!(named.unwrap().as_slice(), [Value::Tensor(y)] if *y == x.conv2d(weight, Some(bias), 1, 1, 1, 1)));
    assert_eq!(tensor("aten::max_pool2d", &values![x, 2]), x.max_pool2d(2, 2, 0, 1, false));
    assert_eq!(tensor("aten::adaptive_avg_pool2d", &values![x, 1]), x.adaptive_avg_pool2d([1, 1]));
    let norm = values![&conv, 2, bias, bias];
    assert_eq!(tensor("aten::group_norm", &norm), conv.group_norm(2, Some(bias), Some(bias), 1e-5, true));
    let stats = values![&conv, bias, bias, bias, bias, false, 0.1, 1e-5, true];
    assert_eq!(
        tensor("aten::batch_norm", &stats),
        conv.batch_norm(Some(bias), Some(bias), Some(bias), Some(bias), false, 0.1, 1e-5, true)
    );
    assert_eq!(tensor("aten::dropout", &values![x, 0.5, false]), *x);
    let target = Tensor::from_slice(&[1_i64, 0]);
    let logits = rand(&[2, 3]);
    let loss = logits.cross_entropy_loss(&target, None::<&Tensor>, Reduction::Mean, -100, 0.0);
    assert_eq!(tensor("aten::cross_entropy_loss", &values![&logits, &target]), loss);
    let normed = operator("aten::native_layer_norm").call(&values![&logits, [3], NONE, NONE, 1e-5]).unwrap();
    let (of_tch, _, _) = logits.native_layer_norm([3], None::<&Tensor>, None::<&Tensor>, 1e-5);
    assert!(
        matches!(normed.as_slice(), [Value::Tensor(normed), Value::Tensor(_), Value::Tensor(_)] if *normed == of_tch)
    );
}

#[test]
fn dtypes_devices_layouts_and_formats_agree_with_tch() {
    let zeros = tensor("aten::zeros", &values![[2, 3], Kind::Int64, Layout::Strided, Device::Cpu, false]);
    assert_eq!((zeros.kind(), zeros), (Kind::Int64, Tensor::zeros([2, 3], (Kind::Int64, Device::Cpu))));
    assert_eq!(tensor("aten::arange", &values![5, Kind::Float]), Tensor::arange(5, (Kind::Float, Device::Cpu)));
    let x = &rand(&[1, 2, 3, 4]);
    assert_eq!(tensor("aten::to.dtype", &values![x, Kind::Double]), x.to_kind(Kind::Double));
    assert_eq!(tensor("aten::contiguous", &values![x, MemoryFormat::ChannelsLast]).stride(), [24, 1, 8, 2]);
    let sparse = operator("aten::to_sparse").call_named(&values![x], &[]).unwrap();
    assert!(matches!(sparse.as_slice(), [Value::Tensor(sparse)] if sparse.is_sparse()));
    let kind = operator("aten::result_type.Tensor").call(&values![x, &zeros_of(Kind::Double)]).unwrap();
    assert!(matches!(kind.as_slice(), [Value::Kind(Kind::Double)]), "{kind:?}");
    assert!(matches!(operator("aten::equal").call(&values![x, x]).unwrap().as_slice(), [Value::Bool(true)]));
    assert!(matches!(
        operator("aten::item").call(&values![&Tensor::from(2.5)]).unwrap().as_slice(),
        [Value::Float(2.5)]
    ));
    assert!(matches!(operator("aten::size.int").call(&values![x, 3]).unwrap().as_slice(), [Value::Int(4)]));
    let named = operator("aten::rand").call_named(&values![[2]], &[("dtype", Value::from(Kind::Double))]).unwrap();
    assert!(matches!(named.as_slice(), [Value::Tensor(x)] if x.kind() == Kind::Double));
    let drawn = operator("aten::bernoulli").call(&values![&x.ones_like()]).unwrap();
    assert!(matches!(drawn.as_slice(), [Value::Tensor(drawn)] if *drawn == x.ones_like()));
}

fn zeros_of(kind: Kind) -> Tensor {
    Tensor::zeros([1], (kind, Device::Cpu))
}

#[test]
fn in_place_operators_write_to_what_they_are_given() {
    let x = rand(&[3]) - 2.0;
    let written = tensor("aten::relu_", &values![&x]);
    assert_eq!((x.double_value(&[0]), written.data_ptr()), (0.0, x.data_ptr()));
    let (sum, out) = (&x + 1, x.zeros_like());
    operator("aten::add.out").call_named(&values![&x, 1.0], &[("out", Value::from(&out))]).unwrap();
    assert_eq!(out, sum);
}

#[test]
fn autograd_sees_the_call() {
    let (x, weight, bias) = (rand(&[5, 3]), rand(&[2, 3]).set_requires_grad(true), rand(&[2]).set_requires_grad(true));
    tensor("aten::linear", &values![&x, &weight, &bias]).square().sum(None::<Kind>).backward();
    let (by_name, by_name_bias) = (weight.grad().copy(), bias.grad().copy());
    let _ = weight.grad().zero_();
    let _ = bias.grad().zero_();
    x.linear(&weight, Some(&bias)).square().sum(None::<Kind>).backward();
    assert_eq!((by_name, by_name_bias), (weight.grad(), bias.grad()));
    let quiet = tch::no_grad(|| tensor("aten::linear", &values![&x, &weight, &bias]));
    assert!(!quiet.requires_grad());
}

#[track_caller]
fn refused(outcome: Result<Vec<Value>>, expected: &str) {
    let reason = outcome.unwrap_err().to_string();
    assert!(reason.contains(expected), "{reason}");
}

#[test]
fn what_is_wrong_is_named() {
    let (x, weight) = (&rand(&[1, 3, 4, 4]), &rand(&[2, 3, 3, 3]));
    let conv = operator("aten::conv2d");
    refused(conv.call(&values![x, weight, NONE, x]), "`aten::conv2d` takes `int[2]` for `stride`, got a tensor");
    refused(conv.call(&values![x]), "`aten::conv2d` needs its argument `weight`");
    refused(conv.call(&[const { Value::Int(1) }; 8]), "takes 7 arguments, got 8");
    refused(
        conv.call_named(&values![x, weight], &[("strides", Value::from(1))]),
        "no argument `strides`, only `input`",
    );
    refused(conv.call_named(&values![x, weight], &[("weight", Value::from(x))]), "got two values for `weight`");
    refused(operator("aten::add.Tensor").call_named(&values![x, x, 1], &[]), "takes 2 arguments by position, got 3");
    let missing = Operator::find("aten::add", "Tensr").unwrap_err().to_string();
    assert!(
        missing.contains("`aten::add.Tensr` has no such overload, only") && missing.contains("`Tensor`"),
        "{missing}"
    );
    assert!(Operator::parse("aten::no_such").unwrap_err().to_string().contains("is not registered"));
    // libtorch's own words, without its stack.
    let words = operator("aten::matmul").call(&values![x, &rand(&[5, 7])]).unwrap_err().to_string();
    assert!(
        words.contains("cannot be multiplied") && !words.contains("Exception raised") && words.lines().count() < 4,
        "{words}"
    );
    refused(operator("aten::reshape").call(&values![x, [7, 7]]), "shape '[7, 7]' is invalid");
}

#[test]
fn many_threads_may_find_and_call() {
    let threads = (0..4_i64).map(|seed| {
        std::thread::spawn(move || {
            let x = Tensor::from(seed);
            let names = ["aten::neg", "aten::abs", "aten::square", "aten::positive"];
            for _ in 0..100 {
                let sum: i64 = names.iter().map(|name| tensor(name, &values![&x]).int64_value(&[])).sum();
                assert_eq!(sum, seed + seed * seed);
            }
        })
    });
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
}
