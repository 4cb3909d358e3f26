//! A kernel's source compiled for the host, its threads one after the other: the numbers without a GPU.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use super::*;

/// What CUDA has and C++ has not.
const CUDA: &str = "#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>
using namespace std;
#define __device__ static
#define __global__
struct Axis { int x; };
static Axis blockIdx, threadIdx, gridDim = {3}, blockDim = {4};
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
    let kind = tensors[0].kind();
    let outputs: [Tensor; O] = std::array::from_fn(|_| Tensor::empty_strided(sizes, strides, (kind, Device::Cpu)));
    let bytes = case.stored.bytes();
    let (mut main, mut input) = (String::from("int main() {\n"), Vec::new());
    let mut names = Vec::new();
    for (number, argument) in arguments(&case, &walk, tensors.into_iter().chain(&outputs), numbers).iter().enumerate() {
        names.push(match argument {
            KernelArg::Tensor(tensor) => {
                let span = tensor.size().into_iter().zip(tensor.stride()).map(|(size, stride)| (size - 1) * stride);
                let span = usize::try_from(span.sum::<i64>() + 1).unwrap() * bytes;
                let _ = writeln!(main, "T* t{number} = (T*)buffer({span});");
                if number <= I {
                    // SAFETY: from its first element to its last the tensor's memory is its own.
                    input
                        .extend_from_slice(unsafe { std::slice::from_raw_parts(tensor.data_ptr().cast::<u8>(), span) });
                    let _ = writeln!(main, "if (fread(t{number}, 1, {span}, stdin) != {span}) return 1;");
                }
                format!("t{number}")
            }
            KernelArg::Int(value) => value.to_string(),
            KernelArg::Long(value) => value.to_string(),
            KernelArg::Float(value) => format!("{value:?}f"),
            KernelArg::Double(value) => format!("{value:?}"),
        });
    }
    let call = format!("{NAME}({});", names.join(", "));
    let _ = writeln!(main, "for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)");
    let _ = writeln!(main, "for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++) {call}");
    for output in 0..O {
        let _ = writeln!(main, "fwrite(t{}, {bytes}, {}, stdout);", 1 + I + output, walk.count);
    }
    let program = [CUDA, &source(element, &case, (I, numbers.len(), O)), &main, "}\n"].concat();
    let found = output_of(name, &program, &input);
    let found: Vec<&[u8]> = found.chunks_exact(walk.count * bytes).collect();
    assert_eq!(found.len(), O, "{name}");
    let count = i64::try_from(walk.count).unwrap();
    std::array::from_fn(|output| Tensor::from_data_size(found[output], &[count], kind).as_strided(sizes, strides, None))
}

/// What a program writes when it reads `input`.
fn output_of(name: &str, program: &str, input: &[u8]) -> Vec<u8> {
    let folder = std::env::temp_dir().join(format!("fx-host-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (source, binary) = (folder.join("kernel.cpp"), folder.join("kernel"));
    fs::write(&source, program).unwrap();
    let mut compiled = Command::new("c++");
    compiled.args(["-std=c++17", "-O1", "-ffp-contract=off", "-o"]).arg(&binary).arg(&source);
    let compiled = compiled.output().expect("a C++ compiler, without which there is no tch either");
    assert!(compiled.status.success(), "{}\n{program}", String::from_utf8_lossy(&compiled.stderr));
    let mut running = Command::new(&binary).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = running.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input).unwrap());
    let output = running.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "{name}");
    let _ = fs::remove_dir_all(&folder);
    output.stdout
}
