// Which filters the broker has from us. A session outlives the daemon, and with it every subscription that
// was ever made in it: what a former configuration subscribed to would go on coming, and count twice where a
// new filter matches as well. So the filters are noted in a file before they are subscribed to, and those
// that are no longer wanted are ended.
#pragma once

#include <mosquitto.h>

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace mixstream {

/// One thread at a time: the session's.
class SubscriptionBook {
 public:
  /// `path`: the file. `place`: the broker and the session; a file about another place says nothing.
  /// `guesses`: what a session without a file may hold.
  SubscriptionBook(std::string path, std::string place, std::set<std::string> wanted,
                   std::set<std::string> guesses);

  /// Subscribes to everything wanted, then ends what is not. Call after every connect, and again while the
  /// broker refuses. New ones first: a message in between comes twice rather than never.
  void settle(mosquitto& client, bool session_present, bool retain_never);
  void on_answer(int message_id, std::span<const int> granted);
  void on_unsubscribed(int message_id);
  /// Ends all of them, for a stream that is no more.
  void end_all(mosquitto& client);

  bool is_settled() const noexcept { return waiting_.empty() && refused_.empty(); }
  bool is_refused() const noexcept { return waiting_.empty() && !refused_.empty(); }
  std::string words() const;  ///< what was refused, and what to do

 private:
  std::set<std::string> read() const;
  void write(const std::set<std::string>& filters);

  std::string path_;
  std::string place_;
  std::set<std::string> wanted_;
  std::set<std::string> guesses_;
  std::set<std::string> noted_;         // as the file says
  std::map<int, std::string> waiting_;  // message id -> filter that is being subscribed to
  std::map<int, std::string> ending_;   // message id -> filter that is being ended
  std::map<std::string, int> refused_;  // filter -> why
};

}  // namespace mixstream
