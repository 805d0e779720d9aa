#include "study/study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/diagnostics.h"
#include "base/files.h"
#include "factors/factor_table.h"
#include "replay/computation.h"
#include "replay/network.h"
#include "study/input_files.h"
#include "study/scenario.h"
#include "support/errors.h"
#include "support/models.h"
#include "support/temporary_folder.h"
#include "support/traces.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::optional<ConfigTable> NoPresets(const std::string&) { return std::nullopt; }

Study Parse(const std::string& text, const PresetReader& presets = NoPresets, const std::string& preset = "") {
  return ParseStudy(text, "dir/study.toml", presets, preset);
}

std::string UsageErrorOf(const std::string& text) {
  try {
    Parse(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "no error";
}

const std::string kRun = "[[runs]]\ntrace = 'a/traces.otf2'\n";

TEST(Study, SmallestStudy) {
  const Study study = Parse(kRun);
  EXPECT_EQ(study.title, "study");  // after its file
  ASSERT_EQ(study.runs.size(), 1u);
  EXPECT_EQ(study.runs[0].trace, "dir/a/traces.otf2");  // beside the study
  ASSERT_EQ(study.phases.size(), 1u);
  EXPECT_EQ(study.phases[0].kind, PhaseSpec::Kind::kWholeRun);
  EXPECT_EQ(study.factors.rules.set, RuleSet::kBsc);
  EXPECT_EQ(study.report_folder, "dir/report");
  EXPECT_EQ(study.formats.size(), 4u);
  EXPECT_THAT(Describe(study.projection.models, test::AllModels()),
              HasSubstr("smaller ones: constant, logarithm, amdahl"));
}

// A phase may be called anything: its groups are told apart by a field of their own.
TEST(Study, PhasesHaveAnyName) {
  EXPECT_EQ(Parse(kRun + "[[phases]]\nregion = 'x'\nname = 'a / b'\n").phases[0].name, "a / b");
}

TEST(Study, GroupsOfRanks) {
  const Study study = Parse(kRun + R"(
[[groups]]
region = "pme_loop"
[[groups]]
name = "io"
ranks = "0, 75%-100%"
[[groups]]
name = "masters"
every = 4
offset = 3
)");
  ASSERT_EQ(study.groups.size(), 3u);
  EXPECT_EQ(study.groups[0].name, "pme_loop");
  EXPECT_EQ(study.groups[0].region, "pme_loop");
  EXPECT_THAT(study.groups[1].ranges, ElementsAre(RankRange{0, 1, false}, RankRange{0.75, 1, true}));
  EXPECT_THAT(study.groups[1].region, IsEmpty());
  EXPECT_THAT(study.groups[2].region, IsEmpty());
  EXPECT_THAT(study.groups[2].ranges, IsEmpty());
  EXPECT_EQ(study.groups[2].every, 4u);
  EXPECT_EQ(study.groups[2].offset, 3u);
  EXPECT_EQ(study.groups[1].where, "dir/study.toml:6");
  EXPECT_TRUE(study.finds_groups);
  EXPECT_FALSE(Parse("[study]\ngroups = 'none'\n" + kRun).finds_groups);
}

TEST(Study, WrongGroupsOfRanks) {
  const auto error_of = [](const std::string& group) { return UsageErrorOf(kRun + "[[groups]]\n" + group); };
  EXPECT_THAT(error_of("name = 'a'"), HasSubstr("study.toml:3: a group needs exactly one of region, ranks and every"));
  EXPECT_THAT(error_of("region = 'a'\nranks = '1'"), HasSubstr("exactly one of"));
  EXPECT_THAT(error_of("ranks = '1'"), HasSubstr("a group of ranks needs a name"));
  EXPECT_THAT(error_of("name = 'a'\nranks = '3-1'"), HasSubstr("study.toml:5: '3-1' is no list of ranks"));
  EXPECT_THAT(error_of("name = 'a'\nevery = 1"), HasSubstr("'every' must be 2 or more"));
  EXPECT_THAT(error_of("name = 'a'\nevery = 2\noffset = 2"), HasSubstr("'offset' must be less than 'every'"));
  EXPECT_THAT(error_of("name = 'a'\nevery = 2\noffset = -1"), HasSubstr("'offset' must not be negative"));
  EXPECT_THAT(error_of("name = 'a'\nranks = '0'\noffset = 2"), HasSubstr("'offset' goes with 'every'"));
  EXPECT_THAT(error_of("name = 'a / b'\nranks = '0'"), HasSubstr("stands between a phase and a group of its ranks"));
  EXPECT_THAT(error_of("name = 'others'\nranks = '0'"), HasSubstr("'others' are the ranks that are in no group"));
  EXPECT_THAT(error_of("region = 'a'\n[[groups]]\nregion = 'a'"),
              HasSubstr("study.toml:5: there are two groups 'a'; the other is at dir/study.toml:3"));
  EXPECT_THAT(error_of("region = 'a'\nrank = '1'"), HasSubstr("unknown key 'rank'; did you mean 'ranks'?"));
  EXPECT_THAT(UsageErrorOf("[study]\ngroups = 'some'\n" + kRun), HasSubstr("groups must be \"auto\" or \"none\""));
  EXPECT_THAT(UsageErrorOf("[study]\ngroups = 'none'\n" + kRun + "[[groups]]\nregion = 'a'"),
              HasSubstr("groups = \"none\" goes with no [[groups]]"));
}

TEST(Study, EveryKey) {
  const Study study = Parse(R"(
[study]
title = "T"
description = "D"
series = "s"
scaling = "weak"
reference = 8
threads = "process"
[replay]
rules = "causal"
eager_limit = 4096
[counters]
instructions = "INS"
cycles = "CYC"
[models]
candidates = ["amdahl:1,3", "constant"]
train_max = 64
files = ["mine.toml"]
[models.factors]
loadBalance = "amdahl"
serializationEfficiency = { model = "pipeline", dimension = 3 }
[projection]
targets = [128, 1024]
reliable_width = 0.2
reliable_width_absolute = 0.05
levels = [0.9, 0.6]
[report]
folder = "out"
formats = ["html"]
[[runs]]
trace = "/abs/8.otf2"
threads = 4
repeat = 2
grid = [4, 2]
[growth]
grid = [[16, 8], [32, 16]]
[[phases]]
name = "solve"
region = "solver"
skip = 2
keep = 5
span = "each"
models = { transferEfficiency = "constant" }
[[phases]]
regex = "Lagrange.*"
[[phases]]
window = [0.5, 2]
[[phases]]
name = "all"
whole = true
[[phases]]
found = true
part = "exchange"
clean = 4
)");
  EXPECT_EQ(study.title, "T");
  EXPECT_EQ(study.scaling, Scaling::kWeak);
  EXPECT_EQ(study.reference, 8);
  EXPECT_EQ(study.factors.rules.set, RuleSet::kCausal);
  EXPECT_EQ(study.factors.rules.eager_limit, 4096u);
  EXPECT_EQ(study.factors.counters.instructions, "INS");
  EXPECT_THAT(study.projection.models.standard.options[0].second, ElementsAre(1, 3));
  EXPECT_THAT(study.projection.models.by_factor.at(Factor::kSerialization).options[0].second, ElementsAre(3));
  EXPECT_EQ(study.projection.models.by_phase.at("solve").at(Factor::kTransfer).options[0].first, "constant");
  EXPECT_EQ(study.projection.train_max, 64);
  EXPECT_THAT(study.model_files, ElementsAre("dir/mine.toml"));
  EXPECT_THAT(study.projection.targets, ElementsAre(128, 1024));
  EXPECT_EQ(study.projection.reliability_limits, (ReliabilityLimits{0.2, 0.05}));
  EXPECT_THAT(study.projection.levels, ElementsAre(0.9, 0.6));
  EXPECT_EQ(study.report_folder, "dir/out");
  EXPECT_EQ(study.runs[0].trace, "/abs/8.otf2");
  EXPECT_EQ(study.runs[0].threads, 4);
  EXPECT_EQ(study.runs[0].repeat, 2);
  EXPECT_EQ(study.runs[0].grid->Text(), "4 × 2");
  ASSERT_EQ(study.growth->grids.size(), 2u);
  EXPECT_EQ(study.growth->grids[1].Text(), "32 × 16");
  EXPECT_EQ(study.phases[4].kind, PhaseSpec::Kind::kFoundLoop);
  EXPECT_EQ(study.phases[4].name, "exchange");
  EXPECT_EQ(study.phases[4].part, "exchange");
  EXPECT_EQ(study.phases[4].clean, 4u);
  EXPECT_EQ(study.phases[0].name, "solve");
  EXPECT_EQ(study.phases[0].skip, 2u);
  EXPECT_EQ(study.phases[0].keep, 5u);
  EXPECT_EQ(study.phases[0].span, Span::kEach);
  EXPECT_EQ(study.phases[1].name, "Lagrange.*");
  EXPECT_EQ(study.phases[2].window_end, 2);
  EXPECT_EQ(study.phases[3].name, "all");
}

TEST(Study, ErrorsNameFileAndLine) {
  EXPECT_THAT(UsageErrorOf(""), HasSubstr("the study has no runs"));
  EXPECT_THAT(UsageErrorOf("[study]\ntitel = 'x'\n" + kRun),
              HasSubstr("dir/study.toml:2: unknown key 'titel'; did you mean 'title'?"));
  EXPECT_THAT(UsageErrorOf("[studdy]\n" + kRun), HasSubstr("unknown key 'studdy'; did you mean 'study'?"));
  EXPECT_THAT(UsageErrorOf("[study]\nscaling = 'medium'\n" + kRun), HasSubstr("must be \"strong\" or \"weak\""));
  EXPECT_THAT(UsageErrorOf("[study]\nthreads = 'location'\n" + kRun), HasSubstr("threads must be \"process\""));
  EXPECT_THAT(UsageErrorOf("[replay]\nrules = 'dimemas'\n" + kRun), HasSubstr("must be \"bsc\" or \"causal\""));
  EXPECT_THAT(UsageErrorOf("[replay]\neager_limit = 1\n" + kRun), HasSubstr("fix the eager limit"));
  EXPECT_THAT(UsageErrorOf("[[runs]]\ntrace = 3\n"), HasSubstr("'trace' must be a text"));
  EXPECT_THAT(UsageErrorOf("[[runs]]\n"), HasSubstr("'trace' is missing"));
  EXPECT_THAT(UsageErrorOf(kRun + kRun), HasSubstr("listed twice; the other is at dir/study.toml:1"));
  EXPECT_THAT(UsageErrorOf(kRun + "[[phases]]\nname = 'x'\n"), HasSubstr("exactly one of region, regex, window"));
  EXPECT_THAT(UsageErrorOf(kRun + "[[phases]]\nregion = 'x'\nregex = 'y'\n"), HasSubstr("exactly one"));
  EXPECT_THAT(UsageErrorOf(kRun + "[[phases]]\nwindow = [2, 1]\n"), HasSubstr("begin before end"));
  EXPECT_THAT(UsageErrorOf(kRun + "[[phases]]\nwindow = [1, 2]\nskip = 1\n"), HasSubstr("for regions that repeat"));
  EXPECT_THAT(UsageErrorOf(kRun + "[[phases]]\nregion = 'x'\nkeep = 0\n"), HasSubstr("positive"));
  EXPECT_THAT(UsageErrorOf(kRun + "[[phases]]\nwhole = true\nclean = true\n"), HasSubstr("for regions that repeat"));
  EXPECT_THAT(UsageErrorOf(kRun + "[[phases]]\nfound = true\nclean = 0\n"), HasSubstr("positive"));
  EXPECT_THAT(UsageErrorOf(kRun + "[[phases]]\nfound = true\nclean = 'yes'\n"), HasSubstr("study.toml:"));
  EXPECT_THAT(UsageErrorOf(kRun + "[[phases]]\nwhole = true\npart = 'x'\n"), HasSubstr("'part' is for regions"));
  EXPECT_THAT(UsageErrorOf(kRun + "[[phases]]\nregion = 'x'\nspan = 'half'\n"), HasSubstr("span must be"));
  EXPECT_THAT(UsageErrorOf(kRun + "[[phases]]\nregion = 'x'\n[[phases]]\nregion = 'x'\n"),
              HasSubstr("two phases 'x'; the other is at dir/study.toml:3"));
  EXPECT_THAT(UsageErrorOf(kRun + "[models]\ncandidates = ['amdahl:9']\n"), HasSubstr("between 1 and 6"));
  EXPECT_THAT(UsageErrorOf(kRun + "[models.factors]\nloadBalanc = 'amdahl'\n"),
              HasSubstr("did you mean 'loadBalance'?"));
  EXPECT_THAT(UsageErrorOf(kRun + "[report]\nformats = ['pdf']\n"), HasSubstr("unknown format 'pdf'"));
  EXPECT_THAT(UsageErrorOf(kRun + "[projection]\ntargets = [0]\n"), HasSubstr("positive"));
  EXPECT_THAT(UsageErrorOf(kRun + "[projection]\nreliable_width = 0\n"),
              HasSubstr("'reliable_width' must lie between 0 and 1, not 0"));
  EXPECT_THAT(UsageErrorOf(kRun + "[projection]\nreliable_width_absolute = 10\n"),
              HasSubstr("'reliable_width_absolute' must lie between 0 and 1, not 10"));
  EXPECT_THAT(UsageErrorOf(kRun + "[projection]\nhorizon_width = 0.2\n"),
              testing::AllOf(HasSubstr("'horizon_width' is not used any more"), HasSubstr("set 'reliable_width'")));
  EXPECT_THAT(UsageErrorOf(kRun + "[projection]\nlevels = [0.8, 50]\n"),
              HasSubstr("'levels' must lie between 0 and 1, not 50; divide percentages by 100"));
  EXPECT_THAT(UsageErrorOf("[study]\npreset = 'nope'\n" + kRun), HasSubstr("no preset 'nope'"));
  EXPECT_THAT(UsageErrorOf(kRun + "grid = [4, 0]\n"), HasSubstr("dir/study.toml:3: 'grid' is no layout of ranks"));
  EXPECT_THAT(UsageErrorOf(kRun + "[growth]\ngrid = [[1, 2, 3, 4, 5]]\n"), HasSubstr("'grid' is no layout of ranks"));
  EXPECT_THAT(UsageErrorOf("x = [\n"), HasSubstr("dir/study.toml:"));
}

TEST(Study, Noise) {
  const Study study = Parse("[noise]\nnetwork = 'nets/a.toml'\ncomputation = 'cpu-time'\n" + kRun);
  ASSERT_TRUE(study.noise);
  EXPECT_EQ(study.noise->network, "dir/nets/a.toml");  // beside the study
  EXPECT_EQ(study.noise->source, ComputationSource::kCpuTime);
  EXPECT_EQ(Parse("[noise]\nnetwork = 'infiniband-hdr'\n" + kRun).noise->network, "infiniband-hdr");
  EXPECT_EQ(Parse("[noise]\n" + kRun).noise->network, "calibrated");
  EXPECT_FALSE(Parse("[noise]\ncomputation = 'none'\n" + kRun).noise->clean_computation);
  EXPECT_THAT(UsageErrorOf("[noise]\ncomputation = 'magic'\n" + kRun), HasSubstr("computation must be \"auto\""));
}

TEST(Study, CaseForApplications) {
  const Study study =
      Parse("[case]\nsize_per_process = 32000\nunit = 'atoms'\niterations = 1e6\n" + kRun + "size = 64000\n");
  EXPECT_EQ(study.problem, (ProblemCase{std::nullopt, 32000, "atoms", 1e6}));
  EXPECT_EQ(study.runs[0].size, 64000);
  EXPECT_FALSE(Parse(kRun).problem.IsKnown());
  EXPECT_THAT(UsageErrorOf("[case]\nsize = 0\n" + kRun), HasSubstr("study.toml:2: 'size' must be a number above 0"));
  EXPECT_THAT(UsageErrorOf("[case]\nsize = 1\nsize_per_process = 1\n" + kRun), HasSubstr("exclude each other"));
  EXPECT_THAT(UsageErrorOf("[study]\nscaling = 'weak'\n[case]\nsize = 1\n" + kRun),
              HasSubstr("grows with the processes"));
  EXPECT_THAT(UsageErrorOf("[study]\nscaling = 'strong'\n[case]\nsize_per_process = 1\n" + kRun),
              HasSubstr("falls with the processes"));
}

TEST(Study, WindowsThatOverlap) {
  EXPECT_THAT(UsageErrorOf(kRun + "[[phases]]\nname = 'a'\nwindow = [0, 2]\n[[phases]]\nname = 'b'\nwindow = [1, 3]\n"),
              HasSubstr("the windows of phases 'a' and 'b' overlap between 1 s and 2 s"));
  EXPECT_EQ(Parse(kRun + "[[phases]]\nwindow = [0, 1]\n[[phases]]\nwindow = [1, 2]\n").phases.size(), 2u);
}

TEST(Study, PresetFillsWhatTheStudyLeavesOut) {
  const PresetReader presets = [](const std::string& name) -> std::optional<ConfigTable> {
    if (name != "p") return std::nullopt;
    return ConfigTable::Parse("[models]\ncandidates = ['amdahl:1']\n[study]\nscaling = 'weak'\n", "p.toml");
  };
  const Study study = Parse("[study]\npreset = 'p'\n[models.factors]\nloadBalance = 'constant'\n" + kRun, presets);
  EXPECT_EQ(study.projection.models.standard.options[0].first, "amdahl");
  EXPECT_EQ(study.projection.models.by_factor.size(), 1u);
  EXPECT_EQ(study.scaling, Scaling::kWeak);
  EXPECT_EQ(Parse("[study]\nscaling = 'strong'\n" + kRun, presets, "p").scaling, Scaling::kStrong);
}

TEST(Study, CommentedExampleIsOne) {
  const std::string file = test::SourceFolder() + "/configs/studies/commented.toml";
  const Study study = ParseStudy(ReadFile(file), file, NoPresets);
  EXPECT_EQ(study.runs.size(), 3u);
  EXPECT_EQ(study.phases.size(), 5u);
  EXPECT_EQ(study.phases[1].clean, kLongestRun);
}

// As installed beside the tests: every network parses, says its name and where its numbers come from.
TEST(Resources, EveryNetworkSaysItsSource) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::SourceFolder() + "/configs/networks")) {
    const Network network = ParseNetwork(ReadFile(entry.path()), entry.path().string(), entry.path().stem().string());
    EXPECT_FALSE(network.name.empty()) << entry.path();
    EXPECT_GT(network.source.size(), 20u) << entry.path();
    EXPECT_EQ(network.IsIdeal(), network.id == "ideal");
    ++count;
  }
  EXPECT_GE(count, 5u);
}

TEST(Resources, Offer) {
  const test::TemporaryFolder folder;
  folder.Write("ours.toml", "name = 'Ours'\n[remote]\nlatency_us = 2\n");
  const Scenario offer = LoadOffer(folder.Write("offer.toml",
                                                "name = 'Altair'\nsource = 'offer 17'\nnetwork = 'ours.toml'\n"
                                                "processor_speed = 1.25\ncores_per_node = 192\n"
                                                "price_per_node_hour = 2.5\ncurrency = 'EUR'\n"));
  EXPECT_EQ(offer.name, "Altair");
  EXPECT_EQ(offer.network->name, "Ours");
  EXPECT_EQ(offer.speed, 1.25);
  EXPECT_EQ(offer.terms, (OfferTerms{192, 2.5, "EUR"}));
  EXPECT_FALSE(offer.is_noise);
  const Scenario smallest = LoadOffer(folder.Write("smallest.toml", ""));
  EXPECT_EQ(smallest.name, "smallest");
  EXPECT_FALSE(smallest.network);
  EXPECT_EQ(smallest.terms, OfferTerms());
  const auto error_of = [&](const std::string& text) {
    return test::ErrorOf(ErrorKind::kUsage, [&] { LoadOffer(folder.Write("wrong.toml", text)); });
  };
  EXPECT_THAT(error_of("cores = 4\n"), HasSubstr("wrong.toml:1: unknown key 'cores'"));
  EXPECT_THAT(error_of("name = ''\n"), HasSubstr("must not be empty"));
  EXPECT_THAT(error_of("network = 'none'\n"), HasSubstr("wrong.toml:1"));
  EXPECT_THAT(error_of("processor_speed = 0\n"), HasSubstr("'processor_speed' must be positive"));
  EXPECT_THAT(error_of("cores_per_node = 0\n"), HasSubstr("'cores_per_node' must be a positive number"));
  EXPECT_THAT(error_of("price_per_node_hour = 3\n"), HasSubstr("a price per node hour needs 'cores_per_node'"));
}

}  // namespace
}  // namespace farscale
