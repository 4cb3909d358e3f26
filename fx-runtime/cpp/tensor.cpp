// What tch does not tell of a tensor. The declarations are those of `src/ffi/sole.rs` and
// `src/ffi/tensor.rs`.

#include <ATen/core/Tensor.h>

extern "C" {

// Returns whether nothing else refers to the tensor or to its memory: no other handle and no view.
bool fx_tensor_is_sole(const at::Tensor* tensor) {
  return tensor->defined() && tensor->use_count() == 1 && tensor->has_storage() &&
         tensor->storage().use_count() == 1;
}

// Returns whether the channels of a tensor of rank 4 or 5 lie together, and the default order would be another one. ATen
// keeps the answers beside the strides: nothing is computed.
bool fx_tensor_is_channels_last(const at::Tensor* tensor) {
  if (!tensor->defined() || tensor->layout() != at::kStrided || tensor->is_contiguous()) {
    return false;
  }
  switch (tensor->dim()) {
    case 4:
      return tensor->is_contiguous(at::MemoryFormat::ChannelsLast);
    case 5:
      return tensor->is_contiguous(at::MemoryFormat::ChannelsLast3d);
    default:
      return false;
  }
}

// What a forward asks of an input.
struct FxInput {
  int32_t dtype;
  int32_t device_type;
  int32_t device_index;
  bool is_channels_last;
};

// A second handle of the tensor, with what a forward asks of it; null for an undefined one.
at::Tensor* fx_tensor_input(const at::Tensor* tensor, FxInput* asked) {
  if (!tensor->defined()) {
    return nullptr;
  }
  const auto device = tensor->device();
  *asked = {static_cast<int32_t>(tensor->scalar_type()), static_cast<int32_t>(device.type()),
            static_cast<int32_t>(device.index()), fx_tensor_is_channels_last(tensor)};
  return new at::Tensor(*tensor);
}
}
