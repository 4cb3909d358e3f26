//! What expansion makes of bodies: source in, source out.

use std::rc::Rc;

use quote::ToTokens;

use super::*;

struct Known(Vec<Rc<MacroRules>>);

impl Macros for Known {
    fn find(&self, path: &syn::Path) -> Option<Rc<MacroRules>> {
        self.0.iter().rev().find(|known| path.is_ident(&known.name)).cloned()
    }
}

/// The body of the last function of the source, with the macros that stand before it.
fn expanded(source: &str) -> String {
    let file: syn::File = syn::parse_str(source).expect("a file");
    let mut known = Known(Vec::new());
    let mut body = String::new();
    for item in file.items {
        match item {
            syn::Item::Macro(item) => known.0.extend(MacroRules::of(&item).map(Rc::new)),
            syn::Item::Fn(mut item) => {
                Body::expand(&known, &item.sig, &mut item.block);
                body = item.block.to_token_stream().to_string();
            }
            _ => {}
        }
    }
    body
}

fn check(source: &str, want: &str) {
    let want: syn::Block = syn::parse_str(want).expect("a block");
    assert_eq!(plain(&expanded(source)), plain(&want.to_token_stream().to_string()), "{source}");
}

/// The tokens without the spaces between them, which tell of nothing.
fn plain(tokens: &str) -> String {
    tokens.replace(' ', "")
}

/// Says that nothing of the body is expanded.
fn stays(source: &str) {
    let file: syn::File = syn::parse_str(source).expect("a file");
    let Some(syn::Item::Fn(item)) = file.items.last() else { panic!("a function") };
    assert_eq!(expanded(source), item.block.to_token_stream().to_string(), "{source}");
}

#[test]
fn fragments_stay_together() {
    check("macro_rules! twice { ($x:expr) => { $x * 2 }; } fn f() { twice!(a + b) - 1 }", "{ ((a + b) * 2) - 1 }");
    check(
        "macro_rules! act { ($x:expr) => { $x.relu() }; } fn f() { g(act!(-a), act!(x.h()?)) }",
        "{ g((-a).relu(), x.h()?.relu()) }",
    );
    check(
        "macro_rules! neg { ($x:literal) => { $x.abs() }; } fn f() { neg!(-1.0) + neg!(2.0) }",
        "{ (-1.0).abs() + 2.0.abs() }",
    );
    check(
        "macro_rules! call { ($f:path, $t:ty, $x:expr) => { $f($x as $t) }; } fn f() { call!(a::b, Vec<i64>, x) }",
        "{ a::b(x as Vec<i64>) }",
    );
    check("macro_rules! of { ($t:ty) => { <$t>::new() }; } fn f() { of!(Vec<i64>) }", "{ <Vec<i64>>::new() }");
    check(
        "macro_rules! say { ($x:expr) => { assert!($x * 2 > 3, \"{}\", $x) }; } fn f() { say!(a + b) }",
        "{ assert!((a + b) * 2 > 3, \"{}\", (a + b)) }",
    );
    check(
        "macro_rules! is { ($x:expr, $p:pat) => { match $x { $p => 1, _ => 2 } }; } fn f() { is!(x, A | B) }",
        "{ match x { (A | B) => 1, _ => 2 } }",
    );
}

#[test]
fn repetitions() {
    let mix = "macro_rules! mix { ($x:expr => $($m:expr),+ $(,)?) => { ($($x * &$m),+) }; }";
    check(
        &format!("{mix} fn f() {{ let (a, b) = mix!(x => self.a, b + c,); }}"),
        "{ let (a, b) = (x * &self.a, x * &(b + c)); }",
    );
    let sum = "macro_rules! sum { ($x:expr) => { $x }; ($x:expr, $($rest:expr),+) => { $x + sum!($($rest),+) }; }";
    check(&format!("{sum} fn f() {{ sum!(a, b * c, d) }}"), "{ a + ((b * c) + d) }");
    let nested = "macro_rules! all { ($($k:ident: [$($v:expr),*]);*) => { vec![$(g($k, [$($v),*])),*] }; }";
    check(&format!("{nested} fn f() {{ all!(a: [1, 2]; b: []) }}"), "{ vec![g(a, [1, 2]), g(b, [])] }");
    let opt = "macro_rules! opt { ($x:expr $(, $s:literal)?) => { g($x $(, $s)?) }; }";
    check(&format!("{opt} fn f() {{ opt!(x) + opt!(x, 3) }}"), "{ g(x) + g(x, 3) }");
    let chain = "macro_rules! chain { ($x:expr $(=> $m:ident($($a:expr),*))*) => { $x$(.$m($($a),*))* }; }";
    check(&format!("{chain} fn f() {{ chain!(x => relu() => apply(&self.fc)) }}"), "{ x.relu().apply(&self.fc) }");
}

#[test]
fn variables_of_the_macro_are_its_own() {
    let act = "macro_rules! act { ($x:expr) => {{ let h = $x; let h = h.relu(); h + S { h }.h }}; }";
    check(
        &format!("{act} fn f(h: T) {{ act!(h * 2) }}"),
        "{ { let h_2 = h * 2; let h_2 = h_2.relu(); h_2 + S { h: h_2 }.h } }",
    );
    check(
        &format!("{act} fn f(x: T) {{ let y = act!(x); act!(y) }}"),
        "{ let y = { let h = x; let h = h.relu(); h + S { h: h }.h }; { let h_2 = y; let h_2 = h_2.relu(); h_2 + S { h: h_2 }.h } }",
    );
    let bind = "macro_rules! bind { ($n:ident, $x:expr) => { let t = $x; let $n = t.relu(); }; }";
    check(&format!("{bind} fn f(t: T) {{ bind!(y, t); y + t }}"), "{ let t_2 = t; let y = t_2.relu(); y + t }");
    let swap = "macro_rules! first { ($a:expr, $b:expr) => {{ let (a, b) = ($a, $b); if let Some(a) = a { a } else { b } }}; }";
    check(
        &format!("{swap} fn f(a: T, b: T) {{ first!(b, a) }}"),
        "{ { let (a_2, b_2) = (b, a); if let Some(a_2) = a_2 { a_2 } else { b_2 } } }",
    );
    let outer = "macro_rules! each { ($x:expr, $b:block) => { 'o: for i in $x { if i > 1 { break 'o; } $b } }; }";
    check(
        &format!("{outer} fn f(i: T) {{ 'o: loop {{ each!(xs, {{ g(i); break 'o; }}) }} }}"),
        "{ 'o: loop { 'o_2: for i_2 in xs { if i_2 > 1 { break 'o_2; } { g(i); break 'o; } } } }",
    );
    let closure = "macro_rules! mapped { ($x:expr, $f:expr) => { $x.map(|v| $f(v, vec![v; 2])) }; }";
    check(&format!("{closure} fn f(v: T) {{ mapped!(v, g) }}"), "{ v.map(|v_2| g(v_2, vec![v_2; 2])) }");
    // The function of that name, not the variable, is what the first mention means.
    let own = "macro_rules! m { ($x:expr) => {{ let n = n($x); n + 1 }}; }";
    check(&format!("{own} fn f() {{ m!(x) + a.n }}"), "{ ({ let n_2 = n(x); n_2 + 1 }) + a.n }");
    stays(&format!("{own} fn f(n: T) {{ m!(x) }}"));
}

#[test]
fn what_a_variable_of_the_caller_would_hide_stays() {
    let norm = "macro_rules! normed { ($x:expr) => { norm($x) }; }";
    check(&format!("{norm} fn f(x: T) {{ normed!(x) }}"), "{ norm(x) }");
    stays(&format!("{norm} fn f(x: T) {{ let norm = |x| x; normed!(x) }}"));
    let shown = "macro_rules! shown { ($x:expr) => {{ let n = $x; println!(\"{n}\"); n }}; }";
    stays(&format!("{shown} fn f(x: T) {{ shown!(x) }}"));
}

#[test]
fn macros_of_the_body() {
    check(
        "fn f(x: T) { let s = 2.0; macro_rules! scaled { ($x:expr) => { $x * s }; } scaled!(x) + scaled!(x + 1) }",
        "{ let s = 2.0; (x * s) + ((x + 1) * s) }",
    );
    stays("fn f(x: T) { let s = 2.0; macro_rules! scaled { ($x:expr) => { $x * s }; } let s = 3.0; scaled!(x) }");
    // The function of that name is what the macro means: the variable comes behind it.
    let act = "macro_rules! act { ($x:expr) => { g($x) }; }";
    stays(&format!("fn f(x: T) {{ {act} let g = |x| x; act!(x) + g(x) }}"));
    stays(&format!("fn f(x: T) {{ {{ let g = 1; }} {act} act!(x) }}"));
    check(&format!("fn f(g: F, x: T) {{ {act} act!(x) }}"), "{ g(x) }");
    stays(&format!("fn f(x: T) {{ {act} vec![{{ let g = |x| x; act!(x) }}] }}"));
}

#[test]
fn the_first_rule_that_fits() {
    let act = "macro_rules! act { (relu $x:expr) => { $x.relu() }; (@ $x:tt) => { $x.tanh() }; ($x:expr, leaky) => { $x.leaky() }; }";
    check(
        &format!("{act} fn f() {{ act!(relu x); act!(@ (x + y)); act!(x, leaky) }}"),
        "{ x.relu(); (x + y).tanh(); x.leaky() }",
    );
    // What is handed on as an expression is no identifier any more.
    let kind = "macro_rules! kind { ($i:ident) => { one($i) }; ($e:expr) => { two($e) }; }
                macro_rules! through { ($e:expr) => { kind!($e) }; ($($t:tt)*) => { kind!($($t)*) }; }";
    check(&format!("{kind} fn f() {{ through!(x); kind!(x) }}"), "{ two(x); one(x) }");
    check(
        "macro_rules! le { ($a:ident <= $b:ident) => { 1 }; ($a:ident < = $b:ident) => { 2 }; } fn f() { le!(a <= b) }",
        "{ 1 }",
    );
}

#[test]
fn statements() {
    let each = "macro_rules! each { ($($x:expr),*) => { $(g($x);)* }; }";
    check(&format!("{each} fn f() {{ each!(a, b); c }}"), "{ g(a); g(b); c }");
    check("macro_rules! v { ($x:expr) => { let a = $x; a + 1 }; } fn f() { v!(x) }", "{ let a = x; a + 1 }");
    check(
        "macro_rules! v { ($x:expr) => { $x.relu_() }; } fn f() { v!(x); v! { y } z }",
        "{ x.relu_(); y.relu_(); z }",
    );
    check(
        "macro_rules! q { ($x:expr) => { match $x { Some(v) => v, None => return 0 } }; } fn f() { q!(x) + 1 }",
        "{ (match x { Some(v) => v, None => return 0 }) + 1 }",
    );
}

#[test]
fn what_is_not_simple_stays() {
    stays("macro_rules! make { ($n:ident) => { struct $n; }; } fn f() { make!(A); 1 }");
    stays("macro_rules! text { ($x:expr) => { stringify!($x) }; } fn f() { text!(a) }");
    stays("macro_rules! item { ($i:item) => { $i }; } fn f() { item!(struct A;); }");
    stays("macro_rules! for_ever { ($x:expr) => { for_ever!($x) }; } fn f() { other!(a) }");
}
