//! Groups with ops on rows on a GPU: one block a row, which goes over it once for each thing that is asked, and once more.
//!
//! A thread takes every so many loads of 16 bytes of the row, computes in f32 (f64 in f64), and the block adds up what its
//! threads have found: by halves within a warp, then over warps. What an earlier pass has computed is computed again, from
//! registers where a thread has one load of the row alone, else from a row that is in the caches.

use std::fmt::Write as _;

use tch::{Device, Tensor};

use super::source::types;
use super::{LOAD, NAME, Operand, Stored, WARP, Walk, refused};
use crate::ffi::pointwise::rows::Reduction;
use crate::ffi::{CudaKernel, KernelArg};
use crate::{Error, Result};

/// The most blocks; each takes more than one row where there are more rows.
const MOST_BLOCKS: usize = 1 << 16;
/// The most threads of a block.
const MOST_THREADS: usize = 512;

/// What a kernel is compiled for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct RowCase {
    stored: Stored,
    /// Of each input, whether it is one number for a row.
    is_constant: Vec<bool>,
    /// Of each result, whether it is a number for each element.
    is_whole: Vec<bool>,
    /// How many axes lie around the rows.
    outer: usize,
    /// How many elements a thread loads at once.
    width: usize,
    /// Whether a thread has one load of a row, or none.
    is_single: bool,
}

/// The functions of a group: what is asked of a row, pass by pass, and the results.
#[derive(Debug)]
pub(crate) struct RowFunctions {
    /// `pass0(inputs, numbers, asked)`, `pass1(inputs, numbers, answers, asked)`, .., `element(.., results)`.
    pub(crate) source: String,
    pub(crate) asked: Vec<Reduction>,
    pub(crate) numbers: usize,
}

impl RowCase {
    /// The case of these inputs, and results that are contiguous; none where there is no kernel for it.
    pub(crate) fn of(inputs: &[Operand<'_>], sizes: &[i64], is_whole: &[bool]) -> Option<Self> {
        let stored = Stored::of(inputs.first()?.facts.dtype)?;
        let walk = Walk::of_rows(inputs, sizes)?;
        let (length, steps) = walk.axes[0];
        let width = LOAD / stored.bytes();
        let outer = &walk.axes[1..walk.rank];
        let is_aligned = |input: usize| {
            (inputs[input].address as usize).is_multiple_of(LOAD)
                && outer.iter().all(|(_, steps)| steps[input] % width.cast_signed() == 0)
        };
        let fits = length.is_multiple_of(width) && (0..inputs.len()).filter(|&input| steps[input] == 1).all(is_aligned);
        let width = if fits { width } else { 1 };
        Some(Self {
            stored,
            is_constant: steps[..inputs.len()].iter().map(|&step| step == 0).collect(),
            is_whole: is_whole.to_vec(),
            outer: walk.rank - 1,
            width,
            is_single: length <= width * MOST_THREADS,
        })
    }

    /// Threads for a row of this length: whole warps, with a load for each where there are as many.
    fn threads(&self, length: usize) -> usize {
        length.div_ceil(self.width).next_multiple_of(WARP as usize).min(MOST_THREADS)
    }
}

/// A compiled kernel.
#[derive(Debug)]
pub(crate) struct RowPass {
    kernel: CudaKernel,
    case: RowCase,
    numbers: usize,
}

impl RowPass {
    /// Compiles the kernel around these functions.
    pub(crate) fn compile(functions: &RowFunctions, case: &RowCase, device: Device) -> Result<Self> {
        let kernel = CudaKernel::compile(NAME, &source(functions, case), device)?;
        Ok(Self { kernel, case: case.clone(), numbers: functions.numbers })
    }

    /// Computes the results over `sizes`.
    ///
    /// # Errors
    ///
    /// Inputs that are not those of the kernel's case; no memory; what the driver refuses.
    pub(crate) fn run(
        &self,
        tensors: &[&Tensor],
        operands: &[Operand<'_>],
        numbers: &[f64],
        sizes: &[i64],
    ) -> Result<Vec<Tensor>> {
        let wrong = || Error::from(refused("a kernel over rows"));
        let case = RowCase::of(operands, sizes, &self.case.is_whole).filter(|case| *case == self.case);
        let walk = Walk::of_rows(operands, sizes).filter(|_| case.is_some()).ok_or_else(wrong)?;
        let (&[first, ..], Some((_, rest))) = (tensors, sizes.split_last()) else { return Err(wrong()) };
        if self.numbers != numbers.len() || tensors.len() != operands.len() {
            return Err(wrong());
        }
        let options = (first.f_kind()?, first.device());
        let reduced = [rest, &[1]].concat();
        let mut outputs = Vec::with_capacity(self.case.is_whole.len());
        for &is_whole in &self.case.is_whole {
            outputs.push(Tensor::f_empty(if is_whole { sizes } else { &reduced }, options)?);
        }
        let arguments = arguments(&self.case, &walk, tensors.iter().copied().chain(&outputs), numbers);
        let (length, _) = walk.axes[0];
        let [blocks, threads] = [(walk.count / length).min(MOST_BLOCKS), self.case.threads(length)].map(u32::try_from);
        let (blocks, threads) = (blocks.map_err(|_| wrong())?, threads.map_err(|_| wrong())?);
        // SAFETY: the arguments are those that the source declares for this case, in its order. The walk is that of the
        // inputs, and the results are new, contiguous, and have a row, or an element, for each of its rows.
        unsafe { self.kernel.launch([blocks, 1, 1], [threads, 1, 1], 0, &arguments)? };
        Ok(outputs)
    }
}

/// What a kernel is given, in the order in which the source declares it: inputs and results are `tensors`.
pub(super) fn arguments<'t>(
    case: &RowCase,
    walk: &Walk,
    tensors: impl Iterator<Item = &'t Tensor>,
    numbers: &[f64],
) -> Vec<KernelArg<'t>> {
    let (length, _) = walk.axes[0];
    let mut arguments = vec![KernelArg::count(walk.count / length), KernelArg::count(length)];
    arguments.extend(tensors.map(KernelArg::Tensor));
    arguments.extend(numbers.iter().map(|&number| case.stored.number(number)));
    for (length, steps) in walk.axes().skip(1) {
        arguments.push(KernelArg::count(length));
        arguments.extend(steps.iter().map(|step| KernelArg::Long(i64::try_from(*step).unwrap_or(0))));
    }
    arguments
}

/// Adds up what the threads of a block have found, of which each warp has one in shared memory.
pub(crate) const BLOCK: &str = "__device__ R added(R x, R y) { return x + y; }
template <R join(R, R)> __device__ R all(R mine, R* warps) {
    for (int step = 16; step > 0; step /= 2) mine = join(mine, __shfl_xor_sync(0xffffffff, mine, step));
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    R whole = warps[0];
    for (int warp = 1; warp < (int)blockDim.x / 32; warp++) whole = join(whole, warps[warp]);
    __syncthreads();
    return whole;
}
";

/// The source of a kernel around these functions.
pub(crate) fn source(functions: &RowFunctions, case: &RowCase) -> String {
    let width = case.width;
    let mut out = types(case.stored).to_owned();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "struct alignas({}) Pack {{ T of[{width}]; }};", width * case.stored.bytes());
    out += &functions.source;
    out += BLOCK;
    let mut printer = Printer { functions, case, out };
    printer.signature();
    printer.begins();
    for (pass, reduction) in functions.asked.iter().enumerate() {
        printer.ask(pass, *reduction);
    }
    printer.results();
    printer.out + "    }\n}\n"
}

struct Printer<'c> {
    functions: &'c RowFunctions,
    case: &'c RowCase,
    out: String,
}

impl Printer<'_> {
    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn inputs(&self) -> std::ops::Range<usize> {
        0..self.case.is_constant.len()
    }

    fn signature(&mut self) {
        let inputs = self.inputs().map(|input| format!(", const T* a{input}"));
        let outputs = (0..self.case.is_whole.len()).map(|output| format!(", T* b{output}"));
        let numbers = (0..self.functions.numbers).map(|number| format!(", R n{number}"));
        let mut params: String = inputs.chain(outputs).chain(numbers).collect();
        for axis in 0..self.case.outer {
            let _ = write!(params, ",\n    long long l{axis}");
            for input in self.inputs() {
                let _ = write!(params, ", long long s{axis}_{input}");
            }
        }
        self.line(&format!("extern \"C\" __global__ void {NAME}(long long rows, long long length{params}) {{"));
        self.line(&format!("    __shared__ R warps[{}];", MOST_THREADS / WARP as usize));
    }

    /// Where the row begins in each input; what is one number for it is read.
    fn begins(&mut self) {
        self.line("    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {");
        self.line("        long long rest = row;");
        for input in self.inputs() {
            self.line(&format!("        const T* q{input} = a{input};"));
        }
        for axis in 0..self.case.outer {
            for input in self.inputs() {
                self.line(&format!("        q{input} += rest % l{axis} * s{axis}_{input};"));
            }
            self.line(&format!("        rest /= l{axis};"));
        }
        for input in self.inputs().filter(|&input| self.case.is_constant[input]) {
            self.line(&format!("        R c{input} = load(*q{input});"));
        }
        if self.case.is_single {
            self.line(&format!("        long long at = threadIdx.x * {};", self.case.width));
            for input in self.inputs().filter(|&input| !self.case.is_constant[input]) {
                self.line(&format!("        Pack p{input};"));
                self.line(&format!("        if (at < length) p{input} = *(const Pack*)(q{input} + at);"));
            }
        }
    }

    /// A loop over the thread's packs of the row, and the elements of each.
    fn each(&mut self, statements: &str, stores: &str) {
        let width = self.case.width;
        let mut text = if self.case.is_single {
            "        if (at < length) {\n".to_owned()
        } else {
            let step = format!("blockDim.x * (long long){width}");
            format!("        for (long long at = threadIdx.x * {width}; at < length; at += {step}) {{\n")
        };
        for input in self.inputs().filter(|&input| !self.case.is_constant[input] && !self.case.is_single) {
            let _ = writeln!(text, "            Pack p{input} = *(const Pack*)(q{input} + at);");
        }
        for output in (0..self.case.is_whole.len()).filter(|&output| self.case.is_whole[output]) {
            if !stores.is_empty() {
                let _ = writeln!(text, "            Pack r{output};");
            }
        }
        let _ =
            write!(text, "            #pragma unroll\n            for (int i = 0; i < {width}; i++) {{\n{statements}");
        let _ = write!(text, "            }}\n{stores}        }}\n");
        self.out += &text;
    }

    /// A call of one of the functions, which knows the answers so far and sets these variables.
    fn call(&self, function: &str, answers: usize, set: &[String]) -> String {
        let value = |input: usize| {
            if self.case.is_constant[input] { format!("c{input}") } else { format!("load(p{input}.of[i])") }
        };
        let numbers = (0..self.functions.numbers).map(|number| format!("n{number}"));
        let answers = (0..answers).map(|answer| format!("k{answer}"));
        let args: Vec<String> =
            self.inputs().map(value).chain(numbers).chain(answers).chain(set.iter().cloned()).collect();
        let (set, args) = (set.join(", "), args.join(", "));
        format!("                R {set};\n                {function}({args});\n")
    }

    fn ask(&mut self, pass: usize, reduction: Reduction) {
        let (start, join) = match reduction {
            Reduction::Max => ("-R(1) / R(0)", "larger"),
            Reduction::Sum | Reduction::Mean | Reduction::LogSum => ("0", "added"),
        };
        self.line(&format!("        R k{pass} = {start};"));
        let call = self.call(&format!("pass{pass}"), pass, &["v".to_owned()]);
        self.each(&format!("{call}                k{pass} = {join}(k{pass}, v);\n"), "");
        self.line(&format!("        k{pass} = all<{join}>(k{pass}, warps);"));
        match reduction {
            Reduction::Sum | Reduction::Max => {}
            Reduction::Mean => self.line(&format!("        k{pass} = k{pass} / R(length);")),
            Reduction::LogSum => self.line(&format!("        k{pass} = log(k{pass});")),
        }
    }

    fn results(&mut self) {
        let outputs = self.case.is_whole.clone();
        let set: Vec<String> = (0..outputs.len()).map(|output| format!("y{output}")).collect();
        let mut text = self.call("element", self.functions.asked.len(), &set);
        let mut stores = String::new();
        for (output, is_whole) in outputs.into_iter().enumerate() {
            if is_whole {
                let _ = writeln!(text, "                r{output}.of[i] = store(y{output});");
                let _ = writeln!(stores, "            *(Pack*)(b{output} + row * length + at) = r{output};");
            } else {
                let _ = writeln!(text, "                if (at + i == 0) b{output}[row] = store(y{output});");
            }
        }
        self.each(&text, &stores);
    }
}
