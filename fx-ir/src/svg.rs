//! The graph as a picture: SVG, drawn without any other program.

use std::fmt::Write as _;

use crate::layout::{Edge, Layout};
use crate::{Graph, NodeId, Op};

/// The width of a character, the height of a line, the space around a text and between layers, in pixels.
const CHARACTER: f64 = 7.0;
const LINE: f64 = 15.0;
const PADDING: f64 = 8.0;
const LAYER: f64 = 36.0;
const MARGIN: f64 = 12.0;

/// The height of a box: three lines.
const HEIGHT: f64 = 3.0 * LINE + 2.0 * PADDING;

const STYLE: &str = "text{font:12px monospace;text-anchor:middle;fill:#222}.name{font-weight:bold}\
    rect{stroke:#555;fill:#fff}.placeholder,.output{fill:#e8f0e4}.get_attr{fill:#f4eeda}.call_module{fill:#dfe9f5}\
    .if,.match,.for,.while{fill:#f3e0e6}path{fill:none;stroke:#777}.owner{stroke-dasharray:4 3}";

impl Graph {
    /// The graph as an SVG image: a box for each node, below those that it reads. A dashed line leads from control flow to
    /// what stands in its regions.
    ///
    /// ```
    /// let graph: fx_ir::Graph = "graph f(x: f32[2]) { %y = relu(x) ; yield %y }".parse()?;
    /// assert!(graph.to_svg().starts_with("<svg "));
    /// # Ok::<(), fx_ir::ParseError>(())
    /// ```
    pub fn to_svg(&self) -> String {
        let layout = Layout::of(self, |id| self.box_width(id));
        let height = 2.0 * MARGIN + (layers_above(layout.layers) - LAYER).max(0.0);
        let width = layout.width + 2.0 * MARGIN;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
             height=\"{height:.0}\">\n<title>{}</title>\n<style>{STYLE}</style>\n",
            escaped(&self.name)
        );
        for edge in &layout.edges {
            let class = if edge.is_owner { " class=\"owner\"" } else { "" };
            let _ = writeln!(out, "<path{class} d=\"{}\"/>", curve(edge));
        }
        for (&id, &(layer, middle)) in &layout.boxes {
            self.draw_box(id, middle + MARGIN, layers_above(layer) + MARGIN, &mut out);
        }
        out + "</svg>\n"
    }

    fn draw_box(&self, id: NodeId, middle: f64, top: f64, out: &mut String) {
        let (node, width) = (self.node(id), self.box_width(id));
        let round = if matches!(node.op, Op::Placeholder | Op::Yield) { HEIGHT / 2.0 } else { 4.0 };
        let left = middle - width / 2.0;
        let _ = writeln!(
            out,
            "<rect class=\"{}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{HEIGHT}\" rx=\"{round}\"/>",
            node.op.opcode()
        );
        let lines = self.box_texts(id);
        let rows = f64::from(u32::try_from(lines.len()).unwrap_or(u32::MAX));
        let mut baseline = top + (HEIGHT - rows * LINE) / 2.0 + 0.8 * LINE;
        for (at, line) in lines.iter().enumerate() {
            let class = if at == 0 { " class=\"name\"" } else { "" };
            let _ = writeln!(out, "<text{class} x=\"{middle:.1}\" y=\"{baseline:.1}\">{}</text>", escaped(line));
            baseline += LINE;
        }
    }

    /// What stands in a box; in a region the branch comes before the name.
    fn box_texts(&self, id: NodeId) -> Vec<String> {
        let mut lines = self.box_lines(id);
        if let Some((_, branch)) = self.branch_of(id) {
            lines[0] = format!("{branch}: {}", lines[0]);
        }
        lines
    }

    fn box_width(&self, id: NodeId) -> f64 {
        let longest = self.box_texts(id).iter().map(|line| line.chars().count()).max().unwrap_or(0);
        f64::from(u32::try_from(longest).unwrap_or(u32::MAX)) * CHARACTER + 2.0 * PADDING
    }
}

/// The height of so many layers with the space behind each.
fn layers_above(layers: usize) -> f64 {
    f64::from(u32::try_from(layers).unwrap_or(u32::MAX)) * (HEIGHT + LAYER)
}

/// A curve from the lower side of the first box through the points to the upper side of the last one.
fn curve(edge: &Edge) -> String {
    let mut out = String::new();
    for (at, pair) in edge.points.windows(2).enumerate() {
        let [(from_layer, from), (to_layer, to)] = [pair[0], pair[1]];
        let (from, to) = (from + MARGIN, to + MARGIN);
        let (start, end) = (layers_above(from_layer) + HEIGHT + MARGIN, layers_above(to_layer) + MARGIN);
        if at == 0 {
            let _ = write!(out, "M{from:.1} {start:.1}");
        } else {
            // Past the boxes of the layer that it skips.
            let _ = write!(out, "L{from:.1} {start:.1}");
        }
        let middle = f64::midpoint(start, end);
        let _ = write!(out, "C{from:.1} {middle:.1} {to:.1} {middle:.1} {to:.1} {end:.1}");
    }
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use crate::Graph;

    #[test]
    fn every_node_has_a_box_and_every_argument_a_line() -> Result<(), crate::ParseError> {
        let graph: Graph = r#"graph f<&>(x: f32[2], flag: rust<bool>) {
            %y = if(flag) { %a = rust["$0 < 1"](x) ; yield %a } else { yield x }
            %z = add(%y, x)
            yield %z
        }"#
        .replace("f<&>", "\"f<&>\"")
        .parse()?;
        let svg = graph.to_svg();
        assert_eq!(svg.matches("<rect ").count(), graph.nodes().len());
        assert_eq!(svg.matches("<path d=").count(), 7, "{svg}");
        assert_eq!(svg.matches("<path class=\"owner\"").count(), 2, "{svg}");
        for text in ["<title>f&lt;&amp;&gt;</title>", ">then: a<", ">$0 &lt; 1<", ">f32[2]<", "class=\"if\""] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        assert_eq!(svg, graph.to_svg());
        Ok(())
    }
}
