// Errors of the OTF2 library as ours. The library prints to stderr unless told otherwise; here its words are kept
// for the sentence the user gets.
#pragma once

#include <otf2/otf2.h>

#include <string>

namespace farscale {

// Makes the library silent; call before anything else of it. Safe to call often and from any thread.
void CaptureOtf2Errors();

// Throws an input error at `where` when `code` is not success: "`doing` failed: the library's words".
void CheckOtf2(OTF2_ErrorCode code, const std::string& where, const std::string& doing);

// The library's words about its last error on this thread, cleared by the call.
std::string TakeOtf2Words();

}  // namespace farscale
