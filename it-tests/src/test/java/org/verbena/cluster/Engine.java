package org.verbena.cluster;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.exception.DockerException;
import com.github.dockerjava.api.exception.NotFoundException;
import com.github.dockerjava.api.model.Info;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.testcontainers.dockerclient.DockerClientProviderStrategy;
import org.testcontainers.dockerclient.TransportConfig;

/**
 * A Docker engine that has the node image.
 *
 * @param client speaks with it; Testcontainers knows how to reach every kind of engine
 * @param address where it is
 * @param image the name of the node image in it
 * @param why why this engine was taken
 */
record Engine(DockerClient client, String address, String image, String why) {
  private static final Path DEFAULT_SOCKET = Path.of("/var/run/docker.sock");

  private static final String CONFIGURED = "it is configured, and rxe works in its containers";

  /** Kernels before this one bind rxe to the first network namespace. */
  private static final int FIRST_KERNEL = 7;

  static Engine ofGuest(Guest.Line guest) {
    return new Engine(connect(guest.address()), guest.address(), guest.image(), guest.reason());
  }

  /** The address of the engine that the user has configured. */
  static Optional<String> configuredAddress() {
    String host = System.getenv("DOCKER_HOST");
    if (host != null && !host.isBlank()) {
      return Optional.of(host);
    }
    return Files.exists(DEFAULT_SOCKET)
        ? Optional.of("unix://" + DEFAULT_SOCKET)
        : Optional.empty();
  }

  /** Returns the configured engine as it is, if it answers. */
  static Optional<Engine> running() {
    try {
      return configuredAddress()
          .map(address -> new Engine(connect(address), address, "", CONFIGURED));
    } catch (DockerException | IllegalArgumentException | IllegalStateException _) {
      return Optional.empty();
    }
  }

  /**
   * Returns the configured engine, with the node image in it. Whether rxe works there shows only
   * when a node has come up.
   *
   * @throws ClusterException why it cannot be used
   */
  static Engine configured(Build build) {
    String address =
        configuredAddress()
            .orElseThrow(() -> new ClusterException("no Docker engine is configured"));
    try {
      DockerClient client = connect(address);
      Info info = client.infoCmd().exec();
      String kernel = String.valueOf(info.getKernelVersion());
      int dot = kernel.indexOf('.');
      if (dot < 1 || Integer.parseInt(kernel.substring(0, dot)) < FIRST_KERNEL) {
        throw new ClusterException(
            "the kernel %s of the engine at %s has no rxe for network namespaces"
                .formatted(kernel, address));
      }
      String[] image = Guest.nodeImage(build);
      if (!hasImage(client, image[0])) {
        System.err.println("cluster: imports " + image[0] + " into the engine at " + address);
        importImage(client, image[0], Path.of(image[1]));
      }
      return new Engine(client, address, image[0], CONFIGURED);
    } catch (DockerException | IllegalArgumentException | IllegalStateException e) {
      throw new ClusterException(
          "the engine at " + address + " does not answer: " + e.getMessage(), e);
    }
  }

  private static DockerClient connect(String address) {
    return DockerClientProviderStrategy.getClientForConfig(
        TransportConfig.builder().dockerHost(URI.create(address)).build());
  }

  private static boolean hasImage(DockerClient client, String image) {
    try {
      client.inspectImageCmd(image).exec();
      return true;
    } catch (NotFoundException _) {
      return false;
    }
  }

  private static void importImage(DockerClient client, String image, Path tar) {
    try (InputStream in = Files.newInputStream(tar)) {
      client.createImageCmd(image, in).exec();
    } catch (IOException e) {
      throw new ClusterException("the node image cannot be read from " + tar, e);
    }
  }
}
