// SPDX-License-Identifier: Apache-2.0

// tests/programs/endpoints/java/Served.java - a Java service that serves its CPU profile by com.papertrail:profiler
//
//	Served		at a port of 127.0.0.1; prints HOST:PORT in a line of its own
//
// /pprof/profile?seconds=N is the library's answer: names, and words as gperftools writes them. burnOuter calls
// burnInner, in half of the time. The library's own address is a resource of JAX-RS; what it does stands in answer().
import com.papertrail.profiler.CpuProfile;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;
import org.joda.time.Duration;

public class Served {
	static volatile long sink;

	static void burnInner() {
		long x = 1;
		for (long end = System.nanoTime() + 10000000; System.nanoTime() < end;)
			for (int i = 0; i < 10000; i++)
				x = x * 6364136223846793005L + sink;
		sink = x;
	}

	static void burnOuter() {
		for (;;) {
			burnInner();
			LockSupport.parkNanos(10000000);
		}
	}

	static void answer(HttpExchange x) throws IOException {
		int seconds = Integer.parseInt(x.getRequestURI().getQuery().replaceAll(".*seconds=(\\d+).*", "$1"));
		CpuProfile p = CpuProfile.record(Duration.standardSeconds(seconds), 100, Thread.State.RUNNABLE);
		x.getResponseHeaders().set("Content-Type", "pprof/raw");
		x.sendResponseHeaders(200, 0);
		p.writeGoogleProfile(x.getResponseBody());
		x.close();
	}

	public static void main(String[] arguments) throws IOException {
		HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
		server.createContext("/pprof/profile", Served::answer);
		server.setExecutor(Executors.newCachedThreadPool());
		server.start();
		System.out.println("127.0.0.1:" + server.getAddress().getPort());
		System.out.flush();
		new Thread(Served::burnOuter, "burner").start();
	}
}
