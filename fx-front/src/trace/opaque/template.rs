//! The text of opaque code: holes for its operands, and calls.

use fx_ir::Arg;

/// Where opaque code mentions the operand, which becomes its last argument.
pub(in crate::trace) fn hole(args: &mut Vec<Arg>, operand: Arg) -> String {
    args.push(operand);
    format!("${}", args.len() - 1)
}

/// A call of `head` with the arguments from `first` to `count`.
pub(in crate::trace) fn called_with(head: &str, first: usize, count: usize) -> String {
    let holes: Vec<String> = (first..count).map(|at| format!("${at}")).collect();
    format!("{head}({})", holes.join(", "))
}

/// How code begins that writes to variables: with the declaration of its value, whose type may follow.
pub(in crate::trace) const WRITING_CODE: &str = "let value";

/// Code that hands over its value and behind it the variables that it writes to.
pub(in crate::trace) fn writing_code(code: &str, written: &[String]) -> String {
    format!("{WRITING_CODE} = {code};\n(value, {},)", written.join(", "))
}
