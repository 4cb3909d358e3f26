//! How long each operation of generated code takes, in the form of a graph's profile.

use std::time::Duration;

use super::profile::{Profile, Timing, add};
use crate::frozen::clock;
use crate::{Device, Result};

/// An operation of a frozen type, as its generated code knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Operation {
    /// Its name: the parts of the model that it computes, `blocks.*.{conv1, bn1}, relu`.
    node: &'static str,
    /// Its opcode, as torch.fx has it.
    opcode: &'static str,
    /// The user's lines.
    lines: &'static str,
    /// The last of them, for which it counts.
    line: &'static str,
    /// The paths of the modules that it stands in, outermost first, between commas; a `*` stands for each element of a list.
    modules: &'static str,
}

impl Operation {
    /// Reads a line of generated code: `node | opcode | modules | lines | line`.
    fn read(text: &'static str) -> Option<Operation> {
        let parts: Vec<&str> = text.split(" | ").collect();
        let [node, opcode, modules, lines, line] = *parts.as_slice() else { return None };
        Some(Operation { node, opcode, lines, line, modules })
    }
}

/// `profile` of a frozen type, and its operations, a line each: name, opcode, modules, lines and the last of them. They are
/// one literal, since rustc takes its time for each of many.
#[macro_export]
#[doc(hidden)]
macro_rules! profiled {
    ($frozen:ident, $title:literal, $operations:literal) => {
        #[allow(warnings, clippy::all, clippy::pedantic)]
        impl $frozen {
            /// Calls `run` `warm_up` times and then `runs` times, at least once, and says how long each operation took.
            ///
            /// On a CUDA device it waits for each operation. A loop's iterations count as one; the replay of a recorded
            /// CUDA graph is one as well and not seen.
            ///
            /// # Errors
            /// Those of `run`.
            pub fn profile<T>(
                &self,
                warm_up: usize,
                runs: usize,
                run: impl ::core::ops::Fn(&Self) -> $crate::Result<T>,
            ) -> $crate::Result<$crate::graph_module::Profile> {
                $crate::graph_module::profile_generated(
                    ($title, self.frame.device()),
                    $operations,
                    (warm_up, runs),
                    &mut || run(self).map(::core::mem::drop),
                )
            }
        }
    };
}

/// Calls `run` `warm_up` times and then `runs` times, at least once; what generated `profile` methods are made of.
///
/// # Errors
///
/// Those of `run`.
#[doc(hidden)]
pub fn profile_generated(
    (graph, device): (&str, Device),
    operations: &'static str,
    (warm_up, runs): (usize, usize),
    run: &mut dyn FnMut() -> Result<()>,
) -> Result<Profile> {
    let operations: Vec<Operation> = operations.lines().filter_map(Operation::read).collect();
    for _ in 0..warm_up {
        run()?;
    }
    let on_cuda = if let Device::Cuda(index) = device { i64::try_from(index).ok() } else { None };
    let runs = runs.max(1);
    let (mut whole, mut nodes): (Vec<Duration>, Vec<Timing>) = (Vec::new(), Vec::new());
    for at in 0..runs {
        let (result, time, laps) = clock::timed(on_cuda, &mut *run);
        result?;
        whole.push(time);
        for lap in laps {
            let known = nodes.iter().position(|node| node.name == lap.node && node.lines == lap.place);
            let position = known.unwrap_or_else(|| {
                nodes.push(timing(lap.node, lap.place, vec![Duration::ZERO; runs]));
                nodes.len() - 1
            });
            nodes[position].calls += lap.calls;
            nodes[position].times[at] += lap.time;
        }
    }
    let mut profile = Profile::new(graph, whole);
    for mut node in nodes {
        let operation = operations.iter().find(|known| known.node == node.name && known.lines == node.lines);
        // What a part of the model runs in its own frozen type is known to that type.
        let modules = operation.map_or("", |operation| operation.modules);
        node.opcode = operation.map_or("call_function", |operation| operation.opcode);
        let of = |name: &str| Timing { calls: node.calls, ..timing(name, "", node.times.clone()) };
        for path in modules.split(',') {
            add(&mut profile.modules, of(path));
        }
        add(&mut profile.lines, of(operation.map_or(&node.lines, |operation| operation.line)));
        profile.nodes.push(node);
    }
    profile.sort();
    Ok(profile)
}

fn timing(name: &str, lines: &str, times: Vec<Duration>) -> Timing {
    Timing { name: name.to_owned(), opcode: "", lines: lines.to_owned(), calls: 0, times }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_read_from_lines() {
        let read = Operation::read("blocks.*.{conv1, bn1}, relu | call_module | ,blocks.* | src/a.rs:3,4 | src/a.rs:4");
        let wanted = Operation {
            node: "blocks.*.{conv1, bn1}, relu",
            opcode: "call_module",
            lines: "src/a.rs:3,4",
            line: "src/a.rs:4",
            modules: ",blocks.*",
        };
        assert_eq!(read, Some(wanted));
        assert_eq!(Operation::read(""), None);
    }
}
