//! MKL's matrix product with a weight packed once, and a epilogue of ours over the result.
//!
//! libtorch's x86 builds hold MKL and export its `cblas_sgemm_pack` and `cblas_sgemm_compute`. On Intel's CPUs that is
//! the fastest product of f32 matrices there is: 250 GFLOP/s on two cores of Sapphire Rapids, where oneDNN's packed
//! product reaches 225 and the unpacked one 205. A packed weight serves any number of rows, whatever number it was packed
//! for; MKL keeps what it needs to know in the packed block itself (tested for 1 to 1000 rows).

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use tch::{TchError, Tensor};

use super::buffer::{Buffer, HUGE_PAGE};
use super::entry::symbol;
use super::epilogue::{Epilogue, Nothing};
use super::operands::{Operands, WeightMatrix};
use super::output_pool::PoolUser;
use super::tensor::refused;
use super::vector::{VectorWidth, vector_width};

const ROW_MAJOR: c_int = 101;
const PLAIN: c_int = 111;
const TRANSPOSED: c_int = 112;
const PACKED: c_int = 151;
const RIGHT_MATRIX: c_int = 162;

/// Which matrix, then rows, columns of the result, and depth; answers in bytes.
type GetSize = unsafe extern "C" fn(c_int, c_int, c_int, c_int) -> usize;
/// Order, which matrix, transposed or not, the three sizes, a factor, the matrix with its step, and the packed block.
type Pack = unsafe extern "C" fn(c_int, c_int, c_int, c_int, c_int, c_int, f32, *const f32, c_int, *mut f32);
/// Order, how either matrix is given, the three sizes, both matrices with their steps, a factor for what the result
/// holds, and the result with its step.
type Compute = unsafe extern "C" fn(
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const f32,
    c_int,
    *const f32,
    c_int,
    f32,
    *mut f32,
    c_int,
);

struct Mkl {
    size: GetSize,
    pack: Pack,
    compute: Compute,
}

/// MKL, where it is present and the CPU is one that it was written for.
fn mkl() -> Option<&'static Mkl> {
    static MKL: OnceLock<Option<Mkl>> = OnceLock::new();
    let find = || {
        if !is_intel() || vector_width() < VectorWidth::Avx2 {
            return None;
        }
        let [size, pack, compute] =
            [symbol(c"cblas_sgemm_pack_get_size")?, symbol(c"cblas_sgemm_pack")?, symbol(c"cblas_sgemm_compute")?];
        // SAFETY: the functions of `mkl_cblas.h` (MKL 2024) with 32-bit integers, which is how libtorch is built; the
        // names with 64-bit integers end in `_64`.
        Some(unsafe {
            Mkl {
                size: std::mem::transmute::<*mut c_void, GetSize>(size),
                pack: std::mem::transmute::<*mut c_void, Pack>(pack),
                compute: std::mem::transmute::<*mut c_void, Compute>(compute),
            }
        })
    };
    MKL.get_or_init(find).as_ref()
}

/// Whether [`PackedGemm::pack`] can pack anything on this machine.
pub(crate) fn is_available() -> bool {
    mkl().is_some()
}

#[cfg(target_arch = "x86_64")]
fn is_intel() -> bool {
    let leaf = std::arch::x86_64::__cpuid(0);
    (leaf.ebx, leaf.edx, leaf.ecx)
        == (u32::from_le_bytes(*b"Genu"), u32::from_le_bytes(*b"ineI"), u32::from_le_bytes(*b"ntel"))
}

#[cfg(not(target_arch = "x86_64"))]
fn is_intel() -> bool {
    false
}

/// A weight `[out, in]` of f32 in MKL's own layout.
#[derive(Debug)]
pub(crate) struct PackedGemm {
    block: Buffer,
    columns: c_int,
    out: c_int,
    _pool_user: PoolUser,
}

impl PackedGemm {
    /// Packs a finite weight `[out, in]` of f32 on the CPU, of any strides; none where MKL is not there, or the weight
    /// is empty or too large for it. `rows` is how many rows an input is likely to have: a hint.
    pub(crate) fn pack(weight: &Tensor, rows: u16) -> Option<Result<Self, TchError>> {
        let (mkl, rows) = (mkl()?, c_int::from(rows));
        let &[out, columns] = &weight.size()[..] else { return None };
        let (out, columns) = (c_int::try_from(out).ok()?, c_int::try_from(columns).ok()?);
        if out == 0 || columns == 0 {
            return None;
        }
        // A transposed view is packed as the matrix that it is a view of.
        let (dense, order, stride) = match weight.stride()[..] {
            [1, step] if step == i64::from(out) && columns > 1 => (weight.shallow_clone(), PLAIN, out),
            _ => match weight.f_contiguous() {
                Ok(dense) => (dense, TRANSPOSED, columns),
                Err(error) => return Some(Err(error)),
            },
        };
        // SAFETY: the function reads its arguments alone.
        let bytes = unsafe { (mkl.size)(RIGHT_MATRIX, rows, out, columns) };
        // MKL asks for several times what it writes: a line at the start, and the weight from the next huge page on.
        let used = dense.numel() * size_of::<f32>();
        let block = match Buffer::lasting_from(bytes, HUGE_PAGE, used) {
            Ok(block) => block,
            Err(error) => return Some(Err(error)),
        };
        // SAFETY: `dense` holds `out × columns` floats in the order that is told, and `block` the bytes that were asked
        // for.
        unsafe {
            let source = dense.data_ptr().cast_const().cast::<f32>();
            (mkl.pack)(ROW_MAJOR, RIGHT_MATRIX, order, rows, out, columns, 1.0, source, stride, block.address().cast());
        }
        Some(Ok(Self { block, columns, out, _pool_user: PoolUser::new() }))
    }

    /// The weight `[out, in]` as it was packed: the product with a unit matrix, which is exact for finite weights.
    pub(crate) fn dense_weight(&self) -> Result<Tensor, TchError> {
        let (columns, out) = (i64::from(self.columns), i64::from(self.out));
        let unit = Tensor::f_eye(columns, (tch::Kind::Float, tch::Device::Cpu))?;
        self.run(&unit, &[columns, out], None, &Nothing)?.f_tr()?.f_contiguous()
    }
}

impl WeightMatrix for PackedGemm {
    fn shape(&self) -> [usize; 2] {
        [self.out, self.columns].map(|size| usize::try_from(size).unwrap_or(0))
    }

    fn multiply(&self, operands: &Operands, epilogue: &impl Epilogue) -> Result<(), TchError> {
        let refused = || refused("cblas_sgemm_compute");
        let mkl = mkl().ok_or_else(refused)?;
        let count = c_int::try_from(operands.rows).map_err(|_| refused())?;
        // SAFETY: `x` holds `rows × columns` floats and `y` `rows × out`, both row by row; the block was packed for
        // `columns` and `out`. Nobody else has `y` yet.
        unsafe {
            let weight = self.block.address().cast_const().cast();
            (mkl.compute)(
                ROW_MAJOR,
                PLAIN,
                PACKED,
                count,
                self.out,
                self.columns,
                operands.x(),
                self.columns,
                weight,
                self.out,
                0.0,
                operands.y(),
                self.out,
            );
        }
        operands.finish(epilogue);
        Ok(())
    }
}
