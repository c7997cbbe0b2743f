/*
 * For PostPollBenchmark: a device that does nothing, and the loop that a C program would run on it.
 * A post keeps the id of its request; a poll completes it.
 */
#include <infiniband/verbs.h>

static uint64_t posted;

int do_nothing_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr) {
  (void)qp;
  (void)bad_wr;
  posted = wr->wr_id;
  return 0;
}

int do_nothing_poll_cq(struct ibv_cq *cq, int max, struct ibv_wc *wc) {
  (void)cq;
  (void)max;
  wc->wr_id = posted;
  wc->status = IBV_WC_SUCCESS;
  return 1;
}

/* Posts and polls so many requests through the pointers in the context; returns how many failed. */
long post_and_poll(struct ibv_qp *qp, struct ibv_cq *cq, struct ibv_send_wr *wr, long times) {
  long failed = 0;
  for (long i = 0; i < times; i++) {
    struct ibv_send_wr *bad_wr;
    struct ibv_wc wc;
    wr->wr_id = i;
    if (ibv_post_send(qp, wr, &bad_wr) || ibv_poll_cq(cq, 1, &wc) != 1 ||
        wc.status != IBV_WC_SUCCESS || wc.wr_id != (uint64_t)i)
      failed++;
  }
  return failed;
}
