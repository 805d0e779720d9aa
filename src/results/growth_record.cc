#include "results/growth_record.h"

#include "results/json_fields.h"

namespace farscale {

std::vector<std::pair<GrowthSource, std::string>> NamesOf(Described<GrowthSource>) {
  return {
      {GrowthSource::kMeasured, "measured"}, {GrowthSource::kReplayed, "replayed"}, {GrowthSource::kGrown, "grown"}};
}

Fields<GrowthRecordRow> FieldsOf(Described<GrowthRecordRow>) {
  using T = GrowthRecordRow;
  const auto is_grown = [](const T& row) { return row.source == GrowthSource::kGrown; };
  return {"growth/row",
          "One run",
          {
              Property<&T::ranks>().AtLeast(1),
              Property<&T::layout>("Extents of the grid of ranks, the first of which changes fastest").UnlessDefault(),
              Property<&T::second_layout>("Of the ranks behind these, where two programs run together").UnlessDefault(),
              Property<&T::source>(
                  "A measured run, the same replayed by its rules, or a run grown from smaller ones; grown to ranks "
                  "that were measured it is a backtest"),
              Property<&T::learned_up_to>("Ranks of the largest run that a grown one follows from").AtLeast(1),
              Property<&T::iteration>("Seconds of an iteration").AtLeast(0),
              Property<&T::factors>("Values by factor id; any subset"),
              Property<&T::iterations>("Of a grown run").When(is_grown),
              Property<&T::replayed>("How many of these were replayed; the times of others follow from them")
                  .When(is_grown),
          }};
}

Fields<RankClassRecord> FieldsOf(Described<RankClassRecord>) {
  using T = RankClassRecord;
  return {"growth/class",
          "Ranks of equal place in the grid",
          {
              Property<&T::place>(),
              Property<&T::ranks>("In the largest run").AtLeast(0),
              Property<&T::computation>("Seconds of an iteration, mean over these ranks").AtLeast(0),
          }};
}

Fields<StatisticalGrowth> FieldsOf(Described<StatisticalGrowth>) {
  using T = StatisticalGrowth;
  return {"growth/copied",
          "Statistical growth, where rules do not suffice: grown ranks are copies of those of the largest run",
          {
              Property<&T::reason>("What the rules lack"),
              Property<&T::ranks>("Of the largest run").AtLeast(1),
              Field("fewestPartners", &T::fewest, "That a rank sends messages to").AtLeast(0),
              Field("medianPartners", &T::median).AtLeast(0),
              Field("mostPartners", &T::most).AtLeast(0),
              Property<&T::messages>("Sent by a rank in an iteration, mean over ranks").AtLeast(0),
          }};
}

Fields<LearnedRecord> FieldsOf(Described<LearnedRecord>) {
  using T = LearnedRecord;
  using Rule = RuleShares::value_type;
  const auto rules = ListOf<Rule>(
      FormOfFields(Fields<Rule>{"growth/rule",
                                "A rule, and the share of the messages of the largest run that follow it",
                                {Field("rule", &Rule::first), Field("share", &Rule::second).AtLeast(0).AtMost(1)}}));
  return {
      "growth/learned",
      "How a phase was understood",
      {
          Property<&T::explained>("Share of the messages that follow rules").AtLeast(0).AtMost(1),
          Property<&T::confirmed>("Share of those whose rules hold on other ranks or runs, too").AtLeast(0).AtMost(1),
          Property<&T::partners>(rules, "To whom messages go, the most frequent first"),
          Property<&T::sizes>(rules, "How their bytes follow the ranks, the most frequent first"),
          Property<&T::classes>(),
          Property<&T::computation>("How the computation of a rank follows the ranks"),
          Property<&T::spread>("How ranks of a class differ in all iterations: standard deviation of the logarithm")
              .AtLeast(0),
          Property<&T::noise>("The same of iterations").AtLeast(0),
          Property<&T::copied>(),
          Property<&T::runs_alone>(
              "Ranks of runs that have no class in common with others, so that only their own ranks confirm "
              "their rules")
              .UnlessDefault(),
      }};
}

Fields<GrowthRecord> FieldsOf(Described<GrowthRecord>) {
  using T = GrowthRecord;
  return {"growth/phase",
          {
              Property<&T::phase>(),
              Property<&T::refusal>("Why it is not grown").UnlessDefault(),
              Property<&T::learned>(),
              Property<&T::rows>("Rising in ranks"),
              Property<&T::left_out>("Why some runs were not read or not grown").UnlessDefault(),
          }};
}

Fields<GrowthFile> FieldsOf(Described<GrowthFile>) {
  using T = GrowthFile;
  return Fields<T>{
      "growth",
      {
          Property<&T::network>("That grown runs were replayed on"),
          Property<&T::unknown_network>("Why messages take no time there, so that transfer is not grown")
              .UnlessDefault(),
          Property<&T::scenario>(
              "Under which the runs were replayed before they were grown: their rows of source 'measured' are those")
              .UnlessDefault(),
          Property<&T::phases>(),
      }}
      .File("farscale-growth", 1, 1, "record of growth");
}

std::string WriteGrowthJson(const GrowthFile& file) {
  return JsonOf(file).dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

OrderedJson GrowthSchema() { return SchemaOf<GrowthFile>("Grown runs, written by farscale grow"); }

}  // namespace farscale
