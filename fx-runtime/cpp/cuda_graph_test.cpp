// The shim against a libtorch that is made up: allocators that count, and refuse what libtorch's refuse.

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal };
using cudaStream_t = int;

namespace c10 {
using DeviceIndex = signed char;
using MempoolId_t = std::pair<unsigned long long, unsigned long long>;
struct Stream {};
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
struct CUDAGraph {
  c10::MempoolId_t id;
  bool ended = false;

  void capture_begin(c10::MempoolId_t pool, cudaStreamCaptureMode) {
    if (streams[present] == 0) throw std::runtime_error("the default stream of the present device");
    id = pool;
    on_device.begin(id);
    on_host.begin(id);
  }
  void capture_end() {
    if (fails) throw std::runtime_error("something was not permitted");
    on_device.end(id);
    on_host.end(id);
    ended = true;
  }
  void replay() {}
  ~CUDAGraph() {
    if (!ended) return;
    on_device.release(id);
    on_host.release(id);
  }
};
} // namespace cuda
} // namespace at

#include "cuda_graph.cpp"

static char why[64];

static void check(bool holds, const char* what) {
  if (holds) return;
  std::printf("%s: %s\n", what, why);
  std::exit(1);
}

static bool record(const Pool* pool, bool comes_to_something) {
  Graph* graph = nullptr;
  check(fx_graph_enter(pool, &graph, why, sizeof why) == 0, "enter");
  fails = !comes_to_something;
  const bool begun = fx_graph_begin(graph, why, sizeof why) == 0;
  const bool ended = begun && fx_graph_end(graph, why, sizeof why) == 0;
  fails = false;
  check(fx_graph_leave(graph, why, sizeof why) == 0, "leave");
  fx_graph_free(graph);
  check(present == 0 && streams[1] == 0, "the thread is where it was");
  return ended;
}

int main() {
  Pool* pool = nullptr;
  check(fx_pool_new(1, &pool, why, sizeof why) == 0, "a pool");
  check(record(pool, true), "a graph on another device than the present one");
  check(record(pool, true), "a graph in a pool that the last one has left");
  check(!record(pool, false), "a recording that comes to nothing");
  check(record(pool, true), "a graph after that");
  Graph* graph = nullptr;
  check(fx_graph_enter(pool, &graph, why, sizeof why) == 0, "enter");
  check(fx_graph_begin(graph, why, sizeof why) == 0, "begin");
  fx_graph_free(graph);
  check(streams[1] == 0 && on_device.are_idle(1) && on_host.are_idle(1), "nothing goes on after the forward unwinds");
  check(handed_out == 1, "all is recorded on one stream");
  fx_pool_free(pool);
  check(on_device.are_idle(0) && on_host.are_idle(0), "the pool is let go");
}
