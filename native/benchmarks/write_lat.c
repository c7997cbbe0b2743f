/*
 * The algorithm of "verbena perf write-lat" in C, to see what Java adds: writes to and fro, the
 * last byte polled in memory, each write's completion polled, half the time between two posts.
 *
 * cc -O2 -o write_lat write_lat.c -libverbs
 * write_lat DEVICE GID_INDEX BYTES ITERATIONS WARMUP [SERVER]      (without SERVER it is the server)
 */
#include "reliable.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <unistd.h>

#define TCP_PORT 18517

struct end {
  union ibv_gid gid;
  uint64_t address;
  uint32_t rkey, queue_pair;
};

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

int main(int argc, char **argv) {
  CHECK(argc >= 6, "usage: write_lat DEVICE GID_INDEX BYTES ITERATIONS WARMUP [SERVER]");
  int gid_index = atoi(argv[2]), bytes = atoi(argv[3]), warmup = atoi(argv[5]);
  int writes = atoi(argv[4]) + warmup, is_server = argc == 6;

  struct ibv_context *context = open_device(argv[1]);
  long half = (bytes + PAGE - 1L) / PAGE * PAGE;
  char *memory = aligned_alloc(PAGE, 2 * half);
  struct ibv_pd *pd = ibv_alloc_pd(context);
  struct ibv_mr *mr = register_memory(pd, memory, 2 * half);
  struct ibv_cq *cq = ibv_create_cq(context, 17, NULL, NULL, 0);
  CHECK(cq, "ibv_create_cq");
  struct ibv_qp *qp = create_queue_pair(pd, cq, 220);

  struct end mine = {.address = (uint64_t)memory, .rkey = mr->rkey, .queue_pair = qp->qp_num};
  struct end theirs;
  CHECK(ibv_query_gid(context, 1, gid_index, &mine.gid) == 0, "ibv_query_gid");
  int fd = meet(is_server ? NULL : argv[6]);
  exchange(fd, &mine, &theirs, sizeof mine);

  connect_queue_pair(qp, theirs.queue_pair, theirs.gid, gid_index);
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
    post_and_poll(qp, &wr);
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
