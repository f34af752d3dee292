#include "base/json.h"

template class nlohmann::basic_json<>;
template class nlohmann::basic_json<nlohmann::ordered_map>;
template struct nlohmann::ordered_map<std::string, nlohmann::ordered_json>;
template class std::vector<nlohmann::ordered_json>;
template nlohmann::json nlohmann::json::parse<const char*>(const char*, const char*,
                                                           nlohmann::json::parser_callback_t, bool,
                                                           bool);
template nlohmann::ordered_json nlohmann::ordered_json::parse<const char*>(
    const char*, const char*, nlohmann::ordered_json::parser_callback_t, bool, bool);
template nlohmann::ordered_json nlohmann::ordered_json::parse<const std::string&>(
    const std::string&, nlohmann::ordered_json::parser_callback_t, bool, bool);
