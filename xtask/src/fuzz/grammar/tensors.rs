//! Tensors: what computes them, what lends them, what is a view of them.

use super::references::Lasts;
use super::{Helper, Type, Write, Writer, Yields};

const TENSORS: &[(usize, Write)] = &[
    (6, Writer::handle),
    (10, Writer::unary),
    (10, Writer::binary),
    (3, Writer::scaled),
    (6, Writer::layered),
    (2, Writer::joined),
    (3, Writer::moved_tensor),
    (3, Writer::chosen),
    (3, Writer::matched),
    (2, Writer::block_tensor),
    (4, |writer| writer.called(Yields::One(Type::Tensor))),
    (2, Writer::unwrapped),
    (2, Writer::of_option),
    (3, Writer::of_list),
    (4, Writer::of_state),
    (3, Writer::by_closure),
    (1, Writer::replaced),
    (1, Writer::of_map),
    (4, Writer::far),
    (2, Writer::by_sizes),
    (2, Writer::spelled),
    (5, Writer::pattern),
    (9, Writer::of_references),
    (2, Writer::form),
];

const SHARED: &[(usize, Write)] = &[
    (12, Writer::borrowed),
    (3, |writer| writer.of_type(Type::Shared).map(|one| one.name)),
    (2, Writer::element),
    (2, Writer::temporary),
    (1, |writer| writer.called(Yields::One(Type::Shared))),
    (3, |writer| Some(writer.lasting(Lasts::Here))),
];

const UNARY: &[&str] = &["relu()", "tanh()", "sigmoid()", "neg()", "sin()", "cos()", "abs()", "flip([1])", "copy()"];

impl Writer {
    /// A tensor of one's own.
    pub(super) fn tensor(&mut self) -> String {
        self.deeper(TENSORS).unwrap_or_else(|| {
            if self.once_in(2) {
                return self.handle().unwrap_or_default();
            }
            format!("{}.{}", self.receiver(), self.one_of(UNARY))
        })
    }

    /// By a function of another module, which checks what it is given.
    fn far(&mut self) -> Option<String> {
        let (xs, int) = (self.shared(), self.int());
        let question = if self.yields == Some(Yields::Fallible) { "?" } else { ".unwrap()" };
        Some(match self.below(5) {
            0 | 1 => format!("far::checked({xs}, &({int}))"),
            2 => format!("far::placed({xs}, &xs.kind(), &xs.device())"),
            3 => format!("far::ranked({xs}, {int}){question}"),
            _ => format!("{{ let (w, n) = far::wide({xs}){question}; w * n }}"),
        })
    }

    /// By a list of sizes that is built up.
    fn by_sizes(&mut self) -> Option<String> {
        let of = self.receiver();
        Some(match self.below(6) {
            0 => format!("{{ let t = {of}.copy(); let mut s = t.size(); s.reverse(); s.reverse(); t.view(&s[..]) }}"),
            1 => format!(
                "{{ let t = {of}.copy(); let mut s = vec![t.size()[0]]; s.extend_from_slice(&[2, -1]); t.view(s.as_slice()).reshape([-1, 8]) }}"
            ),
            2 => format!(
                "{{ let t = {of}.copy(); let mut s: Vec<i64> = t.size().iter().take(1).cloned().collect(); s.push(8); t.reshape(&s) }}"
            ),
            3 => format!(
                "{{ let t = {of}.copy(); let mut s = t.size(); s.push(1); t.view(s.as_slice()).squeeze_dim(-1) }}"
            ),
            4 => format!(
                "{{ let t = {of}.copy(); let mut s = t.size()[..1].to_vec(); let mut r = vec![8]; s.append(&mut r); t.view(&s[..]) }}"
            ),
            _ => format!("({of} * 1.max({} % 3))", self.int()),
        })
    }

    /// Operators by their traits' functions, numbers as tensors, lists reduced.
    fn spelled(&mut self) -> Option<String> {
        let (of, other) = (self.receiver(), self.shared());
        Some(match self.below(5) {
            0 => format!("std::ops::Mul::mul({of}.tanh(), {other})"),
            1 => format!("({other} + Tensor::from(0.5f32))"),
            2 => format!("({other} - Tensor::from_slice(&[0.25f32]))"),
            3 => format!("vec![{of}.sin(), {of}.cos()].into_iter().reduce(|a, b| a + b).unwrap()"),
            _ => format!("Some({other}).map(Tensor::shallow_clone).unwrap()"),
        })
    }

    /// `&Tensor`.
    pub(super) fn shared(&mut self) -> String {
        if let Some(lasts) = self.lasts {
            return self.lasting(lasts);
        }
        self.deeper(SHARED).or_else(|| self.borrowed()).unwrap_or_else(|| "xs".to_owned())
    }

    /// `&mut Tensor`.
    pub(super) fn lent(&mut self) -> Option<String> {
        let place = self.tensor_place()?;
        Some(match place.strip_prefix('*') {
            Some(lent) => lent.to_owned(),
            None => format!("&mut {place}"),
        })
    }

    /// What methods can be called on.
    pub(super) fn receiver(&mut self) -> String {
        let shared = self.shared();
        match shared.strip_prefix('&') {
            Some(name) if name.chars().all(|letter| letter.is_alphanumeric() || "._[]".contains(letter)) => name.into(),
            _ if shared.starts_with('&') || shared.starts_with('*') => format!("({shared})"),
            _ => shared,
        }
    }

    fn borrowed(&mut self) -> Option<String> {
        let is_one = |ty| matches!(ty, Type::Tensor | Type::Shared | Type::Lent | Type::Held | Type::Pair);
        let one = self.variable(|one| is_one(one.ty))?;
        let name = one.name;
        Some(match one.ty {
            Type::Tensor => format!("&{name}"),
            Type::Lent => format!("&*{name}"),
            Type::Held => format!("&{name}.h"),
            Type::Pair => format!("&{name}.{}", self.below(2)),
            _ => name,
        })
    }

    fn element(&mut self) -> Option<String> {
        let list = self.variable(|one| one.ty == Type::Fixed || (one.ty == Type::List && one.filled > 0))?;
        let filled = if list.ty == Type::Fixed { 2 } else { list.filled };
        Some(format!("&{}[{}]", list.name, self.below(filled)))
    }

    fn temporary(&mut self) -> Option<String> {
        let tensor = self.tensor();
        Some(format!("&({tensor})"))
    }

    fn handle(&mut self) -> Option<String> {
        let of = self.receiver();
        Some(format!("{of}.{}", self.one_of(&["shallow_clone()", "copy()", "shallow_clone()"])))
    }

    fn unary(&mut self) -> Option<String> {
        let of = if self.once_in(2) { self.receiver() } else { format!("({})", self.tensor()) };
        Some(format!("{of}.{}", self.one_of(UNARY)))
    }

    fn binary(&mut self) -> Option<String> {
        let left = if self.once_in(3) { format!("({})", self.tensor()) } else { self.shared() };
        let right = if self.once_in(3) { format!("({})", self.tensor()) } else { self.shared() };
        Some(match self.below(5) {
            0 => format!("{left} - {right}"),
            3 => format!("std::ops::Mul::mul(({left}).tanh(), ({right}).tanh())"),
            1 => format!("({left}).tanh() * ({right}).tanh()"),
            2 => format!("({left}).maximum(&({right}))"),
            _ => format!("{left} + {right}"),
        })
    }

    fn scaled(&mut self) -> Option<String> {
        let tensor = self.shared();
        Some(match self.below(5) {
            0 => format!("{tensor} * ({} % 5)", self.int()),
            3 => format!("{tensor} - Tensor::from({}).tanh().to_kind(xs.kind())", self.float()),
            1 => format!("{tensor} + ({} % 7)", self.int()),
            2 => format!("{tensor} * ({}).tanh()", self.float()),
            _ => format!("({}).tanh() - {tensor}", self.float()),
        })
    }

    fn joined(&mut self) -> Option<String> {
        let (from, to) = (self.below(5), self.below(5));
        if self.once_in(3) {
            return Some(format!(
                "Tensor::stack(&[{}, {}], 0).mean_dim(0i64, false, xs.kind())",
                self.shared(),
                self.shared()
            ));
        }
        let (left, right) = (self.receiver(), self.receiver());
        Some(match self.below(2) {
            0 => format!("Tensor::cat(&[{left}.narrow(1, {from}, 4), {right}.narrow(1, {to}, 4)], 1)"),
            _ => format!("{left}.where_self(&{right}.gt(0.1), &{left}.neg())"),
        })
    }

    /// A variable that is handed away.
    pub(super) fn moved_tensor(&mut self) -> Option<String> {
        let depth = self.scope.depth;
        let one =
            self.variable(|one| one.depth == depth && matches!(one.ty, Type::Tensor | Type::Pair | Type::Held))?;
        self.scope.moved(one.at);
        Some(match one.ty {
            Type::Pair => format!("{}.{}", one.name, self.below(2)),
            Type::Held => format!("{}.h", one.name),
            _ => one.name,
        })
    }

    fn block_tensor(&mut self) -> Option<String> {
        if self.fuel == 0 {
            return None;
        }
        let count = 1 + self.below(2);
        Some(self.scoped(|writer| {
            let statements = writer.statements(count);
            format!("{{ {statements} {} }}", writer.tensor())
        }))
    }

    /// A view of which the shape is known to nobody.
    pub(super) fn view(&mut self) -> Option<String> {
        let of = self.receiver();
        Some(format!("{of}.{}", self.view_of()))
    }

    /// The method that makes a view of a tensor.
    pub(super) fn view_of(&mut self) -> String {
        let at = self.below(4);
        match self.below(8) {
            0 => format!("narrow(1, {at}, 3)"),
            1 => format!("select(1, {at})"),
            2 => "transpose(0, 1)".to_owned(),
            3 => format!("i((.., {at}..))"),
            4 => format!("chunk(2, 1)[{}].shallow_clone()", at % 2),
            5 => "select(0, 0)".to_owned(),
            6 => "view([-1])".to_owned(),
            _ => format!("slice(1, {at}, 8, 2)"),
        }
    }

    /// A call of a helper that yields this.
    pub(super) fn called(&mut self, yields: Yields) -> Option<String> {
        let found: Vec<usize> = (0..self.helpers.len())
            .filter(|&at| self.helpers[at].yields == yields && (self.has_self || self.helpers[at].on.is_empty()))
            .collect();
        if found.is_empty() {
            return None;
        }
        let at = found[self.below(found.len())];
        let parameters = self.helpers[at].parameters.clone();
        let arguments = parameters.into_iter().map(|ty| self.expression(ty)).collect::<Option<Vec<_>>>()?;
        let Helper { name, on, .. } = &self.helpers[at];
        Some(format!("{on}{name}({})", arguments.join(", ")))
    }

    fn by_closure(&mut self) -> Option<String> {
        let closure = self.of_type(Type::Closure)?;
        let argument = self.shared();
        Some(format!("{}({argument})", closure.name))
    }

    fn replaced(&mut self) -> Option<String> {
        let place = self.lent()?;
        let value = self.tensor();
        Some(format!("std::mem::replace({place}, {value})"))
    }

    fn of_map(&mut self) -> Option<String> {
        let map = self.of_type(Type::Map)?;
        let (key, otherwise) = (self.int(), self.tensor());
        Some(format!("{}.get(&({key} % 3)).map_or_else(|| {otherwise}, |one| one.shallow_clone())", map.name))
    }
}
