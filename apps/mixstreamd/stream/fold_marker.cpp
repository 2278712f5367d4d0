#include "fold_marker.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sstream>

#include "../descriptor.hpp"
#include "mixstream/moments/state_file.hpp"

namespace mixstream {
namespace {

std::set<std::uint64_t> read_list(const std::string& path) {
  std::set<std::uint64_t> numbers;
  const Outcome<Bytes> bytes = read_file(path, 1 << 20);
  if (!bytes) return numbers;
  std::istringstream text(
      std::string(reinterpret_cast<const char*>(bytes.value().data()), bytes.value().size()));
  for (std::uint64_t number = 0; text >> number;) numbers.insert(number);
  return numbers;
}

}  // namespace

FoldMarker::FoldMarker(const std::string& folder) : quarantined_(read_list(folder + "/quarantine")) {
  const Descriptor file(::open((folder + "/folding").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.is_open() || ::ftruncate(file.number(), sizeof(Page)) != 0) return;
  void* const page = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  if (page == MAP_FAILED) return;
  page_ = static_cast<volatile Page*>(page);
  judge(folder + "/quarantine");
}

FoldMarker::~FoldMarker() {
  if (page_ != nullptr) ::munmap(const_cast<Page*>(page_), sizeof(Page));
}

/// What the last process was at when it ended.
void FoldMarker::judge(const std::string& list) {
  const std::uint64_t record = page_->record;
  if (record == 0) {
    page_->attempts = 0;
    return;
  }
  page_->attempts = page_->last == record ? page_->attempts + 1 : 1;
  page_->last = record;
  if (page_->attempts < most_attempts) return;
  std::set<std::uint64_t> all = quarantined_;
  all.insert(record - 1);
  std::string text;
  for (const std::uint64_t number : all) text += std::to_string(number) + "\n";
  if (!write_file(list, std::as_bytes(std::span(text)))) return;  // the next process tries again
  quarantined_ = std::move(all);
  page_->record = 0;
}

void FoldMarker::begin(std::uint64_t record) noexcept {
  if (page_ != nullptr) page_->record = record + 1;
}

void FoldMarker::end() noexcept {
  if (page_ != nullptr) page_->record = 0;
}

}  // namespace mixstream
