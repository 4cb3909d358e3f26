//! Places that are written: in place, through views, by swaps.

use super::{Type, Variable, Write, Writer};

const WRITES: &[(usize, Write)] = &[
    (6, Writer::assigned),
    (5, Writer::compound),
    (5, Writer::written_in_place),
    (4, Writer::written_view),
    (4, Writer::swapped),
    (3, Writer::assigned_both),
    (2, Writer::assigned_first),
    (9, Writer::reference_write),
    (3, Writer::list_write),
    (3, Writer::held_write),
    (3, Writer::state_write),
    (8, Writer::cell_write),
    (20, Writer::lent_write),
    (3, Writer::number_write),
    (2, Writer::option_write),
    (2, Writer::taken_out),
    (2, Writer::counted_layers),
    (2, Writer::optional_state),
    (1, Writer::map_write),
];

impl Writer {
    /// A statement that changes something.
    pub(super) fn write(&mut self) -> Option<String> {
        self.choose(WRITES)
    }

    /// A variable of a type that can be written, and that nobody borrows from any more.
    pub(super) fn mutable(&mut self, ty: Type) -> Option<Variable> {
        let inside = self.closed;
        let one = self.variable(|one| one.at >= inside && one.ty == ty && one.is_mut)?;
        self.scope.free(one.at);
        Some(one)
    }

    /// A place that holds a tensor of the one shape.
    pub(super) fn tensor_place(&mut self) -> Option<String> {
        let is_one = |ty| matches!(ty, Type::Tensor | Type::Held | Type::Pair);
        let inside = self.closed;
        let one = self.variable(|one| one.at >= inside && ((is_one(one.ty) && one.is_mut) || one.ty == Type::Lent))?;
        self.scope.free(one.at);
        let name = one.name;
        Some(match one.ty {
            Type::Held => format!("{name}.h"),
            Type::Pair => format!("{name}.{}", self.below(2)),
            Type::Lent => format!("*{name}"),
            _ => name,
        })
    }

    /// The variable that a place names, or is a part of.
    pub(super) fn owner_of(&mut self, place: &str) -> Option<Variable> {
        let place = place.trim_start_matches('*');
        let root = place.split('.').next().unwrap_or_default();
        self.variable(|one| one.name == place).or_else(|| self.variable(|one| one.name == root))
    }

    /// A method that writes to a tensor of any shape.
    pub(super) fn in_place(&mut self) -> String {
        match self.below(8) {
            0 => "fill_(0.25)".to_owned(),
            1 => format!("g_add_scalar_({})", self.one_of(&["1.0", "-0.5"])),
            2 => "neg_()".to_owned(),
            3 => "relu_()".to_owned(),
            4 => "zero_()".to_owned(),
            5 => "clamp_(-0.5, 0.5)".to_owned(),
            6 => "tanh_()".to_owned(),
            _ => "g_mul_scalar_(0.5)".to_owned(),
        }
    }

    fn assigned(&mut self) -> Option<String> {
        // The value first: it must not borrow what is written.
        let value = self.tensor();
        let place = self.tensor_place()?;
        Some(format!("{place} = ({value}).tanh();"))
    }

    fn compound(&mut self) -> Option<String> {
        let place = self.tensor_place()?;
        Some(match self.below(6) {
            0 => format!("{place} += {};", self.tensor()),
            1 => format!("{place} -= &({});", self.tensor()),
            2 => format!("{place} *= 0.5;"),
            3 => format!("{place} += {};", self.float()),
            4 => format!("{place} *= {} % 3;", self.int()),
            _ => format!("{place} += 1;"),
        })
    }

    fn written_in_place(&mut self) -> Option<String> {
        let one = self.variable(|one| one.ty == Type::View && one.is_mut);
        let place = match one.filter(|_| self.rng.bool()) {
            Some(one) => one.name,
            None => self.tensor_place()?,
        };
        let place = if place.starts_with('*') { format!("({place})") } else { place };
        if self.once_in(5) {
            return Some(format!("{place}.copy_(&({}));", self.tensor()));
        }
        Some(format!("let _ = {place}.{};", self.in_place()))
    }

    /// Through a view, of something that need not be `mut`.
    fn written_view(&mut self) -> Option<String> {
        let (of, view) = (self.receiver(), self.view_of());
        if self.once_in(4) {
            let from = self.receiver();
            return Some(format!("{of}.narrow(1, 0, 4).copy_(&{from}.narrow(1, {}, 4));", self.below(5)));
        }
        Some(format!("let _ = {of}.{view}.{};", self.in_place()))
    }

    fn swapped(&mut self) -> Option<String> {
        let (left, right) = (self.tensor_place()?, self.tensor_place()?);
        if left == right {
            return None;
        }
        Some(match self.below(3) {
            0 => format!("({left}, {right}) = ({}, {});", given(&right), given(&left)),
            1 => format!("std::mem::swap({}, {});", lent(&left), lent(&right)),
            _ => format!("({left}, {right}) = ({}.tanh(), {}.neg());", bare(&right), bare(&left)),
        })
    }

    /// Two names for each other's values.
    fn assigned_both(&mut self) -> Option<String> {
        let depth = self.scope.depth;
        let left = self.variable(|one| one.ty == Type::Tensor && one.depth == depth)?;
        let right = self.variable(|one| one.ty == Type::Tensor && one.depth == depth && one.at != left.at)?;
        self.scope.moved(left.at);
        self.scope.moved(right.at);
        self.scope.declare(&left.name, Type::Tensor, true);
        self.scope.declare(&right.name, Type::Tensor, true);
        let (a, b) = (left.name, right.name);
        Some(format!("let (mut {a}, mut {b}) = ({b}, {a});"))
    }

    fn number_write(&mut self) -> Option<String> {
        let value = self.int();
        let one = self.variable(|one| (one.ty == Type::Int && one.is_mut) || one.ty == Type::LentInt)?;
        self.scope.free(one.at);
        let place = if one.ty == Type::LentInt { format!("*{}", one.name) } else { one.name };
        Some(match self.below(4) {
            0 => format!("{place} = {value};"),
            1 => format!("{place} -= {value} % 5;"),
            2 => format!("{place} = {place} * 2 % 11;"),
            _ => format!("{place} += {value} % 5;"),
        })
    }

    fn option_write(&mut self) -> Option<String> {
        let value = self.maybe();
        let one = self.mutable(Type::Maybe)?.name;
        Some(match self.below(4) {
            0 => format!("{one} = {value};"),
            1 => format!("if let Some(one) = &mut {one} {{ let _ = one.{}; }}", self.in_place()),
            2 => format!("if let Some(one) = {one}.as_mut() {{ *one = one.tanh(); }}"),
            _ => format!("let _ = {one}.take();"),
        })
    }

    /// What takes something out of a place and leaves something else there.
    fn taken_out(&mut self) -> Option<String> {
        if self.once_in(2) {
            let value = self.tensor();
            let place = self.tensor_place()?;
            return Some(format!("let _ = std::mem::replace({}, {value}).relu();", lent(&place)));
        }
        let value = self.tensor();
        let one = self.mutable(Type::Maybe)?.name;
        Some(match self.below(4) {
            0 => format!("let _ = std::mem::take(&mut {one});"),
            1 => format!("let _ = {one}.get_or_insert_with(|| {value}).tanh();"),
            2 => format!("*{one}.get_or_insert({value}) += 1;"),
            _ => format!("let _ = std::mem::replace(&mut {one}, Some({value}));"),
        })
    }

    /// Layers by number, in a loop that counts.
    fn counted_layers(&mut self) -> Option<String> {
        if !self.has_self {
            return None;
        }
        let place = self.tensor_place()?;
        let layer = self.one_of(&["self.layers[i].forward(&{})", "{}.apply(&self.layers[i]).relu()"]);
        let layer = layer.replace("{}", bare(&place));
        let stop = self.one_of(&["", "", "if i > 1 { break; }"]);
        Some(format!("let mut i = 0; while i < self.layers.len() {{ {stop} {place} = {layer}; i += 1; }}"))
    }

    /// An option of a struct that is written to in parts.
    fn optional_state(&mut self) -> Option<String> {
        let (first, second, is) = (self.tensor(), self.tensor(), self.boolean());
        let place = self.tensor_place()?;
        let n = self.below(3);
        let write = match self.below(3) {
            0 => format!(
                "if fx_st.is_some() {{ fx_st.as_mut().unwrap().h = {second}; }} else {{ fx_st = Some(Held {{ h: {second}, o: None, n: {n} }}); }}"
            ),
            1 => format!("if let Some(one) = &mut fx_st {{ one.h = {second}; one.n += 1; }}"),
            _ => format!("if let Some(one) = fx_st.as_mut() {{ one.o = Some({second}); }}"),
        };
        Some(format!(
            "let mut fx_st: Option<Held> = None; if {is} {{ fx_st = Some(Held {{ h: {first}, o: None, n: 1 }}); }} {write} \
             if let Some(one) = &fx_st {{ {place} = &one.h * one.n; }}"
        ))
    }

    fn map_write(&mut self) -> Option<String> {
        let (key, value) = (self.int(), self.tensor());
        let one = self.mutable(Type::Map)?.name;
        Some(match self.below(3) {
            0 => format!("{one}.insert({key} % 3, {value});"),
            1 => format!("if let Some(one) = {one}.get_mut(&({key} % 3)) {{ let _ = one.{}; }}", self.in_place()),
            _ => format!("{one}.entry({key} % 3).or_insert_with(|| xs.neg());"),
        })
    }

    pub(super) fn lent_int(&mut self) -> Option<String> {
        let one = self.variable(|one| (one.ty == Type::Int && one.is_mut) || one.ty == Type::LentInt)?;
        self.scope.free(one.at);
        Some(if one.ty == Type::LentInt { one.name } else { format!("&mut {}", one.name) })
    }
}

/// A place as an argument for `&mut`.
fn lent(place: &str) -> String {
    place.strip_prefix('*').map_or_else(|| format!("&mut {place}"), str::to_owned)
}

/// A place as something to call methods on.
fn bare(place: &str) -> &str {
    place.strip_prefix('*').unwrap_or(place)
}

/// A second handle on what a place holds.
fn given(place: &str) -> String {
    format!("{}.shallow_clone()", bare(place))
}
