#![allow(missing_docs, dead_code, unused_variables, unused_macros, unused_imports, clippy::all, clippy::pedantic)]
#[cfg(test)]
mod check;
pub mod a;
pub mod other;
