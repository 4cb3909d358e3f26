//! The text form: what [`Graph`](crate::Graph) prints through `Display` and reads back through `FromStr`.
//!
//! Whatever a graph holds, it prints, and the parser builds the same graph again: names, types, origins, regions. A
//! statement takes a line, or several stand in one, parted by `;`. `#` starts a comment that ends with the line.
//!
//! ```text
//! graph Block(self: module<Block>, xs: tensor) {
//!   %conv1 = get_attr[conv1](self) : module<Conv2D>
//!   %y = call_module[Conv2D](%conv1, xs) : tensor  @ src/model.rs:12 as conv1
//!   %down = get_attr[downsample](self) : option<module<Down>>
//!   %skip = match(%down) : tensor {
//!     "Some(%0)" (d: module<Down>) {
//!       %v = call_module[Down](d, xs) : tensor
//!       yield %v
//!     }
//!     "None" {
//!       yield xs
//!     }
//!   }
//!   %sum = add(%y, %skip) : tensor
//!   yield %sum
//! }
//! ```
//!
//! The grammar:
//!
//! ```text
//! graph     = "graph" word params block
//! params    = "(" [ param { "," param } [ "," ] ] ")"
//! param     = name [ ":" type ] [ origin ] [ meta ]
//! block     = "{" { statement separator } "}"                     separator = newline | ";"
//! statement = [ name "=" ] op [ "(" [ item { "," item } [ "," ] ] ")" ] [ ":" type ] [ origin ] [ meta ] regions
//!           | [ name "=" ] "yield" [ arg { "," arg } ] [ ":" type ] [ origin ] [ meta ]
//! item      = arg | key "=" arg                                   key = ident | string
//! op        = "get_attr" "[" word "]" | "call_module" "[" word "]" | "tuple_get" "[" int "]"
//!           | "rust" "[" string { "," flag } "]" | "print"
//!           | "if" | "match" | "for" "[" word "]" | "while" | an op of the table or the catalog
//! flag      = "reference" | "block" { "," "use" string } { "," "let" [ "mut" ] word "=" string }
//!           | "fallible" | "random" | "in_place" "(" int ")" | "state" | "io" | "opaque" "(" string ")"
//! regions   = region [ "else" region ]                            if
//!           | "{" { string region [ separator ] } "}"                 match: a pattern (see below) and its region
//!           | region                                              for
//!           | region "do" region                                  while: the condition, then the body
//! region    = [ params ] block
//! arg       = name | int | float | string | "true" | "false" | "none" | "`" path "`" | "[" [ arg { "," arg } ] "]"
//! name      = "%" ident | "%" string | ident                      the last unless it is a keyword or a number
//! type      = "?" | "tensor" [ dims ] | dtype [ dims ] | "module" "<" text ">" | "rust" "<" text ">"
//!           | "option" "<" type ">" | "list" "<" type ">" | "(" [ type { "," type } ] ")"
//! dims      = "[" [ dim { "," dim } ] "]"                         dim = any text without a comma of its own
//! origin    = "@" [ word ":" int { "+" word ":" int } ] [ "as" word { "+" word } ]
//!             [ "in" module { "+" module } ] [ "by" word { "+" word } ]
//! module    = word [ "[" word "]" ]                               a type and its path; without one the model itself
//! meta      = "$" "(" [ key "=" arg { "," key "=" arg } ] ")"       what the user noted: literals alone
//! word      = { letter | digit | "_" | "." | "/" | "-" | "::" } | string
//! string    = Rust's string literal, escapes and all
//! text      = any text whose "<" and ">" pair up ("->" is no ">"), or a string
//! ```
//!
//! A pattern, in quotes, is Rust's with `%n` for the n-th parameter of its region: `Some((%0, _))`, `[%0, .., %1]`,
//! `Mode::Scaled { factor: %0, .. }`, `(1 | 3..=5)`. The head of a `for` is a pattern, and the adaptors of what it runs
//! over if there are any: `%0 in $0.iter().rev()`.
//!
//! `print(x)` is short for `rust["print($0)", io](x)`, so that a test can speak of an effect. A type that is left out
//! is unknown. Nobody can read a `yield`, so its name is left out unless someone chose one; left out, it is `output` at
//! the end of the graph and `yield` elsewhere, numbered in order. Any other node that the text does not name is called
//! after its op.

mod cursor;
mod parse;
mod parse_op;
mod parse_type;
mod pattern;
mod print;
mod print_op;
#[cfg(test)]
mod tests;
mod word;

pub use cursor::ParseError;
pub(crate) use parse_op::interned;
pub(crate) use print_op::{arg_text, name_text, op_text, origin_text};
