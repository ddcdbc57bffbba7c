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
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Fills a table, then reads and writes half and half while the node is killed and comes back; at the end every partition
 * must hold a version between the last acknowledged and the last sent one, and a text that fits it.
 *
 * <p>Arguments: host, port, partitions, seconds of reads and writes. Exit code 0 when nothing was lost or wrong.
 */
public final class KeyValue {
  private static final int IN_FLIGHT = 256;
  private static final int WRONG_SHOWN = 10;
  private static final int AWAY_SECONDS_MAX = 120;

  private final CqlSession session;
  private final PreparedStatement write;
  private final PreparedStatement read;
  private final AtomicIntegerArray sent;
  private final AtomicIntegerArray acknowledged;
  private final AtomicLong reads = new AtomicLong();
  private final AtomicLong writes = new AtomicLong();
  private final AtomicLong failures = new AtomicLong();
  private final AtomicInteger wrong = new AtomicInteger();
  private final Semaphore slots = new Semaphore(IN_FLIGHT);
  private volatile boolean lastFailed;

  private KeyValue(CqlSession session, int partitions) {
    this.session = session;
    session.execute("CREATE TABLE demo.keyvalue (key text PRIMARY KEY, value text)");
    write = session.prepare("INSERT INTO demo.keyvalue (key, value) VALUES (?, ?)");
    read = session.prepare("SELECT value FROM demo.keyvalue WHERE key = ?");
    sent = new AtomicIntegerArray(partitions);
    acknowledged = new AtomicIntegerArray(partitions);
  }

  /** Versions of one key are written one after the other, so that the last acknowledged one is well defined. */
  private void write(int key) throws InterruptedException {
    int version = acknowledged.get(key) + 1;
    if (!sent.compareAndSet(key, version - 1, version)) {
      return; // Another write of this key is under way, or its outcome is unknown: leave it alone.
    }
    slots.acquire();
    session.executeAsync(write.bind("user" + key, RunningText.of(key, version))).whenComplete((result, error) -> {
      lastFailed = error != null;
      if (error == null) {
        acknowledged.set(key, version);
        writes.incrementAndGet();
      } else {
        failures.incrementAndGet();
      }
      slots.release();
    });
  }

  private void read(int key) throws InterruptedException {
    int least = acknowledged.get(key);
    slots.acquire();
    session.executeAsync(read.bind("user" + key)).whenComplete((result, error) -> {
      lastFailed = error != null;
      if (error == null) {
        check(key, least, result);
        reads.incrementAndGet();
      } else {
        failures.incrementAndGet();
      }
      slots.release();
    });
  }

  private void check(int key, int least, AsyncResultSet result) {
    Row row = result.one();
    String text = row == null ? "" : row.getString(0);
    int version = RunningText.version(text);
    boolean isWhole = version == 0 || text.equals(RunningText.of(key, version));
    int most = sent.get(key);
    if ((version < least || most < version || !isWhole) && wrong.incrementAndGet() <= WRONG_SHOWN) {
      System.out.printf("user%d: version %d to %d was written, found is version %d: %s%n", key, least, most, version, text);
    }
  }

  private void drain() throws InterruptedException {
    slots.acquire(IN_FLIGHT);
    slots.release(IN_FLIGHT);
  }

  private void fill(int partitions) throws InterruptedException {
    long began = System.nanoTime();
    for (int key = 0; key < partitions; key++) {
      write(key);
      if ((key + 1) % Math.max(1, partitions / 10) == 0) {
        System.out.printf("%d of %d written%n", key + 1, partitions);
      }
    }
    drain();
    System.out.printf("figure fill: %.0f writes/s%n", partitions / secondsSince(began));
  }

  private void readAndWrite(int partitions, int seconds) throws InterruptedException {
    long began = System.nanoTime();
    long readsBefore = reads.get();
    long writesBefore = writes.get();
    ThreadLocalRandom random = ThreadLocalRandom.current();
    while (secondsSince(began) < seconds) {
      if (lastFailed) {
        Thread.sleep(10); // Or the time without a node would be spent on a million attempts.
      }
      if (random.nextBoolean()) {
        read(random.nextInt(partitions));
      } else {
        write(random.nextInt(partitions));
      }
    }
    drain();
    double took = secondsSince(began);
    long done = reads.get() - readsBefore + writes.get() - writesBefore;
    System.out.printf("figure half and half: %d reads, %d writes, %.0f a second with the kill; %d failed while the node was away%n",
        reads.get() - readsBefore, writes.get() - writesBefore, done / took, failures.get());
  }

  /** Waits until the node answers again: a busy machine may take longer to start it than the time of reads and writes. */
  private void waitForTheNode() throws InterruptedException {
    long began = System.nanoTime();
    while (true) {
      try {
        session.execute(read.bind("user0"));
        return;
      } catch (DriverException error) {
        if (AWAY_SECONDS_MAX < secondsSince(began)) {
          throw error;
        }
        Thread.sleep(50);
      }
    }
  }

  /** Reads every partition; answers how many could not be read. */
  private long readAll(int partitions) throws InterruptedException {
    long began = System.nanoTime();
    long failuresBefore = failures.get();
    for (int key = 0; key < partitions; key++) {
      read(key);
    }
    drain();
    System.out.printf("figure reading all: %.0f reads/s%n", partitions / secondsSince(began));
    return failures.get() - failuresBefore;
  }

  private static double secondsSince(long nanos) {
    return (System.nanoTime() - nanos) / 1e9;
  }

  public static void main(String[] arguments) throws InterruptedException {
    int partitions = Integer.parseInt(arguments[2]);
    DriverConfigLoader config = DriverConfigLoader.programmaticBuilder()
        .withDuration(DefaultDriverOption.REQUEST_TIMEOUT, Duration.ofSeconds(30))
        .withDuration(DefaultDriverOption.RECONNECTION_BASE_DELAY, Duration.ofMillis(100))
        .withDuration(DefaultDriverOption.RECONNECTION_MAX_DELAY, Duration.ofSeconds(1))
        .build();
    boolean isRight;
    try (CqlSession session = CqlSession.builder()
        .addContactPoint(new InetSocketAddress(arguments[0], Integer.parseInt(arguments[1])))
        .withLocalDatacenter("datacenter1").withConfigLoader(config).build()) {
      KeyValue job = new KeyValue(session, partitions);
      job.fill(partitions);
      long unwritten = job.failures.getAndSet(0);
      System.out.println("running");
      job.readAndWrite(partitions, Integer.parseInt(arguments[3]));
      int wrongBefore = job.wrong.get();
      long killed = job.failures.get();
      job.waitForTheNode();
      long unread = job.readAll(partitions);
      System.out.printf("result: %d not written at first, %d failed around the kill, %d wrong while running, "
          + "%d wrong or lost of %d at the end, %d not readable%n",
          unwritten, killed, wrongBefore, job.wrong.get() - wrongBefore, partitions, unread);
      // Without a failure the node was not away, and nothing was shown.
      isRight = unwritten == 0 && 0 < killed && job.wrong.get() == 0 && unread == 0;
    }
    System.exit(isRight ? 0 : 1);
  }
}
