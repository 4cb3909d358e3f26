// How a thread calls libtorch while a forward runs. The declarations are those of `src/ffi/dispatch.rs`.

#include <ATen/core/grad_mode.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

extern "C" {

// What a thread had before: which of autograd's dispatch keys it left out, and whether it recorded gradients.
struct FxDispatch {
  uint64_t left_out;
  bool is_recording;
};

static void leave_out(uint64_t keys) {
  auto set = c10::impl::tls_local_dispatch_key_set();
  set.excluded_ = (set.excluded_ - c10::autograd_dispatch_keyset) | c10::DispatchKeySet(c10::DispatchKeySet::RAW, keys);
  c10::impl::_force_tls_local_dispatch_key_set(set);
}

// Turns gradients off on this thread; calls of operators go past autograd's kernels too if `without_autograd`, and through
// them otherwise, whatever was so before.
FxDispatch fx_dispatch_begin(bool without_autograd) {
  const auto keys = c10::autograd_dispatch_keyset;
  const FxDispatch before = {(c10::impl::tls_local_dispatch_key_set().excluded_ & keys).raw_repr(),
                             at::GradMode::is_enabled()};
  at::GradMode::set_enabled(false);
  const uint64_t wanted = without_autograd ? keys.raw_repr() : 0;
  if (wanted != before.left_out) {
    leave_out(wanted);
  }
  return before;
}

// Gives the thread back what it had.
void fx_dispatch_end(FxDispatch before) {
  at::GradMode::set_enabled(before.is_recording);
  const auto excluded = c10::impl::tls_local_dispatch_key_set().excluded_;
  if ((excluded & c10::autograd_dispatch_keyset).raw_repr() != before.left_out) {
    leave_out(before.left_out);
  }
}
}
