#include "report/compare/json.h"

#include <utility>

#include "report/compare/text.h"
#include "results/results.h"

namespace farscale {
namespace {

using PartKind = Contribution::Kind;

std::string IdOf(const Contribution& part) {
  switch (part.kind) {
    case PartKind::kFactor: return std::string(Describe(part.factor).id);
    case PartKind::kBase: return "base";
    case PartKind::kBaseInstructions: return "baseInstructions";
    case PartKind::kBaseRate: return "baseInstructionRate";
    case PartKind::kBaseIpc: return "baseIpc";
    case PartKind::kBaseFrequency: return "baseFrequency";
    case PartKind::kRest: break;
  }
  return "rest";
}

bool IsKnown(const ComparedNumber& number) { return number.before || number.after; }
bool IsKnown(const ProjectedPair& pair) { return pair.before || pair.after; }

// A list of pairs of a factor and something else, as a dictionary.
template <typename Entry, typename Value, typename FactorMember, typename ValueMember>
Form<std::vector<Entry>> ByFactor(FactorMember factor, ValueMember value) {
  return Via<std::vector<Entry>, Dictionary<Value>>([factor, value](const std::vector<Entry>& entries) {
    Dictionary<Value> by_id;
    for (const Entry& entry : entries) by_id.emplace_back(Describe(entry.*factor).id, entry.*value);
    return by_id;
  });
}

struct CompareFile {
  std::vector<ComparedResults> comparisons;
};

}  // namespace

template <>
Fields<Decomposition> FieldsOf<Decomposition>() {
  using T = Decomposition;
  const auto parts =
      Via<std::vector<Contribution>, Dictionary<double>>([](const std::vector<Contribution>& contributions) {
        Dictionary<double> by_id;
        for (const Contribution& part : contributions) by_id.emplace_back(IdOf(part), part.logarithm);
        return by_id;
      });
  return {"compare/difference",
          "",
          {
              Property<&T::logarithm>("ln(after / before)"),
              Property<&T::parts>(
                  parts,
                  "What factors add to it, by their ids; base parts of times; rest: no factor explains it. Their sum "
                  "is the logarithm"),
              Computed<T>(
                  "largest",
                  [](const T& difference) {
                    const Contribution* largest = difference.Largest();
                    return largest == nullptr ? std::nullopt : std::optional(IdOf(*largest));
                  },
                  "The part that goes furthest in the direction of the whole; absent: nothing changed"),
          }};
}

template <>
Fields<ComparedNumber> FieldsOf<ComparedNumber>() {
  using T = ComparedNumber;
  const auto of_change = [](auto value) {
    return [value](const T& number) { return number.change ? std::optional(value(number)) : std::nullopt; };
  };
  return {"compare/number",
          "Geometric means over the runs of both sides",
          {
              Properties<&T::before, &T::after>(),
              Computed<T>("ratio", of_change([](const T& number) { return number.change->ratio; }),
                          "After over before; absent: the two do not compare")
                  .Above(0),
              Computed<T>("low95", of_change([](const T& number) { return number.change->Low(); }),
                          "95 % interval of this ratio by itself; it does not decide beyondNoise"),
              Computed<T>("high95", of_change([](const T& number) { return number.change->High(); })),
              Computed<T>("beyondNoise", of_change([](const T& number) { return number.is_beyond_noise; }),
                          "More than noise, with an error of 5 % shared by all changes of the phase: stricter than "
                          "low95 and high95"),
          }};
}

template <>
Fields<ComparedCount> FieldsOf<ComparedCount>() {
  using T = ComparedCount;
  return {"compare/count",
          "A core count that was run on either side",
          {
              Property<&T::cores>().AtLeast(1),
              Property<&T::is_common>("Run on both sides"),
              Property<&T::factors>(
                  ByFactor<ComparedFactor, ComparedNumber>(&ComparedFactor::factor, &ComparedFactor::number),
                  "By their ids"),
              Field("secondsPerIteration", &T::seconds).When([](const T& count) { return IsKnown(count.seconds); }),
              Field("efficiencyIs", &T::whole, "Id of the factor that efficiency is about").When([](const T& count) {
                return count.efficiency.has_value();
              }),
              Properties<&T::efficiency, &T::time>(),
          }};
}

namespace {

// A projected value without its core count.
Form<std::optional<ProjectedValue>> ValueAlone() {
  using T = ProjectedValue;
  const auto bound = [](double IntervalBounds::*side) {
    return [side](const T& value) { return value.interval80 ? std::optional(*value.interval80.*side) : std::nullopt; };
  };
  return OptionalOf<T>(FormOfFields(Fields<T>{"compare/value",
                                              "",
                                              {
                                                  Property<&T::value>(),
                                                  Computed<T>("low80", bound(&IntervalBounds::low)),
                                                  Computed<T>("high80", bound(&IntervalBounds::high)),
                                              }}));
}

}  // namespace

template <>
Fields<ProjectedPair> FieldsOf<ProjectedPair>() {
  using T = ProjectedPair;
  return {"compare/pair",
          "",
          {
              Property<&T::reliability>("Of the side with the worse one"),
              Field("apart", &T::is_apart, "The 80 % intervals do not overlap"),
              Property<&T::before>(ValueAlone()),
              Property<&T::after>(ValueAlone()),
          }};
}

template <>
Fields<ComparedTarget> FieldsOf<ComparedTarget>() {
  using T = ComparedTarget;
  using Entry = std::pair<Factor, ProjectedPair>;
  return {"compare/target",
          "Projections at a common core count",
          {
              Property<&T::cores>().AtLeast(1),
              Field("efficiencyIs", &T::whole),
              Property<&T::factors>(ByFactor<Entry, ProjectedPair>(&Entry::first, &Entry::second)),
              Field("secondsPerIteration", &T::seconds).When([](const T& target) { return IsKnown(target.seconds); }),
              Field("efficiency", &T::explained),
          }};
}

template <>
Fields<ComparedPhase> FieldsOf<ComparedPhase>() {
  using T = ComparedPhase;
  return {
      "compare/phase",
      "",
      {
          Property<&T::name>(),
          Embed(&T::before, Fields<PhaseId>{Field("before", &PhaseId::name, "The phase on this side")}),
          Embed(&T::after, Fields<PhaseId>{Field("after", &PhaseId::name)}),
          Embed(&T::before,
                Fields<PhaseId>{Field("groupBefore", &PhaseId::group,
                                      "Of the ranks of the phase, where these alone are compared; absent: all ranks")
                                    .NotEmpty()
                                    .UnlessDefault()}),
          Embed(&T::after, Fields<PhaseId>{Field("groupAfter", &PhaseId::group).NotEmpty().UnlessDefault()}),
          Embed(&T::terms, Fields<ComparedTerms>{Property<&ComparedTerms::reference>(
                               "Cores that both sides compare with; absent: they differ")}),
          Computed<T>(
              "noise", [](const T& phase) { return phase.noise ? phase.noise->deviation : kUsualNoise; },
              "Standard deviation of logarithms of times from run to run")
              .AtLeast(0),
          Computed<T>(
              "noiseIsMeasured", [](const T& phase) { return phase.noise.has_value(); },
              "By repeats; else it is assumed"),
          Property<&T::notes>("What does not compare and why"),
          Properties<&T::counts, &T::targets>(),
      }};
}

template <>
Fields<ComparedResults> FieldsOf<ComparedResults>() {
  using T = ComparedResults;
  return {"compare/comparison",
          "",
          {
              Property<&T::before>("Name of the baseline side"),
              Property<&T::after>(),
              Property<&T::only_before>("Phases that the other side lacks"),
              Property<&T::only_after>(),
              Field("diagnosticsBefore", &T::findings_before, "Anomalies of the table of this side").OrMissing(),
              Field("diagnosticsAfter", &T::findings_after).OrMissing(),
              Property<&T::phases>(),
          }};
}

template <>
Fields<CompareFile> FieldsOf<CompareFile>() {
  return Fields<CompareFile>{
      "compare", "", {Property<&CompareFile::comparisons>("Each result against the first").LeastItems(1)}}
      .File("farscale-compare", kCompareVersion, kCompareVersion, "comparison");
}

std::string WriteCompareJson(std::vector<ComparedResults> comparisons, const Partials& templates) {
  for (ComparedResults& compared : comparisons) {
    for (ComparedPhase& phase : compared.phases) phase.notes = NotesOf(compared, phase, templates);
  }
  return JsonOf(CompareFile{std::move(comparisons)}).dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

OrderedJson CompareSchema() { return SchemaOf<CompareFile>("Results compared by farscale compare"); }

}  // namespace farscale
