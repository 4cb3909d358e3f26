//! State that is written to: by assignments, by methods, through what lends a part of it.

use super::{Type, Variable, Write, Writer};

const LENT_WRITES: &[(usize, Write)] = &[
    (3, Writer::pair_write),
    (3, Writer::part_write),
    (3, Writer::maybe_part_write),
    (3, Writer::ints_write),
    (3, Writer::list_change),
    (2, Writer::parts_write),
    (3, Writer::kept_write),
    (2, Writer::exchanged),
    (2, Writer::aliased),
];

impl Writer {
    pub(super) fn lent_write(&mut self) -> Option<String> {
        if self.is_lent() || self.writes_self() { self.choose(LENT_WRITES) } else { None }
    }

    /// A place to which is written.
    pub(super) fn written(&mut self, types: &[Type]) -> Option<Variable> {
        let lends = |ty| matches!(ty, Type::LentKept | Type::LentPart | Type::LentParts | Type::LentMaybe);
        let inside = self.closed;
        let one = self.variable(|one| one.at >= inside && types.contains(&one.ty) && (one.is_mut || lends(one.ty)))?;
        self.scope.free(one.at);
        Some(one)
    }

    pub(super) fn two_names(&mut self) -> Option<(String, String)> {
        let (one, other) = (self.name(), self.name());
        (one != other).then_some((one, other))
    }

    fn pair_write(&mut self) -> Option<String> {
        let (left, right) = (self.tensor(), self.tensor());
        let pair = self.pair_place(true)?;
        let named = pair.replace(".kvs[", ".kvs[(xs.dim() - 1) as usize + 0 * ");
        Some(match self.below(7) {
            0 | 1 => format!("{pair} = Some(({left}, {right}));"),
            2 => format!("let _ = {pair}.replace(({left}, {right}));"),
            3 => format!("{pair}.get_or_insert_with(|| ({left}, {right})).0 += 1.0;"),
            4 => format!("{pair} = None;"),
            5 => format!("{named} = Some(({left}, {right}));"),
            _ => format!(
                "if let Some((one, other)) = &mut {pair} {{ *one = other.tanh(); let _ = other.{}; }}",
                self.in_place()
            ),
        })
    }

    fn part_write(&mut self) -> Option<String> {
        let (xs, by, is) = (self.shared(), self.int(), self.boolean());
        let value = self.tensor();
        let part = self.part(true)?;
        Some(match self.below(8) {
            0 => format!("{part}.bump({by});"),
            1 => format!("{part}.step({xs});"),
            2 => format!("if {is} {{ {part}.reset(); }}"),
            3 => format!("*{part}.key_mut() = {value};"),
            4 => format!("let _ = {part}.key_mut().{};", self.in_place()),
            5 => format!("*{part}.key_mut() += {value};"),
            6 => format!("{part}.n = {part}.count() + {by};"),
            _ => format!("{part}.k = &{part}.k * {part}.count() + {xs};"),
        })
    }

    fn maybe_part_write(&mut self) -> Option<String> {
        let value = self.of_lent(Type::Part)?;
        let part = self.place(Type::MaybePart, true)?;
        Some(match self.below(7) {
            0 => format!("{part} = Some({value});"),
            1 => format!("if {part}.is_none() {{ {part} = Some({value}); }}"),
            2 => format!("{part} = None;"),
            3 => format!("let _ = {part}.replace({value});"),
            4 => format!("{part}.get_or_insert_with(|| {value}).bump(3);"),
            5 => format!("match {part}.as_mut() {{ Some(part) => part.bump(2), None => {part} = Some({value}) }}"),
            _ => format!("if let Some(part) = {part}.take() {{ {part} = Some(Part {{ n: part.n + 1, ..part }}); }}"),
        })
    }

    fn ints_write(&mut self) -> Option<String> {
        let by = self.int();
        let ints = self.place(Type::Ints, true)?;
        Some(match self.below(10) {
            0 => format!("{ints}.push({by});"),
            1 => format!("if let Some(last) = {ints}.last_mut() {{ *last += {by} % 5; }}"),
            2 => format!("if !{ints}.is_empty() {{ {ints}[0] += {by} % 5; }}"),
            3 => format!("for one in {ints}.iter_mut() {{ *one = *one * 2 % 7; }}"),
            4 => format!("for (at, one) in {ints}.iter_mut().enumerate() {{ *one += at as i64; }}"),
            5 => format!("{ints} = vec![{by}, 2];"),
            6 => format!("while {ints}.len() > 2 {{ {ints}.pop(); }}"),
            7 => format!("{ints}.extend([{by}, 1]);"),
            8 => format!("{ints}.insert(0, {by});"),
            _ => format!("if {ints}.len() > 1 {{ {ints}.swap(0, 1); {ints}.truncate(2); }}"),
        })
    }

    fn list_change(&mut self) -> Option<String> {
        let value = self.tensor();
        if let Some(fixed) = self.place(Type::Fixed, true).filter(|_| self.rng.bool()) {
            let at = self.below(2);
            return Some(match self.below(7) {
                0 => format!("{fixed}[{at}] = {value};"),
                1 => format!("{fixed}[{at}] += {value};"),
                2 => format!("let _ = {fixed}[{at}].{};", self.in_place()),
                3 => format!("{fixed}.swap(0, 1);"),
                4 => format!("{fixed}.reverse();"),
                5 => format!("let old = std::mem::replace(&mut {fixed}[{at}], {value}); {fixed}[0] += old;"),
                _ => format!("let _ = {fixed}[{at}].narrow(1, {at}, 3).{};", self.in_place()),
            });
        }
        let list = self.place(Type::List, true)?;
        Some(match self.below(10) {
            0 => format!("{list}.push({value});"),
            1 => format!("if {list}.len() > 2 {{ {list}.remove(0); }}"),
            2 => format!("if {list}.len() > 1 {{ {list}.swap(0, 1); }}"),
            3 => format!("if let Some(last) = {list}.last_mut() {{ *last = last.tanh(); }}"),
            4 => format!("if let Some(one) = {list}.get_mut(1) {{ let _ = one.{}; }}", self.in_place()),
            5 => format!("{list} = vec![{value}];"),
            6 => format!("{list}.extend([{value}]);"),
            7 => format!("let all = std::mem::take(&mut {list}); {list}.extend(all.into_iter().map(|one| one.neg()));"),
            8 => format!("{list}.retain(|one| one.dim() > 1);"),
            _ => format!("{list}.insert(0, {value});"),
        })
    }

    fn parts_write(&mut self) -> Option<String> {
        let value = self.of_lent(Type::Part)?;
        let one = self.written(&[Type::Parts, Type::LentParts])?;
        let (name, at) = (one.name, self.below(2));
        Some(match self.below(7) {
            0 if one.ty == Type::Parts => format!("{name}.push({value});"),
            1 => format!("{name}.swap(0, 1);"),
            2 => format!("if let Some(last) = {name}.last_mut() {{ last.bump(3); }}"),
            3 => format!("if let Some(part) = {name}.get_mut({at}) {{ part.k = part.k.tanh(); }}"),
            4 => format!("{name}.iter_mut().for_each(|part| part.bump(1));"),
            5 => {
                format!("let (left, right) = {name}.split_at_mut(1); std::mem::swap(&mut left[0].k, &mut right[0].k);")
            }
            _ => format!("{name}[{at}] = {value};"),
        })
    }

    fn kept_write(&mut self) -> Option<String> {
        let (value, by, float) = (self.tensor(), self.int(), self.float());
        let kept = self.kept(true)?;
        Some(match self.below(11) {
            0 => format!("{kept}.f = {float}.tanh();"),
            1 => format!("{kept}.f *= 0.5;"),
            2 => format!("{kept}.is = !{kept}.is;"),
            3 => format!("{kept}.tn = ({value}, {by});"),
            4 => format!("{kept}.row = [{value}, xs.neg()];"),
            5 => format!("{kept}.row.swap(0, 1);"),
            6 => format!("for one in {kept}.row.iter_mut() {{ *one = one.tanh(); }}"),
            7 => format!("{kept}.push({value});"),
            8 => format!("{kept}.n = {kept}.push({value}) as i64 + {by};"),
            9 => format!("*{kept}.named({}).key_mut() = {value};", self.below(2)),
            _ => format!("if let Some(mean) = {kept}.mean() {{ {kept}.h = mean; }}"),
        })
    }

    /// Values that change places.
    fn exchanged(&mut self) -> Option<String> {
        let value = self.tensor();
        let kept = self.kept(true)?;
        Some(match self.below(9) {
            0 => format!("std::mem::swap(&mut {kept}.h, &mut {kept}.own.k);"),
            1 => format!("std::mem::swap(&mut {kept}.own, &mut {kept}.parts[0]);"),
            2 => format!("{kept}.list = std::mem::take(&mut {kept}.list).into_iter().rev().collect();"),
            3 => format!("{kept}.o = Some(std::mem::replace(&mut {kept}.h, {value}));"),
            4 => format!("if let Some(old) = {kept}.o.take() {{ {kept}.h = old; }}"),
            5 => format!("({kept}.h, {kept}.tn.0) = ({kept}.tn.0.tanh(), {kept}.h.shallow_clone());"),
            6 => format!("{kept}.n = std::mem::take(&mut {kept}.tn.1);"),
            7 => format!("{kept}.pair = {kept}.o.take().map(|one| (one, {value}));"),
            _ => format!("{kept}.own = std::mem::replace(&mut {kept}.parts[1], Part::fresh(xs));"),
        })
    }

    /// One tensor in two places, of which one is written.
    fn aliased(&mut self) -> Option<String> {
        let (place, other) = (self.tensor_place()?, self.tensor_place()?);
        let (of, name) = (self.receiver(), self.name());
        let write = self.in_place();
        Some(match self.below(4) {
            0 => format!("{place} = {of}.shallow_clone(); let _ = {}.{write};", other.trim_start_matches('*')),
            1 => format!("{place} = {of}.shallow_clone(); let _ = {}.{write};", place.trim_start_matches('*')),
            2 => {
                let bare = place.trim_start_matches('*').to_owned();
                self.scope.declare(&name, Type::Tensor, true);
                format!("let mut {name} = {bare}.shallow_clone(); let _ = {bare}.{write};")
            }
            _ => {
                let list = self.place(Type::List, true)?;
                format!("{list}.push({of}.shallow_clone()); let _ = {}.{write};", place.trim_start_matches('*'))
            }
        })
    }

    /// A closure that writes to the state.
    pub(super) fn closure_writes(&mut self) -> Option<String> {
        let (first, second) = (self.shared(), self.shared());
        let (value, write) = (self.tensor(), self.in_place());
        if let Some(list) = self.place(Type::List, true).filter(|_| self.once_in(3)) {
            return Some(format!("{{ let mut add = |one: Tensor| {list}.push(one); add({value}); add(xs.sin()); }}"));
        }
        let place = self.tensor_place()?;
        let bare = place.trim_start_matches('*').to_owned();
        let act = match self.below(3) {
            0 => format!("{place} = &{place} * 0.5 + one;"),
            1 => format!("let _ = {bare}.{write}; {place} += one;"),
            _ => format!("{place} = one.tanh();"),
        };
        Some(format!("{{ let mut act = |one: &Tensor| {{ {act} }}; act(&({first}).tanh()); act(&({second}).sin()); }}"))
    }

    /// What may be asked of the state: conditions and numbers.
    pub(super) fn asked_of_state(&mut self) -> Option<String> {
        Some(match self.below(8) {
            0 => format!("{}.count()", self.part(false)?),
            1 => format!("{}.told().0 % 5", self.part(false)?),
            2 => format!(
                "{}.len() as i64",
                self.place_of(&[Type::List, Type::Ints, Type::Parts, Type::LentParts], false)?
            ),
            3 => format!(
                "{}.is_some() as i64",
                self.place_of(&[Type::MaybePart, Type::MaybePair, Type::MaybeLentPart], false)?
            ),
            4 => format!("{}.last().copied().unwrap_or(1) % 5", self.place(Type::Ints, false)?),
            5 => format!(
                "{}.iter().map(|part| part.n % 3).sum::<i64>()",
                self.place_of(&[Type::Parts, Type::LentParts], false)?
            ),
            6 => format!("{}.first().map(|part| part.n % 3).unwrap_or(1)", self.place(Type::Parts, false)?),
            _ => format!("{}.as_ref().map_or(2, |part| part.count())", self.place(Type::MaybePart, false)?),
        })
    }
}
