// A rank's share and how it is read, without MPI.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "checkpoint.hpp"
#include "part.hpp"

using namespace mixstream;

namespace {

struct Folder {
  Folder() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
  ~Folder() {
    for (const char* name : {"/a.csv", "/checkpoint.mix"}) std::remove((path + name).c_str());
    ::rmdir(path.c_str());
  }
  std::string path = std::filesystem::temp_directory_path() / "mixstream-parts-XXXXXX";
};

/// t,y rows; every 100th is refused.
std::string csv(int rows) {
  std::string text = "t,y\n";
  for (int i = 0; i < rows; ++i) {
    const double t = (i * 37 % 101) / 50.0 - 1.0;
    text +=
        i % 100 == 99 ? "x,1\n" : std::to_string(t) + "," + std::to_string(i % 2 == 0 ? t : 1.0 - t) + "\n";
  }
  return text;
}

Estimator leader() {
  EstimatorSettings settings;
  settings.state.layout = {2, 0};
  settings.state.feature_map = "1,t";
  settings.state.response = "y";
  settings.solve.polish = PolishKind::off;
  Estimator estimator = Estimator::create(settings).value();
  for (int i = 0; i < 300; ++i) {
    const double t = (i % 17) / 8.0 - 1.0;
    const double x[] = {1.0, t};
    estimator.absorb({x, t + i % 3});
  }
  return estimator;
}

Work work_of(const std::string& path, std::uint64_t size, Share share) {
  for (Segment& segment : share)
    segment.position = segment.position == Segment::unknown ? 0 : segment.position;
  return {{{path, false, size}}, {std::move(share)}, 0};
}

Part part_with(const Work& work, const Bytes& branch, std::size_t batch_rows = 1024) {
  PartSettings settings{{}, {}, "", "", "", 1ULL << 30};
  settings.input.batch_rows = batch_rows;
  Part part(settings);
  part.take_work(work, 0, 77);
  REQUIRE(part.begin_branch(branch));
  return part;
}

void check_whole(const std::vector<Share>& shares, const Share& all) {
  Share joined;
  for (const Share& share : shares) {
    for (const Segment& segment : share) {
      const bool goes_on = !joined.empty() && joined.back().file == segment.file &&
                           joined.back().range.end == segment.range.begin;
      if (goes_on)
        joined.back().range.end = segment.range.end;
      else
        joined.push_back(segment);
    }
  }
  CHECK(joined == all);
}

}  // namespace

TEST_CASE("shares together are all there is, in order, and about equal") {
  const std::vector<WorkFile> files{{"a", false, 1000}, {"b", true, 100}, {"c", false, 1}, {"d", false, 599}};
  const Share all{{0, {400, ByteRange{}.end}}, {1, {}}, {2, {}}, {3, {}}};
  for (std::size_t ranks = 1; ranks < 50; ++ranks) {
    const std::vector<Share> shares = share_out(files, all, ranks);
    CAPTURE(ranks);
    CHECK(shares.size() == ranks);
    check_whole(shares, all);
  }
  const auto four = share_out(files, all, 4);
  CHECK(four[0] == Share{{0, {400, 800}}});
  CHECK(four[2] == Share{{1, {}}, {2, {}}, {3, {0, 199}}});
  check_whole(share_out(files, {}, 3), {});
}

TEST_CASE("work comes back from its bytes, and cut short does not") {
  const Work work = work_of("a.csv", 55, {{0, {4, 9}}, {0, {12, ByteRange{}.end}}});
  ByteWriter out;
  put(out, work);
  ByteReader in(out.written());
  const Work back = take_work(in);
  CHECK(in.ok());
  CHECK(in.at_end());
  CHECK(back.shares == work.shares);
  CHECK(back.files[0].path == "a.csv");
  CHECK(back.files[0].size == 55);
  CHECK(back.end == work.end);
  for (std::size_t size = 0; size < out.size(); ++size) {
    ByteReader less(out.written().first(size));
    take_work(less);
    CHECK(!less.ok());
  }
}

TEST_CASE("where a round ends depends on the rows alone, and what is left goes on there") {
  const Folder folder;
  const std::string path = folder.path + "/a.csv";
  const std::string text = csv(2000);
  std::ofstream(path) << text;
  const Bytes branch = leader().branch().value().encode();
  const Work work = work_of(path, text.size(), {{0, {4, ByteRange{}.end}}});
  Part whole = part_with(work, branch);
  const PartReport all = whole.read({});
  CHECK(all.done);
  CHECK(all.rows == 1980);
  CHECK(whole.left().empty());
  for (const RoundLimits& limits :
       {RoundLimits{77}, RoundLimits{~std::uint64_t{0}, 1001}, RoundLimits{64, 500}}) {
    Part large = part_with(work, branch, 1024);
    Part small = part_with(work, branch, 7);
    Work left = work;
    std::uint64_t rows = 0;
    std::uint64_t refused = 0;
    for (;;) {
      const PartReport one = large.read(limits);
      const PartReport other = small.read(limits);
      REQUIRE(one.rows == other.rows);
      REQUIRE(one.bytes == other.bytes);
      REQUIRE(large.branch().state() == small.branch().state());
      Part fresh = part_with(left, branch, 100);  // as after a kill
      const PartReport again = fresh.read(limits);
      rows += again.rows;
      refused += fresh.branch().refused().empty() ? 0 : fresh.branch().refused()[0].second;
      REQUIRE(rows == one.rows);
      left.shares[0] = fresh.left();
      if (one.done) break;
      if (limits.rows != ~std::uint64_t{0}) REQUIRE(again.rows <= limits.rows);
    }
    CHECK(rows == 1980);
    CHECK(refused == 20);
    CHECK(large.branch().state() == whole.branch().state());
  }
}

TEST_CASE("a report comes back from its bytes") {
  PartReport report;
  report.rows = 5;
  report.done = true;
  report.refused.push_back({3, {{1, 2, 3}, "words", true, false}});
  report.failure = "why";
  const PartReport back = PartReport::decode(report.encode());
  CHECK(back.rows == 5);
  CHECK(back.done);
  CHECK(back.failure == "why");
  REQUIRE(back.refused.size() == 1);
  CHECK(back.refused[0].file == 3);
  CHECK(back.refused[0].refused.place.offset == 3);
  CHECK(back.refused[0].refused.words == "words");
  CHECK(back.refused[0].refused.fatal);
}

TEST_CASE("a checkpoint holds state and work, belongs to one job, and is refused when damaged") {
  const Folder folder;
  const std::string path = checkpoint_path(folder.path).value();
  CHECK(!read_checkpoint(path, "job").value().has_value());
  const Estimator estimator = leader();
  const Work work = work_of("a.csv", 55, {{0, {4, 9}}});
  REQUIRE(write_checkpoint(path, estimator.encode(), work, "job"));
  const auto found = read_checkpoint(path, "job");
  REQUIRE(found);
  REQUIRE(found.value().has_value());
  CHECK(found.value()->work.shares == work.shares);
  const auto decoded = Estimator::decode(found.value()->state, estimator.settings());
  REQUIRE(decoded);
  CHECK(decoded.value().state() == estimator.state());
  CHECK(read_checkpoint(path, "another").refusal().text.find("another job") != std::string::npos);
  Bytes bytes = read_file(path).value();
  bytes[bytes.size() / 2] ^= std::byte{1};
  REQUIRE(write_file(path, bytes));
  CHECK(!read_checkpoint(path, "job"));
  REQUIRE(write_file(path, estimator.encode()));
  CHECK(read_checkpoint(path, "job").refusal().text.find("no checkpoint") != std::string::npos);
}
