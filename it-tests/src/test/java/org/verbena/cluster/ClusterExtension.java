package org.verbena.cluster;

import java.nio.file.Path;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/** Gives the classes marked with {@link ClusterTest} the one cluster of the run. */
public final class ClusterExtension
    implements BeforeAllCallback, AfterEachCallback, AfterAllCallback, ParameterResolver {
  @Override
  public void beforeAll(ExtensionContext context) {
    int nodes = context.getRequiredTestClass().getAnnotation(ClusterTest.class).nodes();
    runCluster(context).grow(nodes);
  }

  @Override
  public void afterEach(ExtensionContext context) {
    Cluster cluster = cluster(context);
    if (context.getExecutionException().isPresent()) {
      keepLogs(context, cluster);
    }
    cluster.heal();
  }

  @Override
  public void afterAll(ExtensionContext context) {
    Cluster cluster = cluster(context);
    try {
      cluster.checkKernel();
    } catch (AssertionError | ClusterException e) {
      keepLogs(context, cluster);
      throw e;
    }
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.getParameter().getType() == Cluster.class;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    return cluster(context);
  }

  private static void keepLogs(ExtensionContext context, Cluster cluster) {
    String test =
        context.getRequiredTestClass().getSimpleName()
            + context.getTestMethod().map(method -> "." + method.getName()).orElse("");
    Path folder = Build.current().logs().resolve(test);
    cluster.keepLogs(folder);
    System.err.println("cluster: the logs are in " + folder);
  }

  private static Cluster cluster(ExtensionContext context) {
    return runCluster(context).cluster();
  }

  /** The store of the root context closes the cluster at the end of the run. */
  private static RunCluster runCluster(ExtensionContext context) {
    return context
        .getRoot()
        .getStore(ExtensionContext.Namespace.GLOBAL)
        .computeIfAbsent(RunCluster.class, _ -> RunCluster.start(), RunCluster.class);
  }
}
