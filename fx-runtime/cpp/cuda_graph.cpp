// CUDA graphs in libtorch's pools of memory, behind plain C functions.
//
// libtorch's own class also records the random generators of a device: a thread that draws while another one records is
// refused, and every draw of the process once a recording has come to nothing. A forward that draws is not recorded here,
// so that graphs are CUDA's own, and memory alone is libtorch's.
//
// Every function returns 0, or 1 after it has written what went wrong to `why`. No exception leaves this file.

#include <c10/cuda/CUDAEvent.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>

#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>

namespace {

// The name of a pool of memory, for the device and for the host. It counts as in use while this lives: libtorch does
// not record into a pool again that the last graph has left.
struct Pool {
  const c10::DeviceIndex device;
  const c10::MempoolId_t id;
  // Where all is recorded: each stream has memory and workspaces of its own, which it keeps.
  const c10::cuda::CUDAStream stream;

  explicit Pool(c10::DeviceIndex device)
      : device(device), id(at::cuda::graph_pool_handle()), stream(c10::cuda::getStreamFromPool(false, device)) {
    const auto never = [](auto) { return false; };
    c10::cuda::CUDACachingAllocator::beginAllocateToPool(device, id, never);
    c10::cuda::CUDACachingAllocator::endAllocateToPool(device, id);
    at::getHostAllocator(at::kCUDA)->begin_allocate_to_pool(id, never);
    at::getHostAllocator(at::kCUDA)->end_allocate_to_pool(id);
  }
};

struct Graph {
  // What was recorded; null until then.
  cudaGraphExec_t recorded = nullptr;
  c10::DeviceIndex device = 0;
  // What it is recorded into, and which it is a user of while it lives.
  c10::MempoolId_t pool = {0, 0};
  bool uses_pool = false;
  bool is_recording = false;
  // While recording: the stream to go back to.
  std::optional<c10::cuda::CUDAStream> outside;
  // The last use of the graph's buffers, on whichever stream it was.
  c10::cuda::CUDAEvent used;
};

void check(cudaError_t status) {
  if (status != cudaSuccess) {
    // Or the next call that asks would be told of it again.
    cudaGetLastError();
    throw std::runtime_error(cudaGetErrorString(status));
  }
}

template <typename F>
int guarded(char* why, size_t room, F body) {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    std::snprintf(why, room, "%s", error.what());
  } catch (...) {
    std::snprintf(why, room, "an unknown exception");
  }
  return 1;
}

// What the present stream allocates goes to the pool, whose user the graph becomes.
void begin_allocations(Graph* graph, c10::cuda::CUDAStream stream) {
  graph->uses_pool = true;
  const auto raw = stream.stream();
  c10::cuda::CUDACachingAllocator::beginAllocateToPool(
      graph->device, graph->pool, [raw](cudaStream_t other) { return other == raw; });
  const auto own = stream.unwrap();
  at::getHostAllocator(at::kCUDA)->begin_allocate_to_pool(graph->pool, [own](c10::Stream other) { return other == own; });
}

void end_allocations(Graph* graph) {
  c10::cuda::CUDACachingAllocator::endAllocateToPool(graph->device, graph->pool);
  at::getHostAllocator(at::kCUDA)->end_allocate_to_pool(graph->pool);
}

void leave_pool(Graph* graph) {
  if (!graph->uses_pool) {
    return;
  }
  graph->uses_pool = false;
  guarded(nullptr, 0, [&] { c10::cuda::CUDACachingAllocator::releasePool(graph->device, graph->pool); });
  guarded(nullptr, 0, [&] { at::getHostAllocator(at::kCUDA)->release_pool(graph->pool); });
}

} // namespace

extern "C" {

// The version of these functions.
int fx_shim_version() {
  return 3;
}

// A pool of memory that graphs may share.
int fx_pool_new(int device, Pool** out, char* why, size_t room) {
  return guarded(why, room, [&] {
    const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device));
    *out = new Pool(guard.current_device().index());
  });
}

void fx_pool_free(Pool* pool) {
  guarded(nullptr, 0, [&] { c10::cuda::CUDACachingAllocator::releasePool(pool->device, pool->id); });
  guarded(nullptr, 0, [&] { at::getHostAllocator(at::kCUDA)->release_pool(pool->id); });
  delete pool;
}

// Moves this thread to the pool's stream, which goes on where the present one stands; `fx_graph_leave` moves it back. One
// thread at a time may be there.
int fx_graph_enter(const Pool* pool, Graph** out, char* why, size_t room) {
  return guarded(why, room, [&] {
    auto* graph = new Graph();
    try {
      graph->device = pool->device;
      graph->pool = pool->id;
      const auto outside = c10::cuda::getCurrentCUDAStream(graph->device);
      c10::cuda::CUDAEvent reached;
      reached.record(outside);
      reached.block(pool->stream);
      c10::cuda::setCurrentCUDAStream(pool->stream);
      graph->outside = outside;
    } catch (...) {
      delete graph;
      throw;
    }
    *out = graph;
  });
}

// Records what this thread gives to the device from now on, instead of running it.
int fx_graph_begin(Graph* graph, char* why, size_t room) {
  return guarded(why, room, [&] {
    const c10::cuda::CUDAGuard guard(graph->device);
    const auto stream = c10::cuda::getCurrentCUDAStream(graph->device);
    begin_allocations(graph, stream);
    try {
      check(cudaStreamBeginCapture(stream.stream(), cudaStreamCaptureModeThreadLocal));
    } catch (...) {
      end_allocations(graph);
      leave_pool(graph);
      throw;
    }
    graph->is_recording = true;
  });
}

// Ends the recording.
int fx_graph_end(Graph* graph, char* why, size_t room) {
  return guarded(why, room, [&] {
    const c10::cuda::CUDAGuard guard(graph->device);
    graph->is_recording = false;
    cudaGraph_t recorded = nullptr;
    const auto status = cudaStreamEndCapture(c10::cuda::getCurrentCUDAStream(graph->device).stream(), &recorded);
    end_allocations(graph);
    try {
      check(status);
      if (recorded == nullptr) {
        throw std::runtime_error("nothing was recorded");
      }
      const auto made = cudaGraphInstantiateWithFlags(&graph->recorded, recorded, 0);
      cudaGraphDestroy(recorded);
      check(made);
    } catch (...) {
      leave_pool(graph);
      throw;
    }
  });
}

// Back to the stream that was left; it goes on when the other one is done.
int fx_graph_leave(Graph* graph, char* why, size_t room) {
  return guarded(why, room, [&] {
    if (!graph->outside) {
      return;
    }
    const auto outside = *graph->outside;
    graph->outside.reset();
    c10::cuda::CUDAEvent reached;
    reached.record(c10::cuda::getCurrentCUDAStream(graph->device));
    c10::cuda::setCurrentCUDAStream(outside);
    reached.block(outside);
  });
}

// Lets the present stream wait for the last use of the graph's buffers.
int fx_graph_wait(Graph* graph, char* why, size_t room) {
  return guarded(why, room, [&] { graph->used.block(c10::cuda::getCurrentCUDAStream(graph->device)); });
}

// Runs what was recorded, on the present stream.
int fx_graph_replay(Graph* graph, char* why, size_t room) {
  return guarded(why, room, [&] {
    const c10::cuda::CUDAGuard guard(graph->device);
    check(cudaGraphLaunch(graph->recorded, c10::cuda::getCurrentCUDAStream(graph->device).stream()));
  });
}

// Notes that the graph's buffers are in use up to this point of the present stream.
int fx_graph_used(Graph* graph, char* why, size_t room) {
  return guarded(why, room, [&] { graph->used.record(c10::cuda::getCurrentCUDAStream(graph->device)); });
}

void fx_graph_free(Graph* graph) {
  // A forward that unwinds leaves its thread where it was.
  if (graph->is_recording) {
    fx_graph_end(graph, nullptr, 0);
  }
  fx_graph_leave(graph, nullptr, 0);
  if (graph->recorded != nullptr) {
    cudaGraphExecDestroy(graph->recorded);
  }
  leave_pool(graph);
  try {
    delete graph;
  } catch (...) {
    // The device is gone; there is nobody to tell.
  }
}
}
