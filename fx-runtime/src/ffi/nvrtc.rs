//! NVRTC, which compiles CUDA C while the program runs; it needs no GPU to do so.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::OnceLock;

use super::library;

type Program = *mut c_void;
type Status = c_int;
type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> Status;
type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Status;
type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status;
type Size = unsafe extern "C" fn(Program, *mut usize) -> Status;
type Text = unsafe extern "C" fn(Program, *mut c_char) -> Status;

/// The library's functions; their declarations have been the same since CUDA 11.
#[derive(Debug)]
pub(crate) struct Nvrtc {
    version: (c_int, c_int),
    create: Create,
    compile: Compile,
    log_size: Size,
    log: Text,
    cubin_size: Size,
    cubin: Text,
    destroy: unsafe extern "C" fn(*mut Program) -> Status,
    #[cfg(test)]
    ptx: (Size, Text),
}

/// The library, opened once; `Err` says where it was looked for.
pub(crate) fn nvrtc() -> Result<&'static Nvrtc, String> {
    static NVRTC: OnceLock<Result<Nvrtc, String>> = OnceLock::new();
    NVRTC.get_or_init(|| open(&places())).as_ref().map_err(Clone::clone)
}

/// `$FX_NVRTC`; where pip puts it beside torch; where the loader looks.
fn places() -> Vec<PathBuf> {
    let named = std::env::var_os("FX_NVRTC").map(PathBuf::from);
    let folder = super::cuda::library_folder();
    let wheels = ["nvidia/cu13/lib/libnvrtc.so.13", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"];
    let wheels = wheels.into_iter().filter_map(|wheel| Some(folder.as_ref()?.join("../..").join(wheel)));
    let by_name = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"].map(PathBuf::from);
    named.into_iter().chain(wheels).chain(by_name).collect()
}

fn open(places: &[PathBuf]) -> Result<Nvrtc, String> {
    let mut reason = String::new();
    for place in places {
        match Nvrtc::open(place) {
            Ok(nvrtc) => return Ok(nvrtc),
            Err(why) => reason = why,
        }
    }
    let looked: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
    Err(format!("NVRTC was not found as {} ({reason}); let FX_NVRTC name it", looked.join(", ")))
}

/// Opens what NVRTC looks for by its bare name when it compiles, where that lies beside it.
fn open_builtins(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Some(entries) = folder.and_then(|folder| std::fs::read_dir(folder).ok()) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with("libnvrtc-builtins.so") {
            // Where it cannot be opened, NVRTC says so when it compiles.
            let _ = library::open(&entry.path());
        }
    }
}

impl Nvrtc {
    fn open(path: &Path) -> Result<Self, String> {
        let library = library::open(path)?;
        open_builtins(path);
        // SAFETY: these are NVRTC's functions of these names, whose declarations the types repeat.
        let (nvrtc, version) = unsafe {
            let version: Version = library.function(c"nvrtcVersion")?;
            let nvrtc = Self {
                version: (0, 0),
                create: library.function(c"nvrtcCreateProgram")?,
                compile: library.function(c"nvrtcCompileProgram")?,
                log_size: library.function(c"nvrtcGetProgramLogSize")?,
                log: library.function(c"nvrtcGetProgramLog")?,
                cubin_size: library.function(c"nvrtcGetCUBINSize")?,
                cubin: library.function(c"nvrtcGetCUBIN")?,
                destroy: library.function(c"nvrtcDestroyProgram")?,
                #[cfg(test)]
                ptx: (library.function(c"nvrtcGetPTXSize")?, library.function(c"nvrtcGetPTX")?),
            };
            (nvrtc, version)
        };
        let mut found = (0, 0);
        // SAFETY: the callee writes two integers.
        match unsafe { version(&raw mut found.0, &raw mut found.1) } {
            0 => Ok(Self { version: found, ..nvrtc }),
            status => Err(format!("it does not tell its version (status {status})")),
        }
    }

    /// `13.0`.
    pub(crate) fn version(&self) -> String {
        format!("{}.{}", self.version.0, self.version.1)
    }

    /// Machine code for the architecture that `options` name (`--gpu-architecture=sm_90`); `Err` holds the compiler's
    /// words.
    pub(crate) fn compile(&self, name: &str, source: &str, options: &[&str]) -> Result<Vec<u8>, String> {
        self.program(name, source, options)?.bytes(self.cubin_size, self.cubin)
    }

    /// A program that is compiled.
    fn program(&self, name: &str, source: &str, options: &[&str]) -> Result<Owned<'_>, String> {
        let text = |text: &str| CString::new(text).map_err(|_| "the source has a NUL byte".to_owned());
        let (source, file) = (text(source)?, text(&format!("{name}.cu"))?);
        let options = options.iter().map(|option| text(option)).collect::<Result<Vec<_>, _>>()?;
        let lent: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let mut raw: Program = ptr::null_mut();
        // SAFETY: the strings are alive during the call, which reads them and writes a new program.
        let made = unsafe { (self.create)(&raw mut raw, source.as_ptr(), file.as_ptr(), 0, ptr::null(), ptr::null()) };
        if made != 0 || raw.is_null() {
            return Err(format!("NVRTC made no program (status {made})"));
        }
        let program = Owned { raw, nvrtc: self };
        let count = c_int::try_from(lent.len()).unwrap_or(0);
        // SAFETY: the program is alive, and so are the strings.
        let status = unsafe { (self.compile)(program.raw, count, lent.as_ptr()) };
        if status != 0 {
            let log = program.text(self.log_size, self.log).unwrap_or_default();
            return Err(if log.is_empty() { format!("NVRTC refused it (status {status})") } else { log });
        }
        Ok(program)
    }
}

/// A program that is destroyed with its value.
struct Owned<'n> {
    raw: Program,
    nvrtc: &'n Nvrtc,
}

impl Owned<'_> {
    /// What a pair of functions hands over: first its size, then the bytes.
    fn bytes(&self, size: Size, fill: Text) -> Result<Vec<u8>, String> {
        let mut length = 0;
        // SAFETY: the program is alive; the callee writes one number.
        let status = unsafe { size(self.raw, &raw mut length) };
        let mut bytes = vec![0; length];
        // SAFETY: there is room for as many bytes as the callee said it would write.
        let status = if status == 0 { unsafe { fill(self.raw, bytes.as_mut_ptr().cast()) } } else { status };
        if status == 0 { Ok(bytes) } else { Err(format!("NVRTC handed nothing over (status {status})")) }
    }

    fn text(&self, size: Size, fill: Text) -> Result<String, String> {
        let bytes = self.bytes(size, fill)?;
        Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\0').trim().to_owned())
    }
}

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        // SAFETY: the program is alive, and nobody uses it any more.
        unsafe { (self.nvrtc.destroy)(&raw mut self.raw) };
    }
}

#[cfg(test)]
impl Nvrtc {
    /// What the compiler says of a source that it takes, and what it makes of it, as PTX.
    pub(crate) fn told(&self, name: &str, source: &str, options: &[&str]) -> Result<[String; 2], String> {
        let program = self.program(name, source, options)?;
        Ok([program.text(self.log_size, self.log)?, program.text(self.ptx.0, self.ptx.1)?])
    }
}

/// The library for a test; a test without one says so, even where what tests print is hidden.
#[cfg(test)]
pub(crate) fn nvrtc_or_skip(test: &str) -> Option<&'static Nvrtc> {
    use std::io::Write as _;

    nvrtc()
        .map_err(|reason| {
            assert!(std::env::var_os("FX_NVRTC").is_none(), "{reason}");
            let _ = writeln!(std::io::stderr(), "{test} is skipped: {reason}");
        })
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_there_is_named() {
        let error = open(&["no/such/libnvrtc.so".into(), "nor/this.so".into()]).unwrap_err();
        assert!(error.contains("no/such/libnvrtc.so, nor/this.so") && error.contains("FX_NVRTC"), "{error}");
    }

    #[test]
    fn compiles_where_the_library_is_and_says_what_is_wrong() {
        let Some(nvrtc) = nvrtc_or_skip("compiling a kernel") else { return };
        let options = ["--gpu-architecture=sm_90"];
        let kernel = "extern \"C\" __global__ void twice(float* x) { x[threadIdx.x] *= 2.0f; }";
        let cubin = nvrtc.compile("twice", kernel, &options).unwrap();
        assert_eq!(&cubin[..4], b"\x7fELF");
        let error = nvrtc.compile("twice", "__global__ void f() { y = 1; }", &options).unwrap_err();
        assert!(error.contains("twice.cu") && error.contains('y'), "{error}");
        assert!(nvrtc.compile("twice", "\0", &options).is_err());
    }
}
