#include "report/timeline_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "base/format.h"
#include "base/text.h"
#include "plot/svg.h"

namespace farscale {
namespace {

using Color = std::array<int, 3>;

// Pale for what is as it should be, strong for what costs, so that mixtures are shades of what costs; apart in grey and
// for colour-blind readers, too.
constexpr std::array<Color, kRunStates> kColors = {{{197, 220, 241},    // computation
                                                    {226, 106, 40},     // waiting
                                                    {98, 66, 155},      // transfer
                                                    {190, 140, 20},     // in MPI
                                                    {120, 126, 132},    // not running
                                                    {255, 255, 255}}};  // outside

constexpr int kPictureWidth = 860;
constexpr double kPictureLeft = 120, kPictureRight = kPictureWidth - 14;
constexpr double kNarrowestMark = 4;       // narrower iterations are not told apart
constexpr std::size_t kNamedColumns = 90;  // whose times readers can read
constexpr std::size_t kFewPhases = 8;      // more of them have narrow bands

std::string Hex(const Color& color) { return fmt::format("#{:02x}{:02x}{:02x}", color[0], color[1], color[2]); }

// The colours of the states of a cell, mixed by their shares.
std::string CellColor(const PictureCell& cell) {
  Color mixed{};
  for (std::size_t channel = 0; channel < mixed.size(); ++channel) {
    int sum = kCellLevels / 2;  // to round
    for (std::size_t state = 0; state < kRunStates; ++state) sum += cell[state] * kColors[state][channel];
    mixed[channel] = sum / kCellLevels;
  }
  return Hex(mixed);
}

// Every two columns as one.
RunPicture HalveColumns(const RunPicture& picture) {
  RunPicture halved = picture;
  for (std::vector<PictureCell>& row : halved.rows) {
    std::vector<PictureCell> joined;
    for (std::size_t column = 0; column < row.size(); column += 2) {
      std::array<double, kRunStates> times{};
      for (std::size_t i = column; i < std::min(column + 2, row.size()); ++i) {
        for (std::size_t state = 0; state < kRunStates; ++state) times[state] += row[i][state];
      }
      joined.push_back(RoundToLevels(times));
    }
    row = std::move(joined);
  }
  return halved;
}

// The first characters of a text, in UTF-8.
std::string Shortened(const std::string& text, std::size_t most) {
  std::size_t count = 0, at = 0;
  while (at < text.size()) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0u) != 0x80u && count++ == most) break;
    ++at;
  }
  return at == text.size() ? text : text.substr(0, at) + "…";
}

std::string Title(const RunRecord& run) {
  std::string title =
      fmt::format("{} {}", FormatCores(static_cast<double>(run.ranks)), run.ranks == 1 ? "rank" : "ranks");
  if (run.threads > 1) title += fmt::format(" of {} threads", run.threads);
  if (run.nodes > 1) title += fmt::format(" on {} nodes", FormatCores(static_cast<double>(run.nodes)));
  if (run.repeat > 0) title += fmt::format(", repeat {}", run.repeat);
  return title + ", " + FormatSeconds(run.seconds);
}

class PictureDrawing {
 public:
  PictureDrawing(const RunRecord& run, const RunPicture& picture) : run_(run), picture_(picture) {
    const auto rows = static_cast<double>(picture.rows.size());
    const auto phases = static_cast<double>(run.phases.size());
    band_ = run.phases.size() > kFewPhases ? 10 : 17;
    top_ = 58 + band_ * phases + (phases > 0 ? 5 : 0);
    row_ = std::clamp(384 / rows, 6.0, 22.0);
    bottom_ = top_ + row_ * rows;
  }

  std::string Render(bool standalone) {
    svg_.Open(kPictureWidth, static_cast<int>(std::ceil(bottom_ + 46)), Title(run_), DescribeTimeline(run_), standalone, 14,
              standalone ? "" : CellData());
    standalone_ = standalone;
    Legend();
    for (std::size_t i = 0; i < run_.phases.size(); ++i) Band(run_.phases[i], 58 + band_ * static_cast<double>(i));
    Cells();
    RankAxis();
    Nodes();
    TimeAxis();
    return svg_.Close();
  }

 private:
  double X(double seconds) const { return kPictureLeft + std::clamp(seconds / picture_.seconds, 0.0, 1.0) * (kPictureRight - kPictureLeft); }
  double Y(double row) const { return top_ + row_ * row; }

  // For the script of a page: left, right, top, bottom, columns and rows of the cells, into how many parts a cell is
  // divided, what the states, the rows and evenly spaced columns are called. Every path says which mixture it is.
  std::string CellData() const {
    const std::size_t columns = picture_.rows.front().size(), named = std::min(columns, kNamedColumns);
    std::vector<std::string> states, ranks, times;
    for (std::size_t state = 0; state < kRunStates; ++state) {
      states.emplace_back(ToString(static_cast<RunState>(state)));
    }
    for (std::size_t row = 0; row < picture_.rows.size(); ++row) {
      const std::int64_t first = picture_.ranks_per_row * static_cast<std::int64_t>(row);
      const std::int64_t last = std::min(first + picture_.ranks_per_row, picture_.ranks) - 1;
      ranks.push_back(FormatCores(static_cast<double>(first)));
      if (last > first) ranks.back() += " to " + FormatCores(static_cast<double>(last));
    }
    for (std::size_t i = 0; i < named; ++i) {
      times.push_back(FormatSeconds(picture_.seconds * static_cast<double>(i) / static_cast<double>(named)));
    }
    return fmt::format(" data-cells=\"{} {} {} {} {} {} {}\" data-states=\"{}\" data-ranks=\"{}\" data-times=\"{}\"",
                       kPictureLeft, kPictureRight, Pixel(top_), Pixel(bottom_), columns, picture_.rows.size(), kCellLevels,
                       EscapeXml(Join(states, ";")), Join(ranks, ";"), Join(times, ";"));
  }

  // "53": five parts of the first state, three of the second; what follows is none.
  std::string MixData(const PictureCell& cell) const {
    if (standalone_) return "";
    std::string digits;
    for (const std::uint8_t level : cell) digits += static_cast<char>('0' + level);
    while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
    return fmt::format(" data-mix=\"{}\"", digits);
  }

  // A stretch of a band, in whole tenths of pixels.
  enum BlockKind : std::size_t { kDark, kLight, kSomeLeftOut, kLeftOut, kBlockKinds };
  struct Block {
    std::size_t kind;
    double from, to;
  };
  static constexpr std::array<const char*, kBlockKinds> kStrokes = {
      "#33475b", "#8aa0b6", "#6b8199\" stroke-dasharray=\"1.5 1", "#c3cbd3\" stroke-dasharray=\"1.5 1.5"};

  void Legend() {
    double x = 14;
    const auto entry = [&](const std::string& fill, const std::string& text) {
      svg_.Rect(x, 32, 12, 12, fill, " stroke=\"#66727f\" stroke-width=\".5\"");
      svg_.Text(x + 18, 42, text, "start", kInk);
      x += 36 + 6.6 * static_cast<double>(text.size());
    };
    for (std::size_t state = 0; state < kRunStates; ++state) {
      if (Occurs(state)) entry(Hex(kColors[state]), std::string(ToString(static_cast<RunState>(state))));
    }
    const bool has_left_out = std::any_of(run_.phases.begin(), run_.phases.end(),
                                          [](const PhaseMarks& phase) { return phase.LeftOut() > 0; });
    if (!has_left_out) return;
    svg_.Append(fmt::format("<path d=\"M{} 38h12\" stroke-width=\"12\" stroke=\"{}\"/>", Pixel(x), kStrokes[kLeftOut]));
    svg_.Text(x + 18, 42, "iteration left out", "start", kInk);
  }

  bool Occurs(std::size_t state) const {
    return std::any_of(picture_.rows.begin(), picture_.rows.end(), [&](const std::vector<PictureCell>& row) {
      return std::any_of(row.begin(), row.end(), [&](const PictureCell& cell) { return cell[state] > 0; });
    });
  }

  // One phase: iterations in turn dark and light, those left out hatched.
  void Band(const PhaseMarks& phase, double y) {
    const bool is_small = band_ < 17;
    const double middle = y + (band_ - 4) / 2;
    svg_.Text(kPictureLeft - 8, middle + (is_small ? 3 : 4), Shortened(phase.phase, is_small ? 20 : 16), "end", kInk,
              is_small ? "font-size=\"9\"" : "font-size=\"11\"");
    std::array<std::string, kBlockKinds> paths;
    std::array<double, kBlockKinds> at{};  // where the strokes of each have come to
    const std::vector<Block> blocks = BlocksOf(phase.iterations);
    for (const Block& block : blocks) {
      std::string& path = paths[block.kind];
      path += path.empty() ? fmt::format("M{:.1f} {:.1f}h{:.1f}", block.from, middle, block.to - block.from)
                           : fmt::format("m{:.1f} 0h{:.1f}", block.from - at[block.kind], block.to - block.from);
      at[block.kind] = block.to;
    }
    svg_.Append(fmt::format("<g fill=\"none\" stroke-width=\"{}\"{}><title>{}</title>", Pixel(band_ - 4),
                            standalone_ ? "" : fmt::format(" data-band=\"{}\"", Pixel(middle)),
                            EscapeXml(BandTitle(phase))));
    for (std::size_t kind = 0; kind < paths.size(); ++kind) {
      if (!paths[kind].empty()) {
        svg_.Append(fmt::format("<path d=\"{}\" stroke=\"{}\"/>", paths[kind], kStrokes[kind]));
      }
    }
    svg_.Append("</g>");
    if (!is_small) BandNumbers(phase.iterations, middle);
  }

  // One for every iteration. Where these would be too narrow, those that follow each other are joined and not told
  // apart by shades.
  std::vector<Block> BlocksOf(std::vector<IterationRecord> all) const {
    const double narrowest = run_.phases.size() > kFewPhases ? 2 * kNarrowestMark : kNarrowestMark;
    const bool is_dense = narrowest * static_cast<double>(all.size()) > kPictureRight - kPictureLeft;
    JoinIterations(all, static_cast<std::size_t>((kPictureRight - kPictureLeft) / narrowest));
    std::vector<Block> blocks;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double until = i + 1 < all.size() ? std::min(all[i].end, all[i + 1].begin) : all[i].end;
      const double from = std::round(10 * X(all[i].begin)) / 10;
      const double to = std::max(from + 0.5, std::round(10 * X(until)) / 10);
      const std::size_t kind = !all[i].IsKept()         ? kLeftOut
                               : all[i].left_out > 0    ? kSomeLeftOut
                               : is_dense || i % 2 == 0 ? kDark
                                                        : kLight;
      if (is_dense && i > 0 && blocks.back().kind == kind && from - blocks.back().to < 1) {
        blocks.back().to = std::max(blocks.back().to, to);
      } else {
        blocks.push_back({kind, from, to});
      }
    }
    return blocks;
  }

  // Numbers of iterations, where all of them have the room.
  void BandNumbers(const std::vector<IterationRecord>& all, double middle) {
    if (all.size() < 2) return;
    for (const IterationRecord& record : all) {
      if (record.iterations > 1 || X(record.end) - X(record.begin) < 18) return;
    }
    svg_.Append("<g text-anchor=\"middle\" font-size=\"9\">");
    for (std::size_t i = 0; i < all.size(); ++i) {
      const char* color = i % 2 == 0 && all[i].IsKept() ? "#ffffff" : kInk;
      svg_.Append(fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"{}\">{}</text>",
                              (X(all[i].begin) + X(all[i].end)) / 2, middle + 3, color, i + 1));
    }
    svg_.Append("</g>");
  }

  static std::string BandTitle(const PhaseMarks& phase) {
    const std::int64_t count = phase.Count(), left_out = phase.LeftOut();
    std::string title = fmt::format("{}: {} {}", phase.phase, FormatCores(static_cast<double>(count)),
                                    count == 1 ? "iteration" : "iterations");
    if (left_out > 0) title += fmt::format(", {} left out", left_out);
    return title;
  }

  // The commonest cell is the ground; of every other kind the cells are one path of horizontal strokes.
  void Cells() {
    std::map<PictureCell, std::size_t> counts;
    for (const std::vector<PictureCell>& row : picture_.rows) {
      for (const PictureCell& cell : row) ++counts[cell];
    }
    const auto ground = std::max_element(counts.begin(), counts.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
    svg_.Rect(kPictureLeft, top_, kPictureRight - kPictureLeft, bottom_ - top_, CellColor(ground->first), MixData(ground->first));
    const auto columns = static_cast<double>(picture_.rows.front().size());
    svg_.Append(fmt::format(
        "<g fill=\"none\" shape-rendering=\"crispEdges\" transform=\"matrix({:.6g} 0 0 {:.6g} {:.6g} {:.6g})\">",
        (kPictureRight - kPictureLeft) / columns, row_, kPictureLeft, top_ + row_ / 2));
    std::map<PictureCell, std::string> paths;
    for (std::size_t row = 0; row < picture_.rows.size(); ++row) AddStrokes(row, ground->first, paths);
    for (const auto& [cell, path] : paths) {
      svg_.Append(fmt::format("<path stroke=\"{}\"{} d=\"{}\"/>", CellColor(cell), MixData(cell), path));
    }
    svg_.Append("</g>");
    if (row_ < 12) return;
    for (std::size_t row = 1; row < picture_.rows.size(); ++row) {
      svg_.Line(kPictureLeft, Y(static_cast<double>(row)), kPictureRight, Y(static_cast<double>(row)), "#ffffff");
    }
  }

  void AddStrokes(std::size_t row, const PictureCell& ground, std::map<PictureCell, std::string>& paths) const {
    const std::vector<PictureCell>& cells = picture_.rows[row];
    std::map<PictureCell, std::size_t> at;  // where the strokes of a kind in this row have come to
    for (std::size_t first = 0, end = 0; first < cells.size(); first = end) {
      while (end < cells.size() && cells[end] == cells[first]) ++end;
      if (cells[first] == ground) continue;
      const PictureCell& cell = cells[first];
      const auto before = at.find(cell);
      std::string& path = paths[cell];
      path += before == at.end() ? fmt::format("M{} {}h{}", first, row, end - first)
                                 : fmt::format("m{} 0h{}", first - before->second, end - first);
      at[cell] = end;
    }
  }

  void RankAxis() {
    std::size_t step = 1;
    while (static_cast<double>(step) * row_ < 15) step *= 2;
    const std::size_t rows = picture_.rows.size();
    for (std::size_t row = 0; row < rows; row += step) {
      const double y = Y(static_cast<double>(row) + 0.5);
      svg_.Line(kPictureLeft - 4, y, kPictureLeft, y, kFaint);
      const auto rank = static_cast<double>(picture_.ranks_per_row) * static_cast<double>(row);
      svg_.Text(kPictureLeft - 8, y + 4, FormatCores(rank), "end", kFaint);
    }
    const double middle = (top_ + bottom_) / 2;
    const std::string label =
        picture_.ranks_per_row > 1 ? fmt::format("rank ({} a row)", picture_.ranks_per_row) : "rank";
    svg_.Text(22, middle, label, "middle", kInk, fmt::format("transform=\"rotate(-90 22 {})\"", Pixel(middle)));
  }

  // Borders of nodes, where they are wide enough apart to be seen.
  void Nodes() {
    const std::size_t nodes = picture_.node_begins.size();
    const bool is_rank = static_cast<std::int64_t>(nodes) == picture_.ranks;
    if (nodes < 2 || is_rank || bottom_ - top_ < 22 * static_cast<double>(nodes)) return;
    for (std::size_t node = 1; node < nodes; ++node) {
      const double y = Y(static_cast<double>(picture_.node_begins[node]) / static_cast<double>(picture_.ranks_per_row));
      svg_.Line(kPictureLeft, y, kPictureRight, y, kInk, "stroke-width=\".7\" stroke-opacity=\".5\"");
    }
  }

  void TimeAxis() {
    const TimeUnit unit = UnitFor(picture_.seconds);
    const double span = picture_.seconds / unit.seconds;
    const double step = NiceStep(span, 8);
    for (int i = 0; i * step <= span * (1 + 1e-9); ++i) {
      const double x = X(i * step * unit.seconds);
      svg_.Line(x, bottom_, x, bottom_ + 5, kFaint);
      svg_.Text(x, bottom_ + 18, TickText(i * step), "middle", kFaint);
    }
    svg_.Line(kPictureLeft, bottom_, kPictureRight, bottom_, kFaint);
    svg_.Text((kPictureLeft + kPictureRight) / 2, bottom_ + 36, fmt::format("time since the begin of the run ({})", unit.name),
              "middle", kInk);
  }

  const RunRecord& run_;
  const RunPicture& picture_;
  Svg svg_;
  bool standalone_ = false;
  double band_ = 0, top_ = 0, row_ = 0, bottom_ = 0;
};

}  // namespace

bool HasTimeline(const RunRecord& run) { return run.picture && !run.picture->rows.empty(); }

std::string StateColor(RunState state) { return Hex(kColors[static_cast<std::size_t>(state)]); }

std::string DescribeTimeline(const RunRecord& run) {
  std::vector<std::string> shares;
  for (std::size_t state = 0; state < kRunStates; ++state) {
    const double mean = run.picture->shares[state].mean;
    if (mean >= 0.0005)
      shares.push_back(fmt::format("{} {}", FormatPercent(mean), ToString(static_cast<RunState>(state))));
  }
  std::string text = "Ranks down, time across. Of the time of all ranks: " + Join(shares, ", ") + ".";
  std::vector<std::string> phases;
  for (const PhaseMarks& phase : run.phases) {
    if (phase.iterations.empty()) continue;
    const std::int64_t count = phase.Count(), left_out = phase.LeftOut();
    std::string words = fmt::format("{} from {} to {}", phase.phase, FormatSeconds(phase.iterations.front().begin),
                                    FormatSeconds(phase.iterations.back().end));
    if (count > 1) words += fmt::format(" in {} iterations", FormatCores(static_cast<double>(count)));
    if (left_out > 0) words += fmt::format(", {} of them left out", FormatCores(static_cast<double>(left_out)));
    phases.push_back(words);
  }
  if (!phases.empty()) text += " Phases: " + Join(phases, "; ") + ".";
  return text;
}

std::string RenderTimeline(const RunRecord& run, bool standalone, std::size_t most_bytes) {
  RunPicture picture = *run.picture;
  for (int halvings = 0;; ++halvings) {
    std::string svg = PictureDrawing(run, picture).Render(standalone);
    if (svg.size() <= most_bytes || halvings == 3) return svg;
    picture = HalveColumns(picture);
  }
}

}  // namespace farscale
