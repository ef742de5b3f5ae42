// A simulated accelerator for tests, as a PrivateUse1 backend of PyTorch's: two devices, whose memory is the host's.
//
// What a program could get wrong on a real device fails here too:
// - kernels refuse tensors of different devices (a CPU tensor without dimensions is a number, as on GPUs);
// - new memory is filled with 0xff, so that what is read before it is written shows up;
// - copies from pinned memory on a stream that isn't the default one wait, until somebody waits for that stream;
// - whatever makes the host wait for the device is counted by its name.
// Kernels run at once, on the CPU's kernels, which see the tensors as the CPU's.

#include <ATen/ATen.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/library.h>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/autocast_mode.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/alloc_cpu.h>

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>

namespace {

using at::Tensor;
using c10::Device;
using c10::DeviceIndex;
using c10::Stream;
using c10::StreamId;

constexpr auto KIND = c10::DeviceType::PrivateUse1;
constexpr DeviceIndex DEVICES = 2;

thread_local DeviceIndex current = 0;
thread_local StreamId streams[DEVICES] = {0, 0};  // the current one of each device
thread_local int inside = 0;                       // of a kernel: what it does isn't the program's

std::recursive_mutex mutex;  // of all that follows
std::map<std::string, int64_t> counts;
std::set<const void*> pinned;
bool strict = true;
bool initialized[DEVICES] = {false, false};

void count(const std::string& name) {
  if (inside == 0) {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    counts[name]++;
  }
}

// --- streams: the work that waits in each, and how much has been put into it so far

struct Queue {
  std::deque<std::function<void()>> waiting;
  int64_t given = 0;
  int64_t done() const { return given - static_cast<int64_t>(waiting.size()); }
  void run_until(int64_t end) {
    while (done() < end && !waiting.empty()) {
      auto work = std::move(waiting.front());
      work();
      waiting.pop_front();
    }
  }
};

std::map<std::pair<DeviceIndex, StreamId>, Queue> queues;
StreamId last_stream = 0;

struct Mark {  // what an event is
  DeviceIndex device = 0;
  StreamId stream = 0;
  int64_t end = 0;
};

void finish(DeviceIndex device, StreamId stream) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  auto& queue = queues[{device, stream}];
  queue.run_until(queue.given);
}

void finish(const Mark& mark) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  queues[{mark.device, mark.stream}].run_until(mark.end);
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return KIND; }
  Device exchangeDevice(Device device) const override {
    Device before(KIND, current);
    uncheckedSetDevice(device);
    return before;
  }
  Device getDevice() const override { return Device(KIND, current); }
  void setDevice(Device device) const override {
    TORCH_CHECK(device.index() < DEVICES, "there is no simulated device ", device.index());
    uncheckedSetDevice(device);
  }
  void uncheckedSetDevice(Device device) const noexcept override {
    if (device.index() >= 0) current = device.index();
  }
  Stream getStream(Device device) const noexcept override { return stream_of(device, streams[index_of(device)]); }
  Stream getDefaultStream(Device device) const override { return stream_of(device, 0); }
  Stream getStreamFromGlobalPool(Device device, bool) const override { return getNewStream(device, 0); }
  Stream getNewStream(Device device, int) const override {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    return stream_of(device, ++last_stream);
  }
  Stream exchangeStream(Stream stream) const noexcept override {
    auto& place = streams[index_of(stream.device())];
    auto before = stream_of(stream.device(), place);
    place = stream.id();
    return before;
  }
  DeviceIndex deviceCount() const noexcept override { return DEVICES; }
  void record(void** event, const Stream& stream, const DeviceIndex, const c10::EventFlag) const override {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    if (*event == nullptr) *event = new Mark;
    *static_cast<Mark*>(*event) = {stream.device_index(), stream.id(), queues[key(stream)].given};
  }
  void block(void* event, const Stream& stream) const override {
    if (event != nullptr) finish(*static_cast<Mark*>(event));  // early, which is an order that a device may choose
  }
  bool queryEvent(void* event) const override {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    if (event == nullptr) return true;
    auto mark = static_cast<Mark*>(event);
    return queues[{mark->device, mark->stream}].done() >= mark->end;
  }
  void destroyEvent(void* event, const DeviceIndex) const noexcept override { delete static_cast<Mark*>(event); }
  bool queryStream(const Stream& stream) const override {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    return queues[key(stream)].waiting.empty();
  }
  void synchronizeStream(const Stream& stream) const override {
    count("synchronize");
    finish(stream.device_index(), stream.id());
  }
  void synchronizeEvent(void* event) const override {
    count("synchronize");
    block(event, Stream(Stream::DEFAULT, getDevice()));
  }
  void synchronizeDevice(const DeviceIndex device) const override {
    count("synchronize");
    for (auto& [place, queue] : queues)
      if (place.first == device) finish(place.first, place.second);
  }
  double elapsedTime(void*, void*, const DeviceIndex) const override { return 0.001; }
  void recordDataPtrOnStream(const c10::DataPtr&, const Stream&) const override { count("record_stream"); }

 private:
  static DeviceIndex index_of(Device device) noexcept { return device.index() < 0 ? current : device.index(); }
  static Stream stream_of(Device device, StreamId id) noexcept {
    return Stream(Stream::UNSAFE, Device(KIND, index_of(device)), id);
  }
  static std::pair<DeviceIndex, StreamId> key(const Stream& stream) { return {stream.device_index(), stream.id()}; }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

// --- memory

struct Memory final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    initialized[current] = true;
    void* place = c10::alloc_cpu(bytes);
    if (place != nullptr) memset(place, 0xff, bytes);
    return {place, place, &c10::free_cpu, Device(KIND, current)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &c10::free_cpu; }
  void copy_data(void* to, const void* from, size_t bytes) const override { memcpy(to, from, bytes); }
};
Memory memory;
REGISTER_ALLOCATOR(KIND, &memory);

struct PinnedMemory final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void* place = c10::alloc_cpu(bytes);
    std::lock_guard<std::recursive_mutex> lock(mutex);
    pinned.insert(place);
    return {place, place, &release, c10::DeviceType::CPU};
  }
  static void release(void* place) {
    {
      std::lock_guard<std::recursive_mutex> lock(mutex);
      pinned.erase(place);
    }
    c10::free_cpu(place);
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t bytes) const override { memcpy(to, from, bytes); }
};
PinnedMemory pinned_memory;

// --- random numbers: a generator of the device's own, which refuses the CPU's, and is refused there

struct DeviceGenerator final : c10::GeneratorImpl {
  explicit DeviceGenerator(DeviceIndex index, at::Generator numbers = at::detail::createCPUGenerator())
      : GeneratorImpl(Device(KIND, index), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)), numbers(numbers) {}
  void set_current_seed(uint64_t seed) override { numbers.set_current_seed(seed); }
  void set_offset(uint64_t) override { TORCH_CHECK(false, "simulated generators have no offset"); }
  uint64_t get_offset() const override { TORCH_CHECK(false, "simulated generators have no offset"); }
  uint64_t current_seed() const override { return numbers.current_seed(); }
  uint64_t seed() override { return numbers.seed(); }
  void set_state(const c10::TensorImpl& state) override { numbers.unsafeGetGeneratorImpl()->set_state(state); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return numbers.unsafeGetGeneratorImpl()->get_state();
  }
  DeviceGenerator* clone_impl() const override { return new DeviceGenerator(device().index(), numbers.clone()); }
  at::Generator numbers;
};

at::Generator made(DeviceIndex index) { return at::make_generator<DeviceGenerator>(index < 0 ? current : index); }
at::Generator& default_generator(DeviceIndex index) {
  static at::Generator all[DEVICES] = {made(0), made(1)};
  return all[index < 0 ? current : index];
}
at::Generator numbers_of(const at::Generator& generator) {
  TORCH_CHECK(generator.device().type() == KIND, "Expected a 'simulated' device type for generator but found '",
              generator.device().type(), "'");
  return static_cast<DeviceGenerator*>(generator.unsafeGetGeneratorImpl())->numbers;
}

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(DeviceIndex index) const override { return initialized[index]; }
  const at::Generator& getDefaultGenerator(DeviceIndex index) const override { return default_generator(index); }
  at::Generator getNewGenerator(DeviceIndex index) const override { return made(index); }
  Device getDeviceFromPtr(void*) const override { return Device(KIND, current); }
  bool isPinnedPtr(const void* place) const override {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    return pinned.count(place) > 0;
  }
  at::Allocator* getPinnedMemoryAllocator() const override { return &pinned_memory; }
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    auto grown = memory.allocate(bytes);
    if (storage.data() != nullptr) memcpy(grown.get(), storage.data(), std::min(bytes, storage.nbytes()));
    auto& changed = const_cast<c10::Storage&>(storage);
    changed.set_data_ptr(std::move(grown));
    changed.set_nbytes(bytes);
  }
};
const bool registered = [] {
  at::RegisterPrivateUse1HooksInterface(new Hooks());
  return true;
}();

// --- making, viewing and copying tensors

c10::DispatchKeySet keys() { return c10::DispatchKeySet(c10::DispatchKey::PrivateUse1); }

// the host's view of a device's memory
Tensor seen(const Tensor& t) {
  if (!t.defined() || t.device().type() != KIND) return t;
  auto base = static_cast<char*>(t.storage().mutable_data());
  auto start = base == nullptr ? nullptr : base + t.storage_offset() * t.itemsize();
  auto found = at::from_blob(start, t.sizes(), t.strides(), t.options().device(at::kCPU));
  if (t.is_conj()) found = found.conj();
  return t.is_neg() ? found._neg_view() : found;
}

Tensor on_device(const Tensor& host, Device device) {
  auto out = at::empty_strided(host.sizes(), host.strides(), host.options().device(device));
  seen(out).copy_(host);
  return out;
}

template <typename Make>
Tensor made_on(std::optional<Device> device, Make make) {
  c10::impl::VirtualGuardImpl guard(KIND);
  auto before = guard.exchangeDevice(device.value_or(Device(KIND, current)));
  auto out = make();
  guard.uncheckedSetDevice(before);
  return out;
}

Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> type, std::optional<at::Layout>,
             std::optional<Device> device, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  return made_on(device, [&] {
    return Tensor(at::detail::empty_generic(size, &memory, keys(), type.value_or(at::kFloat), format));
  });
}

Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> type,
                     std::optional<at::Layout>, std::optional<Device> device, std::optional<bool>) {
  return made_on(device, [&] {
    return Tensor(at::detail::empty_strided_generic(size, stride, &memory, keys(), type.value_or(at::kFloat)));
  });
}

Tensor copy_from(const Tensor& from, const Tensor& to, bool non_blocking) {
  auto device = from.device().type() == KIND ? from.device() : to.device();
  auto stream = streams[device.index()];
  if (from.is_cpu() && non_blocking && stream != 0 && from.is_pinned()) {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    auto& queue = queues[{device.index(), stream}];
    queue.waiting.push_back([from, to] { seen(to).copy_(from); });
    queue.given++;
    counts["host to device, queued"]++;
    return to;
  }
  finish(device.index(), stream);
  if (from.is_cpu() != to.is_cpu()) {
    bool waits = !non_blocking || (from.is_cpu() && !from.is_pinned());
    count(std::string(from.is_cpu() ? "host to device" : "device to host") + (waits ? "" : ", queued"));
  }
  seen(to).copy_(seen(from));
  return to;
}

Tensor copy_from_and_resize(const Tensor& from, const Tensor& to) {
  if (from.sizes() != to.sizes()) to.resize_(from.sizes());
  return copy_from(from, to, false);
}

Tensor as_strided(const Tensor& t, at::IntArrayRef size, at::IntArrayRef stride, std::optional<int64_t> offset) {
  return at::native::as_strided_tensorimpl(t, size, stride, offset);
}

const Tensor& resize_(const Tensor& t, at::IntArrayRef size, std::optional<at::MemoryFormat> format) {
  auto storage = t.storage();
  auto bytes = (c10::multiply_integers(size) + t.storage_offset()) * t.itemsize();
  if (storage.nbytes() < bytes) Hooks().resizePrivateUse1Bytes(storage, bytes);
  t.unsafeGetTensorImpl()->set_sizes_contiguous(size);
  if (format.has_value()) t.unsafeGetTensorImpl()->empty_tensor_restride(*format);
  return t;
}

Tensor& set_(Tensor& t, c10::Storage storage) { return at::native::set_(t, storage); }
Tensor& set_at(Tensor& t, c10::Storage storage, int64_t offset, at::IntArrayRef size, at::IntArrayRef stride) {
  return at::native::set_storage_cpu_(t, storage, offset, size, stride);
}

at::Scalar number(const Tensor& t) {
  count("number read");
  finish(t.device().index(), streams[t.device().index()]);
  return seen(t).item();
}

void record_stream(Tensor&, Stream) { count("record_stream"); }

// --- kernels that the CPU has under other names

using Optional = std::optional<Tensor>;
Tensor seen(const Optional& t) { return t.has_value() ? seen(*t) : Tensor(); }

Tensor convolution(const Tensor& input, const Tensor& weight, const Optional& bias, at::IntArrayRef stride,
                   at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed, at::IntArrayRef output_padding,
                   int64_t groups) {
  TORCH_CHECK(input.device() == weight.device(), "Expected all tensors to be on the same device: convolution");
  return on_device(at::convolution(seen(input), seen(weight), seen(bias), stride, padding, dilation, transposed,
                                   output_padding, groups), input.device());
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward(
    const Tensor& grad, const Tensor& input, const Tensor& weight, at::IntArrayRef stride, at::IntArrayRef padding,
    at::IntArrayRef dilation, bool transposed, at::IntArrayRef output_padding, int64_t groups,
    std::array<bool, 3> mask) {
  auto channels = transposed ? weight.size(1) * groups : weight.size(0);
  auto [x, w, b] = at::convolution_backward(seen(grad), seen(input), seen(weight), at::IntArrayRef({channels}), stride,
                                            padding, dilation, transposed, output_padding, groups, mask);
  auto back = [&](const Tensor& t) { return t.defined() ? on_device(t, input.device()) : t; };
  return {back(x), back(w), back(b)};
}

Tensor with_biases(const Tensor& gates, const Optional& a, const Optional& b) {
  auto out = gates;
  if (a.has_value() && a->defined()) out = out + seen(*a);
  if (b.has_value() && b->defined()) out = out + seen(*b);
  return out;
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor& input, const Tensor& hidden, const Tensor& cell,
                                             const Optional& input_bias, const Optional& hidden_bias) {
  auto parts = with_biases(seen(input) + seen(hidden), input_bias, hidden_bias).chunk(4, 1);
  auto in = parts[0].sigmoid(), forget = parts[1].sigmoid(), kept = parts[2].tanh(), out = parts[3].sigmoid();
  auto next = forget * seen(cell) + in * kept;
  auto device = input.device();
  return {on_device(out * next.tanh(), device), on_device(next, device),
          on_device(at::cat({in, forget, kept, out}, 1), device)};
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(const Optional& grad_hidden, const Optional& grad_cell,
                                                      const Tensor& cell, const Tensor& next, const Tensor& saved,
                                                      bool has_bias) {
  auto parts = seen(saved).chunk(4, 1);
  auto in = parts[0], forget = parts[1], kept = parts[2], out = parts[3], curved = seen(next).tanh();
  auto gh = grad_hidden.has_value() && grad_hidden->defined() ? seen(*grad_hidden) : at::zeros_like(curved);
  auto gc = grad_cell.has_value() && grad_cell->defined() ? seen(*grad_cell) : at::zeros_like(curved);
  gc = gc + gh * out * (1 - curved * curved);
  auto gates = at::cat({gc * kept * in * (1 - in), gc * seen(cell) * forget * (1 - forget),
                        gc * in * (1 - kept * kept), gh * curved * out * (1 - out)}, 1);
  auto device = cell.device();
  return {on_device(gates, device), on_device(gc * forget, device),
          has_bias ? on_device(gates.sum(0), device) : Tensor()};
}

std::tuple<Tensor, Tensor> gru_cell(const Tensor& input, const Tensor& hidden, const Tensor& state,
                                    const Optional& input_bias, const Optional& hidden_bias) {
  auto i = with_biases(seen(input), input_bias, std::nullopt).chunk(3, 1);
  auto h = with_biases(seen(hidden), hidden_bias, std::nullopt).chunk(3, 1);
  auto reset = (i[0] + h[0]).sigmoid(), keep = (i[1] + h[1]).sigmoid(), fresh = (i[2] + reset * h[2]).tanh();
  auto before = seen(state);
  return {on_device(fresh + keep * (before - fresh), input.device()),
          on_device(at::cat({reset, keep, fresh, before, h[2]}, 1), input.device())};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(const Tensor& grad, const Tensor& saved,
                                                                     bool has_bias) {
  auto parts = seen(saved).chunk(5, 1);
  auto reset = parts[0], keep = parts[1], fresh = parts[2], before = parts[3], inner = parts[4], g = seen(grad);
  auto g_fresh = g * (1 - keep) * (1 - fresh * fresh), g_keep = g * (before - fresh) * keep * (1 - keep);
  auto g_reset = g_fresh * inner * reset * (1 - reset);
  auto input = at::cat({g_reset, g_keep, g_fresh}, 1), hidden = at::cat({g_reset, g_keep, g_fresh * reset}, 1);
  auto device = grad.device();
  auto bias = [&](const Tensor& t) { return has_bias ? on_device(t.sum(0), device) : Tensor(); };
  return {on_device(input, device), on_device(hidden, device), on_device(g * keep, device), bias(input), bias(hidden)};
}

int64_t attention_choice(const Tensor&, const Tensor&, const Tensor&, const Optional&, double, bool,
                         std::optional<double>, bool) {
  return 0;  // spelled out
}

// --- all other kernels: the CPU's

std::string mixed(const torch::jit::Stack& stack, size_t arguments) {
  std::set<std::string> devices;
  auto see = [&](const Tensor& t) {
    if (t.defined() && !(t.is_cpu() && t.dim() == 0)) devices.insert(t.device().str());
  };
  for (size_t i = stack.size() - arguments; i < stack.size(); i++) {
    if (stack[i].isTensor()) see(stack[i].toTensor());
    else if (stack[i].isTensorList())
      for (const auto& t : stack[i].toTensorVector()) see(t);
  }
  std::string listed;
  if (devices.size() > 1)
    for (const auto& name : devices) listed += (listed.empty() ? "" : " and ") + name;
  return listed;
}

void replace_generators(torch::jit::Stack& stack, const c10::FunctionSchema& schema, std::optional<Device> device) {
  auto first = stack.size() - schema.arguments().size();
  for (size_t i = 0; i < schema.arguments().size(); i++) {
    auto& value = stack[first + i];
    if (value.isGenerator()) {  // of a CPU's tensor's draws, the device's generator brings them here
      TORCH_CHECK(device.has_value(), "Expected a 'cpu' device type for generator but found 'simulated'");
      value = numbers_of(value.toGenerator());
    } else if (value.isNone() && schema.arguments()[i].type()->str() == "Generator?")
      value = numbers_of(default_generator(device.has_value() ? device->index() : current));
  }
}

std::optional<Device> device_in(const torch::jit::Stack& stack, size_t arguments) {
  for (size_t i = stack.size() - arguments; i < stack.size(); i++)
    if (stack[i].isTensor() && stack[i].toTensor().defined() && stack[i].toTensor().device().type() == KIND)
      return stack[i].toTensor().device();
  return std::nullopt;
}

// draws of kernels that take no generator come from the device's default one
struct DefaultDraws {
  explicit DefaultDraws(bool wanted, std::optional<Device> device) : wanted(wanted) {
    if (!wanted) return;
    mine = numbers_of(default_generator(device.has_value() ? device->index() : current));
    auto host = at::detail::getDefaultCPUGenerator();
    before = host.get_state();
    host.set_state(mine.get_state());
  }
  ~DefaultDraws() {
    if (!wanted) return;
    auto host = at::detail::getDefaultCPUGenerator();
    mine.set_state(host.get_state());
    host.set_state(before);
  }
  bool wanted;
  at::Generator mine;
  Tensor before;
};

bool has_mask(const torch::jit::Stack& stack, size_t arguments) {
  for (size_t i = stack.size() - arguments; i < stack.size(); i++)
    if (stack[i].isOptionalTensorList() || stack[i].isList())
      for (const c10::IValue& each : stack[i].toListRef())
        if (each.isTensor() && each.toTensor().defined()) {
          auto type = each.toTensor().scalar_type();
          if (type == at::kBool || type == at::kByte) return true;
        }
  return false;
}

// on a GPU the host waits for these: their results' shapes, or they themselves, depend on the data
const std::set<std::string> WAITING = {
    "aten::nonzero", "aten::masked_select", "aten::_unique", "aten::_unique2", "aten::unique_dim",
    "aten::unique_consecutive", "aten::unique_dim_consecutive", "aten::equal", "aten::repeat_interleave",
    "aten::bincount", "aten::is_set_to"};
// they take indices of the CPU too
const std::set<std::string> INDEXING = {"aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_"};

void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& schema = op.schema();
  auto arguments = schema.arguments().size();
  const auto& name = schema.operator_name().name;
  auto device = device_in(*stack, arguments);
  if (strict && INDEXING.count(name) == 0) {
    auto found = mixed(*stack, arguments);
    TORCH_CHECK(found.empty(), "Expected all tensors to be on the same device, but ", name, " got ", found);
  }
  if (WAITING.count(name) != 0) count(name);
  if (INDEXING.count(name) != 0 && has_mask(*stack, arguments)) count("mask");
  if (device.has_value()) finish(device->index(), streams[device->index()]);
  replace_generators(*stack, schema, device);
  DefaultDraws draws(name == "aten::native_dropout", device);
  inside++;
  try {
    at::native::cpu_fallback(op, stack);
  } catch (...) {
    inside--;
    throw;
  }
  inside--;
}

}  // namespace

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>()); }

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_from_and_resize);
  m.impl("as_strided", &as_strided);
  m.impl("view", &at::native::view);
  m.impl("_reshape_alias", &at::native::_reshape_alias);
  m.impl("unfold", &at::native::unfold);
  m.impl("view_as_real", &at::native::view_as_real);
  m.impl("view_as_complex", &at::native::view_as_complex);
  m.impl("resize_", &resize_);
  m.impl("set_.source_Storage", &set_);
  m.impl("set_.source_Storage_storage_offset", &set_at);
  m.impl("_local_scalar_dense", &number);
  m.impl("record_stream", &record_stream);
  m.impl("convolution_overrideable", &convolution);
  m.impl("convolution_backward_overrideable", &convolution_backward);
  m.impl("_thnn_fused_lstm_cell", &lstm_cell);
  m.impl("_thnn_fused_lstm_cell_backward_impl", &lstm_cell_backward);
  m.impl("_thnn_fused_gru_cell", &gru_cell);
  m.impl("_thnn_fused_gru_cell_backward", &gru_cell_backward);
  m.impl("_fused_sdp_choice", &attention_choice);
}

// copies see conjugates and negatives themselves; PyTorch's way to resolve them is a copy
TORCH_LIBRARY_IMPL(aten, Conjugate, m) { m.impl("_copy_from", torch::CppFunction::makeFallthrough()); }
TORCH_LIBRARY_IMPL(aten, Negative, m) { m.impl("_copy_from", torch::CppFunction::makeFallthrough()); }

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  KERNEL_PRIVATEUSEONE(matmul, lower_precision_fp)
  KERNEL_PRIVATEUSEONE(mm, lower_precision_fp)
  KERNEL_PRIVATEUSEONE(addmm, lower_precision_fp)
  KERNEL_PRIVATEUSEONE(bmm, lower_precision_fp)
  KERNEL_PRIVATEUSEONE(baddbmm, lower_precision_fp)
  KERNEL_PRIVATEUSEONE(linear, lower_precision_fp)
  KERNEL_PRIVATEUSEONE(_convolution, lower_precision_fp)
  KERNEL_PRIVATEUSEONE(conv1d, lower_precision_fp)
  KERNEL_PRIVATEUSEONE(conv2d, lower_precision_fp)
  KERNEL_PRIVATEUSEONE(conv3d, lower_precision_fp)
  KERNEL_PRIVATEUSEONE(scaled_dot_product_attention, lower_precision_fp)
  KERNEL_PRIVATEUSEONE(layer_norm, fp32)
  KERNEL_PRIVATEUSEONE(softmax, int, fp32)
  KERNEL_PRIVATEUSEONE(log_softmax, int, fp32)
  KERNEL_PRIVATEUSEONE(nll_loss, fp32)
  KERNEL_PRIVATEUSEONE(mse_loss, fp32)
  KERNEL_PRIVATEUSEONE(exp, fp32)
  KERNEL_PRIVATEUSEONE(log, fp32)
  KERNEL_PRIVATEUSEONE(pow, Tensor_Scalar, fp32)
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("counts", [] {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    return std::exchange(counts, {});
  }, "How often the host waited for the device, or a copy was queued, since the last call.");
  m.def("be_strict", [](bool value) { strict = value; }, "Whether kernels refuse mixed devices.");
  m.def("set_device", [](int index) { Guard().setDevice(Device(KIND, static_cast<DeviceIndex>(index))); });
  m.def("current_device", [] { return static_cast<int>(current); });
  m.def("device_count", [] { return static_cast<int>(DEVICES); });
  m.def("was_used", [](int index) { return initialized[index]; });
  m.def("seen", [](const Tensor& t) { return seen(t); }, "The host's view of a device's memory.");
  m.def("default_generator", [](int index) { return default_generator(static_cast<DeviceIndex>(index)); });
}
