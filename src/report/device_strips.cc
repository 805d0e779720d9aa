#include "report/device_strips.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/format.h"
#include "base/text.h"
#include "plot/cells.h"

namespace farscale {
namespace {

using DeviceRgb = std::array<int, 3>;

// Apart from each other and from the states of ranks, also for colour-blind readers.
constexpr DeviceRgb kKernels = {0, 128, 112}, kCopies = {214, 72, 142}, kIdle = {238, 240, 242};
// Of the height of a row what its devices take, by how many there are.
constexpr std::array<double, kMostDeviceRows + 1> kDeviceShare = {0, 0.3, 0.45, 0.55, 0.6};

// The colours of what a device does in a cell, mixed by their shares.
std::string DeviceColor(const DeviceCell& cell) {
  const int idle = kCellLevels - cell.kernels - cell.copies;
  DeviceRgb mixed{};
  for (std::size_t channel = 0; channel < mixed.size(); ++channel) {
    const int sum = cell.kernels * kKernels[channel] + cell.copies * kCopies[channel] + idle * kIdle[channel];
    mixed[channel] = (sum + kCellLevels / 2) / kCellLevels;
  }
  return fmt::format("#{:02x}{:02x}{:02x}", mixed[0], mixed[1], mixed[2]);
}

void DrawStrip(const DeviceRow& device, const Box& strip, SvgCanvas& canvas) {
  const std::string name = device.name.empty() ? "all devices of the row" : device.name;
  const std::string text =
      fmt::format("{}: {} in kernels, {} in copies", name, FormatPercent(device.kernels), FormatPercent(device.copies));
  canvas.OpenGroup("");
  canvas.Append("<title>" + EscapeXml(text) + "</title>");
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

}  // namespace

void HalveColumnsOf(DeviceRow& device) {
  std::vector<DeviceCell> joined;
  for (std::size_t column = 0; column < device.cells.size(); column += 2) {
    const DeviceCell& first = device.cells[column];
    const DeviceCell& second = device.cells[std::min(column + 1, device.cells.size() - 1)];
    const int kernels = first.kernels + second.kernels, copies = first.copies + second.copies;
    joined.push_back({static_cast<std::uint8_t>(kernels / 2), static_cast<std::uint8_t>((kernels % 2 + copies) / 2)});
  }
  device.cells = std::move(joined);
}

std::string DescribeDevices(const RunPicture& picture) {
  double kernels = 0, copies = 0;
  for (const DeviceRow& device : picture.devices) {
    kernels += device.kernels / static_cast<double>(picture.devices.size());
    copies += device.copies / static_cast<double>(picture.devices.size());
  }
  return fmt::format(" Devices, in strips below their ranks, are {} of the time in kernels and {} in copies.",
                     FormatPercent(kernels), FormatPercent(copies));
}

std::vector<LegendEntry> LegendOfDevices(const RunPicture& picture) {
  std::vector<LegendEntry> entries;
  const auto add = [&](const char* name, const DeviceCell& cell) {
    const Fill fill{DeviceColor(cell), 1, " stroke=\"#66727f\" stroke-width=\".5\""};
    entries.push_back({.name = name, .area = fill});
  };
  const auto has = [&](double DeviceRow::*share) {
    return std::ranges::any_of(picture.devices, [&](const DeviceRow& device) { return device.*share > 0; });
  };
  if (has(&DeviceRow::kernels)) add("device: kernels", {kCellLevels, 0});
  if (has(&DeviceRow::copies)) add("device: copies", {0, kCellLevels});
  return entries;
}

void DrawDevices(const RunPicture& picture, const Box& box, double row_height, SvgCanvas& canvas) {
  std::map<std::int64_t, std::size_t> count, drawn;  // by row
  for (const DeviceRow& device : picture.devices) ++count[device.row];
  for (const DeviceRow& device : picture.devices) {
    const std::size_t all = std::min(count[device.row], kMostDeviceRows), index = drawn[device.row]++;
    if (index >= all) continue;  // of a file that farscale did not write
    const double area = row_height * kDeviceShare[all], height = area / static_cast<double>(all);
    const double top =
        box.top + row_height * static_cast<double>(device.row + 1) - area + height * static_cast<double>(index);
    const double gap = height > 4 ? 1 : 0.5;
    DrawStrip(device, {box.left, top + gap, box.right, top + height}, canvas);
  }
}

}  // namespace farscale
