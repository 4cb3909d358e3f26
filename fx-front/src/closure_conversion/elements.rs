//! The types of what loops and closures of a builder function are given: `for (i, &(width, act)) in table.iter().enumerate()`.

use syn::{Expr, Type, parse_quote};

use super::{
    Lowering, Site,
    locals::{Locals, declare},
    type_facts::{is_bare_number, listed, unreferenced},
};

impl Lowering<'_> {
    /// Declares what the pattern of a loop over the expression binds.
    pub(super) fn declare_element(&mut self, site: &Site<'_>, pat: &syn::Pat, over: &Expr, locals: &mut Locals) {
        let element = self.element(site, over, locals);
        declare(pat, element.as_ref(), locals);
    }

    /// The position and the type of the parameter of a closure, given to this method, that is an element of what the method
    /// goes over.
    pub(super) fn element_param(
        &mut self,
        site: &Site<'_>,
        call: &syn::ExprMethodCall,
        locals: &Locals,
    ) -> Option<(usize, Type)> {
        let position = match call.method.to_string().as_str() {
            "map" | "for_each" | "flat_map" => 0,
            "fold" => 1,
            _ => return None,
        };
        Some((position, self.element(site, &call.receiver, locals)?))
    }

    /// The type of the elements that an expression gives one by one.
    fn element(&mut self, site: &Site<'_>, over: &Expr, locals: &Locals) -> Option<Type> {
        match over {
            Expr::Paren(inner) => self.element(site, &inner.expr, locals),
            Expr::Range(range) => {
                let mut ends = [&range.start, &range.end].into_iter().flatten().filter(|end| !is_bare_number(end));
                self.infer(site, ends.next()?, locals)
            }
            Expr::MethodCall(call) => {
                let receiver = &call.receiver;
                match (call.method.to_string().as_str(), call.args.first()) {
                    ("iter", None) => self.listed_by(site, &parse_quote!(&(#receiver)), locals),
                    ("copied" | "cloned", None) => Some(unreferenced(self.element(site, receiver, locals)?)),
                    ("into_iter" | "rev", None) | ("skip" | "take" | "step_by", Some(_)) => {
                        self.element(site, receiver, locals)
                    }
                    ("enumerate", None) => {
                        let inner = self.element(site, receiver, locals);
                        let inner = inner.unwrap_or_else(|| parse_quote!(_));
                        Some(parse_quote!((usize, #inner)))
                    }
                    ("zip", Some(other)) => {
                        let sides = [receiver, other].map(|side| self.element(site, side, locals));
                        let [left, right] = sides.map(|side| side.unwrap_or_else(|| parse_quote!(_)));
                        Some(parse_quote!((#left, #right)))
                    }
                    _ => self.listed_by(site, over, locals),
                }
            }
            other => self.listed_by(site, other, locals),
        }
    }

    /// The type of the elements of a list, by reference where the list is one.
    fn listed_by(&mut self, site: &Site<'_>, list: &Expr, locals: &Locals) -> Option<Type> {
        let list = self.infer(site, list, locals)?;
        let element = listed(&list)?.clone();
        Some(if matches!(list, Type::Reference(_)) { parse_quote!(&#element) } else { element })
    }
}
