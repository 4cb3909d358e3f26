//! Loops over layers that say in which iteration they are, so that an error names the layer: `features.3.1`.

use std::cell::RefCell;

/// A loop that is running.
#[derive(Debug)]
struct Running {
    /// The element's name in the graph, which ends in the place of its position: `features.*`.
    label: &'static str,
    position: usize,
}

thread_local! {
    /// The loops that are running on this thread, outermost first.
    static RUNNING: RefCell<Vec<Running>> = const { RefCell::new(Vec::new()) };
}

/// The elements of a loop over layers, the first of which has the position `first`.
///
/// While one of them is computed, an error that names `label` names its position.
pub fn iterations<I: IntoIterator>(label: &'static str, first: usize, over: I) -> Iterations<I::IntoIter> {
    Iterations { inner: over.into_iter(), depth: begin(label, first), is_begun: false }
}

/// Begins a loop; how many are running with it. These functions are compiled once, whatever the loops run over.
fn begin(label: &'static str, position: usize) -> usize {
    RUNNING.with_borrow_mut(|running| {
        running.push(Running { label, position });
        running.len()
    })
}

/// The loop goes on to its next position.
fn step(depth: usize) {
    RUNNING.with_borrow_mut(|running| {
        if let Some(running) = running.get_mut(depth - 1) {
            running.position += 1;
        }
    });
}

/// The loop ends, and all within it.
fn end(depth: usize) {
    RUNNING.with_borrow_mut(|running| running.truncate(depth - 1));
}

/// What [`iterations`] yields.
#[derive(Debug)]
pub struct Iterations<I> {
    inner: I,
    /// How many loops are running with this one.
    depth: usize,
    is_begun: bool,
}

impl<I: Iterator> Iterator for Iterations<I> {
    type Item = I::Item;

    #[inline]
    fn next(&mut self) -> Option<I::Item> {
        if self.is_begun {
            step(self.depth);
        }
        self.is_begun = true;
        self.inner.next()
    }
}

impl<I> Drop for Iterations<I> {
    fn drop(&mut self) {
        end(self.depth);
    }
}

/// The name of a node with the positions of the loops that are running.
pub(super) fn with_positions(node: &str) -> String {
    RUNNING.with_borrow(|running| {
        let mut known: Vec<(String, String)> = Vec::new();
        let named = |text: &str, known: &[(String, String)]| {
            known.iter().fold(text.to_owned(), |text, (label, found)| text.replace(label, found))
        };
        for Running { label, position } in running {
            let label = named(label, &known);
            let found = label.strip_suffix('*').map(|list| format!("{list}{position}"));
            known.extend(found.map(|found| (label.clone(), found)));
        }
        named(node, &known)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_the_iteration() {
        let mut names = Vec::new();
        for _ in iterations("stages.*", 0, 0..2) {
            for _ in iterations("stages.*.blocks.*", 1, 0..2) {
                names.push(with_positions("stages.*.blocks.*.{conv, bn}, relu, other.*"));
            }
            names.push(with_positions("stages.*.blocks.*"));
        }
        let inner = |stage, block| format!("stages.{stage}.blocks.{block}.{{conv, bn}}, relu, other.*");
        let outer = |stage| format!("stages.{stage}.blocks.*");
        assert_eq!(names, [inner(0, 1), inner(0, 2), outer(0), inner(1, 1), inner(1, 2), outer(1)]);
        assert_eq!(with_positions("stages.*"), "stages.*");
    }
}
