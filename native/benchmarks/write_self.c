/*
 * Writes from a queue pair to another of the same process, one at a time: each is posted, its
 * completion polled and its last byte awaited. The counterpart of WriteToSelf, to see what Java
 * adds; where the emulator counts instructions, a nanosecond is one.
 *
 * cc -O2 -o write_self write_self.c -libverbs
 * write_self DEVICE GID_INDEX WRITES WARMUP
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAGE 4096
#define BYTES 8

#define CHECK(ok, what)                                                                          \
  do {                                                                                           \
    if (!(ok)) {                                                                                 \
      perror(what);                                                                              \
      exit(1);                                                                                   \
    }                                                                                            \
  } while (0)

static long nanos(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void join(struct ibv_qp *qp, const struct ibv_qp *peer, const union ibv_gid *gid,
                 int gid_index, enum ibv_mtu mtu) {
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                             .port_num = 1,
                             .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
  CHECK(ibv_modify_qp(qp, &attr,
                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
        "INIT");
  attr = (struct ibv_qp_attr){
      .qp_state = IBV_QPS_RTR,
      .path_mtu = mtu,
      .dest_qp_num = peer->qp_num,
      .max_dest_rd_atomic = 1,
      .min_rnr_timer = 12,
      .ah_attr = {.is_global = 1,
                  .port_num = 1,
                  .grh = {.dgid = *gid, .sgid_index = gid_index, .hop_limit = 64}}};
  CHECK(ibv_modify_qp(qp, &attr,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                          IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
        "RTR");
  attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
                              .timeout = 14,
                              .retry_cnt = 7,
                              .rnr_retry = 6,
                              .max_rd_atomic = 1};
  CHECK(ibv_modify_qp(qp, &attr,
                      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                          IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0,
        "RTS");
}

static int compare(const void *a, const void *b) {
  long x = *(const long *)a, y = *(const long *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  CHECK(argc == 5, "usage: write_self DEVICE GID_INDEX WRITES WARMUP");
  int gid_index = atoi(argv[2]), count = atoi(argv[3]), warmup = atoi(argv[4]);
  int devices;
  struct ibv_device **list = ibv_get_device_list(&devices);
  struct ibv_context *context = NULL;
  for (int i = 0; i < devices; i++)
    if (!strcmp(ibv_get_device_name(list[i]), argv[1]))
      context = ibv_open_device(list[i]);
  CHECK(context, "ibv_open_device");
  char *memory = aligned_alloc(PAGE, 2 * PAGE);
  memset(memory, 0, 2 * PAGE);
  struct ibv_pd *pd = ibv_alloc_pd(context);
  struct ibv_mr *mr =
      ibv_reg_mr(pd, memory, 2 * PAGE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  struct ibv_cq *cq = ibv_create_cq(context, 64, NULL, NULL, 0);
  struct ibv_qp_init_attr init = {.send_cq = cq,
                                  .recv_cq = cq,
                                  .qp_type = IBV_QPT_RC,
                                  .cap = {.max_send_wr = 16,
                                          .max_recv_wr = 1,
                                          .max_send_sge = 1,
                                          .max_recv_sge = 1,
                                          .max_inline_data = BYTES}};
  struct ibv_qp *near = ibv_create_qp(pd, &init), *far = ibv_create_qp(pd, &init);
  struct ibv_port_attr port;
  union ibv_gid gid;
  CHECK(mr && cq && near && far && ibv_query_port(context, 1, &port) == 0 &&
            ibv_query_gid(context, 1, gid_index, &gid) == 0,
        "verbs");
  join(near, far, &gid, gid_index, port.active_mtu);
  join(far, near, &gid, gid_index, port.active_mtu);

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
    struct ibv_send_wr *bad_wr;
    CHECK(ibv_post_send(near, &wr, &bad_wr) == 0, "ibv_post_send");
    struct ibv_wc wc;
    int found;
    while ((found = ibv_poll_cq(cq, 1, &wc)) == 0)
      ;
    CHECK(found == 1 && wc.status == IBV_WC_SUCCESS, "ibv_poll_cq");
    while (*in != (char)(i + 1))
      ;
  }
  for (int i = 0; i < count; i++)
    posted[i] = posted[warmup + i + 1] - posted[warmup + i];
  qsort(posted, count, sizeof *posted, compare);
  printf("%ld\n", posted[count / 2]);
  return 0;
}
