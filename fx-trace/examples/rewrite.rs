//! Reads a trace and writes it again: `cargo run -p fx-trace --example rewrite -- FROM.json.gz TO.json.gz`.

use std::process::ExitCode;

use fx_trace::Trace;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let (Some(from), Some(to), None) = (args.next(), args.next(), args.next()) else {
        eprintln!("usage: rewrite FROM TO");
        return ExitCode::from(2);
    };
    match Trace::read(from).and_then(|trace| trace.write(to)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
