//! `loop { .. break value }` is a loop like others, and the value waits behind it.
#![allow(clippy::needless_raw_string_hashes, reason = "expectations are written by expect-test")]

mod common;

use common::check;
use expect_test::expect;

#[test]
fn a_tensor() {
    check(
        r"
use fx_runtime::{Tensor, traceable};

#[traceable]
fn settled(xs: &Tensor, limit: i64) -> Tensor {
    let mut ys = xs.shallow_clone();
    let mut turns = 0;
    let last = loop {
        turns += 1;
        if turns >= limit {
            break ys.relu();
        }
        ys = ys.tanh();
    };
    last * turns
}",
        expect![[r#"
            graph settled(xs: tensor, limit: rust<i64>) {
              %each = while(none, false, 0, xs) : (option<tensor>, rust<bool>, rust<integer>, tensor)  @ src/lib.rs:8 as each (fx_broken: option<?>  @ src/lib.rs:8 as fx_broken, stopped: rust<bool>  @ src/lib.rs:8 as stopped, turns: rust<integer>  @ src/lib.rs:8 as turns, ys: tensor  @ src/lib.rs:8 as ys) {
                %number = host.not(stopped) : rust<bool>  @ src/lib.rs:8 as number
                yield %number  @ src/lib.rs:8 as yield
              } do (fx_broken_1: option<?>  @ src/lib.rs:8 as fx_broken, stopped_1: rust<bool>  @ src/lib.rs:8 as stopped, turns_1: rust<integer>  @ src/lib.rs:8 as turns, ys_1: tensor  @ src/lib.rs:8 as ys) {
                %number_1 = host.not(stopped_1) : rust<bool>  @ src/lib.rs:8 as number
                %branch = if(%number_1) : (option<tensor>, rust<bool>, rust<integer>, tensor)  @ src/lib.rs:8 as branch {
                  %turns_2 = host.binary["+"](turns_1, 1) : rust<integer>  @ src/lib.rs:9 as number
                  %test = host.binary[">="](%turns_2, limit) : rust<bool>  @ src/lib.rs:10 as test
                  %branch_1 = if(%test) : (option<tensor>, rust<bool>, tensor)  @ src/lib.rs:10 as branch {
                    %relu = relu(ys_1) : tensor  @ src/lib.rs:11 as relu
                    %some = host.some(host.handle(%relu)) : option<tensor>  @ src/lib.rs:10 as branch
                    yield %some, true, ys_1  @ src/lib.rs:10 as yield
                  } else {
                    %ys_2 = tanh(ys_1) : tensor  @ src/lib.rs:13 as tanh
                    yield fx_broken_1, stopped_1, %ys_2  @ src/lib.rs:10 as yield
                  }
                  %fx_broken_2 = tuple_get[0](%branch_1) : option<tensor>  @ src/lib.rs:10 as branch_1_0
                  %stopped_2 = tuple_get[1](%branch_1) : rust<bool>  @ src/lib.rs:10 as branch_1_1
                  %ys_3 = tuple_get[2](%branch_1) : tensor  @ src/lib.rs:10 as branch_1_2
                  yield %fx_broken_2, %stopped_2, %turns_2, %ys_3  @ src/lib.rs:8 as yield
                } else {
                  yield fx_broken_1, stopped_1, turns_1, ys_1  @ src/lib.rs:8 as yield
                }
                %fx_broken_3 = tuple_get[0](%branch) : option<tensor>  @ src/lib.rs:8 as branch_0
                %stopped_3 = tuple_get[1](%branch) : rust<bool>  @ src/lib.rs:8 as branch_1
                %turns_3 = tuple_get[2](%branch) : rust<integer>  @ src/lib.rs:8 as branch_2
                %ys_4 = tuple_get[3](%branch) : tensor  @ src/lib.rs:8 as branch_3
                yield %fx_broken_3, %stopped_3, %turns_3, %ys_4  @ src/lib.rs:8 as yield
              }
              %fx_broken_4 = tuple_get[0](%each) : option<tensor>  @ src/lib.rs:8 as each_0
              %stopped_4 = tuple_get[1](%each) : rust<bool>  @ src/lib.rs:8 as each_1
              %turns_4 = tuple_get[2](%each) : rust<integer>  @ src/lib.rs:8 as each_2
              %ys_5 = tuple_get[3](%each) : tensor  @ src/lib.rs:8 as each_3
              %last = match(%fx_broken_4) : tensor  @ src/lib.rs:8 as choice {
                "Some(%0)" (fx_value: tensor  @ src/lib.rs:8 as fx_value) {
                  yield fx_value  @ src/lib.rs:8 as yield
                }
                "None" {
                  %panic = host.panic["internal error: entered unreachable code", io]() : rust<!>  @ src/lib.rs:8 as panic
                  yield %panic  @ src/lib.rs:8 as yield
                }
              }
              %mul = mul.Scalar(%last, %turns_4) : tensor  @ src/lib.rs:15 as mul
              yield %mul  @ src/lib.rs:16 as output
            }"#]],
    );
}

#[test]
fn a_number() {
    check(
        r"
use fx_runtime::{Tensor, traceable};

#[traceable]
fn halved(xs: &Tensor) -> Tensor {
    let mut size = xs.size()[0];
    let last: i64 = loop {
        match size {
            0 | 1 => break size + 10,
            _ => size /= 2,
        }
    };
    xs * last
}",
        expect![[r#"
            graph halved(xs: tensor) {
              %size = host.method["size"](xs) : list<rust<i64>>  @ src/lib.rs:6 as size
              %size_1 = host.item(%size, 0) : rust<i64>  @ src/lib.rs:6 as item
              %each = while(none, %size_1, false) : (option<rust<i64>>, rust<i64>, rust<bool>)  @ src/lib.rs:7 as each (fx_broken: option<?>  @ src/lib.rs:7 as fx_broken, size_2: rust<i64>  @ src/lib.rs:7 as size, stopped: rust<bool>  @ src/lib.rs:7 as stopped) {
                %number = host.not(stopped) : rust<bool>  @ src/lib.rs:7 as number
                yield %number  @ src/lib.rs:7 as yield
              } do (fx_broken_1: option<?>  @ src/lib.rs:7 as fx_broken, size_3: rust<i64>  @ src/lib.rs:7 as size, stopped_1: rust<bool>  @ src/lib.rs:7 as stopped) {
                %number_1 = host.not(stopped_1) : rust<bool>  @ src/lib.rs:7 as number
                %branch = if(%number_1) : (option<rust<i64>>, rust<i64>, rust<bool>)  @ src/lib.rs:7 as branch {
                  %choice = match(size_3) : (option<rust<i64>>, rust<i64>, rust<bool>)  @ src/lib.rs:8 as choice {
                    "(0 | 1)" {
                      %number_2 = host.binary["+"](size_3, 10) : rust<i64>  @ src/lib.rs:9 as number
                      %some = host.some(%number_2) : option<rust<i64>>  @ src/lib.rs:8 as choice
                      yield %some, size_3, true  @ src/lib.rs:8 as yield
                    }
                    "_" {
                      %size_4 = host.binary["/"](size_3, 2) : rust<i64>  @ src/lib.rs:10 as number
                      yield fx_broken_1, %size_4, stopped_1  @ src/lib.rs:8 as yield
                    }
                  }
                  %fx_broken_2 = tuple_get[0](%choice) : option<rust<i64>>  @ src/lib.rs:8 as choice_0
                  %size_5 = tuple_get[1](%choice) : rust<i64>  @ src/lib.rs:8 as choice_1
                  %stopped_2 = tuple_get[2](%choice) : rust<bool>  @ src/lib.rs:8 as choice_2
                  yield %fx_broken_2, %size_5, %stopped_2  @ src/lib.rs:7 as yield
                } else {
                  yield fx_broken_1, size_3, stopped_1  @ src/lib.rs:7 as yield
                }
                %fx_broken_3 = tuple_get[0](%branch) : option<rust<i64>>  @ src/lib.rs:7 as branch_0
                %size_6 = tuple_get[1](%branch) : rust<i64>  @ src/lib.rs:7 as branch_1
                %stopped_3 = tuple_get[2](%branch) : rust<bool>  @ src/lib.rs:7 as branch_2
                yield %fx_broken_3, %size_6, %stopped_3  @ src/lib.rs:7 as yield
              }
              %fx_broken_4 = tuple_get[0](%each) : option<rust<i64>>  @ src/lib.rs:7 as each_0
              %size_7 = tuple_get[1](%each) : rust<i64>  @ src/lib.rs:7 as each_1
              %stopped_4 = tuple_get[2](%each) : rust<bool>  @ src/lib.rs:7 as each_2
              %last = match(%fx_broken_4) : rust<i64>  @ src/lib.rs:7 as choice {
                "Some(%0)" (fx_value: rust<i64>  @ src/lib.rs:7 as fx_value) {
                  yield fx_value  @ src/lib.rs:7 as yield
                }
                "None" {
                  %panic = host.panic["internal error: entered unreachable code", io]() : rust<!>  @ src/lib.rs:7 as panic
                  yield %panic  @ src/lib.rs:7 as yield
                }
              }
              %mul = mul.Scalar(xs, %last) : tensor  @ src/lib.rs:13 as mul
              yield %mul  @ src/lib.rs:14 as output
            }"#]],
    );
}

#[test]
fn a_tuple_out_of_a_loop_inside() {
    check(
        r"
use fx_runtime::{Tensor, traceable};

#[traceable]
fn found(xs: &Tensor) -> Tensor {
    let (ys, at) = 'all: loop {
        for t in 0..xs.size()[0] {
            if t == 1 {
                break 'all (xs.get(t), t);
            }
        }
        break (xs.relu(), -1);
    };
    ys * at
}",
        expect![[r#"
            graph found(xs: tensor) {
              %each = while(none, false) : (option<(tensor, rust<i64>)>, rust<bool>)  @ src/lib.rs:6 as each (fx_broken_all: option<?>  @ src/lib.rs:6 as fx_broken_all, stopped: rust<bool>  @ src/lib.rs:6 as stopped) {
                %number = host.not(stopped) : rust<bool>  @ src/lib.rs:6 as number
                yield %number  @ src/lib.rs:6 as yield
              } do (fx_broken_all_1: option<?>  @ src/lib.rs:6 as fx_broken_all, stopped_1: rust<bool>  @ src/lib.rs:6 as stopped) {
                %number_1 = host.not(stopped_1) : rust<bool>  @ src/lib.rs:6 as number
                %branch = if(%number_1) : (option<(tensor, rust<i64>)>, rust<bool>)  @ src/lib.rs:6 as branch {
                  %size = host.method["size"](xs) : list<rust<i64>>  @ src/lib.rs:7 as size
                  %item = host.item(%size, 0) : rust<i64>  @ src/lib.rs:7 as item
                  %range = host.range[".."](0, %item)  @ src/lib.rs:7 as range
                  %each_1 = for["%0 in $0.clone()"](%range, false, fx_broken_all_1, false) : (rust<bool>, option<(tensor, rust<i64>)>, rust<bool>)  @ src/lib.rs:7 as each (t: rust<i64>  @ src/lib.rs:7 as t, all_breaks: rust<bool>  @ src/lib.rs:7 as all_breaks, fx_broken_all_2: option<?>  @ src/lib.rs:7 as fx_broken_all, stopped_2: rust<bool>  @ src/lib.rs:7 as stopped) {
                    %number_2 = host.not(stopped_2) : rust<bool>  @ src/lib.rs:7 as number
                    %branch_1 = if(%number_2) : (rust<bool>, option<(tensor, rust<i64>)>, rust<bool>)  @ src/lib.rs:7 as branch {
                      %test = host.binary["=="](t, 1) : rust<bool>  @ src/lib.rs:8 as test
                      %branch_2 = if(%test) : (rust<bool>, option<(tensor, rust<i64>)>, rust<bool>)  @ src/lib.rs:8 as branch {
                        %get = get(xs, t) : tensor  @ src/lib.rs:9 as get
                        %some = host.some(host.tuple(host.handle(%get), t)) : option<(tensor, rust<i64>)>  @ src/lib.rs:8 as branch
                        yield true, %some, true  @ src/lib.rs:8 as yield
                      } else {
                        yield all_breaks, fx_broken_all_2, stopped_2  @ src/lib.rs:8 as yield
                      }
                      %all_breaks_1 = tuple_get[0](%branch_2) : rust<bool>  @ src/lib.rs:8 as branch_2_0
                      %fx_broken_all_3 = tuple_get[1](%branch_2) : option<(tensor, rust<i64>)>  @ src/lib.rs:8 as branch_2_1
                      %stopped_3 = tuple_get[2](%branch_2) : rust<bool>  @ src/lib.rs:8 as branch_2_2
                      yield %all_breaks_1, %fx_broken_all_3, %stopped_3  @ src/lib.rs:7 as yield
                    } else {
                      yield all_breaks, fx_broken_all_2, stopped_2  @ src/lib.rs:7 as yield
                    }
                    %all_breaks_2 = tuple_get[0](%branch_1) : rust<bool>  @ src/lib.rs:7 as branch_1_0
                    %fx_broken_all_4 = tuple_get[1](%branch_1) : option<(tensor, rust<i64>)>  @ src/lib.rs:7 as branch_1_1
                    %stopped_4 = tuple_get[2](%branch_1) : rust<bool>  @ src/lib.rs:7 as branch_1_2
                    yield %all_breaks_2, %fx_broken_all_4, %stopped_4  @ src/lib.rs:7 as yield
                  }
                  %all_breaks_3 = tuple_get[0](%each_1) : rust<bool>  @ src/lib.rs:7 as each_1_0
                  %fx_broken_all_5 = tuple_get[1](%each_1) : option<(tensor, rust<i64>)>  @ src/lib.rs:7 as each_1_1
                  %stopped_5 = tuple_get[2](%each_1) : rust<bool>  @ src/lib.rs:7 as each_1_2
                  %fx_broken_all_6 = if(%all_breaks_3) : option<(tensor, rust<i64>)>  @ src/lib.rs:7 as branch {
                    yield %fx_broken_all_5  @ src/lib.rs:7 as yield
                  } else {
                    %relu = relu(xs) : tensor  @ src/lib.rs:12 as relu
                    %some_1 = host.some(host.tuple(host.handle(%relu), -1)) : option<(tensor, rust<integer>)>  @ src/lib.rs:7 as branch
                    yield %some_1  @ src/lib.rs:7 as yield
                  }
                  yield %fx_broken_all_6, true  @ src/lib.rs:6 as yield
                } else {
                  yield fx_broken_all_1, stopped_1  @ src/lib.rs:6 as yield
                }
                %fx_broken_all_7 = tuple_get[0](%branch) : option<(tensor, rust<i64>)>  @ src/lib.rs:6 as branch_0
                %stopped_6 = tuple_get[1](%branch) : rust<bool>  @ src/lib.rs:6 as branch_1
                yield %fx_broken_all_7, %stopped_6  @ src/lib.rs:6 as yield
              }
              %fx_broken_all_8 = tuple_get[0](%each) : option<(tensor, rust<i64>)>  @ src/lib.rs:6 as each_0
              %stopped_7 = tuple_get[1](%each) : rust<bool>  @ src/lib.rs:6 as each_1
              %choice = match(%fx_broken_all_8) : (tensor, rust<i64>)  @ src/lib.rs:6 as choice {
                "Some(%0)" (fx_value: (tensor, rust<i64>)  @ src/lib.rs:6 as fx_value) {
                  yield fx_value  @ src/lib.rs:6 as yield
                }
                "None" {
                  %panic = host.panic["internal error: entered unreachable code", io]() : rust<!>  @ src/lib.rs:6 as panic
                  yield %panic  @ src/lib.rs:6 as yield
                }
              }
              %ys = tuple_get[0](%choice) : tensor  @ src/lib.rs:6 as choice_0
              %at = tuple_get[1](%choice) : rust<i64>  @ src/lib.rs:6 as choice_1
              %mul = mul.Scalar(%ys, %at) : tensor  @ src/lib.rs:14 as mul
              yield %mul  @ src/lib.rs:15 as output
            }"#]],
    );
}
