//! Memory of our own: for packed weights on huge pages, and for what a kernel scribbles on.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr::NonNull;

use tch::TchError;

/// Bytes of a huge page on x86-64, and a multiple of what other processors have as a rule.
pub(crate) const HUGE_PAGE: usize = 2 << 20;
/// A cache line, the alignment that oneDNN asks for.
const LINE: usize = 64;

/// Uninitialised bytes.
#[derive(Debug)]
pub(crate) struct Buffer {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns its bytes, which are tied to no thread.
unsafe impl Send for Buffer {}
// SAFETY: through `&Buffer` there is the address alone; who writes to it says why nobody else does.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// For small sizes, or for a short time.
    pub(crate) fn new(bytes: usize) -> Result<Self, TchError> {
        Self::aligned(bytes, LINE)
    }

    /// On huge pages if it is large enough and the system gives them when asked: a kernel that streams through a weight
    /// of megabytes then waits for fewer page walks.
    pub(crate) fn lasting(bytes: usize) -> Result<Self, TchError> {
        Self::lasting_from(bytes, 0, bytes)
    }

    /// The same where `used` bytes from `start` on, whole huge pages, will be written and hardly any other: those have no
    /// huge page, which would lie in memory as a whole for a few bytes of it.
    pub(crate) fn lasting_from(bytes: usize, start: usize, used: usize) -> Result<Self, TchError> {
        if bytes < HUGE_PAGE {
            return Self::new(bytes);
        }
        let buffer = Self::aligned(bytes, HUGE_PAGE)?;
        let length = used.min(bytes.saturating_sub(start)) / HUGE_PAGE * HUGE_PAGE;
        #[cfg(target_os = "linux")]
        {
            let advise = |from: usize, length: usize, advice| {
                // SAFETY: inside of a new allocation that begins with a page; the advice changes no contents, and may be
                // refused.
                unsafe { libc::madvise(buffer.start.as_ptr().add(from).cast(), length, advice) };
            };
            if used < bytes {
                advise(0, bytes, libc::MADV_NOHUGEPAGE);
            }
            if start.is_multiple_of(HUGE_PAGE) && length > 0 {
                advise(start, length, libc::MADV_HUGEPAGE);
            }
        }
        Ok(buffer)
    }

    fn aligned(bytes: usize, alignment: usize) -> Result<Self, TchError> {
        let layout = Layout::from_size_align(bytes.max(LINE), alignment).ok();
        // SAFETY: the size is not zero.
        let start = layout.and_then(|layout| Some((NonNull::new(unsafe { alloc(layout) })?, layout)));
        let (start, layout) = start.ok_or_else(|| TchError::Torch(format!("no memory for {bytes} bytes")))?;
        Ok(Self { start, layout })
    }

    pub(crate) fn address(&self) -> *mut c_void {
        self.start.as_ptr().cast()
    }

    pub(super) fn size(&self) -> usize {
        self.layout.size()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// Gives back to the system what was freed and lies between blocks that are in use, which the C library keeps.
pub(crate) fn release_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it takes the allocator's own locks, and moves nothing that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Lends `bytes` of scratch memory of this thread to `work`, which must not ask for it again.
///
/// Threads do not share it, kernels that run one after the other do; it grows to what the largest of them needed, and is
/// freed with the thread.
pub(crate) fn with_scratch<R>(
    bytes: usize,
    work: impl FnOnce(*mut c_void) -> Result<R, TchError>,
) -> Result<R, TchError> {
    thread_local! {
        static SCRATCH: RefCell<Option<Buffer>> = const { RefCell::new(None) };
    }
    SCRATCH.with(|scratch| {
        let Ok(mut scratch) = scratch.try_borrow_mut() else { return work(Buffer::new(bytes)?.address()) };
        let buffer = match scratch.take() {
            Some(buffer) if buffer.size() >= bytes => buffer,
            _ => Buffer::new(bytes)?,
        };
        work(scratch.insert(buffer).address())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_buffers_lie_on_huge_pages() {
        for (bytes, alignment) in [(0, LINE), (100, LINE), (HUGE_PAGE, HUGE_PAGE), (3 * HUGE_PAGE + 1, HUGE_PAGE)] {
            let buffer = Buffer::lasting(bytes).unwrap();
            assert_eq!(buffer.address().addr() % alignment, 0, "{bytes}");
            // SAFETY: the bytes are the buffer's.
            unsafe { std::ptr::write_bytes(buffer.address().cast::<u8>(), 1, bytes) };
        }
    }

    #[test]
    fn scratch_memory_stays_and_grows() {
        let address = |bytes| with_scratch(bytes, |start| Ok(start.addr())).unwrap();
        let small = address(1000);
        assert_eq!(address(500), small);
        address(100_000);
        assert_eq!(address(1000), address(100_000));
        let nested = with_scratch(64, |outer| with_scratch(64, |inner| Ok(outer != inner))).unwrap();
        assert!(nested);
    }
}
