//! A kernel's source compiled for the host: the numbers without a GPU. The threads of a block are threads here too, and
//! wait for each other where the kernel says so.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use super::rows::{RowCase, RowFunctions};
use super::*;

/// What CUDA has and C++ has not.
const CUDA: &str = "#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>
using namespace std;
#define __device__ static
#define __global__
#define __shared__ static
struct Axis { int x; };
static Axis blockIdx, gridDim = {3}, blockDim = {64};
static thread_local Axis threadIdx;
static mutex gate;
static condition_variable open_gate;
static int waiting, turn;
static void __syncthreads() {
    unique_lock<mutex> lock(gate);
    int mine = turn;
    if (++waiting == blockDim.x) { waiting = 0; turn++; open_gate.notify_all(); }
    else open_gate.wait(lock, [&] { return turn != mine; });
}
template <typename R> static R __shfl_xor_sync(unsigned, R mine, int step) {
    static R all[1024];
    all[threadIdx.x] = mine;
    __syncthreads();
    R other = all[threadIdx.x ^ step];
    __syncthreads();
    return other;
}
static float __uint_as_float(unsigned bits) { float x; memcpy(&x, &bits, 4); return x; }
static unsigned __float_as_uint(float x) { unsigned bits; memcpy(&bits, &x, 4); return bits; }
struct alignas(16) Block { char of[16]; };
static void* buffer(size_t bytes) { return (new vector<Block>(bytes / 16 + 1))->data(); }
";

/// The results of a pass whose elements `element` computes.
pub(crate) fn run<const I: usize, const O: usize>(
    name: &str,
    element: &str,
    tensors: [&Tensor; I],
    numbers: &[f64],
    (sizes, strides): (&[i64], &[i64]),
) -> [Tensor; O] {
    let operands = tensors.map(|tensor| Operand::of(tensor).unwrap());
    let mut case = Case::of(&operands, sizes, strides).unwrap();
    case.width = LOAD / case.stored.bytes();
    let walk = Walk::new(&operands, sizes, strides).unwrap();
    let options = (tensors[0].kind(), Device::Cpu);
    let outputs: [Tensor; O] = std::array::from_fn(|_| Tensor::empty_strided(sizes, strides, options));
    let arguments = arguments(&case, &walk, tensors.into_iter().chain(&outputs), numbers);
    let found = execute(name, &source(element, &case, (I, numbers.len(), O)), &arguments, I, &[walk.count; O]);
    found.map(|found| found.as_strided(sizes, strides, None))
}

/// The results over rows of a group with these functions.
pub(crate) fn run_rows<const I: usize, const O: usize>(
    name: &str,
    functions: &RowFunctions,
    tensors: [&Tensor; I],
    numbers: &[f64],
    (sizes, is_whole): (&[i64], [bool; O]),
) -> [Tensor; O] {
    let operands = tensors.map(|tensor| Operand::of(tensor).unwrap());
    let case = RowCase::of(&operands, sizes, &is_whole).unwrap();
    let walk = Walk::of_rows(&operands, sizes).unwrap();
    let mut reduced = sizes.to_vec();
    *reduced.last_mut().unwrap() = 1;
    let shapes = is_whole.map(|is_whole| if is_whole { sizes } else { &reduced });
    let outputs = shapes.map(|shape| Tensor::empty(shape, (tensors[0].kind(), Device::Cpu)));
    let arguments = rows::arguments(&case, &walk, tensors.into_iter().chain(&outputs), numbers);
    let counts = outputs.each_ref().map(Tensor::numel);
    let found = execute(name, &rows::source(functions, &case), &arguments, I, &counts);
    let mut shapes = shapes.into_iter();
    found.map(|found| found.view(shapes.next().unwrap()))
}

/// Runs a kernel of so many inputs; its results have `counts` elements.
pub(crate) fn execute<const O: usize>(
    name: &str,
    kernel: &str,
    arguments: &[KernelArg<'_>],
    inputs: usize,
    counts: &[usize; O],
) -> [Tensor; O] {
    let (mut main, mut input) = (String::from("int main() {\n"), Vec::new());
    let (mut names, mut tensors) = (Vec::new(), Vec::new());
    for (number, argument) in arguments.iter().enumerate() {
        names.push(match argument {
            KernelArg::Tensor(tensor) => {
                let bytes = tensor.kind().elt_size_in_bytes();
                let span = tensor.size().into_iter().zip(tensor.stride()).map(|(size, stride)| (size - 1) * stride);
                let span = usize::try_from(span.sum::<i64>() + 1).unwrap() * bytes;
                let _ = writeln!(main, "T* t{number} = (T*)buffer({span});");
                if tensors.len() < inputs {
                    // SAFETY: from its first element to its last the tensor's memory is its own.
                    input
                        .extend_from_slice(unsafe { std::slice::from_raw_parts(tensor.data_ptr().cast::<u8>(), span) });
                    let _ = writeln!(main, "if (fread(t{number}, 1, {span}, stdin) != {span}) return 1;");
                }
                tensors.push((number, tensor.kind()));
                format!("t{number}")
            }
            KernelArg::Int(value) => value.to_string(),
            KernelArg::Long(value) => value.to_string(),
            KernelArg::Float(value) => format!("{value:?}f"),
            KernelArg::Double(value) => format!("{value:?}"),
        });
    }
    let call = format!("threadIdx.x = t; {NAME}({});", names.join(", "));
    let _ = writeln!(main, "for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) {{");
    let _ = writeln!(main, "vector<thread> block;");
    let _ = writeln!(main, "for (int t = 0; t < blockDim.x; t++) block.emplace_back([=] {{ {call} }});");
    let _ = writeln!(main, "for (auto& one : block) one.join();\n}}");
    let results = &tensors[inputs..];
    for ((number, kind), count) in results.iter().zip(counts) {
        let _ = writeln!(main, "fwrite(t{number}, {}, {count}, stdout);", kind.elt_size_in_bytes());
    }
    let found = output_of(name, &[CUDA, kernel, &main, "}\n"].concat(), &input);
    let (mut rest, mut results) = (&found[..], results.iter());
    let found = counts.map(|count| {
        let (_, kind) = results.next().unwrap();
        let (own, others) = rest.split_at(count * kind.elt_size_in_bytes());
        rest = others;
        Tensor::from_data_size(own, &[i64::try_from(count).unwrap()], *kind)
    });
    assert!(rest.is_empty(), "{name}");
    found
}

/// What a program writes when it reads `input`.
fn output_of(name: &str, program: &str, input: &[u8]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let (source, binary) = (folder.path().join("kernel.cpp"), folder.path().join("kernel"));
    fs::write(&source, program).unwrap();
    let mut compiled = Command::new("c++");
    compiled.args(["-std=c++17", "-O1", "-ffp-contract=off", "-pthread", "-o"]).arg(&binary).arg(&source);
    let compiled = compiled.output().expect("a C++ compiler, without which there is no tch either");
    assert!(compiled.status.success(), "{}\n{program}", String::from_utf8_lossy(&compiled.stderr));
    let mut running = Command::new(&binary).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = running.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input).unwrap());
    let output = running.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "{name}");
    output.stdout
}
