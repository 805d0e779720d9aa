// Prints the schemas of docs/schema, which are generated from the descriptions of the fields [base/fields.h].
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/command.h"
#include "gate/history_json.h"
#include "gate/history_view.h"
#include "results/collected_jobs.h"
#include "gate/outputs.h"
#include "planning/balance_json.h"
#include "report/compare/json.h"
#include "results/projection_files.h"
#include "results/factor_table_files.h"
#include "results/growth_record.h"
#include "results/losses_json.h"
#include "results/measured_run_json.h"
#include "results/results_json.h"

namespace farscale {
namespace {

using Schema = nlohmann::ordered_json (*)();

const std::map<std::string, Schema>& Schemas() {
  static const std::map<std::string, Schema> schemas = {{"backtest", BacktestSchema},
                                                        {"balance", BalanceSchema},
                                                        {"compare", CompareSchema},
                                                        {"factors", FactorTableSchema},
                                                        {"gate", GateSchema},
                                                        {"growth", GrowthSchema},
                                                        {"history", HistorySchema},
                                                        {"inspection", InspectionSchema},
                                                        {"jobs", JobsSchema},
                                                        {"losses", LossesSchema},
                                                        {"measured-run", MeasuredRunSchema},
                                                        {"projection", ProjectionSchema},
                                                        {"results", ResultsSchema},
                                                        {"splits", SplitsSchema},
                                                        {"tracks", TracksSchema}};
  return schemas;
}

struct SchemaOptions {
  std::string format;
};

int PrintSchema(const SchemaOptions& options, const Common&) {
  fmt::print("{}\n", Schemas().at(options.format)().dump(2));
  return 0;
}

}  // namespace

void AddSchemaCommand(CommandLine& line) {
  auto [command, options] = AddCommand(line, "schema", "Print the JSON Schema of a file", PrintSchema);
  command->group("");  // for developers
  command->add_option("format", options.format, "The format")->required()->check(CLI::IsMember(Schemas()));
}

}  // namespace farscale
