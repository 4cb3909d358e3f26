//! The names of kernels: what a frozen model shows, and what a saved file says.

use std::fmt;
use std::str::FromStr;

use super::{ConvChoice, LinearChoice, Rows};

impl fmt::Display for ConvChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mkl => "MKL",
            Self::OneDnn => "oneDNN",
            Self::Winograd => "oneDNN or Winograd",
            Self::Lt => "cuBLASLt",
            Self::Cudnn => "cuDNN",
            Self::OnePass => "ATen, then one pass",
            Self::Composed => "ATen",
        })
    }
}

impl FromStr for ConvChoice {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Self, Unknown> {
        let all = [Self::Mkl, Self::OneDnn, Self::Winograd, Self::Lt, Self::Cudnn, Self::OnePass, Self::Composed];
        all.into_iter().find(|choice| choice.to_string() == text).ok_or(Unknown)
    }
}

impl fmt::Display for LinearChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Amx => f.write_str("AMX"),
            Self::Dots => f.write_str("dot products"),
            Self::Mkl(Rows::USUAL) => f.write_str("MKL"),
            Self::Mkl(Rows(rows)) => write!(f, "MKL for {rows} rows"),
            Self::OneDnn => f.write_str("oneDNN"),
            Self::Lt(place) => write!(f, "cuBLASLt {}", place + 1),
            Self::CublasLt => f.write_str("cuBLASLt"),
            Self::Composed => f.write_str("ATen"),
            Self::Coded(format) => write!(f, "{format}"),
            Self::Dequantized(format) => write!(f, "ATen on {format}"),
            Self::Dynamic(format) => write!(f, "{format}"),
            Self::Simulated(format) => write!(f, "ATen for {format}"),
        }
    }
}

impl FromStr for LinearChoice {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Self, Unknown> {
        if let Some(rows) = text.strip_prefix("MKL for ").and_then(|rest| rest.strip_suffix(" rows")) {
            return rows.parse().map(|rows: i64| Self::Mkl(Rows::of(rows))).map_err(|_| Unknown);
        }
        let all = [Self::Amx, Self::Mkl(Rows::USUAL), Self::Dots, Self::OneDnn, Self::CublasLt, Self::Composed];
        let all = all.into_iter().chain((0..4).map(Self::Lt)).collect::<Vec<_>>();
        all.into_iter().find(|choice| choice.to_string() == text).ok_or(Unknown)
    }
}

/// The name of no kernel.
#[derive(Debug)]
pub(in crate::frozen) struct Unknown;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        use ConvChoice::{Cudnn, Lt, OnePass, Winograd};
        for choice in [ConvChoice::Mkl, ConvChoice::OneDnn, Winograd, Lt, Cudnn, OnePass, ConvChoice::Composed] {
            assert_eq!(choice.to_string().parse::<ConvChoice>().unwrap(), choice);
        }
        for choice in [
            LinearChoice::Mkl(Rows::USUAL),
            LinearChoice::Mkl(Rows(10)),
            LinearChoice::Amx,
            LinearChoice::Dots,
            LinearChoice::OneDnn,
            LinearChoice::CublasLt,
            LinearChoice::Composed,
        ] {
            assert_eq!(choice.to_string().parse::<LinearChoice>().unwrap(), choice);
        }
        assert!("MKL for ten rows".parse::<LinearChoice>().is_err() && "nothing".parse::<ConvChoice>().is_err());
        assert_eq!((Rows::of(0), Rows::of(7), Rows::of(1 << 40)), (Rows(1), Rows(7), Rows(512)));
    }
}
