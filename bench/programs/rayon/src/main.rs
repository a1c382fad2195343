use rayon::prelude::*;

fn main() {
    let mut words: Vec<u64> = (0..6_000_000u64).into_par_iter().map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 7).collect();
    for _ in 0..3 {
        words.par_sort_unstable();
        words.par_iter_mut().enumerate().for_each(|(i, w)| *w ^= (i as u64).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 9);
    }
    let sum = words.par_iter().fold(|| 0u64, |a, w| a.wrapping_add(*w)).reduce(|| 0, |a, b| a.wrapping_add(b));
    println!("sum {sum}");
}
