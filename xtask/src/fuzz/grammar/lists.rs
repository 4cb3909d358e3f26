//! Lists of tensors and what is made of them.

use super::{Type, Write, Writer};

const LISTS: &[(usize, Write)] = &[
    (3, |writer| Some(format!("vec![{}, {}]", writer.tensor(), writer.tensor()))),
    (1, |_| Some("Vec::<Tensor>::new()".to_owned())),
    (3, Writer::mapped_list),
    (1, |writer| Some(format!("{}.map(Tensor::shallow_clone).collect::<Vec<_>>()", writer.over_list()?))),
    (1, |writer| {
        Some(format!(
            "{}.chunk(2, 1).into_iter().map(|h| Tensor::cat(&[&h, &h], 1)).collect::<Vec<_>>()",
            writer.receiver()
        ))
    }),
    (1, |writer| {
        let of = writer.receiver();
        let body = writer.captured(|writer| {
            writer.scope.declare("n", Type::Int, false);
            writer.int()
        });
        Some(format!("(0..{} % 4).map(|n| {of} * (({body}) % 5)).collect::<Vec<_>>()", writer.int()))
    }),
];

/// What is done to a list of references.
const REFERENCE_WRITES: &[&str] =
    &["", "", " refs.reverse();", " refs.truncate(1);", " refs.extend(refs.first().copied());"];

/// What happens to a list that can be written.
const LIST_WRITES: &[&str] = &["reverse()", "truncate(2)", "clear()", "rotate_left(0)"];

impl Writer {
    pub(super) fn list(&mut self) -> String {
        self.deeper(LISTS).unwrap_or_else(|| format!("vec![{}]", self.tensor()))
    }

    pub(super) fn slice(&mut self) -> Option<String> {
        let one = self.variable(|one| matches!(one.ty, Type::List | Type::Slice | Type::Fixed))?;
        Some(match one.ty {
            Type::Slice => one.name,
            _ => format!("&{}", one.name),
        })
    }

    pub(super) fn lent_list(&mut self) -> Option<String> {
        let one = self.variable(|one| (one.ty == Type::List && one.is_mut) || one.ty == Type::LentList)?;
        self.scope.free(one.at);
        Some(if one.ty == Type::LentList { one.name } else { format!("&mut {}", one.name) })
    }

    /// An iterator over a list.
    pub(super) fn over_list(&mut self) -> Option<String> {
        let one = self.variable(|one| matches!(one.ty, Type::List | Type::Slice | Type::Fixed))?;
        let more = self.one_of(&["", "", ".rev()", ".skip(1)", ".take(2)", ".step_by(2)", ".cycle().take(3)"]);
        Some(format!("{}.iter(){more}", one.name))
    }

    fn mapped_list(&mut self) -> Option<String> {
        let iter = self.over_list()?;
        let name = self.name();
        let body = self.over(&name, Type::Shared);
        Some(match self.below(4) {
            0 => format!("{iter}.enumerate().map(|(at, {name})| ({body}) * at as i64).collect::<Vec<_>>()"),
            1 => format!("{iter}.zip([0.5, 1.5]).map(|({name}, by)| ({body}) * by).collect::<Vec<_>>()"),
            2 => {
                format!("{iter}.filter_map(|{name}| if {name}.dim() > 1 {{ Some({body}) }} else {{ None }}).collect()")
            }
            _ => format!("{iter}.map(|{name}| {body}).collect::<Vec<Tensor>>()"),
        })
    }

    /// A tensor out of a list.
    pub(super) fn of_list(&mut self) -> Option<String> {
        let one = self.variable(|one| matches!(one.ty, Type::List | Type::Slice | Type::Iter))?;
        let name = one.name;
        if one.ty == Type::Iter {
            let otherwise = self.kept_tensor();
            return Some(format!("{name}.next().map_or_else(|| {otherwise}, |one| one.shallow_clone())"));
        }
        if one.filled > 0 && self.once_in(2) {
            return Some(format!("{name}[{}].shallow_clone()", self.below(one.filled)));
        }
        if self.once_in(4) {
            let (start, change) = (self.kept_tensor(), self.one_of(REFERENCE_WRITES));
            let refs = format!("let mut refs: Vec<&Tensor> = {name}.iter().collect();{change}");
            return Some(format!("{{ {refs} refs.into_iter().fold({start}, |a, b| a.tanh() - b) }}"));
        }
        let (sum, item) = (self.name(), self.name());
        let body = self.captured(|writer| {
            writer.scope.declare(&sum, Type::Tensor, false);
            writer.scope.declare(&item, Type::Shared, false);
            writer.tensor()
        });
        if self.once_in(3) {
            let (start, iter) = (self.kept_tensor(), self.over_list()?);
            let reduced = format!("{iter}.map(Tensor::shallow_clone).reduce(|a, b| a.tanh() - b)");
            return Some(format!("{reduced}.unwrap_or_else(|| {start})"));
        }
        let start = self.tensor();
        let iter = self.over_list()?;
        (sum != item).then(|| format!("{iter}.fold({start}, |{sum}, {item}| {body})"))
    }

    /// A change of a list.
    pub(super) fn list_write(&mut self) -> Option<String> {
        let one = self.variable(|one| (one.ty == Type::List && one.is_mut) || one.ty == Type::LentList)?;
        self.scope.free(one.at);
        let name = &one.name;
        if one.filled > 0 && self.once_in(3) {
            let (at, other) = (self.below(one.filled), self.below(one.filled));
            let value = self.tensor();
            return Some(match self.below(4) {
                0 => format!("{name}[{at}] = {value};"),
                1 => format!("{name}.swap({at}, {other});"),
                2 => format!("{name}[{at}] += {value};"),
                _ => format!("let _ = {name}[{at}].{};", self.in_place()),
            });
        }
        match self.below(6) {
            0 | 1 => Some(format!("{name}.push({});", self.tensor())),
            4 => Some(format!("{{ let mut more = vec![{}]; {name}.append(&mut more); }}", self.tensor())),
            2 => {
                let value = self.tensor();
                Some(format!("{name}.insert(0, {value});"))
            }
            3 => {
                self.scope.fill(one.at, 0);
                Some(format!("{name}.{};", self.one_of(LIST_WRITES)))
            }
            _ => {
                let (item, iter) =
                    (self.name(), self.one_of(&["iter_mut()", "iter_mut().skip(1)", "iter_mut().rev()"]));
                Some(format!("for {item} in {name}.{iter} {{ let _ = {item}.{}; }}", self.in_place()))
            }
        }
    }

    pub(super) fn map(&mut self) -> String {
        format!("BTreeMap::from([(0, {}), (2, {})])", self.tensor(), self.tensor())
    }
}
