#include "base/text.h"

#include <gtest/gtest.h>

namespace farscale {
namespace {

TEST(Format, Factors) {
  EXPECT_EQ(FormatFactor(0.87349), "0.873");
  EXPECT_EQ(FormatFactor(1), "1.000");
  EXPECT_EQ(FormatFactor(0), "0.000");
  EXPECT_EQ(FormatFactor(0.00123), "0.0012");
  EXPECT_EQ(FormatFactor(0.00001), "<0.0001");
  EXPECT_EQ(FormatFactor(12345.6), "12,300");  // a bound of what may exceed 1
  EXPECT_EQ(FormatPercent(0.8734), "87.3 %");
}

TEST(Format, SpeedupsHaveThreeDigits) {
  EXPECT_EQ(FormatSpeedup(0.00123), "0.0012");
  EXPECT_EQ(FormatSpeedup(2.345), "2.35");
  EXPECT_EQ(FormatSpeedup(47.91), "47.9");
  EXPECT_EQ(FormatSpeedup(999.6), "1000");
  EXPECT_EQ(FormatSpeedup(3296.5), "3,300");
  EXPECT_EQ(FormatSpeedup(111694.2), "112,000");
}

TEST(Format, SecondsChooseTheirUnit) {
  EXPECT_EQ(FormatSeconds(0), "0 s");
  EXPECT_EQ(FormatSeconds(1.5e-9), "1.50 ns");
  EXPECT_EQ(FormatSeconds(2.5e-5), "25.0 µs");
  EXPECT_EQ(FormatSeconds(0.0312), "31.2 ms");
  EXPECT_EQ(FormatSeconds(12.345), "12.3 s");
  EXPECT_EQ(FormatSeconds(1234.5), "1234 s");
}

TEST(Format, BytesAndCounts) {
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes(3600721), "3.4 MiB");
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1048576), "1,048,576");
  EXPECT_EQ(FormatCores(1000000), "1,000,000");
  EXPECT_EQ(FormatCores(12.5), "12.5");
  EXPECT_EQ(FormatCores(1e20), "1.00e+20");
  EXPECT_EQ(FormatCoreCount(1), "1 core");
  EXPECT_EQ(FormatCoreCount(1024), "1,024 cores");
}

TEST(Format, SignificantDigits) {
  EXPECT_EQ(FormatSignificant(0.00123456, 3), "0.00123");
  EXPECT_EQ(FormatSignificant(123.456, 2), "123");
  EXPECT_EQ(FormatSignificant(0, 3), "0");
  EXPECT_EQ(FormatSignificant(1.5e9, 3), "1.50e+09");
  EXPECT_EQ(FormatRatio(8.192), "8.2×");
  EXPECT_EQ(FormatRatio(131.07), "131×");
  EXPECT_EQ(FormatRatio(31250), "31,250×");
}

TEST(Format, RangesHaveOneUnit) {
  EXPECT_EQ(FormatRange("20.4 %", "59.4 %"), "20.4–59.4 %");
  EXPECT_EQ(FormatRange("900 ms", "1.20 s", " – "), "900 ms – 1.20 s");
  EXPECT_EQ(FormatRange("3", "3"), "3");
}

TEST(Format, ExactReadsBackAsTheSameNumber) {
  for (const double value : {0.1, 1.0 / 3, 1e-300, 123456789.123456789}) {
    EXPECT_EQ(std::stod(FormatExact(value)), value);
  }
}

}  // namespace
}  // namespace farscale
