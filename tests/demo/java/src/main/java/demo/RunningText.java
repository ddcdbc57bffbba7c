package demo;

import java.util.SplittableRandom;

/** Values of a key-value table: a version and 100 to 200 words of running text, the same for the same key and version. */
final class RunningText {
  private static final int WORDS_MIN = 100;
  private static final int WORDS_MAX = 200;
  private static final String[] WORDS = (
      "the river comes down from the hills in spring and carries what the snow has left of the old road so people who live "
      + "below wait until it is quiet again before they mend their bridges and open market where every stall sells bread "
      + "apples wool candles honey dried fish new boots letters for somebody in another town and sometimes a story about "
      + "ships that went north with copper never seen since though one autumn evening two sailors walked out of rain asked "
      + "for soup told us how ice had held them all winter long while they counted stars wrote names on wooden boards sang "
      + "to keep warm found their way home by following birds").split(" ");

  private RunningText() {}

  static String of(int key, int version) {
    SplittableRandom random = new SplittableRandom(key * 1_000_003L + version);
    int words = random.nextInt(WORDS_MIN, WORDS_MAX + 1);
    StringBuilder text = new StringBuilder(words * 6).append(version);
    for (int i = 0; i < words; i++) {
      text.append(' ').append(WORDS[random.nextInt(WORDS.length)]);
    }
    return text.toString();
  }

  /** The version that a text begins with; 0 for an empty one, -1 for what is no text of ours. */
  static int version(String text) {
    if (text.isEmpty()) {
      return 0;
    }
    try {
      return Integer.parseInt(text.substring(0, Math.max(0, text.indexOf(' '))));
    } catch (NumberFormatException notOurs) {
      return -1;
    }
  }
}
