#include "mqtt_setup.hpp"

#include <fmt/format.h>
#include <mqtt_protocol.h>

#include <string_view>

#include "../secret_file.hpp"
#include "../tls_files.hpp"

namespace mixstream {
namespace {

constexpr std::string_view wants_certificate =
    "the broker ended TLS: it may want a certificate of ours: look at certificate_file and key_file";
constexpr std::string_view disbelieves_certificate =
    "the broker ended TLS: it may not believe our certificate_file: look at who signed it";

/// Whether the files can be used at all, before the library finds out at every attempt to connect.
Done check_tls_files(const MqttConfig& config) {
  const TlsContext context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  if (context == nullptr) return tls_refusal("MQTT over TLS cannot be set up");
  if (!config.ca_file.empty()) {
    if (Done done = use_authorities(*context, config.ca_file); !done) return done;
  }
  if (config.certificate_file.empty()) return std::monostate{};
  return use_certificate(*context, config.certificate_file, config.key_file);
}

Done set_up_tls(mosquitto& client, const MqttConfig& config) {
  if (Done done = check_tls_files(config); !done) return done;
  const auto given = [](const std::string& path) { return path.empty() ? nullptr : path.c_str(); };
  const char* folder = config.ca_file.empty() ? "/etc/ssl/certs" : nullptr;
  int code = mosquitto_tls_set(&client, given(config.ca_file), folder, given(config.certificate_file),
                               given(config.key_file), nullptr);
  if (code == MOSQ_ERR_SUCCESS) code = mosquitto_tls_opts_set(&client, 1, "tlsv1.2", nullptr);  // 1: verify
  if (code == MOSQ_ERR_SUCCESS) code = mosquitto_tls_insecure_set(&client, false);  // the name must fit too
  if (code == MOSQ_ERR_SUCCESS) return std::monostate{};
  return Refusal{Reason::bad_settings, fmt::format("MQTT over TLS: {}: look at ca_file, certificate_file and "
                                                   "key_file",
                                                   mosquitto_strerror(code))};
}

}  // namespace

std::string tls_words(const std::string& detail) {
  const auto says = [&](const char* text) { return detail.find(text) != std::string::npos; };
  if (says("certificate verify failed"))
    return "the broker's certificate is not believed: it must be signed by an authority of ca_file and made "
           "out to the name in host: look at both";
  if (says("wrong version number") || says("packet length too long") || says("unexpected eof"))
    return "the broker does not greet as TLS does: it may not speak it at this port: look at "
           "port and tls of [mqtt]";
  if (says("alert certificate required"))  // whether this or only the end of the connection is seen is a race
    return std::string(wants_certificate);
  if (says("alert")) return std::string(disbelieves_certificate) + " (" + detail + ")";
  return "TLS failed: " + detail + ": look at ca_file, certificate_file and key_file";
}

std::string closed_tls_words(const MqttConfig& config) {
  return std::string(config.certificate_file.empty() ? wants_certificate : disbelieves_certificate);
}

Done set_up_client(mosquitto& client, const MqttConfig& config) {
  const int version = config.version == "5" ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311;
  mosquitto_int_option(&client, MOSQ_OPT_PROTOCOL_VERSION, version);
  mosquitto_int_option(&client, MOSQ_OPT_TCP_NODELAY, 1);
  mosquitto_threaded_set(&client, true);  // nothing is written before our loop writes it
  if (!config.username.empty()) {
    std::string password;
    if (!config.password_file.empty()) {
      const Outcome<std::string> secret = read_secret_file(config.password_file);
      if (!secret) return secret.refusal();
      password = secret.value();
    }
    mosquitto_username_pw_set(&client, config.username.c_str(),
                              password.empty() ? nullptr : password.c_str());
  }
  return config.tls ? set_up_tls(client, config) : Done(std::monostate{});
}

}  // namespace mixstream
