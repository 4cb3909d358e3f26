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

const LENT_STATEMENTS: &[(usize, Write)] = &[
    (3, Writer::if_pair),
    (3, Writer::if_part),
    (2, Writer::if_lent_part),
    (3, Writer::if_element),
    (4, Writer::over_parts),
    (3, Writer::over_layers),
    (3, Writer::over_tensors),
    (2, Writer::over_numbers),
    (2, Writer::while_long),
    (3, Writer::named_part),
    (2, Writer::apart),
    (2, Writer::closure_writes),
    (2, Writer::hidden),
    (1, Writer::left_unless),
];

impl Writer {
    pub(super) fn lent_write(&mut self) -> Option<String> {
        if self.is_lent || self.writes_self { self.choose(LENT_WRITES) } else { None }
    }

    pub(super) fn lent_statement(&mut self) -> Option<String> {
        if self.is_lent || self.writes_self { self.choose(LENT_STATEMENTS) } else { None }
    }

    /// A place to which is written.
    fn written(&mut self, types: &[Type]) -> Option<Variable> {
        let lends = |ty| matches!(ty, Type::LentKept | Type::LentPart | Type::LentParts | Type::LentMaybe);
        let inside = self.closed;
        let one = self.variable(|one| one.at >= inside && types.contains(&one.ty) && (one.is_mut || lends(one.ty)))?;
        self.scope.free(one.at);
        Some(one)
    }

    /// Statements among which nothing names `held` but by these variables.
    fn holding(&mut self, held: &Variable, declared: &[(&str, Type)], in_loop: bool) -> String {
        let count = 1 + self.below(2);
        let write = |writer: &mut Self| {
            for (name, ty) in declared {
                let at = writer.scope.declare(name, *ty, false);
                writer.scope.hold(held.at, at);
            }
            writer.statements(count)
        };
        if in_loop { self.repeated(write) } else { self.scoped(write) }
    }

    fn two_names(&mut self) -> Option<(String, String)> {
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

    fn if_pair(&mut self) -> Option<String> {
        let (one, other) = self.two_names()?;
        let place = self.written(&[Type::MaybePair, Type::Entries])?;
        let pair =
            if place.ty == Type::Entries { format!("{}[{}]", place.name, self.below(3)) } else { place.name.clone() };
        let (of, ty) = match self.below(5) {
            0 => (format!("&{pair}"), Type::Shared),
            1 => (format!("{pair}.as_ref()"), Type::Shared),
            2 => (format!("&mut {pair}"), Type::Lent),
            3 => (format!("{pair}.as_mut()"), Type::Lent),
            _ => (format!("{pair}.take()"), Type::Tensor),
        };
        let then = self.holding(&place, &[(&one, ty), (&other, ty)], false);
        let mutable = if ty == Type::Tensor { "mut " } else { "" };
        Some(match self.below(3) {
            0 => format!(
                "if let Some(({mutable}{one}, {mutable}{other})) = {of} {{ {then} }} else {{ {} }}",
                self.block()
            ),
            1 => format!(
                "match {of} {{ Some(({mutable}{one}, {mutable}{other})) => {{ {then} }} None => {{ {} }} }}",
                self.block()
            ),
            _ => format!("if let Some(({mutable}{one}, {mutable}{other})) = {of} {{ {then} }}"),
        })
    }

    fn if_part(&mut self) -> Option<String> {
        let name = self.name();
        let place = self.written(&[Type::MaybePart])?;
        let (of, ty) = match self.below(4) {
            0 => (format!("&{}", place.name), Type::SharedPart),
            1 => (format!("{}.as_ref()", place.name), Type::SharedPart),
            2 => (format!("&mut {}", place.name), Type::LentPart),
            _ => (format!("{}.as_mut()", place.name), Type::LentPart),
        };
        if self.once_in(5) {
            let (one, other) = self.two_names()?;
            let then = self.holding(&place, &[(&one, Type::Lent), (&other, Type::LentInt)], false);
            return Some(format!(
                "if let Some(Part {{ k: {one}, n: {other}, .. }}) = &mut {} {{ {then} }}",
                place.name
            ));
        }
        let then = self.holding(&place, &[(&name, ty)], false);
        Some(match self.below(3) {
            0 => format!("if let Some({name}) = {of} {{ {then} }} else {{ {} }}", self.block()),
            1 => format!("match {of} {{ None => {{ {} }} Some({name}) => {{ {then} }} }}", self.block()),
            _ => format!("if let Some({name}) = {of} {{ {then} }}"),
        })
    }

    fn if_lent_part(&mut self) -> Option<String> {
        let name = self.name();
        let place = self.variable(|one| one.ty == Type::MaybeLentPart)?;
        self.scope.free(place.at);
        let then = self.holding(&place, &[(&name, Type::LentPart)], false);
        Some(match self.below(4) {
            0 => format!("if let Some({name}) = {}.as_deref_mut() {{ {then} }}", place.name),
            1 => format!("if let Some({name}) = &mut {} {{ {then} }}", place.name),
            2 => format!("if let Some({name}) = {}.as_mut() {{ {then} }} else {{ {} }}", place.name, self.block()),
            _ => format!(
                "match {}.as_deref_mut() {{ Some({name}) => {{ {then} }} None => {{ {} }} }}",
                place.name,
                self.block()
            ),
        })
    }

    fn if_element(&mut self) -> Option<String> {
        let name = self.name();
        let place = self.written(&[Type::List, Type::Fixed, Type::Parts, Type::LentParts])?;
        let is_part = matches!(place.ty, Type::Parts | Type::LentParts);
        let (way, lends) = match self.below(6) {
            0 => ("last()", false),
            1 => ("first()", false),
            2 => ("get(1)", false),
            3 => ("last_mut()", true),
            4 => ("first_mut()", true),
            _ => ("get_mut(0)", true),
        };
        let ty = match (is_part, lends) {
            (true, true) => Type::LentPart,
            (true, false) => Type::SharedPart,
            (false, true) => Type::Lent,
            (false, false) => Type::Shared,
        };
        let then = self.holding(&place, &[(&name, ty)], false);
        let more = if self.once_in(2) { format!("else {{ {} }}", self.block()) } else { String::new() };
        Some(format!("if let Some({name}) = {}.{way} {{ {then} }} {more}", place.name))
    }

    fn over_parts(&mut self) -> Option<String> {
        let (name, at) = self.two_names()?;
        let place = self.written(&[Type::Parts, Type::LentParts])?;
        let list = place.name.clone();
        self.labels.push(None);
        let text = match self.below(6) {
            0 => {
                let turn = self.holding(&place, &[(&name, Type::LentPart), (&at, Type::Int)], true);
                format!("for ({at}, {name}) in {list}.iter_mut().enumerate() {{ let {at} = {at} as i64; {turn} }}")
            }
            1 => format!(
                "for {name} in {list}.iter_mut().rev() {{ {} }}",
                self.holding(&place, &[(&name, Type::LentPart)], true)
            ),
            2 => format!(
                "for {name} in {list}.iter_mut().skip(1) {{ {} }}",
                self.holding(&place, &[(&name, Type::LentPart)], true)
            ),
            3 => format!(
                "for {name} in {list}.iter() {{ {} }}",
                self.holding(&place, &[(&name, Type::SharedPart)], true)
            ),
            4 => {
                let turn = self.holding(&place, &[(&name, Type::LentPart)], true);
                format!("for {at} in 0..{list}.len() {{ let {name} = &mut {list}[{at}]; {turn} }}")
            }
            _ => format!(
                "for {name} in &mut {list}[..] {{ {} }}",
                self.holding(&place, &[(&name, Type::LentPart)], true)
            ),
        };
        self.labels.pop();
        Some(text)
    }

    /// The layers beside parts of the state.
    fn over_layers(&mut self) -> Option<String> {
        if !self.has_self {
            return None;
        }
        let (name, at) = self.two_names()?;
        let place = self.written(&[Type::Parts, Type::LentParts, Type::Fixed, Type::Entries])?;
        let list = place.name.clone();
        let (ty, step) = match place.ty {
            Type::Fixed => (Type::Lent, format!("*{name} = layer.forward(&*{name}).tanh();")),
            Type::Entries => (Type::Int, format!("*{name} = Some((layer.forward(xs), {}));", self.tensor())),
            _ => (Type::LentPart, format!("{name}.step(&layer.forward(&{name}.k).tanh());")),
        };
        if ty == Type::Int {
            return Some(match self.below(3) {
                0 => format!("for (layer, {name}) in self.layers.iter().zip({list}.iter_mut()) {{ {step} }}"),
                1 => format!(
                    "for ({at}, layer) in self.layers.iter().enumerate() {{ {list}[{at}] = Some((layer.forward(xs), xs.neg())); }}"
                ),
                _ => format!(
                    "for ({at}, layer) in self.layers.iter().enumerate() {{ if let Some((one, other)) = &{list}[{at}] {{ let new = layer.forward(one).tanh() + other; {list}[{at}] = Some((new, one.shallow_clone())); }} }}"
                ),
            });
        }
        self.labels.push(None);
        let turn = self.holding(&place, &[(&name, ty)], true);
        self.labels.pop();
        Some(match self.below(5) {
            0 => format!("for (layer, {name}) in self.layers.iter().zip({list}.iter_mut()) {{ {step} {turn} }}"),
            1 => format!("for ({name}, layer) in {list}.iter_mut().zip(&self.layers) {{ {step} {turn} }}"),
            2 => format!(
                "for ({at}, layer) in self.layers.iter().enumerate() {{ let {name} = &mut {list}[{at}]; {step} {turn} }}"
            ),
            3 => format!(
                "for ({at}, (layer, {name})) in self.layers.iter().zip({list}.iter_mut()).enumerate() {{ let {at} = {at} as i64; {step} {turn} }}"
            ),
            _ => format!("for (layer, {name}) in self.layers.iter().zip({list}.iter_mut().rev()) {{ {turn} {step} }}"),
        })
    }

    fn over_tensors(&mut self) -> Option<String> {
        let (name, at) = self.two_names()?;
        let place = self.written(&[Type::List, Type::Fixed])?;
        let list = place.name.clone();
        self.labels.push(None);
        let ty = if self.once_in(4) { Type::Shared } else { Type::Lent };
        let turn = self.holding(&place, &[(&name, ty)], true);
        self.labels.pop();
        if ty == Type::Shared {
            return Some(format!("for {name} in &{list} {{ {turn} }}"));
        }
        Some(match self.below(5) {
            0 => format!("for {name} in {list}.iter_mut() {{ {turn} }}"),
            1 => format!("for {name} in &mut {list} {{ {turn} }}"),
            2 => format!(
                "for ({at}, {name}) in {list}.iter_mut().enumerate() {{ let {at} = {at} as i64; {turn} *{name} += {at}; }}"
            ),
            3 => format!("for {name} in {list}.iter_mut().rev() {{ {turn} }}"),
            _ => {
                let other = self.over_list()?;
                format!(
                    "for ({name}, other) in {list}.iter_mut().zip({other}) {{ *{name} = &*{name} + other; {turn} }}"
                )
            }
        })
    }

    fn over_numbers(&mut self) -> Option<String> {
        let name = self.name();
        let place = self.written(&[Type::Ints])?;
        let lends = self.rng.bool();
        self.labels.push(None);
        let turn = self.holding(&place, &[(&name, if lends { Type::LentInt } else { Type::Int })], true);
        self.labels.pop();
        Some(if lends {
            format!("for {name} in {}.iter_mut() {{ {turn} }}", place.name)
        } else {
            format!("for &{name} in &{} {{ {turn} }}", place.name)
        })
    }

    fn while_long(&mut self) -> Option<String> {
        let list = self.place(Type::List, true)?;
        let name = self.name();
        let turn = self.repeated(|writer| {
            if let Some(one) = writer.variable(|one| one.name == list) {
                let at = writer.scope.declare(&name, Type::Tensor, true);
                writer.scope.hold(one.at, at);
            }
            writer.statements(1)
        });
        Some(match self.below(3) {
            0 => format!("while {list}.len() > 1 {{ let mut {name} = {list}.remove(0); {turn} }}"),
            1 => format!("while let Some(mut {name}) = {list}.pop() {{ {turn} }}"),
            _ => format!("while {list}.len() < 3 {{ let mut {name} = xs.neg(); {turn} {list}.push(xs.sin()); }}"),
        })
    }

    /// A name for a part of it.
    fn named_part(&mut self) -> Option<String> {
        let name = self.name();
        if self.once_in(2) {
            let place = self.written(&[Type::Part, Type::LentPart])?;
            let then = self.holding(&place, &[(&name, Type::LentPart)], false);
            let lent = if place.ty == Type::Part { "&mut " } else { "&mut *" };
            return Some(format!("{{ let {name} = {lent}{}; {then} }}", place.name));
        }
        let place = self.written(&[Type::Tensor, Type::Int, Type::List, Type::Maybe])?;
        let ty = match place.ty {
            Type::Tensor => Type::Lent,
            Type::Int => Type::LentInt,
            Type::List => Type::LentList,
            _ => Type::LentMaybe,
        };
        let then = self.holding(&place, &[(&name, ty)], false);
        Some(format!("{{ let {name} = &mut {}; {then} }}", place.name))
    }

    /// The state, or a part of it, in its parts.
    fn apart(&mut self) -> Option<String> {
        let (one, other) = self.two_names()?;
        if self.once_in(3) {
            let place = self.written(&[Type::Part, Type::LentPart])?;
            let then = self.holding(&place, &[(&one, Type::Lent), (&other, Type::LentInt)], false);
            return Some(format!(
                "{{ let Part {{ k: {one}, n: {other}, .. }} = &mut {}{}; {then} }}",
                if place.ty == Type::Part { "" } else { "*" },
                place.name
            ));
        }
        let place = self.written(&[Type::LentKept])?;
        let (pattern, first, second) = match self.below(6) {
            0 => (format!("Kept {{ h: {one}, n: {other}, .. }} = "), Type::Lent, Type::LentInt),
            1 => (format!("Kept {{ own: {one}, parts: {other}, .. }} = "), Type::LentPart, Type::LentParts),
            2 => (format!("Kept {{ list: {one}, o: {other}, .. }} = "), Type::LentList, Type::LentMaybe),
            3 => (format!("Kept {{ tn: ({one}, {other}), .. }} = "), Type::Lent, Type::LentInt),
            4 => (format!("Kept {{ row: [{one}, {other}], .. }} = "), Type::Lent, Type::Lent),
            _ => (format!("({one}, {other}) = &mut KEPT.tn; let _ = "), Type::Lent, Type::LentInt),
        };
        let then = self.holding(&place, &[(&one, first), (&other, second)], false);
        let name = place.name;
        if pattern.contains("KEPT") {
            return Some(format!("{{ let {} 0; {then} }}", pattern.replace("KEPT", &name)));
        }
        Some(format!("{{ let {pattern}&mut *{name}; {then} }}"))
    }

    /// A closure that writes to the state.
    fn closure_writes(&mut self) -> Option<String> {
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

    /// A variable that hides the state.
    fn hidden(&mut self) -> Option<String> {
        let one = self.variable(|one| one.ty == Type::LentKept)?;
        self.scope.free(one.at);
        let name = one.name.clone();
        Some(match self.below(3) {
            0 => {
                let then = self.holding(&one, &[(&name, Type::LentPart)], false);
                format!("{{ let {name} = &mut {name}.own; {then} }}")
            }
            1 => {
                let then = self.holding(&one, &[(&name, Type::Tensor)], false);
                format!("{{ let {name} = {name}.h.shallow_clone(); {then} }}")
            }
            _ => {
                let then = self.holding(&one, &[(&name, Type::LentKept)], false);
                format!("{{ let {name} = &mut *{name}; {then} }}")
            }
        })
    }

    /// What is there, or a way out.
    fn left_unless(&mut self) -> Option<String> {
        let name = self.name();
        let place = self.written(&[Type::MaybePart, Type::Maybe, Type::Ints])?;
        let out = self.out()?;
        let (pattern, of, then) = match place.ty {
            Type::MaybePart => (name.clone(), "as_mut()", format!("{name}.bump(2);")),
            Type::Maybe if self.once_in(2) => (name.clone(), "as_mut()", format!("*{name} = {name}.tanh();")),
            Type::Maybe => (name.clone(), "as_ref()", format!("let {name} = {name}.tanh();")),
            _ => (name.clone(), "last_mut()", format!("*{name} += 1;")),
        };
        Some(format!("{{ let Some({pattern}) = {}.{of} else {{ {out} }}; {then} }}", place.name))
    }
}
