//! A chart as SVG: bars lie, so that long names can be read, and each says its number.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Chart, fitted, short_number};
use crate::error::{Error, Result};

/// Of the whole picture.
const WIDTH: u32 = 1000;

/// Left of the bars, for names.
const NAMES: i32 = 370;

/// How many letters that is.
const NAME_LETTERS: usize = 57;

/// Right of the bars, for their numbers.
const NUMBERS: i32 = 70;

/// Of a bar with the gap to the next.
const BAR: i32 = 14;

/// Above the first bar: title, axis, legend.
const HEAD: i32 = 84;

/// Of control, test and difference: apart in colour, and in brightness where a print has none.
const COLORS: [RGBColor; 3] = [RGBColor(100, 143, 255), RGBColor(220, 38, 127), RGBColor(150, 150, 150)];

const INK: RGBColor = RGBColor(30, 30, 30);

impl Chart {
    /// The chart as the text of an SVG file.
    pub fn svg(&self) -> Result<String> {
        let mut svg = String::new();
        let groups = i32::try_from(self.groups.len()).unwrap_or(i32::MAX / 1000);
        let height = HEAD + groups * group_height() + 20;
        {
            let area = SVGBackend::with_string(&mut svg, (WIDTH, height.unsigned_abs())).into_drawing_area();
            self.draw(&area).map_err(|error| Error::Chart { reason: error.to_string() })?;
            area.present().map_err(|error| Error::Chart { reason: error.to_string() })?;
        }
        Ok(svg)
    }

    fn draw(&self, area: &Area<'_>) -> Drawn {
        area.fill(&WHITE)?;
        area.draw_text(&self.title, &text(20, HPos::Left), (20, 28))?;
        area.draw_text(&self.axis, &text(13, HPos::Left), (20, 50))?;
        let mut x = NAMES;
        for (series, color) in self.series.iter().zip(COLORS) {
            area.draw(&Rectangle::new([(x, 55), (x + 12, 67)], color.filled()))?;
            let shown = fitted(series, 24);
            area.draw_text(&shown, &text(13, HPos::Left), (x + 18, 61))?;
            x += 40 + 8 * i32::try_from(shown.chars().count()).unwrap_or(24);
        }
        if self.groups.is_empty() {
            return area.draw_text("no difference", &text(13, HPos::Left), (20, 80));
        }
        let scale = Scale::of(self);
        for ((position, group), label) in (0..).zip(&self.groups).zip(self.labels(NAME_LETTERS)) {
            let top = HEAD + position * group_height();
            area.draw_text(&label, &text(12, HPos::Right), (NAMES - 10, top + BAR * 3 / 2))?;
            for ((row, value), color) in (0..).zip(group.bars).zip(COLORS) {
                scale.bar(area, top + row * BAR, value, color)?;
            }
        }
        let bottom = HEAD + i32::try_from(self.groups.len()).unwrap_or(0) * group_height();
        area.draw(&PathElement::new([(scale.zero, HEAD - 4), (scale.zero, bottom)], INK))
    }
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Drawn = std::result::Result<(), DrawingAreaErrorKind<<SVGBackend<'static> as DrawingBackend>::ErrorType>>;

/// Where a value lies on the horizontal axis.
struct Scale {
    /// The pixel of nothing: bars of less go to the left.
    zero: i32,
    /// Pixels for one.
    unit: f64,
}

impl Scale {
    fn of(chart: &Chart) -> Self {
        let values = || chart.groups.iter().flat_map(|group| group.bars);
        let (least, most) = (values().fold(0.0, f64::min), values().fold(0.0, f64::max));
        // A bar to the left has its number there.
        let margin = if least < 0.0 { NUMBERS } else { 0 };
        let room = f64::from(WIDTH.cast_signed() - NAMES - NUMBERS - margin);
        let span = most - least;
        let unit = if span > 0.0 { room / span } else { 0.0 };
        Self { zero: NAMES + margin + pixels(-least * unit), unit }
    }

    fn bar(&self, area: &Area<'_>, top: i32, value: f64, color: RGBColor) -> Drawn {
        let end = self.zero + pixels(value * self.unit);
        let (from, to) = (self.zero.min(end), self.zero.max(end));
        if from < to {
            area.draw(&Rectangle::new([(from, top), (to, top + BAR - 3)], color.filled()))?;
        }
        let (side, x) = if value < 0.0 { (HPos::Right, end - 4) } else { (HPos::Left, end + 4) };
        area.draw_text(&short_number(value), &text(11, side), (x, top + BAR / 2 - 1))
    }
}

/// Of the bars of a name and the gap to the next name.
fn group_height() -> i32 {
    3 * BAR + 12
}

fn pixels(length: f64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "a length within the picture")]
    let pixels = length.round() as i32;
    pixels
}

/// Text of a size, with its middle at the point that it is drawn at.
fn text(points: u32, side: HPos) -> TextStyle<'static> {
    ("sans-serif", points).into_text_style(&(WIDTH, WIDTH)).color(&INK).pos(Pos::new(side, VPos::Center))
}
