#include <doctest/doctest.h>
#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>

#include "group_file.hpp"
#include "make_in_turn.hpp"
#include "mixstream/moments/state.hpp"

using namespace mixstream;

namespace {

EstimatorSettings settings() {
  EstimatorSettings settings;
  settings.state.layout = {2, 0};
  settings.state.feature_map = "1,t";
  settings.solve.feature_names = {"1", "t"};
  return settings;
}

/// Rows of the group, positions from the given one.
FewRows group_of(std::uint64_t source, std::size_t rows, std::uint64_t position) {
  std::mt19937_64 random(source);
  std::normal_distribution<double> normal;
  FewRows group(2, 0, source);
  for (std::size_t i = 0; i < rows; ++i) {
    const double x[] = {1.0, normal(random)};
    group.add({x, 2.0 - x[1] + normal(random), 1.0 + static_cast<double>(i % 3)}, position + i);
  }
  return group;
}

Estimator poured(const FewRows& group) {
  Estimator estimator = Estimator::create(settings()).value();
  group.pour_into(estimator);
  return estimator;
}

Bytes written(const FewRows& group) {
  ByteWriter out;
  group.encode(out);
  return std::move(out).take();
}

std::optional<FewRows> read(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  return FewRows::decode(in);
}

/// A path of this process's own, gone at the end.
struct Path {
  std::string text =
      (std::filesystem::temp_directory_path() / ("groups-" + std::to_string(::getpid()))).string();
  ~Path() { std::filesystem::remove(text); }
};

void write(const std::string& path) {
  GroupWriter writer = GroupWriter::create(path, "pump", Estimator::create(settings()).value()).value();
  FewRows refusing = group_of(3, 40, 0);
  refusing.count_refused("not_a_number");
  REQUIRE(writer.add("a", refusing));
  REQUIRE(writer.add("b", poured(group_of(4, 1000, 0))));
  REQUIRE(writer.finish());
}

}  // namespace

TEST_CASE("rows of a group that were written and read back make the same state") {
  const FewRows group = group_of(7, 300, 20);
  const Bytes bytes = written(group);
  const FewRows again = *read(bytes);
  CHECK(poured(group).encode() == poured(again).encode());
  CHECK(bytes == written(again));
  CHECK(again.has_features_of({2, 0}));
  CHECK_FALSE(again.has_features_of({3, 0}));
  for (std::size_t size = 0; size < bytes.size(); size += 97) CHECK_FALSE(read(std::span(bytes).first(size)));
}

TEST_CASE("appended rows of another stream keep their places, and rows that follow those of the first") {
  FewRows both = group_of(7, 300, 0);
  const FewRows other = group_of(8, 200, 0);
  REQUIRE(both.append(other));
  const double x[] = {1.0, 0.5};
  both.add({x, 1.5}, 300);
  Estimator one_by_one = poured(group_of(7, 300, 0));
  other.pour_into(one_by_one);
  REQUIRE(one_by_one.absorb({x, 1.5}, {300, 7}) == RowFault::none);
  CHECK(poured(both).state().sample().rows.size() == 501);
  CHECK(poured(both).state().moments().effective_rows == one_by_one.state().moments().effective_rows);
  const auto responses = [](const Estimator& estimator) { return estimator.state().sample().rows.responses; };
  CHECK(responses(poured(both)) == responses(one_by_one));
}

TEST_CASE("as many rows as a small group holds are not exceeded") {
  FewRows group = group_of(7, 600, 0);
  CHECK_FALSE(group.append(group_of(8, 500, 0)));
  CHECK(group.rows() == 600);
  CHECK(group.append(group_of(8, 400, 0)));
  CHECK(group.full());
}

TEST_CASE("ten thousand groups of fewer than a thousand rows of four features stay within a GiB") {
  constexpr std::size_t groups = 100;
  constexpr std::size_t rows = 999;
  constexpr std::size_t budget = (std::size_t{1} << 30) / 10'000;  // of a group
  const double x[] = {1.0, 0.5, -0.25, 2.0};
  const std::size_t before = ::mallinfo2().uordblks;
  std::vector<FewRows> held;
  for (std::size_t g = 0; g < groups; ++g) {
    FewRows& group = held.emplace_back(4, 0, g + 1);
    for (std::size_t i = 0; i < rows; ++i) group.add({x, static_cast<double>(i)}, i * groups + g);
  }
  const std::size_t taken = ::mallinfo2().uordblks - before;
  for (const FewRows& group : held) {
    CHECK(group.rows() == rows);
    CHECK(group.bytes() >= rows * 4 * sizeof(double));  // three features, the constant apart, and y
    CHECK(group.bytes() < budget / 2);
  }
  if (taken > 0) CHECK(taken / groups < budget / 2);  // an allocator that a sanitizer replaced says nothing
}

TEST_CASE("a file of groups gives back each model, and says what it holds without reading it") {
  const Path path;
  write(path.text);
  REQUIRE(holds_groups(path.text));
  GroupReader reader = GroupReader::open(path.text).value();
  CHECK(reader.column() == "pump");
  REQUIRE(reader.entries().size() == 2);
  CHECK(reader.entries()[0].group == "a");
  CHECK(reader.entries()[0].rows == 40);
  CHECK(reader.entries()[1].rows == 1000);
  const GroupModel rows = reader.read(reader.entries()[0], settings()).value();
  CHECK(std::get<FewRows>(rows).refused().at("not_a_number") == 1);
  const GroupModel state = reader.read(reader.entries()[1], settings()).value();
  CHECK(std::get<Estimator>(state).encode() == poured(group_of(4, 1000, 0)).encode());
}

TEST_CASE("a damaged or cut file of groups is refused") {
  const Path path;
  write(path.text);
  const Bytes whole = read_file(path.text).value();
  const auto try_with = [&](const Bytes& bytes) {
    REQUIRE(write_file(path.text, bytes));
    Outcome<GroupReader> reader = GroupReader::open(path.text);
    if (!reader) return false;
    for (const GroupEntry& entry : reader.value().entries()) {
      if (!reader.value().read(entry, settings())) return false;
    }
    return true;
  };
  CHECK(try_with(whole));
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{8}, std::size_t{30}, whole.size() / 2, whole.size() - 1}) {
    CAPTURE(size);
    CHECK_FALSE(try_with(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))));
  }
  REQUIRE(write_file(path.text, whole));
  const std::size_t first_model = GroupReader::open(path.text).value().entries()[0].begin;
  for (const std::size_t place : {first_model, first_model + 500, whole.size() - 20, whole.size() - 3}) {
    Bytes bent = whole;
    bent[place] ^= std::byte{4};
    CAPTURE(place);
    CHECK_FALSE(try_with(bent));
  }
}

TEST_CASE("results made by several threads are taken in their order, few ahead, and no more once enough") {
  for (const std::size_t threads : {1, 2, 5}) {
    std::atomic<std::size_t> made = 0;
    std::size_t taken = 0;
    std::size_t furthest = 0;
    make_in_turn(
        threads, 200,
        [&](std::size_t i) {
          if (i % 7 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          ++made;
          return i;
        },
        [&](std::size_t i) {
          CHECK(i == taken);
          ++taken;
          furthest = std::max(furthest, made - taken);
          return taken < 150;
        });
    CHECK(taken == 150);
    CHECK(furthest <= 3 * threads);
    CHECK(made <= 150 + 3 * threads);
  }
}
