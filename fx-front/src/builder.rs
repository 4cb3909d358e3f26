//! What a `Sequential` holds, read from the constructor that builds it.
//!
//! A `Sequential` says at run time only that it holds modules. Which ones, its builder says in the source:
//! `nn::seq().add(nn::batch_norm2d(..)).add(nn::conv2d(..))`. What is read here is checked again when a model is
//! frozen, so a builder that is misread is an error with both types named, never a wrong result.

use std::collections::BTreeMap;

use crate::index::{Index, Name, Resolved, Ty, path_text};

/// One step of a chain of layers.
#[derive(Clone, Debug)]
pub enum Layer {
    /// A module of this type.
    Module(Ty),
    /// A closure that needs nothing but its input.
    Closure(syn::ExprClosure),
    /// Modules of this type, any number of them; at most one step of a chain is of this kind.
    Repeat(Ty),
}

/// The layers of the field `field` of a struct, if every constructor agrees on them.
pub fn layers(index: &Index, owner: usize, field: &str) -> Option<Vec<Layer>> {
    let mut found: Option<Vec<Layer>> = None;
    for function in &index.fns {
        let reader = Reader { index, module: &function.module, owner: function.owner.as_ref() };
        let makes = |path: &syn::Path| {
            let text = path_text(path);
            let ty = syn::parse_str::<syn::Type>(&text).ok();
            ty.is_some_and(|ty| index.ty(&function.module, function.owner.as_ref(), &ty) == Ty::Struct(owner))
        };
        for (literal, scope) in literals(&function.block, &makes) {
            let value = literal
                .fields
                .iter()
                .find(|value| matches!(&value.member, syn::Member::Named(name) if name == field))?;
            let chain = reader.chain(&value.expr, &reader.lets(&scope), 8)?;
            if chain.iter().filter(|layer| matches!(layer, Layer::Repeat(_))).count() > 1 {
                return None;
            }
            match &found {
                Some(known) if !agree(known, &chain) => return None,
                _ => found = Some(chain),
            }
        }
    }
    found
}

fn agree(a: &[Layer], b: &[Layer]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| match (a, b) {
            (Layer::Module(a), Layer::Module(b)) | (Layer::Repeat(a), Layer::Repeat(b)) => a == b,
            (Layer::Closure(a), Layer::Closure(b)) => a == b,
            _ => false,
        })
}

/// The struct literals of a function that `makes` accepts, each with the statements of the function.
fn literals(block: &syn::Block, makes: &dyn Fn(&syn::Path) -> bool) -> Vec<(syn::ExprStruct, syn::Block)> {
    struct Find<'m> {
        makes: &'m dyn Fn(&syn::Path) -> bool,
        found: Vec<syn::ExprStruct>,
    }
    impl<'ast> syn::visit::Visit<'ast> for Find<'_> {
        fn visit_expr_struct(&mut self, literal: &'ast syn::ExprStruct) {
            if (self.makes)(&literal.path) {
                self.found.push(literal.clone());
            }
            syn::visit::visit_expr_struct(self, literal);
        }
    }
    let mut find = Find { makes, found: Vec::new() };
    syn::visit::Visit::visit_block(&mut find, block);
    find.found.into_iter().map(|literal| (literal, block.clone())).collect()
}

/// Reads builder expressions of one function.
struct Reader<'a> {
    index: &'a Index,
    module: &'a str,
    owner: Option<&'a syn::Type>,
}

type Chains = BTreeMap<String, Option<Vec<Layer>>>;

impl Reader<'_> {
    /// The chains that the local variables of a function hold at its end.
    fn lets(&self, block: &syn::Block) -> Chains {
        let mut chains = Chains::new();
        self.statements(&block.stmts, &mut chains);
        chains
    }

    fn statements(&self, stmts: &[syn::Stmt], chains: &mut Chains) {
        for stmt in stmts {
            match stmt {
                syn::Stmt::Local(local) => {
                    let (Some(name), Some(init)) = (pattern_name(&local.pat), &local.init) else { continue };
                    let chain = self.chain(&init.expr, chains, 8);
                    chains.insert(name, chain);
                }
                syn::Stmt::Expr(syn::Expr::Assign(assign), _) => {
                    let syn::Expr::Path(path) = &*assign.left else { continue };
                    let chain = self.chain(&assign.right, chains, 8);
                    chains.insert(path_text(&path.path), chain);
                }
                syn::Stmt::Expr(syn::Expr::ForLoop(each), _) => self.some_times(&each.body, chains),
                syn::Stmt::Expr(syn::Expr::If(branch), _) if branch.else_branch.is_none() => {
                    self.some_times(&branch.then_branch, chains);
                }
                syn::Stmt::Expr(
                    syn::Expr::If(_) | syn::Expr::Match(_) | syn::Expr::While(_) | syn::Expr::Loop(_),
                    _,
                ) => {
                    forget_written(stmt, chains);
                }
                _ => {}
            }
        }
    }

    /// A body that runs some times or not at all, and adds layers: those it adds are all of one type.
    fn some_times(&self, body: &syn::Block, chains: &mut Chains) {
        let before = chains.clone();
        self.statements(&body.stmts, chains);
        for (name, old) in before {
            let new = chains.get(&name).cloned().flatten();
            let changed = match (old, new) {
                (Some(old), Some(new)) if new.len() == old.len() && agree(&old, &new) => continue,
                (Some(old), Some(new)) => repeated(old, &new),
                _ => None,
            };
            chains.insert(name, changed);
        }
    }

    fn chain(&self, expr: &syn::Expr, chains: &Chains, fuel: u32) -> Option<Vec<Layer>> {
        match expr {
            syn::Expr::Path(path) => chains.get(&path_text(&path.path)).cloned().flatten(),
            syn::Expr::Paren(inner) => self.chain(&inner.expr, chains, fuel),
            syn::Expr::Try(inner) => self.chain(&inner.expr, chains, fuel),
            syn::Expr::Call(call) if is_some(call) => self.chain(&call.args[0], chains, fuel),
            syn::Expr::Call(call) => self.call(call, fuel),
            // An optional chain: `resized.then(|| seq)`, `if resized { Some(seq) } else { None }`.
            syn::Expr::MethodCall(call) if call.method == "then" => match call.args.first()? {
                syn::Expr::Closure(closure) => self.chain(&closure.body, chains, fuel),
                _ => None,
            },
            syn::Expr::If(branch) => {
                let then = self.tail(&branch.then_branch, chains, fuel)?;
                match &*branch.else_branch.as_ref()?.1 {
                    syn::Expr::Block(other) if is_none(&other.block) => Some(then),
                    syn::Expr::Block(other) => {
                        self.tail(&other.block, chains, fuel).filter(|other| agree(&then, other))
                    }
                    _ => None,
                }
            }
            syn::Expr::Block(block) => self.tail(&block.block, chains, fuel),
            syn::Expr::MethodCall(call) => {
                let mut chain = self.chain(&call.receiver, chains, fuel)?;
                let arg = call.args.first()?;
                match call.method.to_string().as_str() {
                    "add" => chain.push(Layer::Module(self.made_by(arg)?)),
                    "add_fn" | "add_fn_t" => match arg {
                        syn::Expr::Closure(closure) => chain.push(Layer::Closure(closure.clone())),
                        _ => return None,
                    },
                    _ => return None,
                }
                Some(chain)
            }
            _ => None,
        }
    }

    /// The chain that a block of one expression makes.
    fn tail(&self, block: &syn::Block, chains: &Chains, fuel: u32) -> Option<Vec<Layer>> {
        match block.stmts.as_slice() {
            [syn::Stmt::Expr(expr, None)] => self.chain(expr, chains, fuel),
            _ => None,
        }
    }

    /// `nn::seq()`, or a function of the crate that builds a chain.
    fn call(&self, call: &syn::ExprCall, fuel: u32) -> Option<Vec<Layer>> {
        let fuel = fuel.checked_sub(1)?;
        let syn::Expr::Path(path) = &*call.func else { return None };
        let text = path_text(&path.path);
        match self.index.resolve(self.module, &text) {
            Resolved::External(full) if full.ends_with("::seq") || full.ends_with("::seq_t") => Some(Vec::new()),
            Resolved::Item(_, _, Name::Fn(id)) => self.built_by(id, fuel),
            _ => {
                let (head, name) = text.rsplit_once("::")?;
                let owner = syn::parse_str::<syn::Type>(head).ok()?;
                let owner = self.index.ty(self.module, self.owner, &owner);
                self.built_by(self.index.method(&owner, name)?, fuel)
            }
        }
    }

    fn built_by(&self, id: usize, fuel: u32) -> Option<Vec<Layer>> {
        let function = &self.index.fns[id];
        let reader = Reader { index: self.index, module: &function.module, owner: function.owner.as_ref() };
        let chains = reader.lets(&function.block);
        match function.block.stmts.last()? {
            syn::Stmt::Expr(expr, None) => reader.chain(ok_argument(expr), &chains, fuel),
            _ => None,
        }
    }

    /// The type of the module that an expression makes.
    fn made_by(&self, expr: &syn::Expr) -> Option<Ty> {
        match expr {
            syn::Expr::Try(inner) => self.made_by(&inner.expr),
            syn::Expr::Paren(inner) => self.made_by(&inner.expr),
            syn::Expr::Struct(literal) => self.named(&path_text(&literal.path)),
            syn::Expr::MethodCall(call) if call.method == "unwrap" => self.made_by(&call.receiver),
            syn::Expr::Path(path) => self.named(&path_text(&path.path)),
            syn::Expr::Call(call) => {
                let syn::Expr::Path(path) = &*call.func else { return None };
                self.made_by_call(&path_text(&path.path))
            }
            _ => None,
        }
    }

    fn made_by_call(&self, text: &str) -> Option<Ty> {
        match self.index.resolve(self.module, text) {
            Resolved::Item(_, _, Name::Fn(id)) => return self.returned(id),
            Resolved::Item(..) => return None,
            Resolved::External(full) => {
                let name = full.rsplit("::").next().unwrap_or(&full);
                if let Some(leaf) = crate::leaf::of_constructor(name).filter(|_| full.contains("nn::")) {
                    return Some(Ty::Leaf(leaf.name));
                }
            }
        }
        let (head, name) = text.rsplit_once("::")?;
        let owner = self.named(head)?;
        match &owner {
            Ty::Struct(_) => self.returned(self.index.method(&owner, name)?),
            // `nn::ReLU::default()` makes a `ReLU`.
            Ty::Leaf(_) => Some(owner),
            _ => None,
        }
    }

    fn returned(&self, id: usize) -> Option<Ty> {
        let function = &self.index.fns[id];
        let syn::ReturnType::Type(_, written) = &function.sig.output else { return None };
        match self.index.ty(&function.module, function.owner.as_ref(), written) {
            Ty::Result(inner) => known(*inner),
            ty => known(ty),
        }
    }

    fn named(&self, text: &str) -> Option<Ty> {
        let ty = syn::parse_str::<syn::Type>(text).ok()?;
        known(self.index.ty(self.module, self.owner, &ty))
    }
}

fn known(ty: Ty) -> Option<Ty> {
    matches!(ty, Ty::Leaf(_) | Ty::Struct(_)).then_some(ty)
}

/// `old` and then any number of what `new` adds to it, when that is all of one type; what stands right before and is of
/// that type too is one of them.
fn repeated(mut old: Vec<Layer>, new: &[Layer]) -> Option<Vec<Layer>> {
    let (kept, added) = new.split_at_checked(old.len())?;
    let Some(Layer::Module(first) | Layer::Repeat(first)) = added.first() else { return None };
    let same = |layer: &Layer| matches!(layer, Layer::Module(ty) | Layer::Repeat(ty) if ty == first);
    if !agree(&old, kept) || !added.iter().all(same) {
        return None;
    }
    while old.pop_if(|layer| same(layer)).is_some() {}
    old.push(Layer::Repeat(first.clone()));
    Some(old)
}

/// A chain that is written to in a way that is not read here is not known any more.
fn forget_written(stmt: &syn::Stmt, chains: &mut Chains) {
    struct Find<'c>(&'c mut Chains);
    impl<'ast> syn::visit::Visit<'ast> for Find<'_> {
        fn visit_expr_assign(&mut self, assign: &'ast syn::ExprAssign) {
            if let syn::Expr::Path(path) = &*assign.left {
                self.0.insert(path_text(&path.path), None);
            }
            syn::visit::visit_expr_assign(self, assign);
        }
    }
    syn::visit::Visit::visit_stmt(&mut Find(chains), stmt);
}

fn is_some(call: &syn::ExprCall) -> bool {
    call.args.len() == 1 && matches!(&*call.func, syn::Expr::Path(path) if path.path.is_ident("Some"))
}

fn is_none(block: &syn::Block) -> bool {
    matches!(block.stmts.as_slice(), [syn::Stmt::Expr(syn::Expr::Path(path), None)] if path.path.is_ident("None"))
}

fn ok_argument(expr: &syn::Expr) -> &syn::Expr {
    match expr {
        syn::Expr::Call(call) if call.args.len() == 1 => match &*call.func {
            syn::Expr::Path(path) if path.path.is_ident("Ok") => &call.args[0],
            _ => expr,
        },
        other => other,
    }
}

fn pattern_name(pat: &syn::Pat) -> Option<String> {
    match pat {
        syn::Pat::Ident(ident) => Some(ident.ident.to_string()),
        syn::Pat::Type(typed) => pattern_name(&typed.pat),
        _ => None,
    }
}
