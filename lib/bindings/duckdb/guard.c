/* Reads memory that may not be there. */
#define _GNU_SOURCE /* pipe2 */
#include "model.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static int ends[2] = {-1, -1};
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

bool open_guard(void) {
  return ends[0] >= 0 || pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0;
}

/* The kernel copies, and says how far it came. */
size_t read_safely(void* into, const void* from, size_t size) {
  pthread_mutex_lock(&one_at_a_time);
  ssize_t copied = write(ends[1], from, size);
  if (copied > 0) copied = read(ends[0], into, (size_t)copied);
  pthread_mutex_unlock(&one_at_a_time);
  return copied > 0 ? (size_t)copied : 0;
}
