package org.verbena.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.github.dockerjava.api.async.ResultCallback;
import com.github.dockerjava.api.model.Frame;
import com.github.dockerjava.api.model.StreamType;
import java.io.ByteArrayOutputStream;

/** Collects what a container writes. */
final class CapturedOutput extends ResultCallback.Adapter<Frame> {
  private final ByteArrayOutputStream stdout = new ByteArrayOutputStream();
  private final ByteArrayOutputStream stderr = new ByteArrayOutputStream();

  @Override
  public void onNext(Frame frame) {
    (frame.getStreamType() == StreamType.STDERR ? stderr : stdout).writeBytes(frame.getPayload());
  }

  String stdout() {
    return stdout.toString(UTF_8);
  }

  String stderr() {
    return stderr.toString(UTF_8);
  }
}
