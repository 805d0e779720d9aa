// Linked into every program that is built with AddressSanitizer, so that it is as clear about damaged input as others.

// Sizes out of damaged files are refused by the allocator, which is reported like any other error.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

// The OTF2 library forgets what it allocated when an archive turns out to be damaged. Its inner functions have no names
// to suppress one by one.
extern "C" const char* __lsan_default_suppressions() { return "leak:libopen-trace-format2.so\n"; }
extern "C" const char* __lsan_default_options() { return "print_suppressions=0"; }
