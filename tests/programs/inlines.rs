// SPDX-License-Identifier: Apache-2.0
//
// tests/programs/inlines.rs - Rust whose compiler inlines; tests/unit/test_frames.c asks where
struct Pair(u64, u64);

impl Pair {
    #[inline(always)]
    fn sum(&self) -> u64 {
        self.0.wrapping_mul(3) ^ self.1
    }
}

#[inline(always)]
fn small(x: u64) -> u64 {
    Pair(x, x + 1).sum() + 1
}

#[inline(never)]
fn work(v: &[u64]) -> u64 {
    v.iter().map(|x| small(*x)).filter(|x| x % 3 != 0).sum()
}

fn main() {
    let mut v: Vec<u64> = (0..std::env::args().count() as u64 + 100).collect();

    v.sort_by(|a, b| b.cmp(a));
    println!("{}", work(&v));
}
