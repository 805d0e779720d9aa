// Devices in the picture of a run: strips at the bottom of the rows of the ranks that use them.
#pragma once

#include <string>
#include <vector>

#include "factors/run_picture.h"
#include "plot/canvas.h"
#include "plot/legend.h"
#include "plot/svg.h"

namespace farscale {

// Every two columns as one.
void HalveColumnsOf(DeviceRow& device);

// What is to be seen, in a sentence, with a blank before it. There are devices.
std::string DescribeDevices(const RunPicture& picture);

// Nothing without devices.
std::vector<LegendEntry> LegendOfDevices(const RunPicture& picture);

// Over the cells of ranks in `box`, whose rows are so high.
void DrawDevices(const RunPicture& picture, const Box& box, double row_height, SvgCanvas& canvas);

}  // namespace farscale
