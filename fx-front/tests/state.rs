//! Forwards by `&mut self`: what they write to is read and written in its order.
#![allow(clippy::expect_used, reason = "a test may panic")]
#![allow(clippy::needless_raw_string_hashes, reason = "expectations are written by expect-test")]

mod common;

use common::check;
use expect_test::expect;
use fx_front::{diag::Diagnostics, scan, trace};

#[test]
fn a_write_begins_the_trace_anew() {
    check(
        r"
use fx_runtime::{Module, Tensor, nn, traceable};

#[derive(Module)]
struct Net { part: Part, scale: f64, steps: i64 }

#[derive(Module)]
struct Part { fc: nn::Linear, last: Option<Tensor> }

impl Part {
    fn forward(&mut self, xs: &Tensor) -> Tensor {
        let ys = self.fc.forward(xs);
        let last = self.last.replace(ys.shallow_clone());
        match last { Some(last) => ys + last, None => ys }
    }
}

#[traceable]
impl Net {
    fn forward(&mut self, xs: &Tensor) -> Tensor {
        let before = self.steps;
        self.steps += 1;
        self.part.forward(xs) * self.scale * self.steps * before
    }
}",
        expect![[r#"
            graph Net(self: module<crate::Net>, xs: tensor) {
              %steps = get_attr[steps](self) : rust<i64>  @ src/lib.rs:21 as steps in Net
              %steps_1 = host.cell["i64"](%steps) : rust<::fx_runtime::frozen::StateCell<i64>>  @ src/lib.rs:21 as steps in Net
              %before = host.use[state](host.deref(host.lock(%steps_1))) : rust<i64>  @ src/lib.rs:21 as steps in Net
              %steps_3 = get_attr[steps](self) : rust<i64>  @ src/lib.rs:22 as steps in Net
              %steps_4 = host.cell["i64"](%steps_3) : rust<::fx_runtime::frozen::StateCell<i64>>  @ src/lib.rs:22 as steps in Net
              %kept = host.assign_op["+=", state](host.deref(host.lock(%steps_4)), 1) : ()  @ src/lib.rs:22 as kept in Net
              %part = get_attr[part](self) : module<crate::Part>  @ src/lib.rs:23 as part in Net
              %fc = get_attr[fc](%part) : module<Linear>  @ src/lib.rs:12 as part.fc in Net + Part[part]
              %ys = call_module[Linear](%fc, xs) : tensor  @ src/lib.rs:12 as part.fc in Net + Part[part]
              %last_2 = get_attr[last](%part) : option<tensor>  @ src/lib.rs:13 as part.last in Net + Part[part]
              %last_3 = host.cell["Option<::fx_runtime::Tensor>"](%last_2) : rust<::fx_runtime::frozen::StateCell<Option<::fx_runtime::Tensor>>>  @ src/lib.rs:13 as part.last in Net + Part[part]
              %last_4 = host.mutate["replace", state](host.lock(%last_3), host.handle(%ys)) : option<tensor>  @ src/lib.rs:13 as replace in Net + Part[part]
              %choice = match(%last_4) : tensor  @ src/lib.rs:14 as choice in Net + Part[part] {
                "Some(%0)" (last_5: tensor  @ src/lib.rs:14 as last in Net + Part[part]) {
                  %add = add(%ys, last_5) : tensor  @ src/lib.rs:14 as add in Net + Part[part]
                  yield %add  @ src/lib.rs:14 as yield in Net + Part[part]
                }
                "None" {
                  yield %ys  @ src/lib.rs:14 as yield in Net + Part[part]
                }
              }
              %scale = get_attr[scale](self) : rust<f64>  @ src/lib.rs:23 as scale in Net
              %mul = mul.Scalar(%choice, %scale) : tensor  @ src/lib.rs:23 as mul in Net
              %steps_5 = get_attr[steps](self) : rust<i64>  @ src/lib.rs:23 as steps in Net
              %steps_6 = host.cell["i64"](%steps_5) : rust<::fx_runtime::frozen::StateCell<i64>>  @ src/lib.rs:23 as steps in Net
              %steps_7 = host.use[state](host.deref(host.lock(%steps_6))) : rust<i64>  @ src/lib.rs:23 as steps in Net
              %mul_1 = mul.Scalar(%mul, %steps_7) : tensor  @ src/lib.rs:23 as mul in Net
              %mul_2 = mul.Scalar(%mul_1, %before) : tensor  @ src/lib.rs:23 as mul in Net
              yield %mul_2  @ src/lib.rs:24 as output in Net
            }"#]],
    );
}

#[test]
fn code_that_is_not_understood_holds_what_it_writes_to() {
    check(
        r"
use fx_runtime::{Module, Tensor, traceable};

#[derive(Module)]
struct Net { seen: Vec<i64>, names: std::collections::HashMap<i64, Tensor>, scale: f64 }

#[traceable]
impl Net {
    fn forward(&mut self, xs: &Tensor) -> Tensor {
        self.seen.retain(|one| *one as f64 > self.scale);
        self.names.insert(1, xs.shallow_clone());
        xs * self.scale
    }
}",
        expect![[r#"
            graph Net(self: module<crate::Net>, xs: tensor) {
              %scale_1 = get_attr[scale](self) : rust<f64>  @ src/lib.rs:10 as scale in Net
              %seen_4 = get_attr[seen](self) : list<rust<i64>>  @ src/lib.rs:10 as seen in Net
              %seen_5 = host.cell["Vec<i64>"](%seen_4) : rust<::fx_runtime::frozen::StateCell<Vec<i64>>>  @ src/lib.rs:10 as seen in Net
              %opaque = rust["{ let _ = (* self_seen) . retain (| one | * one as f64 > (* self_scale)) ; }", block, let self_scale = "&$0", let mut held_seen = "$1.lock()", let self_seen = "&mut *held_seen", io, opaque("the method `retain` of what the forward writes to")](%scale_1, %seen_5) : ()  @ src/lib.rs:10 as opaque in Net
              %names_4 = get_attr[names](self) : rust<::std::collections::HashMap>  @ src/lib.rs:11 as names in Net
              %names_5 = host.foreign_cell["::std::collections::HashMap<i64, ::fx_runtime::Tensor>", "names"](%names_4) : rust<::fx_runtime::frozen::StateCell<::std::collections::HashMap<i64, ::fx_runtime::Tensor>, ::fx_runtime::frozen::Foreign>>  @ src/lib.rs:11 as names in Net
              %opaque_1 = rust["{ let _ = (* self_names) . insert (1 , xs . shallow_clone ()) ; }", block, let mut xs = "$0", let mut held_names = "$1.lock()", let self_names = "&mut *held_names", io, opaque("the method `insert` of what the forward writes to")](host.ref(xs), %names_5) : ()  @ src/lib.rs:11 as opaque in Net
              %scale_2 = get_attr[scale](self) : rust<f64>  @ src/lib.rs:12 as scale in Net
              %mul = mul.Scalar(xs, %scale_2) : tensor  @ src/lib.rs:12 as mul in Net
              yield %mul  @ src/lib.rs:13 as output in Net
            }src/lib.rs:10: carried along, not understood: the method `retain` of what the forward writes to [FX0008]
              help: written with ops that are known it would be optimised with what stands around it
            src/lib.rs:11: carried along, not understood: the method `insert` of what the forward writes to [FX0008]
              help: written with ops that are known it would be optimised with what stands around it
        "#]],
    );
}

#[test]
fn a_type_of_the_users_own_keeps_its_path() {
    check(
        r"
use fx_runtime::{Module, Tensor, traceable};

pub mod fx {
    #[derive(Clone)]
    pub struct State(pub i64);
}

#[derive(Module)]
struct Net { seen: Vec<fx::State>, scale: f64 }

#[traceable]
impl Net {
    fn forward(&mut self, xs: &Tensor) -> Tensor {
        self.seen.clear();
        xs * self.scale
    }
}",
        expect![[r#"
            graph Net(self: module<crate::Net>, xs: tensor) {
              %seen = get_attr[seen](self) : list<module<crate::fx::State>>  @ src/lib.rs:15 as seen in Net
              %seen_1 = host.foreign_cell["Vec<crate::fx::State>", "seen"](%seen) : rust<::fx_runtime::frozen::StateCell<Vec<crate::fx::State>, ::fx_runtime::frozen::Foreign>>  @ src/lib.rs:15 as seen in Net
              %clear = host.mutate["clear", state](host.lock(%seen_1)) : ()  @ src/lib.rs:15 as clear in Net
              %scale = get_attr[scale](self) : rust<f64>  @ src/lib.rs:16 as scale in Net
              %mul = mul.Scalar(xs, %scale) : tensor  @ src/lib.rs:16 as mul in Net
              yield %mul  @ src/lib.rs:17 as output in Net
            }"#]],
    );
}

#[test]
fn a_copy_of_what_is_written_to_elsewhere_is_refused() {
    let diags = Diagnostics::new();
    let index = scan::text(
        r#"
use fx_runtime::{Module, Tensor, nn, traceable};

#[derive(Module)]
struct Net { part: Part }

#[derive(Module)]
struct Part { fc: nn::Linear, calls: i64 }

impl Part {
    fn forward(&mut self, xs: &Tensor) -> Tensor {
        self.calls += 1;
        self.fc.forward(xs)
    }

    fn name(&self) -> String {
        format!("{}", self.calls)
    }
}

#[traceable]
impl Net {
    fn forward(&mut self, xs: &Tensor) -> Tensor {
        let ys = self.part.forward(xs);
        let calls: i64 = self.part.name().parse().unwrap();
        ys + calls
    }
}"#,
        &diags,
    );
    let item = index.fns.iter().position(|function| function.key.is_some()).expect("an entry");
    let left = trace::item(&index, item, &diags).left.expect("no frozen type").diagnostic(&index.fns[item]);
    expect!["`Net` gets no frozen type and stays as it is: `forward` takes `&mut self`, and its writes cannot be followed: src/lib.rs:25: the method `unwrap`; the code would have a copy of `part`, which other code writes to"].assert_eq(&left.message);
}
