#include "tls_files.hpp"

#include <fmt/format.h>
#include <openssl/err.h>

#include "secret_file.hpp"

namespace mixstream {

Refusal tls_refusal(const std::string& what) {
  char text[256] = "";
  ERR_error_string_n(ERR_get_error(), text, sizeof text);
  return {Reason::bad_settings, fmt::format("{}: {}", what, text)};
}

Done use_certificate(SSL_CTX& context, const std::string& certificate_file, const std::string& key_file) {
  if (Done done = check_secret_file(key_file); !done) return done;
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(&context, certificate_file.c_str()) != 1)
    return tls_refusal(
        fmt::format("certificate_file {} holds no PEM certificate that can be used", certificate_file));
  if (SSL_CTX_use_PrivateKey_file(&context, key_file.c_str(), SSL_FILETYPE_PEM) != 1)
    return tls_refusal(fmt::format("key_file {} does not belong to {}", key_file, certificate_file));
  return std::monostate{};
}

Done use_authorities(SSL_CTX& context, const std::string& ca_file) {
  ERR_clear_error();
  if (SSL_CTX_load_verify_file(&context, ca_file.c_str()) == 1) return std::monostate{};
  return tls_refusal(fmt::format("ca_file {} holds no PEM certificate of an authority", ca_file));
}

}  // namespace mixstream
