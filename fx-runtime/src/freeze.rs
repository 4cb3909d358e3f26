//! `Freeze`: what a model is frozen for.

use tch::{Device, Kind};

/// Order of the axes in memory that convolutions work in.
///
/// Inputs and results keep the caller's order whatever is chosen here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MemoryFormat {
    /// Channels lie together, which the fused kernels of both CPU and CUDA want.
    #[default]
    ChannelsLast,
    /// The last axis lies together, as in a tensor fresh from `Tensor::zeros`. On the CPU there are no packed
    /// convolutions for it.
    Contiguous,
    /// What is fastest on the device for the dtype: `Contiguous` for f32 and f64 on CUDA, else `ChannelsLast`.
    Auto,
}

/// Which kernels a frozen model may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backend {
    /// The fastest that the device, the dtype and this libtorch have.
    #[default]
    Best,
    /// ATen's plain operators everywhere: slower, and what every other kernel is tested against.
    Composed,
}

/// What a model is frozen for; `Freeze::default()` keeps the model's own device and dtype.
///
/// ```
/// use fx_runtime::{Device, Freeze, Kind};
///
/// let options = Freeze::new().device(Device::Cpu).kind(Kind::BFloat16);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Freeze {
    pub(crate) device: Option<Device>,
    pub(crate) kind: Option<Kind>,
    pub(crate) memory_format: MemoryFormat,
    pub(crate) backend: Backend,
}

impl Freeze {
    /// The same as `Freeze::default()`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves the weights to `device`.
    #[must_use]
    pub fn device(self, device: Device) -> Self {
        Self { device: Some(device), ..self }
    }

    /// Casts floating-point weights to `kind`, a floating-point dtype.
    #[must_use]
    pub fn kind(self, kind: Kind) -> Self {
        Self { kind: Some(kind), ..self }
    }

    /// Sets the order of axes inside the model.
    #[must_use]
    pub fn memory_format(self, memory_format: MemoryFormat) -> Self {
        Self { memory_format, ..self }
    }

    /// Sets which kernels may be used.
    #[must_use]
    pub fn backend(self, backend: Backend) -> Self {
        Self { backend, ..self }
    }
}

impl MemoryFormat {
    /// `Auto` decided for a device and dtype.
    pub(crate) fn resolve(self, device: Device, kind: Kind) -> Self {
        match (self, device, kind) {
            (Self::Auto, Device::Cuda(_), Kind::Float | Kind::Double) => Self::Contiguous,
            (Self::Auto, _, _) => Self::ChannelsLast,
            (chosen, _, _) => chosen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_keep_the_model_as_it_is() {
        let options = Freeze::default();
        assert_eq!((options.device, options.kind), (None, None));
        assert_eq!(options.memory_format, MemoryFormat::ChannelsLast);
        assert_eq!(options, Freeze::new());
    }

    #[test]
    fn auto_is_decided_by_device_and_dtype() {
        let auto = MemoryFormat::Auto;
        assert_eq!(auto.resolve(Device::Cpu, Kind::Float), MemoryFormat::ChannelsLast);
        assert_eq!(auto.resolve(Device::Cuda(0), Kind::Float), MemoryFormat::Contiguous);
        assert_eq!(auto.resolve(Device::Cuda(0), Kind::Half), MemoryFormat::ChannelsLast);
        assert_eq!(MemoryFormat::Contiguous.resolve(Device::Cpu, Kind::Half), MemoryFormat::Contiguous);
    }
}
