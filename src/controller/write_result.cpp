#include "controller/write_result.h"

namespace injector::controller {

WriteResult result_of(const base::Error& error) noexcept {
  switch (error.code) {
    case base::ErrorCode::NotFound:
      return WriteResult::Gone;
    case base::ErrorCode::Conflict:
      return WriteResult::Conflict;
    case base::ErrorCode::InvalidInput:
      return WriteResult::Refused;
    case base::ErrorCode::Unauthorized:
    case base::ErrorCode::Forbidden:
    case base::ErrorCode::AlreadyExists:
    case base::ErrorCode::Expired:
    case base::ErrorCode::TooManyRequests:
    case base::ErrorCode::Unavailable:
    case base::ErrorCode::Internal:
    case base::ErrorCode::Cancelled:
      break;
  }
  return WriteResult::Failed;
}

runtime::Outcome outcome_of(const base::Error& error) {
  switch (result_of(error)) {
    case WriteResult::Done:
    case WriteResult::Gone:
      return runtime::Outcome::done();
    case WriteResult::Refused:
      return runtime::Outcome::give_up(error.message);
    case WriteResult::Conflict:
      return runtime::Outcome::retry(error.message);
    case WriteResult::Failed:
      break;
  }
  return error.code == base::ErrorCode::Cancelled ? runtime::Outcome::done()
                                                  : runtime::Outcome::retry(error.message);
}

}  // namespace injector::controller
