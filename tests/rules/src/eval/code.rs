//! The code that rules and passes write: computations of sizes and numbers, and calls of the runtime at freeze time.

use fx_ir::Node;
use fx_runtime::frozen::{at_least_float, attention, fold};
use tch::Tensor;

use super::{Machine, Value, mask};

#[allow(clippy::panic, reason = "it is called in tests")]
impl Machine<'_> {
    pub(super) fn rust(&self, template: &str, node: &Node) -> Value {
        let tensor = |at: usize| self.tensor(&node.args[at]);
        let number = |at: usize| self.number(&node.args[at]);
        #[allow(clippy::cast_precision_loss, reason = "small numbers")]
        match template {
            "vec![$0.size()[$1.dim() - 1]]" => Value::Ints(tensor(0).size().last().copied().into_iter().collect()),
            "$0.size()[0]" => Value::Number(tensor(0).size()[0] as f64),
            "$0.f_to_kind(::fx_runtime::frozen::at_least_float($1.kind()))" => {
                Value::Tensor(tensor(0).to_kind(at_least_float(tensor(0).kind())))
            }
            "::fx_runtime::frozen::attention::added(&$0, &$1)" => pair(attention::added(&tensor(0), &tensor(1))),
            "::fx_runtime::frozen::attention::filled(&$0, &$1, $2)" => {
                pair(attention::filled(&tensor(0), &mask(&tensor(1)), number(2)))
            }
            "($0 / $1)" => Value::Number(number(0) / number(1)),
            "($0 + $1)" => Value::Number(number(0) + number(1)),
            "1.0 / $0" => Value::Number(1.0 / number(0)),
            "$0 + 1" => Value::Number(number(0) + 1.0),
            "$0 < 2" => Value::Bool(number(0) < 2.0),
            other => self.folding(other, node),
        }
    }

    /// A call that folds something into weights.
    fn folding(&self, template: &str, node: &Node) -> Value {
        let call = template.strip_prefix("::fx_runtime::frozen::fold::").and_then(|rest| rest.strip_suffix(')'));
        let Some((name, args)) = call.and_then(|call| call.split_once('(')) else {
            panic!("`{template}` cannot be evaluated here")
        };
        let words: Vec<&str> = args.split([',', '(', ')', '[', ']']).map(str::trim).collect();
        let words: Vec<Value> = words.iter().filter_map(|word| self.word(word, node)).collect();
        match (name, &words[..]) {
            ("scale_before", [Value::Tensor(weight), Value::Number(factor)]) => {
                found(fold::scale_before(weight, *factor), Value::Tensor)
            }
            ("scale_after", [Value::Tensor(weight), bias, Value::Number(factor)]) => {
                found(fold::scale_after(weight, optional(bias), *factor), with_bias)
            }
            ("scaled_by", [Value::Tensor(weight), bias, Value::Tensor(factor), Value::Absent]) => {
                found(fold::scaled_by(weight, optional(bias), factor, None), |folded| {
                    folded.map_or(Value::Absent, with_bias)
                })
            }
            ("linears", parts) => {
                let layers: Vec<_> =
                    parts.chunks(2).filter_map(|pair| Some((optional(&pair[0])?, optional(&pair[1])))).collect();
                found(fold::linears(&layers), with_bias)
            }
            _ => panic!("`{template}` of {words:?} cannot be evaluated here"),
        }
    }

    /// An argument as it is written in a call: `&$0`, `$1.as_ref()`, `None`, `0.5`, `1.0 / 6.0`.
    fn word(&self, word: &str, node: &Node) -> Option<Value> {
        let bare = word.trim_start_matches('&').trim_end_matches(".as_ref");
        match bare.strip_prefix('$') {
            Some(hole) => Some(self.value(&node.args[hole.parse::<usize>().ok()?])),
            None if bare == "None" => Some(Value::Absent),
            None => {
                let (above, below) = bare.split_once(" / ").unwrap_or((bare, "1.0"));
                Some(Value::Number(above.parse::<f64>().ok()? / below.parse::<f64>().ok()?))
            }
        }
    }
}

fn optional(value: &Value) -> Option<&Tensor> {
    match value {
        Value::Tensor(tensor) => Some(tensor),
        _ => None,
    }
}

fn with_bias((weight, bias): (Tensor, Option<Tensor>)) -> Value {
    Value::Tuple(vec![Value::Tensor(weight), bias.map_or(Value::Absent, Value::Tensor)])
}

fn pair(both: Result<(Tensor, Tensor), fx_runtime::Error>) -> Value {
    found(both, |(first, second)| Value::Tuple(vec![Value::Tensor(first), Value::Tensor(second)]))
}

#[allow(clippy::panic, reason = "it is called in tests")]
fn found<T>(found: Result<T, fx_runtime::Error>, value: impl FnOnce(T) -> Value) -> Value {
    found.map(value).unwrap_or_else(|error| panic!("{error}"))
}
