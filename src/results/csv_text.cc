#include "results/csv_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostics.h"
#include "base/text.h"

namespace farscale {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Spreadsheets take such fields for formulas and run them, unless an apostrophe stands before. A text that begins so
// itself gets another one.
bool BeginsFormula(std::string_view text) {
  const std::size_t at = text.find_first_not_of('\'');
  return at != text.npos && std::string_view("=+-@").find(text[at]) != std::string_view::npos;
}

}  // namespace

CsvReader::CsvReader(std::string_view text, const std::string& file) : rest_(text), file_(file) {
  if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
}

std::string CsvReader::WhereIs(std::size_t line) const { return fmt::format("{}:{}", file_, line); }

std::string_view CsvReader::TakeLine() {
  const std::size_t end = std::min(rest_.find('\n'), rest_.size());
  const std::string_view line = rest_.substr(0, end);
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  ++lines_;
  return line;
}

bool CsvReader::Next(std::vector<std::string>& fields) {
  std::string_view line;
  do {
    if (rest_.empty()) return false;
    line = Trim(TakeLine());
  } while (line.empty() || line.front() == '#');
  line_ = lines_;
  if (!has_begun_) has_blanks_ = line.find_first_of(",;\"") == std::string_view::npos;
  has_begun_ = true;
  if (has_blanks_) {
    fields.clear();
    while (!line.empty()) {
      const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
      fields.emplace_back(line.substr(0, end));
      line = Trim(line.substr(end));
    }
  } else if (line.find('"') == std::string_view::npos) {
    std::size_t count = 0;
    while (true) {  // reuses the strings of the record before
      const std::size_t end = std::min(line.find(','), line.size());
      if (count == fields.size()) fields.emplace_back();
      fields[count++] = Trim(line.substr(0, end));
      if (end == line.size()) break;
      line.remove_prefix(end + 1);
    }
    fields.resize(count);
  } else {
    ReadQuoted(line, fields);
  }
  for (std::string& field : fields) {
    if (field.starts_with('\'') && BeginsFormula(field)) field.erase(0, 1);
  }
  return true;
}

void CsvReader::ReadQuoted(std::string_view line, std::vector<std::string>& fields) {
  fields.assign(1, "");
  bool quoted = false;
  while (true) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
        fields.back() += '"';
        ++i;
      } else if (c == '"' && (quoted || Trim(fields.back()).empty())) {
        quoted = !quoted;
      } else if (c == ',' && !quoted) {
        fields.emplace_back();
      } else {
        fields.back() += c;
      }
    }
    if (!quoted) break;
    if (rest_.empty()) throw Error(ErrorKind::kInput, Where(), "a quoted field does not end");
    fields.back() += ' ';
    line = Trim(TakeLine());
  }
  for (std::string& field : fields) field = std::string(Trim(field));
}

std::string CsvField(const std::string& text) {
  std::string field = (BeginsFormula(text) ? "'" : "") + text;
  std::ranges::replace_if(
      field, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  if (!field.starts_with('#') && field.find_first_of(",\"") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace farscale
