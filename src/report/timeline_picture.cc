#include "report/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include "base/text.h"
#include "factors/run_picture.h"
#include "plot/canvas.h"
#include "plot/heat_map.h"
#include "results/run_record.h"

namespace farscale {
namespace {

// Devices in the picture of a run: strips at the bottom of the rows of the ranks that use them.

using Color = std::array<int, 3>;

// Apart from each other and from the states of ranks, also for colour-blind readers.
constexpr Color kKernels = {0, 128, 112}, kCopies = {214, 72, 142}, kIdle = {238, 240, 242};
// The share of the height of a row that its devices take, by their number.
constexpr std::array<double, kMostDeviceRows + 1> kDeviceShare = {0, 0.3, 0.45, 0.55, 0.6};

std::string Hex(const Color& color) { return fmt::format("#{:02x}{:02x}{:02x}", color[0], color[1], color[2]); }

// The colours of what a device does in a cell, mixed by their shares.
std::string DeviceColor(const DeviceCell& cell) {
  const int idle = kCellLevels - cell.kernels - cell.copies;
  Color mixed{};
  for (std::size_t channel = 0; channel < mixed.size(); ++channel) {
    const int sum = cell.kernels * kKernels[channel] + cell.copies * kCopies[channel] + idle * kIdle[channel];
    mixed[channel] = (sum + kCellLevels / 2) / kCellLevels;
  }
  return Hex(mixed);
}

// Over the cells of ranks in `box`, whose rows are so high.
void DrawDevices(const RunPicture& picture, const Box& box, double row_height, SvgCanvas& canvas) {
  std::map<std::int64_t, std::size_t> count, drawn;  // at each row
  for (const DeviceRow& device : picture.devices) ++count[device.row];
  for (const DeviceRow& device : picture.devices) {
    const std::size_t all = std::min(count[device.row], kMostDeviceRows), index = drawn[device.row]++;
    if (index >= all) continue;  // in a file that farscale did not write
    const double area = row_height * kDeviceShare[all], height = area / static_cast<double>(all);
    const double top =
        box.top + row_height * static_cast<double>(device.row + 1) - area + height * static_cast<double>(index);
    const double gap = height > 4 ? 1 : 0.5;
    const Box strip{box.left, top + gap, box.right, top + height};
    canvas.OpenGroup("");
    canvas.Append("<title>" +
                  EscapeXml(fmt::format("{}: {} in kernels, {} in copies",
                                        device.name.empty() ? "all devices of the row" : device.name,
                                        FormatPercent(device.kernels), FormatPercent(device.copies))) +
                  "</title>");
    canvas.Rect(strip, {DeviceColor({}), 1, ""});
    const std::size_t columns = device.cells.size();
    canvas.OpenGroup(AttributesOfCells(strip, strip.width() / static_cast<double>(columns), strip.height()));
    const auto cell_of = [&](std::size_t, std::size_t column) { return device.cells[column]; };
    for (const auto& [cell, path] : PathsOfCells(1, columns, DeviceCell{}, cell_of)) {
      canvas.Path(path, {DeviceColor(cell), 1});
    }
    canvas.CloseGroup();
    canvas.CloseGroup();
  }
}

// Pale for what is as it should be, strong for what costs, so that mixtures are shades of what costs; apart in grey and
// for colour-blind readers, too.
constexpr std::array<Color, kRunStates> kColors = {{{197, 220, 241},    // computation
                                                    {226, 106, 40},     // waiting
                                                    {98, 66, 155},      // transfer
                                                    {190, 140, 20},     // in MPI
                                                    {120, 126, 132},    // not running
                                                    {255, 255, 255},    // outside
                                                    {126, 190, 150}}};  // calls to devices

constexpr double kPictureWidth = 860, kPictureLeft = 120, kPictureRight = kPictureWidth - 14;
constexpr double kBandTop = 58, kLegendRow = 18;
// Blocks of a band.
constexpr std::size_t kDark = 0, kLight = 1, kSomeLeftOut = 2, kLeftOut = 3;
const std::array<Stroke, 4> kBlockStrokes = {Stroke{"#33475b"}, Stroke{"#8aa0b6"}, Stroke{"#6b8199", 1, "1.5 1"},
                                             Stroke{"#c3cbd3", 1, "1.5 1.5"}};
constexpr double kNarrowestMark = 4;       // narrower iterations are not told apart
constexpr std::size_t kNamedColumns = 90;  // whose times readers can read
constexpr std::size_t kFewPhases = 8;      // more of them have narrow bands

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
  for (DeviceRow& device : halved.devices) {
    std::vector<DeviceCell> joined;
    for (std::size_t column = 0; column < device.cells.size(); column += 2) {
      const DeviceCell& first = device.cells[column];
      const DeviceCell& second = device.cells[std::min(column + 1, device.cells.size() - 1)];
      const int kernels = first.kernels + second.kernels, copies = first.copies + second.copies;
      joined.push_back({static_cast<std::uint8_t>(kernels / 2), static_cast<std::uint8_t>((kernels % 2 + copies) / 2)});
    }
    device.cells = std::move(joined);
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
  if (run.grown_from) title += ", grown, not measured";
  return title + ", " + FormatSeconds(run.seconds);
}

class PictureDrawing {
 public:
  PictureDrawing(const RunRecord& run, const RunPicture& picture) : run_(run), picture_(picture) {
    const auto rows = static_cast<double>(picture.rows.size());
    const auto phases = static_cast<double>(run.phases.size());
    band_ = run.phases.size() > kFewPhases ? 10 : 17;
    row_ = std::clamp(384 / rows, 6.0, 22.0);
    if (!picture.devices.empty()) {
      row_ = std::clamp(512 / rows, 10.0, 30.0);
      band_top_ += MakeLegend().height() - kLegendRow;
    }
    box_ = {kPictureLeft, band_top_ + band_ * phases + (phases > 0 ? 5 : 0), kPictureRight, 0};
    box_.bottom = box_.top + row_ * rows;
    unit_ = UnitFor(picture.seconds);
    x_ = LinearScale(0, picture.seconds, box_.left, box_.right, 8, unit_.second);
    y_ = LinearScale(0, rows, box_.top, box_.bottom, 1);
  }

  std::string Render(bool standalone) {
    SvgCanvas canvas({kPictureWidth, std::ceil(box_.bottom + kBelowAxis), Title(run_), DescribeTimeline(run_),
                      standalone, 14, CellData()});
    svg_ = &canvas;
    standalone_ = standalone;
    MakeLegend().Draw(canvas);
    for (std::size_t i = 0; i < run_.phases.size(); ++i) {
      Band(run_.phases[i], band_top_ + band_ * static_cast<double>(i));
    }
    Cells();
    DrawDevices(picture_, box_, row_, canvas);
    const std::string ranks =
        picture_.ranks_per_row > 1 ? fmt::format("rank ({} a row)", picture_.ranks_per_row) : "rank";
    DrawYAxis(canvas, box_, {y_, RankTicks(), ranks, AxisMarks::kShort});
    Nodes();
    DrawXAxis(canvas, box_,
              {x_, x_.Ticks(unit_.second), fmt::format("time since the begin of the run ({})", unit_.first),
               AxisMarks::kShort});
    return canvas.Close();
  }

 private:
  // For the script of a page: left, right, top, bottom, columns and rows of the cells, into how many parts a cell is
  // divided, what the states, the rows and evenly spaced columns are called. Every path says which mixture it is.
  std::string CellData() const {
    const std::size_t columns = picture_.rows.front().size(), named = std::min(columns, kNamedColumns);
    std::vector<std::string> states, ranks, times;
    // The last state is of runs with devices alone.
    const std::size_t named_states = Occurs(kRunStates - 1) ? kRunStates : kRunStates - 1;
    for (std::size_t state = 0; state < named_states; ++state) {
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
                       kPictureLeft, kPictureRight, Pixel(box_.top), Pixel(box_.bottom), columns, picture_.rows.size(),
                       kCellLevels, EscapeXml(Join(states, ";")), Join(ranks, ";"), Join(times, ";"));
  }

  // "53": five parts of the first state, three of the second; what follows is none.
  std::string MixData(const PictureCell& cell) const {
    if (standalone_) return "";
    std::string digits;
    for (const std::uint8_t level : cell) digits += static_cast<char>('0' + level);
    while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
    return fmt::format(" data-mix=\"{}\"", digits);
  }

  Stroke BlockStroke(std::size_t kind) const {
    Stroke stroke = kBlockStrokes[kind];
    stroke.width = band_ - 4;
    return stroke;
  }

  Legend MakeLegend() const {
    std::vector<LegendEntry> entries;
    const auto add = [&](const std::string& name, const std::string& color) {
      entries.push_back({.name = name, .area = Fill{color, 1, " stroke=\"#66727f\" stroke-width=\".5\""}});
    };
    for (std::size_t state = 0; state < kRunStates; ++state) {
      if (Occurs(state)) add(std::string(ToString(static_cast<RunState>(state))), Hex(kColors[state]));
    }
    const auto has = [&](double DeviceRow::*share) {
      return std::ranges::any_of(picture_.devices, [&](const DeviceRow& device) { return device.*share > 0; });
    };
    if (has(&DeviceRow::kernels)) add("device: kernels", DeviceColor({kCellLevels, 0}));
    if (has(&DeviceRow::copies)) add("device: copies", DeviceColor({0, kCellLevels}));
    const bool has_left_out = std::any_of(run_.phases.begin(), run_.phases.end(),
                                          [](const PhaseMarks& phase) { return phase.LeftOut() > 0; });
    if (has_left_out) entries.push_back({.name = "iteration left out", .line = BlockStroke(kLeftOut)});
    return Legend(std::move(entries), 14, kPictureRight, 42);
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
    svg_->Text({kPictureLeft - 8, middle + (is_small ? 3 : 4)}, Shortened(phase.phase, is_small ? 20 : 16),
               {Anchor::kEnd, kInk, is_small ? 9.0 : 11.0});
    std::array<std::string, kBlockStrokes.size()> paths;
    std::array<double, kBlockStrokes.size()> at{};  // where the strokes of each have come to
    AddBlocks(phase.iterations, [&](std::size_t kind, double from, double to) {
      std::string& path = paths[kind];
      path += path.empty() ? fmt::format("M{:.1f} {:.1f}h{:.1f}", from, middle, to - from)
                           : fmt::format("m{:.1f} 0h{:.1f}", from - at[kind], to - from);
      at[kind] = to;
    });
    const std::int64_t count = phase.Count(), left_out = phase.LeftOut();
    std::string title = fmt::format("{}: {} {}", phase.phase, FormatCores(static_cast<double>(count)),
                                    count == 1 ? "iteration" : "iterations");
    if (left_out > 0) title += fmt::format(", {} left out", left_out);
    svg_->OpenGroup(" fill=\"none\"" + (standalone_ ? "" : fmt::format(" data-band=\"{}\"", Pixel(middle))));
    svg_->Append("<title>" + EscapeXml(title) + "</title>");
    for (std::size_t kind = 0; kind < paths.size(); ++kind) {
      if (!paths[kind].empty()) svg_->Path(paths[kind], BlockStroke(kind));
    }
    svg_->CloseGroup();
    if (!is_small) BandNumbers(phase.iterations, middle);
  }

  // One for every iteration, in whole tenths of pixels. Where these would be too narrow, those that follow each other
  // are joined and not told apart by shades.
  void AddBlocks(std::vector<IterationRecord> all,
                 const std::function<void(std::size_t kind, double from, double to)>& add) const {
    const double narrowest = run_.phases.size() > kFewPhases ? 2 * kNarrowestMark : kNarrowestMark;
    const bool is_dense = narrowest * static_cast<double>(all.size()) > kPictureRight - kPictureLeft;
    JoinIterations(all, static_cast<std::size_t>((kPictureRight - kPictureLeft) / narrowest));
    std::size_t kind = kDark;
    double from = 0, to = 0;  // the block that may go on
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double until = i + 1 < all.size() ? std::min(all[i].end, all[i + 1].begin) : all[i].end;
      const double begin = std::round(10 * x_.At(all[i].begin)) / 10;
      const double end = std::max(begin + 0.5, std::round(10 * x_.At(until)) / 10);
      const std::size_t own = !all[i].IsKept()         ? kLeftOut
                              : all[i].left_out > 0    ? kSomeLeftOut
                              : is_dense || i % 2 == 0 ? kDark
                                                       : kLight;
      const bool goes_on = is_dense && i > 0 && own == kind && begin - to < 1;
      if (i > 0 && !goes_on) add(kind, from, to);
      to = goes_on ? std::max(to, end) : end;
      if (!goes_on) from = begin;
      kind = own;
    }
    if (!all.empty()) add(kind, from, to);
  }

  // Numbers of iterations, where all of them have the room.
  void BandNumbers(const std::vector<IterationRecord>& all, double middle) {
    if (all.size() < 2) return;
    for (const IterationRecord& record : all) {
      if (record.iterations > 1 || x_.At(record.end) - x_.At(record.begin) < 18) return;
    }
    svg_->OpenGroup("");  // keeps the style sheet of a page from changing their colours, which suit the bands
    for (std::size_t i = 0; i < all.size(); ++i) {
      const char* color = i % 2 == 0 && all[i].IsKept() ? kPaper : kInk;
      const double x = (x_.At(all[i].begin) + x_.At(all[i].end)) / 2;
      svg_->Text({x, middle + 3}, std::to_string(i + 1), {Anchor::kMiddle, color, 9});
    }
    svg_->CloseGroup();
  }

  // The commonest cell is the ground; of every other kind the cells are one path of horizontal strokes.
  void Cells() {
    std::map<PictureCell, std::size_t> counts;
    for (const std::vector<PictureCell>& row : picture_.rows) {
      for (const PictureCell& cell : row) ++counts[cell];
    }
    const auto ground = std::max_element(counts.begin(), counts.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
    svg_->Rect(box_, {CellColor(ground->first), 1, MixData(ground->first)});
    const std::size_t rows = picture_.rows.size(), columns = picture_.rows.front().size();
    svg_->OpenGroup(AttributesOfCells(box_, box_.width() / static_cast<double>(columns), row_));
    const auto cell_of = [&](std::size_t row, std::size_t column) { return picture_.rows[row][column]; };
    for (const auto& [cell, path] : PathsOfCells(rows, columns, ground->first, cell_of)) {
      svg_->Path(path, {CellColor(cell), 1, "", 1, MixData(cell)});
    }
    svg_->CloseGroup();
    if (row_ < 12) return;
    std::vector<Spot> gaps;
    for (std::size_t row = 1; row < rows; ++row) AddLine(static_cast<double>(row), gaps);
    svg_->Lines(gaps, {kPaper});
  }

  // From left to right.
  void AddLine(double row, std::vector<Spot>& ends) const {
    ends.push_back({box_.left, y_.At(row)});
    ends.push_back({box_.right, y_.At(row)});
  }

  // Names of ranks in the middle of their rows, where there is room.
  std::vector<AxisTick> RankTicks() const {
    std::size_t step = 1;
    while (static_cast<double>(step) * row_ < 15) step *= 2;
    std::vector<AxisTick> ticks;
    for (std::size_t row = 0; row < picture_.rows.size(); row += step) {
      const auto rank = static_cast<double>(picture_.ranks_per_row) * static_cast<double>(row);
      ticks.emplace_back(static_cast<double>(row) + 0.5, FormatCores(rank));
    }
    return ticks;
  }

  // Borders of nodes, where they are wide enough apart to be seen.
  void Nodes() {
    const std::size_t nodes = picture_.node_begins.size();
    const bool is_rank = static_cast<std::int64_t>(nodes) == picture_.ranks;
    if (nodes < 2 || is_rank || box_.height() < 22 * static_cast<double>(nodes)) return;
    std::vector<Spot> borders;
    for (std::size_t node = 1; node < nodes; ++node) {
      AddLine(static_cast<double>(picture_.node_begins[node]) / static_cast<double>(picture_.ranks_per_row), borders);
    }
    svg_->Lines(borders, {kInk, 0.7, "", 0.5});
  }

  const RunRecord& run_;
  const RunPicture& picture_;
  SvgCanvas* svg_ = nullptr;
  bool standalone_ = false;
  double band_ = 0, row_ = 0;
  double band_top_ = kBandTop;
  Box box_;  // around the cells
  std::pair<const char*, double> unit_{};
  Scale x_, y_;
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
  if (const std::vector<DeviceRow>& devices = run.picture->devices; !devices.empty()) {
    double kernels = 0, copies = 0;
    for (const DeviceRow& device : devices) {
      kernels += device.kernels / static_cast<double>(devices.size());
      copies += device.copies / static_cast<double>(devices.size());
    }
    text += fmt::format(" Devices, in strips below their ranks, are {} of the time in kernels and {} in copies.",
                        FormatPercent(kernels), FormatPercent(copies));
  }
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
