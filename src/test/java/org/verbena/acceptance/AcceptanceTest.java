package org.verbena.acceptance;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.verbena.acceptance.Acceptance.CombineWay;
import org.verbena.acceptance.Acceptance.PhaseOrder;
import org.verbena.layout.ExchangeShape;
import org.verbena.moe.Exchange;
import org.verbena.moe.ExchangeConfig;
import org.verbena.transport.shm.ShmTransport;

class AcceptanceTest {
  @ParameterizedTest
  @CsvSource({"1,8,256,4,2", "2,16,256,10,4", "4,32,1000,288,8", "3,5,8,2,2"})
  void smoke(int ranks, int tokens, int hidden, int experts, int topk) throws Exception {
    ExchangeShape shape = new ExchangeShape(ranks, tokens, hidden, experts, topk);
    Ranks.run(
        ranks,
        group -> {
          ExchangeConfig config = ExchangeConfig.builder(shape).build();
          try (Exchange exchange = Exchange.open(group, ShmTransport.provider(), config);
              Acceptance acceptance = new Acceptance(exchange, (rank, input) -> tokens, true, 42)) {
            for (PhaseOrder order : PhaseOrder.values()) {
              acceptance.run(6, order, CombineWay.HANDED_OVER, (round, phase, nanos) -> {});
              acceptance.run(6, order, CombineWay.IN_PLACE, (round, phase, nanos) -> {});
            }
          }
        });
  }
}
