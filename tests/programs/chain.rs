// SPDX-License-Identifier: Apache-2.0
//
// tests/programs/chain.rs - spins at the end of a known chain of calls
//
//	chain SECONDS
//
// chain::main > Alpha::run of the trait Walk > beta, generic > a closure in beta > spin. Built with
// -C force-frame-pointers=yes. spin has a frame of its own, because it keeps an array.
use std::time::{Duration, Instant};

// std::hint::black_box is younger than Debian 12's compiler.
fn black_box<T: Copy>(x: T) -> T {
    unsafe { std::ptr::read_volatile(&x) }
}

mod inner {
    #[inline(never)]
    pub fn spin(from: u64) -> u64 {
        let mut table = [from; 128];

        for i in 0..1_000_000u64 {
            table[(i & 127) as usize] = table[(i & 127) as usize].wrapping_add(i);
        }
        super::black_box(&table)[(from & 127) as usize]
    }
}

trait Walk {
    fn run(&self, until: Instant) -> u64;
}

struct Alpha {
    start: u64,
}

#[inline(never)]
fn call<F: Fn(u64) -> u64>(f: F, x: u64) -> u64 {
    let got = f(x);

    black_box(got) + 1
}

#[inline(never)]
fn beta<T: Into<u64> + Copy>(x: T) -> u64 {
    let got = call(|y| black_box(inner::spin(y)) + 1, x.into());

    black_box(got) + 1
}

impl Walk for Alpha {
    #[inline(never)]
    fn run(&self, until: Instant) -> u64 {
        let mut sum = self.start;

        while Instant::now() < until {
            sum = sum.wrapping_add(beta(self.start as u32));
        }
        black_box(sum)
    }
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(1);
    let alpha: Box<dyn Walk> = Box::new(Alpha { start: 1 });

    println!("{}", alpha.run(Instant::now() + Duration::from_secs(seconds)));
}
