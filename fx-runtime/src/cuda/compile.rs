//! CUDA C compiled for the device at hand, once for each source, architecture and compiler.
//!
//! What NVRTC makes is kept in the user's cache folder, so that only the first program to need a kernel waits for it. A
//! cache that cannot be read or written costs that wait, and nothing else.

use std::fs;
use std::path::Path;

use tch::Device;

use super::cache;
use crate::ffi::CudaKernel;
use crate::ffi::driver::driver;
use crate::ffi::nvrtc::nvrtc;
use crate::{Error, Result};

impl CudaKernel {
    /// Compiles the kernel `name` of a CUDA C source, which declares it `extern "C"`, or takes it from the disk.
    ///
    /// Floating-point arithmetic is as written: products and sums are contracted as nvcc does, nothing is approximated.
    ///
    /// # Errors
    ///
    /// [`Error::Cuda`] with the compiler's own words, or where there is no device, driver or NVRTC.
    ///
    /// ```no_run
    /// use fx_runtime::{CudaKernel, Device, KernelArg, Kind, Tensor};
    ///
    /// # fn main() -> Result<(), fx_runtime::Error> {
    /// let source = r#"extern "C" __global__ void twice(float* x, long long n) {
    ///     long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    ///     if (i < n) x[i] *= 2.0f;
    /// }"#;
    /// let twice = CudaKernel::compile("twice", source, Device::Cuda(0))?;
    /// let x = Tensor::ones([1000], (Kind::Float, Device::Cuda(0)));
    /// // SAFETY: the arguments are those that the source declares, and it writes to `x` alone.
    /// unsafe { twice.launch([4, 1, 1], [256, 1, 1], 0, &[KernelArg::Tensor(&x), KernelArg::Long(1000)])? };
    /// # Ok(())
    /// # }
    /// ```
    pub fn compile(name: &str, source: &str, device: Device) -> Result<Self> {
        let compiled = || {
            let Device::Cuda(index) = device else { return Err(format!("{device:?} is no CUDA device")) };
            let architecture = driver()?.architecture(index)?;
            let nvrtc = nvrtc()?;
            let request = Request { name, source, architecture: &architecture, compiler: &nvrtc.version() };
            let compile = |options: &[&str]| nvrtc.compile(name, source, options);
            let cubin = request.machine_code(cache::folder().as_deref(), &compile)?;
            Self::load(index, name, &cubin)
        };
        compiled().map_err(|reason| Error::Cuda { what: format!("compiling the kernel `{name}`"), reason })
    }
}

/// Machine code by the options; `Err` holds the compiler's words.
type Compiler<'c> = dyn Fn(&[&str]) -> Result<Vec<u8>, String> + 'c;

/// All that machine code depends on.
struct Request<'a> {
    name: &'a str,
    source: &'a str,
    architecture: &'a str,
    /// The compiler's version.
    compiler: &'a str,
}

impl Request<'_> {
    fn options(&self) -> [String; 2] {
        [format!("--gpu-architecture={}", self.architecture), "--std=c++17".to_owned()]
    }

    /// The machine code, from the folder `cache` or by `compile`, which is given the options.
    fn machine_code(&self, cache: Option<&Path>, compile: &Compiler<'_>) -> Result<Vec<u8>, String> {
        let options = self.options();
        let options = options.each_ref().map(String::as_str);
        let key = cache::key("kernel", &[self.name, self.source, self.compiler, options[0], options[1]]);
        let path = cache.map(|folder| folder.join(format!("{key}.cubin")));
        // A file that was not written by us, or not whole, does not begin as machine code does.
        let kept = path.as_ref().and_then(|path| fs::read(path).ok()).filter(|bytes| bytes.starts_with(ELF));
        if let Some(bytes) = kept {
            return Ok(bytes);
        }
        let bytes = compile(&options)?;
        if let Some(path) = path {
            // Without a cache the next program compiles again.
            let _ = cache::write_with(&path, |partial| fs::write(partial, &bytes).map_err(|error| error.to_string()));
        }
        Ok(bytes)
    }
}

/// The first bytes of machine code for a GPU.
const ELF: &[u8] = b"\x7fELF";

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use tempfile::TempDir;

    use super::*;

    /// A cache that goes away with its value, and a compiler that counts.
    struct Bench {
        folder: TempDir,
        compiled: Cell<u32>,
        options: RefCell<Vec<String>>,
    }

    impl Bench {
        fn new() -> Self {
            Self { folder: tempfile::tempdir().unwrap(), compiled: Cell::new(0), options: RefCell::default() }
        }

        fn get(&self, request: &Request<'_>) -> Vec<u8> {
            let compile = |options: &[&str]| {
                self.compiled.set(self.compiled.get() + 1);
                *self.options.borrow_mut() = options.iter().map(ToString::to_string).collect();
                Ok([ELF, request.source.as_bytes(), request.architecture.as_bytes()].concat())
            };
            request.machine_code(Some(self.folder.path()), &compile).unwrap()
        }
    }

    const REQUEST: Request<'static> =
        Request { name: "twice", source: "code", architecture: "sm_90", compiler: "13.0" };

    #[test]
    fn a_kernel_is_compiled_once_and_then_read() {
        let bench = Bench::new();
        assert_eq!(bench.get(&REQUEST), bench.get(&REQUEST));
        assert_eq!(bench.compiled.get(), 1);
        assert_eq!(*bench.options.borrow(), ["--gpu-architecture=sm_90", "--std=c++17"]);
    }

    #[test]
    fn whatever_it_depends_on_makes_another_one() {
        let bench = Bench::new();
        let others = [
            REQUEST,
            Request { source: "other", ..REQUEST },
            Request { architecture: "sm_80", ..REQUEST },
            Request { compiler: "12.8", ..REQUEST },
            Request { name: "thrice", ..REQUEST },
        ];
        for request in others.iter().chain(&others) {
            let code = bench.get(request);
            assert!(code.ends_with([request.source, request.architecture].concat().as_bytes()));
        }
        assert_eq!(bench.compiled.get(), 5);
    }

    #[test]
    fn a_broken_cache_costs_a_compilation() {
        let bench = Bench::new();
        let code = bench.get(&REQUEST);
        let path = fs::read_dir(bench.folder.path()).unwrap().next().unwrap().unwrap().path();
        fs::write(&path, "half").unwrap();
        assert_eq!(bench.get(&REQUEST), code);
        assert_eq!(fs::read(&path).unwrap(), code, "it was written anew");
        assert_eq!(bench.compiled.get(), 2);
        let nowhere = path.join("below a file");
        let code = REQUEST.machine_code(Some(&nowhere), &|_| Ok(b"new".to_vec()));
        assert_eq!(code, Ok(b"new".to_vec()));
        assert_eq!(REQUEST.machine_code(None, &|_| Ok(b"new".to_vec())), Ok(b"new".to_vec()));
    }

    #[test]
    fn a_failure_is_told_and_not_kept() {
        let bench = Bench::new();
        let failing = |_: &[&str]| Err("twice.cu(1): error: no `y`".to_owned());
        assert_eq!(
            REQUEST.machine_code(Some(bench.folder.path()), &failing),
            Err("twice.cu(1): error: no `y`".to_owned())
        );
        assert_eq!(fs::read_dir(bench.folder.path()).unwrap().count(), 0);
        bench.get(&REQUEST);
        assert_eq!(bench.compiled.get(), 1);
    }

    #[test]
    fn without_a_device_the_kernel_is_named() {
        let error = CudaKernel::compile("twice", "code", Device::Cpu).unwrap_err().to_string();
        assert_eq!(error, "compiling the kernel `twice` failed: Cpu is no CUDA device");
    }
}
