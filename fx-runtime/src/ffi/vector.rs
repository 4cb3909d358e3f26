//! Loops compiled more than once, for the widest vectors that a CPU may have, and the choice among them at run time.

/// Which vectors this CPU computes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum VectorWidth {
    /// What every CPU of this architecture has.
    Baseline,
    /// AVX2 with fused multiply-add: 8 floats.
    Avx2,
    /// AVX-512: 16 floats.
    Avx512,
}

/// The width of the vectors that loops are to use: the widest of this machine.
#[cfg(target_arch = "x86_64")]
pub(crate) fn vector_width() -> VectorWidth {
    let width = widest();
    #[cfg(test)]
    if NARROW.load(std::sync::atomic::Ordering::Relaxed) {
        return width.min(VectorWidth::Avx2);
    }
    width
}

/// The widest of this machine; asked once.
#[cfg(target_arch = "x86_64")]
pub(crate) fn widest() -> VectorWidth {
    static WIDTH: std::sync::OnceLock<VectorWidth> = std::sync::OnceLock::new();
    *WIDTH.get_or_init(|| {
        let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        match (avx2, avx512) {
            (true, true) => VectorWidth::Avx512,
            (true, false) => VectorWidth::Avx2,
            _ => VectorWidth::Baseline,
        }
    })
}

/// Leaves AVX-512 unused; all versions compute the same.
#[cfg(test)]
static NARROW: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// Runs a check with the widest vectors of this machine, and without AVX-512.
#[cfg(test)]
pub(super) fn at_each_width(check: impl Fn()) {
    use std::sync::{Mutex, PoisonError, atomic::Ordering};

    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    check();
    NARROW.store(true, Ordering::Relaxed);
    check();
    NARROW.store(false, Ordering::Relaxed);
}

/// The widest of this machine.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn vector_width() -> VectorWidth {
    VectorWidth::Baseline
}

/// Code to be compiled for several widths.
pub(crate) trait Body {
    /// What it computes.
    type Output;

    /// The code. The compiler vectorises what is inlined into it alone, and decides by itself about closures: mark this
    /// function and all that it calls in its inner loop `#[inline(always)]`.
    fn run(self) -> Self::Output;
}

/// Runs `body` in the version that was compiled for this CPU's vectors.
#[inline]
pub(crate) fn vectorised<B: Body>(body: B) -> B::Output {
    #[cfg(target_arch = "x86_64")]
    match vector_width() {
        // SAFETY: `vector_width` has asked the CPU for every feature that the function is compiled with.
        VectorWidth::Avx512 => return unsafe { with_avx512(body) },
        // SAFETY: as above.
        VectorWidth::Avx2 => return unsafe { with_avx2(body) },
        VectorWidth::Baseline => {}
    }
    body.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub(super) fn with_avx512<B: Body>(body: B) -> B::Output {
    body.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")]
pub(super) fn with_avx512_bf16<B: Body>(body: B) -> B::Output {
    body.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
pub(super) fn with_avx2<B: Body>(body: B) -> B::Output {
    body.run()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Squares<'a>(&'a [f32]);

    impl Body for Squares<'_> {
        type Output = Vec<f32>;

        fn run(self) -> Vec<f32> {
            self.0.iter().map(|x| x * x).collect()
        }
    }

    #[test]
    fn every_version_computes_the_same() {
        let xs: Vec<f32> = (0..1000_u16).map(|i| f32::from(i) * 0.37 - 180.0).collect();
        assert_eq!(vectorised(Squares(&xs)), Squares(&xs).run());
    }
}
