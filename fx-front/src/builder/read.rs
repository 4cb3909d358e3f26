//! Builder expressions of one function, as chains of layers.

use fx_ir::LayerRow;
use fx_ir::catalog::ChainMethod;
use std::collections::BTreeMap;

use super::{
    Layer,
    choices::{added, distributed, either, some_times},
    syntax::{diverges, is_none, is_pointer, is_some_call, ok_argument, pattern_name, text},
    unread::Notes,
    variables::{known_of_variables, of_variables},
};
use crate::closure_conversion::returns_opaque;
use crate::index::{Index, Name, Resolved, Ty};
use crate::syntax::path_text;

/// Reads builder expressions of one function.
#[derive(Clone)]
pub(super) struct Reader<'a> {
    pub(super) index: &'a Index,
    pub(super) module: &'a str,
    pub(super) owner: Option<&'a syn::Type>,
    /// The variables of the function, which a closure that is frozen cannot see.
    pub(super) locals: Vec<String>,
    /// Those of them that hold a module, with its type; none where it is not known which one they hold.
    pub(super) made: BTreeMap<String, Option<Ty>>,
    /// The types of chains that variables hold.
    pub(super) kinds: BTreeMap<String, &'static str>,
    /// Its closures, by name: `let conv = |p, i, o| nn::conv2d(..)`.
    pub(super) closures: BTreeMap<String, syn::ExprClosure>,
    /// The function, by its position in [`Index::fns`].
    pub(super) id: usize,
    /// What could not be read.
    pub(super) notes: Notes,
    /// The functions that are being read, by their positions: one that calls itself builds no chain of a known form.
    pub(super) within: Vec<usize>,
}

/// The chains that variables hold; none where it is not known of what form one is.
pub(super) type Chains = BTreeMap<String, Option<Vec<Layer>>>;

impl<'a> Reader<'a> {
    pub(super) fn of(index: &'a Index, id: usize, within: &[usize]) -> Reader<'a> {
        let (function, within) = (&index.fns[id], [within, &[id]].concat());
        let mut locals: Vec<String> = crate::pattern::bound_within(&function.block);
        locals.extend(constants_within(&function.block));
        for input in &function.sig.inputs {
            if let syn::FnArg::Typed(typed) = input {
                locals.extend(crate::pattern::bound(&typed.pat));
            }
        }
        let (module, owner) = (&function.module, function.owner.as_ref());
        let closures = known_of_variables(&function.block, |init| match init {
            syn::Expr::Closure(closure) => Some(closure.clone()),
            _ => None,
        });
        let (made, kinds, notes) = (BTreeMap::new(), BTreeMap::new(), Notes::default());
        let mut reader = Reader { index, module, owner, locals, made, kinds, closures, id, notes, within };
        reader.kinds = known_of_variables(&function.block, |init| reader.kind(init, 8));
        reader.made = of_variables(&function.block, |init| reader.made_by(init));
        reader
    }

    /// The reader of a function that this one calls.
    pub(super) fn of_called(&self, id: usize) -> Reader<'a> {
        Reader { notes: self.notes.clone(), ..Reader::of(self.index, id, &self.within) }
    }

    /// The chains that the local variables of a function hold at its end.
    pub(super) fn lets(&self, block: &syn::Block) -> Chains {
        let mut chains = Chains::new();
        self.statements(&block.stmts, &mut chains);
        chains
    }

    pub(super) fn statements(&self, stmts: &[syn::Stmt], chains: &mut Chains) {
        self.with_modules_of(stmts).each_statement(stmts, chains);
    }

    fn each_statement(&self, stmts: &[syn::Stmt], chains: &mut Chains) {
        for stmt in stmts {
            match stmt {
                syn::Stmt::Local(local) => {
                    let (Some(name), Some(init)) = (pattern_name(&local.pat), &local.init) else { continue };
                    let chain = self.notes.noting(&name, || self.chain(&init.expr, chains, 8));
                    chains.insert(name, chain);
                }
                syn::Stmt::Expr(syn::Expr::Assign(assign), _) => {
                    let syn::Expr::Path(path) = &*assign.left else { continue };
                    let name = path_text(&path.path);
                    let chain = self.notes.noting(&name, || self.chain(&assign.right, chains, 8));
                    chains.insert(name, chain);
                }
                syn::Stmt::Expr(syn::Expr::ForLoop(each), _) => self.some_times(&each.body, chains, Layer::Repeat),
                syn::Stmt::Expr(syn::Expr::If(branch), _) => match &branch.else_branch {
                    None => self.some_times(&branch.then_branch, chains, Layer::Optional),
                    Some((_, other)) => self.one_of(&branch.then_branch, other, chains),
                },
                syn::Stmt::Expr(syn::Expr::Match(choice), _) => self.one_arm(choice, chains),
                syn::Stmt::Expr(syn::Expr::Block(block), _) => self.statements(&block.block.stmts, chains),
                syn::Stmt::Expr(syn::Expr::While(_) | syn::Expr::Loop(_), _) => {
                    forget_written(stmt, chains);
                }
                _ => {}
            }
        }
    }

    pub(super) fn chain(&self, expr: &syn::Expr, chains: &Chains, fuel: u32) -> Option<Vec<Layer>> {
        match expr {
            syn::Expr::Path(path) => chains.get(&path_text(&path.path)).cloned().flatten(),
            syn::Expr::Paren(inner) => self.chain(&inner.expr, chains, fuel),
            syn::Expr::Try(inner) => self.chain(&inner.expr, chains, fuel),
            syn::Expr::Call(call) if is_some_call(call) || is_pointer(call) => self.chain(&call.args[0], chains, fuel),
            syn::Expr::Call(call) => self.call(call, fuel),
            // An optional chain: `resized.then(|| seq)`, `if resized { Some(seq) } else { None }`.
            syn::Expr::MethodCall(call) if call.method == "then" => match call.args.first()? {
                syn::Expr::Closure(closure) => self.chain(&closure.body, chains, fuel),
                syn::Expr::Path(path) => {
                    let (inside, body) = self.inside(&path_text(&path.path))?;
                    inside.chain(body, chains, fuel)
                }
                _ => None,
            },
            syn::Expr::MethodCall(call) if call.method == "then_some" => self.chain(call.args.first()?, chains, fuel),
            syn::Expr::If(branch) => {
                let then = self.tail(&branch.then_branch, chains, fuel)?;
                match &*branch.else_branch.as_ref()?.1 {
                    syn::Expr::Block(other) if is_none(&other.block) => Some(then),
                    syn::Expr::Block(other) => Some(either(then, self.tail(&other.block, chains, fuel)?)),
                    _ => None,
                }
            }
            syn::Expr::Match(choice) => {
                let arms = choice.arms.iter().filter(|arm| !diverges(&arm.body));
                let each = arms.map(|arm| self.chain(&arm.body, chains, fuel)).collect::<Option<Vec<_>>>()?;
                each.into_iter().reduce(either)
            }
            syn::Expr::Block(block) => self.tail(&block.block, chains, fuel),
            syn::Expr::MethodCall(call) if call.method == "fold" => self.folded(call, chains, fuel),
            syn::Expr::MethodCall(call) => {
                if let Some(id) = self.method_of_value(call) {
                    return self.built_by(id, fuel.checked_sub(1)?);
                }
                let mut chain = self.chain(&call.receiver, chains, fuel)?;
                let Some(layer) = self.added(call, chains, fuel) else {
                    self.notes.note(call.args.first().unwrap_or(expr), &self.index.fns[self.id]);
                    return None;
                };
                chain.push(layer);
                Some(chain)
            }
            _ => None,
        }
    }

    /// What the method adds to a chain.
    fn added(&self, call: &syn::ExprMethodCall, chains: &Chains, fuel: u32) -> Option<Layer> {
        let arg = call.args.first()?;
        match ChainMethod::of_name(&call.method.to_string())? {
            ChainMethod::Add => self.layer(arg, chains, fuel),
            ChainMethod::AddFn | ChainMethod::AddFnT => self.closure(arg, crate::syntax::call_position(&call.method)),
            // As it is written for a function that builds a model out of closures.
            ChainMethod::AddFnAt | ChainMethod::AddFnTAt => self.closure(call.args.get(1)?, text(arg)?),
        }
    }

    /// `sizes.iter().fold(nn::seq(), |seq, size| seq.add(..))`.
    fn folded(&self, call: &syn::ExprMethodCall, chains: &Chains, fuel: u32) -> Option<Vec<Layer>> {
        let (first, syn::Expr::Closure(closure)) = (call.args.first()?, call.args.get(1)?) else { return None };
        let (old, name) = (self.chain(first, chains, fuel)?, pattern_name(closure.inputs.first()?)?);
        let mut chains = chains.clone();
        chains.insert(name, Some(old.clone()));
        let new = self.chain(&closure.body, &chains, fuel)?;
        added(&old, &new).map(|added| some_times(old, distributed(added), Layer::Repeat))
    }

    /// One layer that is added: a chain of its own, or a module.
    fn layer(&self, arg: &syn::Expr, chains: &Chains, fuel: u32) -> Option<Layer> {
        self.notes.trying(|| self.layer_of(arg, chains, fuel))
    }

    fn layer_of(&self, arg: &syn::Expr, chains: &Chains, fuel: u32) -> Option<Layer> {
        if let Some(layers) = self.chain(arg, chains, fuel) {
            return Some(Layer::Chain(self.kind(arg, fuel)?, layers));
        }
        // Where such a closure is added, a live chain does not say.
        match self.function_layer(arg) {
            Some(closure) => self.closure(closure, String::new()),
            None => self.made_by(arg).map(|made| Layer::Module(made, None)).or_else(|| self.made_closure(arg)),
        }
    }

    /// The type of the chain that an expression makes.
    pub(super) fn kind(&self, expr: &syn::Expr, fuel: u32) -> Option<&'static str> {
        let fuel = fuel.checked_sub(1)?;
        match expr {
            syn::Expr::Path(path) => self.kinds.get(&path_text(&path.path)).copied(),
            syn::Expr::MethodCall(call) if self.method_of_value(call).is_some() => chain_type(&self.made_by(expr)?),
            syn::Expr::MethodCall(call) => self.kind(&call.receiver, fuel),
            syn::Expr::Match(choice) => choice.arms.iter().find_map(|arm| self.kind(&arm.body, fuel)),
            syn::Expr::Block(block) => match block.block.stmts.last()? {
                syn::Stmt::Expr(last, None) => self.kind(last, fuel),
                _ => None,
            },
            syn::Expr::Call(call) => {
                let syn::Expr::Path(path) = &*call.func else { return None };
                let text = path_text(&path.path);
                if let Some((inside, body)) = self.inside(&text) {
                    return inside.kind(body, fuel);
                }
                if let Resolved::Item(_, _, Name::Fn(id)) = self.index.resolve(self.module, &text)
                    && returns_opaque(&self.index.fns[id].sig)
                {
                    return self.opened(id, |inside, tail| inside.kind(tail, fuel));
                }
                if let Some(row) = LayerRow::of_constructor(text.rsplit("::").next()?).filter(|row| row.is_chain) {
                    return Some(row.name);
                }
                chain_type(&self.made_by_call(&text, call)?)
            }
            _ => None,
        }
    }

    /// The chain that a block makes.
    fn tail(&self, block: &syn::Block, chains: &Chains, fuel: u32) -> Option<Vec<Layer>> {
        let (last, before) = block.stmts.split_last()?;
        let syn::Stmt::Expr(expr, None) = last else { return None };
        let mut chains = chains.clone();
        self.statements(before, &mut chains);
        self.chain(expr, &chains, fuel)
    }

    /// `nn::seq()`, or a function of the crate that builds a chain.
    fn call(&self, call: &syn::ExprCall, fuel: u32) -> Option<Vec<Layer>> {
        let fuel = fuel.checked_sub(1)?;
        let syn::Expr::Path(path) = &*call.func else { return None };
        let text = path_text(&path.path);
        if let Some((inside, body)) = self.inside(&text) {
            return inside.chain(body, &Chains::new(), fuel);
        }
        match self.index.resolve(self.module, &text) {
            Resolved::External(full) if full.ends_with("::seq") || full.ends_with("::seq_t") => Some(Vec::new()),
            Resolved::Item(_, _, Name::Fn(id)) => self.built_by(id, fuel),
            _ => self.built_by(self.method(&text)?, fuel),
        }
    }

    /// `Self::make_layer`.
    pub(super) fn method(&self, text: &str) -> Option<usize> {
        let (head, name) = text.rsplit_once("::")?;
        let owner = syn::parse_str::<syn::Type>(head).ok()?;
        self.index.method(&self.index.ty(self.module, self.owner, &owner), name)
    }

    fn built_by(&self, id: usize, fuel: u32) -> Option<Vec<Layer>> {
        if self.within.contains(&id) {
            return None;
        }
        let id = self.index.builders.get(&id).and_then(|builder| builder.chain).unwrap_or(id);
        let function = &self.index.fns[id];
        let reader = self.of_called(id);
        let chains = reader.lets(&function.block);
        match function.block.stmts.last()? {
            syn::Stmt::Expr(expr, None) => reader.chain(ok_argument(expr), &chains, fuel),
            _ => None,
        }
    }
}

/// The type, if it is one of a chain.
fn chain_type(ty: &Ty) -> Option<&'static str> {
    match ty {
        Ty::Leaf(kind) => Some(*kind).filter(|kind| LayerRow::of_type(kind).is_some_and(|row| row.is_chain)),
        _ => None,
    }
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

/// The constants and statics that a body declares, which nothing outside of it sees.
fn constants_within(block: &syn::Block) -> Vec<String> {
    struct Find(Vec<String>);
    impl<'ast> syn::visit::Visit<'ast> for Find {
        fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
            self.0.push(item.ident.to_string());
        }
        fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
            self.0.push(item.ident.to_string());
        }
    }
    let mut find = Find(Vec::new());
    syn::visit::Visit::visit_block(&mut find, block);
    find.0
}
