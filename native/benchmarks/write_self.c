/*
 * Writes from a queue pair to another of the same process, one at a time: each is posted, its
 * completion polled and its last byte awaited. The counterpart of WriteToSelf, to see what Java
 * adds; where the emulator counts instructions, a nanosecond is one.
 *
 * cc -O2 -o write_self write_self.c -libverbs
 * write_self DEVICE GID_INDEX WRITES WARMUP
 */
#include "reliable.h"

#define BYTES 8

int main(int argc, char **argv) {
  CHECK(argc == 5, "usage: write_self DEVICE GID_INDEX WRITES WARMUP");
  int gid_index = atoi(argv[2]), count = atoi(argv[3]), warmup = atoi(argv[4]);
  struct ibv_context *context = open_device(argv[1]);
  char *memory = aligned_alloc(PAGE, 2 * PAGE);
  struct ibv_pd *pd = ibv_alloc_pd(context);
  struct ibv_mr *mr = register_memory(pd, memory, 2 * PAGE);
  struct ibv_cq *cq = ibv_create_cq(context, 64, NULL, NULL, 0);
  CHECK(cq, "ibv_create_cq");
  struct ibv_qp *near = create_queue_pair(pd, cq, BYTES), *far = create_queue_pair(pd, cq, BYTES);
  union ibv_gid gid;
  CHECK(ibv_query_gid(context, 1, gid_index, &gid) == 0, "ibv_query_gid");
  connect_queue_pair(near, far->qp_num, gid, gid_index);
  connect_queue_pair(far, near->qp_num, gid, gid_index);

  struct ibv_sge piece = {(uint64_t)memory + PAGE, BYTES, mr->lkey};
  struct ibv_send_wr wr = {.sg_list = &piece,
                           .num_sge = 1,
                           .opcode = IBV_WR_RDMA_WRITE,
                           .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
                           .wr.rdma = {(uint64_t)memory, mr->rkey}};
  volatile char *in = memory + BYTES - 1;
  char *out = memory + PAGE + BYTES - 1;
  long *posted = calloc(warmup + count + 1, sizeof *posted);
  for (int i = 0; i <= warmup + count; i++) {
    *out = (char)(i + 1);
    posted[i] = nanos();
    post_and_poll(near, &wr);
    while (*in != (char)(i + 1))
      ;
  }
  for (int i = 0; i < count; i++)
    posted[i] = posted[warmup + i + 1] - posted[warmup + i];
  qsort(posted, count, sizeof *posted, compare);
  printf("%ld\n", posted[count / 2]);
  return 0;
}
