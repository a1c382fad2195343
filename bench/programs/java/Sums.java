import java.util.Arrays;
import java.util.stream.IntStream;

class Sums {
  public static void main(String[] words) {
    double[] values = new double[4_000_000];
    for (int round = 0; round < 4; round++) {
      final int salt = round;
      IntStream.range(0, values.length).parallel().forEach(i -> values[i] = Math.sin(i * 0.37 + salt) * Math.cos(i * 0.11));
      Arrays.parallelSort(values);
    }
    System.out.printf("sum %.9f%n", values[0] + values[values.length / 2]);
  }
}
