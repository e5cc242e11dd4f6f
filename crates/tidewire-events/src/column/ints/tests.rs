use proptest::prelude::*;

use super::*;

fn column(first: u64, repeated: usize, values: &[u64]) -> Vec<u8> {
    let mut column = IntColumn::new(first, repeated);
    values.iter().for_each(|value| column.push(*value));
    column.finish()
}

fn check(first: u64, repeated: usize, values: &[u64]) -> usize {
    let blocks = column(first, repeated, values);
    let mut reader = IntReader::new(first, &blocks);
    for _ in 0..repeated {
        assert_eq!(reader.next(), Ok(first));
    }
    for value in values {
        assert_eq!(reader.next(), Ok(*value));
    }
    assert_eq!(reader.end(), Ok(()));
    assert!(reader.next().is_err());
    blocks.len()
}

/// Numbers as columns have them: constant, steps, small and large steps, few values, any.
fn numbers() -> impl Strategy<Value = Vec<u64>> {
    let any_one = prop_oneof![any::<u64>(), 0_u64..3, 1000_u64..1010, Just(u64::MAX)];
    prop_oneof![
        proptest::collection::vec(any_one, 0..2500),
        (any::<u64>(), any::<u64>(), 0_usize..2500).prop_map(|(first, step, count)| {
            (0..count as u64).map(|at| first.wrapping_add(at.wrapping_mul(step))).collect()
        }),
        proptest::collection::vec(0_u64..100_000, 0..2500),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn numbers_come_back(first: u64, repeated in 0_usize..3000, values in numbers()) {
        check(first, repeated, &values);
    }

    #[test]
    fn any_bytes_are_numbers_or_an_error(first: u64, bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let mut reader = IntReader::new(first, &bytes);
        let mut count = 0;
        while reader.next().is_ok() {
            count += 1;
        }
        prop_assert!(count <= bytes.len() * BLOCK_VALUES);
    }
}

#[test]
fn each_form_is_as_short_as_it_should_be() {
    let ports: Vec<u64> = (1..=65_535).collect();
    assert!(check(0, 0, &ports) <= 64 * 6, "steps");
    let mut random = tidewire_testing::filters::Numbers(7);
    let times: Vec<u64> = ports.iter().map(|port| port * 1_000_000 + random.below(1000)).collect();
    let bytes = check(0, 0, &times);
    assert!(bytes <= 65_535 * 11 / 8 + 64 * 16, "differences with 11 bits of noise: {bytes}");
    let late: Vec<u64> = times.iter().enumerate().map(|(at, time)| time + (at / 100) as u64 * (1 << 40)).collect();
    let bytes = check(0, 0, &late);
    assert!(bytes <= 65_535 * 13 / 8 + 64 * 16, "a large step every hundred values: {bytes}");
    let addresses: Vec<u64> = (0..10_000).map(|_| 0xc000_0200 + (random.below(40) * 7919)).collect();
    let bytes = check(0, 0, &addresses);
    assert!(bytes <= 10_000 * 6 / 8 + 10 * 200, "40 values: {bytes}");
    let ports: Vec<u64> = (0..10_000).map(|_| random.below(65_536)).collect();
    assert!(check(0, 0, &ports) <= 20_000 + 10 * 8, "16 bits");
}
