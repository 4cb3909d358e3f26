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
                #[inline]
                fn type_name(&self) -> &'static str {
                    "Head"
                }
                #[inline]
                #[allow(unused)]
                fn visit<'fx>(&'fx self, visitor: &mut dyn ::fx_runtime::module::Visitor<'fx>) {
                    use ::fx_runtime::module::probe::{ViaField as _, VisitNothing as _};
                    (&&&::fx_runtime::module::probe::Probe(&self.fc)).visit("classifier.0", visitor);
                    visitor.tensor("mean", &self.mean, ::fx_runtime::module::Role::Buffer);
                    if let ::core::option::Option::Some(tensor) = &self.scale {
                        visitor.tensor("scale", tensor, ::fx_runtime::module::Role::Parameter);
                    }
                }
                #[inline]
                #[allow(unused)]
                fn placed(
                    &self,
                    place: &mut ::fx_runtime::module::Place<'_>,
                ) -> ::core::result::Result<Self, ::fx_runtime::Error> {
                    use ::fx_runtime::module::probe::{
                        CloneNothing as _, ViaClone as _, ViaField as _, ViaLock as _,
                    };
                    ::core::result::Result::Ok(Self {
                        fc: (&&&::fx_runtime::module::probe::Probe(&self.fc)).place_as("fc", place)?,
                        mean: (&&&::fx_runtime::module::probe::Probe(&self.mean))
                            .place_as("mean", place)?,
                        scale: (&&&::fx_runtime::module::probe::Probe(&self.scale))
                            .place_as("scale", place)?,
                        r#in: *&self.r#in,
                    })
                }
            }
            ::fx_runtime::register_module!(Head);
            #[automatically_derived]
            #[allow(unused)]
            impl ::fx_runtime::frozen::State for Head {
                #[inline]
                fn save(&self, to: &mut ::fx_runtime::frozen::Saver) -> ::fx_runtime::Result<()> {
                    use ::fx_runtime::frozen::own::{Otherwise as _, ViaState as _};
                    (&&::fx_runtime::frozen::own::OfType::<nn::Linear>::new())
                        .save_field("fc", &self.fc, to)?;
                    (&&::fx_runtime::frozen::own::OfType::<Tensor>::new())
                        .save_field("mean", &self.mean, to)?;
                    (&&::fx_runtime::frozen::own::OfType::<Option<Tensor>>::new())
                        .save_field("scale", &self.scale, to)?;
                    to.field("in", &self.r#in)?;
                    ::core::result::Result::Ok(())
                }
                #[inline]
                fn load(from: &mut ::fx_runtime::frozen::Loader) -> ::fx_runtime::Result<Self> {
                    use ::fx_runtime::frozen::own::{Otherwise as _, ViaState as _};
                    ::core::result::Result::Ok(Self {
                        fc: (&&::fx_runtime::frozen::own::OfType::<nn::Linear>::new())
                            .load_field("fc", from)?,
                        mean: (&&::fx_runtime::frozen::own::OfType::<Tensor>::new())
                            .load_field("mean", from)?,
                        scale: (&&::fx_runtime::frozen::own::OfType::<Option<Tensor>>::new())
                            .load_field("scale", from)?,
                        r#in: from.field("in")?,
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
                #[inline]
                fn type_name(&self) -> &'static str {
                    "Residual"
                }
                #[inline]
                #[allow(unused)]
                fn visit<'fx>(&'fx self, visitor: &mut dyn ::fx_runtime::module::Visitor<'fx>) {
                    use ::fx_runtime::module::probe::{ViaField as _, VisitNothing as _};
                    (&&&::fx_runtime::module::probe::Probe(&self.0)).visit("0", visitor);
                    (&&&::fx_runtime::module::probe::Probe(&self.1)).visit("1", visitor);
                    (&&&::fx_runtime::module::probe::Probe(&self.2)).visit("2", visitor);
                    (&&&::fx_runtime::module::probe::Probe(&self.3)).visit("3", visitor);
                    (&&&::fx_runtime::module::probe::Probe(&self.4)).visit("4", visitor);
                }
                #[inline]
                #[allow(unused)]
                fn placed(
                    &self,
                    place: &mut ::fx_runtime::module::Place<'_>,
                ) -> ::core::result::Result<Self, ::fx_runtime::Error> {
                    use ::fx_runtime::module::probe::{
                        CloneNothing as _, ViaClone as _, ViaField as _, ViaLock as _,
                    };
                    ::core::result::Result::Ok(Self {
                        0: (&&&::fx_runtime::module::probe::Probe(&self.0)).place_as("0", place)?,
                        1: (&&&::fx_runtime::module::probe::Probe(&self.1)).place_as("1", place)?,
                        2: (&&&::fx_runtime::module::probe::Probe(&self.2)).place_as("2", place)?,
                        3: (&&&::fx_runtime::module::probe::Probe(&self.3)).place_as("3", place)?,
                        4: (&&&::fx_runtime::module::probe::Probe(&self.4)).place_as("4", place)?,
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
                #[inline]
                fn type_name(&self) -> &'static str {
                    "Mish"
                }
                #[inline]
                #[allow(unused)]
                fn visit<'fx>(&'fx self, visitor: &mut dyn ::fx_runtime::module::Visitor<'fx>) {
                    use ::fx_runtime::module::probe::{ViaField as _, VisitNothing as _};
                }
                #[inline]
                #[allow(unused)]
                fn placed(
                    &self,
                    place: &mut ::fx_runtime::module::Place<'_>,
                ) -> ::core::result::Result<Self, ::fx_runtime::Error> {
                    use ::fx_runtime::module::probe::{
                        CloneNothing as _, ViaClone as _, ViaField as _, ViaLock as _,
                    };
                    ::core::result::Result::Ok(Self {})
                }
            }
            ::fx_runtime::register_module!(Mish);
            #[automatically_derived]
            #[allow(unused)]
            impl ::fx_runtime::frozen::State for Mish {
                #[inline]
                fn save(&self, to: &mut ::fx_runtime::frozen::Saver) -> ::fx_runtime::Result<()> {
                    use ::fx_runtime::frozen::own::{Otherwise as _, ViaState as _};
                    ::core::result::Result::Ok(())
                }
                #[inline]
                fn load(from: &mut ::fx_runtime::frozen::Loader) -> ::fx_runtime::Result<Self> {
                    use ::fx_runtime::frozen::own::{Otherwise as _, ViaState as _};
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
                #[inline]
                fn type_name(&self) -> &'static str {
                    "Proj"
                }
                #[inline]
                #[allow(unused)]
                fn visit<'fx>(&'fx self, visitor: &mut dyn ::fx_runtime::module::Visitor<'fx>) {
                    use ::fx_runtime::module::probe::{ViaField as _, VisitNothing as _};
                    match *self {
                        Self::Conv { 0: ref field_0 } => {
                            let visitor = &mut ::fx_runtime::module::Through(visitor);
                            (&&&::fx_runtime::module::probe::Probe(field_0)).visit("0", visitor);
                        }
                        Self::Pair { 0: ref field_0, 1: ref field_1 } => {
                            (&&&::fx_runtime::module::probe::Probe(field_0)).visit("0", visitor);
                        }
                        Self::Scaled { by: ref field_0, n: ref field_1 } => {
                            (&&&::fx_runtime::module::probe::Probe(field_0)).visit("gamma", visitor);
                        }
                        Self::None {} => {}
                    }
                }
                #[inline]
                #[allow(unused)]
                fn placed(
                    &self,
                    place: &mut ::fx_runtime::module::Place<'_>,
                ) -> ::core::result::Result<Self, ::fx_runtime::Error> {
                    use ::fx_runtime::module::probe::{
                        CloneNothing as _, ViaClone as _, ViaField as _, ViaLock as _,
                    };
                    ::core::result::Result::Ok(
                        match *self {
                            Self::Conv { 0: ref field_0 } => {
                                Self::Conv {
                                    0: (&&&::fx_runtime::module::probe::Probe(field_0))
                                        .place_as("0", place)?,
                                }
                            }
                            Self::Pair { 0: ref field_0, 1: ref field_1 } => {
                                Self::Pair {
                                    0: (&&&::fx_runtime::module::probe::Probe(field_0))
                                        .place_as("0", place)?,
                                    1: *field_1,
                                }
                            }
                            Self::Scaled { by: ref field_0, n: ref field_1 } => {
                                Self::Scaled {
                                    by: (&&&::fx_runtime::module::probe::Probe(field_0))
                                        .place_as("by", place)?,
                                    n: *field_1,
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
