//! Loops, all of few turns.

use super::{Type, Write, Writer};

const LOOPS: &[(usize, Write)] = &[
    (5, Writer::for_range),
    (4, Writer::for_layers),
    (4, Writer::for_list),
    (2, Writer::while_counts),
    (2, Writer::loop_breaks),
    (1, Writer::while_pops),
    (1, Writer::for_ints),
];

impl Writer {
    pub(super) fn loops(&mut self) -> Option<String> {
        if self.labels.len() >= 2 {
            return None;
        }
        let label = self.once_in(4).then(|| {
            self.counted += 1;
            format!("'l{}", self.counted)
        });
        let shown = label.as_ref().map_or_else(String::new, |label| format!("{label}: "));
        self.labels.push(label);
        let text = self.choose(LOOPS);
        self.labels.pop();
        let text = text?;
        // Statements may stand before the loop.
        Some(match text.split_once("LABEL") {
            Some((before, after)) => format!("{before}{shown}{after}"),
            None => format!("{shown}{text}"),
        })
    }

    fn turn(&mut self, declared: &[(&str, Type)]) -> String {
        let count = 1 + self.below(3);
        self.repeated(|writer| {
            for (name, ty) in declared {
                writer.scope.declare(name, *ty, false);
            }
            writer.statements(count)
        })
    }

    fn for_range(&mut self) -> Option<String> {
        let name = self.name();
        let range = match self.below(5) {
            0 => "0..self.n",
            1 => "(0..3).rev()",
            2 => "0..STEPS",
            3 => "(1..=4).step_by(2)",
            _ => "0..2",
        };
        let range = if self.has_self { range } else { range.trim_start_matches("0..self.n") };
        let range = if range.is_empty() { "0..xs.size()[0]" } else { range };
        let turn = self.turn(&[(&name, Type::Int)]);
        Some(format!("for {name} in {range} {{ {turn} }}"))
    }

    fn for_layers(&mut self) -> Option<String> {
        if !self.has_self {
            return None;
        }
        let place = self.tensor_place()?;
        let bare = place.trim_start_matches('*').to_owned();
        let (name, at) = (self.one_of(&["layer", "fc"]), self.name());
        let step = match self.below(3) {
            0 => format!("{place} = {name}.forward(&{place}).tanh();"),
            1 => format!("{place} = {bare}.apply({name}) + {};", self.shared()),
            _ => format!("{place} += {name}.forward(xs);"),
        };
        let turn = if self.once_in(2) { self.turn(&[(&at, Type::Int)]) } else { String::new() };
        Some(match self.below(4) {
            0 => format!(
                "for ({at}, {name}) in self.layers.iter().enumerate() {{ let {at} = {at} as i64; {step} {turn} }}"
            ),
            1 => format!("for {name} in self.layers.iter().rev() {{ let {at} = 1; {step} {turn} }}"),
            2 => format!(
                "for {at} in 0..self.layers.len() {{ let {name} = &self.layers[{at}]; let {at} = {at} as i64; {step} {turn} }}"
            ),
            _ => format!("for {name} in &self.layers {{ {step} let {at} = 2; {turn} }}"),
        })
    }

    fn for_list(&mut self) -> Option<String> {
        let (name, at) = (self.name(), self.name());
        if name == at {
            return None;
        }
        let iter = self.over_list()?;
        Some(match self.below(3) {
            0 => format!(
                "for ({at}, {name}) in (0..).zip({iter}) {{ {} }}",
                self.turn(&[(&at, Type::Int), (&name, Type::Shared)])
            ),
            1 => format!(
                "for ({name}, {at}) in {iter}.zip([1i64, 2, 3]) {{ {} }}",
                self.turn(&[(&name, Type::Shared), (&at, Type::Int)])
            ),
            _ => format!("for {name} in {iter} {{ {} }}", self.turn(&[(&name, Type::Shared)])),
        })
    }

    fn while_counts(&mut self) -> Option<String> {
        let name = format!("turn{}", self.labels.len());
        let more = if self.once_in(2) { format!("&& {}", self.boolean()) } else { String::new() };
        let turn = self.turn(&[]);
        Some(format!("let mut {name} = 0; LABEL while {name} < 3 {more} {{ {name} += 1; {turn} }}"))
    }

    fn loop_breaks(&mut self) -> Option<String> {
        let name = format!("turn{}", self.labels.len());
        let label = self.labels.last().cloned().flatten().unwrap_or_default();
        if self.once_in(2) {
            // A loop that yields something is left by `break` with a value alone.
            let labels = std::mem::take(&mut self.labels);
            let turn = self.turn(&[]);
            let value = self.tensor();
            self.labels = labels;
            let (_, pattern) = self.declared(Type::Tensor);
            return Some(format!(
                "let mut {name} = 0; let {pattern} = LABEL loop {{ {name} += 1; {turn} if {name} > 2 {{ break {label} {value}; }} }};"
            ));
        }
        let turn = self.turn(&[]);
        Some(format!("let mut {name} = 0; LABEL loop {{ {name} += 1; if {name} > 3 {{ break {label}; }} {turn} }}"))
    }

    fn while_pops(&mut self) -> Option<String> {
        let list = self.mutable(Type::List)?;
        self.scope.fill(list.at, 0);
        let name = self.name();
        let turn = self.repeated(|writer| {
            writer.scope.moved(list.at);
            writer.scope.declare(&name, Type::Tensor, true);
            writer.statements(2)
        });
        Some(format!("LABEL while let Some(mut {name}) = {}.pop() {{ {turn} }}", list.name))
    }

    fn for_ints(&mut self) -> Option<String> {
        let (name, ints) = (self.name(), self.of_type(Type::Ints)?);
        let turn = self.turn(&[(&name, Type::Int)]);
        Some(match self.below(2) {
            0 => format!("for &{name} in {}.iter().take(3) {{ {turn} }}", ints.name),
            _ => format!("for {name} in {}.iter().copied().skip(1).take(3) {{ {turn} }}", ints.name),
        })
    }
}
