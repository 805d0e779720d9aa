// The MPI's own functions behind the wrappers. They are looked up, not linked: the wrappers go by their names, too.
#pragma once

namespace farscale::collect {

void* FindRealSymbol(const char* name);

template <typename Function>
Function FindReal(const char* name) {
  return reinterpret_cast<Function>(FindRealSymbol(name));
}

// Generated. Fills `real`.
void FindRealFunctions();

}  // namespace farscale::collect
