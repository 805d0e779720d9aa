// Every `new` of the program asks where large arrays lie [base/memory.h].
#include <cstdlib>
#include <new>

#include "base/memory.h"

void* operator new(std::size_t bytes) {
  for (;;) {
    if (void* memory = farscale::AllocateArray(bytes)) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void* operator new[](std::size_t bytes) { return operator new(bytes); }

void operator delete(void* memory) noexcept { farscale::FreeArray(memory); }
void operator delete[](void* memory) noexcept { farscale::FreeArray(memory); }
void operator delete(void* memory, std::size_t bytes) noexcept { farscale::FreeArray(memory, bytes); }
void operator delete[](void* memory, std::size_t bytes) noexcept { farscale::FreeArray(memory, bytes); }
