//! Which other tool wrote a file that is no trace, and what to do about it.

/// What a file turns out to be, and the way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Recognized {
    pub(super) found: &'static str,
    pub(super) help: &'static str,
}

/// What to do where nothing better is known.
const EXPORT: &str = "write one with `prof.export_chrome_trace(\"trace.json.gz\")` of `torch.profiler`";

/// By the first bytes of a file that does not begin with `{`.
pub(super) fn by_content(head: &[u8]) -> Recognized {
    let of = |found, help| Recognized { found, help };
    match head {
        _ if head.trim_ascii_start().starts_with(b"[") => of(
            "a list of events without the object around it",
            "wrap it, `{\"traceEvents\": [..]}`, if its events are those of a PyTorch program",
        ),
        [b'P', b'K', 3, 4, ..] => of("a zip archive or a file of `torch.save`", "unpack it and name the `.json` in it"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => of("a file packed by zstd", "unpack it with `zstd -d`, or pack it with `gzip`"),
        [0xfd, b'7', b'z', b'X', b'Z', ..] => {
            of("a file packed by xz", "unpack it with `xz -d`, or pack it with `gzip`")
        }
        [b'B', b'Z', b'h', ..] => of("a file packed by bzip2", "unpack it with `bzip2 -d`, or pack it with `gzip`"),
        [0x1f, 0x8b, ..] => of("a file that is packed twice", "unpack it once with `gunzip`"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => of("UTF-16 text", "save it as UTF-8, as the profiler wrote it"),
        _ if head.starts_with(b"SQLite format 3") => of(
            "an SQLite database, as Nsight Systems exports",
            "profile with `torch.profiler`: nsys records other events",
        ),
        [0x80, 2..=5, ..] => of("a Python pickle, such as a memory snapshot", EXPORT),
        _ if head.trim_ascii_start().starts_with(b"<") => {
            of("HTML or XML, perhaps the page of a server's error", "look into it, and download the trace again")
        }
        [0x0a | 0x08, ..] => of("a protocol buffer, as Perfetto and pprof write", EXPORT),
        _ => of("no JSON object", EXPORT),
    }
}

/// By the keys of an object without `traceEvents`.
pub(super) fn by_keys(keys: &[String]) -> Recognized {
    let has = |all: &[&str]| all.iter().all(|key| keys.iter().any(|found| found == key));
    let of = |found, help| Recognized { found, help };
    if has(&["shared", "profiles"]) || has(&["$schema", "profiles"]) {
        of("a profile of speedscope", EXPORT)
    } else if has(&["meta", "threads"]) {
        of("a profile of Firefox or samply", EXPORT)
    } else if has(&["schema", "nodes"]) {
        of("an execution trace of PyTorch (Chakra), which has no times of kernels", EXPORT)
    } else if has(&["nbformat"]) {
        of("a Jupyter notebook", "name the trace that it makes")
    } else if has(&["segments", "device_traces"]) {
        of("a memory snapshot of PyTorch", EXPORT)
    } else {
        of("a JSON object without `traceEvents`", EXPORT)
    }
}
