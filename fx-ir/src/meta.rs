//! What users note on nodes: torch.fx's `node.meta`, with values of a few types.
//!
//! A note stays with its node through copies, the text form and JSON. What fx itself knows of a node (type, source lines,
//! modules, passes) has fields of its own.

use std::collections::BTreeMap;
use std::fmt;

use crate::Arg;

/// The notes on a node, by key.
///
/// ```
/// # let mut graph: fx_ir::Graph = "graph f(x) { %y = relu(x) ; yield %y }".parse()?;
/// let relu = graph.find_nodes("call_method", Some("relu"))[0];
/// graph.node_mut(relu).meta.insert("bits", 8);
/// graph.node_mut(relu).meta.insert("scales", vec![0.5, 0.25]);
///
/// let graph: fx_ir::Graph = graph.to_string().parse()?;
/// let meta = &graph.node(graph.find_nodes("call_method", Some("relu"))[0]).meta;
/// assert_eq!(meta.get::<i64>("bits"), Some(8));
/// assert_eq!(meta.get::<Vec<f64>>("scales"), Some(vec![0.5, 0.25]));
/// assert_eq!(meta.get::<String>("bits"), None);
/// # Ok::<(), fx_ir::ParseError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meta(BTreeMap<String, MetaValue>);

/// The value of a note.
#[derive(Clone, Debug, PartialEq)]
pub enum MetaValue {
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// Text.
    Str(String),
    /// Several values.
    List(Vec<MetaValue>),
}

/// A type that a note is read as.
pub trait FromMeta: Sized {
    /// The value; none if it is of another type.
    fn from_meta(value: &MetaValue) -> Option<Self>;
}

impl Meta {
    /// Notes a value under a key; returns the one that was there.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<MetaValue>) -> Option<MetaValue> {
        self.0.insert(key.into(), value.into())
    }

    /// The value under a key; none if there is none or it is of another type.
    pub fn get<T: FromMeta>(&self, key: &str) -> Option<T> {
        T::from_meta(self.0.get(key)?)
    }

    /// Takes a note away.
    pub fn remove(&mut self, key: &str) -> Option<MetaValue> {
        self.0.remove(key)
    }

    /// All notes, by their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &MetaValue)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl MetaValue {
    /// The literal of a text form as a value; none of what is no literal.
    pub(crate) fn of_arg(arg: Arg) -> Option<MetaValue> {
        match arg {
            Arg::Bool(value) => Some(MetaValue::Bool(value)),
            Arg::Int(value) => Some(MetaValue::Int(value)),
            Arg::Float(value) => Some(MetaValue::Float(value)),
            Arg::Str(value) => Some(MetaValue::Str(value)),
            Arg::List(items) => items.into_iter().map(MetaValue::of_arg).collect::<Option<_>>().map(MetaValue::List),
            Arg::Node(_) | Arg::None | Arg::Path(_) | Arg::Expr(_) => None,
        }
    }
}

/// As a literal of the text form.
impl fmt::Display for MetaValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MetaValue::Bool(value) => write!(f, "{value}"),
            MetaValue::Int(value) => write!(f, "{value}"),
            MetaValue::Float(value) if value.is_nan() => f.write_str("nan"),
            MetaValue::Float(value) => write!(f, "{value:?}"),
            MetaValue::Str(value) => write!(f, "{value:?}"),
            MetaValue::List(items) => {
                f.write_str("[")?;
                for (at, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if at > 0 { ", " } else { "" })?;
                }
                f.write_str("]")
            }
        }
    }
}

macro_rules! noted {
    ($($ty:ty, $variant:ident;)+) => {
        $(
            impl From<$ty> for MetaValue {
                fn from(value: $ty) -> MetaValue {
                    MetaValue::$variant(value)
                }
            }

            impl FromMeta for $ty {
                fn from_meta(value: &MetaValue) -> Option<$ty> {
                    match value {
                        MetaValue::$variant(value) => Some(value.clone()),
                        _ => None,
                    }
                }
            }
        )+
    };
}
noted! {
    bool, Bool;
    i64, Int;
    f64, Float;
    String, Str;
}

impl From<&str> for MetaValue {
    fn from(value: &str) -> MetaValue {
        MetaValue::Str(value.to_owned())
    }
}

impl<T: Into<MetaValue>> From<Vec<T>> for MetaValue {
    fn from(items: Vec<T>) -> MetaValue {
        MetaValue::List(items.into_iter().map(Into::into).collect())
    }
}

impl<T: FromMeta> FromMeta for Vec<T> {
    fn from_meta(value: &MetaValue) -> Option<Vec<T>> {
        match value {
            MetaValue::List(items) => items.iter().map(T::from_meta).collect(),
            _ => None,
        }
    }
}

impl FromMeta for MetaValue {
    fn from_meta(value: &MetaValue) -> Option<MetaValue> {
        Some(value.clone())
    }
}
