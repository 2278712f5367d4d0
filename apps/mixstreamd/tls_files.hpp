// Certificates, keys and authorities from PEM files; what cannot be used is refused with the file's name.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "mixstream/core/outcome.hpp"

namespace mixstream {

using TlsContext = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;

/// Our own certificate (a chain) and its key, which nobody else may read.
Done use_certificate(SSL_CTX& context, const std::string& certificate_file, const std::string& key_file);

/// Whom we believe.
Done use_authorities(SSL_CTX& context, const std::string& ca_file);

/// With the reason that OpenSSL gave last.
Refusal tls_refusal(const std::string& what);

}  // namespace mixstream
