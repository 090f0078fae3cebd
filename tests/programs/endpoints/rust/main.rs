// SPDX-License-Identifier: Apache-2.0

//! tests/programs/endpoints/rust/main.rs - a Rust service that serves its CPU profile by the crate pprof
//!
//! Serves GET /debug/pprof/profile?seconds=N at a port of 127.0.0.1, prints HOST:PORT in a line of its own, and has
//! burn_outer call burn_inner, in half of the time. HTTP is by hand: one request a connection.
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use pprof::protos::Message;

#[inline(never)]
fn burn_inner(mut x: u64) -> u64 {
    let mut i = 0;
    // No iterator: its functions would stand below this one, not being inlined.
    while i < 5_000_000 {
        i += 1;
        x = std::hint::black_box(x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407));
    }
    x
}

#[inline(never)]
fn burn_outer() {
    let mut x = 1;
    loop {
        x = burn_inner(x);
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn profile(seconds: u64) -> Vec<u8> {
    let guard = pprof::ProfilerGuardBuilder::default()
        .frequency(100)
        .blocklist(&["libc", "libgcc", "pthread", "vdso"])
        .build()
        .unwrap();
    std::thread::sleep(Duration::from_secs(seconds));
    guard.report().build().unwrap().pprof().unwrap().write_to_bytes().unwrap()
}

fn serve(stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    let mut line = String::new();

    reader.read_line(&mut first)?;
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    let target = first.split(' ').nth(1).unwrap_or("").to_string();
    let mut stream = reader.into_inner();
    if !target.starts_with("/debug/pprof/profile?") {
        return write!(stream, "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    }
    let seconds = target.split("seconds=").nth(1).and_then(|s| s.split('&').next()?.parse().ok());
    let body = profile(seconds.unwrap_or(30));
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/octet-stream\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )?;
    stream.write_all(&body)
}

fn main() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();

    println!("{}", listener.local_addr().unwrap());
    std::thread::Builder::new().name("burner".into()).spawn(burn_outer).unwrap();
    for stream in listener.incoming() {
        std::thread::spawn(move || serve(stream.unwrap()));
    }
}
