// For strace: between two marks on standard error there must be no system call, locks included.
#include <unistd.h>

#include "unit/embedding/loop_rows.hpp"

using namespace mixstream;

int main() {
  LoopSettings settings = loop_rows::settings();
  settings.policy.every_rows = 4000;
  SensorLoop loop = SensorLoop::create(settings).value();
  loop_rows::Source source;
  for (int i = 0; i < 4000; ++i) loop.absorb(source.next());
  loop.refit();
  std::size_t classified = 0;
  std::size_t snapshots = 0;
  if (::write(2, "begin\n", 6) != 6) return 2;
  for (int i = 0; i < 20000; ++i) {
    const Row row = source.next();
    loop.absorb(row);
    classified += loop.classify(row) ? 1 : 0;
    snapshots += loop.try_snapshot() ? 1 : 0;
  }
  if (::write(2, "end\n", 4) != 4) return 2;
  return classified > 0 && snapshots > 0 ? 0 : 1;
}
