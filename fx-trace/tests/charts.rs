//! Charts and pages: what they show, in which order, and that they are whole.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails may do so by panicking")]
#![allow(clippy::needless_raw_string_hashes, reason = "expect-test writes its snapshots so")]

use std::path::Path;

use expect_test::expect;
use fx_trace::chart::{TOP, visualize_counts_diff, visualize_duration_diff};
use fx_trace::report::Report;
use fx_trace::{DeviceType, LabeledTrace, Options, Selection, compare_traces, hta};

fn pair(control: &str, test: &str) -> (LabeledTrace, LabeledTrace) {
    let path = |name| Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/hta/traces/{name}.json.gz"));
    let open = |label, name| LabeledTrace::open(label, path(name)).unwrap();
    (open("Control", control), open("Test", test))
}

/// The golden that HTA made of the sample, as (name, counts, counts, duration, duration).
fn golden() -> Vec<(String, [f64; 4])> {
    let rows = include_str!("hta/goldens/sample_short.csv").lines().skip(1).map(|line| {
        let mut columns: Vec<&str> = line.rsplitn(8, ',').collect();
        columns.reverse();
        let value = |column: usize| columns[column].parse().unwrap();
        (columns[0].trim_matches('"').to_owned(), [value(1), value(3), value(2), value(4)])
    });
    rows.collect()
}

#[test]
fn the_ten_that_changed_most() {
    let (control, test) = pair("control", "test");
    let options = Options { short_names: true, ..Options::default() };
    let table = hta::compare_traces(&control, &test, &options).unwrap();
    for (chart, first) in [(visualize_counts_diff(&table), 0), (visualize_duration_diff(&table), 2)] {
        let mut expected: Vec<(String, [f64; 3])> = golden()
            .into_iter()
            .filter(|(name, _)| !name.starts_with("ProfilerStep"))
            .map(|(name, values)| (name, [values[first], values[first + 1], values[first + 1] - values[first]]))
            .collect();
        expected.sort_by(|a, b| b.1[2].abs().total_cmp(&a.1[2].abs()).then_with(|| a.0.cmp(&b.0)));
        expected.truncate(TOP);
        let shown: Vec<_> = chart.groups.iter().map(|group| (group.name.clone(), group.bars)).collect();
        assert_eq!(shown, expected);
        assert_eq!(chart.series, ["Control", "Test", "Difference"]);
    }
}

fn first_lines(text: &str, count: usize) -> String {
    text.split_inclusive('\n').take(count).collect()
}

#[test]
fn in_letters() {
    let (control, test) = pair("base", "changed");
    let last = Selection { ranks: Vec::new(), iterations: vec![1010] };
    let options = Options { control: last.clone(), test: last, device: DeviceType::Cpu, ..Options::default() };
    let comparison = compare_traces(&control, &test, &options).unwrap();
    expect![[r"
        Ops Count Comparison (Count)
        AddmmBackward0
          Control            0
          Test               1 ███████████████████████████
          Difference        +1 ███████████████████████████
    "]]
    .assert_eq(&first_lines(&visualize_counts_diff(&comparison).text(50), 5));
    let nothing = compare_traces(&control, &control, &options).unwrap();
    assert_eq!(visualize_counts_diff(&nothing).text(50), "Ops Count Comparison (Count)\n  no difference\n");
}

/// Tags that open and close in pairs, and no `<` or `&` of a name among them.
#[track_caller]
fn is_whole(svg: &str) {
    let (mut open, mut rest) = (Vec::new(), svg);
    while let Some(at) = rest.find('<') {
        let end = rest[at..].find('>').unwrap_or_else(|| panic!("a tag has no end: {}", &rest[at..])) + at;
        let tag = &rest[at + 1..end];
        let name: String = tag.trim_start_matches('/').chars().take_while(|letter| letter.is_alphanumeric()).collect();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') && !tag.starts_with('?') && !tag.starts_with('!') {
            assert!(!name.is_empty(), "`<{tag}>`");
            open.push(name);
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn as_svg() {
    let (control, test) = pair("control", "test");
    let table =
        hta::compare_traces(&control, &test, &Options { device: DeviceType::Gpu, ..Options::default() }).unwrap();
    let chart = visualize_duration_diff(&table);
    assert!(chart.groups.iter().any(|group| group.name.contains('<')), "no name needs to be escaped");
    let svg = chart.svg().unwrap();
    is_whole(&svg);
    assert!(svg.contains("Ops Duration Comparison") && svg.contains("Total Duration (us)"));
    // Three bars for each of ten names, but for those of nothing; three of the legend; the background.
    let bars = chart.groups.iter().flat_map(|group| group.bars).filter(|bar| *bar != 0.0).count();
    let drawn = svg.matches("<rect").count();
    assert!(drawn > 4 && drawn <= bars + 4, "{drawn} rectangles for {bars} bars");
}

#[test]
fn as_a_page() {
    let (control, test) = pair("control", "test");
    let comparison = compare_traces(&control, &test, &Options::default()).unwrap();
    let page = Report::from(&comparison).html().unwrap();
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    assert_eq!(page.matches("<svg").count(), 2);
    assert_eq!(page.matches("<tr>").count(), comparison.rows.len() + 1);
    for link in ["http://", "https://", "src=", "@import"] {
        let others =
            page.matches(link).count() - page.matches("http://www.w3.org/").count() * usize::from(link == "http://");
        assert_eq!(others, 0, "the page needs `{link}`");
    }
}
