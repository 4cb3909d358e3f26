//! Files that are no whole traces: what is said of each, and at which byte.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails may do so by panicking")]
#![allow(clippy::needless_raw_string_hashes, reason = "expect-test writes its snapshots so")]

use std::fs;
use std::io::Write as _;

use expect_test::{Expect, expect};
use flate2::Compression;
use flate2::write::GzEncoder;
use fx_trace::{Trace, TraceSet};
use tempfile::tempdir;

const WHOLE: &str = r#"{
"distributedInfo": {"backend": "nccl", "rank": 2, "world_size": 4},
"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 1, "tid": 1, "ts": 10.5, "dur": 2},
{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 20, "dur": 2}
]}"#;

/// What reading these bytes says, with `FILE` for the path.
#[track_caller]
fn says(bytes: &[u8], expected: &Expect) {
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    fs::write(&path, bytes).unwrap();
    let error = Trace::read(&path).expect_err("the file was read");
    expected.assert_eq(&error.to_string().replace(&path.display().to_string(), "FILE"));
}

fn packed(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn whole() {
    let folder = tempdir().unwrap();
    for bytes in [WHOLE.as_bytes().to_vec(), packed(WHOLE), [b"\xef\xbb\xbf", WHOLE.as_bytes()].concat()] {
        let path = folder.path().join("trace");
        fs::write(&path, bytes).unwrap();
        let trace = Trace::read(&path).unwrap();
        assert_eq!((trace.rank(), trace.events.len(), trace.events[0].begin), (2, 2, 10_500));
    }
}

#[test]
fn empty() {
    let message = expect![
        "`FILE` is empty: the profiler has not written it yet, or was stopped before; call `prof.step()` until the schedule reaches its end, and leave the `with` block before you copy the file"
    ];
    says(b"", &message);
    says(b" \n\t", &message);
    says(&packed(""), &message);
}

/// Wherever a trace is cut, the error is that of a cut trace, at the byte where it was cut.
#[test]
fn cut_anywhere() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    for end in 1..WHOLE.len() {
        fs::write(&path, &WHOLE[..end]).unwrap();
        let message = Trace::read(&path).expect_err("a piece was read").to_string();
        let expected = format!("ends at byte {end} inside");
        assert!(message.contains(&expected), "cut at {end}: {message}");
    }
}

#[test]
fn truncated() {
    let second = WHOLE.find("aten::add").unwrap();
    says(
        &WHOLE.as_bytes()[..second],
        &expect![
            "`FILE` ends at byte 219 inside the list of events, after 1 whole events: it was cut off while it was written or copied; write or copy it again"
        ],
    );
    says(
        &packed(&WHOLE[..second]),
        &expect![
            "`FILE` ends at byte 219 of the unpacked text inside the list of events, after 1 whole events: it was cut off while it was written or copied; write or copy it again"
        ],
    );
    let whole = packed(WHOLE);
    says(
        &whole[..whole.len() - 40],
        &expect![
            "the gzip data of `FILE` is damaged near byte 130 of the file, 133 bytes into its text (it ends too early); copy the file again, in binary mode, or pass an unpacked `.json`"
        ],
    );
}

#[test]
fn damaged_gzip() {
    let mut bytes = packed(WHOLE);
    let last = bytes.len() - 1;
    bytes[last - 5] ^= 0x55;
    says(
        &bytes,
        &expect![
            "the gzip data of `FILE` is damaged near byte 170 of the file, 273 bytes into its text (corrupt gzip stream does not have a matching checksum); copy the file again, in binary mode, or pass an unpacked `.json`"
        ],
    );
}

/// The byte that is named is the one that was changed, or that close to it.
#[test]
fn corrupt_bytes() {
    #[track_caller]
    fn case(from: &str, to: &str, behind: usize, reason: &str) {
        let at = WHOLE.find(from).unwrap() + behind;
        let folder = tempdir().unwrap();
        let path = folder.path().join("trace.json");
        fs::write(&path, WHOLE.replacen(from, to, 1)).unwrap();
        let message = Trace::read(&path).expect_err("the file was read").to_string();
        let help = "write the trace again, or mend it there";
        assert_eq!(message, format!("`{}` is corrupt at byte {at}, in {reason}; {help}", path.display()));
    }
    case("\"aten::add\",", "\"aten::add\";", 11, "event 1: expected `,` or `}`");
    case("10.5", "1o.5", 1, "event 0: expected `,` or `}`");
    case("aten::relu", "aten\\qrelu", 5, "event 0: invalid escape");
    case("{\"ph\"", "{\"ph\"\"", 5, "event 0: expected `:`");
    case("},\n{\"ph", "}\n{\"ph", 2, "event 1: expected `,` or `]` behind an event");
    case("\n]}", "\n]}}", 3, "the trace's own members: there is more text behind the trace's last `}`");
    case("\"rank\": 2", "\"rank\": two", 9, "the trace's own members: expected ident");
    case("[\n", "7, [\n", 0, "the trace's own members: expected `[`, the list of events");
    case("\"traceEvents\": [", "\"traceEvents\"; [", 13, "the trace's own members: expected `:`");
    // A number that is none is named by its event's first byte.
    case(
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::relu\", \"pid\": 1, \"tid\": 1, \"ts\": 10.5",
        "{\"ph\": \"X\", \"ts\": true",
        0,
        "event 0: `ts` is `true`, not a number of microseconds",
    );
}

#[test]
fn invalid_utf8() {
    let mut bytes = WHOLE.as_bytes().to_vec();
    let at = WHOLE.find("relu").unwrap();
    bytes[at] = 0xff;
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    fs::write(&path, bytes).unwrap();
    let message = Trace::read(&path).expect_err("the file was read").to_string();
    assert!(message.contains(", in event 0: invalid unicode code point; "), "{message}");
    let named: usize = message.split("at byte ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    assert!((at..at + "relu\"".len()).contains(&named), "{at}: {message}");
}

#[test]
fn of_other_tools() {
    let names = |bytes: &[u8], found: &str| {
        let folder = tempdir().unwrap();
        let path = folder.path().join("trace.json");
        fs::write(&path, bytes).unwrap();
        let message = Trace::read(&path).expect_err("the file was read").to_string();
        assert!(message.contains("is no Kineto trace: at byte ") && message.contains(found), "{message}");
    };
    names(b"[{\"ph\": \"X\"}]", "a list of events without the object around it");
    names(b"PK\x03\x04....", "a zip archive");
    names(b"SQLite format 3\0", "an SQLite database, as Nsight Systems exports");
    names(b"\x80\x04\x95", "a Python pickle");
    names(b"\x0a\x99\x01", "a protocol buffer, as Perfetto and pprof write");
    names(b"<html>404</html>", "HTML or XML");
    names(b"\x28\xb5\x2f\xfd..", "a file packed by zstd");
    names(b"hello", "no JSON object");
    names(b"{\"$schema\": \"..\", \"shared\": {}, \"profiles\": []}", "a profile of speedscope");
    names(b"{\"meta\": {\"x\": [1, {}]}, \"threads\": []}", "a profile of Firefox or samply");
    names(b"{\"schema\": \"1.0.2-chakra\", \"nodes\": []}", "an execution trace of PyTorch");
    names(b"{}", "a JSON object without `traceEvents`");
    says(
        b"{\"nbformat\": 4}",
        &expect![
            "`FILE` is no Kineto trace: at byte 15 it looks like a Jupyter notebook; name the trace that it makes"
        ],
    );
}

#[test]
fn without_durations() {
    says(
        b"{\"traceEvents\": [{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1, \"args\": {\"name\": \"python\"}}]}",
        &expect!["`FILE` has no event with `cat` and `dur` among its 1: the profiler was active during no step; see the `schedule` of `torch.profiler.profile`"],
    );
}

#[test]
fn folders() {
    let folder = tempdir().unwrap();
    let shown = |error: fx_trace::Error| error.to_string().replace(&folder.path().display().to_string(), "DIR");
    expect![
        "`DIR` has no file that ends in `.json` or `.json.gz`; name a trace, or the folder that holds one for each rank"
    ]
    .assert_eq(&shown(TraceSet::open(folder.path()).unwrap_err()));
    fs::write(folder.path().join("a.json"), WHOLE).unwrap();
    fs::write(folder.path().join("b.json.gz"), packed(&WHOLE.replace("\"rank\": 2", "\"rank\": 0"))).unwrap();
    let set = TraceSet::open(folder.path()).unwrap();
    assert_eq!(set.ranks.keys().copied().collect::<Vec<_>>(), [0, 2]);
    // Of the other rank only the beginning is read.
    fs::write(folder.path().join("a.json"), &WHOLE[..WHOLE.len() - 20]).unwrap();
    assert_eq!(TraceSet::open_ranks(folder.path(), &[]).unwrap().ranks.keys().copied().collect::<Vec<_>>(), [0]);
    assert!(TraceSet::open_ranks(folder.path(), &[0, 2]).is_err());
    fs::write(folder.path().join("a.json"), WHOLE).unwrap();
    assert_eq!(TraceSet::open_ranks(folder.path(), &[2]).unwrap().ranks.keys().copied().collect::<Vec<_>>(), [2]);
    expect!["`DIR` has no trace of rank 1; it has 0, 2"]
        .assert_eq(&shown(TraceSet::open_ranks(folder.path(), &[1]).unwrap_err()));
    fs::write(folder.path().join("c.json"), WHOLE).unwrap();
    expect!["`DIR/a.json` and `DIR/c.json` are both of rank 2; keep one of them, or give them different numbers in `distributedInfo.rank`"]
        .assert_eq(&shown(TraceSet::open(folder.path()).unwrap_err()));
    let absent = shown(TraceSet::open(folder.path().join("none.json")).unwrap_err());
    assert!(absent.starts_with("cannot open `DIR/none.json`: "), "{absent}");
}

/// Values that no key of ours names are skipped, also such as are longer than what is read at once.
#[test]
fn long_values() {
    let long = format!("\"{}\\\"\"", "x".repeat(1_000_000));
    let text =
        WHOLE.replace("\"ts\": 10.5", &format!("\"args\": {{\"Call stack\": {long}, \"stream\": 7}}, \"ts\": 10.5"));
    let text = text.replace("\"traceEvents\"", &format!("\"INFO\": [{long}, {long}], \"traceEvents\""));
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    fs::write(&path, text).unwrap();
    let trace = Trace::read(&path).unwrap();
    assert_eq!((trace.events.len(), trace.events[0].stream), (2, 7));
}

/// What Python's JSON has beyond the standard, Kineto writes and HTA reads.
#[test]
fn not_a_number() {
    let args =
        r#""args": {"stream": 7, "est. achieved occupancy %": NaN, "memory bandwidth (GB/s)": -inf}, "ts": 10.5"#;
    let text = WHOLE.replace("\"ts\": 10.5", args).replace("\"ts\": 20, \"dur\": 2", "\"ts\": 20, \"dur\": Infinity");
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    fs::write(&path, text).unwrap();
    let trace = Trace::read(&path).unwrap();
    assert_eq!((trace.events.len(), trace.events[0].stream), (1, 7), "an event that lasts for ever has no duration");
}

/// However a trace is damaged, reading it ends, and a byte that is named is one of the file's.
#[test]
fn damaged_anyhow() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let mut chance = fastrand::Rng::with_seed(7);
    let mut faults = 0;
    for round in 0..1000 {
        let mut bytes = if round % 5 == 0 { packed(WHOLE) } else { WHOLE.as_bytes().to_vec() };
        for _ in 0..chance.usize(1..4) {
            let at = chance.usize(..bytes.len());
            match chance.u8(..3) {
                0 => bytes[at] = chance.u8(..),
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, *chance.choice(b"{}[]\",:\\0-e").unwrap()),
            }
        }
        fs::write(&path, &bytes).unwrap();
        let Err(error) = Trace::read(&path) else { continue };
        let message = error.to_string();
        let byte =
            message.split(" byte ").nth(1).map(|rest| rest.split(|letter: char| !letter.is_ascii_digit()).next());
        if let Some(byte) = byte.flatten().and_then(|digits| digits.parse::<usize>().ok()) {
            assert!(byte <= bytes.len().max(WHOLE.len() + 4), "{message}");
        }
        faults += 1;
    }
    assert!(faults > 700, "{faults} faults found");
}
