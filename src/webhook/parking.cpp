#include "webhook/parking.h"

#include <algorithm>
#include <sys/epoll.h>
#include <utility>

namespace injector::webhook {
namespace {

constexpr std::uint64_t kDismissal = 0;  // No ticket has this number.

}  // namespace

Parking::Parking()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kDismissal;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, dismissal_.fd(), &event);
}

void Parking::park(ConnectionPtr connection, base::TimePoint deadline) {
  const base::MutexLock lock(mutex_);
  const int fd = connection->fd();
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT;
  event.data.u64 = ++last_ticket_;
  parked_.emplace(last_ticket_, Parked{std::move(connection), deadline});
  // Armed under the lock: once it is released, the connection may be taken and closed.
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) != 0 &&
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    parked_.erase(last_ticket_);
  }
}

Parking::Taken Parking::take_readable(base::Duration patience) {
  epoll_event event{};
  const int count = ::epoll_wait(epoll_.get(), &event, 1, static_cast<int>(patience.count()));
  if (count <= 0) {
    return Taken{nullptr, false, count == 0};
  }
  if (event.data.u64 == kDismissal) {
    return Taken{nullptr, true, false};
  }
  return Taken{take(event.data.u64), false, false};
}

Parking::ConnectionPtr Parking::take(std::uint64_t ticket) {
  const base::MutexLock lock(mutex_);
  auto node = parked_.extract(ticket);
  return node.empty() ? nullptr : std::move(node.mapped().connection);
}

void Parking::dismiss() noexcept {
  dismissal_.ring();
}

std::vector<Parking::ConnectionPtr> Parking::take_if(const Predicate& unwanted, std::size_t most) {
  const base::MutexLock lock(mutex_);
  std::vector<ConnectionPtr> taken;
  for (auto it = parked_.begin(); it != parked_.end() && taken.size() < most;) {
    if (unwanted(*it->second.connection, it->second.deadline)) {
      taken.push_back(std::move(it->second.connection));
      it = parked_.erase(it);
    } else {
      ++it;
    }
  }
  return taken;
}

base::TimePoint Parking::next_deadline(base::TimePoint otherwise) const {
  const base::MutexLock lock(mutex_);
  const auto earlier = [](const auto& left, const auto& right) {
    return left.second.deadline < right.second.deadline;
  };
  const auto first = std::min_element(parked_.begin(), parked_.end(), earlier);
  return first == parked_.end() ? otherwise : std::min(otherwise, first->second.deadline);
}

std::size_t Parking::size() const {
  const base::MutexLock lock(mutex_);
  return parked_.size();
}

}  // namespace injector::webhook
