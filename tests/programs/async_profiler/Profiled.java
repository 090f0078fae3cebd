// SPDX-License-Identifier: Apache-2.0
/*
 * Profiled LIBRARY FOLDER COMMAND: two threads work under async-profiler's COMMAND, twice. After each time all samples since the
 * beginning are left in FOLDER in two formats: first.otlp and first.folded, then last.otlp and last.folded.
 */
import one.profiler.AsyncProfiler;

public class Profiled {
	static volatile double sink;
	static final byte[][] kept = new byte[64][];

	static double sums(int n) {
		double sum = 0;
		for (int i = 1; i < n; i++)
			sum += Math.sqrt(i) / (i % 7 + 1);
		return sum;
	}

	static void makes(int n) {
		for (int i = 0; i < n; i++)
			kept[i % kept.length] = new byte[10_000];
	}

	static void works() {
		long end = System.nanoTime() + 300_000_000L;
		while (System.nanoTime() < end) {
			sink += sums(20_000);
			makes(20);
		}
	}

	static void twoWork() throws InterruptedException {
		Thread other = new Thread(Profiled::works, "other");
		other.start();
		works();
		other.join();
	}

	static void leaves(AsyncProfiler profiler, String format, String file, String command) throws Exception {
		profiler.execute(format + ",file=" + file + "," + command);
	}

	public static void main(String[] args) throws Exception {
		AsyncProfiler profiler = AsyncProfiler.getInstance(args[0]);
		for (String name : new String[] { "first", "last" }) {
			profiler.execute((name.equals("first") ? "start," : "resume,") + args[2]);
			twoWork();
			profiler.execute("stop");
			leaves(profiler, "otlp", args[1] + "/" + name + ".otlp", args[2]);
			leaves(profiler, "collapsed", args[1] + "/" + name + ".folded", args[2]);
		}
	}
}
