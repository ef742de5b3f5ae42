// PyTorch's allocator of main memory, by malloc in place of posix_memalign.
//
// posix_memalign asks the C library for more bytes than the block takes, to cut an aligned part out
// of them, and gives the rest back. So the hole that a freed block leaves is always too small for
// the next block of the same size, and a program that frees and takes the same sizes over and over
// spreads over half as much memory again as it uses. Here a block keeps what it was asked with.

#include <Python.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/alignment.h>
#include <c10/core/impl/alloc_cpu.h>

#include <cstdint>
#include <cstdlib>

namespace {

constexpr size_t MORE = c10::gAlignment + sizeof(void*);  // room to align, and for malloc's pointer

void free_block(void* data) {
  if (!data) return;
  c10::profiledCPUMemoryReporter().Delete(data);
  std::free(static_cast<void**>(data)[-1]);
}

struct Allocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void* data = nullptr;
    if (bytes) {
      void* block = bytes < PTRDIFF_MAX ? std::malloc(bytes + MORE) : nullptr;
      if (!block) {
        c10::profiledCPUMemoryReporter().OutOfMemory(bytes);
        c10::free_cpu(c10::alloc_cpu(bytes));  // raises PyTorch's own error
        TORCH_CHECK(false, "can't allocate memory: you tried to allocate ", bytes, " bytes.");
      }
      const auto end = reinterpret_cast<uintptr_t>(block) + MORE;
      data = reinterpret_cast<void*>(end - end % c10::gAlignment);
      static_cast<void**>(data)[-1] = block;
    }
    c10::profiledCPUMemoryReporter().New(data, bytes);
    return {data, data, &free_block, c10::Device(c10::DeviceType::CPU)};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &free_block; }

  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "lamella_allocator", nullptr, -1};

}  // namespace

PyMODINIT_FUNC PyInit_lamella_allocator() {
  PyObject* module = PyModule_Create(&MODULE);
  if (module) c10::SetCPUAllocator(new Allocator);  // for as long as the process lives
  return module;
}
