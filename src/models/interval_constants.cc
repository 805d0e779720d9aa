#include "models/interval_constants.h"

#include <cmath>

#include "base/config.h"
#include "models/weights.h"

namespace farscale {
namespace {

double NotNegative(const ConfigTable& table, const std::string& key) {
  const double value = table.RequiredNumber(key);
  if (!(value >= 0)) table.Fail(key, "'" + key + "' must not be negative");
  return value;
}

}  // namespace

double IntervalConstants::DriftAt(double scatter) const {
  return drift * std::pow(scatter / kUsualScatter, drift_power);
}

double IntervalConstants::NewLossAt(double scatter) const {
  return new_loss * std::pow(scatter / kUsualScatter, new_loss_power);
}

IntervalConstants ParseIntervalConstants(const std::string& text, const std::string& file) {
  const ConfigTable table = ConfigTable::Parse(text, file);
  const IntervalConstants constants{NotNegative(table, "drift"), NotNegative(table, "drift_power"),
                                    NotNegative(table, "new_loss_share"), NotNegative(table, "new_loss"),
                                    NotNegative(table, "new_loss_power")};
  if (constants.new_loss_share > 1) table.Fail("new_loss_share", "'new_loss_share' must not exceed 1");
  table.RefuseUnknownKeys();
  return constants;
}

}  // namespace farscale
