// CUDA graphs of libtorch behind plain C functions: what libtorch offers as C++ classes alone.
//
// Every function returns 0, or 1 after it has written what went wrong to `why`. No exception leaves this file.

#include <c10/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>

#include <cstdio>
#include <exception>
#include <optional>

namespace {

struct Graph {
  at::cuda::CUDAGraph graph;
  c10::DeviceIndex device = 0;
  // While recording: the stream to go back to.
  std::optional<c10::cuda::CUDAStream> outside;
  // The last use of the graph's buffers, on whichever stream it was.
  c10::cuda::CUDAEvent used;
};

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

} // namespace

extern "C" {

// The version of these functions.
int fx_shim_version() {
  return 1;
}

// A name for a pool of memory that graphs may share; two numbers.
int fx_pool_new(unsigned long long* pool, char* why, size_t room) {
  return guarded(why, room, [&] {
    const auto id = at::cuda::graph_pool_handle();
    pool[0] = id.first;
    pool[1] = id.second;
  });
}

// Moves this thread to a stream of its own that goes on where the present one stands; `fx_graph_leave` moves it back.
int fx_graph_enter(int device, Graph** out, char* why, size_t room) {
  return guarded(why, room, [&] {
    auto* graph = new Graph();
    try {
      graph->device = static_cast<c10::DeviceIndex>(device);
      const auto outside = c10::cuda::getCurrentCUDAStream(graph->device);
      const auto inside = c10::cuda::getStreamFromPool(false, graph->device);
      c10::cuda::CUDAEvent reached;
      reached.record(outside);
      reached.block(inside);
      c10::cuda::setCurrentCUDAStream(inside);
      graph->outside = outside;
    } catch (...) {
      delete graph;
      throw;
    }
    *out = graph;
  });
}

// Records what this thread gives to the device from now on, instead of running it.
int fx_graph_begin(Graph* graph, const unsigned long long* pool, char* why, size_t room) {
  return guarded(why, room, [&] {
    graph->graph.capture_begin({pool[0], pool[1]}, cudaStreamCaptureModeThreadLocal);
  });
}

// Ends the recording.
int fx_graph_end(Graph* graph, char* why, size_t room) {
  return guarded(why, room, [&] { graph->graph.capture_end(); });
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
  return guarded(why, room, [&] { graph->graph.replay(); });
}

// Notes that the graph's buffers are in use up to this point of the present stream.
int fx_graph_used(Graph* graph, char* why, size_t room) {
  return guarded(why, room, [&] { graph->used.record(c10::cuda::getCurrentCUDAStream(graph->device)); });
}

void fx_graph_free(Graph* graph) {
  try {
    delete graph;
  } catch (...) {
    // The device is gone; there is nobody to tell.
  }
}
}
