/* From C: rows in, laws out. */
#include <mixstream/mixstream.h>

#include <stdio.h>
#include <stdlib.h>

static double uniform(void) {
  return (rand() + 0.5) / (RAND_MAX + 1.0);
}

static double bell(void) { /* a normal, near enough */
  double sum = -6.0;
  int i;
  for (i = 0; i < 12; ++i) sum += uniform();
  return sum;
}

int main(void) {
  char text[256];
  mixstream_status status;
  mixstream_settings settings;
  mixstream_loop* loop;
  size_t h;
  int i;

  mixstream_settings_init(&settings);
  settings.feature_count = 2;
  settings.constant_feature = 0;
  settings.refit_every_rows = 5000;
  loop = mixstream_create(&settings, &status, text, sizeof text);
  if (loop == NULL) {
    fprintf(stderr, "%s: %s\n", mixstream_status_name(status), text);
    return 1;
  }
  for (i = 0; i < 10001; ++i) {
    double x[2];
    double y;
    x[0] = 1.0;
    x[1] = bell();
    y = (uniform() < 0.3 ? 1.0 + 2.0 * x[1] : -1.0 - x[1]) + 0.2 * bell();
    mixstream_absorb(loop, x, 2, y);
    mixstream_refit(loop); /* in a real loop: on a thread of its own */
  }
  for (h = 0; h < mixstream_component_count(loop); ++h) {
    double weight;
    double law[2];
    mixstream_law(loop, h, &weight, law, 2, NULL);
    printf("%.3f: y = %.3f + %.3f u\n", weight, law[0], law[1]);
  }
  status = mixstream_component_count(loop) == 2 ? MIXSTREAM_OK : MIXSTREAM_NO_FIT_YET;
  mixstream_destroy(loop);
  return status == MIXSTREAM_OK ? 0 : 1;
}
