//! Branches and loops on state, and names for its parts.

use super::{Type, Variable, Write, Writer};

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
    pub(super) fn lent_statement(&mut self) -> Option<String> {
        if self.is_lent() || self.writes_self() { self.choose(LENT_STATEMENTS) } else { None }
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
