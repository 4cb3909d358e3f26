//! Which layers of a `Sequential` are which, where its constructor adds some of them in loops or under conditions.
//!
//! The constructor's source says of what form the chain is: [`Part`]s in a row, some of them repeated or optional. At
//! freeze time the live chain is matched against that form, as text is against a regular expression, and the
//! [`ChainMatch`]s of its loops come out. A chain that is not of the form is an error, never a wrong result.

use crate::Error;

/// One part of the form of a chain. Equality of types is asked of the chain, by position.
#[derive(Clone, Copy)]
pub enum Part<'p> {
    /// One layer of this type.
    Layer(fn(&dyn std::any::Any) -> bool),
    /// A closure, added at this place in the source.
    Closure(&'p str),
    /// These, any number of times.
    Repeat(&'p [Part<'p>]),
    /// These, once or not at all.
    Optional(&'p [Part<'p>]),
    /// The first or the second.
    Either(&'p [Part<'p>], &'p [Part<'p>]),
}

/// Whether the value is a `T`.
pub fn is<T: 'static>(layer: &dyn std::any::Any) -> bool {
    layer.is::<T>()
}

/// What a chain says of its layers.
pub(crate) trait Layers {
    /// How many there are.
    fn len(&self) -> usize;
    /// The layer at a position.
    fn any(&self, at: usize) -> Option<&dyn std::any::Any>;
    /// The place of the closure at a position; none if it is no closure, empty if its place is not known.
    fn closure(&self, at: usize) -> Option<&str>;
}

/// A stretch of a chain that is of a known form: the whole, or one iteration of a loop of its constructor.
#[derive(Debug, Clone)]
pub struct ChainMatch {
    matched: Vec<Matched>,
}

#[derive(Debug, Clone)]
enum Matched {
    Layer(usize),
    Iterations(Vec<ChainMatch>),
    Branch(bool, ChainMatch),
}

impl ChainMatch {
    /// Matches the whole chain.
    pub(crate) fn of(layers: &dyn Layers, parts: &[Part<'_>]) -> Option<ChainMatch> {
        let all = |end: usize| end == layers.len();
        row(layers, parts, 0, &all).map(|(matched, _)| ChainMatch { matched })
    }

    /// The position in the chain of the layer that is part `part`.
    ///
    /// # Errors
    ///
    /// [`Error::Layer`] if the part is no layer, which is a fault of fx.
    pub fn at(&self, part: usize) -> Result<usize, Error> {
        match self.matched.get(part) {
            Some(Matched::Layer(at)) => Ok(*at),
            _ => Err(Error::Layer { index: part, expected: "layer", found: None }),
        }
    }

    /// The iterations of the loop that is part `part`; of an optional part, one or none.
    pub fn iterations(&self, part: usize) -> Vec<ChainMatch> {
        match self.matched.get(part) {
            Some(Matched::Iterations(iterations)) => iterations.clone(),
            _ => Vec::new(),
        }
    }

    /// Whether the part is there, or, of two, whether it is the first.
    pub fn is_first(&self, part: usize) -> bool {
        match self.matched.get(part) {
            Some(Matched::Branch(first, _)) => *first,
            Some(Matched::Iterations(iterations)) => !iterations.is_empty(),
            _ => false,
        }
    }

    /// The layers of the part that is there, of two.
    #[must_use]
    pub fn branch(&self, part: usize) -> ChainMatch {
        match self.matched.get(part) {
            Some(Matched::Branch(_, found)) => found.clone(),
            Some(Matched::Iterations(iterations)) => {
                iterations.first().cloned().unwrap_or(ChainMatch { matched: Vec::new() })
            }
            _ => ChainMatch { matched: Vec::new() },
        }
    }
}

type Found = (Vec<Matched>, usize);

/// Matches `parts` from `at` on, so that `then` accepts where they end; longer loops are tried first.
fn row(layers: &dyn Layers, parts: &[Part<'_>], at: usize, then: &dyn Fn(usize) -> bool) -> Option<Found> {
    let Some((first, rest)) = parts.split_first() else { return then(at).then(|| (Vec::new(), at)) };
    let one = |matched: Matched, end: usize| {
        let (mut all, end) = row(layers, rest, end, then)?;
        all.insert(0, matched);
        Some((all, end))
    };
    let branch = |inner: &[Part<'_>], wrap: &dyn Fn(ChainMatch) -> Matched| {
        let fits = |end: usize| row(layers, rest, end, then).is_some();
        let (matched, end) = row(layers, inner, at, &fits)?;
        one(wrap(ChainMatch { matched }), end)
    };
    match *first {
        Part::Layer(is) => layers.any(at).filter(|layer| is(*layer)).and_then(|_| one(Matched::Layer(at), at + 1)),
        Part::Closure(place) => {
            let fits = layers.closure(at).is_some_and(|found| found == place || found.is_empty());
            fits.then(|| one(Matched::Layer(at), at + 1)).flatten()
        }
        Part::Repeat(inner) => repeat(layers, inner, rest, (at, then), Vec::new()),
        Part::Optional(inner) => branch(inner, &|found| Matched::Iterations(vec![found]))
            .or_else(|| one(Matched::Iterations(Vec::new()), at)),
        Part::Either(a, b) => branch(a, &|found| Matched::Branch(true, found))
            .or_else(|| branch(b, &|found| Matched::Branch(false, found))),
    }
}

fn repeat(
    layers: &dyn Layers,
    inner: &[Part<'_>],
    rest: &[Part<'_>],
    (at, then): (usize, &dyn Fn(usize) -> bool),
    iterations: Vec<ChainMatch>,
) -> Option<Found> {
    let go_on = |end: usize| end > at;
    if let Some((matched, end)) = row(layers, inner, at, &go_on) {
        let longer = [iterations.clone(), vec![ChainMatch { matched }]].concat();
        if let Some(found) = repeat(layers, inner, rest, (end, then), longer) {
            return Some(found);
        }
    }
    let (mut all, end) = row(layers, rest, at, then)?;
    all.insert(0, Matched::Iterations(iterations));
    Some((all, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Letters are layers of the types `u8` (a), `u16` (b) and `u32` (c); a digit is a closure added there.
    struct Text(Vec<Box<dyn std::any::Any>>, Vec<String>);

    impl Text {
        fn new(text: &str) -> Text {
            let layer = |c: char| -> Box<dyn std::any::Any> {
                match c {
                    'a' => Box::new(0_u8),
                    'b' => Box::new(0_u16),
                    'c' => Box::new(0_u32),
                    _ => Box::new(()),
                }
            };
            Text(text.chars().map(layer).collect(), text.chars().map(|c| c.to_string()).collect())
        }
    }

    impl Layers for Text {
        fn len(&self) -> usize {
            self.0.len()
        }
        fn any(&self, at: usize) -> Option<&dyn std::any::Any> {
            self.0.get(at).map(|layer| &**layer)
        }
        fn closure(&self, at: usize) -> Option<&str> {
            self.1.get(at).map(String::as_str).filter(|text| text.chars().all(|c| c.is_ascii_digit()))
        }
    }

    const A: Part<'_> = Part::Layer(is::<u8>);
    const B: Part<'_> = Part::Layer(is::<u16>);
    const C: Part<'_> = Part::Layer(is::<u32>);

    #[test]
    fn nested_loops_and_options_come_apart() {
        // conv, perhaps norm, relu, any number of times, then pool; all of that any number of times.
        let form =
            [Part::Repeat(&[Part::Repeat(&[A, Part::Optional(&[B]), Part::Closure("1")]), Part::Closure("2")]), C];
        let whole = ChainMatch::of(&Text::new("a12ab1a12c"), &form).expect("it is of the form");
        let outer = whole.iterations(0);
        assert_eq!(outer.iter().map(|found| found.iterations(0).len()).collect::<Vec<_>>(), [1, 2]);
        let inner = outer[1].iterations(0);
        assert_eq!((inner[0].at(0).ok(), inner[0].is_first(1), inner[1].is_first(1)), (Some(3), true, false));
        assert_eq!((inner[0].branch(1).at(0).ok(), whole.at(1).ok()), (Some(4), Some(9)));
        assert!(ChainMatch::of(&Text::new("a1c"), &form).is_none(), "the pool is missing");
    }

    #[test]
    fn what_could_be_either_is_decided_by_what_follows() {
        let form = [Part::Optional(&[A]), A, B];
        let there = |text: &str| ChainMatch::of(&Text::new(text), &form).map(|found| found.is_first(0));
        assert_eq!((there("ab"), there("aab"), there("b")), (Some(false), Some(true), None));
        let form = [Part::Either(&[A, B], &[])];
        let first = |text: &str| ChainMatch::of(&Text::new(text), &form).map(|found| found.is_first(0));
        assert_eq!((first("ab"), first(""), first("a")), (Some(true), Some(false), None));
    }
}
