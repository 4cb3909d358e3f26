//! Memory for large results, used again.
//!
//! The C library gives blocks of more than 32 MiB back to the system when they are freed, and smaller ones when they lie
//! at the end of its heap. The next forward asks for the same blocks, and the system clears them page by page while the
//! kernel waits: at batch 10 a quarter of a `MobileNetV2`'s time. So results of a megabyte and more come from here, on huge
//! pages, and return when the tensor is dropped, whoever drops it. What lies idle is at most twice of what was in use at
//! once of late, and all of it goes with the last kernel that is a `PoolUser`.
//!
//! Such a tensor cannot grow (`resize_` to more elements); in all else it is like any other.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tch::{TchError, Tensor};

use super::buffer::Buffer;
use super::entry::{Handle, table};
use super::tensor::{refused, take};

/// Results of fewer bytes come from the C library.
const LARGE: usize = 1 << 20;
/// A buffer serves for results of down to this part of its size.
const SPARE: usize = 4;
/// Takes after which the most that was in use is forgotten by half.
const MEMORY: u32 = 1024;

static POOL: Mutex<Pool> = Mutex::new(Pool { idle: Vec::new(), users: 0, in_use: 0, most: 0, takes: 0 });

#[derive(Debug)]
struct Pool {
    /// The latest returned last.
    idle: Vec<Buffer>,
    users: usize,
    /// Bytes that are handed out.
    in_use: usize,
    /// The most of these of late.
    most: usize,
    takes: u32,
}

fn pool() -> MutexGuard<'static, Pool> {
    // A panic could only come from an allocation, between two whole changes.
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Someone who may ask for memory; with the last one the idle memory goes.
#[derive(Debug)]
pub(crate) struct PoolUser(());

impl PoolUser {
    pub(crate) fn new() -> Self {
        pool().users += 1;
        Self(())
    }
}

impl Drop for PoolUser {
    fn drop(&mut self) {
        let mut pool = pool();
        pool.users -= 1;
        if pool.users == 0 {
            pool.most = 0;
            let idle = std::mem::take(&mut pool.idle);
            drop(pool);
            drop(idle);
        }
    }
}

impl Pool {
    fn take(&mut self, bytes: usize) -> Option<Buffer> {
        self.takes += 1;
        if self.takes == MEMORY {
            (self.takes, self.most) = (0, self.most / 2);
        }
        let fits = |buffer: &Buffer| (bytes..=bytes.saturating_mul(SPARE)).contains(&buffer.size());
        let fitting = self.idle.iter().enumerate().rev().filter(|(_, buffer)| fits(buffer));
        // The smallest, and of several the latest, which is in the caches.
        let best = fitting.min_by_key(|(_, buffer)| buffer.size()).map(|(index, _)| index);
        best.map(|index| self.idle.remove(index))
    }

    fn lent(&mut self, bytes: usize) {
        self.in_use += bytes;
        self.most = self.most.max(self.in_use);
    }

    /// Takes a buffer back; what comes out is too much.
    fn give(&mut self, buffer: Buffer) -> Vec<Buffer> {
        self.in_use -= buffer.size();
        self.idle.push(buffer);
        let mut room = if self.users == 0 { 0 } else { 2 * self.most };
        let mut kept = self.idle.len();
        while kept > 0 && self.idle[kept - 1].size() <= room {
            kept -= 1;
            room -= self.idle[kept].size();
        }
        self.idle.drain(..kept).collect()
    }
}

/// An unwritten tensor on the CPU with these sizes, strides, dtype (as `c10::ScalarType` counts) and bytes; the strides
/// leave no gaps.
pub(super) fn tensor(sizes: &[i64], strides: &[i64], dtype: i32, bytes: usize) -> Result<Tensor, TchError> {
    let entry = table();
    let (name, device) = ("aten::empty_strided", (0, -1));
    let rank = i64::try_from(sizes.len()).unwrap_or(0);
    let (sizes, strides) = (sizes.as_ptr(), strides.as_ptr());
    let mut out: Handle = ptr::null_mut();
    let Some(from_blob) = entry.from_blob.filter(|_| bytes >= LARGE) else {
        let empty = entry.empty.ok_or_else(|| refused(name))?;
        // SAFETY: both lists are alive and have `rank` entries; it writes a new tensor to `out`.
        let status = unsafe { empty(rank, sizes, strides, dtype, device.0, device.1, &raw mut out) };
        // SAFETY: on success the callee wrote a new tensor to `out` and gave it away; else `out` is still null.
        return unsafe { take(out, status, name) };
    };
    let idle = pool().take(bytes);
    let buffer = match idle {
        Some(buffer) => buffer,
        None => Buffer::lasting(bytes)?,
    };
    pool().lent(buffer.size());
    let (address, owner) = (buffer.address(), Box::into_raw(Box::new(buffer)));
    // SAFETY: the lists as above. The buffer has room for the elements, which lie without gaps, and is given away: it
    // lives until libtorch calls `give_back` with `owner`. If the call fails, the buffer is lost and not freed.
    let status = unsafe {
        from_blob(
            address,
            rank,
            sizes,
            strides,
            0,
            dtype,
            device.0,
            device.1,
            &raw mut out,
            0,
            ptr::null(),
            0,
            Some(give_back),
            owner.cast(),
        )
    };
    // SAFETY: as above.
    unsafe { take(out, status, name) }
}

/// Called by libtorch, on any thread, when the last tensor on a buffer is gone.
extern "C" fn give_back(_: *mut c_void, owner: *mut c_void) {
    // SAFETY: `owner` is the box that `tensor` gave away, and libtorch calls this once.
    let buffer = unsafe { Box::from_raw(owner.cast::<Buffer>()) };
    let surplus = pool().give(*buffer);
    drop(surplus);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lend(pool: &mut Pool, bytes: usize) -> Buffer {
        let buffer = pool.take(bytes).unwrap_or_else(|| Buffer::new(bytes).unwrap());
        pool.lent(buffer.size());
        buffer
    }

    fn empty() -> Pool {
        Pool { idle: Vec::new(), users: 1, in_use: 0, most: 0, takes: 0 }
    }

    #[test]
    fn a_block_comes_again() {
        let mut pool = empty();
        let (first, second) = (lend(&mut pool, 6400), lend(&mut pool, 64000));
        let addresses = (first.address(), second.address());
        assert!(pool.give(first).is_empty() && pool.give(second).is_empty());
        assert_eq!((lend(&mut pool, 64000).address(), lend(&mut pool, 3200).address()), (addresses.1, addresses.0));
        assert!(pool.idle.is_empty());
    }

    #[test]
    fn idle_memory_has_a_bound() {
        let mut pool = empty();
        for bytes in (1..200).map(|step| step * 64 * 1024) {
            let buffer = lend(&mut pool, bytes);
            pool.give(buffer);
            let idle: usize = pool.idle.iter().map(Buffer::size).sum();
            assert!(idle <= 2 * pool.most && pool.most == bytes, "{idle} idle of {bytes}");
        }
        for _ in 0..20 * MEMORY {
            let buffer = lend(&mut pool, 64);
            pool.give(buffer);
        }
        let idle: usize = pool.idle.iter().map(Buffer::size).sum();
        assert!(idle < 64 * 1024, "{idle} bytes of a busier time");
    }

    #[test]
    fn tensors_bring_their_memory_back_from_any_thread() {
        let _pool_user = PoolUser::new();
        let make = || tensor(&[1, 8, 256, 1024], &[8 << 18, 1, 8 << 10, 8], 6, 8 << 20).unwrap();
        let mut large = make();
        assert_eq!((large.size(), large.stride()), (vec![1, 8, 256, 1024], vec![8 << 18, 1, 8 << 10, 8]));
        let _ = large.f_fill_(1.5).unwrap();
        let view = large.select(1, 3);
        drop(large);
        let copy = make().f_fill_(0.0).unwrap();
        assert_eq!(view, view.full_like(1.5));
        std::thread::spawn(move || drop((view, copy))).join().unwrap();
    }
}
