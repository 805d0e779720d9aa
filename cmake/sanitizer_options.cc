// Linked into every program that is built with AddressSanitizer or ThreadSanitizer.

// Sizes out of damaged files are refused by the allocator, which is reported like any other error.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1:print_suppressions=0"; }

// The OTF2 library forgets what it allocated when an archive turns out to be damaged. Its inner functions have no names
// to suppress one by one.
extern "C" const char* __lsan_default_suppressions() { return "leak:libopen-trace-format2.so\n"; }
extern "C" const char* __lsan_default_options() { return "print_suppressions=0"; }

// std::regex makes std::ctype<char> fill its table of narrowed characters at the first use, without a lock; all threads
// write the same. Only this function is named: TBB needs no suppression, see base/parallel.cc.
extern "C" const char* __tsan_default_suppressions() { return "race_top:std::ctype<char>::narrow\n"; }
