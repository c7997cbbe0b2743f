/*
 * The algorithm of "verbena perf write-lat" in C, to see what Java adds: writes to and fro, the
 * last byte polled in memory, each write's completion polled, half the time between two posts.
 *
 * cc -O2 -o write_lat write_lat.c -libverbs
 * write_lat DEVICE GID_INDEX BYTES ITERATIONS WARMUP [SERVER]      (without SERVER it is the server)
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TCP_PORT 18517
#define PAGE 4096

#define CHECK(ok, what)                                                                          \
  do {                                                                                           \
    if (!(ok)) {                                                                                 \
      perror(what);                                                                              \
      exit(1);                                                                                   \
    }                                                                                            \
  } while (0)

struct end {
  union ibv_gid gid;
  uint64_t address;
  uint32_t rkey, queue_pair;
};

static long nanos(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000L + now.tv_nsec;
}

static int meet(const char *server) {
  if (server) {
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
    CHECK(getaddrinfo(server, NULL, &hints, &found) == 0, "getaddrinfo");
    ((struct sockaddr_in *)found->ai_addr)->sin_port = htons(TCP_PORT);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(fd, found->ai_addr, found->ai_addrlen) == 0, "connect");
    return fd;
  }
  struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(TCP_PORT)};
  int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  CHECK(bind(fd, (struct sockaddr *)&any, sizeof any) == 0 && listen(fd, 1) == 0, "listen");
  return accept(fd, NULL, NULL);
}

static void exchange(int fd, const void *mine, void *theirs, size_t bytes) {
  CHECK(write(fd, mine, bytes) == (ssize_t)bytes, "write");
  CHECK(recv(fd, theirs, bytes, MSG_WAITALL) == (ssize_t)bytes, "read");
}

static int compare(const void *a, const void *b) {
  long x = *(const long *)a, y = *(const long *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  CHECK(argc >= 6, "usage: write_lat DEVICE GID_INDEX BYTES ITERATIONS WARMUP [SERVER]");
  int gid_index = atoi(argv[2]), bytes = atoi(argv[3]), warmup = atoi(argv[5]);
  int writes = atoi(argv[4]) + warmup, is_server = argc == 6;

  int devices;
  struct ibv_device **list = ibv_get_device_list(&devices);
  struct ibv_context *context = NULL;
  for (int i = 0; i < devices; i++)
    if (!strcmp(ibv_get_device_name(list[i]), argv[1]))
      context = ibv_open_device(list[i]);
  CHECK(context, "ibv_open_device");
  long half = (bytes + PAGE - 1L) / PAGE * PAGE;
  char *memory = aligned_alloc(PAGE, 2 * half);
  memset(memory, 0, 2 * half);
  struct ibv_pd *pd = ibv_alloc_pd(context);
  struct ibv_mr *mr =
      ibv_reg_mr(pd, memory, 2 * half, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  struct ibv_cq *cq = ibv_create_cq(context, 17, NULL, NULL, 0);
  struct ibv_qp_init_attr init = {.send_cq = cq,
                                  .recv_cq = cq,
                                  .qp_type = IBV_QPT_RC,
                                  .cap = {.max_send_wr = 16,
                                          .max_recv_wr = 1,
                                          .max_send_sge = 1,
                                          .max_recv_sge = 1,
                                          .max_inline_data = 220}};
  struct ibv_qp *qp = ibv_create_qp(pd, &init);
  CHECK(mr && cq && qp, "verbs");
  struct ibv_port_attr port;
  CHECK(ibv_query_port(context, 1, &port) == 0, "ibv_query_port");

  struct end mine = {.address = (uint64_t)memory, .rkey = mr->rkey, .queue_pair = qp->qp_num};
  struct end theirs;
  CHECK(ibv_query_gid(context, 1, gid_index, &mine.gid) == 0, "ibv_query_gid");
  int fd = meet(is_server ? NULL : argv[6]);
  exchange(fd, &mine, &theirs, sizeof mine);

  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                             .port_num = 1,
                             .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
  CHECK(ibv_modify_qp(qp, &attr,
                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
        "INIT");
  attr = (struct ibv_qp_attr){
      .qp_state = IBV_QPS_RTR,
      .path_mtu = port.active_mtu,
      .dest_qp_num = theirs.queue_pair,
      .max_dest_rd_atomic = 1,
      .min_rnr_timer = 12,
      .ah_attr = {.is_global = 1,
                  .port_num = 1,
                  .grh = {.dgid = theirs.gid, .sgid_index = gid_index, .hop_limit = 64}}};
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
  char ready = 0;
  exchange(fd, &ready, &ready, 1);

  struct ibv_sge piece = {(uint64_t)memory + half, bytes, mr->lkey};
  struct ibv_send_wr wr = {.sg_list = &piece,
                           .num_sge = 1,
                           .opcode = IBV_WR_RDMA_WRITE,
                           .send_flags = IBV_SEND_SIGNALED,
                           .wr.rdma = {theirs.address, theirs.rkey}};
  if (bytes <= 220)
    wr.send_flags |= IBV_SEND_INLINE;
  volatile char *in = memory + bytes - 1;
  char *out = memory + half + bytes - 1;
  long *posted = calloc(writes, sizeof *posted);
  for (int i = 0; i < writes; i++) {
    if (is_server || i > 0)
      while (*in != (char)(is_server ? i + 1 : i))
        ;
    *out = (char)(i + 1);
    posted[i] = nanos();
    struct ibv_send_wr *bad_wr;
    CHECK(ibv_post_send(qp, &wr, &bad_wr) == 0, "ibv_post_send");
    struct ibv_wc wc;
    int found;
    while ((found = ibv_poll_cq(cq, 1, &wc)) == 0)
      ;
    CHECK(found == 1 && wc.status == IBV_WC_SUCCESS, "ibv_poll_cq");
  }
  if (!is_server) {
    while (*in != (char)writes)
      ;
    int count = writes - warmup - 1;
    for (int i = 0; i < count; i++)
      posted[i] = posted[warmup + i + 1] - posted[warmup + i];
    qsort(posted, count, sizeof *posted, compare);
    printf("t_min[usec] %.2f t_typical[usec] %.2f 99%%[usec] %.2f\n", posted[0] / 2000.0,
           posted[count / 2] / 2000.0, posted[count * 99 / 100] / 2000.0);
  }
  exchange(fd, &ready, &ready, 1);
  return 0;
}
