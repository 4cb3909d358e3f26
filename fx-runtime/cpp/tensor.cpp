// What tch does not tell of a tensor. The declarations are those of `src/ffi/sole.rs`.

#include <ATen/core/Tensor.h>

extern "C" {

// Returns whether nothing else refers to the tensor or to its memory: no other handle and no view.
bool fx_tensor_is_sole(const at::Tensor* tensor) {
  return tensor->defined() && tensor->use_count() == 1 && tensor->has_storage() &&
         tensor->storage().use_count() == 1;
}
}
