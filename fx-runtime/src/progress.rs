//! How far work is that takes long: loading, freezing, measuring kernels, calibrating, profiling.
//!
//! A program that wants to show it gives [`observe`] a function. Without one, which is so unless it is asked for, a step costs the
//! load of one flag, and nothing here knows of a terminal.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// A step of a task, its beginning and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is done: `load`, `freeze`, `autotune`, `calibrate`, `profile`, `bench`.
    pub task: &'static str,
    /// Steps that are done; 0 at the beginning.
    pub done: usize,
    /// All steps; 0 where their number is not known beforehand.
    pub total: usize,
    /// Whether the task is over.
    pub is_over: bool,
}

/// A function that is told of every step, on the thread that does it.
pub type Observer = Arc<dyn Fn(Progress) + Send + Sync>;

static IS_OBSERVED: AtomicBool = AtomicBool::new(false);
static OBSERVER: RwLock<Option<Observer>> = RwLock::new(None);

/// Sets the function that is told of every step in this process; `None` for nobody.
///
/// ```
/// use std::sync::{Arc, Mutex};
///
/// use fx_runtime::graph_module::value;
/// use fx_runtime::{Tensor, instance::Tracer, progress};
///
/// let mut t = Tracer::new("net");
/// let xs = t.input("xs", true);
/// let ys = t.call("relu", &[&xs], 1);
/// let net = t.finish(&[&ys])?;
///
/// let told = Arc::new(Mutex::new(Vec::new()));
/// let to = Arc::clone(&told);
/// progress::observe(Some(Arc::new(move |step| to.lock().unwrap().push((step.task, step.done, step.total)))));
/// net.profile(&[value(Tensor::from(1.0))], 0, 2)?;
/// progress::observe(None);
/// let profile = |done| ("profile", done, 2);
/// assert_eq!(*told.lock().unwrap(), [profile(0), profile(1), profile(2), profile(2)]);
/// # Ok::<(), fx_runtime::Error>(())
/// ```
pub fn observe(observer: Option<Observer>) {
    IS_OBSERVED.store(observer.is_some(), Ordering::Relaxed);
    *OBSERVER.write().unwrap_or_else(PoisonError::into_inner) = observer;
}

fn tell(progress: Progress) {
    let observer = OBSERVER.read().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some(observer) = observer {
        observer(progress);
    }
}

/// A task that goes on; over when it is dropped.
#[derive(Debug)]
pub(crate) struct Task(Option<Progress>);

impl Task {
    /// Begins a task of so many steps, 0 where that is not known.
    pub(crate) fn begin(task: &'static str, total: usize) -> Task {
        if !IS_OBSERVED.load(Ordering::Relaxed) {
            return Task(None);
        }
        let begun = Progress { task, done: 0, total, is_over: false };
        tell(begun);
        Task(Some(begun))
    }

    /// One step more is done.
    pub(crate) fn step(&mut self) {
        if let Some(progress) = &mut self.0 {
            progress.done += 1;
            tell(*progress);
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if let Some(progress) = self.0.take() {
            tell(Progress { is_over: true, ..progress });
        }
    }
}
