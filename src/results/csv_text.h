// CSV as text: records and their fields [RFC 4180].
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace farscale {

// The records of a text, one after the other. Empty lines and lines that begin with # are passed over. A quoted field
// may contain line breaks, each of which reads as a blank. Where the first record has neither commas, semicolons nor
// quotes, fields stand between blanks. The apostrophe that CsvField puts before formulas is taken away.
class CsvReader {
 public:
  // `text` must outlive the reader; `file`: its name in errors.
  CsvReader(std::string_view text, const std::string& file);

  // The fields of the next record, without blanks around them; false at the end of the text. Throws an input error
  // when a quoted field does not end.
  bool Next(std::vector<std::string>& fields);

  // Bytes of the text behind the record at hand.
  std::size_t left() const { return rest_.size(); }
  // The line on which the record at hand begins, from 1 on.
  std::size_t line() const { return line_; }
  // "file:line" of the record at hand.
  std::string Where() const { return WhereIs(line_); }
  std::string WhereIs(std::size_t line) const;

 private:
  std::string_view TakeLine();
  void ReadQuoted(std::string_view first_line, std::vector<std::string>& fields);

  std::string_view rest_;
  const std::string file_;
  std::size_t line_ = 0, lines_ = 0;  // where the record at hand begins; handed out
  bool has_begun_ = false;
  bool has_blanks_ = false;  // between fields, in place of commas
};

// A field, quoted where it must be. One that a spreadsheet would take for a formula gets an apostrophe in front, which
// CsvReader takes away; control characters become blanks.
std::string CsvField(const std::string& text);

}  // namespace farscale
