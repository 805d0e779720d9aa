// Processes by MPI, one library for each MPI that is found at build time. It uses nothing of the rooms.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include "parallel/processes.h"

namespace farscale {
namespace {

// Lengths go ahead of texts. MPI counts in int, so that long texts are sent in pieces.
constexpr int kLengthTag = 1, kTextTag = 2;
constexpr std::uint64_t kPiece = std::uint64_t{1} << 30;

// Errors of MPI end the job: it is told to by MPI_ERRORS_ARE_FATAL, its default.
class MpiProcesses : public Processes {
 public:
  MpiProcesses() {
    MPI_Comm_size(MPI_COMM_WORLD, &count_);
    MPI_Comm_rank(MPI_COMM_WORLD, &own_);
  }
  ~MpiProcesses() override { MPI_Finalize(); }

  std::size_t count() const override { return static_cast<std::size_t>(count_); }
  std::size_t own() const override { return static_cast<std::size_t>(own_); }

  void Send(std::size_t to, const std::string& text) override {
    const auto rank = static_cast<int>(to);
    const std::uint64_t length = text.size();
    MPI_Send(&length, 1, MPI_UINT64_T, rank, kLengthTag, MPI_COMM_WORLD);
    for (std::uint64_t at = 0; at < length; at += kPiece) {
      MPI_Send(text.data() + at, static_cast<int>(std::min(kPiece, length - at)), MPI_BYTE, rank, kTextTag,
               MPI_COMM_WORLD);
    }
  }

  std::string Receive(std::size_t from) override { return ReceiveFrom(static_cast<int>(from)).second; }
  Message ReceiveAny() override { return ReceiveFrom(MPI_ANY_SOURCE); }

  void Abort(int code) override {
    MPI_Abort(MPI_COMM_WORLD, code);
    std::_Exit(code);
  }

 private:
  static Message ReceiveFrom(int source) {
    WaitFor(source);
    std::uint64_t length = 0;
    MPI_Status status;
    MPI_Recv(&length, 1, MPI_UINT64_T, source, kLengthTag, MPI_COMM_WORLD, &status);
    Message message{static_cast<std::size_t>(status.MPI_SOURCE), std::string(length, '\0')};
    for (std::uint64_t at = 0; at < length; at += kPiece) {
      MPI_Recv(message.second.data() + at, static_cast<int>(std::min(kPiece, length - at)), MPI_BYTE, status.MPI_SOURCE,
               kTextTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return message;
  }

  // MPI waits busily. A process that has nothing to do must leave its core to others, for a millisecond at most.
  static void WaitFor(int source) {
    std::chrono::microseconds pause(10);
    for (;;) {
      int has_message = 0;
      MPI_Iprobe(source, kLengthTag, MPI_COMM_WORLD, &has_message, MPI_STATUS_IGNORE);
      if (has_message != 0) return;
      std::this_thread::sleep_for(pause);
      pause = std::min<std::chrono::microseconds>(pause * 2, std::chrono::milliseconds(1));
    }
  }

  int count_ = 0, own_ = 0;
};

}  // namespace
}  // namespace farscale

extern "C" [[gnu::visibility("default")]] farscale::Processes* FarscaleJoinJob() {
  int given = 0;
  // Several threads may exchange texts, one after the other.
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given);
  int count = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  if (count == 1 || given < MPI_THREAD_SERIALIZED) {
    MPI_Finalize();
    return nullptr;
  }
  return new farscale::MpiProcesses();
}
