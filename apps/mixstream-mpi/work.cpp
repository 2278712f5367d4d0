#include "work.hpp"

#include <algorithm>

namespace mixstream {
namespace {

constexpr std::uint64_t compressed_weight = 4;  // work behind a compressed byte, in plain bytes

struct WeighedSegment {
  Segment segment;
  std::uint64_t weight = 0;
};

WeighedSegment weighed(const Segment& segment, const std::vector<WorkFile>& files) {
  const WorkFile& file = files[segment.file];
  if (file.compressed) return {segment, std::max<std::uint64_t>(1, compressed_weight * file.size)};
  const std::uint64_t end = std::min(segment.range.end, file.size);
  return {segment, end - std::min(segment.range.begin, end)};
}

}  // namespace

std::vector<Share> share_out(const std::vector<WorkFile>& files, const Share& all, std::size_t ranks) {
  std::vector<WeighedSegment> segments;
  std::uint64_t total = 0;
  for (const Segment& segment : all) {
    segments.push_back(weighed(segment, files));
    total += segments.back().weight;
  }
  std::vector<Share> shares(ranks);
  const std::uint64_t each = std::max<std::uint64_t>(1, (total + ranks - 1) / ranks);
  const auto rank_at = [&](std::uint64_t place) { return std::min<std::uint64_t>(place / each, ranks - 1); };
  std::uint64_t place = 0;  // in the sum of weights
  for (const auto& [segment, weight] : segments) {
    const std::uint64_t end = place + weight;
    if (files[segment.file].compressed) {
      shares[rank_at(place + weight / 2)].push_back(segment);
      place = end;
      continue;
    }
    for (Segment rest = segment; place < end;) {
      const std::uint64_t rank = rank_at(place);
      const std::uint64_t stop = rank + 1 == ranks ? end : std::min(end, (rank + 1) * each);
      Segment part = rest;
      rest.range.begin += stop - place;
      rest.position = Segment::unknown;
      if (stop < end) part.range.end = rest.range.begin;
      shares[rank].push_back(part);
      place = stop;
    }
  }
  return shares;
}

void place(Work& work, const std::vector<std::vector<std::uint64_t>>& rows) {
  std::uint64_t next = 0;
  for (std::size_t rank = 0; rank < work.shares.size(); ++rank) {
    for (std::size_t i = 0; i < work.shares[rank].size(); ++i) {
      Segment& segment = work.shares[rank][i];
      if (segment.position == Segment::unknown) segment.position = next;
      next = segment.position + (i < rows[rank].size() ? rows[rank][i] : 0);
    }
  }
  if (work.end == Segment::unknown) work.end = next;
}

void put(ByteWriter& out, const Share& share) {
  out.put(static_cast<std::uint64_t>(share.size()));
  for (const Segment& segment : share) {
    for (const std::uint64_t number :
         {segment.file, segment.range.begin, segment.range.end, segment.position}) {
      out.put(number);
    }
  }
}

Share take_share(ByteReader& in) {
  Share share;
  const auto size = in.take<std::uint64_t>();
  if (size > in.left() / 32) in.fail();
  for (std::uint64_t i = 0; in.ok() && i < size; ++i) {
    Segment segment;
    segment.file = in.take<std::uint64_t>();
    segment.range.begin = in.take<std::uint64_t>();
    segment.range.end = in.take<std::uint64_t>();
    segment.position = in.take<std::uint64_t>();
    share.push_back(segment);
  }
  return share;
}

void put(ByteWriter& out, const Work& work) {
  out.put(static_cast<std::uint64_t>(work.files.size()));
  for (const WorkFile& file : work.files) {
    out.put_text(file.path);
    for (const std::uint64_t number : {static_cast<std::uint64_t>(file.compressed), file.size})
      out.put(number);
  }
  out.put(work.end);
  out.put(static_cast<std::uint64_t>(work.shares.size()));
  for (const Share& share : work.shares) put(out, share);
}

Work take_work(ByteReader& in) {
  Work work;
  const auto files = in.take<std::uint64_t>();
  for (std::uint64_t i = 0; in.ok() && i < files; ++i) {
    WorkFile file;
    file.path = in.take_text();
    file.compressed = in.take<std::uint64_t>() != 0;
    file.size = in.take<std::uint64_t>();
    work.files.push_back(std::move(file));
  }
  work.end = in.take<std::uint64_t>();
  const auto shares = in.take<std::uint64_t>();
  for (std::uint64_t i = 0; in.ok() && i < shares; ++i) work.shares.push_back(take_share(in));
  for (const Share& share : work.shares) {
    for (const Segment& segment : share) {
      if (segment.file >= work.files.size()) in.fail();
    }
  }
  return work;
}

}  // namespace mixstream
