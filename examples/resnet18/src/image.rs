//! From a picture to the tensor that torchvision's pretrained classifiers expect.
//!
//! The steps of `torchvision.transforms._presets.ImageClassification(crop_size=224)`: resize the shorter side to 256
//! with an antialiased triangle ("bilinear") filter, crop the central 224 x 224, scale to `[0, 1]`, and normalise each
//! channel by the mean and deviation of ImageNet. An alpha channel is dropped, not blended, as Pillow does.

use std::path::Path;

use fx_runtime::Tensor;
use image::imageops::FilterType;
use image::{ImageReader, RgbImage, imageops};

use crate::Error;

/// The shorter side after resizing, in pixels.
const SHORTER: u32 = 256;

/// Height and width of the crop, in pixels.
const CROP: u32 = 224;

/// A picture more than this many times longer than wide would fill the memory once resized.
const LONGEST_ASPECT: u32 = 100;

const MEAN: [f32; 3] = [0.485, 0.456, 0.406];
const DEVIATION: [f32; 3] = [0.229, 0.224, 0.225];

/// Reads a JPEG or PNG file as a batch of one, `f32[1, 3, 224, 224]`.
///
/// The kind of file is told by its content. An error names the file.
pub fn load(path: &Path) -> Result<Tensor, Error> {
    let with_path = |error: &dyn std::fmt::Display| format!("cannot read image `{}`: {error}", path.display());
    let reader = ImageReader::open(path).map_err(|e| with_path(&e))?;
    let reader = reader.with_guessed_format().map_err(|e| with_path(&e))?;
    let picture = reader.decode().map_err(|e| with_path(&e))?;
    preprocess(&picture.to_rgb8()).map_err(|e| with_path(&e).into())
}

/// Resizes, crops and normalises a picture to `f32[1, 3, 224, 224]`.
pub fn preprocess(picture: &RgbImage) -> Result<Tensor, Error> {
    let (width, height) = picture.dimensions();
    let (shorter, longer) = (width.min(height), width.max(height));
    if shorter == 0 || longer / shorter > LONGEST_ASPECT {
        return Err(format!("{width} x {height} pixels are too narrow to be resized").into());
    }
    let side = |side: u32| u32::try_from(u64::from(SHORTER) * u64::from(side) / u64::from(shorter));
    let resized = imageops::resize(picture, side(width)?, side(height)?, FilterType::Triangle);
    let (left, top) = (central(resized.width()), central(resized.height()));
    let crop = imageops::crop_imm(&resized, left, top, CROP, CROP).to_image();
    let side = i64::from(CROP);
    let pixels = Tensor::f_from_slice(crop.as_raw())?.f_view([1, side, side, 3])?.f_permute([0, 3, 1, 2])?;
    let per_channel = |values: &[f32; 3]| Tensor::from_slice(values).view([1, 3, 1, 1]);
    Ok(((pixels / 255.0) - per_channel(&MEAN)) / per_channel(&DEVIATION))
}

/// Where a central crop begins: half of what is cut off, with halves rounded to even, as torchvision does.
fn central(side: u32) -> u32 {
    let cut = side - CROP;
    cut / 2 + u32::from(cut % 4 == 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One level of 255, in the units of the narrowest channel: Pillow rounds after each of its two passes, we once.
    const ONE_LEVEL: f64 = 1.0 / 255.0 / 0.224 + 1e-5;

    fn pattern(width: u32, height: u32) -> RgbImage {
        RgbImage::from_fn(width, height, |x, y| {
            image::Rgb([x * 7 + y * 3, x * 2 + y * 11, x * y].map(|level| level.to_le_bytes()[0]))
        })
    }

    /// Expected: `ImageClassification(crop_size=224)(PIL.Image.fromarray(pattern))` of torchvision 0.26.0 with Pillow
    /// 13.0.0; the three means, then each channel's pixels (0, 0), (100, 57) and (223, 223) as `[row, column]`.
    #[test]
    fn as_torchvision() -> Result<(), Error> {
        let cases = [
            (
                400,
                300,
                [0.064_659, 0.196_34, 0.383_812],
                [-1.758_28, -0.8678, -0.7993, -0.530_11, 1.9909, 0.730_39, -0.5844, 0.600_78, 1.437_39],
            ),
            (
                300,
                517,
                [0.064_491, 0.197_063, 0.379_567],
                [0.108_31, -1.244_54, -1.176_04, 0.607_84, -1.370_45, 1.850_84, 0.5485, 0.775_08, 0.531_07],
            ),
            (
                97,
                64,
                [-0.048_605, 0.320_764, 0.417_378],
                [0.485_06, -0.902_05, 1.255_67, -0.635_15, 0.205_18, -1.387_96, -0.532_11, 1.960_26, 0.879_65],
            ),
        ];
        for (width, height, means, pixels) in cases {
            let tensor = preprocess(&pattern(width, height))?;
            assert_eq!(tensor.size(), [1, 3, 224, 224]);
            for (channel, mean) in (0..).zip(means) {
                let found = tensor.select(1, channel).mean(fx_runtime::Kind::Double).double_value(&[]);
                assert!((found - mean).abs() < ONE_LEVEL / 4.0, "{width}x{height}: mean {found}, torchvision {mean}");
            }
            let places = (0..3).flat_map(|channel| [[0, channel, 0, 0], [0, channel, 100, 57], [0, channel, 223, 223]]);
            for (place, wanted) in places.zip(pixels) {
                let found = tensor.double_value(&place);
                assert!(
                    (found - wanted).abs() < ONE_LEVEL,
                    "{width}x{height} {place:?}: {found}, torchvision {wanted}"
                );
            }
        }
        Ok(())
    }

    #[test]
    fn names_what_it_cannot_read() {
        let missing = load(Path::new("no-such.jpg")).map_err(|e| e.to_string());
        assert!(missing.is_err_and(|e| e.starts_with("cannot read image `no-such.jpg`: ")));
        let text = load(Path::new("Cargo.toml")).map_err(|e| e.to_string());
        assert!(text.is_err_and(|e| e.starts_with("cannot read image `Cargo.toml`: ")));
        assert!(preprocess(&RgbImage::new(1, 4000)).is_err());
    }
}
