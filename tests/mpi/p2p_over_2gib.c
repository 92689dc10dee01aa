// SPDX-License-Identifier: BSD-3-Clause
// A message of more than 2 GiB, whose count fits an int and whose bytes do not; Get_count and Get_elements_x of it.
// ranks: 2
// environment: CASTOFF_P2P=yes CASTOFF_STALL_S=120
// modes: native on
// memory: 7
// long: yes
// timeout: 180
// expect: the message arrives whole
// report: calls["MPI_Recv"]["taken"] > 0
#include "oracle/verdict.h"

#include <stdlib.h>

#define BLOCK ((size_t)1 << 20)
#define BLOCKS 2051

int main(int argc, char **argv)
{
    MPI_Datatype block;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    co_test_begin();
    MPI_Type_contiguous((int)BLOCK, MPI_BYTE, &block);
    MPI_Type_commit(&block);
    unsigned char *data = malloc(BLOCK * BLOCKS);
    if (co_test_rank() == 0) {
        for (size_t i = 0; i < BLOCKS; i++) {
            co_test_pattern_fill(data + i * BLOCK, BLOCK, i + 1);
        }
        MPI_Send(data, BLOCKS, block, 1, 5, MPI_COMM_WORLD);
    } else {
        int count = 0, wrong = 0;
        MPI_Count elements = 0;
        MPI_Recv(data, BLOCKS, block, 0, 5, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, block, &count);
        MPI_Get_elements_x(&status, block, &elements);
        co_test_expect(count == BLOCKS && (size_t)elements == BLOCKS * BLOCK, "count %d", count);
        for (size_t i = 0; i < BLOCKS; i++) {
            wrong += co_test_pattern_mismatch(data + i * BLOCK, BLOCK, i + 1) != BLOCK;
        }
        co_test_expect(wrong == 0, "%d blocks are wrong", wrong);
    }
    free(data);
    MPI_Type_free(&block);
    co_test_expect(true, "done");
    return co_test_finish();
}
