// The shim against a libtorch that is made up: allocators that count, and refuse what libtorch's refuse.

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal };
enum cudaError_t { cudaSuccess, cudaErrorStreamCaptureInvalidated };
using cudaStream_t = int;
using cudaGraph_t = int*;
using cudaGraphExec_t = int*;

namespace c10 {
using DeviceIndex = signed char;
using MempoolId_t = std::pair<unsigned long long, unsigned long long>;
struct Stream {
  int id;
  bool operator==(const Stream& other) const { return id == other.id; }
};
struct Device {
  DeviceIndex of;
  DeviceIndex index() const { return of; }
};
} // namespace c10

struct Pools {
  std::map<c10::MempoolId_t, int> uses;
  std::set<c10::MempoolId_t> recording;

  void begin(c10::MempoolId_t id) {
    if (uses.count(id) && uses[id] == 0) throw std::runtime_error("the last graph has left the pool");
    uses[id]++;
    if (!recording.insert(id).second) throw std::runtime_error("already recording");
  }
  void end(c10::MempoolId_t id) {
    if (!recording.erase(id)) throw std::runtime_error("not recording");
  }
  void release(c10::MempoolId_t id) {
    if (--uses.at(id) < 0) throw std::runtime_error("released too often");
  }
  bool are_idle(int left) const {
    return recording.empty() && uses.size() == 1 && uses.begin()->second == left;
  }
};

static Pools on_device, on_host;
static c10::DeviceIndex present;
// By device, the present stream; 0 is the default one.
static std::map<c10::DeviceIndex, int> streams;
// How many streams were made.
static int handed_out;
static bool fails;

namespace c10::cuda {
struct CUDAStream {
  DeviceIndex device;
  int id;
  int stream() const { return id; }
  Stream unwrap() const { return {id}; }
};
struct CUDAEvent {
  void record(CUDAStream) {}
  void block(CUDAStream) {}
};
struct CUDAGuard {
  DeviceIndex before = present;
  explicit CUDAGuard(DeviceIndex device) { present = device; }
  ~CUDAGuard() { present = before; }
  Device current_device() const { return {present}; }
};
CUDAStream getCurrentCUDAStream(DeviceIndex device) { return {device, streams[device]}; }
CUDAStream getStreamFromPool(bool, DeviceIndex device) { return {device, ++handed_out}; }
void setCurrentCUDAStream(CUDAStream stream) { streams[stream.device] = stream.id; }
namespace CUDACachingAllocator {
void beginAllocateToPool(DeviceIndex, MempoolId_t id, std::function<bool(cudaStream_t)>) { on_device.begin(id); }
void endAllocateToPool(DeviceIndex, MempoolId_t id) { on_device.end(id); }
void releasePool(DeviceIndex, MempoolId_t id) { on_device.release(id); }
} // namespace CUDACachingAllocator
} // namespace c10::cuda

namespace at {
enum DeviceType { kCUDA };
struct HostAllocator {
  void begin_allocate_to_pool(c10::MempoolId_t id, std::function<bool(c10::Stream)>) { on_host.begin(id); }
  void end_allocate_to_pool(c10::MempoolId_t id) { on_host.end(id); }
  void release_pool(c10::MempoolId_t id) { on_host.release(id); }
};
HostAllocator* getHostAllocator(DeviceType) {
  static HostAllocator host;
  return &host;
}
namespace cuda {
c10::MempoolId_t graph_pool_handle() { return {0, 1}; }
} // namespace cuda
} // namespace at

// Which stream is recorded, and how many graphs and recordings there are.
static int recorded_stream, graphs, recordings;

cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "something was not permitted"; }
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (stream == 0) return cudaErrorStreamCaptureInvalidated;
  recorded_stream = stream;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const bool is_it = stream == recorded_stream;
  recorded_stream = 0;
  if (fails || !is_it) return cudaErrorStreamCaptureInvalidated;
  *graph = &graphs;
  graphs++;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* recorded, cudaGraph_t, unsigned long long) {
  *recorded = &recordings;
  recordings++;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t) { graphs--; return cudaSuccess; }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) { recordings--; return cudaSuccess; }
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }

#include "cuda_graph.cpp"

static char why[64];

static void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("%s: %s\n", what, why);
  std::exit(1);
}

static bool record(const Pool* pool, bool comes_to_something) {
  Graph* graph = nullptr;
  expect(fx_graph_enter(pool, &graph, why, sizeof why) == 0, "enter");
  fails = !comes_to_something;
  const bool begun = fx_graph_begin(graph, why, sizeof why) == 0;
  const bool ended = begun && fx_graph_end(graph, why, sizeof why) == 0;
  fails = false;
  expect(fx_graph_leave(graph, why, sizeof why) == 0, "leave");
  fx_graph_free(graph);
  expect(present == 0 && streams[1] == 0, "the thread is where it was");
  return ended;
}

int main() {
  Pool* pool = nullptr;
  expect(fx_pool_new(1, &pool, why, sizeof why) == 0, "a pool");
  expect(record(pool, true), "a graph on another device than the present one");
  expect(record(pool, true), "a graph in a pool that the last one has left");
  expect(!record(pool, false), "a recording that comes to nothing");
  expect(record(pool, true), "a graph after that");
  Graph* graph = nullptr;
  expect(fx_graph_enter(pool, &graph, why, sizeof why) == 0, "enter");
  expect(fx_graph_begin(graph, why, sizeof why) == 0, "begin");
  fx_graph_free(graph);
  expect(streams[1] == 0 && on_device.are_idle(1) && on_host.are_idle(1), "nothing goes on after the forward unwinds");
  expect(handed_out == 1, "all is recorded on one stream");
  fx_pool_free(pool);
  expect(on_device.are_idle(0) && on_host.are_idle(0), "the pool is let go");
  expect(graphs == 0 && recordings == 0, "and so is all that was recorded");
}
