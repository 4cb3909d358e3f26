//! Blocks over a grid of sizes, frozen against eager in turns: where a generated forward would be the slower one.

pub mod models;

use std::time::Instant;

use fx_runtime::{Device, Error, Freeze, Kind, Tensor, nn};

use self::models::{
    AddNorm, AddSoftmax, Attention, BiasedAttention, ConvNext, Dense, FeedForward, InvertedResidual, Positions,
    Residual,
};

type Forward = Box<dyn Fn(&Tensor) -> Tensor>;

/// A block with its sizes and what it is fed.
pub struct Case {
    /// The block's name and its sizes.
    pub name: String,
    shape: Vec<i64>,
    make: Box<dyn Fn(&nn::Path) -> Result<[Forward; 2], Error>>,
}

/// Times of one case, in microseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Times {
    /// The model's own forward, call by call.
    pub eager: Vec<f64>,
    /// The generated one.
    pub frozen: Vec<f64>,
}

impl Times {
    /// How many times as fast the generated forward is, by the fastest calls.
    pub fn by_minimum(&self) -> f64 {
        smallest(&self.eager) / smallest(&self.frozen)
    }

    /// The same by medians.
    pub fn by_median(&self) -> f64 {
        median(&self.eager) / median(&self.frozen)
    }
}

/// The fastest of some times.
pub fn smallest(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The median of some times.
pub fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

impl Case {
    /// Times both forwards in turns, so many rounds of some calls each.
    ///
    /// # Errors
    /// What freezing the block reports.
    pub fn time(&self, rounds: usize) -> Result<Times, Error> {
        let vs = nn::VarStore::new(Device::Cpu);
        let [eager, frozen] = (self.make)(&vs.root())?;
        let xs = Tensor::randn(self.shape.as_slice(), (Kind::Float, Device::Cpu));
        let _no_grad = tch::no_grad_guard();
        let calls = calls_of_a_round(&eager, &xs);
        let mut times = Times { eager: vec![], frozen: vec![] };
        for _ in 0..rounds {
            times.eager.push(microseconds(&eager, &xs, calls));
            times.frozen.push(microseconds(&frozen, &xs, calls));
        }
        Ok(times)
    }
}

/// As many as take about two milliseconds.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
fn calls_of_a_round(forward: &Forward, xs: &Tensor) -> usize {
    microseconds(forward, xs, 3);
    (2000.0 / microseconds(forward, xs, 3)).ceil().clamp(1.0, 200.0) as usize
}

/// The time of a call, the mean of some.
#[allow(clippy::cast_precision_loss, reason = "a small number")]
fn microseconds(forward: &Forward, xs: &Tensor, calls: usize) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        drop(std::hint::black_box(forward(std::hint::black_box(xs))));
    }
    start.elapsed().as_secs_f64() * 1e6 / calls as f64
}

macro_rules! case {
    ($name:expr, $shape:expr, $new:expr, |$net:ident, $xs:ident| $call:expr) => {
        Case {
            name: $name,
            shape: $shape,
            make: Box::new(move |p| {
                let net = $new(p);
                let frozen = net.freeze(&Freeze::new())?;
                let eager: Forward = Box::new(move |$xs| {
                    let $net = &net;
                    $call
                });
                let frozen: Forward = Box::new(move |$xs| {
                    let $net = &frozen;
                    $call
                });
                Ok([eager, frozen])
            }),
        }
    };
}

/// All cases.
pub fn cases() -> Vec<Case> {
    let mut all = vec![];
    attention(&mut all);
    rows(&mut all);
    images(&mut all);
    all
}

/// Batch, tokens, heads, width of a head.
const ATTENTION: [[i64; 4]; 17] = [
    [1, 1, 12, 64],
    [1, 4, 4, 16],
    [1, 16, 8, 64],
    [1, 64, 4, 32],
    [1, 128, 12, 64],
    [1, 197, 4, 16],
    [1, 197, 3, 64],
    [1, 512, 8, 32],
    [4, 1, 8, 64],
    [4, 49, 3, 32],
    [8, 64, 4, 16],
    [8, 128, 8, 64],
    [32, 5, 8, 64],
    [32, 17, 4, 16],
    [32, 17, 8, 32],
    [64, 49, 4, 32],
    [128, 9, 2, 8],
];

fn attention(all: &mut Vec<Case>) {
    for [batch, tokens, heads, width] in ATTENTION {
        let sizes = format!("{batch}x{tokens} {heads}x{width}");
        let shape = vec![batch, tokens, heads * width];
        all.push(case!(
            format!("attention {sizes}"),
            shape.clone(),
            move |p| Attention::new(p, heads, width),
            |net, xs| { net.forward(xs) }
        ));
        all.push(case!(
            format!("biased {sizes}"),
            shape,
            move |p| BiasedAttention::new(p, heads, width, tokens),
            |net, xs| net.forward(xs)
        ));
    }
}

fn rows(all: &mut Vec<Case>) {
    for shape in [[1, 1, 64], [1, 17, 64], [32, 17, 17], [1, 128, 768], [8, 197, 197], [4, 64, 1000], [16, 3, 5]] {
        let [batch, tokens, width] = shape;
        let sizes = format!("{batch}x{tokens}x{width}");
        let shape = shape.to_vec();
        all.push(case!(format!("softmax {sizes}"), shape.clone(), move |p| AddSoftmax::new(p, width), |net, xs| net
            .forward(xs)));
        all.push(
            case!(format!("norm {sizes}"), shape.clone(), move |p| AddNorm::new(p, width), |net, xs| net.forward(xs))
        );
        all.push(case!(
            format!("feed-forward {sizes}"),
            shape.clone(),
            move |p| FeedForward::new(p, width),
            |net, xs| net.forward(xs)
        ));
        all.push(
            case!(format!("positions {sizes}"), shape, move |p| Positions::new(p, width), |net, xs| net.forward(xs))
        );
    }
}

fn images(all: &mut Vec<Case>) {
    for shape in [
        [1, 16, 8, 8],
        [1, 64, 7, 7],
        [1, 64, 56, 56],
        [1, 256, 14, 14],
        [8, 32, 16, 16],
        [32, 16, 4, 4],
        [2, 24, 31, 33],
    ] {
        let [batch, channels, height, width] = shape;
        let sizes = format!("{batch}x{channels}x{height}x{width}");
        let shape = shape.to_vec();
        all.push(case!(format!("residual {sizes}"), shape.clone(), move |p| Residual::new(p, channels), |net, xs| net
            .forward_t(xs, false)));
        all.push(case!(format!("dense {sizes}"), shape.clone(), move |p| Dense::new(p, channels), |net, xs| net
            .forward_t(xs, false)));
        all.push(case!(
            format!("inverted {sizes}"),
            shape.clone(),
            move |p| InvertedResidual::new(p, channels),
            |net, xs| net.forward_t(xs, false)
        ));
        all.push(
            case!(format!("convnext {sizes}"), shape, move |p| ConvNext::new(p, channels), |net, xs| net.forward(xs))
        );
    }
}
