//! Blocks over a grid of sizes, frozen against eager in turns: where a generated forward would be the slower one.

pub mod models;

use fx_runtime::{Device, Error, Freeze, Kind, Tensor, nn};
use resnet18::timing::{Samples, in_turns};

use self::models::{
    AddNorm, AddSoftmax, Attention, BiasedAttention, ConvNext, Dense, FeedForward, InvertedResidual, Positions,
    Residual,
};

type Forward = Box<dyn Fn(&Tensor) -> Tensor>;
/// A block's own forward, and the generated one.
type Make = Box<dyn Fn(&nn::Path) -> Result<[Forward; 2], Error>>;

/// A block with its sizes and what it is fed.
pub struct Case {
    /// The block's name and its sizes.
    pub name: String,
    shape: Vec<i64>,
    make: Make,
}

/// Calls of a block whose one call takes microseconds are timed together.
const TOGETHER: usize = 10;
/// How many of these a round times.
const CALLS: usize = 4;

impl Case {
    /// Times both forwards in turns, so many rounds: the model's own, then the generated one, [`Case::TOGETHER`] calls each.
    ///
    /// # Errors
    /// What freezing the block reports.
    pub fn time(&self, rounds: usize) -> Result<[Samples; 2], Error> {
        let vs = nn::VarStore::new(Device::Cpu);
        let [eager, frozen] = (self.make)(&vs.root())?;
        let xs = Tensor::randn(self.shape.as_slice(), (Kind::Float, Device::Cpu));
        let _no_grad = tch::no_grad_guard();
        let some = |forward: &Forward| (0..TOGETHER).for_each(|_| drop(forward(&xs)));
        Ok(in_turns(rounds, CALLS, [&|| some(&eager), &|| some(&frozen)]))
    }

    /// Calls that one sample takes together.
    pub const TOGETHER: usize = TOGETHER;
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
            |net, xs| net.forward(xs)
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
