//! Forms of statements and expressions that forwards of real crates have, each by itself.

use super::{Write, Writer, Yields};

const FORMS: &[(usize, Write)] =
    &[(2, Writer::try_from), (2, Writer::inner_item), (2, Writer::collected_results), (2, Writer::logged)];

impl Writer {
    /// A tensor by one of the forms.
    pub(super) fn form(&mut self) -> Option<String> {
        self.choose(FORMS)
    }

    /// Parts of a list of known length.
    fn try_from(&mut self) -> Option<String> {
        let of = self.receiver();
        let parts = self.one_of(&[
            "<[Tensor; 2]>::try_from(OF.chunk(2, 1))",
            "TryInto::<[Tensor; 2]>::try_into(OF.chunk(2, 1))",
            "<[Tensor; 2]>::try_from(OF.split(4, -1))",
        ]);
        let parts = parts.replace("OF", &of);
        Some(match self.below(4) {
            0 | 1 => {
                format!("{{ let Ok([q, k]) = {parts} else {{ panic!(\"two parts\") }}; Tensor::cat(&[k, q], 1) }}")
            }
            2 => format!("{{ let [q, k]: [Tensor; 2] = {parts}.unwrap(); Tensor::cat(&[&k, &q], 1) }}"),
            _ => format!("match {parts} {{ Ok([q, k]) => Tensor::cat(&[k, q], 1), Err(all) => Tensor::cat(&all, 1) }}"),
        })
    }

    /// An item within the function's body.
    fn inner_item(&mut self) -> Option<String> {
        let of = self.shared();
        Some(match self.below(4) {
            0 => format!("{{ const BY: i64 = 2; {of} * BY }}"),
            1 => format!("{{ const BY: [f64; 2] = [0.5, 2.0]; {of} * BY[{}] }}", self.index()),
            2 => format!("{{ fn twice(t: &Tensor) -> Tensor {{ t * 2 }} twice({of}) }}"),
            _ => format!("{{ use std::ops::Mul as _; {of}.mul(2) }}"),
        })
    }

    /// A list of results in one result.
    fn collected_results(&mut self) -> Option<String> {
        let (of, name) = (self.shared(), self.name());
        let question = if self.yields == Some(Yields::Fallible) { "?" } else { ".unwrap()" };
        Some(match self.below(3) {
            0 => format!(
                "Tensor::stack(&(0..3i64).map(|at| far::ranked({of}, at % 3)).collect::<Result<Vec<_>, _>>(){question}, 0)\
                 .mean_dim(0i64, false, xs.kind())"
            ),
            1 => {
                let iter = self.over_list()?;
                format!(
                    "{iter}.map(|{name}| far::ranked({name}, 1)).collect::<Result<Vec<Tensor>, _>>(){question}.into_iter()\
                     .fold(xs.tanh(), |a, b| a - b)"
                )
            }
            _ => format!(
                "[{of}, xs].iter().map(|{name}| {name}.f_tanh()).collect::<Result<Vec<_>, _>>().unwrap().remove(0)"
            ),
        })
    }

    /// Only the first of two that a function yields, into a place that is there.
    pub(super) fn assigned_first(&mut self) -> Option<String> {
        let value = self.pair();
        let place = self.tensor_place()?;
        Some(match self.below(4) {
            0 => format!("(_, {place}) = {value};"),
            1 => format!("({place}, ..) = {value};"),
            _ => format!("({place}, _) = {value};"),
        })
    }
}
