#include "trace/names.h"

#include <gtest/gtest.h>

namespace farscale {
namespace {

TEST(MpiCall, NamesOfCFortranAndProfiling) {
  EXPECT_EQ(ClassifyMpiCall("MPI_Send"), MpiCall::kSend);
  EXPECT_EQ(ClassifyMpiCall("mpi_send_"), MpiCall::kSend);
  EXPECT_EQ(ClassifyMpiCall("MPI_SEND"), MpiCall::kSend);
  EXPECT_EQ(ClassifyMpiCall("PMPI_Send"), MpiCall::kSend);
  EXPECT_EQ(ClassifyMpiCall("MPI_Ssend"), MpiCall::kSynchronousSend);
  EXPECT_EQ(ClassifyMpiCall("MPI_Sendrecv_replace"), MpiCall::kSendReceive);
  EXPECT_EQ(ClassifyMpiCall("MPI_Waitsome"), MpiCall::kWait);
  EXPECT_EQ(ClassifyMpiCall("MPI_Init_thread"), MpiCall::kInit);
  EXPECT_EQ(ClassifyMpiCall("MPI_Iallreduce"), MpiCall::kImmediateCollective);
  EXPECT_EQ(ClassifyMpiCall("MPI_Neighbor_alltoallw"), MpiCall::kCollective);
  EXPECT_EQ(ClassifyMpiCall("MPI_Put"), MpiCall::kOneSided);
  EXPECT_EQ(ClassifyMpiCall("MPI_Win_fence"), MpiCall::kWindowFence);
  EXPECT_EQ(ClassifyMpiCall("mpi_win_unlock_all_"), MpiCall::kWindowLockAll);
  EXPECT_EQ(ClassifyMpiCall("MPI_Win_flush_local_all"), MpiCall::kWindowLockAll);
  EXPECT_EQ(ClassifyMpiCall("MPI_Win_create"), MpiCall::kWindowOther);
  EXPECT_EQ(ClassifyMpiCall("MPI_File_open"), MpiCall::kCollectiveInputOutput);
  EXPECT_EQ(ClassifyMpiCall("mpi_file_write_at_all_begin_"), MpiCall::kCollectiveInputOutput);
  EXPECT_EQ(ClassifyMpiCall("MPI_File_iread_all"), MpiCall::kCollectiveInputOutput);
  EXPECT_EQ(ClassifyMpiCall("MPI_File_write_ordered"), MpiCall::kCollectiveInputOutput);
  EXPECT_EQ(ClassifyMpiCall("MPI_File_write_at"), MpiCall::kInputOutput);
  EXPECT_EQ(ClassifyMpiCall("MPI_File_read_shared"), MpiCall::kInputOutput);
  EXPECT_EQ(ClassifyMpiCall("MPI_Comm_rank"), MpiCall::kOther);
}

TEST(MpiCall, WhatIsNotMpi) {
  EXPECT_EQ(ClassifyMpiCall("main"), MpiCall::kNone);
  EXPECT_EQ(ClassifyMpiCall("mpi"), MpiCall::kNone);
  EXPECT_EQ(ClassifyMpiCall("MPItrampoline"), MpiCall::kNone);
  EXPECT_EQ(ClassifyMpiCall(""), MpiCall::kNone);
  EXPECT_EQ(ClassifyMpiCall("p"), MpiCall::kNone);
}

}  // namespace
}  // namespace farscale
