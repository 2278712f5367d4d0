#include <doctest/doctest.h>

#include <random>
#include <string>

#include "collect.hpp"

using namespace mixstream;

namespace {

using Rows = std::vector<std::vector<double>>;
using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a plain CSV file gives its rows in the order of the chosen columns") {
  const Collected all = collect("a,b,c\n1,2,3\n4.5,-6e1,+7\n", {}, {.numbers = {"c", "a"}});
  CHECK(all.refusal == "");
  CHECK(all.columns == Names{"a", "b", "c"});
  CHECK(all.rows() == Rows{{3, 1}, {7, 4.5}});
  CHECK(all.entries[1].place.row == 2);
  CHECK(all.entries[1].place.line == 3);
  CHECK(all.entries[1].place.offset == 12);
}

TEST_CASE("a last line without newline counts") {
  CHECK(collect("a,b\n1,2\n3,4").rows() == Rows{{1, 2}, {3, 4}});
  CHECK(collect("a,b\n1,2\n3,4\r").rows() == Rows{{1, 2}, {3, 4}});
}

TEST_CASE("carriage returns, a byte order mark, blank lines and comments are no rows") {
  const Collected all = collect(
      "\xEF\xBB\xBF# made today\r\n\r\na,b\r\n1,2\r\n\r\n  \t\r\n# half\r\n3,4\r\n\n", {.comment = '#'});
  CHECK(all.columns == Names{"a", "b"});
  CHECK(all.rows() == Rows{{1, 2}, {3, 4}});
  CHECK(all.faults().empty());
  CHECK(all.entries[1].place.line == 8);
  CHECK(all.entries[1].place.row == 2);
}

TEST_CASE("below the header only the comments that were asked for are passed over, and they are counted") {
  const std::string bytes = "# n,v\nn,v\n#N/A,1\ny,2\n#x,3\n";
  CHECK(collect(bytes, {.comment = '#'}, {.numbers = {"v"}, .text = "n"}).rows() == Rows{{2}});
  CHECK(collect(bytes, {}, {.numbers = {"v"}}).rows() == Rows{{1}, {2}, {3}});
  auto reader = open_input(memory_bytes(bytes), {.comment = '#'}).value().select({.numbers = {"v"}});
  std::uint64_t comments = 0;
  for (bool end = false; !end;) {
    const Batch batch = reader.value()->next().value();
    comments += batch.comments;
    end = batch.end;
  }
  CHECK(comments == 2);
}

TEST_CASE("runs of blanks and tabs are one delimiter") {
  const Collected all = collect("  t   y\n 1  2\n3\t 4 \r\n\n  5 6\n7 8 9\n");
  CHECK(all.columns == Names{"t", "y"});
  CHECK(all.rows() == Rows{{1, 2}, {3, 4}, {5, 6}});
  CHECK(all.faults() == Names{"ragged"});
  CHECK(collect("name  x y\na  1  2\nb 3 4\n", {}, {.numbers = {"y"}}).rows() == Rows{{2}, {4}});
  CHECK(collect("name x y\na  2\nb 3 4\n", {}, {.numbers = {"y"}}).rows() == Rows{{4}});
}

TEST_CASE("a preamble is passed over, with a note; a line that is asked for is taken") {
  const std::string bytes = "Pump log\nStation 7\n\nflow,power\n1,2\n3,4\n";
  const auto input = open_input(memory_bytes(bytes));
  REQUIRE(input);
  CHECK(input.value().columns() == Names{"flow", "power"});
  REQUIRE(input.value().notes().size() == 1);
  CHECK(input.value().notes()[0].starts_with("the header seems to be line 4"));
  CHECK(collect(bytes).rows() == Rows{{1, 2}, {3, 4}});
  CHECK(collect(bytes).entries[0].place.line == 5);
  CHECK(collect("Pump, made by us\nflow,power,x\n1,2,3\n", {.header_line = 2}).rows() == Rows{{1, 2, 3}});
  CHECK(collect("a,b\n1,2\n", {.header_line = 9}).refusal.find("no line 9") != std::string::npos);
}

TEST_CASE("names may stand in the comment above the first row") {
  const Collected all = collect("# made today\n# t y\n1 2\n3 4\n");
  CHECK(all.columns == Names{"t", "y"});
  CHECK(all.rows() == Rows{{1, 2}, {3, 4}});
}

TEST_CASE("a line of units below the header is no row, and is told of") {
  const std::string bytes = "time,flow,power\n,m3/h,kW\n1,2,3\n";
  CHECK(collect(bytes).rows() == Rows{{1, 2, 3}});
  CHECK(collect(bytes).entries[0].place.row == 1);
  CHECK(collect(bytes).entries[0].place.line == 3);
  CHECK(collect("flow,power\nNA,kW\n1,2\n").faults() == Names{"missing_value"});
  CHECK(collect("flow,power\n1,kW\n1,2\n").faults() == Names{"not_a_number"});
  CHECK(collect("flow,power\n1,2\nm3/h,kW\n").faults() == Names{"not_a_number"});
}

TEST_CASE("a delimiter behind the last field changes nothing") {
  CHECK(collect("a,b\n1,2,\n3,4\n").rows() == Rows{{1, 2}, {3, 4}});
  CHECK(collect("a,b,\n1,2,\n3,4\n", {}, {.numbers = {"a", "b"}}).rows() == Rows{{1, 2}, {3, 4}});
  CHECK(collect("a,b\n1,2,5\n").faults() == Names{"ragged"});
}

TEST_CASE("numbers are read as people write them, where it was said how") {
  const InputSettings german{.delimiter = ';', .numbers = {',', '.', {"-"}}};
  CHECK(collect("a;b\n1.234,5;-2\n1234,5;-\n12.34,5;1\n0.5;1\n", german).rows() == Rows{{1234.5, -2}});
  CHECK(collect("a;b\n1.234,5;-2\n1234,5;-\n12.34,5;1\n", german).faults() ==
        Names{"missing_value", "not_a_number"});
  CHECK(collect("a,b\n\"1,234\",45 %\n", {.numbers = {'.', ',', {}}}).rows() == Rows{{1234, 45}});
}

TEST_CASE("without a header the columns are numbered and the first line is a row") {
  const Collected all = collect("1,2\n3,4\n", {.header = false}, {.numbers = {"c2"}});
  CHECK(all.columns == Names{"c1", "c2"});
  CHECK(all.rows() == Rows{{2}, {4}});
}

TEST_CASE("the delimiter is found among the usual ones, or given") {
  for (const char* bytes : {"a,b\n1,2\n", "a;b\n1;2\n", "a\tb\n1\t2\n", "a|b\n1|2\n"}) {
    const Collected all = collect(bytes);
    CHECK(all.columns == Names{"a", "b"});
    CHECK(all.rows() == Rows{{1, 2}});
  }
  CHECK(collect("\"x,y,z\";b\n1;2\n").columns == Names{"x,y,z", "b"});
  CHECK(collect("a b\n1 2\n", {.delimiter = ' '}).rows() == Rows{{1, 2}});
  CHECK(collect("a:b\n1:2\n", {.delimiter = ':'}).rows() == Rows{{1, 2}});
  CHECK(collect("a\n1\n2\n").rows() == Rows{{1}, {2}});
}

TEST_CASE("quoted fields may hold delimiters, newlines and doubled quotes") {
  const Collected all =
      collect("\"na\"\"me\",\"v,1\",\"w\n2\"\n\"1\",2,\"3\"\n\"say \"\"hi\"\", \nfriend\",5,6\n\"\",8,9\n",
              {}, {.numbers = {"v,1", "w\n2"}, .text = "na\"me", .keep_lines = true});
  CHECK(all.refusal == "");
  CHECK(all.rows() == Rows{{2, 3}, {5, 6}, {8, 9}});
  CHECK(all.entries[0].text == "1");
  CHECK(all.entries[1].text == "say \"hi\", \nfriend");
  CHECK(all.entries[1].line == "\"say \"\"hi\"\", \nfriend\",5,6");
  CHECK(all.entries[1].place.line == 4);
  CHECK(all.entries[2].place.line == 6);
}

TEST_CASE("a quote inside a field that is not quoted is a plain byte") {
  const Collected all = collect("n,v\n5\" pipe,1\n a \"b\" ,2\n", {}, {.numbers = {"v"}, .text = "n"});
  CHECK(all.rows() == Rows{{1}, {2}});
  CHECK(all.entries[0].text == "5\" pipe");
  CHECK(all.entries[1].text == "a \"b\"");
}

TEST_CASE("blanks around numbers are ignored") {
  CHECK(collect("a,b\n 1 ,\t2\n").rows() == Rows{{1, 2}});
  CHECK(collect("a\tb\n 1 \t 2 \n").rows() == Rows{{1, 2}});
}

TEST_CASE("each fault is named with its line and column, and reading goes on") {
  const std::string bytes = std::string("a,b\n1\n1,2,3\n1,x\n1,\n1,NA\n1,inf\n1,1e999\n1,2\n") + '\0' +
                            "1,2\n\"1,2\n\"1\"2,3\n5,6\n";
  const Collected all = collect(bytes);
  CHECK(all.rows() == Rows{{1, 2}, {5, 6}});
  CHECK(all.faults() == Names{"ragged", "ragged", "not_a_number", "missing_value", "missing_value",
                              "infinite", "infinite", "binary", "open_quote", "open_quote"});
  CHECK(all.entries[0].words == "line 2: 1 field instead of 2");
  CHECK(all.entries[1].words == "line 3: 3 fields instead of 2");
  CHECK(all.entries[2].words == "line 4: column \"b\": \"x\" is not a number");
  CHECK(all.entries[3].words == "line 5: column \"b\": missing value");
  CHECK(all.entries[8].place.row == 9);
  CHECK(all.entries.back().place.line == 13);
}

TEST_CASE("faults of columns that were not chosen do not matter, but a NUL and the number of fields do") {
  const std::string bytes =
      std::string("a,b\nx,1\n,2\nNA,3\n") + std::string("q\0q,4\n", 6) + "5\n7,6,7\n8,8\n";
  const Collected all = collect(bytes, {}, {.numbers = {"b"}});
  CHECK(all.rows() == Rows{{1}, {2}, {3}, {8}});
  CHECK(all.faults() == Names{"binary", "ragged", "ragged"});
}

TEST_CASE("a comma is never a decimal point, whatever the locale says") {
  CHECK(collect("a;b\n1,5;2\n").faults() == Names{"not_a_number"});
}

TEST_CASE("a line beyond the limit is refused without being kept, also as the last one") {
  InputSettings settings;
  settings.max_line = 20;
  const std::string longer(300, '7');
  const Collected all = collect("a,b\n1,2\n" + longer + ",5\n3,4\n" + longer, settings);
  CHECK(all.rows() == Rows{{1, 2}, {3, 4}});
  CHECK(all.faults() == Names{"line_too_long", "line_too_long"});
  CHECK(all.entries[2].place.line == 4);
  CHECK(
      collect("a,b\n123456789,123456789\n1,234567890123456789\n1,2345678901234567890\n", settings).faults() ==
      Names{"line_too_long"});
}

TEST_CASE("a quote that never closes costs its own line only") {
  InputSettings settings;
  settings.max_line = 30;
  std::string bytes = "n,v\n\"open,1\n";
  for (int i = 0; i < 50; ++i) bytes += "x,2\n";
  const Collected all = collect(bytes, settings, {.numbers = {"v"}});
  CHECK(all.rows().size() == 50);
  CHECK(all.faults() == Names{"open_quote"});
  CHECK(collect("n,v\n\"open,1\nx,2\n", {}, {.numbers = {"v"}}).rows() == Rows{{2}});
}

TEST_CASE("an unknown column is refused with the nearest name and the list") {
  const Collected all = collect("temperature,pressure\n1,2\n", {}, {.numbers = {"temperatur"}});
  CHECK(all.refusal ==
        "there is no column \"temperatur\"; did you mean \"temperature\"? The columns are: temperature, "
        "pressure.");
  CHECK(collect("1,2\n3,4\n", {}, {.numbers = {"y"}}).refusal.find("--no-header") != std::string::npos);
}

TEST_CASE("a column name that stands twice is refused only when asked for") {
  CHECK(collect("a,a,b\n1,2,3\n", {}, {.numbers = {"b"}}).rows() == Rows{{3}});
  CHECK(collect("a,a,b\n1,2,3\n", {}, {.numbers = {"a"}}).refusal.find("write a.1 for the first, a.2 for") !=
        std::string::npos);
  CHECK(collect("a,b\n1,2\n", {}, {.numbers = {"a", "a"}}).refusal.find("twice") != std::string::npos);
}

TEST_CASE("an unnamed header field gets the number of its column") {
  CHECK(collect(",x,\n1,2,3\n").columns == Names{"c1", "x", "c3"});
}

TEST_CASE("an input without a header or a row is refused") {
  for (const char* bytes : {"", "\n", "# only\n", "  \n\n", "\xEF\xBB\xBF"}) {
    CHECK(collect(bytes).refusal.find("empty") != std::string::npos);
  }
  const Collected header_only = collect("a,b\n");
  CHECK(header_only.refusal == "");
  CHECK(header_only.entries.empty());
}

TEST_CASE("a column can be wanted as number and as text at once") {
  const Collected all = collect("s,v\n17,1\n018,2\r\n", {}, {.numbers = {"v", "s"}, .text = "s"});
  CHECK(all.rows() == Rows{{1, 17}, {2, 18}});
  CHECK(all.entries[0].text == "17");
  CHECK(all.entries[1].text == "018");
}

TEST_CASE("the text column may be the last one of a line with carriage return") {
  const Collected all =
      collect("v,s\r\n1, left \r\n2,\r\n", {}, {.numbers = {"v"}, .text = "s", .keep_lines = true});
  CHECK(all.rows() == Rows{{1}, {2}});
  CHECK(all.entries[0].text == "left");
  CHECK(all.entries[0].line == "1, left ");
  CHECK(all.entries[1].text == "");
}

TEST_CASE("small batches hand out the same rows as large ones") {
  std::string bytes = "a,b\n";
  for (int i = 0; i < 100; ++i) bytes += i % 7 == 0 ? "x,1\n" : std::to_string(i).append(",2\n");
  const Collected whole = collect(bytes);
  CHECK(whole.rows().size() == 85);
  for (const std::size_t rows : {1, 2, 3, 50}) {
    InputSettings settings;
    settings.batch_rows = rows;
    CHECK(collect(bytes, settings) == whole);
  }
}

TEST_CASE("settings that contradict are refused") {
  CHECK(collect("a\n1\n", {.delimiter = '"'}).refusal != "");
  CHECK(collect("a\n1\n", {.delimiter = '#'}).refusal != "");
  CHECK(collect("a\n1\n", {.delimiter = '5'}).refusal != "");
  CHECK(collect("", {.format = Format::f64}).refusal.find("width") != std::string::npos);
}
