//! Paths to items, spelled so that they mean the same where generated code stands.

use quote::ToTokens;
use syn::spanned::Spanned;

use crate::index::{AssociatedConstant, Name, Resolved, Ty, is_visible};
use crate::syntax::{imported::imported, path_text};
use crate::trace::{Result, Tracer, unsupported};

impl Tracer<'_> {
    /// A path to an item, spelled so that it means the same in the generated code.
    pub(in crate::trace) fn qualified(&self, path: &syn::Path) -> Result<String> {
        let written = path.to_token_stream().to_string().replace(' ', "");
        let text = path_text(path);
        if self.index.names_body_item(path) {
            return unsupported(path.span(), "an item inside a function body, which generated code cannot name");
        }
        if let Some(known) = self.associated_constant(path) {
            if !is_visible(known.scope.as_ref(), self.home()) {
                return unsupported(path.span(), format!("`{text}` is private to its module"));
            }
            if let Some(spelled) = self.constant_of_trait(known) {
                return Ok(spelled);
            }
        }
        if path.segments.first().is_some_and(|first| first.ident == "Self") {
            let owner = self.function().owner.as_ref().map(|owner| self.index.ty(self.module(), None, owner));
            let spelled = owner.as_ref().and_then(|owner| self.spelling(owner));
            return match spelled {
                // `<Dense<6>>::GAIN`: without the brackets `<` would compare.
                Some(spelled) if spelled.contains('<') => Ok(written.replacen("Self", &format!("<{spelled}>"), 1)),
                Some(spelled) => Ok(written.replacen("Self", &spelled, 1)),
                None => unsupported(path.span(), format!("the meaning of `{text}` is not known")),
            };
        }
        let (module, text) = begin_of(self.module(), &text);
        // `Kind::Float`: what the first segments name decides.
        let (head, tail) = text.split_once("::").map_or((text, ""), |(head, tail)| (head, tail));
        let join = |head: String| if tail.is_empty() { head } else { format!("{head}::{tail}") };
        match self.index.resolve(module, head) {
            _ if self.imports(head) => {
                unsupported(path.span(), format!("`{text}`, which a `use` in the body brings in"))
            }
            Resolved::Item(..) if self.is_home() => Ok(written),
            Resolved::Item(module, name, _) => match self.index.path_from(self.home(), &module, &name) {
                Some(path) => Ok(join(path)),
                None => unsupported(path.span(), format!("`{text}` is private to its module")),
            },
            Resolved::External(full) if self.is_home() && (full.contains("::") || self.is_known(head, tail)) => {
                Ok(written)
            }
            Resolved::External(full) if full.starts_with("crate") => Ok(join(full)),
            Resolved::External(full) if full.contains("::") => Ok(join(format!("::{full}"))),
            Resolved::External(_) if self.is_known(head, tail) => Ok(written),
            Resolved::External(_) => unsupported(path.span(), format!("the meaning of `{text}` is not known")),
        }
    }

    /// The constant with its trait of the crate, where generated code has not got that in scope:
    /// `<crate::Net as crate::Scaled>::EPS`.
    fn constant_of_trait(&self, known: &AssociatedConstant) -> Option<String> {
        let Resolved::Item(at, name, _) = self.index.resolve(&known.module, known.of_trait.as_ref()?) else {
            return None;
        };
        if self.index.has_in_scope(self.home(), (&at, &name)) {
            return None;
        }
        let of_trait = self.index.path_from(self.home(), &at, &name)?;
        let owner = self.spelling(&self.index.ty(&known.module, None, &known.of))?;
        Some(format!("<{owner} as {of_trait}>::{}", known.name))
    }

    /// The associated constant that the path names: `Self::EPS`.
    pub(in crate::trace) fn associated_constant(&self, path: &syn::Path) -> Option<&AssociatedConstant> {
        let text = path_text(path);
        let (owner, name) = self.owner_of(&text)?;
        self.index.constant_of(&owner, name)
    }

    /// The type in front of the last name of a path, and that name.
    pub(in crate::trace) fn owner_of<'t>(&self, text: &'t str) -> Option<(Ty, &'t str)> {
        let (head, name) = text.rsplit_once("::")?;
        let owner = match head {
            "Self" => self.function().owner.clone()?,
            head => syn::parse_str::<syn::Type>(head).ok()?,
        };
        Some((self.index.ty(self.module(), None, &owner), name))
    }

    /// The function of the crate that the path names.
    pub(in crate::trace) fn function_of_path(&self, path: &str) -> Option<usize> {
        if let Resolved::Item(_, _, Name::Fn(id)) = self.index.resolve(self.module(), path) {
            return Some(id);
        }
        let (head, name) = path.rsplit_once("::")?;
        let owner = match head {
            "Self" => self.function().owner.clone()?,
            head => syn::parse_str(head).ok()?,
        };
        self.index.method(&self.index.ty(self.module(), self.function().owner.as_ref(), &owner), name)
    }

    /// Whether it is a type or constant parameter of the function.
    pub(in crate::trace) fn is_generic(&self, name: &str) -> bool {
        self.function().sig.generics.params.iter().any(|param| match param {
            syn::GenericParam::Type(param) => param.ident == name,
            syn::GenericParam::Const(param) => param.ident == name,
            syn::GenericParam::Lifetime(_) => false,
        })
    }

    /// Whether a `use` in the body of the function names it.
    pub(in crate::trace) fn imports(&self, name: &str) -> bool {
        self.function().block.stmts.iter().any(|stmt| match stmt {
            syn::Stmt::Item(syn::Item::Use(item)) => imported(item).iter().any(|(known, _)| known == name),
            _ => false,
        })
    }

    /// Whether a name that the crate does not declare means the same everywhere: a module, a crate, or of the prelude.
    pub(in crate::trace) fn is_known(&self, head: &str, tail: &str) -> bool {
        let prelude = [
            "Some", "None", "Ok", "Err", "Vec", "String", "Box", "Option", "Result", "i64", "f64", "usize", "i32",
            "f32", "u64", "u8", "bool",
        ];
        let is_module = head.starts_with(|c: char| c.is_lowercase()) && !tail.is_empty();
        let from_glob = self.is_home()
            && !tail.is_empty()
            && self.index.modules.get(self.module()).is_some_and(|module| !module.globs.is_empty());
        !self.is_generic(head) && (prelude.contains(&head) || is_module || from_glob)
    }

    /// Whether the generated code stands in the same module as the function being traced.
    pub(in crate::trace) fn is_home(&self) -> bool {
        self.home() == self.module()
    }

    /// The enum of the crate that `Out::Pair` is a variant of, and what the variant is called.
    pub(in crate::trace) fn enum_of<'t>(&self, text: &'t str) -> Option<(Ty, &'t str)> {
        self.owner_of(text).filter(|(owner, name)| self.is_variant_of(owner, name))
    }

    /// Whether it is the name of a variant of the type.
    pub(in crate::trace) fn is_variant_of(&self, ty: &Ty, name: &str) -> bool {
        self.variants(ty).iter().any(|variant| variant.name == name)
    }

    /// How the type is written in generated code; `None` where that cannot name it.
    pub(in crate::trace) fn spelling(&self, ty: &Ty) -> Option<String> {
        self.index.named_from(self.home(), &self.index.spelling(ty)?)
    }
}

/// The module from which the path goes down, and its way from there: `super::shapes::Wide` is `shapes::Wide` of the module
/// around.
fn begin_of<'p>(module: &'p str, path: &'p str) -> (&'p str, &'p str) {
    match path.split_once("::") {
        Some(("self", rest)) => begin_of(module, rest),
        Some(("super", rest)) => begin_of(module.rsplit_once("::").map_or("crate", |(outer, _)| outer), rest),
        _ => (module, path),
    }
}
