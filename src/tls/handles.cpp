#include "tls/handles.h"

#include <openssl/err.h>

#include "base/check.h"

namespace injector::tls {

std::string take_openssl_reason() {
  const unsigned long first = ERR_get_error();
  ERR_clear_error();
  const char* reason = ERR_reason_error_string(first);
  return reason == nullptr ? "unknown reason" : reason;
}

base::Error openssl_error(std::string_view what) {
  return base::annotate(base::invalid(take_openssl_reason()), what);
}

BioPtr read_bio(std::string_view bytes) {
  const char* start = bytes.empty() ? "" : bytes.data();
  return BioPtr(BIO_new_mem_buf(start, static_cast<int>(bytes.size())));
}

std::string bio_text(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

}  // namespace injector::tls
