//! Which classes a picture shows: the best scores, and their names where a file of labels gives them.

use std::path::Path;

use fx_runtime::{Kind, Tensor};

use crate::Error;

/// One class of a prediction.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// Position among the model's outputs.
    pub index: usize,
    /// Probability, in `[0, 1]`.
    pub score: f64,
    /// What the labels call it.
    pub name: Option<String>,
}

/// The `count` likeliest classes for `logits` `[1, classes]`, best first.
pub fn top(logits: &Tensor, count: i64, labels: Option<&[String]>) -> Result<Vec<Class>, Error> {
    let classes = logits.size().last().copied().unwrap_or(0);
    let scores = logits.f_flatten(0, -1)?.f_softmax(0, Kind::Double)?;
    let (scores, indices) = scores.f_topk(count.min(classes), 0, true, true)?;
    let (scores, indices) = (Vec::<f64>::try_from(scores)?, Vec::<i64>::try_from(indices)?);
    let class = |(score, index): (f64, i64)| {
        let index = usize::try_from(index)?;
        Ok(Class { index, score, name: labels.and_then(|names| names.get(index)).cloned() })
    };
    scores.into_iter().zip(indices).map(class).collect()
}

/// Reads a file of labels: line `n`, from 0, names class `n`. An error names the file.
pub fn load_labels(path: &Path, classes: i64) -> Result<Vec<String>, Error> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("cannot read labels `{}`: {e}", path.display()))?;
    let labels: Vec<String> = text.lines().map(|line| line.trim().to_owned()).collect();
    if i64::try_from(labels.len()) == Ok(classes) {
        return Ok(labels);
    }
    Err(format!("labels `{}` has {} lines, but the model has {classes} classes", path.display(), labels.len()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn best_first() -> Result<(), Error> {
        let labels = ["cat", "dog", "fox"].map(String::from);
        let best = top(
            &Tensor::from_slice(&[[0f32.ln(), 0.75f32.ln(), 0.25f32.ln()]].concat()).view([1, 3]),
            2,
            Some(&labels),
        )?;
        let [first, second] = best.as_slice() else { return Err("not two classes".into()) };
        assert_eq!((first.index, first.name.as_deref()), (1, Some("dog")));
        assert!((first.score - 0.75).abs() < 1e-6 && (second.score - 0.25).abs() < 1e-6);
        assert_eq!(top(&Tensor::zeros([1, 3], fx_runtime::tch::kind::FLOAT_CPU), 5, None)?.len(), 3);
        Ok(())
    }

    #[test]
    fn labels_must_fit() {
        assert!(load_labels(Path::new("no-such.txt"), 3).is_err());
        let wrong = load_labels(Path::new("Cargo.toml"), 3).map_err(|e| e.to_string());
        assert!(wrong.is_err_and(|e| e.ends_with("but the model has 3 classes")));
    }
}
