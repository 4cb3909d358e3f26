//! Tests of the derive: what it expands to, as text.

use expect_test::{Expect, expect};

use super::expand;

fn check(item: &str, want: &Expect) {
    let file = syn::parse2(expand(item.parse().expect("tokens"))).expect("items");
    want.assert_eq(&prettyplease::unparse(&file));
}

#[test]
fn named_fields() {
    check(
        r#"struct Head {
            #[module(name = "classifier.0")] fc: nn::Linear,
            #[module(buffer)] mean: Tensor,
            #[module(parameter)] scale: Option<Tensor>,
            #[module(skip)] r#in: i64,
        }"#,
        &expect![[r#"
            #[automatically_derived]
            impl ::fx_runtime::Module for Head {
                fn type_name(&self) -> &'static str {
                    "Head"
                }
                #[allow(unused_variables)]
                #[inline]
                fn visit<'fx>(&'fx self, visitor: &mut dyn ::fx_runtime::module::Visitor<'fx>) {
                    ::fx_runtime::module::visit_field!(visitor, "classifier.0", & self.fc);
                    visitor.tensor("mean", &self.mean, ::fx_runtime::module::Role::Buffer);
                    if let ::core::option::Option::Some(tensor) = &self.scale {
                        visitor.tensor("scale", tensor, ::fx_runtime::module::Role::Parameter);
                    }
                }
                #[allow(unused_variables)]
                #[inline]
                fn placed(
                    &self,
                    place: &mut ::fx_runtime::module::Place<'_>,
                ) -> ::core::result::Result<Self, ::fx_runtime::Error> {
                    ::core::result::Result::Ok(Self {
                        fc: ::fx_runtime::module::place_field!("fc", & self.fc, place)?,
                        mean: ::fx_runtime::module::place_field!("mean", & self.mean, place)?,
                        scale: ::fx_runtime::module::place_field!("scale", & self.scale, place)?,
                        r#in: ::fx_runtime::module::place_field!("in", & self.r#in, place)?,
                    })
                }
            }
            ::fx_runtime::register_module!(Head);
            #[automatically_derived]
            #[allow(unused_variables)]
            impl ::fx_runtime::frozen::State for Head {
                #[inline]
                fn save(&self, to: &mut ::fx_runtime::frozen::Saver) -> ::fx_runtime::Result<()> {
                    to.within("fc", |to| ::fx_runtime::save_own!(to, nn::Linear, & self.fc))?;
                    to.within("mean", |to| ::fx_runtime::save_own!(to, Tensor, & self.mean))?;
                    to.within(
                        "scale",
                        |to| ::fx_runtime::save_own!(to, Option < Tensor >, & self.scale),
                    )?;
                    to.within("in", |to| ::fx_runtime::save_own!(to, i64, & self.r#in))?;
                    ::core::result::Result::Ok(())
                }
                #[inline]
                fn load(from: &mut ::fx_runtime::frozen::Loader) -> ::fx_runtime::Result<Self> {
                    ::core::result::Result::Ok(Self {
                        fc: from.within("fc", |from| ::fx_runtime::load_own!(from, nn::Linear))?,
                        mean: from.within("mean", |from| ::fx_runtime::load_own!(from, Tensor))?,
                        scale: from
                            .within(
                                "scale",
                                |from| ::fx_runtime::load_own!(from, Option < Tensor >),
                            )?,
                        r#in: from.within("in", |from| ::fx_runtime::load_own!(from, i64))?,
                    })
                }
            }
            #[automatically_derived]
            #[allow(dead_code, private_interfaces, non_snake_case)]
            impl Head {
                #[doc(hidden)]
                #[inline]
                pub(crate) fn fx_fc(&self) -> &nn::Linear {
                    &self.fc
                }
                #[doc(hidden)]
                #[inline]
                pub(crate) fn fx_mean(&self) -> &Tensor {
                    &self.mean
                }
                #[doc(hidden)]
                #[inline]
                pub(crate) fn fx_scale(&self) -> &Option<Tensor> {
                    &self.scale
                }
                #[doc(hidden)]
                #[inline]
                pub(crate) fn fx_in(&self) -> &i64 {
                    &self.r#in
                }
            }
        "#]],
    );
}

#[test]
fn generic_and_tuple_structs() {
    check(
        "struct Residual<'a, M: Debug, P>(Block<P, M>, Vec<Option<M>>, &'a Config<P>, Box<M::Gate>, Rc<P>) where P: Clone;",
        &expect![[r#"
            #[automatically_derived]
            impl<'a, M: Debug, P> ::fx_runtime::Module for Residual<'a, M, P>
            where
                P: Clone,
                M: ::fx_runtime::module::Field,
                Block<P, M>: ::fx_runtime::module::Field,
                M::Gate: ::fx_runtime::module::Field,
            {
                fn type_name(&self) -> &'static str {
                    "Residual"
                }
                #[allow(unused_variables)]
                #[inline]
                fn visit<'fx>(&'fx self, visitor: &mut dyn ::fx_runtime::module::Visitor<'fx>) {
                    ::fx_runtime::module::visit_field!(visitor, "0", & self.0);
                    ::fx_runtime::module::visit_field!(visitor, "1", & self.1);
                    ::fx_runtime::module::visit_field!(visitor, "2", & self.2);
                    ::fx_runtime::module::visit_field!(visitor, "3", & self.3);
                    ::fx_runtime::module::visit_field!(visitor, "4", & self.4);
                }
                #[allow(unused_variables)]
                #[inline]
                fn placed(
                    &self,
                    place: &mut ::fx_runtime::module::Place<'_>,
                ) -> ::core::result::Result<Self, ::fx_runtime::Error> {
                    ::core::result::Result::Ok(Self {
                        0: ::fx_runtime::module::place_field!("0", & self.0, place)?,
                        1: ::fx_runtime::module::place_field!("1", & self.1, place)?,
                        2: ::fx_runtime::module::place_field!("2", & self.2, place)?,
                        3: ::fx_runtime::module::place_field!("3", & self.3, place)?,
                        4: ::fx_runtime::module::place_field!("4", & self.4, place)?,
                    })
                }
            }
            #[automatically_derived]
            #[allow(dead_code, private_interfaces, non_snake_case)]
            impl<'a, M: Debug, P> Residual<'a, M, P>
            where
                P: Clone,
            {
                #[doc(hidden)]
                #[inline]
                pub(crate) fn fx_0(&self) -> &Block<P, M> {
                    &self.0
                }
                #[doc(hidden)]
                #[inline]
                pub(crate) fn fx_1(&self) -> &Vec<Option<M>> {
                    &self.1
                }
                #[doc(hidden)]
                #[inline]
                pub(crate) fn fx_2(&self) -> &&'a Config<P> {
                    &self.2
                }
                #[doc(hidden)]
                #[inline]
                pub(crate) fn fx_3(&self) -> &Box<M::Gate> {
                    &self.3
                }
                #[doc(hidden)]
                #[inline]
                pub(crate) fn fx_4(&self) -> &Rc<P> {
                    &self.4
                }
            }
        "#]],
    );
}

#[test]
fn unit_structs() {
    check(
        "struct Mish;",
        &expect![[r#"
            #[automatically_derived]
            impl ::fx_runtime::Module for Mish {
                fn type_name(&self) -> &'static str {
                    "Mish"
                }
                #[allow(unused_variables)]
                #[inline]
                fn visit<'fx>(&'fx self, visitor: &mut dyn ::fx_runtime::module::Visitor<'fx>) {}
                #[allow(unused_variables)]
                #[inline]
                fn placed(
                    &self,
                    place: &mut ::fx_runtime::module::Place<'_>,
                ) -> ::core::result::Result<Self, ::fx_runtime::Error> {
                    ::core::result::Result::Ok(Self {})
                }
            }
            ::fx_runtime::register_module!(Mish);
            #[automatically_derived]
            #[allow(unused_variables)]
            impl ::fx_runtime::frozen::State for Mish {
                #[inline]
                fn save(&self, to: &mut ::fx_runtime::frozen::Saver) -> ::fx_runtime::Result<()> {
                    ::core::result::Result::Ok(())
                }
                #[inline]
                fn load(from: &mut ::fx_runtime::frozen::Loader) -> ::fx_runtime::Result<Self> {
                    ::core::result::Result::Ok(Self {})
                }
            }
        "#]],
    );
}

#[test]
fn enums() {
    check(
        r#"enum Proj<M> { Conv(nn::Conv2D), Pair(M, f64), Scaled { #[module(name = "gamma")] by: Tensor, #[module(skip)] n: i64 }, None }"#,
        &expect![[r#"
            #[automatically_derived]
            impl<M> ::fx_runtime::Module for Proj<M>
            where
                M: ::fx_runtime::module::Field,
            {
                fn type_name(&self) -> &'static str {
                    "Proj"
                }
                #[allow(unused_variables)]
                fn visit<'fx>(&'fx self, visitor: &mut dyn ::fx_runtime::module::Visitor<'fx>) {
                    match *self {
                        Self::Conv { 0: ref field_0 } => {
                            let visitor = &mut ::fx_runtime::module::Through(visitor);
                            ::fx_runtime::module::visit_field!(visitor, "0", field_0);
                        }
                        Self::Pair { 0: ref field_0, 1: ref field_1 } => {
                            ::fx_runtime::module::visit_field!(visitor, "0", field_0);
                            ::fx_runtime::module::visit_field!(visitor, "1", field_1);
                        }
                        Self::Scaled { by: ref field_0, n: ref field_1 } => {
                            ::fx_runtime::module::visit_field!(visitor, "gamma", field_0);
                        }
                        Self::None {} => {}
                    }
                }
                #[allow(unused_variables)]
                fn placed(
                    &self,
                    place: &mut ::fx_runtime::module::Place<'_>,
                ) -> ::core::result::Result<Self, ::fx_runtime::Error> {
                    ::core::result::Result::Ok(
                        match *self {
                            Self::Conv { 0: ref field_0 } => {
                                Self::Conv {
                                    0: ::fx_runtime::module::place_field!("0", field_0, place)?,
                                }
                            }
                            Self::Pair { 0: ref field_0, 1: ref field_1 } => {
                                Self::Pair {
                                    0: ::fx_runtime::module::place_field!("0", field_0, place)?,
                                    1: ::fx_runtime::module::place_field!("1", field_1, place)?,
                                }
                            }
                            Self::Scaled { by: ref field_0, n: ref field_1 } => {
                                Self::Scaled {
                                    by: ::fx_runtime::module::place_field!("by", field_0, place)?,
                                    n: ::fx_runtime::module::place_field!("n", field_1, place)?,
                                }
                            }
                            Self::None {} => Self::None {},
                        },
                    )
                }
            }
        "#]],
    );
}
