//! The text of opaque code: holes for its operands, and calls.

use fx_ir::Arg;
use quote::ToTokens;

use crate::trace::opaque::failing::FailingCode;

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

/// What the value of code is called in front of the variables that it writes to: none of them.
pub(in crate::trace) fn value_name(written: &[String]) -> String {
    let mut name = "value".to_owned();
    while written.contains(&name) {
        name.insert_str(0, "fx_");
    }
    name
}

/// Code that hands over its value and behind it the variables that it writes to.
#[derive(Debug, Clone)]
pub(in crate::trace) struct WritingCode {
    pub(in crate::trace) code: String,
    pub(in crate::trace) written: Vec<String>,
    /// Where it may leave the function with an error.
    pub(in crate::trace) failing: Option<FailingCode>,
}

impl WritingCode {
    /// Its template, with the type of the value where the user writes it.
    pub(in crate::trace) fn template(&self, ty: Option<&dyn ToTokens>) -> String {
        let ty = ty.map_or_else(String::new, |ty| format!(": {}", ty.to_token_stream()));
        if let Some(failing) = &self.failing {
            return failing.template(&self.code, &ty, &self.written);
        }
        let value = value_name(&self.written);
        format!("let {value}{ty} = {};\n({value}, {},)", self.code, self.written.join(", "))
    }
}
