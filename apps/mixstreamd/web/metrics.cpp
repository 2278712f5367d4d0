#include "metrics.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "process_figures.hpp"

namespace mixstream::web {
namespace {

using Streams = std::vector<std::shared_ptr<const StreamView>>;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else {
      if (c == '\\' || c == '"') out += '\\';
      out += c;
    }
  }
  return out;
}

double seconds_of(WallTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}
double seconds_of(const std::optional<WallTime>& time) {
  return time ? seconds_of(*time) : NAN;
}

/// One number for each stream.
struct StreamFamily {
  std::string_view name;
  std::string_view type;
  std::string_view help;
  double (*value)(const StreamView&);
};

double counted(std::uint64_t count) {
  return static_cast<double>(count);
}

constexpr StreamFamily stream_families[] = {
    {"mixstream_stream_healthy", "gauge", "Whether the stream works: 1 or 0.",
     [](const StreamView& s) { return s.health.ok ? 1.0 : 0.0; }},
    {"mixstream_source_connected", "gauge", "Whether the source of rows is connected: 1 or 0.",
     [](const StreamView& s) { return s.source_connected ? 1.0 : 0.0; }},
    {"mixstream_rows_in_total", "counter", "Rows that came: folded, duplicate and refused ones.",
     [](const StreamView& s) { return counted(s.rows.in); }},
    {"mixstream_rows_folded_total", "counter", "Rows that entered the moments.",
     [](const StreamView& s) { return counted(s.rows.folded); }},
    {"mixstream_rows_duplicate_total", "counter", "Rows that had come before and were dropped.",
     [](const StreamView& s) { return counted(s.rows.duplicate); }},
    {"mixstream_sequence_gaps_total", "counter",
     "Sequence numbers that were skipped: rows late, or lost before the daemon.",
     [](const StreamView& s) { return counted(s.rows.gaps); }},
    {"mixstream_sequence_missing", "gauge",
     "Of the skipped sequence numbers, those that have not come since.",
     [](const StreamView& s) { return counted(s.rows.missing); }},
    {"mixstream_models", "gauge", "Models of groups, beside the stream's own.",
     [](const StreamView& s) { return s.fleet ? counted(s.fleet->models) : 0.0; }},
    {"mixstream_models_drifting", "gauge", "Groups whose newest rows no longer obey their own laws.",
     [](const StreamView& s) { return s.fleet ? counted(s.fleet->drifting.count) : 0.0; }},
    {"mixstream_models_departing", "gauge", "Groups whose newest rows obey other laws than the fleet's.",
     [](const StreamView& s) { return s.fleet ? counted(s.fleet->departing.count) : 0.0; }},
    {"mixstream_models_silent", "gauge", "Groups that have sent no row for silent_after.",
     [](const StreamView& s) { return s.fleet ? counted(s.fleet->silent.count) : 0.0; }},
    {"mixstream_sensors", "gauge", "Sensors that are told apart by their sequence numbers.",
     [](const StreamView& s) { return counted(s.sensors); }},
    {"mixstream_mqtt_unmatched_total", "counter",
     "Messages of the broker that fit no stream's topic; dropped.",
     [](const StreamView& s) { return counted(s.unmatched_messages); }},
    {"mixstream_mqtt_retained_total", "counter",
     "Copies that the broker retains of a topic's last message; not folded.",
     [](const StreamView& s) { return counted(s.retained_messages); }},
    {"mixstream_last_row_timestamp_seconds", "gauge", "When the newest row came, in Unix time.",
     [](const StreamView& s) { return seconds_of(s.last_row); }},
    {"mixstream_refits_total", "counter", "Re-solves since the daemon started.",
     [](const StreamView& s) { return counted(s.refits); }},
    {"mixstream_refits_failed_total", "counter", "Re-solves that gave no laws.",
     [](const StreamView& s) { return counted(s.refits_failed); }},
    {"mixstream_solve_seconds_total", "counter", "Time spent in re-solves.",
     [](const StreamView& s) { return s.solve_seconds; }},
    {"mixstream_solve_recent_mean_seconds", "gauge", "Mean time of the last 32 re-solves.",
     [](const StreamView& s) { return s.solve_recent_mean; }},
    {"mixstream_solve_median_seconds", "gauge", "Median time of a re-solve since the start, estimated.",
     [](const StreamView& s) { return s.solve_median; }},
    {"mixstream_solve_p99_seconds", "gauge", "The time that 99 of 100 re-solves stay below, estimated.",
     [](const StreamView& s) { return s.solve_p99; }},
    {"mixstream_journal_bytes", "gauge", "Size of the journal that no snapshot holds yet.",
     [](const StreamView& s) { return counted(s.journal_bytes); }},
    {"mixstream_snapshot_timestamp_seconds", "gauge", "When the newest snapshot was written, in Unix time.",
     [](const StreamView& s) { return seconds_of(s.snapshot); }},
    {"mixstream_fit_stale", "gauge", "1: newer rows could not be fitted and the laws are older ones.",
     [](const StreamView& s) { return s.stale ? 1.0 : 0.0; }},
};

/// One number for each stream that has a fit.
struct FitFamily {
  std::string_view name;
  std::string_view help;
  double (*value)(const FitView&);
};

double condition_of(const FitView& fit) {
  const auto& powers = fit.model.report.identifiability.powers;
  return powers.empty() ? NAN : powers[0].condition.value_or(NAN);
}

constexpr FitFamily fit_families[] = {
    {"mixstream_fit_timestamp_seconds", "When the newest fit was made, in Unix time.",
     [](const FitView& fit) { return seconds_of(fit.time); }},
    {"mixstream_fit_rows", "Rows behind the newest fit.",
     [](const FitView& fit) { return counted(fit.model.report.rows); }},
    {"mixstream_fit_ok", "Whether the newest fit was accepted: 1 or 0.",
     [](const FitView& fit) { return is_usable(fit.model.report.status) ? 1.0 : 0.0; }},
    {"mixstream_fit_components", "Laws of the newest fit.",
     [](const FitView& fit) { return counted(fit.model.report.components.size()); }},
    {"mixstream_moment_test_ratio", "J / dof of the newest fit; a right fit shows about 1.",
     [](const FitView& fit) {
       const auto& test = fit.model.report.moment_test;
       return test && test->dof > 0 ? test->value / static_cast<double>(test->dof) : NAN;
     }},
    {"mixstream_log_likelihood", "Mean log-likelihood a row of the newest fit, on the sample.",
     [](const FitView& fit) { return fit.model.report.log_likelihood.value_or(NAN); }},
    {"mixstream_moment_condition_number", "Condition number of the second moments of the features.",
     condition_of},
};

void add_streams(MetricsText& out, const Streams& streams) {
  for (const StreamFamily& family : stream_families) {
    out.family(family.name, family.type, family.help);
    for (const auto& stream : streams) out.sample({{"stream", stream->name}}, family.value(*stream));
  }
  out.family("mixstream_rows_refused_total", "counter", "Rows that were refused, by reason.");
  for (const auto& stream : streams)
    for (const auto& [reason, count] : stream->rows.refused)
      out.sample({{"stream", stream->name}, {"reason", reason}}, counted(count));
  out.family("mixstream_alarms_active", "gauge", "Alarms that are not over, by kind.");
  for (const auto& stream : streams) {
    std::map<std::string, std::uint64_t> active;
    for (const Alarm& alarm : stream->alarms) active[alarm.kind] += alarm.active ? 1 : 0;
    for (const auto& [kind, count] : active)
      out.sample({{"stream", stream->name}, {"kind", kind}}, counted(count));
  }
}

void add_times(MetricsText& out, const Streams& streams) {
  const auto each = [&](std::string_view name, std::string_view help, Histogram StreamView::*times) {
    out.family(name, "histogram", help);
    for (const auto& stream : streams) out.histogram({{"stream", stream->name}}, (*stream).*times);
  };
  each("mixstream_append_seconds", "Writing and syncing a record of the journal.", &StreamView::append_time);
  each("mixstream_message_seconds", "From a message's coming to its acknowledgement.",
       &StreamView::message_time);
  each("mixstream_refit_seconds", "A re-solve.", &StreamView::solve_time);
}

void add_fits(MetricsText& out, const Streams& streams) {
  for (const FitFamily& family : fit_families) {
    out.family(family.name, "gauge", family.help);
    for (const auto& stream : streams)
      if (stream->fit != nullptr) out.sample({{"stream", stream->name}}, family.value(*stream->fit));
  }
}

void add_laws(MetricsText& out, const Streams& streams) {
  using Write = std::function<void(const Report&, std::size_t, MetricsText::Labels)>;
  const auto each_law = [&](std::string_view name, std::string_view help, const Write& write) {
    out.family(name, "gauge", help);
    for (const auto& stream : streams) {
      if (stream->fit == nullptr) continue;
      const Report& report = stream->fit->model.report;
      for (std::size_t h = 0; h < report.components.size(); ++h)
        write(report, h, {{"stream", stream->name}, {"component", std::to_string(h + 1)}});
    }
  };
  each_law("mixstream_component_weight", "Share of rows that follow the law.",
           [&](const Report& report, std::size_t h, const MetricsText::Labels& labels) {
             out.sample(labels, report.components[h].weight);
           });
  each_law("mixstream_component_noise_variance", "Variance of the noise around the law.",
           [&](const Report& report, std::size_t h, const MetricsText::Labels& labels) {
             out.sample(labels, report.components[h].noise_variance);
           });
  each_law("mixstream_component_coefficient", "Coefficient of a feature in the law.",
           [&](const Report& report, std::size_t h, MetricsText::Labels labels) {
             labels.emplace_back("feature", "");
             for (std::size_t f = 0; f < report.features.size(); ++f) {
               labels.back().second = report.features[f];
               out.sample(labels, report.components[h].coefficients[f]);
             }
           });
}

void add_daemon(MetricsText& out, const DaemonView& daemon) {
  const DaemonFigures figures = daemon.figures();
  out.family("mixstream_build_info", "gauge", "Version of the daemon.");
  out.sample({{"version", figures.version}}, 1.0);
  out.family("mixstream_healthy", "gauge", "What /healthz says: 1 or 0.");
  out.sample({}, daemon.health().ok ? 1.0 : 0.0);
  out.family("mixstream_ready", "gauge", "What /readyz says: 1 or 0.");
  out.sample({}, daemon.ready().ok ? 1.0 : 0.0);
  out.family("mixstream_config_last_reload_successful", "gauge",
             "0: the configuration on disk was refused, the old one is in force.");
  out.sample({}, figures.last_reload_ok ? 1.0 : 0.0);
  out.family("process_start_time_seconds", "gauge", "When the daemon started, in Unix time.");
  out.sample({}, seconds_of(figures.started));
}

void add_process(MetricsText& out) {
  const ProcessFigures process = process_figures();
  out.family("process_cpu_seconds_total", "counter", "Processor time of the daemon.");
  out.sample({}, process.cpu_seconds);
  out.family("process_resident_memory_bytes", "gauge", "Memory of the daemon that is in use.");
  out.sample({}, process.resident_bytes);
  out.family("process_open_fds", "gauge", "Descriptors that are open.");
  out.sample({}, process.open_descriptors);
  out.family("process_max_fds", "gauge", "Descriptors that may be open.");
  out.sample({}, process.most_descriptors);
}

void add_http(MetricsText& out, const HttpCounts& http) {
  out.family("mixstream_http_requests_total", "counter", "Requests that were answered, by status.");
  for (const auto& [status, count] : http.answers)
    out.sample({{"code", std::to_string(status)}}, counted(count));
  out.family("mixstream_http_connections", "gauge", "Connections that are open.");
  out.sample({}, counted(http.loop.open));
  out.family("mixstream_http_connections_total", "counter", "Connections that were taken.");
  out.sample({}, counted(http.loop.accepted));
  out.family("mixstream_http_slow_total", "counter",
             "Connections closed because the client was too slow or idle for long.");
  out.sample({}, counted(http.loop.expired));
  out.family("mixstream_http_evicted_total", "counter", "Connections closed to make room for newer ones.");
  out.sample({}, counted(http.loop.evicted));
}

}  // namespace

void MetricsText::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}

void MetricsText::sample(const Labels& labels, double value) {
  if (!std::isfinite(value)) return;
  text_ += name_;
  for (std::size_t i = 0; i < labels.size(); ++i)
    text_ += fmt::format("{}{}=\"{}\"", i == 0 ? "{" : ",", labels[i].first, escaped(labels[i].second));
  text_ += fmt::format("{} {}\n", labels.empty() ? "" : "}", value);
}

void MetricsText::histogram(const Labels& labels, const Histogram& times) {
  const std::string name = std::exchange(name_, name_ + "_bucket");
  Labels bucket = labels;
  bucket.emplace_back("le", "");
  for (std::size_t i = 0; i < Histogram::bounds.size(); ++i) {
    bucket.back().second = fmt::format("{}", Histogram::bounds[i]);
    sample(bucket, counted(times.up_to(i)));
  }
  bucket.back().second = "+Inf";
  sample(bucket, counted(times.count()));
  name_ = name + "_sum";
  sample(labels, times.sum());
  name_ = name + "_count";
  sample(labels, counted(times.count()));
  name_ = name;
}

std::string metrics_text(const DaemonView& daemon, const HttpCounts& http) {
  MetricsText out;
  const Streams streams = daemon.streams();
  add_daemon(out, daemon);
  add_streams(out, streams);
  add_times(out, streams);
  add_fits(out, streams);
  add_laws(out, streams);
  add_http(out, http);
  add_process(out);
  return out.text();
}

}  // namespace mixstream::web
