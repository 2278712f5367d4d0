#include "checkpoint.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "mixstream/moments/codec.hpp"

namespace mixstream {
namespace {

DecodeSettings without_budget() {
  DecodeSettings settings;
  settings.memory_budget = ~std::uint64_t{0} >> 1;
  return settings;
}

}  // namespace

Outcome<std::string> checkpoint_path(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
    return Refusal{Reason::input_output, "cannot make the folder '" + folder + "': " + std::strerror(errno)};
  }
  std::string path = folder + "/checkpoint.mix";
  if (const Done writable = check_writable(path); !writable) return writable.refusal();
  return path;
}

Done write_checkpoint(const std::string& path, const Bytes& state, const Work& work, const std::string& job) {
  Outcome<Snapshot> snapshot = decode(state, without_budget());
  if (!snapshot) return snapshot.refusal();
  ByteWriter out;
  out.put_text(job);
  put(out, work);
  snapshot.value().guests.push_back({work_section, std::move(out).take()});
  return write_file(path, encode(snapshot.value().state, snapshot.value().guests));
}

Outcome<std::optional<Checkpoint>> read_checkpoint(const std::string& path, const std::string& job) {
  if (::access(path.c_str(), F_OK) != 0) return std::optional<Checkpoint>{};
  const auto refuse = [&](const std::string& what) {
    return Refusal{Reason::bad_snapshot, "'" + path + "' " + what +
                                             ": remove it to begin anew, or give another folder to "
                                             "--checkpoint"};
  };
  Outcome<Bytes> state = read_file(path);
  if (!state) return state.refusal();
  const Outcome<Snapshot> snapshot = decode(state.value(), without_budget());
  if (!snapshot) return refuse("cannot be used (" + snapshot.refusal().text + ")");
  for (const Section& guest : snapshot.value().guests) {
    if (guest.type != work_section) continue;
    ByteReader in(guest.bytes);
    if (in.take_text() != job) return refuse("belongs to another job: its files or words differ");
    Work work = take_work(in);
    if (!in.ok() || !in.at_end()) return refuse("is damaged");
    return std::optional(Checkpoint{std::move(state).value(), std::move(work)});
  }
  return refuse("is no checkpoint of mixstream-mpi");
}

}  // namespace mixstream
