/* What the C programs beside this file share: an open device and reliable queue pairs on it. */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAGE 4096

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

static int compare(const void *a, const void *b) {
  long x = *(const long *)a, y = *(const long *)b;
  return (x > y) - (x < y);
}

static struct ibv_context *open_device(const char *name) {
  int devices;
  struct ibv_device **list = ibv_get_device_list(&devices);
  struct ibv_context *context = NULL;
  for (int i = 0; i < devices; i++)
    if (!strcmp(ibv_get_device_name(list[i]), name))
      context = ibv_open_device(list[i]);
  CHECK(context, "ibv_open_device");
  return context;
}

/* Registers memory that the peer may write. */
static struct ibv_mr *register_memory(struct ibv_pd *pd, char *memory, size_t bytes) {
  memset(memory, 0, bytes);
  struct ibv_mr *mr =
      ibv_reg_mr(pd, memory, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  CHECK(mr, "ibv_reg_mr");
  return mr;
}

static struct ibv_qp *create_queue_pair(struct ibv_pd *pd, struct ibv_cq *cq, int inline_bytes) {
  struct ibv_qp_init_attr init = {.send_cq = cq,
                                  .recv_cq = cq,
                                  .qp_type = IBV_QPT_RC,
                                  .cap = {.max_send_wr = 16,
                                          .max_recv_wr = 1,
                                          .max_send_sge = 1,
                                          .max_recv_sge = 1,
                                          .max_inline_data = inline_bytes}};
  struct ibv_qp *qp = ibv_create_qp(pd, &init);
  CHECK(qp, "ibv_create_qp");
  return qp;
}

/* Goes from RESET to RTS, on port 1. */
static void connect_queue_pair(struct ibv_qp *qp, uint32_t peer, union ibv_gid gid, int gid_index) {
  struct ibv_port_attr port;
  CHECK(ibv_query_port(qp->context, 1, &port) == 0, "ibv_query_port");
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                             .port_num = 1,
                             .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
  CHECK(ibv_modify_qp(qp, &attr,
                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
        "INIT");
  attr = (struct ibv_qp_attr){
      .qp_state = IBV_QPS_RTR,
      .path_mtu = port.active_mtu,
      .dest_qp_num = peer,
      .max_dest_rd_atomic = 1,
      .min_rnr_timer = 12,
      .ah_attr = {.is_global = 1,
                  .port_num = 1,
                  .grh = {.dgid = gid, .sgid_index = gid_index, .hop_limit = 64}}};
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

/* Posts one request and polls its completion. */
static void post_and_poll(struct ibv_qp *qp, struct ibv_send_wr *wr) {
  struct ibv_send_wr *bad_wr;
  CHECK(ibv_post_send(qp, wr, &bad_wr) == 0, "ibv_post_send");
  struct ibv_wc wc;
  int found;
  while ((found = ibv_poll_cq(qp->send_cq, 1, &wc)) == 0)
    ;
  CHECK(found == 1 && wc.status == IBV_WC_SUCCESS, "ibv_poll_cq");
}
