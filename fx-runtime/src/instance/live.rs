//! Values of the live model as they stand in a graph.

use fx_ir::{Arg, HostOp};
use tch::{Device, Kind};

/// A live value as it stands in a graph.
pub trait Live {
    /// The literal; of an option what it holds.
    fn arg(&self) -> Arg;

    /// The same for an operation on the host, to which an option is one.
    fn host_arg(&self) -> Arg {
        self.arg()
    }
}

macro_rules! live {
    ($($ty:ty => $arg:expr),+ $(,)?) => {
        $(impl Live for $ty {
            fn arg(&self) -> Arg {
                let make: fn(&$ty) -> Arg = $arg;
                make(self)
            }
        })+
    };
}

live! {
    i64 => |v| Arg::Int(*v),
    i32 => |v| Arg::Int(i64::from(*v)),
    usize => |v| Arg::Int(i64::try_from(*v).unwrap_or(i64::MAX)),
    f64 => |v| Arg::Float(*v),
    bool => |v| Arg::Bool(*v),
    str => |v| Arg::Str(v.to_owned()),
    String => |v| Arg::Str(v.clone()),
    Kind => |v| Arg::Path(format!("Kind::{v:?}")),
    Device => |v| match v {
        Device::Cuda(index) => HostOp::Construct("Device::Cuda".to_owned()).of([index.arg()]),
        other => Arg::Path(format!("Device::{other:?}")),
    },
}

impl<A: Live, B: Live> Live for (A, B) {
    fn arg(&self) -> Arg {
        HostOp::Tuple.of([self.0.arg(), self.1.arg()])
    }

    fn host_arg(&self) -> Arg {
        HostOp::Tuple.of([self.0.host_arg(), self.1.host_arg()])
    }
}

impl Live for f32 {
    fn arg(&self) -> Arg {
        Arg::Float(f64::from(*self))
    }

    fn host_arg(&self) -> Arg {
        // The host has floats of both types.
        HostOp::Literal("f32".to_owned()).on(self.arg())
    }
}

impl<T: Live + ?Sized> Live for &T {
    fn arg(&self) -> Arg {
        (**self).arg()
    }

    fn host_arg(&self) -> Arg {
        (**self).host_arg()
    }
}

impl<T: Live> Live for Option<T> {
    fn arg(&self) -> Arg {
        self.as_ref().map_or(Arg::None, Live::arg)
    }

    fn host_arg(&self) -> Arg {
        self.as_ref().map_or(Arg::None, |held| HostOp::Some.of([held.host_arg()]))
    }
}

impl<T: Live> Live for [T] {
    fn arg(&self) -> Arg {
        Arg::List(self.iter().map(Live::arg).collect())
    }

    fn host_arg(&self) -> Arg {
        Arg::List(self.iter().map(Live::host_arg).collect())
    }
}

impl<T: Live> Live for Vec<T> {
    fn arg(&self) -> Arg {
        self.as_slice().arg()
    }

    fn host_arg(&self) -> Arg {
        self.as_slice().host_arg()
    }
}

impl<T: Live, const N: usize> Live for [T; N] {
    fn arg(&self) -> Arg {
        self.as_slice().arg()
    }

    fn host_arg(&self) -> Arg {
        self.as_slice().host_arg()
    }
}

/// A value that may be [`Live`]; a method of the type comes before one of the trait [`Otherwise`].
#[doc(hidden)]
#[derive(Debug)]
pub struct Probe<'v, T: ?Sized>(pub &'v T);

impl<T: Live + ?Sized> Probe<'_, T> {
    /// The literal.
    pub fn arg(&self, _: &str) -> Arg {
        self.0.arg()
    }

    /// The literal as an operand of an operation on the host.
    pub fn host_arg(&self, _: &str) -> Arg {
        self.0.host_arg()
    }
}

/// What a value that is not [`Live`] becomes: the source it came from.
#[doc(hidden)]
pub trait Otherwise {
    /// The source text.
    fn arg(&self, source: &str) -> Arg {
        Arg::Path(source.to_owned())
    }

    /// The source text.
    fn host_arg(&self, source: &str) -> Arg {
        Arg::Path(source.to_owned())
    }
}

impl<T: ?Sized> Otherwise for &Probe<'_, T> {}
