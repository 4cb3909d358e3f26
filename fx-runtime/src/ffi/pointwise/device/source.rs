//! The CUDA C of a pass.

use std::fmt::Write as _;

use super::{Case, LOAD, NAME, Read, Stored};

/// The source of a pass around `element`, a function of so many inputs, numbers and results.
pub(crate) fn source(element: &str, case: &Case, (inputs, numbers, outputs): (usize, usize, usize)) -> String {
    let others: Vec<usize> = (0..inputs).filter(|&input| case.reads[input] != Read::Linear).collect();
    let rank = if others.is_empty() { 0 } else { case.rank };
    let width = case.width;
    let index = if case.is_small { "int" } else { "long long" };
    let mut pass = Printer { case, inputs, numbers, outputs, others, rank, out: types(case.stored).to_owned() };
    pass.line(&format!("typedef {index} Index;"));
    pass.line(&format!("struct alignas({}) Pack {{ T of[{width}]; }};", width * case.stored.bytes()));
    pass.out.push_str(element);
    pass.signature();
    pass.line(&format!("    long long first = (blockIdx.x * (long long)blockDim.x + threadIdx.x) * {width};"));
    pass.line(&format!("    long long step = gridDim.x * (long long)blockDim.x * {width};"));
    pass.line("    for (long long at = first; at < count; at += step) {");
    pass.line(&format!("        int length = count - at < {width} ? (int)(count - at) : {width};"));
    pass.loads();
    pass.gathers();
    pass.computes();
    pass.stores();
    pass.out + "    }\n}\n"
}

struct Printer<'c> {
    case: &'c Case,
    inputs: usize,
    numbers: usize,
    outputs: usize,
    /// The inputs that lie otherwise than the results.
    others: Vec<usize>,
    /// Axes of the way through them.
    rank: usize,
    out: String,
}

impl Printer<'_> {
    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    /// A loop over the elements of a pack, of known length, so that packs stay in registers.
    fn each(&mut self, statements: &str) {
        let width = self.case.width;
        self.line(&format!(
            "        #pragma unroll\n        for (int i = 0; i < {width}; i++) {{\n{statements}        }}"
        ));
    }

    fn signature(&mut self) {
        let inputs = (0..self.inputs).map(|input| format!(", const T* a{input}"));
        let outputs = (0..self.outputs).map(|output| format!(", T* b{output}"));
        let numbers = (0..self.numbers).map(|number| format!(", R n{number}"));
        let mut params: String = inputs.chain(outputs).chain(numbers).collect();
        for axis in 0..self.rank {
            // Writing to a string cannot fail.
            let _ = write!(params, ",\n    long long l{axis}");
            for input in &self.others {
                let _ = write!(params, ", long long s{axis}_{input}");
            }
        }
        self.line(&format!("extern \"C\" __global__ void {NAME}(long long count{params}) {{"));
    }

    fn loads(&mut self) {
        let width = self.case.width;
        for input in 0..self.inputs {
            self.line(&format!("        Pack p{input} = {{}};"));
            if self.case.reads[input] == Read::Linear {
                self.line(&format!("        if (length == {width}) p{input} = *(const Pack*)(a{input} + at);"));
                self.line("        else {");
                self.each(&format!("            if (i < length) p{input}.of[i] = a{input}[at + i];\n"));
                self.line("        }");
            }
        }
    }

    /// Reads what lies otherwise.
    fn gathers(&mut self) {
        let (elements, packs): (Vec<usize>, Vec<usize>) =
            self.others.iter().partition(|&&input| self.case.reads[input] == Read::Each);
        if !packs.is_empty() {
            // A pack does not go over the end of the innermost axis, so that it is whole.
            let mut text = self.places(&packs, "at");
            for input in packs {
                let _ = match self.case.reads[input] {
                    Read::Row => writeln!(text, "            p{input} = *(const Pack*)q{input};"),
                    _ => writeln!(text, "            T o{input} = *q{input};\n{}", self.filled(input)),
                };
            }
            self.line(&format!("        {{\n{text}        }}"));
        }
        if !elements.is_empty() {
            let mut text = format!("            if (i >= length) break;\n{}", self.places(&elements, "at + i"));
            for input in elements {
                let _ = writeln!(text, "            p{input}.of[i] = *q{input};");
            }
            self.each(&text);
        }
    }

    /// One element as a whole pack.
    fn filled(&self, input: usize) -> String {
        let width = self.case.width;
        format!("            #pragma unroll\n            for (int i = 0; i < {width}; i++) p{input}.of[i] = o{input};")
    }

    /// Where an element of the results comes from in these inputs: `q0`, `q1`, ..
    fn places(&self, inputs: &[usize], element: &str) -> String {
        let mut text = format!("            Index rest = (Index)({element});\n");
        for input in inputs {
            let _ = writeln!(text, "            const T* q{input} = a{input};");
        }
        for axis in 0..self.rank {
            for input in inputs {
                let _ = writeln!(text, "            q{input} += rest % (Index)l{axis} * s{axis}_{input};");
            }
            let _ = writeln!(text, "            rest /= (Index)l{axis};");
        }
        text
    }

    fn computes(&mut self) {
        let values = (0..self.inputs).map(|input| format!("load(p{input}.of[i])"));
        let names = (0..self.numbers).map(|number| format!("n{number}"));
        let results: Vec<String> = (0..self.outputs).map(|output| format!("y{output}")).collect();
        let args: Vec<String> = values.chain(names).chain(results.iter().cloned()).collect();
        let (args, results) = (args.join(", "), results.join(", "));
        let mut text = format!("            R {results};\n            element({args});\n");
        for output in 0..self.outputs {
            self.line(&format!("        Pack r{output};"));
            let _ = writeln!(text, "            r{output}.of[i] = store(y{output});");
        }
        self.each(&text);
    }

    fn stores(&mut self) {
        let width = self.case.width;
        for output in 0..self.outputs {
            self.line(&format!("        if (length == {width}) *(Pack*)(b{output} + at) = r{output};"));
            self.line("        else {");
            self.each(&format!("            if (i < length) b{output}[at + i] = r{output}.of[i];\n"));
            self.line("        }");
        }
    }
}

/// The types, and a load of elements: `Pack`, of `PACK`.
pub(crate) fn packs(stored: Stored) -> String {
    let mut out = types(stored).to_owned();
    // Writing to a string cannot fail.
    let _ =
        writeln!(out, "const int PACK = {};\nstruct alignas({LOAD}) Pack {{ T of[PACK]; }};", LOAD / stored.bytes());
    out
}

/// The stored type, the type that is computed with, and how one becomes the other.
pub(super) fn types(stored: Stored) -> &'static str {
    match stored {
        Stored::F32 => PLAIN_F32,
        Stored::F64 => PLAIN_F64,
        Stored::F16 => F16,
        Stored::BF16 => BF16,
    }
}

const PLAIN_F32: &str = "typedef float T;
typedef float R;
__device__ R load(T x) { return x; }
__device__ T store(R x) { return x; }
";

const PLAIN_F64: &str = "typedef double T;
typedef double R;
__device__ R load(T x) { return x; }
__device__ T store(R x) { return x; }
";

const BF16: &str = "typedef unsigned short T;
typedef float R;
__device__ R load(T x) { return __uint_as_float((unsigned)x << 16); }
__device__ T store(R x) {
    unsigned bits = __float_as_uint(x);
    // To nearest, ties to even; NaN stays NaN.
    return x != x ? 0x7fff : (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}
";

const F16: &str = "typedef unsigned short T;
typedef float R;
__device__ R load(T x) { R y; asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(y) : \"h\"(x)); return y; }
__device__ T store(R x) { T y; asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(y) : \"f\"(x)); return y; }
";
