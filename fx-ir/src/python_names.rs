//! The names that torch.fx gives to no node, since they mean something in the Python that it writes.
// tidy: table

/// Python's keywords and builtins, and what torch.fx puts beside them, as far as they are spelled like a variable.
pub(crate) const PYTHON_NAMES: &[&str] = &[
    "False", "None", "True", "abs", "aiter", "all", "and", "anext", "any", "as", "ascii", "assert", "async", "await", "bin",
    "bool", "break", "breakpoint", "bytearray", "bytes", "callable", "chr", "class", "classmethod", "compile", "complex",
    "continue", "copyright", "credits", "def", "del", "delattr", "device", "dict", "dir", "divmod", "elif", "else",
    "enumerate", "eval", "except", "exec", "exit", "filter", "finally", "float", "for", "format", "from", "frozenset",
    "fx_pytree", "getattr", "global", "globals", "hasattr", "hash", "help", "hex", "id", "if", "import", "in", "inf",
    "input", "int", "is", "isinstance", "issubclass", "iter", "lambda", "len", "license", "list", "locals", "map", "max",
    "memoryview", "min", "nan", "next", "nonlocal", "not", "object", "oct", "open", "or", "ord", "pass", "pow", "print",
    "property", "pytree", "quit", "raise", "range", "repr", "return", "reversed", "round", "set", "setattr", "slice",
    "sorted", "staticmethod", "str", "sum", "super", "torch", "try", "tuple", "type", "vars", "while", "with", "yield",
    "zip",
];
