// Registered operators behind plain C functions: found by name and overload, described, called on tagged values.
//
// The declarations are those of `src/ffi/operator/raw.rs`. Every function returns 0, or 1 after it has handed libtorch's
// message to the sink. No exception leaves this file.

#include <ATen/ScalarOps.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace {

enum Tag : uint32_t {
  kNone, kDefault, kTensor, kInt, kFloat, kBool, kComplex, kString, kDevice, kInts, kFloats, kBools, kTensors,
};

// What a value is wrapped in on the stack: a number as a tensor, a list of numbers or tensors as one of scalars or of
// optional tensors.
enum Form : int32_t { kPlain, kWrapped };

struct Value {
  Tag tag;
  // A `Form`, or the index of a device.
  int32_t form;
  union {
    int64_t integer;
    double real;
    const void* data;
  };
  union {
    uint64_t length;
    double imaginary;
  };
};

enum Kind : uint8_t {
  kEnd, kOptional, kList, kTensorType, kIntType, kFloatType, kBoolType, kScalar, kStringType, kDtype, kLayout,
  kMemoryFormat, kDeviceType, kGenerator, kComplexType, kOther,
};

struct Argument {
  const char* name;
  size_t name_length;
  // libtorch's name of the type.
  const char* type;
  size_t type_length;
  // The set of what shares memory; none where the length is 0.
  const char* alias;
  size_t alias_length;
  // From the outermost inwards.
  uint8_t kinds[4];
  // The length of a list for which one number may stand; 0 where there is none.
  int32_t list_length;
  bool is_result, is_written, is_keyword_only, has_default;
  Value value;
};

using Sink = void (*)(void*, const Value*);
using Arguments = void (*)(void*, const Argument*);
using Handle = c10::OperatorHandle;

Value text(std::string_view text) {
  Value value{kString, 0, {}, {}};
  value.data = text.data();
  value.length = text.size();
  return value;
}

template <typename F>
int guarded(void* context, Sink sink, F body) noexcept {
  const auto tell = [&](const char* message) {
    const auto value = text(message);
    sink(context, &value);
    return 1;
  };
  try {
    body();
    return 0;
  } catch (const c10::Error& error) {
    return tell(error.what_without_backtrace());
  } catch (const std::exception& error) {
    return tell(error.what());
  } catch (...) {
    return tell("an unknown exception");
  }
}

template <typename T>
c10::ArrayRef<T> list(const Value& value) {
  return {static_cast<const T*>(value.data), value.length};
}

c10::Scalar number(const Value& value) {
  switch (value.tag) {
    case kInt: return value.integer;
    case kFloat: return value.real;
    case kBool: return value.integer != 0;
    default: return c10::complex<double>(value.real, value.imaginary);
  }
}

c10::IValue tensors(const Value& value) {
  const auto handles = list<const at::Tensor*>(value);
  if (value.form == kWrapped) {
    c10::List<std::optional<at::Tensor>> tensors;
    tensors.reserve(handles.size());
    for (const auto* handle : handles) tensors.push_back(handle ? std::make_optional(*handle) : std::nullopt);
    return tensors;
  }
  c10::List<at::Tensor> tensors;
  tensors.reserve(handles.size());
  for (const auto* handle : handles) tensors.push_back(*handle);
  return tensors;
}

template <typename T>
c10::IValue numbers(const Value& value) {
  if (value.form == kPlain) return list<T>(value);
  c10::List<c10::Scalar> scalars;
  scalars.reserve(value.length);
  for (const T number : list<T>(value)) scalars.push_back(number);
  return c10::IValue(std::move(scalars));
}

c10::IValue given(const Value& value, const c10::Argument& argument) {
  switch (value.tag) {
    case kNone: return {};
    case kDefault: return argument.default_value().value();
    case kTensor: return *static_cast<const at::Tensor*>(value.data);
    case kInt:
    case kFloat:
    case kBool:
    case kComplex:
      if (value.form == kWrapped) return at::native::wrapped_scalar_tensor(number(value));
      return number(value);
    case kString: return std::string(static_cast<const char*>(value.data), value.length);
    case kDevice:
      return c10::Device(static_cast<c10::DeviceType>(value.integer), static_cast<c10::DeviceIndex>(value.form));
    case kInts: return numbers<int64_t>(value);
    case kFloats: return numbers<double>(value);
    case kBools: return list<bool>(value);
    case kTensors: return tensors(value);
  }
  TORCH_CHECK(false, "a value of tag ", value.tag);
}

// Lends the value to the sink; tensors are given away.
void lend(const c10::IValue& from, void* context, Sink sink) {
  Value value{kNone, 0, {}, {}};
  const auto lend_list = [&](Tag tag, const auto& numbers) {
    value.tag = tag;
    value.data = numbers.data();
    value.length = numbers.size();
    sink(context, &value);
  };
  if (from.isTensor()) {
    if (from.toTensor().defined()) {
      value.tag = kTensor;
      value.data = new at::Tensor(from.toTensor());
    }
  } else if (from.isInt()) {
    value.tag = kInt;
    value.integer = from.toInt();
  } else if (from.isDouble()) {
    value.tag = kFloat;
    value.real = from.toDouble();
  } else if (from.isBool()) {
    value.tag = kBool;
    value.integer = from.toBool();
  } else if (from.isComplexDouble()) {
    value.tag = kComplex;
    value.real = from.toComplexDouble().real();
    value.imaginary = from.toComplexDouble().imag();
  } else if (from.isString()) {
    value = text(from.toStringRef());
  } else if (from.isDevice()) {
    value.tag = kDevice;
    value.integer = static_cast<int64_t>(from.toDevice().type());
    value.form = from.toDevice().index();
  } else if (from.isIntList()) {
    return lend_list(kInts, from.toIntVector());
  } else if (from.isDoubleList()) {
    return lend_list(kFloats, from.toDoubleVector());
  } else if (from.isBoolList()) {
    const auto list = from.toBoolList();
    const std::vector<uint8_t> bytes(list.begin(), list.end());
    return lend_list(kBools, bytes);
  } else if (from.isList()) {
    const auto list = from.toListRef();
    for (const auto& item : list) {
      TORCH_CHECK(item.isTensor() || item.isNone(), "a list of ", item.tagKind(), " cannot be handed out");
    }
    std::vector<at::Tensor*> handles;
    handles.reserve(list.size());
    for (const auto& item : list) {
      const bool is_there = item.isTensor() && item.toTensor().defined();
      handles.push_back(is_there ? new at::Tensor(item.toTensor()) : nullptr);
    }
    return lend_list(kTensors, handles);
  } else {
    TORCH_CHECK(from.isNone(), "a value of type ", from.tagKind(), " cannot be handed out");
  }
  sink(context, &value);
}

Kind kind(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType: return kTensorType;
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType: return kIntType;
    case c10::TypeKind::FloatType: return kFloatType;
    case c10::TypeKind::BoolType: return kBoolType;
    case c10::TypeKind::NumberType: return kScalar;
    case c10::TypeKind::StringType: return kStringType;
    case c10::TypeKind::ScalarTypeType: return kDtype;
    case c10::TypeKind::LayoutType: return kLayout;
    case c10::TypeKind::MemoryFormatType: return kMemoryFormat;
    case c10::TypeKind::DeviceObjType: return kDeviceType;
    case c10::TypeKind::GeneratorType: return kGenerator;
    case c10::TypeKind::ComplexType: return kComplexType;
    default: return kOther;
  }
}

void describe(const c10::Argument& from, bool is_result, void* context, Arguments arguments) {
  const auto type = from.real_type()->str();
  std::string set;
  Argument argument{};
  argument.name = from.name().data();
  argument.name_length = from.name().size();
  argument.type = type.data();
  argument.type_length = type.size();
  // A list of tensors says it of what it holds.
  for (const auto* alias = from.alias_info(); alias;
       alias = alias->containedTypes().empty() ? nullptr : &alias->containedTypes().front()) {
    if (!alias->beforeSets().empty()) set = alias->beforeSets().begin()->toUnqualString();
    argument.is_written |= alias->isWrite();
  }
  argument.alias = set.data();
  argument.alias_length = set.size();
  auto inner = from.real_type();
  auto* place = argument.kinds;
  for (; place < argument.kinds + 3; ++place) {
    if (const auto* optional = inner->castRaw<c10::OptionalType>()) {
      *place = kOptional;
      inner = optional->getElementType();
    } else if (const auto* list = inner->castRaw<c10::ListType>()) {
      *place = kList;
      inner = list->getElementType();
    } else {
      break;
    }
  }
  *place = kind(*inner);
  argument.list_length = from.N().value_or(0);
  argument.is_result = is_result;
  argument.is_keyword_only = from.kwarg_only();
  argument.has_default = from.default_value().has_value();
  struct Forward {
    void* context;
    Arguments arguments;
    Argument* argument;
  } forward{context, arguments, &argument};
  const auto with_value = [](void* context, const Value* value) {
    auto* forward = static_cast<Forward*>(context);
    forward->argument->value = *value;
    forward->arguments(forward->context, forward->argument);
  };
  lend(from.default_value().value_or(c10::IValue()), &forward, with_value);
}

} // namespace

extern "C" {

// Finds an operator; `out` stays null where there is none with a schema.
int fx_operator_find(const char* name, size_t name_length, const char* overload, size_t overload_length,
                     const Handle** out, void* context, Sink sink) {
  return guarded(context, sink, [&] {
    const c10::OperatorName key(std::string(name, name_length), std::string(overload, overload_length));
    if (auto found = c10::Dispatcher::singleton().findSchema(key)) *out = new Handle(*found);
  });
}

// Lends the sink the overloads of a name.
int fx_operator_overloads(const char* name, size_t name_length, void* context, Sink sink) {
  return guarded(context, sink, [&] {
    for (const auto& key : c10::Dispatcher::singleton().getAllOpNames()) {
      if (std::string_view(key.name) == std::string_view(name, name_length)) {
        const auto value = text(key.overload_name);
        sink(context, &value);
      }
    }
  });
}

// Describes the arguments, then the results.
int fx_operator_schema(const Handle* op, void* schema, Arguments arguments, void* context, Sink sink) {
  return guarded(context, sink, [&] {
    for (const auto& argument : op->schema().arguments()) describe(argument, false, schema, arguments);
    for (const auto& result : op->schema().returns()) describe(result, true, schema, arguments);
  });
}

// Calls the operator on as many values as it has arguments, and lends its results to the sink.
int fx_operator_call(const Handle* op, const Value* values, size_t count, void* context, Sink sink) {
  return guarded(context, sink, [&] {
    const auto& arguments = op->schema().arguments();
    TORCH_CHECK(count == arguments.size(), arguments.size(), " arguments are expected, not ", count);
    std::vector<c10::IValue> stack;
    stack.reserve(count);
    for (size_t position = 0; position < count; ++position) {
      stack.push_back(given(values[position], arguments[position]));
    }
    op->callBoxed(stack);
    for (const auto& result : stack) lend(result, context, sink);
  });
}
}
