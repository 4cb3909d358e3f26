//! The book of `docs/` and the README: one module a chapter, with the chapter's models and its text as documentation.
//!
//! The build script gathers what a chapter holds. A listing that is marked `rust,ignore` is items of the module, so that the
//! build script's tracer sees its models; every other Rust listing is a doc test, which names the models by the module's path.

#![allow(missing_docs, dead_code, reason = "listings are written for their chapters")]

include!(concat!(env!("OUT_DIR"), "/book/src/lib.rs"));
