//! The build script: the one line, in a file of its own or in front of what an existing one does.

use std::path::Path;

use super::edit::Edits;
use super::fault::Fault;
use super::source::Source;

/// The whole of a build script that does nothing else.
const WHOLE: &str = "fn main() {\n    fx_passes::Build::new().run()\n}\n";

/// The text before, if there is any, and the text after.
pub(super) fn adopted(root: &Path, name: &str) -> Result<(String, String), Fault> {
    if !root.join(name).exists() {
        return Ok((String::new(), WHOLE.to_owned()));
    }
    let source = Source::read(root, name)?;
    let text = with_call(&source)?;
    Ok((source.text, text))
}

fn with_call(source: &Source) -> Result<String, Fault> {
    if source.text.contains("fx_passes::") {
        return Ok(source.text.clone());
    }
    let main = source.file.items.iter().find_map(|item| match item {
        syn::Item::Fn(item) if item.sig.ident == "main" => Some(item),
        _ => None,
    });
    let main = main.ok_or_else(|| Fault::NoMain { file: source.name.clone() })?;
    let braces = main.block.brace_token.span;
    let open = source.range(braces.open()).end;
    let line = source.line_like(source.range(main.sig.fn_token.span).start);
    // An empty body, or one in the line of its braces, is taken apart.
    let rest = source.text.get(open..source.range(braces.close()).start).unwrap_or_default();
    let end = if rest.contains('\n') { String::new() } else { line.clone() };
    let mut edits = Edits::default();
    edits.insert(open, format!("{line}    fx_passes::Build::new().run();{end}"));
    Ok(edits.applied(&source.text))
}

#[cfg(test)]
mod tests {
    use super::{Source, with_call};

    fn check(before: &str, after: Option<&str>) {
        let source = Source::parse("build.rs".into(), "build.rs", before.to_owned());
        assert_eq!(source.and_then(|source| with_call(&source)).ok().as_deref(), after);
    }

    #[test]
    fn in_front_of_what_is_there() {
        check(
            "// ours\nfn main() {\n    // first\n    println!(\"a\");\n}\n",
            Some("// ours\nfn main() {\n    fx_passes::Build::new().run();\n    // first\n    println!(\"a\");\n}\n"),
        );
        check("fn main() {}\n", Some("fn main() {\n    fx_passes::Build::new().run();\n}\n"));
        let done = "fn main() { fx_passes::Build::new().run() }\n";
        check(done, Some(done));
        check("include!(\"other.rs\");", None);
    }
}
