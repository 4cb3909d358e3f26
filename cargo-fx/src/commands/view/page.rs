//! The page: one file, with the data as JSON, the styles and the scripts within.

use fx_trace::report::Report;
use serde_json::Value as Json;

use crate::failure::Failure;

/// The frame of the page, with a comment for each part that is put in.
const FRAME: &str = include_str!("page/page.html");

const STYLE: &str = include_str!("page/style.css");

/// The scripts, each of which uses those before it.
const SCRIPTS: [&str; 9] = [
    include_str!("page/model.js"),
    include_str!("page/folding.js"),
    include_str!("page/layout.js"),
    include_str!("page/pane.js"),
    include_str!("page/details.js"),
    include_str!("page/outline.js"),
    include_str!("page/flame.js"),
    include_str!("page/printing.js"),
    include_str!("page/main.js"),
];

/// The page of an annotated answer, with a comparison of traces where there is one.
pub(super) fn of(view: &Json, traces: Option<&Report>) -> Result<String, Failure> {
    let traces = match traces {
        Some(report) => report.html_body()?,
        None => String::new(),
    };
    let title = escaped(view["model"].as_str().unwrap_or_default());
    let scripts = format!("\"use strict\";\n(() => {{\n{}\n}})();", SCRIPTS.join("\n"));
    // `</script>` in a string of the data would end it.
    let data = view.to_string().replace('<', "\\u003c");
    let parts =
        [("title", &title), ("style", &STYLE.to_owned()), ("traces", &traces), ("data", &data), ("scripts", &scripts)];
    let mut page = String::new();
    let mut rest = FRAME;
    for (name, text) in parts {
        let mark = format!("<!--{name}-->");
        let (before, after) = rest.split_once(&mark).unwrap_or((rest, ""));
        page += before;
        page += text;
        rest = after;
    }
    Ok(page + rest)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
