// Where delay costs arise, worked out by hand.
#include "imbalance/delays/delay_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Two ranks in three iterations: the last iteration of the second rank is the last cell.
TEST(LossRaster, IsFilledRowByRow) {
  LossRaster raster{2, 3, {}};
  EXPECT_THAT(raster.cells, IsEmpty());
  raster.Add(1, 2, 4);
  raster.Add(0, 1, 2);
  raster.Add(1, 2, 1);
  EXPECT_THAT(raster.cells, ElementsAre(0, 2, 0, 0, 0, 5));
}

}  // namespace
}  // namespace farscale
