//! A chart as PNG: its SVG, drawn with the fonts of this machine.

use resvg::{tiny_skia, usvg};

use crate::failure::Failure;

/// Pixels for one of the SVG: a screen of today shows letters sharply.
const SCALE: f32 = 2.0;

/// Families without serifs, the best first.
const FAMILIES: [&str; 5] = ["Arial", "DejaVu Sans", "Liberation Sans", "Noto Sans", "Helvetica"];

/// The bytes of a PNG file.
pub(super) fn of(svg: &str) -> Result<Vec<u8>, Failure> {
    let mut options = usvg::Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_system_fonts();
    if fonts.is_empty() {
        return Err(Failure::NoFonts);
    }
    let has = |family: &&str| fonts.faces().any(|face| face.families.iter().any(|(name, _)| name == family));
    let any = || fonts.faces().find_map(|face| face.families.first().map(|(name, _)| name.clone()));
    if let Some(family) = FAMILIES.iter().find(|family| has(family)).map(|family| (*family).to_owned()).or_else(any) {
        fonts.set_sans_serif_family(family);
    }
    let drawn = |reason: &dyn std::fmt::Display| Failure::Draw { reason: reason.to_string() };
    let tree = usvg::Tree::from_str(svg, &options).map_err(|error| drawn(&error))?;
    let size = tree.size().to_int_size().scale_by(SCALE);
    let pixmap = size.and_then(|size| tiny_skia::Pixmap::new(size.width(), size.height()));
    let mut pixmap = pixmap.ok_or_else(|| drawn(&"it has no size"))?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(SCALE, SCALE), &mut pixmap.as_mut());
    pixmap.encode_png().map_err(|error| drawn(&error))
}

#[cfg(test)]
mod tests {
    use super::of;
    use crate::failure::Failure;

    #[test]
    fn letters_are_drawn() {
        let svg = |text: &str| {
            format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"60\" height=\"20\"><text x=\"5\" y=\"15\" \
                 font-family=\"sans-serif\" font-size=\"12\">{text}</text></svg>"
            )
        };
        match (of(&svg("relu")), of(&svg(""))) {
            (Ok(drawn), Ok(blank)) => {
                assert!(drawn.starts_with(b"\x89PNG\r\n\x1a\n"));
                assert!(drawn != blank, "no letter is drawn");
            }
            (Err(failure), _) => assert!(matches!(failure, Failure::NoFonts), "{failure}"),
            (_, Err(failure)) => panic!("{failure}"),
        }
        assert!(of("<svg").is_err_and(|failure| matches!(failure, Failure::Draw { .. } | Failure::NoFonts)));
    }
}
