//! `?`, `Result` and the errors people use.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};
use tch::TchError;

/// The fallible methods of tch throughout.
#[derive(Debug, Module)]
pub struct Fallible {
    fc: nn::Linear,
    dim: i64,
}

#[traceable]
impl Fallible {
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        let (b, c) = xs.size2()?;
        let ys = self.fc.forward(xs).f_relu()?;
        let scores = ys.f_matmul(&ys.f_transpose(-2, -1)?)?;
        let mut scores = scores.f_div_scalar((c as f64).sqrt())?;
        let _ = scores.f_add_scalar_(1.0)?;
        scores.f_softmax(self.dim, Kind::Float)?.f_view([1, b, b])
    }
}

pub type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// A boxed error, under an alias.
#[derive(Debug, Module)]
pub struct Dynamic {
    fc: nn::Linear,
}

impl Dynamic {
    fn checked(&self, xs: &Tensor) -> Outcome<i64> {
        let (_, c) = xs.size2()?;
        if c != 4 {
            return Err(format!("{c} channels, not 4").into());
        }
        Ok(c)
    }
}

#[traceable]
impl Dynamic {
    pub fn forward(&self, xs: &Tensor) -> Outcome<Tensor> {
        let channels = self.checked(xs)?;
        let ys = self.fc.forward(xs);
        let total = f64::try_from(&ys.sum(Kind::Float))?;
        Ok(ys * total / channels as f64)
    }
}

/// An error type of the user's.
#[derive(Debug)]
pub enum ModelError {
    Shape(Vec<i64>),
    Torch(TchError),
}

impl std::fmt::Display for ModelError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for ModelError {}

impl From<TchError> for ModelError {
    fn from(error: TchError) -> Self {
        ModelError::Torch(error)
    }
}

#[derive(Debug, Module)]
pub struct OwnError {
    fc: nn::Linear,
}

#[traceable]
impl OwnError {
    pub fn forward(&self, xs: &Tensor) -> Result<(Tensor, i64), ModelError> {
        if xs.dim() != 2 {
            return Err(ModelError::Shape(xs.size()));
        }
        let ys = self.fc.forward(xs);
        let first = ys.f_select(0, 0)?;
        let n = first.size1().map_err(ModelError::Torch)?;
        Ok((first, n))
    }
}

/// `Option` as the result, `?` on options.
#[derive(Debug, Module)]
pub struct Maybe {
    fc: Option<nn::Linear>,
}

#[traceable]
impl Maybe {
    pub fn forward(&self, xs: &Tensor) -> Option<Tensor> {
        let fc = self.fc.as_ref()?;
        let last = *xs.size().last()?;
        if last != 4 {
            return None;
        }
        Some(fc.forward(xs))
    }
}

/// `unwrap`, `expect`, `ok`, `unwrap_or` on results.
#[derive(Debug, Module)]
pub struct Unwraps {
    fc: nn::Linear,
}

#[traceable]
impl Unwraps {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.f_matmul(&self.fc.ws.tr()).unwrap();
        let zs = ys.f_add(&xs.f_relu().expect("relu")).unwrap_or_else(|_| ys.shallow_clone());
        let dims = zs.size2().ok().map(|(a, b)| a * b).unwrap_or(1);
        match zs.size3() {
            Ok((a, _, _)) => zs * a,
            Err(_) => zs / dims,
        }
    }
}

macro_rules! bail {
    ($($message:tt)*) => {
        return Err(format!($($message)*).into())
    };
}

macro_rules! ensure {
    ($condition:expr, $($message:tt)*) => {
        if !$condition {
            return Err(format!($($message)*).into());
        }
    };
}

/// Macros that return an error, as those of `anyhow` do.
#[derive(Debug, Module)]
pub struct Ensured {
    fc: nn::Linear,
    channels: i64,
}

impl Ensured {
    fn checked(&self, xs: &Tensor) -> Outcome<Tensor> {
        if xs.size()[0] > 3 {
            bail!("{} rows are too many for {} channels", xs.size()[0], self.channels);
        }
        Ok(xs.relu())
    }
}

#[traceable]
impl Ensured {
    pub fn forward(&self, xs: &Tensor) -> Outcome<Tensor> {
        ensure!(xs.dim() == 2, "{} dimensions, not two", xs.dim());
        let (_, c) = xs.size2()?;
        ensure!(c == self.channels, "{c} channels, not {}", self.channels);
        let ys = self.checked(&self.fc.forward(xs))?;
        if c == 0 {
            bail!("nothing there");
        }
        Ok(ys / c)
    }
}

/// What `anyhow` calls so: words for an error, of a `Result` and of an option.
pub trait Context<T>: Sized {
    fn context(self, words: &str) -> Outcome<T>;
    fn with_context(self, words: impl FnOnce() -> String) -> Outcome<T> {
        self.context(&words())
    }
}

impl<T, E: std::fmt::Display> Context<T> for Result<T, E> {
    fn context(self, words: &str) -> Outcome<T> {
        self.map_err(|error| format!("{words}: {error}").into())
    }
}

impl<T> Context<T> for Option<T> {
    fn context(self, words: &str) -> Outcome<T> {
        self.ok_or_else(|| words.into())
    }
}

/// Errors in other words.
#[derive(Debug, Module)]
pub struct Worded {
    fc: nn::Linear,
    head: Option<nn::Linear>,
}

impl Worded {
    /// A method that only has the name.
    fn context(&self, xs: &Tensor) -> Outcome<Tensor> {
        Ok(self.fc.forward(xs))
    }
}

#[traceable]
impl Worded {
    pub fn forward(&self, xs: &Tensor) -> Outcome<Tensor> {
        let (rows, _) = xs.size2().context("two axes")?;
        let ys = self.context(xs)?.f_relu().with_context(|| format!("of {rows} rows"))?;
        let last = xs.size().last().copied().context("no axes")?;
        let ys = match &self.head {
            Some(head) => head.forward(&ys),
            None => ys.f_view([rows, 2, -1]).map_err(|error| error.to_string())?,
        };
        Ok(ys * last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Maybe: 0 of 5);
    understood!(Unwraps: 2 of 16);

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p / "fc", 4, 4, Default::default())
    }

    #[test]
    fn fallible() {
        agree!(|p| Fallible { fc: linear(p), dim: -1 }, [randn(&[2, 4]), randn(&[2, 2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn dynamic() {
        agree!(|p| Dynamic { fc: linear(p) }, [randn(&[2, 4]), randn(&[2, 5]), randn(&[2, 2, 4])], |net, xs| net
            .forward(xs));
    }

    #[test]
    fn ensured() {
        let cases = [randn(&[2, 4]), randn(&[2, 5]), randn(&[2, 2, 4]), randn(&[5, 4])];
        agree!(|p| Ensured { fc: linear(p), channels: 4 }, cases, |net, xs| net.forward(xs));
    }

    #[test]
    fn own_error() {
        agree!(|p| OwnError { fc: linear(p) }, [randn(&[2, 4]), randn(&[2, 2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn maybe() {
        for full in [true, false] {
            agree!(|p| Maybe { fc: full.then(|| linear(p)) }, [randn(&[2, 4]), randn(&[2, 5])], |net, xs| net
                .forward(xs));
        }
    }

    #[test]
    fn unwraps() {
        agree!(|p| Unwraps { fc: linear(p) }, [randn(&[2, 4]), randn(&[3, 2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn worded() {
        for full in [true, false] {
            let head = |p: &nn::Path| full.then(|| nn::linear(p / "head", 4, 4, Default::default()));
            let cases = [randn(&[2, 4]), randn(&[2, 2, 4])];
            agree!(|p| Worded { fc: linear(p), head: head(p) }, cases, |net, xs| net.forward(xs));
        }
    }
}
