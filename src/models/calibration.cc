#include "models/calibration.h"

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

double Calibration::DriftAt(double scatter) const { return drift * std::pow(scatter / kUsualScatter, drift_power); }

double Calibration::NewLossAt(double scatter) const {
  return new_loss * std::pow(scatter / kUsualScatter, new_loss_power);
}

Calibration ParseCalibration(const std::string& text, const std::string& file) {
  const ConfigTable table = ConfigTable::Parse(text, file);
  const Calibration calibration{NotNegative(table, "drift"), NotNegative(table, "drift_power"),
                                NotNegative(table, "new_loss_share"), NotNegative(table, "new_loss"),
                                NotNegative(table, "new_loss_power")};
  if (calibration.new_loss_share > 1) table.Fail("new_loss_share", "'new_loss_share' must not exceed 1");
  table.RefuseUnknownKeys();
  return calibration;
}

}  // namespace farscale
