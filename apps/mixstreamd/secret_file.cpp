#include "secret_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "descriptor.hpp"

namespace mixstream {
namespace {

constexpr std::size_t longest_secret = 4096;

constexpr std::string_view credential_prefix = "credential:";

/// The manager gives credentials to the service's user by an access list, which shows as bits of the group.
bool is_credential(const std::string& path) {
  const char* const folder = std::getenv("CREDENTIALS_DIRECTORY");
  return folder != nullptr && path.starts_with(std::string(folder) + "/");
}

Done check_open(const Descriptor& file, const std::string& path) {
  struct stat status {};
  if (file.number() < 0 || fstat(file.number(), &status) != 0) {
    return Refusal{Reason::input_output,
                   fmt::format("cannot read the secret in {}: {}", path, std::strerror(errno))};
  }
  if (!S_ISREG(status.st_mode))
    return Refusal{Reason::bad_settings,
                   fmt::format("{} is not a regular file: a secret must be in one", path)};
  const ::mode_t others = is_credential(path) ? S_IWGRP | S_IRWXO : S_IRWXG | S_IRWXO;
  if ((status.st_mode & others) != 0) {
    return Refusal{Reason::bad_settings,
                   fmt::format("{} can be read by others (mode {:04o}): run chmod 600 on it", path,
                               static_cast<unsigned>(status.st_mode & 07777))};
  }
  return std::monostate{};
}

}  // namespace

std::string secret_path(const std::string& text) {
  if (!text.starts_with(credential_prefix)) return text;
  const char* const folder = std::getenv("CREDENTIALS_DIRECTORY");
  return fmt::format("{}/{}", folder == nullptr ? "/run/credentials/mixstreamd.service" : folder,
                     text.substr(credential_prefix.size()));
}

Done check_secret_file(const std::string& path) {
  return check_open(Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)), path);
}

Outcome<std::string> read_secret_file(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (const Done done = check_open(file, path); !done) return done.refusal();
  std::string secret(longest_secret + 1, '\0');
  const ssize_t size = read(file.number(), secret.data(), secret.size());
  if (size < 0) {
    return Refusal{Reason::input_output,
                   fmt::format("cannot read the secret in {}: {}", path, std::strerror(errno))};
  }
  secret.resize(static_cast<std::size_t>(size));
  if (secret.size() > longest_secret) {
    return Refusal{Reason::bad_settings,
                   fmt::format("{} is longer than {} bytes: that is no secret", path, longest_secret)};
  }
  secret.erase(secret.find_last_not_of(" \t\r\n") + 1);
  if (secret.empty())
    return Refusal{Reason::bad_settings, fmt::format("{} is empty: put the secret into it", path)};
  return secret;
}

}  // namespace mixstream
