//! What this machine and this libtorch offer a frozen model.

use std::fmt;
use std::path::PathBuf;

use crate::ffi::{self, cuda};

/// What there is to compute with; its `Display` is a report for people.
///
/// ```
/// println!("{}", fx_runtime::capabilities());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, none a mode")]
pub struct Capabilities {
    /// `major.minor.patch` of libtorch; none when it does not tell.
    pub libtorch: Option<String>,
    /// The folder of `libtorch_cpu`.
    pub libtorch_folder: Option<PathBuf>,
    /// Vector instruction sets of the CPU that matter to the kernels, from old to new.
    pub cpu: Vec<&'static str>,
    /// Whether oneDNN computes in bf16 here, by the CPU's own instructions.
    pub bf16: bool,
    /// Whether oneDNN computes in f16 here.
    pub f16: bool,
    /// Whether libtorch was built with oneDNN.
    pub onednn: bool,
    /// The release of oneDNN whose convolutions are called directly, or why they are called through libtorch.
    pub onednn_direct: Result<String, &'static str>,
    /// Whether layers on codes of eight bits have kernels here, or why they are computed in floats: oneDNN has to be called
    /// directly, on a CPU with VNNI.
    pub int8: Result<(), &'static str>,
    /// Whether libtorch was built with MKL.
    pub mkl: bool,
    /// Whether matrix products in f32 can use the CPU's tile registers.
    pub amx: bool,
    /// Threads that one operator uses.
    pub threads: usize,
    /// Entry points of libtorch that were found, by name; the others are composed of ATen operators.
    pub kernels_found: Vec<&'static str>,
    /// Entry points that were looked for and are not there.
    pub kernels_missing: Vec<&'static str>,
    /// CUDA's half of libtorch.
    pub cuda: CudaLibrary,
    /// Number of CUDA devices that can be used.
    pub cuda_devices: usize,
    /// The version of NVRTC, which compiles what `ATen` has no kernels for; or why there is none, and `ATen` computes it op
    /// by op.
    pub nvrtc: Result<String, String>,
    /// Pointwise groups that could not be compiled for their device so far, each with the reason; `ATen` computes them op by
    /// op.
    pub uncompiled: Vec<String>,
}

/// What became of `libtorch_cuda`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CudaLibrary {
    /// Opened from this file.
    Opened(PathBuf),
    /// Not beside `libtorch_cpu`: a libtorch for the CPU alone.
    Absent,
    /// There, but the dynamic loader refused it.
    Failed {
        /// The file.
        path: PathBuf,
        /// The loader's reason.
        reason: String,
    },
}

/// The first CUDA device, or the CPU where there is none.
///
/// It opens CUDA's half of libtorch, which nothing else links. Call this, or [`capabilities`], before
/// `tch::Device::cuda_if_available()` or `tch::Cuda::is_available()`: libtorch looks for CUDA once and remembers.
pub fn cuda_if_available() -> tch::Device {
    if cuda::is_available() && tch::Cuda::device_count() > 0 { tch::Device::Cuda(0) } else { tch::Device::Cpu }
}

/// Looks around; opens CUDA's half of libtorch if it is there.
pub fn capabilities() -> Capabilities {
    let cuda = match cuda::open().clone() {
        cuda::Opened::At(path) => CudaLibrary::Opened(path),
        cuda::Opened::Absent => CudaLibrary::Absent,
        cuda::Opened::Failed { path, reason } => CudaLibrary::Failed { path, reason },
    };
    let (found, missing): (Vec<_>, Vec<_>) = ffi::presence().into_iter().partition(|entry| entry.found);
    let names = |entries: Vec<ffi::Presence>| entries.into_iter().map(|entry| entry.name).collect();
    let devices = if cuda::is_available() { tch::Cuda::device_count() } else { 0 };
    Capabilities {
        libtorch: ffi::libtorch_version().map(|(major, minor, patch)| format!("{major}.{minor}.{patch}")),
        libtorch_folder: cuda::library_folder(),
        cpu: instruction_sets(),
        bf16: ffi::ops::onednn_has_bf16(),
        f16: ffi::ops::onednn_has_f16(),
        onednn: tch::utils::has_mkldnn(),
        onednn_direct: ffi::onednn::release(),
        int8: ffi::onednn::int8(),
        mkl: tch::utils::has_mkl(),
        amx: ffi::Amx::of_this_machine() != ffi::Amx::Absent,
        threads: usize::try_from(tch::get_num_threads()).unwrap_or(1),
        kernels_found: names(found),
        kernels_missing: names(missing),
        cuda,
        cuda_devices: usize::try_from(devices).unwrap_or(0),
        nvrtc: ffi::nvrtc::nvrtc().map(ffi::nvrtc::Nvrtc::version),
        uncompiled: crate::frozen::uncompiled(),
    }
}

#[cfg(target_arch = "x86_64")]
fn instruction_sets() -> Vec<&'static str> {
    [
        ("avx2", is_x86_feature_detected!("avx2")),
        ("fma", is_x86_feature_detected!("fma")),
        ("avx512f", is_x86_feature_detected!("avx512f")),
        ("avx512_vnni", is_x86_feature_detected!("avx512vnni")),
        ("avx512_bf16", is_x86_feature_detected!("avx512bf16")),
        ("avx512_fp16", is_x86_feature_detected!("avx512fp16")),
        ("avx_vnni", is_x86_feature_detected!("avxvnni")),
    ]
    .into_iter()
    .filter_map(|(name, found)| found.then_some(name))
    .chain(matrix_extensions())
    .collect()
}

/// AMX, which stable Rust cannot ask for by name: bits 22, 24 and 25 of EDX in CPUID's leaf 7.
#[cfg(target_arch = "x86_64")]
fn matrix_extensions() -> impl Iterator<Item = &'static str> {
    let features = std::arch::x86_64::__cpuid_count(7, 0).edx;
    [(22, "amx_bf16"), (24, "amx_tile"), (25, "amx_int8")]
        .into_iter()
        .filter_map(move |(bit, name)| (features >> bit & 1 == 1).then_some(name))
}

#[cfg(target_arch = "aarch64")]
fn instruction_sets() -> Vec<&'static str> {
    [
        ("neon", std::arch::is_aarch64_feature_detected!("neon")),
        ("dotprod", std::arch::is_aarch64_feature_detected!("dotprod")),
        ("bf16", std::arch::is_aarch64_feature_detected!("bf16")),
        ("i8mm", std::arch::is_aarch64_feature_detected!("i8mm")),
        ("sve", std::arch::is_aarch64_feature_detected!("sve")),
    ]
    .into_iter()
    .filter_map(|(name, found)| found.then_some(name))
    .collect()
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn instruction_sets() -> Vec<&'static str> {
    Vec::new()
}

impl fmt::Display for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.libtorch.as_deref().unwrap_or("of unknown version");
        match &self.libtorch_folder {
            Some(folder) => writeln!(f, "libtorch   {version} in {}", folder.display())?,
            None => writeln!(f, "libtorch   {version}")?,
        }
        writeln!(f, "cpu        {}, {} threads", self.cpu.join(" "), self.threads)?;
        writeln!(f, "oneDNN     {}; bf16 {}, f16 {}", yes(self.onednn), yes(self.bf16), yes(self.f16))?;
        match &self.onednn_direct {
            Ok(release) => writeln!(f, "           convolutions call oneDNN {release} directly")?,
            Err(why) => writeln!(f, "           convolutions go through libtorch: {why}")?,
        }
        match self.int8 {
            Ok(()) => writeln!(f, "int8       yes")?,
            Err(why) => writeln!(f, "int8       no: {why}")?,
        }
        writeln!(f, "MKL        {}", yes(self.mkl))?;
        writeln!(f, "AMX        {}", yes(self.amx))?;
        let (found, all) = (self.kernels_found.len(), self.kernels_found.len() + self.kernels_missing.len());
        writeln!(f, "kernels    {found} of {all} entry points of libtorch found")?;
        for name in &self.kernels_missing {
            writeln!(f, "           missing: {name}")?;
        }
        match &self.cuda {
            CudaLibrary::Opened(path) => {
                writeln!(f, "cuda       {} devices, {}", self.cuda_devices, path.display())?;
                match &self.nvrtc {
                    Ok(version) => write!(f, "           kernels are compiled by NVRTC {version}"),
                    Err(why) => write!(f, "           no kernels are compiled: {why}"),
                }?;
                self.uncompiled.iter().try_for_each(|group| write!(f, "\n           not compiled: {group}"))
            }
            CudaLibrary::Absent => write!(f, "cuda       no, this libtorch is for the CPU"),
            CudaLibrary::Failed { path, reason } => {
                write!(f, "cuda       no, {} cannot be opened: {reason}", path.display())
            }
        }
    }
}

fn yes(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_libtorch_has_every_entry_point() {
        let found = capabilities();
        assert_eq!(found.libtorch.as_deref(), Some("2.11.0"));
        assert_eq!(found.kernels_missing, Vec::<&str>::new());
        #[cfg(target_os = "linux")]
        assert_eq!(found.onednn_direct.as_deref(), Ok("3.10.2"));
        assert!(found.threads > 0 && found.libtorch_folder.is_some());
    }

    #[test]
    fn the_report_has_a_line_for_each_question() {
        let report = capabilities().to_string();
        for question in ["libtorch ", "cpu ", "oneDNN ", "int8 ", "MKL ", "AMX ", "kernels ", "cuda "] {
            assert!(report.lines().any(|line| line.starts_with(question)), "{question} in:\n{report}");
        }
    }
}
