//! Numbers of the user's in carried Rust text: of the same type and value there.

mod common;

use common::check;
use expect_test::expect;

#[test]
fn a_number_keeps_its_type() {
    check(
        r"
use fx_runtime::{traceable, Tensor};

#[traceable]
pub fn f(xs: &Tensor, s: f64) -> Tensor {
    let base: f64 = 10000.0;
    let product: f64 = 2.0 * 3.0;
    let k = 10f64;
    let logs = 10000f64.ln() + 10000.0_f64.ln() + base.ln() + product.sqrt();
    let rest = 1f64 / s.sqrt() + 2f64.powi(-1) + k * s + 0.5 * s;
    let single = 1e-5f32.sqrt();
    xs * logs + rest + single as f64 + (0.1f32 as f64) + 0.1 + 10f64
}
",
        expect![[r#"
            graph f(xs: tensor, s: rust<f64>) {
              %product = host.ascribe["f64"](host.binary["*"](2.0, 3.0)) : rust<f64>  @ src/lib.rs:7 as number
              %ln = host.method["ln"](host.literal["f64"](10000.0)) : rust<f64>  @ src/lib.rs:9 as ln
              %ln_1 = host.method["ln"](host.literal["f64"](10000.0)) : rust<f64>  @ src/lib.rs:9 as ln
              %number_1 = host.binary["+"](%ln, %ln_1) : rust<f64>  @ src/lib.rs:9 as number
              %ln_2 = host.method["ln"](host.literal["f64"](10000.0)) : rust<f64>  @ src/lib.rs:9 as ln
              %number_2 = host.binary["+"](%number_1, %ln_2) : rust<f64>  @ src/lib.rs:9 as number
              %sqrt = host.method["sqrt"](%product) : rust<f64>  @ src/lib.rs:9 as sqrt
              %logs = host.binary["+"](%number_2, %sqrt) : rust<f64>  @ src/lib.rs:9 as number
              %sqrt_1 = host.method["sqrt"](s) : rust<f64>  @ src/lib.rs:10 as sqrt
              %number_4 = host.binary["/"](host.literal["f64"](1.0), %sqrt_1) : rust<f64>  @ src/lib.rs:10 as number
              %powi = host.method["powi"](host.literal["f64"](2.0), -1) : rust<f64>  @ src/lib.rs:10 as powi
              %number_5 = host.binary["+"](%number_4, %powi) : rust<f64>  @ src/lib.rs:10 as number
              %number_6 = host.binary["*"](host.literal["f64"](10.0), s) : rust<f64>  @ src/lib.rs:10 as number
              %number_7 = host.binary["+"](%number_5, %number_6) : rust<f64>  @ src/lib.rs:10 as number
              %number_8 = host.binary["*"](0.5, s) : rust<f64>  @ src/lib.rs:10 as number
              %rest = host.binary["+"](%number_7, %number_8) : rust<f64>  @ src/lib.rs:10 as number
              %single = host.method["sqrt"](host.literal["f32"](9.999999747378752e-6)) : rust<f32>  @ src/lib.rs:11 as sqrt
              %mul = mul.Scalar(xs, %logs) : tensor  @ src/lib.rs:12 as mul
              %add = add.Scalar(%mul, %rest) : tensor  @ src/lib.rs:12 as add
              %cast = host.cast["f64"](%single) : rust<f64>  @ src/lib.rs:12 as cast
              %add_1 = add.Scalar(%add, %cast) : tensor  @ src/lib.rs:12 as add
              %cast_1 = host.cast["f64"](host.literal["f32"](0.10000000149011612)) : rust<f64>  @ src/lib.rs:12 as cast
              %add_2 = add.Scalar(%add_1, %cast_1) : tensor  @ src/lib.rs:12 as add
              %add_3 = add.Scalar(%add_2, 0.1) : tensor  @ src/lib.rs:12 as add
              %add_4 = add.Scalar(%add_3, 10.0) : tensor  @ src/lib.rs:12 as add
              yield %add_4  @ src/lib.rs:13 as output
            }"#]],
    );
}

#[test]
fn a_number_that_a_loop_carries_keeps_its_type() {
    check(
        r"
use fx_runtime::{traceable, Tensor};

#[traceable]
pub fn scaled(xs: &Tensor) -> Tensor {
    let mut n = 2u8;
    let mut m = 3;
    for _ in 0..xs.size()[0] {
        n += 1;
        m += 2;
    }
    xs * n as f64 * m
}
",
        expect![[r#"
            graph scaled(xs: tensor) {
              %size = host.method["size"](xs) : list<rust<i64>>  @ src/lib.rs:8 as size
              %item = host.item(%size, 0) : rust<i64>  @ src/lib.rs:8 as item
              %range = host.range[".."](0, %item)  @ src/lib.rs:8 as range
              %number = host.literal["u8"](2) : rust<u8>  @ src/lib.rs:8 as number
              %each = for["_ in $0.clone()"](%range, 3, %number) : (rust<integer>, rust<u8>)  @ src/lib.rs:8 as each (m: rust<integer>  @ src/lib.rs:8 as m, n: rust<u8>  @ src/lib.rs:8 as n) {
                %n_1 = host.binary["+"](n, 1) : rust<u8>  @ src/lib.rs:9 as number
                %m_1 = host.binary["+"](m, 2) : rust<integer>  @ src/lib.rs:10 as number
                yield %m_1, %n_1  @ src/lib.rs:8 as yield
              }
              %m_2 = tuple_get[0](%each) : rust<integer>  @ src/lib.rs:8 as each_0
              %n_2 = tuple_get[1](%each) : rust<u8>  @ src/lib.rs:8 as each_1
              %cast = host.cast["f64"](%n_2) : rust<f64>  @ src/lib.rs:12 as cast
              %mul = mul.Scalar(xs, %cast) : tensor  @ src/lib.rs:12 as mul
              %mul_1 = mul.Scalar(%mul, %m_2) : tensor  @ src/lib.rs:12 as mul
              yield %mul_1  @ src/lib.rs:13 as output
            }"#]],
    );
}
