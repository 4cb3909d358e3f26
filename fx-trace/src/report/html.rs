//! A report as one page: no other file, no network.

use std::fmt::Write as _;

use super::Report;
use crate::error::Result;

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1e1e1e;--paper:#fff;--line:#ccc;--faint:#666}\
@media(prefers-color-scheme:dark){:root{--ink:#e6e6e6;--paper:#1b1b1f;--line:#444;--faint:#aaa}}\
body{font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:1100px;margin:2rem auto;padding:0 1rem}\
table{border-collapse:collapse;width:100%;font-size:13px}th,td{padding:.25rem .5rem;border-bottom:1px solid var(--line);text-align:right}\
th:first-child,td:first-child{text-align:left;overflow-wrap:anywhere;min-width:18rem}\
th{position:sticky;top:0;background:var(--paper)}svg{max-width:100%;height:auto;background:#fff}\
summary{cursor:pointer}li{overflow-wrap:anywhere}input{font:inherit;width:100%;padding:.4rem;margin:1rem 0;box-sizing:border-box}\
.faint{color:var(--faint)}@media print{input{display:none}}";

/// Hides the rows whose name does not have what is typed.
const SCRIPT: &str = "\
const box=document.getElementById('find'),rows=[...document.querySelectorAll('tbody tr')];\
box.addEventListener('input',()=>{const text=box.value.toLowerCase();\
for(const row of rows)row.hidden=!row.cells[0].textContent.toLowerCase().includes(text)});\
document.addEventListener('keydown',event=>{if(event.key==='/'&&document.activeElement!==box){event.preventDefault();box.focus()}});";

impl Report {
    /// The page.
    pub fn html(&self) -> Result<String> {
        let title = escaped(&self.title);
        let mut page = format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
             content=\"width=device-width\"><title>{title}</title><style>{STYLE}</style></head>\n<body>"
        );
        page += &self.html_body()?;
        let _ = writeln!(page, "<script>{SCRIPT}</script></body></html>");
        Ok(page)
    }

    /// The tables and charts of the page, to be put into another one: without styles, and without the script that hides rows
    /// of `tbody` while something is typed into `#find`.
    pub fn html_body(&self) -> Result<String> {
        let mut page = format!("<h1>{}</h1>\n<ul>", escaped(&self.title));
        for sentence in &self.summary {
            let _ = write!(page, "<li>{}</li>", escaped(sentence));
        }
        page += "</ul>\n";
        for chart in &self.charts {
            let _ = writeln!(page, "<figure aria-label=\"{}\">{}</figure>", escaped(&chart.title), chart.svg()?);
        }
        page += "<h2>Which operators changed</h2>\n";
        for (change, names) in self.ops.lists() {
            let _ = write!(page, "<details><summary>{} {change}</summary><ul>", names.len());
            for name in names {
                let _ = write!(page, "<li><code>{}</code></li>", escaped(name));
            }
            page += "</ul></details>\n";
        }
        self.provenance(&mut page);
        page += "<h2>All names</h2>\n<input id=\"find\" type=\"search\" placeholder=\"part of a name ( / )\" \
                 aria-label=\"part of a name\">\n<table><thead><tr>";
        for column in &self.columns {
            let _ = write!(page, "<th>{}</th>", escaped(column));
        }
        page += "</tr></thead><tbody>\n";
        for row in &self.rows {
            page += "<tr>";
            for cell in row {
                let _ = write!(page, "<td>{}</td>", escaped(cell));
            }
            page += "</tr>\n";
        }
        page += "</tbody></table>\n";
        Ok(page)
    }

    /// What replaced what, from both sides.
    fn provenance(&self, page: &mut String) {
        if self.replacements.is_empty() {
            return;
        }
        let list = |page: &mut String, head: &str, items: &[String]| {
            let _ = write!(page, "<details><summary>{}</summary><ul>", escaped(head));
            for item in items {
                let _ = write!(page, "<li>{}</li>", escaped(item));
            }
            *page += "</ul></details>\n";
        };
        *page += "<h2>What replaced what</h2>\n";
        list(page, &format!("{} kernels by what they replaced", self.replacements.len()), &self.replacements);
        for (name, items) in &self.removed {
            list(page, &format!("{name}: what became of {}", items.len()), items);
        }
    }
}

/// Text without the letters that mean something in HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
