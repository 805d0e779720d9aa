// farscale: predicts how an MPI program will scale to core counts nobody has run.
#include <new>

#include "base/memory.h"
#include "cli/command.h"

int main(int argc, char** argv) { return farscale::RunCommandLine(argc, argv); }

#ifdef FARSCALE_OPERATOR_NEW  // every `new` asks where large arrays lie [base/memory.h]
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
#endif
