//! Which instances a source has, told in source and read in a list.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use crate::{diag::Diagnostics, scan};

/// The instances of a source, each with its fields and functions.
fn check(source: &str, expected: &Expect) {
    let index = scan::text(&format!("use fx_runtime::{{nn, Tensor}};\n{source}"), &Diagnostics::new());
    let mut all = String::new();
    for (id, _) in index.instances() {
        let item = &index.structs[id];
        let _ = write!(all, "{}:", item.path());
        for field in &item.fields {
            let _ = write!(all, " {}: {:?}", field.name, index.field_ty(id, field));
        }
        let is_own = |function: &&crate::index::Function| {
            let owner = function.owner.as_ref().map(|owner| index.ty(&function.module, None, owner));
            owner == Some(crate::index::Ty::Struct(id))
        };
        for function in index.fns.iter().filter(is_own) {
            let _ = write!(all, " fn {}", function.sig.ident);
        }
        all.push('\n');
    }
    expected.assert_eq(&all);
}

const NET: &str = "
struct Basic { fc: nn::Linear }
impl Basic { fn new(p: &nn::Path) -> Self { Basic { fc: nn::linear(p, 1, 1, Default::default()) } } }
struct Net<B> { block: B }
impl<B: Block> Net<B> {
    fn new(block: B) -> Self { Net { block } }
    fn forward(&self, xs: &Tensor) -> Tensor { self.block.run(xs) }
}
";

#[test]
fn an_instance_is_where_a_type_is_written() {
    let found = expect![[r"
        crate::Net<crate::Basic>: block: Struct(0) fn new fn forward
    "]];
    for user in [
        "struct Uses { net: Net<Basic> }",
        "struct Uses { nets: Vec<Option<Net<Basic>>> }",
        "fn make(p: &nn::Path) -> Net<Basic> { todo!() }",
        "fn make(p: &nn::Path) { let net: Net<Basic> = make(); }",
        "fn make(p: &nn::Path) { let net = Net::<Basic>::new(f()); }",
        "type Small = Net<Basic>;",
        "enum Any { Small(Net<Basic>), Other }",
        "fn make(p: &nn::Path) { let net = Net::new(Basic::new(p)); }",
        "fn make(p: &nn::Path) { let block = Basic::new(p); let net = Net { block: block }; }",
        "fn make<T>(p: &nn::Path, block: Basic) { f::<Net<T>>(); let net = Net::new(block); }",
        "mod m { use super::*; use crate::Basic as B; fn make() -> Net<B> { todo!() } }",
    ] {
        check(&format!("{NET}{user}"), &found);
    }
}

#[test]
fn layers_constants_defaults_and_nested_instances() {
    check(
        &format!(
            "{NET}
             struct Stack<B, const N: usize = 2> {{ nets: [Net<B>; N] }}
             impl<T, const M: usize> Stack<T, M> {{ fn depth(&self) -> usize {{ M }} }}
             impl Stack<nn::Linear> {{ fn only(&self) {{}} }}
             impl<T> Stack<T, 3> {{ fn three(&self) {{}} }}
             fn make(p: &nn::Path, a: Stack<nn::Linear>, b: Stack<Basic, 3>) {{}}"
        ),
        &expect![[r#"
            crate::Stack<::fx_runtime::nn::Linear, 2>: nets: List(Struct(5)) fn only fn depth
            crate::Stack<crate::Basic, 3>: nets: List(Struct(6)) fn depth fn three
            crate::Net<::fx_runtime::nn::Linear>: block: Leaf("Linear") fn new fn forward
            crate::Net<crate::Basic>: block: Struct(0) fn new fn forward
        "#]],
    );
}

#[test]
fn what_has_no_full_path_makes_no_instance() {
    check(
        &format!(
            "{NET}
             fn make<T>(a: Net<T>, b: Net<&'static Basic>, c: Net<Box<dyn nn::Module>>, d: Net<Unheard>) {{}}
             struct Deep<T> {{ inner: Option<Box<Deep<Vec<T>>>> }}"
        ),
        &expect![""],
    );
}

#[test]
fn a_type_that_holds_itself_with_longer_arguments_comes_to_an_end() {
    let source = "struct Deep<T> { inner: Option<Box<Deep<Vec<T>>>> } struct Uses { deep: Deep<i64> }";
    let index = scan::text(source, &Diagnostics::new());
    // `Deep<i64>`, and one for each depth.
    assert_eq!(index.instances().count(), 1 + super::DEPTH);
}
