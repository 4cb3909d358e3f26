//! Integers, floats and conditions, all kept small.

use super::{Type, Write, Writer, Yields};

const INTS: &[(usize, Write)] = &[
    (3, |writer| Some(writer.below(4).to_string())),
    (8, Writer::int_variable),
    (3, Writer::int_sum),
    (2, Writer::int_sized),
    (2, |writer| writer.has_self.then(|| "self.n".to_owned())),
    (1, |_| Some("STEPS".to_owned())),
    (1, |writer| Some(format!("1.max({})", writer.int()))),
    (2, |writer| {
        let (is, yes, no) = (writer.boolean(), writer.int(), writer.int());
        Some(format!("if {is} {{ {yes} }} else {{ {no} }}"))
    }),
    (1, |writer| Some(format!("({}) as i64", writer.boolean()))),
    (1, |writer| Some(format!("({} * 2.0) as i64", writer.float()))),
    (2, Writer::int_of_option),
    (2, Writer::int_of_list),
    (2, |writer| writer.of_type(Type::Counter).map(|one| format!("{}({})", one.name, writer.below(4)))),
    (2, |writer| writer.called(Yields::One(Type::Int))),
    (1, Writer::int_matched),
    (3, Writer::asked_of_state),
];

const FLOATS: &[(usize, Write)] = &[
    (3, |writer| Some(writer.one_of(&["0.5f64", "1.25f64", "-0.75f64", "2.0f64"]).to_owned())),
    (6, |writer| writer.of_type(Type::Float).map(|one| one.name)),
    (2, |writer| Some(format!("({} % 9) as f64 * 0.25", writer.int()))),
    (1, |writer| writer.has_self.then(|| "self.scale".to_owned())),
    (2, |writer| Some(format!("({} + {})", writer.float(), writer.float()))),
    (1, |writer| Some(format!("{}.sum(Kind::Double).double_value(&[]).tanh()", writer.receiver()))),
    (1, |writer| Some(format!("({}).min({})", writer.float(), writer.float()))),
];

const BOOLS: &[(usize, Write)] = &[
    (4, Writer::compared),
    (3, |writer| writer.of_type(Type::Bool).map(|one| one.name)),
    (2, |writer| writer.has_self.then(|| "self.flag".to_owned())),
    (2, Writer::told_by_numbers),
    (2, |writer| writer.of_type(Type::Maybe).map(|one| format!("{}.is_some()", one.name))),
    (1, |writer| writer.of_type(Type::MaybeInt).map(|one| format!("{}.is_some_and(|one| one > 1)", one.name))),
    (1, |writer| writer.of_type(Type::List).map(|one| format!("{}.is_empty()", one.name))),
    (1, |writer| Some(format!("!({})", writer.boolean()))),
    (1, |writer| Some(format!("({} && {})", writer.boolean(), writer.boolean()))),
    (1, |writer| Some(format!("({} || {})", writer.boolean(), writer.boolean()))),
    (1, |writer| Some(format!("matches!({}, Mode::Plain | Mode::Times(_))", writer.mode()))),
    (1, |writer| Some(format!("xs.size()[0] > {}", 1 + writer.below(3)))),
];

impl Writer {
    pub(super) fn int(&mut self) -> String {
        self.deeper(INTS).map_or_else(|| self.below(4).to_string(), |text| format!("({text})"))
    }

    pub(super) fn float(&mut self) -> String {
        self.deeper(FLOATS).map_or_else(|| "0.5f64".to_owned(), |text| format!("({text})"))
    }

    pub(super) fn boolean(&mut self) -> String {
        let text = self.deeper(BOOLS).unwrap_or_else(|| "xs.size()[0] > 2".to_owned());
        format!("({text})")
    }

    pub(super) fn mode(&mut self) -> String {
        if let Some(one) = self.of_type(Type::Mode) {
            return one.name;
        }
        match self.below(4) {
            0 if self.has_self => "self.mode".to_owned(),
            1 => "Mode::Plain".to_owned(),
            2 => format!("Mode::Times({})", self.int()),
            _ => format!("(Mode::Both {{ by: {}, is: {} }})", self.float(), self.boolean()),
        }
    }

    fn int_variable(&mut self) -> Option<String> {
        let one = self.variable(|one| matches!(one.ty, Type::Int | Type::LentInt | Type::Held))?;
        Some(match one.ty {
            Type::LentInt => format!("*{}", one.name),
            Type::Held => format!("{}.n", one.name),
            _ => one.name,
        })
    }

    fn int_sum(&mut self) -> Option<String> {
        let (left, right) = (self.int(), self.int());
        Some(match self.below(4) {
            0 => format!("{left} - {right}"),
            1 => format!("({left} % 7) * ({right} % 5)"),
            2 => format!("{left}.max({right})"),
            _ => format!("{left} + {right}"),
        })
    }

    fn int_sized(&mut self) -> Option<String> {
        let of = self.receiver();
        Some(match self.below(3) {
            0 => format!("{of}.size()[1] % 5"),
            1 => format!("{of}.dim() as i64"),
            _ => format!("{of}.size()[0]"),
        })
    }

    fn int_of_option(&mut self) -> Option<String> {
        let one = self.of_type(Type::MaybeInt)?.name;
        let otherwise = self.int();
        Some(match self.below(4) {
            0 => format!("{one}.unwrap_or({otherwise})"),
            1 => format!("match {one} {{ Some(n) if n > 1 => n - 1, Some(n) => n * 3, None => {otherwise} }}"),
            2 => format!("{one}.map(|one| {{ if one > 1 {{ return one - 2; }} one + 4 }}).unwrap_or({otherwise})"),
            _ => format!("{one}.map_or({otherwise}, |one| one + 2)"),
        })
    }

    fn int_of_list(&mut self) -> Option<String> {
        let one = self.variable(|one| matches!(one.ty, Type::Ints | Type::List | Type::Slice))?;
        let name = one.name;
        Some(match (one.ty, self.below(3)) {
            (Type::Ints, 0) => format!("{name}.iter().sum::<i64>() % 11"),
            (Type::Ints, 1) => format!("{name}.iter().map(|one| one % 3).max().unwrap_or(0)"),
            (Type::Ints, _) if one.filled > 0 => format!("{name}[{}]", self.below(one.filled)),
            _ => format!("{name}.len() as i64"),
        })
    }

    fn int_matched(&mut self) -> Option<String> {
        let on = self.int();
        let (first, second, third) = (self.int(), self.int(), self.int());
        let (low, high) = (self.below(2), 2 + self.below(2));
        Some(format!("match {on} {{ {low} => {first}, n if n > {high} => n % 6, {high} => {second}, _ => {third} }}"))
    }

    fn compared(&mut self) -> Option<String> {
        let (left, right) = (self.int(), self.below(4));
        let how = self.one_of(&[">", "<", "==", "!=", ">="]);
        Some(format!("{left} {how} {right}"))
    }

    /// What the numbers of an input say.
    fn told_by_numbers(&mut self) -> Option<String> {
        let of = self.receiver();
        Some(format!("{of}.sum(Kind::Double).double_value(&[]) > {}", self.one_of(&["0.", "-3.", "5."])))
    }

    pub(super) fn ints(&mut self) -> String {
        match self.below(4) {
            0 => format!("vec![{}, {}]", self.int(), self.int()),
            1 => format!("(0..{} % 4).map(|at| at * 2).collect::<Vec<i64>>()", self.int()),
            2 => format!("{}.size()", self.receiver()),
            _ => "Vec::<i64>::new()".to_owned(),
        }
    }
}
