//! What the JSON of a trace says, one type for each part that is read.
//!
//! Keys that are not named here are skipped without being built. As in Python, of two equal keys the last one counts, and a
//! value of an unexpected type in `args` is as good as none.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::node::{NodeInfo, NodeTexts};

/// An element of `traceEvents`.
#[derive(Debug, Default)]
pub(super) struct RawEvent<'a> {
    pub(super) category: Option<Cow<'a, str>>,
    pub(super) name: Option<Cow<'a, str>>,
    pub(super) process: RawId<'a>,
    pub(super) thread: RawId<'a>,
    pub(super) begin: Option<&'a RawValue>,
    pub(super) duration: Option<&'a RawValue>,
    pub(super) args: Args,
}

/// A `pid` or a `tid`.
#[derive(Debug, Default)]
pub(super) enum RawId<'a> {
    #[default]
    Absent,
    Number(i64),
    Name(Cow<'a, str>),
}

/// The arguments of an event that say where it belongs; -1 where they do not.
#[derive(Debug)]
pub(super) struct Args {
    pub(super) stream: i64,
    pub(super) correlation: i64,
    pub(super) node: Option<Box<NodeInfo>>,
}

impl Default for Args {
    fn default() -> Self {
        Self { stream: -1, correlation: -1, node: None }
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum EventKey {
    Cat,
    Name,
    Pid,
    Tid,
    Ts,
    Dur,
    Args,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum ArgsKey {
    Stream,
    Correlation,
    Fx,
    #[serde(rename = "Input Dims")]
    InputDims,
    #[serde(rename = "Input type")]
    InputType,
    #[serde(rename = "Module Hierarchy")]
    ModuleHierarchy,
    #[serde(other)]
    Other,
}

/// A string, borrowed from the text where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for RawEvent<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EventVisitor;
        impl<'de> Visitor<'de> for EventVisitor {
            type Value = RawEvent<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an event, `{..}`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut event = RawEvent::default();
                while let Some(key) = map.next_key()? {
                    match key {
                        EventKey::Cat => event.category = map.next_value::<Option<Text<'_>>>()?.map(|text| text.0),
                        EventKey::Name => event.name = map.next_value::<Option<Text<'_>>>()?.map(|text| text.0),
                        EventKey::Pid => event.process = map.next_value()?,
                        EventKey::Tid => event.thread = map.next_value()?,
                        EventKey::Ts => event.begin = map.next_value()?,
                        EventKey::Dur => event.duration = map.next_value()?,
                        EventKey::Args => event.args = map.next_value()?,
                        EventKey::Other => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(event)
            }
        }
        deserializer.deserialize_map(EventVisitor)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawId<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Lenient).map(|scalar| match scalar {
            Scalar::Number(number) => RawId::Number(number),
            Scalar::Text(text) => RawId::Name(text),
            Scalar::Other => RawId::Absent,
        })
    }
}

impl<'de> Deserialize<'de> for Args {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ArgsVisitor;
        impl<'de> Visitor<'de> for ArgsVisitor {
            type Value = Args;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the arguments of an event, `{..}`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Args, A::Error> {
                let (mut args, mut node) = (Args::default(), NodeTexts::default());
                while let Some(key) = map.next_key()? {
                    match key {
                        ArgsKey::Stream => args.stream = map.next_value::<Number>()?.0,
                        ArgsKey::Correlation => args.correlation = map.next_value::<Number>()?.0,
                        ArgsKey::Fx => node.fx = Some(map.next_value::<&RawValue>()?.get()),
                        ArgsKey::InputDims => node.dims = Some(map.next_value::<&RawValue>()?.get()),
                        ArgsKey::InputType => node.types = Some(map.next_value::<&RawValue>()?.get()),
                        ArgsKey::ModuleHierarchy => node.modules = Some(map.next_value::<&RawValue>()?.get()),
                        ArgsKey::Other => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                args.node = NodeInfo::of_args(&node).map(Box::new);
                Ok(args)
            }

            fn visit_unit<E: de::Error>(self) -> Result<Args, E> {
                Ok(Args::default())
            }
        }
        deserializer.deserialize_any(ArgsVisitor)
    }
}

/// A whole number, also one that is written as a float or in quotes; -1 for anything else.
struct Number(i64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Lenient).map(|scalar| match scalar {
            Scalar::Number(number) => Number(number),
            Scalar::Text(text) => Number(text.parse().unwrap_or(-1)),
            Scalar::Other => Number(-1),
        })
    }
}

/// A number, a string, or whatever else.
enum Scalar<'a> {
    Number(i64),
    Text(Cow<'a, str>),
    Other,
}

struct Lenient;

impl<'de> Visitor<'de> for Lenient {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a string")
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Scalar::Number(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Scalar::Number(value.cast_signed()))
    }

    #[expect(clippy::cast_possible_truncation, reason = "a stream or a thread has a small number")]
    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Scalar::Number(value as i64))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Scalar::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Scalar::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }
}

/// `distributedInfo`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct DistributedInfo {
    pub(super) rank: Option<i64>,
    pub(super) world_size: Option<i64>,
    pub(super) backend: Option<String>,
}

/// An element of `deviceProperties`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct DeviceProperties {
    pub(super) name: Option<String>,
}
