//! The CPU's tile registers: leave to use them, their shape, and products of tiles.

use std::arch::asm;

use super::super::product::PANEL;

/// Rows of a tile.
pub(super) const TILE: usize = 16;
/// Bytes of a tile: sixteen rows of a cache line.
pub(super) const TILE_BYTES: usize = 1 << 10;
/// Parts that a number is split into.
pub(super) const PARTS: usize = 3;
/// Bytes of a step over the depth: a tile for each part.
pub(super) const STEP: usize = PARTS * TILE_BYTES;

/// Whether the CPU has tiles of bf16, and the system lets this process use them; asked once.
pub(super) fn is_permitted() -> bool {
    static ANSWER: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    /// `ARCH_REQ_XCOMP_PERM` of `asm/prctl.h`.
    const REQUEST: libc::c_long = 0x1023;
    /// The state of the tiles among those that XSAVE knows.
    const TILE_DATA: libc::c_long = 18;
    /// Bits of leaf 7 in EDX.
    const AMX_BF16: u32 = 1 << 22;
    const AMX_TILE: u32 = 1 << 24;
    *ANSWER.get_or_init(|| {
        let (most, features) = (std::arch::x86_64::__cpuid(0).eax, AMX_BF16 | AMX_TILE);
        most >= 7
            && std::arch::x86_64::__cpuid_count(7, 0).edx & features == features
            // SAFETY: asks for leave, which the system grants to the whole process or refuses.
            && unsafe { libc::syscall(libc::SYS_arch_prctl, REQUEST, TILE_DATA) } == 0
    })
}

/// Whether this machine says which hardware threads share a core: a virtual one that shows a core for each may have
/// strangers on the other halves, who take two thirds of the tiles' speed and a quarter of what plain products have.
pub(super) fn knows_its_cores() -> bool {
    static ANSWER: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    const HYPERVISOR: u32 = 1 << 31;
    const SIBLINGS: &str = "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list";
    *ANSWER.get_or_init(|| {
        std::arch::x86_64::__cpuid(1).ecx & HYPERVISOR == 0
            || std::fs::read_to_string(SIBLINGS).is_ok_and(|list| list.trim().contains([',', '-']))
    })
}

/// The shapes of the eight tiles, as `ldtilecfg` reads them.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Shapes {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

/// What the tiles were shaped for before, to be put back: other libraries may count on it.
pub(super) struct Tiles {
    before: Shapes,
    rows: usize,
}

impl Tiles {
    /// # Safety
    ///
    /// [`is_permitted`].
    pub(super) unsafe fn take() -> Self {
        let mut before = Shapes::of(TILE);
        // SAFETY: by this function's contract; it writes 64 bytes.
        unsafe { asm!("sttilecfg [{}]", in(reg) &raw mut before, options(nostack, preserves_flags)) };
        Self { before, rows: 0 }
    }

    /// Shapes the tiles for a left matrix of so many rows, at most [`TILE`].
    pub(super) fn shape(&mut self, rows: usize) {
        if self.rows == rows {
            return;
        }
        self.rows = rows;
        let shapes = Shapes::of(rows);
        // SAFETY: a `Tiles` is made where they are permitted alone; it reads 64 bytes.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const shapes, options(nostack, preserves_flags, readonly)) };
    }
}

impl Drop for Tiles {
    fn drop(&mut self) {
        // SAFETY: as above; shapes that were valid before.
        unsafe {
            if self.before.palette == 0 {
                asm!("tilerelease", options(nostack, nomem, preserves_flags));
            } else {
                asm!("ldtilecfg [{}]", in(reg) &raw const self.before, options(nostack, preserves_flags, readonly));
            }
        }
    }
}

impl Shapes {
    fn of(rows: usize) -> Self {
        let count = |rows: usize| u8::try_from(rows.min(TILE)).unwrap_or(0);
        let (rows, all) = (count(rows), count(TILE));
        let mut shapes = Self { palette: 1, start_row: 0, reserved: [0; 14], row_bytes: [0; 16], rows: [0; 16] };
        // The result, three parts of the left matrix, three of the right one.
        for (tile, rows) in [rows, rows, rows, rows, all, all, all].into_iter().enumerate() {
            (shapes.rows[tile], shapes.row_bytes[tile]) = (rows, 64);
        }
        shapes
    }
}

/// One product: where its operands lie.
#[derive(Clone, Copy)]
pub(super) struct Product {
    /// [`STEP`] bytes for each step, the parts in order of size.
    pub(super) left: *const u8,
    /// The same.
    pub(super) right: *const u8,
    pub(super) steps: usize,
    /// Sixteen floats of each row of [`PANEL`].
    pub(super) result: *mut f32,
    /// Whether the product is added to what is there.
    pub(super) adds: bool,
    /// What is fetched into the second cache meanwhile, [`AHEAD`] bytes a step.
    pub(super) ahead: Option<*const u8>,
}

/// Bytes that [`multiply`] fetches ahead in every step.
pub(super) const AHEAD: usize = 256;

/// Writes the product of two tiles: the six products of parts that f32 can tell apart, small ones first.
///
/// One result at a time, though more would share what is loaded: where the other thread of a core is busy, a product
/// that goes to another tile than the one before it takes twice the time.
///
/// # Safety
///
/// The tiles are shaped; `steps` is not zero; operands and result are there.
pub(super) unsafe fn multiply(product: Product) {
    let Product { left, right, steps, result, adds, ahead } = product;
    let (ahead, stride) = ahead.map_or((right, 0), |ahead| (ahead, AHEAD));
    // SAFETY: by this function's contract; a fetch of what is not there does nothing.
    unsafe {
        asm!(
            "tilezero tmm0",
            "test {adds}, {adds}",
            "jz 2f",
            "tileloadd tmm0, [{result} + {row}]",
            "2:",
            "tileloadd tmm3, [{left} + {line} + 2048]",
            "tileloadd tmm4, [{right} + {line}]",
            "tileloadd tmm2, [{left} + {line} + 1024]",
            "tileloadd tmm1, [{left} + {line}]",
            "tileloadd tmm6, [{right} + {line} + 2048]",
            "tileloadd tmm5, [{right} + {line} + 1024]",
            "prefetcht1 [{ahead}]",
            "prefetcht1 [{ahead} + 64]",
            "prefetcht1 [{ahead} + 128]",
            "prefetcht1 [{ahead} + 192]",
            "tdpbf16ps tmm0, tmm3, tmm4",
            "tdpbf16ps tmm0, tmm2, tmm4",
            "tdpbf16ps tmm0, tmm1, tmm4",
            "tdpbf16ps tmm0, tmm1, tmm6",
            "tdpbf16ps tmm0, tmm1, tmm5",
            "tdpbf16ps tmm0, tmm2, tmm5",
            "add {left}, 3072",
            "add {right}, 3072",
            "add {ahead}, {stride}",
            "dec {steps}",
            "jnz 2b",
            "tilestored [{result} + {row}], tmm0",
            left = inout(reg) left => _,
            right = inout(reg) right => _,
            steps = inout(reg) steps => _,
            ahead = inout(reg) ahead => _,
            stride = in(reg) stride,
            line = in(reg) 64_usize,
            row = in(reg) PANEL * size_of::<f32>(),
            result = in(reg) result,
            adds = in(reg) u64::from(adds),
            options(nostack),
        );
    }
}
