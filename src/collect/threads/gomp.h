// The OpenMP library that a program uses.
#pragma once

namespace farscale::collect {

// A function of it, also where it was loaded later, as by Python; nullptr if there is none.
void* FindInOpenMp(const char* name);

// Whether a function is one of LLVM's or Intel's library, which has an interface for tools.
bool IsLlvmOpenMp(const void* function);

}  // namespace farscale::collect
