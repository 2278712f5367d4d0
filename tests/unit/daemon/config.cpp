#include "config/config.hpp"

#include <doctest/doctest.h>
#include <cstdlib>

#include <string>

using namespace mixstream;

namespace {

const std::string sound = R"([mqtt]
[[stream]]
name = "a"
topic = "plant/+/a"
features = "1,t"
response = "y"
)";

/// What is wrong with a text; empty: nothing.
std::string wrong(const std::string& text) {
  const Outcome<Config> config = parse_config(text, "x.toml");
  return config ? "" : config.refusal().text;
}

bool says(const std::string& text, const std::string& words) {
  const std::string found = wrong(text);
  INFO(found);
  CHECK(found.find(words) != std::string::npos);
  return found.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("a short configuration is filled with defaults") {
  const Outcome<Config> config = parse_config(sound, "x.toml");
  REQUIRE(config);
  const StreamConfig& stream = config.value().streams.front();
  CHECK(stream.name == "a");
  CHECK(stream.payload.map.names() == std::vector<std::string>{"1", "t"});
  CHECK(stream.estimator.state.layout.feature_count == 2);
  CHECK(stream.estimator.state.layout.constant_feature == 0);
  CHECK(stream.estimator.solve.component_count == 2);
  CHECK(stream.refit.interval == 10.0);
  CHECK(config.value().http->address == "127.0.0.1");
  CHECK(config.value().mqtt.enabled);
}

TEST_CASE("the example that documents every key is sound") {
  const char* docs = std::getenv("MIXSTREAM_DOCS");
  REQUIRE(docs != nullptr);
  const Outcome<Config> config = load_config(std::string(docs) + "/reference/mixstreamd.toml");
  INFO((config ? "" : config.refusal().text));
  REQUIRE(config);
  CHECK(config.value().streams.size() == 2);
}

TEST_CASE("features are the tool's, but for lags: messages may come late, twice or not at all") {
  const auto with = [](const std::string& features) {
    return "[mqtt]\n[[stream]]\nname = \"a\"\ntopic = \"a\"\nfeatures = '" + features + "'\n";
  };
  const Outcome<Config> config = parse_config(with(R"(1,log(t),mode=="eco",machine{"A","B","C"})"), "x.toml");
  REQUIRE_MESSAGE(config, config.refusal().text);
  const StreamConfig& stream = config.value().streams.front();
  CHECK(stream.estimator.state.layout.feature_count == 5);
  CHECK(stream.payload.map.text_columns() == std::vector<std::string>{"mode", "machine"});
  CHECK(stream.estimator.state.feature_map == R"(1,log(t),mode=="eco",machine{"A","B","C"})");
  says(with("1,t,lag(t,1)"),
       "x.toml:5: [[stream]] features: lag(...) needs rows in their order, which messages do not promise: "
       "leave it out, or send the earlier value as a field of its own");
}

TEST_CASE("unknown keys are refused with their line and the nearest name") {
  says(sound + "refit_intervall = 3\n",
       "x.toml:7: [[stream]] knows no key 'refit_intervall'; did you mean 'refit_interval'?");
  says("[mqtt]\nhots = \"a\"\n" + sound.substr(7),
       "x.toml:2: [mqtt] knows no key 'hots'; did you mean 'host'?");
  says("stat_folder = \"x\"\n" + sound, "did you mean 'state_folder'?");
  says("[[stream]\n", "x.toml:1:");
}

TEST_CASE("values out of range, of the wrong type, or contradictory are refused in words") {
  says(sound + "k = 0\n", "1 to 32");
  says(sound + "k = \"many\"\n", "auto");
  says(sound + "refit_interval = \"soon\"\n", "takes a time");
  says(sound + "window = 100\nhalf_life = 10\n", "do not go together");
  says(sound + "noise = \"per-component\"\nnoise_variance = 1.0\n", "contradict");
  says(sound + "socket = \"127.0.0.1:1\"\n", "one source");
  says(sound + "format = \"csv\"\n", "needs columns");
  says(sound + "format = \"csv\"\ncolumns = [\"t\", \"z\"]\n", "y");
  says(sound + "memory_mib = 1\nfeatures_ = 2\n", "features_");
  says("", "at least one [[stream]]");
}

TEST_CASE("what can be reached from outside must be asked for") {
  says("[http]\naddress = \"0.0.0.0\"\n" + sound, "can be reached from outside");
  says("[http]\naddress = \"0.0.0.0\"\ntoken_file = \"t\"\n" + sound, "nobody reads the token");
  says("[http]\naddress = \"0.0.0.0\"\ncertificate_file = \"c\"\nkey_file = \"k\"\n" + sound,
       "not everybody may ask");
  CHECK(
      wrong(
          "[http]\naddress = \"0.0.0.0\"\ntoken_file = \"t\"\ncertificate_file = \"c\"\nkey_file = \"k\"\n" +
          sound)
          .empty());
  std::string socket = sound;
  socket.replace(socket.find("topic = \"plant/+/a\""), 19, "socket = \"0.0.0.0:7\"");
  says(socket, "socket_public");
  CHECK(wrong(socket + "socket_public = true\n").empty());
  CHECK(is_loopback("127.0.0.5"));
  CHECK_FALSE(is_loopback("10.0.0.1"));
}

TEST_CASE("a shared subscription knows no order of rows, so it is for models that need none") {
  std::string shared = sound;
  shared.replace(shared.find("plant/+/a"), 9, "$share/crew/plant/+/a");
  says(shared + "noise = \"shared\"\n", "must be \"independent\" where the topic is shared");
  says(shared + "modes = \"persistent\"\nnoise = \"shared\"\n", "knows the rows' order");
  says(shared + "modes = \"independent\"\n", "without memory");
  says(shared + "modes = \"independent\"\nnoise = \"per-law,memory\"\n", "without memory");
  CHECK(wrong(shared + "modes = \"independent\"\nnoise = \"per-law,tails\"\n").empty());
  CHECK(wrong(shared + "method = \"paper\"\n").empty());
}

TEST_CASE("models of groups need rows, a name that every row has, and no order of rows") {
  const Outcome<Config> config = parse_config(sound + "group = \"topic:2\"\nmost_models = 5\n", "x.toml");
  REQUIRE(config);
  const GroupSettings& group = config.value().streams.front().group;
  CHECK(group.enabled);
  CHECK(group.level == 2);
  CHECK(group.most_models == 5);
  CHECK_FALSE(parse_config(sound, "x.toml").value().streams.front().group.enabled);
  CHECK(wrong(sound + "group = \"sensor\"\n").empty());
  CHECK(wrong(sound + "sensor = \"pump\"\ngroup = \"pump\"\nsilent_after = \"1h\"\n").empty());
  says(sound + "group = \"topic:4\"\n", "has no level 4 that every message has");
  says(sound + "group = \"topic:x\"\n", "second level of the topic");
  says(sound + "group = \"pump\"\n", "the field that names the sensor (sensor = \"sensor\")");
  says(sound + "most_models = 5\n", "belongs to group");
  says(sound + "departs_by = 1.0\n", "belongs to group");
  says(sound + "group = \"topic:2\"\nmost_models = 0\n", "most_models");
  says(sound + "group = \"topic:2\"\nmethod = \"paper\"\n", "does not go together with group");
  says(sound + "group = \"topic:2\"\nformat = \"state\"\nmodes = \"independent\"\nnoise = \"shared\"\n",
       "a device's state is no row");
  std::string columns = sound;
  columns.replace(columns.find("topic = \"plant/+/a\"\n"), 20, "");
  says(columns + "group = \"topic:2\"\n[stream.columns]\nt = \"plant/+/t\"\ny = \"plant/+/y\"\n",
       "publish the values of a row together");
}

TEST_CASE("streams that would get a message twice are refused") {
  const std::string second = "[[stream]]\nname = \"b\"\nfeatures = \"1,t\"\ntopic = ";
  says(sound + second + "\"plant/#\"\n", "overlap");
  says(sound + second + "\"plant/7/+\"\n", "overlap");
  says(sound + second + "\"mixstream/+/fit\"\n", "what the daemon publishes");
  says("[mqtt]\nhome_assistant = \"home\"\n" + sound.substr(7) + second + "\"home/#\"\n",
       "what the daemon publishes");
  says("[mqtt]\nhome_assistant = \"home/+\"\n" + sound.substr(7), "without wildcards");
  CHECK(wrong(sound + second + "\"plant/+/a\"\n").empty());
  CHECK(wrong(sound + second + "\"plant/7/b\"\n").empty());
  says(sound + "[[stream]]\nname = \"a\"\nfeatures = \"1,t\"\ntopic = \"z\"\n", "two streams are called 'a'");
}

TEST_CASE("a password in the configuration is refused") {
  says("[mqtt]\npassword = \"x\"\n" + sound.substr(7), "password_file");
  says("[mqtt]\nca_file = \"x\"\n" + sound.substr(7), "tls");
}

TEST_CASE("addresses are host and port, or a path") {
  CHECK(parse_address("127.0.0.1:80").value().port == 80);
  CHECK(parse_address("[::1]:80").value().host == "::1");
  CHECK(parse_address("[::1]:80").value().loopback);
  CHECK(parse_address("unix:/run/x").value().path == "/run/x");
  CHECK_FALSE(parse_address("80"));
  CHECK_FALSE(parse_address("host:70000"));
  CHECK_FALSE(parse_address("unix:"));
}
