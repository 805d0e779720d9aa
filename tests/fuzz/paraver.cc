// Paraver traces: the first byte says whether what follows is the trace or a compressed one, whether many damaged lines
// are tolerated, and which application is read. Behind the first byte of value 1 lies the .pcf file.
#include <zlib.h>

#include <filesystem>

#include "base/diagnostics.h"
#include "base/files.h"
#include "fuzz/analyse.h"
#include "fuzz/target.h"
#include "support/paraver_writer.h"
#include "support/random_program.h"
#include "support/temporary_folder.h"
#include "trace/trace_reader.h"

namespace farscale::fuzz {
namespace {

constexpr char kNamesFollow = '\1';
constexpr unsigned kCompressed = 1, kChooses = 2, kTolerant = 4;

// What random programs do not have: two applications, several threads, intercommunicators, attributes of their own
// records, tracing on and off, flushes, callers, functions, counters that switch.
constexpr const char* kEverything =
    "new format\n#Paraver (01/02/03 at 04:05):5000:2(4,4):2:3(1:1,2:1,1:2),4:1(1:2),1\n"
    "c:1:1:3:1:2:3\nc:1:2:2:1:2\nc:1:3:1:3\ni:1:4:2:3\nc:2:1:1:1\n#01/02/03:CUTTER:0:5000\n"
    "1:1:1:1:1:0:100:2\n1:1:1:1:1:100:400:1\n1:1:1:1:1:400:450:12\n1:2:1:2:1:0:5000:1\n1:3:1:3:1:0:5000:1\n"
    "1:4:2:1:1:0:5000:1\n2:1:1:1:1:100:40000001:1:40000018:1:41999999:1:42000050:0:42000059:0\n"
    "2:1:1:1:1:400:40000003:1\n2:1:1:1:1:450:40000003:0\n"
    "2:1:1:1:1:500:50000001:4:42000050:77:42000059:88:70000001:3:70000002:4\n2:1:1:1:1:510:50000001:0:42000050:3\n"
    "2:1:1:1:1:600:50000001:6\n2:1:1:1:1:600:42000050:9:42000059:8\n2:1:1:1:1:700:50000001:0:41999999:2:42000000:5\n"
    "2:2:1:2:1:300:60000019:1\n2:2:1:2:1:510:50000001:3\n2:2:1:2:1:520:50000001:0\n2:2:1:2:1:800:60000019:0\n"
    "3:2:1:2:1:510:515:1:1:1:1:500:700:64:7\n4:1:1:1:1:1:1:1:1:1\n2:3:1:3:1:5:1000:1\n2:3:1:3:1:900:1000:2\n"
    "2:1:1:1:1:1000:50000002:7:50100001:8:50100002:0:50100003:1:50100004:2\n2:1:1:1:1:1010:50000002:0\n"
    "2:2:1:2:1:990:50000002:7\n2:2:1:2:1:990:50100001:0:50100002:8:50100004:2\n2:2:1:2:1:1010:50000002:0\n"
    "2:2:1:2:2:1500:50000001:1\n2:2:1:2:2:1510:50000001:0\n2:3:1:3:1:2000:40000012:0\n2:3:1:3:1:2500:40000012:1\n"
    "2:1:1:1:1:2600:50000002:8:50100004:4\n2:1:1:1:1:2700:50000002:0\n2:2:1:2:1:2600:50000002:8:50100004:4\n"
    "2:2:1:2:1:2700:50000002:0\n2:3:1:3:1:2600:50000002:8:50100004:4\n2:3:1:3:1:2700:50000002:0\n"
    "2:1:1:1:1:5000:40000001:0\n2:2:1:2:1:5000:40000001:0\n2:3:1:3:1:5000:40000001:0\n";

constexpr const char* kNames =
    "DEFAULT_OPTIONS\n\nLEVEL THREAD\n\nSTATES\n0 Idle\n1 Running\n\nEVENT_TYPE\n9 50000001 MPI "
    "Point-to-point\nVALUES\n"
    "4 MPI_Irecv\n0 Outside MPI\n\nEVENT_TYPE\n7 42000050 PAPI_TOT_INS [Instr completed]\n\nEVENT_TYPE\n"
    "0 70000001 Caller 1\n0 70000002 Caller 2\nVALUES\n3 step\n4 mai..n [main]\n\nEVENT_TYPE\n0 60000019 Function\n"
    "VALUES\n1 step\n\nEVENT_TYPE\n0 1000 Phase\nVALUES\n1 step\n2 end\n";

std::string Compress(const test::TemporaryFolder& folder, const std::string& text) {
  const std::string path = (folder / "seed.gz").string();
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return ReadFile(path);
}

std::string Seed(unsigned options, const std::string& trace, const std::string& names) {
  return std::string(1, static_cast<char>(options)) + trace + (names.empty() ? "" : kNamesFollow + names);
}

}  // namespace

std::vector<std::string> Seeds() {
  const test::TemporaryFolder folder;
  std::vector<std::string> seeds = {Seed(kChooses | kTolerant, kEverything, kNames),
                                    Seed(kChooses, kEverything, kNames)};
  seeds.push_back(Seed(kChooses | kCompressed, Compress(folder, kEverything), ""));
  for (int i = 0; i < 3; ++i) {
    test::RandomProgramOptions program;
    program.ranks = 2 + i;
    program.steps = 15;
    program.counters = i != 1;
    const Trace trace = test::MakeRandomProgram(static_cast<std::uint64_t>(i), program);
    test::ParaverOptions options;
    options.split_counters = i == 2;
    if (i == 1) options.shuffle_by = 1;
    const std::string path = test::WriteParaver(trace, MatchTrace(trace), folder.path(), "seed", options);
    std::string names = ReadFile(folder / "seed.pcf");
    names.replace(names.find("loop"), 4, "step");  // the region that is analysed
    seeds.push_back(Seed(kTolerant, ReadFile(path), names));
  }
  return seeds;
}

void Try(const std::string& input) {
  static const test::TemporaryFolder folder;
  if (input.empty()) return;
  const auto options = static_cast<unsigned char>(input[0]);
  const bool is_compressed = (options & kCompressed) != 0;
  const std::size_t end = is_compressed ? std::string::npos : input.find(kNamesFollow, 1);
  std::string trace = input.substr(1, end == std::string::npos ? end : end - 1);
  if (!is_compressed && (options & kTolerant) != 0) trace += std::string(3000, '\n');  // a hundredth may be damaged
  std::filesystem::remove(folder / "t.pcf");
  if (end != std::string::npos) WriteFile(folder / "t.pcf", input.substr(end + 1));
  const std::filesystem::path path = folder / (is_compressed ? "t.prv.gz" : "t.prv");
  WriteFile(path, trace);
  ReadOptions read;
  if ((options & kChooses) != 0) read.application = 1 + options / 64;
  try {
    AnalyseTrace(path.string(), read, input.size() % 16 == 0);
  } catch (const Error&) {
  }
}

}  // namespace farscale::fuzz
