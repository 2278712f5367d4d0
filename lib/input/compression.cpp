#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "input/bytes.hpp"
#include "input/text.hpp"

namespace mixstream {
namespace {

/// What one step of a decoder did.
struct Step {
  std::size_t taken = 0;
  std::size_t given = 0;
  bool boundary = false;  // a member or frame is complete and nothing of it is held back
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual Outcome<Step> step(std::string_view bytes, std::span<char> space) = 0;
};

class GzipDecoder final : public Decoder {
 public:
  GzipDecoder() { ready_ = inflateInit2(&stream_, 15 + 16) == Z_OK; }
  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;
  ~GzipDecoder() override { inflateEnd(&stream_); }

  Outcome<Step> step(std::string_view bytes, std::span<char> space) override {
    if (!ready_) return Refusal{Reason::too_large, "zlib found no memory to decompress with"};
    stream_.next_in =
        reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));  // zlib does not write there
    stream_.avail_in = static_cast<unsigned>(bytes.size());
    stream_.next_out = reinterpret_cast<unsigned char*>(space.data());
    stream_.avail_out = static_cast<unsigned>(space.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
      return Refusal{Reason::bad_input, joined({"damaged gzip data: ",
                                                stream_.msg != nullptr ? stream_.msg : "cannot be decoded"})};
    }
    if (result == Z_STREAM_END) inflateReset(&stream_);
    return Step{bytes.size() - stream_.avail_in, space.size() - stream_.avail_out, result == Z_STREAM_END};
  }

 private:
  z_stream stream_{};
  bool ready_ = false;
};

class ZstdDecoder final : public Decoder {
 public:
  Outcome<Step> step(std::string_view bytes, std::span<char> space) override {
    ZSTD_inBuffer from{bytes.data(), bytes.size(), 0};
    ZSTD_outBuffer to{space.data(), space.size(), 0};
    const std::size_t result = ZSTD_decompressStream(context_.get(), &to, &from);
    if (ZSTD_isError(result) != 0) {
      return Refusal{Reason::bad_input, joined({"damaged zstd data: ", ZSTD_getErrorName(result)})};
    }
    return Step{from.pos, to.pos, result == 0};
  }

 private:
  struct Free {
    void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> context_{ZSTD_createDCtx()};
};

class DecompressedSource final : public ByteSource {
 public:
  DecompressedSource(std::unique_ptr<ByteSource> source, std::size_t chunk)
      : source_(std::move(source)),
        capacity_(chunk),
        buffer_(std::make_unique_for_overwrite<char[]>(chunk)) {}

  Outcome<Arrival> read(std::span<char> space) override {
    while (!decided_) {
      decided_ = decide();
      if (decided_) break;
      const auto arrival = fetch();
      if (!arrival || (arrival.value().bytes == 0 && !arrival.value().end)) return arrival;
    }
    return decoder_ ? decode(space) : pass(space);
  }

  std::uint64_t bytes_taken() const noexcept override { return source_->bytes_taken(); }
  bool compressed() const noexcept override { return decoder_ != nullptr; }

 private:
  std::string_view pending() const noexcept { return {buffer_.get() + begin_, end_ - begin_}; }

  bool decide() {
    const auto compression = compression_of(pending(), source_ended_);
    if (!compression) return false;
    if (*compression == Compression::gzip) decoder_ = std::make_unique<GzipDecoder>();
    if (*compression == Compression::zstd) decoder_ = std::make_unique<ZstdDecoder>();
    return true;
  }

  Outcome<Arrival> fetch() {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    auto arrival = source_->read({buffer_.get() + end_, capacity_ - end_});
    if (arrival) {
      end_ += arrival.value().bytes;
      source_ended_ = arrival.value().end;
    }
    return arrival;
  }

  Outcome<Arrival> pass(std::span<char> space) {
    if (pending().empty()) return source_ended_ ? Outcome<Arrival>(Arrival{0, true}) : source_->read(space);
    const std::size_t size = std::min(space.size(), pending().size());
    std::memcpy(space.data(), pending().data(), size);
    begin_ += size;
    return Arrival{size, false};
  }

  Outcome<Arrival> decode(std::span<char> space) {
    for (;;) {
      if (!pending().empty() || held_back_) {
        const auto step = decoder_->step(pending(), space);
        if (!step) return step.refusal();
        begin_ += step.value().taken;
        boundary_ =
            step.value().boundary || (boundary_ && step.value().taken == 0 && step.value().given == 0);
        held_back_ = step.value().given == space.size();
        if (step.value().given > 0) return Arrival{step.value().given, false};
        if (!pending().empty() && step.value().taken > 0) continue;
      }
      if (source_ended_) {
        if (boundary_ && pending().empty()) return Arrival{0, true};
        return Refusal{Reason::bad_input, "the compressed data end too early: the file is truncated"};
      }
      const auto arrival = fetch();
      if (!arrival || (arrival.value().bytes == 0 && !arrival.value().end)) return arrival;
    }
  }

  std::unique_ptr<ByteSource> source_;
  std::size_t capacity_;
  std::unique_ptr<char[]> buffer_;
  std::unique_ptr<Decoder> decoder_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool decided_ = false;
  bool source_ended_ = false;
  bool boundary_ = false;   // between members or frames
  bool held_back_ = false;  // the decoder filled all space and may have more
};

}  // namespace

std::optional<Compression> compression_of(std::string_view first_bytes, bool no_more) noexcept {
  using namespace std::string_view_literals;
  for (const auto& [magic, compression] :
       {std::pair{"\x1f\x8b"sv, Compression::gzip}, std::pair{"\x28\xb5\x2f\xfd"sv, Compression::zstd}}) {
    const std::size_t known = std::min(magic.size(), first_bytes.size());
    if (first_bytes.substr(0, known) != magic.substr(0, known)) continue;
    if (known == magic.size()) return compression;
    if (!no_more) return std::nullopt;
  }
  return Compression::none;
}

std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> source, std::size_t chunk) {
  return std::make_unique<DecompressedSource>(std::move(source), chunk);
}

}  // namespace mixstream
