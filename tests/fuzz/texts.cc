// Everything that is read as text. The first byte says as what: study, model, factor table, results, network, rules of
// a gate, entry of a history, runs measured by TALP and by farscale.
#include <filesystem>

#include "base/diagnostics.h"
#include "base/files.h"
#include "factors/factor_table.h"
#include "results/factor_table_files.h"
#include "fuzz/target.h"
#include "gate/history_json.h"
#include "gate/rules.h"
#include "models/scaling_model.h"
#include "replay/network.h"
#include "report/report.h"
#include "support/own_templates.h"
#include "results/results_json.h"
#include "study/study.h"
#include "support/history_templates.h"
#include "support/models.h"
#include "support/traces.h"

namespace farscale::fuzz {
namespace {

constexpr std::size_t kKinds = 10;

FactorTable SmallTable() {
  FactorTable table = ReadFactorCsv(
      "series,phase,cores,repeat,runtime,loadBalance,serializationEfficiency,transferEfficiency\n"
      "a,p,2,0,1.5,0.9,0.95,0.97\na,p,4,0,1.2,0.8,0.9,0.95\n\"b, c\",p,8,0,1,0.7,0.9,0.9\n",
      "seed");
  CompleteTable(table);
  return table;
}

void TryAs(std::size_t kind, const std::string& text) {
  switch (kind) {
    case 0: ParseStudy(text, "dir/study.toml", [](const std::string&) { return std::nullopt; }); break;
    case 1: ParseModel(text, "model.toml"); break;
    case 2: {
      FactorTable table = ReadFactorCsv(text, "table.csv");
      CompleteTable(table);
      WriteFactorCsv(table);
      break;
    }
    case 3: {
      FactorTable table = ReadFactorJson(text, "table.json");
      CompleteTable(table);
      WriteFactorJson(table);
      break;
    }
    case 4: {
      const Results results = ReadResultsJson(text, "results.json");
      BuildReportModel(results, test::OwnTexts());
      WriteResultsJson(results);
      break;
    }
    case 5: ParseRules(ConfigTable::Parse(text, "gate.toml"), "gate.toml"); break;
    case 6: {
      MeasuredResults entry = ReadHistoryJson(text, "entry.json");
      CompleteTable(entry.table);
      static const ReportTemplates templates = test::HistoryTemplates();
      WriteHistoryHtml(ViewOf({entry, entry}, "t"), templates);
      break;
    }
    case 7: {
      FactorTable table = TableOfTalpFiles({{"talp.json", text}});
      CompleteTable(table);
      std::vector<std::string> left_out;
      WriteTalpJson(table, "2026-11-20T12:00:00", left_out);
      break;
    }
    case 8: {
      FactorTable table = TableOfMeasuredRuns({{"farscale.json", text}});
      CompleteTable(table);
      break;
    }
    default: WriteNetworkToml(ParseNetwork(text, "network.toml", "network"));
  }
}

}  // namespace

std::vector<std::string> Seeds() {
  const std::string root = test::SourceFolder();
  std::vector<std::string> seeds;
  const auto add = [&](std::size_t kind, const std::string& text) {
    seeds.push_back(std::string(1, static_cast<char>(kind)) + text);
  };
  add(0, ReadFile(root + "/sample-runs/lulesh/study.toml"));
  add(0,
      "[study]\nscaling='weak'\nreference=8\n[replay]\nrules='causal'\neager_limit=1\n[models]\n"
      "candidates=['amdahl:1,3']\ntrain_max=8\n[models.factors]\nloadBalance={model='constant',dimension=1}\n"
      "[projection]\ntargets=[1,2]\nreliable_width=0.1\nlevels=[0.5]\n[report]\nformats=['html']\n[[runs]]\ntrace='a'"
      "\nthreads=2\n"
      "[[phases]]\nwindow=[0,1]\n[[phases]]\nregex='a.*'\nskip=1\nkeep=2\nspan='each'\n");
  for (const char* id : {"amdahl", "pipeline"}) add(1, ReadFile(root + "/fits/" + id + ".toml"));
  add(2, WriteFactorCsv(SmallTable()));
  add(3, WriteFactorJson(SmallTable()));
  const ModelLibrary library = test::AllModels();
  const FactorTable table = SmallTable();
  Results results = ResultsOfTable(table, Project(table, library, {{}, {64}, {}}), "t");
  add(4, WriteResultsJson(results));
  RunRecord run;
  run.cores = run.ranks = 2;
  run.nodes = 1;
  run.picture = RunPicture{4,
                           2,
                           1,
                           {0, 1},
                           {{{8}, {4, 4}, {0, 8}}, {{8}, {8}, {0, 0, 8}}},
                           {{{0.5, 0.4, 0.6, 0, 1}}},
                           {{1, "fake 0", {{8, 0}, {2, 4}, {}}, 0.4, 0.1}},
                           ""};
  run.phases = {
      {"p", {{0, 1, 1, 0.5, 0.5, 0.9, 0.1, 1, 0, ""}, {1, 3, 2, 1.5, 0.7, 0.9, 0.2, 2, 1, "late"}}, std::nullopt}};
  results.runs = {run};
  add(4, WriteResultsJson(results));
  results.backtest = Backtest(table, library, {}, {4}).rows;
  results.variants = {{"quiet", "without network noise", "replayed", true, results.table, results.projections}};
  add(4, WriteResultsJson(results));
  add(5, ReadFile(root + "/configs/gate/strict.toml"));
  add(5,
      "rules=['speedup of phase a at 16, 32 >= 2 %', 'runtime at targets rises at most 3']\n[[rule]]\n"
      "rule='loadBalance at measured drops at most 3 %'\nconfidence=0.9\njudge='value'\nundecided='fail'\n");
  add(6, WriteHistoryJson({"", "abc", "2026-11-20T12:00:00Z", "why", SmallTable()}));
  add(7,
      "{\"dlbVersion\":\"3.6\",\"resources\":{\"numCpus\":4,\"numNodes\":1,\"numMpiRanks\":2},\"Application\":"
      "{\"Global\":{\"numCpus\":4,\"numMpiRanks\":2,\"cycles\":-3,\"instructions\":5,\"numMeasurements\":2,"
      "\"elapsedTime\":9,\"usefulTime\":9,\"mpiTime\":3,\"minMpiNormdProc\":0.5,\"minMpiNormdNode\":0.6,"
      "\"parallelEfficiency\":0.8}}}");
  add(7,
      "{\"popMetrics\":[{\"name\":\"a\",\"elapsedTime\":9,\"lbIn\":0.9,\"lbOut\":0.8}],\"popRaw\":[{\"name\":\"a\","
      "\"numCpus\":2,\"numNodes\":1,\"elapsedTime\":9,\"elapsedUseful\":8,\"usefulCpuTotal\":12,\"usefulCpuNode\":12}]"
      "}");
  add(8,
      "{\"format\":\"farscale-measured-run\",\"version\":1,\"job\":\"j\",\"program\":\"p\",\"ranks\":2,\"threads\":1,"
      "\"ending\":\"finalized\",\"nodes\":[{\"name\":\"a\",\"ranks\":[0,1]}],\"regions\":[{\"name\":\"whole run\","
      "\"ranks\":2,\"fewestStarts\":1,\"mostStarts\":1,\"elapsed\":4,\"usefulAverage\":2,\"usefulLargest\":3,"
      "\"usefulTotal\":4,\"factors\":{\"parallelEfficiency\":0.5}}],\"diagnostics\":[{\"id\":\"preempted\","
      "\"severity\":\"warning\",\"sentence\":\"s\"}]}");
  add(9, ReadFile(root + "/configs/networks/infiniband-hdr.toml"));
  return seeds;
}

void Try(const std::string& input) {
  if (input.empty()) return;
  try {
    TryAs(static_cast<unsigned char>(input[0]) % kKinds, input.substr(1));
  } catch (const Error&) {
  }
}

}  // namespace farscale::fuzz
