package demo;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.DriverException;
import com.datastax.oss.driver.api.core.config.DefaultDriverOption;
import com.datastax.oss.driver.api.core.config.DriverConfigLoader;
import com.datastax.oss.driver.api.core.cql.AsyncResultSet;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import com.datastax.oss.driver.api.core.cql.Row;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Fills a table, then reads and writes half and half while the node is killed and comes back; at the end every partition
 * must hold a version between the last acknowledged and the last sent one, and a text that fits it.
 */
public final class KeyValue {
  private static final int IN_FLIGHT = 256;
  private static final int WORDS = 120;

  private final CqlSession session;
  private final PreparedStatement write;
  private final PreparedStatement read;
  private final AtomicIntegerArray sent;
  private final AtomicIntegerArray acknowledged;
  private final AtomicLong reads = new AtomicLong();
  private final AtomicLong writes = new AtomicLong();
  private final AtomicLong failures = new AtomicLong();
  private final AtomicLong wrong = new AtomicLong();
  private final Semaphore slots = new Semaphore(IN_FLIGHT);

  private KeyValue(CqlSession session, int partitions) {
    this.session = session;
    session.execute("CREATE TABLE IF NOT EXISTS demo.keyvalue (key text PRIMARY KEY, value text)");
    write = session.prepare("INSERT INTO demo.keyvalue (key, value) VALUES (?, ?)");
    read = session.prepare("SELECT value FROM demo.keyvalue WHERE key = ?");
    sent = new AtomicIntegerArray(partitions);
    acknowledged = new AtomicIntegerArray(partitions);
  }

  private static String value(int key, int version) {
    StringBuilder text = new StringBuilder().append(version);
    for (int i = 0; i < WORDS; i++) {
      text.append(' ').append(Integer.toString(Math.abs((key * 31 + version) * 17 + i), 36));
    }
    return text.toString();
  }

  /** Versions of one key are written one after the other, so that the last acknowledged one is well defined. */
  private void write(int key) throws InterruptedException {
    int version = acknowledged.get(key) + 1;
    if (!sent.compareAndSet(key, version - 1, version)) {
      return; // Another write of this key is under way, or its outcome is unknown: leave it alone.
    }
    slots.acquire();
    session.executeAsync(write.bind("user" + key, value(key, version))).whenComplete((result, error) -> {
      slots.release();
      if (error == null) {
        acknowledged.set(key, version);
        writes.incrementAndGet();
      } else {
        failures.incrementAndGet();
      }
    });
  }

  private void read(int key) throws InterruptedException {
    int least = acknowledged.get(key);
    slots.acquire();
    session.executeAsync(read.bind("user" + key)).whenComplete((result, error) -> {
      slots.release();
      if (error != null) {
        failures.incrementAndGet();
      } else {
        reads.incrementAndGet();
        check(key, least, result);
      }
    });
  }

  private void check(int key, int least, AsyncResultSet result) {
    Row row = result.one();
    String text = row == null ? "" : row.getString(0);
    int version = text.isEmpty() ? 0 : Integer.parseInt(text.substring(0, text.indexOf(' ')));
    boolean whole = version == 0 || text.equals(value(key, version));
    if (version < least || sent.get(key) < version || !whole) {
      wrong.incrementAndGet();
    }
  }

  private void drain() throws InterruptedException {
    slots.acquire(IN_FLIGHT);
    slots.release(IN_FLIGHT);
  }

  public static void main(String[] arguments) throws InterruptedException {
    int partitions = Integer.parseInt(arguments[2]);
    int seconds = Integer.parseInt(arguments[3]);
    DriverConfigLoader config = DriverConfigLoader.programmaticBuilder()
        .withDuration(DefaultDriverOption.REQUEST_TIMEOUT, Duration.ofSeconds(30))
        .withDuration(DefaultDriverOption.RECONNECTION_BASE_DELAY, Duration.ofMillis(100))
        .withDuration(DefaultDriverOption.RECONNECTION_MAX_DELAY, Duration.ofSeconds(1))
        .build();
    try (CqlSession session = CqlSession.builder()
        .addContactPoint(new InetSocketAddress(arguments[0], Integer.parseInt(arguments[1])))
        .withLocalDatacenter("datacenter1").withConfigLoader(config).build()) {
      KeyValue job = new KeyValue(session, partitions);
      long began = System.nanoTime();
      for (int key = 0; key < partitions; key++) {
        job.write(key);
      }
      job.drain();
      System.out.printf("filled: %.0f writes/s%n", partitions / ((System.nanoTime() - began) / 1e9));
      System.out.println("running");
      long end = System.nanoTime() + Duration.ofSeconds(seconds).toNanos();
      ThreadLocalRandom random = ThreadLocalRandom.current();
      while (System.nanoTime() < end) {
        try {
          if (random.nextBoolean()) {
            job.read(random.nextInt(partitions));
          } else {
            job.write(random.nextInt(partitions));
          }
        } catch (DriverException error) {
          job.failures.incrementAndGet();
        }
      }
      job.drain();
      System.out.printf("%d reads, %d writes, %d failed while the node was away%n", job.reads.get(), job.writes.get(),
          job.failures.get());
      long wrongBefore = job.wrong.get();
      long failuresBefore = job.failures.get();
      for (int key = 0; key < partitions; key++) {
        job.read(key);
      }
      job.drain();
      long unread = job.failures.get() - failuresBefore;
      System.out.printf("result: %d wrong answers while running, %d wrong or lost of %d at the end, %d not readable%n",
          wrongBefore, job.wrong.get() - wrongBefore, partitions, unread);
      System.exit(job.wrong.get() == 0 && unread == 0 ? 0 : 1);
    }
  }
}
