//! Tests of the hand-off: what is written is read, and diagnostics find their item.

use expect_test::expect;
use proc_macro2::Span;
use syn::spanned::Spanned;

use super::*;

fn function(source: &str) -> syn::ItemFn {
    let file = syn::parse_file(source).expect("the source parses");
    match file.items.into_iter().next() {
        Some(syn::Item::Fn(item)) => item,
        other => unreachable!("a function, not {other:?}"),
    }
}

fn add(items: &mut Items, item: &syn::ItemFn, source: &str) -> String {
    items.add(&Key::of_fn(&item.sig, &item.block), &item.sig, &item.block, source)
}

fn diagnostic(span: Span, home: Option<&Key>, message: &str) -> Diagnostic {
    Diagnostic {
        code: Code::NoSuchField,
        severity: Severity::Error,
        span,
        place: Place { file: "src/other.rs".to_owned(), line: 7 },
        home: home.map(ToString::to_string),
        message: message.to_owned(),
        help: "a\thelp\nof two \\ lines".to_owned(),
    }
}

fn sample() -> Items {
    let mut items = Items::default();
    let net = function("\nfn net(x: &T) -> T {\n    x.relu()\n}");
    let other = function("fn Net() {}");
    add(&mut items, &net, "src/lib.rs");
    add(&mut items, &other, "src/lib.rs");
    let file = add(&mut items, &net, "src/b.rs");
    items.withhold(&file);
    assert!(items.report(&diagnostic(net.block.stmts[0].span(), None, "no field `x`")));
    let home = Key::of_fn(&other.sig, &other.block);
    assert!(items.report(&diagnostic(Span::call_site(), Some(&home), "inlined")));
    assert!(!items.report(&diagnostic(Span::call_site(), None, "homeless")));
    let warning =
        Diagnostic { severity: Severity::Warning, ..diagnostic(net.block.stmts[0].span(), None, "a warning") };
    assert!(!items.report(&warning));
    items
}

#[test]
fn writes_one_line_a_fact() {
    expect![[r"
        fx-items 1
        item	net#59870cea3c30080d	net.rs	src/lib.rs:2
        error	FX0006	12-16	no field `x`	a\thelp\nof two \\ lines
        item	Net#68a7ecdef8893891	Net_68a7ecde.rs	src/lib.rs:1
        error	FX0006	1-1	inlined, at src/other.rs:7	a\thelp\nof two \\ lines
        item	net#59870cea3c30080d	-	src/b.rs:2
    "]]
    .assert_eq(&sample().to_text());
}

#[test]
fn reads_what_it_writes() {
    let text = sample().to_text();
    let read = Items::parse(&text).expect("its own text");
    assert_eq!(read.to_text(), text);
    assert_eq!(read.items[0].faults, sample().items[0].faults);
}

#[test]
fn tells_another_version_from_a_broken_file() {
    let error = |text: &str| Items::parse(text).map(|_| ()).expect_err("unusable");
    assert_eq!(error("fx-items 2\nwhatever"), Unusable::Version("2".to_owned()));
    assert_eq!(error(""), Unusable::Line(1));
    assert_eq!(error("fx-items 1\nerror\tFX0006\t1-1\ta\tb"), Unusable::Line(2), "a fault of no item");
    assert_eq!(error("fx-items 1\nitem\tnet#12\tnet.rs\tsrc/lib.rs"), Unusable::Line(2), "no line number");
}

#[test]
fn place_tells_equal_keys_apart() {
    let items = sample();
    let key = items.items[0].key.clone();
    let at = |file: &str, line| Place { file: file.to_owned(), line };
    let found = |place: Place| items.find(&key, &place).map(|item| item.place.file.as_str());
    assert_eq!(found(at("examples/net/src/b.rs", 2)), Some("src/b.rs"));
    assert_eq!(found(at("examples\\net\\src\\lib.rs", 2)), Some("src/lib.rs"));
    assert_eq!(found(at("src/unknown.rs", 9)), Some("src/lib.rs"), "the first");
    let edited = Key { hash: 0, ..key };
    assert!(items.find(&edited, &at("src/b.rs", 2)).is_none());
    assert_eq!(items.find_edited(&edited, &at("src/b.rs", 40)).map(|item| item.place.line), Some(2));
}
