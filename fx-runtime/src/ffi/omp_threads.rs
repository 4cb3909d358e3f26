//! libtorch's own threads for loops of ours: the OpenMP team that its kernels use, so that the two never compete.
//!
//! libtorch's `parallel_for` is an OpenMP parallel region, and so is one that is opened here through `GOMP_parallel`,
//! the entry point of libgomp (libomp has it too) that compilers emit calls to. `set_num_threads` governs both. Where
//! there is no such entry point loops run on the calling thread alone.

use std::ffi::{c_int, c_uint, c_void};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tch::TchError;

use super::entry::symbol;
use super::tensor::refused;

type Region = unsafe extern "C" fn(*mut c_void);

#[derive(Clone, Copy)]
struct OpenMp {
    parallel: unsafe extern "C" fn(Region, *mut c_void, c_uint, c_uint),
    max_threads: unsafe extern "C" fn() -> c_int,
    set_threads: unsafe extern "C" fn(c_int),
    team_size: unsafe extern "C" fn() -> c_int,
    member: unsafe extern "C" fn() -> c_int,
    in_parallel: unsafe extern "C" fn() -> c_int,
}

fn openmp() -> Option<&'static OpenMp> {
    static OPENMP: OnceLock<Option<OpenMp>> = OnceLock::new();
    OPENMP
        .get_or_init(|| {
            let number = |name| {
                // SAFETY: these functions of the OpenMP standard take nothing and return an int.
                symbol(name)
                    .map(|found| unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(found) })
            };
            // SAFETY: `GOMP_parallel(void (*)(void*), void*, unsigned, unsigned)`, stable since GCC 4.9.
            let parallel = symbol(c"GOMP_parallel").map(|found| unsafe {
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn(Region, *mut c_void, c_uint, c_uint)>(found)
            })?;
            // SAFETY: a function of the OpenMP standard, which takes an int.
            let set_threads = symbol(c"omp_set_num_threads")
                .map(|found| unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int)>(found) })?;
            Some(OpenMp {
                parallel,
                max_threads: number(c"omp_get_max_threads")?,
                set_threads,
                team_size: number(c"omp_get_num_threads")?,
                member: number(c"omp_get_thread_num")?,
                in_parallel: number(c"omp_in_parallel")?,
            })
        })
        .as_ref()
}

/// How many threads [`for_each_part`] may use, the caller's among them.
pub(crate) fn threads() -> usize {
    let Some(openmp) = openmp() else { return 1 };
    // SAFETY: both only read the settings of the calling thread.
    let (inside, threads) = unsafe { ((openmp.in_parallel)(), (openmp.max_threads)()) };
    if inside != 0 { 1 } else { usize::try_from(threads).unwrap_or(1).max(1) }
}

/// Runs `work`, which opens its own parallel regions, on the calling thread alone.
pub(crate) fn alone<R>(work: impl FnOnce() -> R) -> R {
    struct Restore(&'static OpenMp, c_int);
    impl Drop for Restore {
        fn drop(&mut self) {
            // SAFETY: the number was read from the same thread's settings.
            unsafe { (self.0.set_threads)(self.1) }
        }
    }
    let _restore = openmp().map(|openmp| {
        // SAFETY: reads the calling thread's settings.
        let before = unsafe { (openmp.max_threads)() };
        // SAFETY: changes the calling thread's settings, and no other's.
        unsafe { (openmp.set_threads)(1) };
        Restore(openmp, before)
    });
    work()
}

/// The `part`th of so many equal shares of a whole.
pub(crate) fn share(whole: usize, part: usize, parts: usize) -> Range<usize> {
    whole * part / parts..whole * (part + 1) / parts
}

/// As [`for_each_part`]; an error of one part is one of all, for want of `what`.
pub(super) fn try_each_part<F>(parts: usize, what: &str, work: &F) -> Result<(), TchError>
where
    F: Fn(usize) -> Result<(), TchError> + Sync,
{
    let failed = AtomicBool::new(false);
    for_each_part(parts, &|part| {
        if work(part).is_err() {
            failed.store(true, Ordering::Relaxed);
        }
    });
    if failed.into_inner() { Err(refused(what)) } else { Ok(()) }
}

/// Calls `work` once with each number below `parts`, on as many threads as there are. A panic of `work` ends the program.
///
/// Each thread begins with the part of its own number, so that it finds in its caches what it left there in the call
/// before; what is left then is done by the thread that is free first.
pub(crate) fn for_each_part<F: Fn(usize) + Sync>(parts: usize, work: &F) {
    let team = threads().min(parts);
    let (Some(openmp), true) = (openmp(), team > 1) else {
        (0..parts).for_each(work);
        return;
    };
    let shared = Shared { parts, work, openmp, taken: AtomicUsize::new(0) };
    let team = c_uint::try_from(team).unwrap_or(1);
    // SAFETY: `region::<F>` takes the pointer for what it is, a `Shared<F>` that lives until the call returns, which is
    // after every thread has left the region; `F` is `Sync`. A panic does not unwind out of an `extern "C"` function.
    unsafe { (openmp.parallel)(region::<F>, (&raw const shared).cast_mut().cast(), team, 0) };
}

struct Shared<'a, F> {
    parts: usize,
    work: &'a F,
    openmp: &'a OpenMp,
    /// Of the parts that no thread begins with.
    taken: AtomicUsize,
}

unsafe extern "C" fn region<F: Fn(usize) + Sync>(shared: *mut c_void) {
    // SAFETY: `for_each_part` hands in a `Shared<F>` that outlives the region; all threads only read it.
    let shared = unsafe { &*shared.cast::<Shared<'_, F>>() };
    // SAFETY: both only read which thread of which team is asking. The team may be smaller than asked for.
    let (member, team) = unsafe { ((shared.openmp.member)(), (shared.openmp.team_size)()) };
    let team = usize::try_from(team).unwrap_or(1).max(1);
    let mut part = usize::try_from(member).unwrap_or(0);
    while part < shared.parts {
        (shared.work)(part);
        part = team + shared.taken.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_done_once() {
        for parts in [0, 1, 2, 3, 100] {
            let done: Vec<AtomicUsize> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
            for_each_part(parts, &|part| {
                done[part].fetch_add(1, Ordering::Relaxed);
            });
            assert!(done.iter().all(|count| count.load(Ordering::Relaxed) == 1));
        }
    }

    #[test]
    fn what_runs_alone_opens_no_team_and_leaves_the_settings() {
        let before = threads();
        assert_eq!(alone(threads), 1);
        assert_eq!(threads(), before);
    }

    #[test]
    fn an_error_of_one_part_is_one_of_all() {
        assert!(try_each_part(5, "memory", &|_| Ok(())).is_ok());
        let failing = try_each_part(5, "memory", &|part| if part == 3 { Err(refused("a part")) } else { Ok(()) });
        assert_eq!(failing.unwrap_err().to_string(), refused("memory").to_string());
    }

    #[test]
    fn a_region_inside_a_region_stays_on_its_thread() {
        let inner = AtomicUsize::new(0);
        for_each_part(2, &|_| {
            for_each_part(3, &|_| {
                inner.fetch_add(1, Ordering::Relaxed);
            });
        });
        assert_eq!(inner.load(Ordering::Relaxed), 6);
    }
}
