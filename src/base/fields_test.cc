#include "base/fields.h"

#include <gmock/gmock.h>

#include "base/diagnostics.h"

namespace farscale {
namespace {

using testing::HasSubstr;

enum class Shade { kDark, kLight };

struct Spot {
  double x = 0;
  std::optional<double> y;
  Shade shade = Shade::kDark;

  friend bool operator==(const Spot&, const Spot&) = default;
};

struct Frame {
  std::string title;
  std::vector<Spot> spots;
  std::int64_t copies = 1;
  Dictionary<double> weights;
  std::vector<bool> flags;

  friend bool operator==(const Frame&, const Frame&) = default;
};

struct Outer {
  Frame frame;
  Spot spot;
  bool has_note = false;
  std::string note;

  friend bool operator==(const Outer&, const Outer&) = default;
};

}  // namespace

std::vector<std::pair<Shade, std::string>> NamesOf(Described<Shade>) {
  return {{Shade::kDark, "dark"}, {Shade::kLight, "light"}};
}

Fields<Spot> FieldsOf(Described<Spot>) {
  return {"frame/spot",
          "A spot",
          {Property<&Spot::x>("Where").Above(0), Property<&Spot::y>(), Field("shade", &Spot::shade).UnlessDefault()}};
}

Fields<Frame> FieldsOf(Described<Frame>) {
  using T = Frame;
  return Fields<T>{"frame",
                   "",
                   {
                       Field("title", &T::title).OrMissing(),
                       Field("spots", &T::spots).LeastItems(1),
                       Field("copies", &T::copies).AtLeast(1).AtMost(9).UnlessDefault(),
                       Field("weights", &T::weights, Keyed<double>({"left", "right"})).Later(),
                       Field("flags", &T::flags).UnlessDefault(),
                       Computed<T>("count", [](const T& frame) { return frame.spots.size(); }),
                   }}
      .File("farscale-frame", 1, 2, "frame")
      .Obsolete({"border"})
      .After([](T& frame, int version, const JsonPlace& at) {
        if (version == 1) frame.title += " (old)";
        if (frame.spots.size() > 3) at.Fail("has too many spots");
      });
}

Fields<Outer> FieldsOf(Described<Outer>) {
  using T = Outer;
  return {"",
          "",
          {
              Field("frame", &T::frame),
              Embed(&T::spot),
              Property<&T::has_note>(),
              Field("note", &T::note).RequiredWhen([](const T& outer) { return outer.has_note; }),
          }};
}

namespace {

Frame FrameFromText(const std::string& text, const std::string& file) {
  return FromJson<Frame>(fields_internal::ParseJson(text, file), file);
}

std::string ErrorOf(const std::string& text) {
  try {
    FrameFromText(text, "f.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "read";
}

std::string FrameWith(const std::string& fields) {
  return R"({"format": "farscale-frame", "version": 2, )" + fields + "}";
}

TEST(Fields, WriteInOrderAndReadBack) {
  const Frame frame{"t", {{1, 2.5, Shade::kLight}, {3, {}, Shade::kDark}}, 1, {{"left", 0.5}}, {true, false}};
  const OrderedJson json = JsonOf(frame);
  OrderedJson expected = OrderedJson::parse(
      R"({"format": "farscale-frame", "version": 2, "generator": "", "title": "t",
          "spots": [{"x": 1.0, "y": 2.5, "shade": "light"}, {"x": 3.0}], "weights": {"left": 0.5},
          "flags": [true, false], "count": 2})");
  expected["generator"] = json["generator"];
  EXPECT_EQ(json.dump(), expected.dump());
  EXPECT_EQ(FromJson<Frame>(json, "f"), frame);
}

TEST(Fields, EmbedAndRequireByCondition) {
  Outer outer;
  outer.frame.spots = {{1, {}, Shade::kDark}};
  outer.spot = {4, {}, Shade::kLight};
  OrderedJson json = JsonOf(outer);
  EXPECT_EQ(json["x"], 4);
  EXPECT_FALSE(json.contains("note"));
  EXPECT_EQ(FromJson<Outer>(json, "f"), outer);
  json["hasNote"] = true;
  EXPECT_THROW(FromJson<Outer>(json, "f"), Error);
  json["note"] = "n";
  EXPECT_EQ(FromJson<Outer>(json, "f").note, "n");
}

TEST(Fields, ReadEarlierVersions) {
  const auto frame =
      FrameFromText(R"({"format": "farscale-frame", "version": 1, "border": 3, "spots": [{"x": 1, "y": null}]})", "f");
  EXPECT_EQ(frame.title, " (old)");
  EXPECT_FALSE(frame.spots[0].y);
}

// What is wrong with a file, and what the error says.
TEST(Fields, ErrorsNameThePath) {
  const std::pair<const char*, const char*> faults[] = {
      {R"("spots": [{"x": 1}, {}])", "f.json: spots[1].x is missing"},
      {R"("spots": [{"x": 0}])", "spots[0].x is 0, but must be more than 0"},
      {R"("spots": [{"x": "1"}])", "spots[0].x is not a number"},
      {R"("spots": [{"x": 1, "shade": "drak"}])", "spots[0].shade is 'drak', but must be one of dark, light; did you"},
      {R"("spots": [{"x": 1, "shad": 1}])", "spots[0] has the unknown key 'shad'; did you mean 'shade'?"},
      {R"("spots": [])", "spots is empty"},
      {R"("spots": {})", "spots is not a list"},
      {R"("spots": [{"x": 1}], "copies": 1.5)", "copies is 1.5, which is not a whole number"},
      {R"("spots": [{"x": 1}], "copies": 1e30)", "copies is 1e+30, which is out of range"},
      {R"("spots": [{"x": 1}], "copies": 10)", "copies is 10, but must be at most 9"},
      {R"("spots": [{"x": 1}], "title": 1)", "title is not a text"},
      {R"("spots": [{"x": 1}], "weights": {"lef": 1})", "weights has the unknown key 'lef'; did you mean 'left'?"},
      {R"("spots": [{"x": 1}], "flags": [1])", "flags[0] is neither true nor false"},
      {R"("spots": [{"x": 1}], "count": "1")", "count is not a whole number"},
      {R"("spots": [{"x": 1}, {"x": 1}, {"x": 1}, {"x": 1}])", "f.json: has too many spots"},
  };
  for (const auto& [fields, words] : faults) EXPECT_THAT(ErrorOf(FrameWith(fields)), HasSubstr(words));
  EXPECT_THAT(ErrorOf("{"), HasSubstr("f.json: is not valid JSON"));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("is not a frame"));
  EXPECT_THAT(ErrorOf(R"({"format": "farscale-frame"})"), HasSubstr("version is missing"));
  EXPECT_THAT(ErrorOf(R"({"format": "farscale-frame", "version": 3})"), HasSubstr("has version 3 of the frame, this"));
}

TEST(Fields, MakeSchemas) {
  const OrderedJson schema = SchemaOf<Frame>("Frames");
  EXPECT_EQ(schema["$id"], "frame.schema.json");
  EXPECT_EQ(schema["required"].dump(), R"(["format","version","spots","weights","count"])");
  EXPECT_EQ(schema["properties"]["version"].dump(), R"({"enum":[1,2]})");
  EXPECT_EQ(schema["properties"]["spots"].dump(),
            R"({"type":"array","items":{"$ref":"frame.schema.json#/$defs/spot"},"minItems":1})");
  EXPECT_EQ(schema["properties"]["copies"].dump(), R"({"type":"integer","minimum":1,"maximum":9})");
  EXPECT_EQ(schema["properties"]["weights"]["propertyNames"].dump(), R"({"enum":["left","right"]})");
  const OrderedJson& spot = schema["$defs"]["spot"];
  EXPECT_EQ(spot["required"].dump(), R"(["x"])");
  EXPECT_EQ(spot["properties"]["x"].dump(), R"({"type":"number","exclusiveMinimum":0,"description":"Where"})");
  EXPECT_EQ(spot["properties"]["shade"].dump(), R"({"enum":["dark","light"]})");
  EXPECT_EQ(spot["additionalProperties"], false);
}

}  // namespace
}  // namespace farscale
