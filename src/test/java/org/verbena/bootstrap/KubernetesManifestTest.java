package org.verbena.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.Gson;
import com.google.gson.JsonSyntaxException;
import io.kubernetes.client.openapi.models.V1Container;
import io.kubernetes.client.openapi.models.V1EnvVar;
import io.kubernetes.client.openapi.models.V1Job;
import io.kubernetes.client.openapi.models.V1JobSpec;
import io.kubernetes.client.openapi.models.V1PodSpec;
import io.kubernetes.client.openapi.models.V1Service;
import io.kubernetes.client.openapi.models.V1Volume;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.Test;
import org.yaml.snakeyaml.Yaml;

/**
 * The manifest for Kubernetes against the published schema: the models of the official client are
 * generated from it, and refuse what it does not know, lacks or has another type.
 */
@NullUnmarked // what the manifest lacks is null, and fails the test
class KubernetesManifestTest {
  private static final String MANIFEST = read(Path.of("deploy/kubernetes/verbena.yaml"));

  private static String read(Path path) {
    try {
      return Files.readString(path);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static List<String> documents(String manifest) {
    List<String> documents = new ArrayList<>();
    new Yaml().loadAll(manifest).forEach(document -> documents.add(new Gson().toJson(document)));
    return documents;
  }

  private static V1Service service(String manifest) throws IOException {
    return V1Service.fromJson(documents(manifest).get(0));
  }

  private static V1Job job(String manifest) throws IOException {
    return V1Job.fromJson(documents(manifest).get(1));
  }

  @Test
  void itFollowsTheSchema() throws Exception {
    assertThat(documents(MANIFEST)).hasSize(2);
    assertThat(service(MANIFEST).getKind()).isEqualTo("Service");
    assertThat(job(MANIFEST).getApiVersion() + " " + job(MANIFEST).getKind())
        .isEqualTo("batch/v1 Job");
  }

  @Test
  void whatDoesNotFollowTheSchemaIsFound() {
    for (var wrong :
        Map.of(
                "completionMode:", "completionsMode:",
                "            medium: Memory", "            midium: Memory",
                "capabilities:", "capability:",
                "fieldPath:", "path:",
                "parallelism: 3", "parallelism: three")
            .entrySet()) {
      assertThat(MANIFEST).contains(wrong.getKey());
      String manifest = MANIFEST.replace(wrong.getKey(), wrong.getValue());
      assertThatThrownBy(() -> job(manifest))
          .as(wrong.getValue())
          .isInstanceOfAny(IllegalArgumentException.class, JsonSyntaxException.class);
    }
  }

  @Test
  void itsParts() throws Exception {
    V1Job job = job(MANIFEST);
    V1JobSpec spec = job.getSpec();
    int ranks = spec.getCompletions();
    assertThat(spec.getCompletionMode()).isEqualTo("Indexed");
    assertThat(spec.getParallelism()).as("all ranks run at once").isEqualTo(ranks);
    V1PodSpec pod = spec.getTemplate().getSpec();
    V1Service service = service(MANIFEST);
    String name = job.getMetadata().getName();
    assertThat(service.getSpec().getSelector())
        .containsExactly(Map.entry("batch.kubernetes.io/job-name", name));
    assertThat(pod.getSubdomain()).isEqualTo(service.getMetadata().getName());

    V1Container rank = pod.getContainers().getFirst();
    assertThat(rank.getArgs()).contains("--size=" + ranks);
    assertThat(rank.getResources().getLimits()).containsKey("rdma/hca");
    assertThat(rank.getSecurityContext().getCapabilities().getAdd()).containsExactly("IPC_LOCK");
    V1Volume shm = pod.getVolumes().get(0);
    assertThat(shm.getEmptyDir().getMedium()).isEqualTo("Memory");
    assertThat(rank.getVolumeMounts().get(0).getName()).isEqualTo(shm.getName());
    assertThat(rank.getVolumeMounts().get(0).getMountPath()).isEqualTo("/dev/shm");
    V1Volume secret = pod.getVolumes().get(1);
    assertThat(secret.getSecret().getDefaultMode()).as("readable by its user").isEqualTo(0400);
    assertThat(rank.getVolumeMounts().get(1).getName()).isEqualTo(secret.getName());

    Map<String, String> environment = new HashMap<>();
    for (V1EnvVar variable : rank.getEnv()) {
      environment.put(variable.getName(), variable.getValue() == null ? "" : variable.getValue());
    }
    assertThat(environment.remove("VERBENA_SECRET_FILE"))
        .isEqualTo(rank.getVolumeMounts().get(1).getMountPath() + "/secret");
    environment.put("JOB_COMPLETION_INDEX", "2");
    assertThat(Membership.fromEnvironment(environment))
        .isEqualTo(
            Membership.of(
                2,
                ranks,
                new Rendezvous.At(name + "-0." + service.getMetadata().getName(), 29501)));
  }
}
